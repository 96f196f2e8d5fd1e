// The .wasm file of wattn/tokenizer, without models, and its glue. Every entry trains tokenizers with it.
import createModule from '../../build/wasm-simd/wattn-tokenizer.mjs';
import type { Env } from '../core/types.js';
import type { WasmFiles } from './wasm_loader.js';

let wanted: Env['wasm'] | undefined;

/** Another place for the file, as env.wasm says it for the entry's own file. */
export function giveWasm(given: Env['wasm']): void {
  wanted = given;
}

// Exactly this form of URL: bundlers know it, and bring the file along.
export const wasmFiles: WasmFiles = {
  createModule,
  choose: () => ({ kind: 'simd', url: () => new URL('./wattn-tokenizer.wasm', import.meta.url) }),
  given: () => wanted,
};
