// wattn/tokenizer: tokenizers alone, with a small WebAssembly file that knows no models.
import { useWasm } from '../host/wasm_loader.js';
import { wasmFiles } from '../host/wasm_files_tokenizer.js';

useWasm(wasmFiles);

export { env } from '../core/env.js';
export {
  AbortError,
  InputError,
  ModelFormatError,
  NetworkError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
  WattnError,
} from '../core/errors.js';
export { Tensor, type TensorType } from '../core/tensor.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
export type * from '../tokenizer/types.js';
