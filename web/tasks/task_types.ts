// Public types of the tasks.
import type { AtLeastOne } from '../core/types.js';
import type { LabelScore } from '../vectors/types.js';
import type { LoadedPipeline, TaskTextOptions } from '../engine/types.js';
import type { FeatureExtractionPipeline } from './embed_types.js';
import type { InformationExtractionPipeline } from './extraction_types.js';
import type { LateInteractionPipeline, RankedDocument, SparseEncodingPipeline } from './retrieval_types.js';
import type {
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TextGenerationPipeline,
  TranslationPipeline,
} from '../generation/generation_types.js';

/** Per text, in input order: number of tokens, whether it was truncated, and its fraction of unknown tokens. */
interface TextFacts {
  tokens: number[];
  truncated: boolean[];
  unknown: number[];
}

/** Facts about a result's text. */
interface OneTextFacts {
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The fraction of the text's tokens, from 0 to 1, that are not in the vocabulary. */
  unknown: number;
}

/** How scores are computed from logits. `'softmax'`: they sum to 1. `'sigmoid'`: independently, from 0 to 1. `'none'`: the raw logits. */
export type ClassificationFunction = 'softmax' | 'sigmoid' | 'none';

/** Two texts that are classified together, such as a premise and a hypothesis. */
export interface TextPair {
  /** The first text. */
  text: string;
  /** The second text; `''` means none, as in Python. */
  text_pair: string;
}

/** Options of a call of a `text-classification` pipeline. */
export interface TextClassificationOptions extends TaskTextOptions {
  /** Number of labels per text, best first; `null`: all. Default 1. */
  top_k?: number | null;
  /**
   * How scores are computed from logits. Default, as in Python: config.json's `problem_type`, else `'sigmoid'` for a single label and `'softmax'` for
   * several.
   */
  function_to_apply?: ClassificationFunction;
}

/** The result of `pipeline('text-classification')`. One text gives its labels. Several texts give one label each with `top_k` 1, otherwise a list each. */
export interface TextClassificationPipeline extends LoadedPipeline {
  (input: string | TextPair, options?: TextClassificationOptions): Promise<AtLeastOne<LabelScore> & TextFacts>;
  (
    inputs: readonly (string | TextPair)[],
    options: TextClassificationOptions & { top_k: number | null },
  ): Promise<LabelScore[][] & TextFacts>;
  (inputs: readonly (string | TextPair)[], options?: TextClassificationOptions): Promise<LabelScore[] & TextFacts>;
  /** The task's name. */
  readonly task: 'text-classification';
}

/** A text and its labels, for the option `examples` of zero-shot classification. */
export interface ZeroShotExample {
  /** A text like those to classify. */
  text: string;
  /** The labels that it has, spelled like the candidate labels. */
  labels: readonly string[];
}

/** Options of a call of a `zero-shot-classification` pipeline. */
export interface ZeroShotOptions extends TaskTextOptions {
  /** The hypothesis; the label replaces `{}`. Default `'This example is {}.'`, and the label alone for a GLiClass or GLiNER2 model. */
  hypothesis_template?: string;
  /** `true` scores each label independently, against contradiction. Default `false`: the scores of a text sum to 1. */
  multi_label?: boolean;
  /**
   * For GLiClass models: describes the task, in a sentence that the model reads before the text. Default: none. For GLiNER2 models: the name of the task,
   * such as `'sentiment'`. Default `'category'`.
   */
  prompt?: string;
  /** For GLiClass and GLiNER2 models: texts with their labels, which the model reads beside the text. Default: none. */
  examples?: readonly ZeroShotExample[];
}

/** The labels of one text. */
export interface ZeroShotResult extends OneTextFacts {
  /** The text that was classified. */
  sequence: string;
  /** The labels, best first. */
  labels: string[];
  /** The scores, in the order of `labels`. */
  scores: number[];
}

