// Public types of the tasks.
import type { LabelScore } from '../vectors/types.js';
import type { Loaded, TaskTextOptions } from '../engine/types.js';
import type { FeatureExtractionPipeline } from './embed_types.js';
import type { LateInteractionPipeline, RankedDocument, SparseEncodingPipeline } from './retrieval_types.js';
import type {
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TextGenerationPipeline,
  TranslationPipeline,
} from './generation_types.js';

/** For each text, in input order: its number of tokens, whether it was truncated to them, and its share of unknown tokens. */
interface TextFacts {
  tokens: number[];
  truncated: boolean[];
  unknown: number[];
}

/** What a result says of its text. */
interface OneTextFacts {
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The share of the text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number;
}

export type ClassificationFunction = 'softmax' | 'sigmoid' | 'none';

export interface TextPair {
  text: string;
  /** `''`: none, as in Python. */
  text_pair: string;
}

export interface TextClassificationOptions extends TaskTextOptions {
  /** Labels per text, best first; `null`: all. Default 1. */
  top_k?: number | null;
  /**
   * How scores are computed from logits. Default, as in Python: given by config.json's `problem_type`, else `'sigmoid'` for a single label
   * and `'softmax'` for several.
   */
  function_to_apply?: ClassificationFunction;
}

/** One text: its labels. Several texts: with `top_k` 1 one label each, else a list each. */
export interface TextClassificationPipeline extends Loaded {
  (input: string | TextPair, options?: TextClassificationOptions): Promise<LabelScore[] & TextFacts>;
  (
    inputs: readonly (string | TextPair)[],
    options: TextClassificationOptions & { top_k: number | null },
  ): Promise<LabelScore[][] & TextFacts>;
  (inputs: readonly (string | TextPair)[], options?: TextClassificationOptions): Promise<LabelScore[] & TextFacts>;
  readonly task: 'text-classification';
}

export interface ZeroShotOptions extends TaskTextOptions {
  /** The hypothesis for a label, which replaces `{}`. Default `'This example is {}.'`. */
  hypothesis_template?: string;
  /** `true`: scores each label independently, against contradiction. Default `false`: the scores of a text sum to 1. */
  multi_label?: boolean;
}

export interface ZeroShotResult extends OneTextFacts {
  sequence: string;
  /** Best first. */
  labels: string[];
  /** In the order of `labels`. */
  scores: number[];
}

