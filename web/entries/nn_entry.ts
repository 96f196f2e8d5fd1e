// wattn/nn: the building blocks and word2vec alone.
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
export * as nn from '../nn/nn.js';
export { Tensor, type TensorType } from '../core/tensor.js';
export { Word2Vec, type Sentence, type Sentences, type Word2VecOptions, type Word2VecProgress } from '../vectors/word2vec.js';
export {
  WordVectors,
  type MostSimilarOptions,
  type Neighbour,
  type ReadOptions,
  type WriteOptions,
} from '../vectors/word_vectors.js';
