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
export { Word2Vec, type Sentence, type Sentences, type Word2VecOptions, type Word2VecProgress } from './word2vec.js';
export { WordVectors, type MostSimilarOptions, type Neighbour, type ReadOptions, type WriteOptions } from './word_vectors.js';
