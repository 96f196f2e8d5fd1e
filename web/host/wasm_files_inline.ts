// In wattn/inline in place of wasm_files.ts: the WebAssembly as a part of the script.
import createModule from '../../build/wasm-simd/wattn.mjs';
import { models } from './inline_files.js';
import { unpack } from './unpack.js';
import type { WasmFiles } from './wasm_loader.js';

export const wasmFiles: WasmFiles = { createModule, choose: () => ({ kind: 'simd', bytes: () => unpack(models) }) };
