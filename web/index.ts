// wattn: small text transformers in the browser and in Node, straight from the original checkpoint.
import { useWasm } from './wasm_loader.js';
import { wasmFiles } from './wasm_files.js';

useWasm(wasmFiles);

export { cache } from './cache.js';
export { Classifier } from './classifier.js';
export { community_detection, k_means, paraphrase_mining } from './clusters.js';
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
export { inspectModel, type InspectedLayer, type Inspection } from './inspect.js';
export { attention_rollout, to_bertviz } from './attention.js';
export { AutoModelForCausalLM, AutoModelForSeq2SeqLM } from './causal_model.js';
export {
  AutoModel,
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
} from './model.js';
export * as nn from './nn.js';
export { packModel, type PackOptions } from './pack.js';
export { pipeline } from './pipeline.js';
export { quantize_embeddings } from './quantize.js';
export { cos_sim, dot_score, semantic_search } from './similarity.js';
export { Tensor, type TensorType } from './tensor.js';
export { AutoTokenizer } from './tokenizer.js';
export type * from './classifier_types.js';
export type * from './clusters_types.js';
export type * from './task_types.js';
export type * from './embedding_types.js';
export type * from './generation_types.js';
export type * from './causal_types.js';
export type * from './training_types.js';
export type * from './types.js';
export { Word2Vec, type Sentence, type Sentences, type Word2VecOptions, type Word2VecProgress } from './word2vec.js';
export { WordVectors, type MostSimilarOptions, type Neighbour, type ReadOptions, type WriteOptions } from './word_vectors.js';
