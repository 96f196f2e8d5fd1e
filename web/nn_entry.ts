// wattn/nn: the building blocks and word2vec alone.
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
export * as nn from './nn.js';
export { Tensor, type TensorType } from './tensor.js';