export interface ZeroShotClassificationPipeline extends Loaded {
  /** candidate_labels: an array, or one string separated by commas. */
  (text: string, candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult>;
  (texts: readonly string[], candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult[]>;
  readonly task: 'zero-shot-classification';
}

/**
 * As in Python. `'none'`: one entry per token; `'simple'`: groups neighbouring tokens with one tag; `'first'`, `'average'`, `'max'`: groups
 * words, each with the label of its first token, of its tokens' mean, or of its token with the highest score.
 */
export type AggregationStrategy = 'none' | 'simple' | 'first' | 'average' | 'max';

export interface TokenClassificationOptions extends TaskTextOptions {
  /** Default `'none'`. */
  aggregation_strategy?: AggregationStrategy;
  /** Labels to leave out (for groups, without `B-` and `I-`). Default `['O']`. */
  ignore_labels?: string | readonly string[];
  /**
   * Splits a text that is too long into windows that share this many tokens. Needs an `aggregation_strategy`. Default: no windows, the text
   * is truncated.
   */
  stride?: number;
  /**
   * With `stride`: `'merge'` (default, as in Python) keeps the longer of two entities that neighbouring windows find in what they share.
   * `'once'` judges each token once, in the window where it has the most text on both sides.
   */
  windows?: 'merge' | 'once';
}

/** The entity's text is `text.slice(start, end)`. */
export interface Entity {
  entity: string;
  score: number;
  /** Index of the token, special tokens included. */
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

export interface TokenClassificationPipeline extends Loaded {
  <const O extends TokenClassificationOptions>(text: string, options?: O): Promise<EntityOf<O>[] & OneTextFacts>;
  <const O extends TokenClassificationOptions>(texts: readonly string[], options?: O): Promise<(EntityOf<O>[] & OneTextFacts)[]>;
  readonly task: 'token-classification';
}

export interface ZeroShotNerOptions extends Pick<TaskTextOptions, 'adapter' | 'signal'> {
  /** Entities have a higher score. From 0 to 1; default 0.5. */
  threshold?: number;
  /** `true` (default): entities do not overlap. `false`: one may lie inside another. */
  flat_ner?: boolean;
  /** `true`: an entity may have several labels, one entry each. Default `false`. */
  multi_label?: boolean;
}

/** `text` is `input.slice(start, end)`. */
export interface NerEntity {
  label: string;
  /** From 0 to 1. */
  score: number;
  text: string;
  start: number;
  end: number;
}

/** `truncated`: whether a word was so long that only its beginning was read. */
interface NerFacts extends OneTextFacts {
  /** Parts in which the text was read: more than one if it is longer than the model reads at once. */
  windows: number;
}

/**
 * labels: an array, or one string separated by commas. An `InputError` if there are none, or more than fit beside a text.
 *
 *     const ner = await pipeline('zero-shot-ner', './gliner');
 *     await ner('Ada lives in Paris', ['person', 'city'], { threshold: 0.4 }); // [{ label: 'person', score, text: 'Ada', start: 0, end: 3 }, ..]
 */
export interface ZeroShotNerPipeline extends Loaded {
  (text: string, labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<NerEntity[] & NerFacts>;
  (texts: readonly string[], labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<(NerEntity[] & NerFacts)[]>;
  readonly task: 'zero-shot-ner';
}

export interface QuestionContext {
  question: string;
  context: string;
}

export interface QuestionAnsweringOptions extends Pick<TaskTextOptions, 'adapter' | 'signal' | 'split_special_tokens'> {
  /** Answers per question, best first. Default 1. */
  top_k?: number;
  /** Tokens that neighbouring windows of a long context share. Default: half of `max_seq_len`, at most 128. */
  doc_stride?: number;
  /** Maximum tokens of an answer. Default 15. */
  max_answer_len?: number;
  /** Maximum tokens of a window, question and special tokens included. Default: the model's limit, at most 384. */
  max_seq_len?: number;
  /** `true`: includes "no answer" (an empty one) among the answers. Default `false`. */
  handle_impossible_answer?: boolean;
  /** Extends answers to whole words. Default `true`. */
  align_to_words?: boolean;
}

/** The answer is `context.slice(start, end)`. */
export interface Answer {
  answer: string;
  score: number;
  start: number;
  end: number;
}

type AnswerOf<O> = O extends { top_k: 1 } ? Answer | null : O extends { top_k: number } ? Answer[] : Answer | null;

/** With `top_k` 1 (default) one answer, or null if the context has none; else a list. */
export interface QuestionAnsweringPipeline extends Loaded {
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
  /** Fillings per mask, best first; `null`: all. Default 5. */
  top_k?: number | null;
  /** Scores only these; a text that is not one token is replaced by its first token. */
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

/** A list for a text with one mask, a list of lists for several masks. A text without a mask is an `InputError`. */
export interface FillMaskPipeline extends Loaded {
  (text: string, options?: FillMaskOptions): Promise<(MaskFilling[] | MaskFilling[][]) & OneTextFacts>;
  (texts: readonly string[], options?: FillMaskOptions): Promise<((MaskFilling[] | MaskFilling[][]) & OneTextFacts)[]>;
  readonly task: 'fill-mask';
}

export interface TextRankingOptions extends TaskTextOptions {
  /** Number of documents, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text`. Default `false`. */
  return_documents?: boolean;
  /** Default: the function in config.json, else `'sigmoid'`. */
  function_to_apply?: 'sigmoid' | 'none';
}

export interface TextRankingPipeline extends Loaded {
  (query: string, documents: readonly string[], options?: TextRankingOptions): Promise<RankedDocument[]>;
  readonly task: 'text-ranking';
}

/** The result of `pipeline(task)`. */
export interface Pipelines {
  'feature-extraction': FeatureExtractionPipeline;
  'text-classification': TextClassificationPipeline;
  'sentiment-analysis': TextClassificationPipeline;
  'zero-shot-classification': ZeroShotClassificationPipeline;
  'token-classification': TokenClassificationPipeline;
  ner: TokenClassificationPipeline;
  'zero-shot-ner': ZeroShotNerPipeline;
  'question-answering': QuestionAnsweringPipeline;
  'fill-mask': FillMaskPipeline;
  'text-ranking': TextRankingPipeline;
  'text-generation': TextGenerationPipeline;
  'text2text-generation': Text2TextGenerationPipeline;
  translation: TranslationPipeline;
  summarization: SummarizationPipeline;
  'late-interaction': LateInteractionPipeline;
  'sparse-encoding': SparseEncodingPipeline;
}
