// The .wasm file of wattn/tokenizer, without models, and its glue.
import createModule from '../build/wasm-simd/wattn-tokenizer.mjs';
import type { WasmFiles } from './wasm_loader.js';

// Exactly this form of URL: bundlers know it, and bring the file along.
export const wasmFiles: WasmFiles = {
  createModule,
  choose: () => ({ kind: 'simd', url: () => new URL('./wattn-tokenizer.wasm', import.meta.url) }),
};
