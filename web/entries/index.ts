// wattn: small text transformers in the browser and in Node, loaded from the original checkpoints.
import { useWasm } from '../host/wasm_loader.js';
import { useTasks } from '../engine/task.js';
import { fullFiles, wasmFiles } from '../host/wasm_files.js';
import { loadTask } from '../tasks/tasks.js';

useWasm(wasmFiles, fullFiles);
useTasks(loadTask);

export { cache } from '../source/cache.js';
export { Classifier } from '../vectors/classifier.js';
export { community_detection, k_means, paraphrase_mining } from '../vectors/clusters.js';
export { describeModel, inspectModel, type InspectedLayer, type Inspection } from '../tasks/inspect.js';
export { attention_rollout, to_bertviz } from '../vectors/attention.js';
export {
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSeq2SeqLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
} from '../tasks/model.js';
export { distill } from '../tasks/distill.js';
export { packModel, type PackOptions } from '../tasks/pack.js';
export { pipeline } from '../tasks/pipeline.js';
export { redact, restore } from '../tasks/redaction.js';
export { save_adapter, type AdapterConfig, type AdapterLabels } from '../tasks/save_adapter.js';
export { quantize_embeddings } from '../vectors/quantize.js';
export { Index } from '../search/open.js';
export { cos_sim, dot_score, semantic_search } from '../vectors/similarity.js';
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
export type * from '../tasks/retrieval_types.js';
export type * from '../tasks/generation_types.js';
export type * from '../tasks/causal_types.js';
export type * from '../tasks/redact_types.js';
export type * from '../search/types.js';
export * from './nn_entry.js';
