// The .wasm file of decoders, and its glue.
import createModule from '../build/wasm-simd/wattn-generate.mjs';
import type { Env } from './types.js';
import type { WasmFiles } from './wasm_loader.js';

let wanted: Env['wasm'] = {};

/** Another place for the file, as env.wasm says it for the encoders' file. */
export function giveGenerateWasm(given: Env['wasm']): void {
  wanted = given;
}

// Exactly this form of URL: bundlers know it, and bring the file along.
export const wasmFiles: WasmFiles = {
  createModule,
  choose: () => ({ kind: 'simd', url: () => new URL('./wattn-generate.wasm', import.meta.url) }),
  given: () => wanted,
  memoryFlag: 'generate',
};
