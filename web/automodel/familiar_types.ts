// Names of types that transformers.js exports for text, so that a TypeScript program compiles with its import changed. Each means what the class or function
// of that name gives here.
import type { Loaded, ModelOptions, ModelOutput } from '../engine/types.js';
import type { GeneratedText, Text2Text } from '../generation/generation_types.js';
import type { ProgressInfo, SourceOptions } from '../source/types.js';
import type { Pipelines } from '../tasks/task_types.js';
import type { Answer, Entity, EntityGroup, MaskFilling, ZeroShotResult } from '../tasks/task_types.js';
import type { ChatMessage } from '../tokenizer/types.js';
import type { LabelScore } from '../vectors/types.js';

/** The other names of tasks. */
export type AliasType = 'sentiment-analysis' | 'ner' | 'embeddings';
/** What `pipeline` takes as its task. */
export type PipelineType = keyof Pipelines;
/** The tasks, each by its own name. */
export type TaskType = Exclude<PipelineType, AliasType>;
/** The pipelines of the tasks. */
export type SupportedTasks = { [Task in TaskType]: Pipelines[Task] };
/** The pipelines under the other names. */
export type AliasTasks = { [Task in AliasType]: Pipelines[Task] };
/** The pipelines of all names. */
export type AllTasks = Pipelines;

/** The result of `fill-mask` for a text with one mask. */
export type FillMaskOutput = MaskFilling[];
/** The labels of a text. */
export type TextClassificationOutput = LabelScore[];
/** The tokens, or the entities with an `aggregation_strategy`. */
export type TokenClassificationOutput<O = { aggregation_strategy?: 'none' }> = O extends {
  aggregation_strategy: 'simple' | 'first' | 'average' | 'max';
}
  ? EntityGroup[]
  : Entity[];
/** One answer, with its place in the text. */
export type QuestionAnsweringOutput = Answer;
/** The labels of a text that were named in the call. */
export type ZeroShotClassificationOutput = ZeroShotResult;
/** The summaries of a text. */
export type SummarizationOutput = Text2Text<'summary_text'>[];
/** The translations of a text. */
export type TranslationOutput = Text2Text<'translation_text'>[];
/** The texts made from a text. */
export type Text2TextGenerationOutput = Text2Text<'generated_text'>[];
/** What follows a text. */
export type TextGenerationStringOutput = GeneratedText<string>[];
/** A chat with the answer as its last message. */
export type TextGenerationChatOutput = GeneratedText<ChatMessage[]>[];
/** What follows a text or a chat. */
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
/** What `dtype` takes. */
export type DataType = Extract<NonNullable<ModelOptions['dtype']>, string>;
/** What `device` takes: `'wasm'`, `'cpu'` and `'auto'` are where wattn runs, and a warning names any other. */
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
/** The output of a decoder. */
export type CausalLMOutput = With<'logits'>;
/** The output of a decoder. Keys and values do not leave WebAssembly. */
export type CausalLMOutputWithPast = With<'logits'>;
/** The output of a masked language model. */
export type MaskedLMOutput = With<'logits'>;
/** The output of a model that finds answers. */
export type QuestionAnsweringModelOutput = With<'start_logits' | 'end_logits'>;
/** The output of an encoder-decoder. */
export type Seq2SeqLMOutput = Pick<With<'logits'>, 'logits'>;
/** The output of a model that classifies texts. */
export type SequenceClassifierOutput = With<'logits'>;
/** The output of a model that classifies tokens. */
export type TokenClassifierOutput = With<'logits'>;

/** A loaded model of any kind. */
export interface AnyModel extends Loaded {
  (inputs: any, options?: any): Promise<any>;
  /** Generates, as decoders and encoder-decoders do; for others an `UnsupportedError`. */
  generate(options: any): Promise<any>;
  /** The contents of config.json. */
  readonly config: Readonly<Record<string, any>>;
}