export interface ZeroShotClassificationPipeline extends LoadedPipeline {
  /** Scores labels for a text. `candidate_labels`: an array, or one string with commas. */
  (text: string, candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult>;
  (texts: readonly string[], candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult[]>;
  /** The task's name. */
  readonly task: 'zero-shot-classification';
}

/**
 * How tokens become entities, as in Python. `'none'`: one entry per token. `'simple'`: groups adjacent tokens with the same tag. `'first'`, `'average'`,
 * `'max'`: groups words; a word's label comes from its first token, from the mean of its tokens, or from its token with the highest score.
 */
export type AggregationStrategy = 'none' | 'simple' | 'first' | 'average' | 'max';

/** Options of a call of a `token-classification` pipeline. */
export interface TokenClassificationOptions extends TaskTextOptions {
  /** How tokens become entities. Default `'none'`: one entry per token. */
  aggregation_strategy?: AggregationStrategy;
  /** Labels to leave out (without `B-` and `I-` for groups). Default `['O']`. */
  ignore_labels?: string | readonly string[];
  /** Splits a text that is too long into windows that share this many tokens. Requires an `aggregation_strategy`. Default: the text is truncated. */
  stride?: number;
  /**
   * With `stride`: `'merge'` (default, as in Python) keeps the longer of two entities that adjacent windows find in their overlap. `'once'` classifies
   * each token once, in the window with the most context on both sides.
   */
  windows?: 'merge' | 'once';
}

/** A labelled token. Its text is `text.slice(start, end)`. */
export interface Entity {
  /** The token's tag, such as `'B-PER'`. */
  entity: string;
  /** The score, from 0 to 1. */
  score: number;
  /** Index of the token, counting special tokens. */
  index: number;
  /** The token as written in the vocabulary, such as `'##ing'`. */
  word: string;
  /** Start offset in the text, in UTF-16 code units. */
  start: number;
  /** End offset in the text, in UTF-16 code units. */
  end: number;
}

/** An entity of one or more words, grouped by `aggregation_strategy`. Its text is `text.slice(start, end)`. */
export interface EntityGroup {
  /** The label without `B-` and `I-`, such as `'PER'`. */
  entity_group: string;
  /** The score, from 0 to 1: the mean of its tokens, or as defined by `aggregation_strategy`. */
  score: number;
  /** The tokens of the group, joined into text. */
  word: string;
  /** Start offset in the text, in UTF-16 code units. */
  start: number;
  /** End offset in the text, in UTF-16 code units. */
  end: number;
}

type EntityOf<O> = O extends { aggregation_strategy: Exclude<AggregationStrategy, 'none'> } ? EntityGroup : Entity;

export interface TokenClassificationPipeline extends LoadedPipeline {
  <const O extends TokenClassificationOptions>(text: string, options?: O): Promise<EntityOf<O>[] & OneTextFacts>;
  <const O extends TokenClassificationOptions>(texts: readonly string[], options?: O): Promise<(EntityOf<O>[] & OneTextFacts)[]>;
  /** The task's name. */
  readonly task: 'token-classification';
}

/** Options of a call of a `zero-shot-ner` pipeline. */
export interface ZeroShotNerOptions extends Pick<TaskTextOptions, 'adapter' | 'signal'> {
  /** Minimum score of entities, exclusive (with GLiNER2 inclusive). From 0 to 1; default 0.5. */
  threshold?: number;
  /** `true` (default): entities do not overlap. `false`: entities may be nested. */
  flat_ner?: boolean;
  /**
   * `true`: an entity may have several labels, one entry each. Default `false`. With GLiNER2 the entities of each label are chosen alone, unless it is
   * `false`.
   */
  multi_label?: boolean;
}

/** An entity; `text` is `input.slice(start, end)`. */
export interface NerEntity {
  /** One of the given labels. */
  label: string;
  /** The score, from 0 to 1. */
  score: number;
  /** The entity's text. */
  text: string;
  /** Start offset in the text, in UTF-16 code units. */
  start: number;
  /** End offset in the text, in UTF-16 code units. */
  end: number;
}

/** Facts about the text. `truncated`: whether a word was so long that only its beginning was read. */
interface NerFacts extends OneTextFacts {
  /** Number of windows in which the text was read: more than one if it exceeds the model's limit. */
  windows: number;
}

/**
 * The result of `pipeline('zero-shot-ner')`. `labels`: an array, or one string with commas. Throws an `InputError` if there are none, or too many to
 * leave room for the text.
 *
 *     const ner = await pipeline('zero-shot-ner', './gliner');
 *     await ner('Ada lives in Paris', ['person', 'city'], { threshold: 0.4 }); // [{ label: 'person', score, text: 'Ada', start: 0, end: 3 }, ..]
 */
export interface ZeroShotNerPipeline extends LoadedPipeline {
  (text: string, labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<NerEntity[] & NerFacts>;
  (texts: readonly string[], labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<(NerEntity[] & NerFacts)[]>;
  /** The task's name. */
  readonly task: 'zero-shot-ner';
}

/** A question and the text to search for its answer. */
export interface QuestionContext {
  /** The question to answer. */
  question: string;
  /** The text to search for the answer. */
  context: string;
}

/** Options of a call of a `question-answering` pipeline. */
export interface QuestionAnsweringOptions extends Pick<TaskTextOptions, 'adapter' | 'signal' | 'split_special_tokens'> {
  /** Number of answers per question, best first. Default 1. */
  top_k?: number;
  /** Tokens that adjacent windows of a long context share. Default: half of `max_seq_len`, at most 128. */
  doc_stride?: number;
  /** Maximum tokens of an answer. Default 15. */
  max_answer_len?: number;
  /** Maximum tokens of a window, including the question and special tokens. Default: the model's limit, at most 384. */
  max_seq_len?: number;
  /** `true`: "no answer" (an empty text) may be an answer. Default `false`. */
  handle_impossible_answer?: boolean;
  /** Extends answers to whole words. Default `true`. */
  align_to_words?: boolean;
}

/** An answer: `context.slice(start, end)`. */
export interface Answer {
  /** The answer's text. */
  answer: string;
  /** The score, from 0 to 1. */
  score: number;
  /** Start offset in the context, in UTF-16 code units. */
  start: number;
  /** End offset in the context, in UTF-16 code units. */
  end: number;
}

type AnswerOf<O> = O extends { top_k: 1 } ? Answer | null : O extends { top_k: number } ? Answer[] : Answer | null;

/** The result of `pipeline('question-answering')`. With `top_k` 1 (default), returns one answer, or null if the context has none; otherwise a list. */
export interface QuestionAnsweringPipeline extends LoadedPipeline {
  <const O extends QuestionAnsweringOptions>(question: string, context: string, options?: O): Promise<AnswerOf<O>>;
  <const O extends QuestionAnsweringOptions>(
    questions: readonly string[],
    context: string | readonly string[],
    options?: O,
  ): Promise<AnswerOf<O>[]>;
  <const O extends QuestionAnsweringOptions>(input: QuestionContext, options?: O): Promise<AnswerOf<O>>;
  <const O extends QuestionAnsweringOptions>(inputs: readonly QuestionContext[], options?: O): Promise<AnswerOf<O>[]>;
  /** The task's name. */
  readonly task: 'question-answering';
}

/** Options of a call of a `fill-mask` pipeline. */
export interface FillMaskOptions extends TaskTextOptions {
  /** Number of tokens per mask, best first; `null`: all. Default 5. */
  top_k?: number | null;
  /** Scores only these words. A word of several tokens is replaced by its first token. */
  targets?: string | readonly string[];
}

/** A token that fills a mask. */
export interface MaskFilling {
  /** The token's probability, from 0 to 1. */
  score: number;
  /** The token's id. */
  token: number;
  /** The token as text. */
  token_str: string;
  /** The text with the mask replaced. */
  sequence: string;
}

/**
 * The result of `pipeline('fill-mask')`. Returns a list for a text with one mask, a list of lists for several masks. A text without a mask throws an
 * `InputError`.
 */
export interface FillMaskPipeline extends LoadedPipeline {
  (text: string, options?: FillMaskOptions): Promise<(MaskFilling[] | MaskFilling[][]) & OneTextFacts>;
  (texts: readonly string[], options?: FillMaskOptions): Promise<((MaskFilling[] | MaskFilling[][]) & OneTextFacts)[]>;
  /** The task's name. */
  readonly task: 'fill-mask';
}

/** Options of a call of a `text-ranking` pipeline. */
export interface TextRankingOptions extends TaskTextOptions {
  /** Number of documents to return, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text` to the results. Default `false`. */
  return_documents?: boolean;
  /** How scores are computed from logits. Default: the function named in the model's files, else `'sigmoid'`. */
  function_to_apply?: 'sigmoid' | 'none';
  /** Text to put before the query; with a chat template, the system message. Default: the model's own. */
  prompt?: string;
  /** Name of one of the model's prompts. An unknown name throws an `InputError`. */
  prompt_name?: string;
  /** The chat template for a pair, with messages of the roles `query` and `document`. `''`: the tokenizer joins the two texts. Default: the model's own. */
  chat_template?: string;
  /** For a decoder: the token whose logit is the score, such as `'yes'`. Default: the model's own (`LogitScore`); throws an `InputError` if it has none. */
  true_token?: string;
  /** For a decoder: the token whose logit is subtracted, such as `'no'`. */
  false_token?: string;
}

/** The result of `pipeline('text-ranking')`. Ranks documents by their relevance for a query. */
export interface TextRankingPipeline extends LoadedPipeline {
  (query: string, documents: readonly string[], options?: TextRankingOptions): Promise<RankedDocument[]>;
  /** The task's name. */
  readonly task: 'text-ranking';
}

/** The result of `pipeline(task)` for each task. */
export interface Pipelines {
  /** Computes embeddings of texts. */
  'feature-extraction': FeatureExtractionPipeline;
  /** The same as `'feature-extraction'`. */
  embeddings: FeatureExtractionPipeline;
  /** Assigns labels to texts. */
  'text-classification': TextClassificationPipeline;
  /** The same as `'text-classification'`. */
  'sentiment-analysis': TextClassificationPipeline;
  /** Classifies texts with labels that you name in the call. */
  'zero-shot-classification': ZeroShotClassificationPipeline;
  /** Labels each token: names of people, places and so on. */
  'token-classification': TokenClassificationPipeline;
  /** The same as `'token-classification'`. */
  ner: TokenClassificationPipeline;
  /** Finds entities with labels that you name in the call (GLiNER). */
  'zero-shot-ner': ZeroShotNerPipeline;
  /** Extracts structures, relations, entities and classes by a schema that you name in the call (GLiNER2). */
  'information-extraction': InformationExtractionPipeline;
  /** Finds the answer to a question in a context. */
  'question-answering': QuestionAnsweringPipeline;
  /** Predicts the token at `[MASK]`. */
  'fill-mask': FillMaskPipeline;
  /** Ranks documents for a query with a cross-encoder. */
  'text-ranking': TextRankingPipeline;
  /** Continues a text, or answers a chat. */
  'text-generation': TextGenerationPipeline;
  /** Transforms texts into texts. */
  'text2text-generation': Text2TextGenerationPipeline;
  /** Translates texts into another language. */
  translation: TranslationPipeline;
  /** The same as `'translation'`. */
  [pair: `translation_${string}_to_${string}`]: TranslationPipeline;
  /** Summarizes long texts. */
  summarization: SummarizationPipeline;
  /** Ranks documents by their token vectors (ColBERT). */
  'late-interaction': LateInteractionPipeline;
  /** Computes sparse embeddings: words with weights (SPLADE). */
  'sparse-encoding': SparseEncodingPipeline;
}
