/**
 * Only tokenizers, with a small WebAssembly file without models. `wattn` exports the same.
 *
 * @module
 */
import { useWasm } from '../host/wasm_loader.js';
import { wasmFiles } from '../host/wasm_files_tokenizer.js';

useWasm(wasmFiles);

export * from './common.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
export type * from '../tokenizer/types.js';
