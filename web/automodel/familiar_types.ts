// Names of types that transformers.js exports for text, so that a TypeScript program compiles with its import changed. Each means what the class or function
// of that name gives here.
import type { Loaded, ModelOptions, ModelOutput } from '../engine/types.js';
import type { GeneratedText, Text2Text } from '../generation/generation_types.js';
import type { ProgressInfo, SourceOptions } from '../source/types.js';
import type { Pipelines } from '../tasks/task_types.js';
import type { Answer, Entity, EntityGroup, MaskFilling, ZeroShotResult } from '../tasks/task_types.js';
import type { ChatMessage } from '../tokenizer/types.js';
import type { LabelScore } from '../vectors/types.js';

/** Alternative names of tasks. */
export type AliasType = 'sentiment-analysis' | 'ner' | 'embeddings';
/** The task names that `pipeline` accepts. */
export type PipelineType = keyof Pipelines;
/** The tasks, without alternative names. */
export type TaskType = Exclude<PipelineType, AliasType>;
/** The pipeline type of each task. */
export type SupportedTasks = { [Task in TaskType]: Pipelines[Task] };
/** The pipeline type of each alternative name. */
export type AliasTasks = { [Task in AliasType]: Pipelines[Task] };
/** The pipeline type of each task name. */
export type AllTasks = Pipelines;

/** The result of `fill-mask` for a text with one mask. */
export type FillMaskOutput = MaskFilling[];
/** The labels of a text with their scores. */
export type TextClassificationOutput = LabelScore[];
/** Tokens with their labels; with an `aggregation_strategy`, entities. */
export type TokenClassificationOutput<O = { aggregation_strategy?: 'none' }> = O extends {
  aggregation_strategy: 'simple' | 'first' | 'average' | 'max';
}
  ? EntityGroup[]
  : Entity[];
/** An answer, with its position in the text. */
export type QuestionAnsweringOutput = Answer;
/** The scores of the labels that the call named. */
export type ZeroShotClassificationOutput = ZeroShotResult;
/** The summaries of a text. */
export type SummarizationOutput = Text2Text<'summary_text'>[];
/** The translations of a text. */
export type TranslationOutput = Text2Text<'translation_text'>[];
/** The texts generated from a text. */
export type Text2TextGenerationOutput = Text2Text<'generated_text'>[];
/** The texts generated from a prompt. */
export type TextGenerationStringOutput = GeneratedText<string>[];
/** A chat that ends with the generated answer. */
export type TextGenerationChatOutput = GeneratedText<ChatMessage[]>[];
/** The texts generated from a prompt or a chat. */
export type TextGenerationOutput = GeneratedText<string | ChatMessage[]>[];

/** The function that `progress_callback` takes. */
export type ProgressCallback = (progress: ProgressInfo) => void;
/** The options of `pipeline` and of `AutoModel..from_pretrained`. */
export type PretrainedModelOptions = ModelOptions;
/** The options of `AutoTokenizer.from_pretrained`. */
export type PretrainedTokenizerOptions = SourceOptions & {
  /** Used instead of the model's config.json. */
  config?: Record<string, unknown> | null;
};
/** The values that `dtype` accepts, as strings. */
export type DataType = Extract<NonNullable<ModelOptions['dtype']>, string>;
/**
 * The values that `device` accepts. `'webgpu'` and `'gpu'` use a GPU, `'auto'` the faster of both; all others use the processor. Names of other devices cause
 * a warning.
 */
export type DeviceType = 'auto' | 'gpu' | 'cpu' | 'wasm' | 'webgpu' | 'cuda' | 'dml' | 'coreml' | 'webnn' | 'webnn-npu' | 'webnn-gpu' | 'webnn-cpu'; // prettier-ignore

/** Nested lists of numbers, as `tolist()` gives them. */
export type NestArray<T> = T | NestArray<T>[];
/** The numbers of a Tensor. */
export type DataArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array
  | any[];

type With<Name extends keyof ModelOutput> = Omit<ModelOutput, Name> & Required<Pick<ModelOutput, Name>>;
/** The output of a model without a head. */
export type BaseModelOutput = ModelOutput;
/** The output of a decoder, `AutoModelForCausalLM`. */
export type CausalLMOutput = With<'logits'>;
/** The output of a decoder. It has no `past_key_values`: keys and values stay inside WebAssembly. */
export type CausalLMOutputWithPast = With<'logits'>;
/** The output of a masked language model. */
export type MaskedLMOutput = With<'logits'>;
/** The output of a question-answering model. */
export type QuestionAnsweringModelOutput = With<'start_logits' | 'end_logits'>;
/** The output of an encoder-decoder. */
export type Seq2SeqLMOutput = Pick<With<'logits'>, 'logits'>;
/** The output of a text classifier. */
export type SequenceClassifierOutput = With<'logits'>;
/** The output of a token classifier. */
export type TokenClassifierOutput = With<'logits'>;

/** Any loaded model. */
export interface AnyModel extends Loaded {
  (inputs: any, options?: any): Promise<any>;
  /** Generates text with a decoder or encoder-decoder. Any other model throws an `UnsupportedError`. */
  generate(options: any): Promise<any>;
  /** The contents of config.json. */
  readonly config: Readonly<Record<string, any>>;
}
