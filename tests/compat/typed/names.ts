// Every type that transformers.js 4.3.1 exports for text (docs/migration.md has the list, and a test compares it with this one), with what programs read of it.
import {
  AutoConfig,
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSeq2SeqLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  AutoTokenizer,
  BaseStreamer,
  DynamicCache,
  EosTokenCriteria,
  GenerationConfig,
  InterruptableStoppingCriteria,
  MaxLengthCriteria,
  PreTrainedModel,
  PreTrainedTokenizer,
  PretrainedConfig,
  StoppingCriteria,
  StoppingCriteriaList,
  TextClassificationPipeline,
  TextGenerationPipeline,
  TextStreamer,
  TokenizersBackend,
  pipeline,
} from '@huggingface/transformers';
import type {
  AliasTasks,
  AliasType,
  AllTasks,
  BaseModelOutput,
  CausalLMOutput,
  CausalLMOutputWithPast,
  DataArray,
  DataType,
  DeviceType,
  FeatureExtractionPipeline,
  FillMaskOutput,
  FillMaskPipeline,
  MaskedLMOutput,
  Message,
  ModelFileNotFoundError,
  ModelOutput,
  ModelRegistry,
  NestArray,
  PipelineType,
  PretrainedModelOptions,
  PretrainedTokenizerOptions,
  ProgressCallback,
  ProgressInfo,
  QuestionAnsweringModelOutput,
  QuestionAnsweringOutput,
  QuestionAnsweringPipeline,
  Seq2SeqLMOutput,
  SequenceClassifierOutput,
  SummarizationOutput,
  SummarizationPipeline,
  SupportedTasks,
  TaskType,
  Tensor,
  Text2TextGenerationOutput,
  Text2TextGenerationPipeline,
  TextClassificationOutput,
  TextGenerationChatOutput,
  TextGenerationOutput,
  TextGenerationStringOutput,
  TokenClassificationOutput,
  TokenClassificationPipeline,
  TokenClassifierOutput,
  TranslationOutput,
  TranslationPipeline,
  ZeroShotClassificationOutput,
  ZeroShotClassificationPipeline,
} from '@huggingface/transformers';

export const tasks: [PipelineType, TaskType, AliasType, DataType, DeviceType][] = [
  ['ner', 'fill-mask', 'embeddings', 'q4f16', 'webgpu'],
  ['sentiment-analysis', 'translation', 'ner', 'fp32', 'webnn-npu'],
];
export const progress: ProgressCallback = (info: ProgressInfo) => {
  if (info.status === 'progress') console.log(info.file, info.progress, info.loaded, info.total);
  else if (info.status === 'ready') console.log(info.task, info.model);
};
export const options: [PretrainedModelOptions, PretrainedTokenizerOptions] = [
  { progress_callback: progress, dtype: { encoder_model: 'fp32', decoder_model_merged: 'q4' }, device: 'webgpu', revision: 'main' },
  { progress_callback: progress, local_files_only: true },
];
export const messages: Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'Where?' }] },
];

export function results(
  mask: FillMaskOutput,
  labels: TextClassificationOutput,
  tokens: TokenClassificationOutput,
  groups: TokenClassificationOutput<{ aggregation_strategy: 'simple' }>,
  answer: QuestionAnsweringOutput,
  zero: ZeroShotClassificationOutput,
  [summary]: SummarizationOutput,
  [translated]: TranslationOutput,
  [made]: Text2TextGenerationOutput,
  [text]: TextGenerationStringOutput,
  [chat]: TextGenerationChatOutput,
  [either]: TextGenerationOutput,
): (string | number | undefined)[] {
  const last = typeof either?.generated_text === 'string' ? either.generated_text : either?.generated_text.at(-1)?.content;
  return [
    mask[0]?.token_str,
    mask[0]?.score,
    mask[0]?.token,
    mask[0]?.sequence,
    labels[0]?.label,
    labels[0]?.score,
    tokens[0]?.entity,
    tokens[0]?.word,
    tokens[0]?.index,
    groups[0]?.entity_group,
    answer.answer,
    answer.score,
    zero.sequence,
    zero.labels[0],
    zero.scores[0],
    summary?.summary_text,
    translated?.translation_text,
    made?.generated_text,
    text?.generated_text,
    chat?.generated_text.at(-1)?.content,
    last,
  ];
}

export function outputs(
  all: [BaseModelOutput, SequenceClassifierOutput, TokenClassifierOutput, MaskedLMOutput, CausalLMOutput, Seq2SeqLMOutput],
  answer: QuestionAnsweringModelOutput,
  past: CausalLMOutputWithPast,
  any: ModelOutput,
): Tensor[] {
  const [base, sequence, token, masked, causal, seq2seq] = all;
  void any;
  const heads = [sequence.logits, token.logits, masked.logits, causal.logits, seq2seq.logits, past.logits];
  return [base.last_hidden_state, answer.start_logits, answer.end_logits, ...heads];
}

export type Pipes = [
  FeatureExtractionPipeline,
  FillMaskPipeline,
  QuestionAnsweringPipeline,
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TokenClassificationPipeline,
  TranslationPipeline,
  ZeroShotClassificationPipeline,
];
export type Autos = [
  AutoConfig,
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForQuestionAnswering,
  AutoModelForSeq2SeqLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  AutoTokenizer,
];
export type Classes = [
  BaseStreamer,
  DynamicCache,
  EosTokenCriteria,
  GenerationConfig,
  InterruptableStoppingCriteria,
  MaxLengthCriteria,
  StoppingCriteria,
  StoppingCriteriaList,
  TextStreamer,
];
export type Rest = [AliasTasks['ner'], AllTasks['ner'], SupportedTasks['fill-mask'], NestArray<number>, DataArray, typeof ModelRegistry, ModelFileNotFoundError]; // prettier-ignore

/** The pattern of most workers: what is loaded is kept in static fields. */
export class Chat {
  static model_id = 'onnx-community/Qwen3-0.6B-ONNX';
  static tokenizer: Promise<PreTrainedTokenizer> | null = null;
  static model: Promise<PreTrainedModel> | null = null;

  static async getInstance(progress_callback?: ProgressCallback): Promise<[PreTrainedTokenizer, PreTrainedModel]> {
    this.tokenizer ??= AutoTokenizer.from_pretrained(this.model_id, { progress_callback });
    this.model ??= AutoModelForCausalLM.from_pretrained(this.model_id, { dtype: 'q4f16', device: 'webgpu', progress_callback });
    return Promise.all([this.tokenizer, this.model]);
  }
}

export class Classify {
  static task: PipelineType = 'text-classification';
  static instance: Promise<TextClassificationPipeline> | null = null;

  static getInstance(progress_callback?: ProgressCallback) {
    this.instance ??= pipeline('text-classification', 'Xenova/distilbert-base-uncased-finetuned-sst-2-english', {
      progress_callback,
    });
    return this.instance;
  }
}

export const kinds = (value: unknown): boolean[] => [
  value instanceof PreTrainedModel,
  value instanceof PreTrainedTokenizer,
  value instanceof TokenizersBackend,
  value instanceof PretrainedConfig,
  value instanceof TextGenerationPipeline,
];
