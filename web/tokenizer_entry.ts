// wattn/tokenizer: tokenizers alone, with a small WebAssembly file that knows no models.
import { useWasm } from './wasm_loader.js';
import { wasmFiles } from './wasm_files_tokenizer.js';

useWasm(wasmFiles);

export { env } from './env.js';
export {
  AbortError,
  InputError,
  ModelFormatError,
  NetworkError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
  WattnError,
} from './errors.js';
export { Tensor, type TensorType } from './tensor.js';
export { AutoTokenizer } from './tokenizer.js';
export type * from './training_types.js';
export type * from './types.js';
