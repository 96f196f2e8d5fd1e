/**
 * `nn`, the building blocks of transformers, and word vectors. `wattn` also exports them.
 *
 * @module
 */
export * from './common.js';
export * as nn from '../nn/nn.js';
export { Word2Vec, type Sentence, type Sentences, type Word2VecOptions, type Word2VecProgress } from '../vectors/word2vec.js';
export {
  WordVectors,
  type MostSimilarOptions,
  type Neighbour,
  type ReadOptions,
  type WriteOptions,
} from '../vectors/word_vectors.js';
