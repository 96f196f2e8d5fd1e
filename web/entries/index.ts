// wattn: small text transformers in the browser and in Node, straight from the original checkpoint.
import { useWasm } from '../host/wasm_loader.js';
import { useTasks } from '../engine/task.js';
import { wasmFiles } from '../host/wasm_files.js';
import { loadTask } from '../tasks/tasks.js';

useWasm(wasmFiles);
useTasks(loadTask);

export { cache } from '../source/cache.js';
export { Classifier } from '../vectors/classifier.js';
export { community_detection, k_means, paraphrase_mining } from '../vectors/clusters.js';
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
export { inspectModel, type InspectedLayer, type Inspection } from '../tasks/inspect.js';
export { attention_rollout, to_bertviz } from '../vectors/attention.js';
export { AutoModelForCausalLM, AutoModelForSeq2SeqLM } from '../tasks/causal_model.js';
export {
  AutoModel,
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
} from '../tasks/model.js';
export * as nn from '../nn/nn.js';
export { packModel, type PackOptions } from '../tasks/pack.js';
export { pipeline } from '../tasks/pipeline.js';
export { quantize_embeddings } from '../vectors/quantize.js';
export { cos_sim, dot_score, semantic_search } from '../vectors/similarity.js';
export { Tensor, type TensorType } from '../core/tensor.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
export type * from '../tokenizer/types.js';
export type * from '../engine/types.js';
export type * from '../vectors/types.js';
export type * from '../vectors/classifier_types.js';
export type * from '../vectors/clusters_types.js';
export type * from '../tasks/embed_types.js';
export type * from '../tasks/task_types.js';
export type * from '../tasks/generation_types.js';
export type * from '../tasks/causal_types.js';
export { Word2Vec, type Sentence, type Sentences, type Word2VecOptions, type Word2VecProgress } from '../vectors/word2vec.js';
export {
  WordVectors,
  type MostSimilarOptions,
  type Neighbour,
  type ReadOptions,
  type WriteOptions,
} from '../vectors/word_vectors.js';
