// In wattn/inline in place of wasm_files_tokenizer.ts, which there only trains: its glue, for those who bring the file.
import createModule from '../../build/wasm-simd/wattn-tokenizer.mjs';
import { UnsupportedError } from '../core/errors.js';
import type { Env } from '../core/types.js';
import type { WasmFiles } from './wasm_loader.js';

let wanted: Env['wasm'] | undefined;

export function giveWasm(given: Env['wasm']): void {
  wanted = given;
}

const absent = (): never => {
  throw new UnsupportedError(
    "wattn/inline: the code that trains tokenizers is not in it; take the entry wattn, or say by the option 'wasm' where wattn-tokenizer.wasm is",
  );
};

export const wasmFiles: WasmFiles = { createModule, choose: absent, given: () => wanted };
