// In place of own_files.ts in wattn/tokenizer.
import { wasmFiles } from './wasm_files_tokenizer.js';
import { useWasm } from './wasm_loader.js';

export const ownFiles = useWasm(wasmFiles);
