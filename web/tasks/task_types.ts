/// <reference lib="esnext.disposable" preserve="true" />
// Public types of the tasks: unit, default and error of every field.
import type { LabelScore } from '../vectors/types.js';
import type { AbortSignalLike } from '../core/types.js';
import type { MemoryInfo, ModelInfo } from '../engine/types.js';
import type { FeatureExtractionPipeline } from './embed_types.js';
import type {
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TextGenerationPipeline,
  TranslationPipeline,
} from './generation_types.js';

/** What every task can be told. */
export interface TaskTextOptions {
  /** Tokens, specials included. Default: the model's own limit. Beyond the model's positions: an `InputError`. */
  max_length?: number;
  /** A text beyond `max_length`: `'truncate'` (default; the result says so in `truncated`) or `'error'` (an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python: they are special tokens. */
  split_special_tokens?: boolean;
  /** Ends the call with an `AbortError`, between two micro-batches. */
  signal?: AbortSignalLike | undefined;
}

interface TaskPipeline {
  info(): ModelInfo;
  memory(): MemoryInfo;
  /** Runs made-up texts until the engine has compiled what is busy, up to 2 seconds. Never needed. */
  warmup(): Promise<void>;
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Of texts in the order they came in: tokens that ran, and whether the text was longer than that and cut. */
interface TextFacts {
  tokens: number[];
  truncated: boolean[];
}

export type ClassificationFunction = 'softmax' | 'sigmoid' | 'none';

export interface TextPair {
  text: string;
  text_pair: string;
}

export interface TextClassificationOptions extends TaskTextOptions {
  /** Labels a text, best first; `null`: all. Default 1. */
  top_k?: number | null;
  /**
   * From logits to scores. Default as in Python: by config.json's `problem_type`; without one `'sigmoid'` for a single label, else
   * `'softmax'`.
   */
  function_to_apply?: ClassificationFunction;
}

/**
 * One text: its labels. Several texts: with `top_k` 1 one label each, else a list each.
 */
export interface TextClassificationPipeline extends TaskPipeline {
  (input: string | TextPair, options?: TextClassificationOptions): Promise<LabelScore[] & TextFacts>;
  (
    inputs: readonly (string | TextPair)[],
    options: TextClassificationOptions & { top_k: number | null },
  ): Promise<LabelScore[][] & TextFacts>;
  (inputs: readonly (string | TextPair)[], options?: TextClassificationOptions): Promise<LabelScore[] & TextFacts>;
  readonly task: 'text-classification';
}

export interface ZeroShotOptions extends TaskTextOptions {
  /** Made from each label; `{}` stands for it. Default `'This example is {}.'`. */
  hypothesis_template?: string;
  /** `true`: each label by itself, against contradiction. Default `false`: the scores of a text add up to 1. */
  multi_label?: boolean;
}

export interface ZeroShotResult {
  sequence: string;
  /** Best first. */
  labels: string[];
  /** Of `labels`, in that order. */
  scores: number[];
  /** Whether the text was cut. */
  truncated: boolean;
}

export interface ZeroShotClassificationPipeline extends TaskPipeline {
  /** candidate_labels: several, or one string of them with commas. */
  (text: string, candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult>;
  (texts: readonly string[], candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult[]>;
  readonly task: 'zero-shot-classification';
}

/**
 * As in Python: `'none'`, one entry a token; `'simple'`, neighbouring tokens of one tag; `'first'`, `'average'`, `'max'`, the same
 * by words: the word has the label of its first token, of the mean of its tokens, of its surest token.
 */
export type AggregationStrategy = 'none' | 'simple' | 'first' | 'average' | 'max';

export interface TokenClassificationOptions extends TaskTextOptions {
  /** Default `'none'`. */
  aggregation_strategy?: AggregationStrategy;
  /** Labels (of groups: without `B-`, `I-`) to leave out. Default `['O']`. */
  ignore_labels?: string | readonly string[];
  /**
   * A text beyond the longest input is read in windows that share so many tokens, and entities are found wherever they are. Needs an
   * `aggregation_strategy`. Default: no windows, what is too much is cut.
   */
  stride?: number;
}

/** `text.slice(start, end)` is where it stands. */
export interface Entity {
  entity: string;
  score: number;
  /** Of the token, special tokens counted. */
  index: number;
  word: string;
  start: number;
  end: number;
}

export interface EntityGroup {
  entity_group: string;
  score: number;
  word: string;
  start: number;
  end: number;
}

type EntityOf<O> = O extends { aggregation_strategy: Exclude<AggregationStrategy, 'none'> } ? EntityGroup : Entity;

export interface TokenClassificationPipeline extends TaskPipeline {
  <const O extends TokenClassificationOptions>(text: string, options?: O): Promise<EntityOf<O>[] & { truncated: boolean }>;
  <const O extends TokenClassificationOptions>(
    texts: readonly string[],
    options?: O,
  ): Promise<(EntityOf<O>[] & { truncated: boolean })[]>;
  readonly task: 'token-classification';
}

export interface QuestionContext {
  question: string;
  context: string;
}

export interface QuestionAnsweringOptions extends Pick<TaskTextOptions, 'signal' | 'split_special_tokens'> {
  /** Answers a question, best first. Default 1. */
  top_k?: number;
  /** Tokens that two neighbouring windows of a long context share. Default: half of `max_seq_len`, at most 128. */
  doc_stride?: number;
  /** Tokens of the longest answer. Default 15. */
  max_answer_len?: number;
  /** Tokens of a window, question and specials included. Default: the model's limit, at most 384. */
  max_seq_len?: number;
  /** `true`: "no answer" (an empty one) is among the answers. Default `false`. */
  handle_impossible_answer?: boolean;
  /** Answers begin and end with words. Default `true`. */
  align_to_words?: boolean;
}

/** `context.slice(start, end)` is the answer. */
export interface Answer {
  answer: string;
  score: number;
  start: number;
  end: number;
}

type AnswerOf<O> = O extends { top_k: 1 } ? Answer | null : O extends { top_k: number } ? Answer[] : Answer | null;

/** With `top_k` 1 (default) one answer, or null when the context has none; else a list. */
export interface QuestionAnsweringPipeline extends TaskPipeline {
  <const O extends QuestionAnsweringOptions>(question: string, context: string, options?: O): Promise<AnswerOf<O>>;
  <const O extends QuestionAnsweringOptions>(
    questions: readonly string[],
    context: string | readonly string[],
    options?: O,
  ): Promise<AnswerOf<O>[]>;
  <const O extends QuestionAnsweringOptions>(input: QuestionContext, options?: O): Promise<AnswerOf<O>>;
  <const O extends QuestionAnsweringOptions>(inputs: readonly QuestionContext[], options?: O): Promise<AnswerOf<O>[]>;
  readonly task: 'question-answering';
}

export interface FillMaskOptions extends TaskTextOptions {
  /** Fillings a mask, best first; `null`: all. Default 5. */
  top_k?: number | null;
  /** Only these; a text that is no token of its own counts as its first token. */
  targets?: string | readonly string[];
}

export interface MaskFilling {
  score: number;
  /** Id of the token. */
  token: number;
  token_str: string;
  /** The text with this filling. */
  sequence: string;
}

/** One list for a text with one mask, a list of lists for one with several. A text without a mask: an `InputError`. */
export interface FillMaskPipeline extends TaskPipeline {
  (text: string, options?: FillMaskOptions): Promise<(MaskFilling[] | MaskFilling[][]) & { truncated: boolean }>;
  (texts: readonly string[], options?: FillMaskOptions): Promise<((MaskFilling[] | MaskFilling[][]) & { truncated: boolean })[]>;
  readonly task: 'fill-mask';
}

export interface TextRankingOptions extends TaskTextOptions {
  /** Documents, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text`. Default `false`. */
  return_documents?: boolean;
  /** Default: what the model's config.json says, else `'sigmoid'`. */
  function_to_apply?: 'sigmoid' | 'none';
}

export interface RankedDocument {
  /** Position in the documents. */
  corpus_id: number;
  score: number;
  text?: string;
  /** Whether query and document were cut. */
  truncated: boolean;
}

export interface TextRankingPipeline extends TaskPipeline {
  (query: string, documents: readonly string[], options?: TextRankingOptions): Promise<RankedDocument[]>;
  readonly task: 'text-ranking';
}

/** What `pipeline(task)` gives. */
export interface Pipelines {
  'feature-extraction': FeatureExtractionPipeline;
  'text-classification': TextClassificationPipeline;
  'sentiment-analysis': TextClassificationPipeline;
  'zero-shot-classification': ZeroShotClassificationPipeline;
  'token-classification': TokenClassificationPipeline;
  ner: TokenClassificationPipeline;
  'question-answering': QuestionAnsweringPipeline;
  'fill-mask': FillMaskPipeline;
  'text-ranking': TextRankingPipeline;
  'text-generation': TextGenerationPipeline;
  'text2text-generation': Text2TextGenerationPipeline;
  translation: TranslationPipeline;
  summarization: SummarizationPipeline;
}
