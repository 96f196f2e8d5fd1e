// The whole library's .wasm files and their glue.
import createModule from '../../build/wasm-simd/wattn.mjs';
import { hasRelaxedSimd } from './relaxed_simd.js';
import type { WasmFiles } from './wasm_loader.js';

// Exactly this form of URL: bundlers know it, and bring the files along.
export const wasmFiles: WasmFiles = {
  createModule,
  choose: () =>
    hasRelaxedSimd()
      ? { kind: 'relaxed', url: () => new URL('./wattn-relaxed.wasm', import.meta.url) }
      : { kind: 'simd', url: () => new URL('./wattn-simd.wasm', import.meta.url) },
};
