// What every entry exports.
export { env } from '../core/env.js';
export {
  AbortError,
  IncompleteError,
  InputError,
  ModelFormatError,
  NetworkError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
  WattnError,
} from '../core/errors.js';
export { Tensor } from '../core/tensor.js';
export type { TensorBase, TensorType } from '../core/tensor_base.js';
