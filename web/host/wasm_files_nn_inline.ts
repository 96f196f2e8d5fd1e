// In wattn/inline in place of wasm_files_nn.ts.
import createModule from '../../build/wasm-simd/wattn-nn.mjs';
import { nn } from './inline_files.js';
import type { Env } from '../core/types.js';
import { unpack } from './unpack.js';
import type { WasmFiles } from './wasm_loader.js';

let wanted: Env['wasm'] = {};

export function giveWasm(given: Env['wasm']): void {
  wanted = given;
}

export const wasmFiles: WasmFiles = {
  createModule,
  choose: () => ({ kind: 'simd', bytes: () => unpack(nn) }),
  given: () => wanted,
};
