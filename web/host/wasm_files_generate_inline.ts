// In wattn/inline in place of wasm_files_generate.ts: that script holds encoders alone.
import { UnsupportedError } from '../core/errors.js';
import type { WasmFiles } from './wasm_loader.js';

const absent = (): never => {
  throw new UnsupportedError("wattn/inline: there is no text generation in it; the entry 'wattn' has it");
};

export const wasmFiles: WasmFiles = { createModule: absent, choose: absent };
