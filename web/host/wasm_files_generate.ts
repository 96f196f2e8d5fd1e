// The .wasm files of decoders, and their glue.
import createModule from '../../build/wasm-simd/wattn-generate.mjs';
import { hasRelaxedSimd } from './relaxed_simd.js';
import type { Env } from '../core/types.js';
import type { WasmFiles } from './wasm_loader.js';

let wanted: Env['wasm'] = {};

/** Another place for the file, as env.wasm says it for the encoders' file. */
export function giveGenerateWasm(given: Env['wasm']): void {
  wanted = given;
}

// Exactly this form of URL: bundlers know it, and bring the files along.
export const wasmFiles: WasmFiles = {
  createModule,
  choose: () =>
    hasRelaxedSimd()
      ? { kind: 'relaxed', url: () => new URL('./wattn-generate-relaxed.wasm', import.meta.url) }
      : { kind: 'simd', url: () => new URL('./wattn-generate.wasm', import.meta.url) },
  given: () => wanted,
  memoryFlag: 'generate-',
};
