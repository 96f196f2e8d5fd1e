// The .wasm files of the entry's models and tokenizers. What compiles them imports them from here, so that no entry sets anything up when it loads, and a
// bundler leaves out what a page does not use. tools/bundle.mjs puts another file in place of this one for entries with other .wasm files.
import { fullFiles, wasmFiles } from './wasm_files.js';
import { useWasm } from './wasm_loader.js';

export const ownFiles = useWasm(wasmFiles, fullFiles);
