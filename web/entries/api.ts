// What index exports beside `pipeline` and what that needs. In a page's bundle this is a file of its own, without effects. A bundler follows the
// imports of a file with effects, which index is, even if a page uses nothing of them.
export { cache } from '../source/cached_files.js';
export {
  cat,
  full,
  full_like,
  layer_norm,
  log_softmax,
  matmul,
  mean,
  mean_pooling,
  ones,
  ones_like,
  permute,
  rand,
  randn,
  random,
  slice,
  softmax,
  stack,
  std_mean,
  topk,
  zeros,
  zeros_like,
} from '../core/tensor_functions.js';
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
} from '../automodel/model.js';
export { AutoConfig } from '../automodel/auto_config.js';
export { attribute } from '../automodel/insight/attribute.js';
export { head_scores } from '../automodel/insight/head_scores.js';
export { patch_map } from '../automodel/insight/patch_map.js';
export {
  ModelFileNotFoundError,
  ModelRegistry,
  PreTrainedModel,
  PreTrainedTokenizer,
  PretrainedConfig,
  TokenizersBackend,
  FeatureExtractionPipeline,
  FillMaskPipeline,
  QuestionAnsweringPipeline,
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TextClassificationPipeline,
  TextGenerationPipeline,
  TokenClassificationPipeline,
  TranslationPipeline,
  ZeroShotClassificationPipeline,
} from '../automodel/familiar.js';
export { GenerationConfig, LogLevel } from '../generation/generation_settings.js';
export { StructuredOutputProcessor } from '../generation/structured_output.js';
export { LogitsProcessor, LogitsProcessorList } from '../generation/rows/logits_processor.js';
export type { LogitsFunction } from '../generation/rows/logits_processor.js';
export { DynamicCache } from '../generation/dynamic_cache.js';
export { BaseStreamer, TextStreamer, type StreamedTokenizer, type TextStreamerOptions } from '../generation/streamers.js';
export {
  EosTokenCriteria,
  InterruptableStoppingCriteria,
  MaxLengthCriteria,
  StoppingCriteria,
  StoppingCriteriaList,
  type StoppingFunction,
} from '../generation/stopping_criteria.js';
export { distill } from '../distill/distill.js';
export { evaluate } from '../evaluate/evaluate.js';
export { comparePacked, packModel, packTo } from '../pack/pack.js';
export { redact, redactSession, restore } from '../redact/redaction.js';
export { save_adapter, type AdapterConfig, type AdapterLabels } from '../tasks/save_adapter.js';
export { quantize_embeddings } from '../vectors/quantize.js';
export { Index } from '../search/open.js';
export { cos_sim, dot_score, dot_score as dot, semantic_search } from '../vectors/similarity.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
export type * from '../tokenizer/types.js';
export type * from '../engine/types.js';
export type * from '../engine/explain_types.js';
export type * from '../vectors/types.js';
export type * from '../vectors/classifier_types.js';
export type * from '../vectors/clusters_types.js';
export type * from '../tasks/embed_types.js';
export type * from '../evaluate/evaluate_types.js';
export type * from '../tasks/extraction_types.js';
export type * from '../tasks/task_types.js';
export type * from '../tasks/retrieval_types.js';
export type * from '../generation/generation_types.js';
export type {
  ChoiceFormat,
  FormatOptions,
  GrammarFormat,
  JsonObjectFormat,
  JsonSchemaFormat,
  RegexFormat,
  ResponseFormat,
  TextFormat,
} from '../generation/response_format.js';
export type * from '../automodel/causal_types.js';
export type * from '../automodel/insight/types.js';
export type * from '../automodel/familiar_types.js';
export type * from '../redact/redact_types.js';
export type * from '../pack/pack_types.js';
export type * from '../search/types.js';
export * from './nn_entry.js';
