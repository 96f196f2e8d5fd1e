// Public types of the tasks.
import type { AtLeastOne } from '../core/types.js';
import type { LabelScore } from '../vectors/types.js';
import type { LoadedPipeline, TaskTextOptions } from '../engine/types.js';
import type { FeatureExtractionPipeline } from './embed_types.js';
import type { LateInteractionPipeline, RankedDocument, SparseEncodingPipeline } from './retrieval_types.js';
import type {
  SummarizationPipeline,
  Text2TextGenerationPipeline,
  TextGenerationPipeline,
  TranslationPipeline,
} from '../generation/generation_types.js';

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

/** How scores come from logits. `'softmax'`: they sum to 1. `'sigmoid'`: each by itself, from 0 to 1. `'none'`: the logits. */
export type ClassificationFunction = 'softmax' | 'sigmoid' | 'none';

/** Two texts that are judged together, such as a premise and a hypothesis. */
export interface TextPair {
  /** The first text. */
  text: string;
  /** `''`: none, as in Python. */
  text_pair: string;
}

/** Options of `text-classification`. */
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

/** Options of `zero-shot-classification`. */
export interface ZeroShotOptions extends TaskTextOptions {
  /** The hypothesis for a label, which replaces `{}`. Default `'This example is {}.'`. */
  hypothesis_template?: string;
  /** `true`: scores each label independently, against contradiction. Default `false`: the scores of a text sum to 1. */
  multi_label?: boolean;
}

/** The labels of one text. */
export interface ZeroShotResult extends OneTextFacts {
  /** The text that was classified. */
  sequence: string;
  /** The labels, the best first. */
  labels: string[];
  /** In the order of `labels`. */
  scores: number[];
}

export interface ZeroShotClassificationPipeline extends LoadedPipeline {
  /** candidate_labels: an array, or one string separated by commas. */
  (text: string, candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult>;
  (texts: readonly string[], candidate_labels: string | readonly string[], options?: ZeroShotOptions): Promise<ZeroShotResult[]>;
  /** The task's name. */
  readonly task: 'zero-shot-classification';
}

/**
 * As in Python. `'none'`: one entry per token. `'simple'`: groups neighbouring tokens with one tag. `'first'`, `'average'`, `'max'`: groups
 * words, each with the label of its first token, of its tokens' mean, or of its token with the highest score.
 */
export type AggregationStrategy = 'none' | 'simple' | 'first' | 'average' | 'max';

/** Options of `token-classification`. */
export interface TokenClassificationOptions extends TaskTextOptions {
  /** How tokens become entities. Default `'none'`: each token by itself. */
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
  /** The token's tag, such as `'B-PER'`. */
  entity: string;
  /** From 0 to 1. */
  score: number;
  /** Index of the token, special tokens included. */
  index: number;
  /** The token as the vocabulary has it, such as `'##ing'`. */
  word: string;
  /** Where it begins in the text, in UTF-16 units. */
  start: number;
  /** Where it ends in the text, in UTF-16 units. */
  end: number;
}

/** An entity of one or more words, as `aggregation_strategy` groups them. Its text is `text.slice(start, end)`. */
export interface EntityGroup {
  /** The label without `B-` and `I-`, such as `'PER'`. */
  entity_group: string;
  /** From 0 to 1: the mean of its tokens, or as `aggregation_strategy` has it. */
  score: number;
  /** The tokens of the group, joined to text. */
  word: string;
  /** Where it begins in the text, in UTF-16 units. */
  start: number;
  /** Where it ends in the text, in UTF-16 units. */
  end: number;
}

type EntityOf<O> = O extends { aggregation_strategy: Exclude<AggregationStrategy, 'none'> } ? EntityGroup : Entity;

export interface TokenClassificationPipeline extends LoadedPipeline {
  <const O extends TokenClassificationOptions>(text: string, options?: O): Promise<EntityOf<O>[] & OneTextFacts>;
  <const O extends TokenClassificationOptions>(texts: readonly string[], options?: O): Promise<(EntityOf<O>[] & OneTextFacts)[]>;
  /** The task's name. */
  readonly task: 'token-classification';
}

/** Options of a `zero-shot-ner` pipeline's call. */
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
  /** One of the given labels. */
  label: string;
  /** From 0 to 1. */
  score: number;
  /** The entity's text. */
  text: string;
  /** Where it begins in the text, in UTF-16 units. */
  start: number;
  /** Where it ends in the text, in UTF-16 units. */
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
export interface ZeroShotNerPipeline extends LoadedPipeline {
  (text: string, labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<NerEntity[] & NerFacts>;
  (texts: readonly string[], labels: string | readonly string[], options?: ZeroShotNerOptions): Promise<(NerEntity[] & NerFacts)[]>;
  /** The task's name. */
  readonly task: 'zero-shot-ner';
}

/** A question and the text that holds its answer. */
export interface QuestionContext {
  /** The question that is asked. */
  question: string;
  /** The text that holds the answer. */
  context: string;
}

/** Options of a `question-answering` pipeline's call. */
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
  /** The answer's text. */
  answer: string;
  /** From 0 to 1. */
  score: number;
  /** Where it begins in the context, in UTF-16 units. */
  start: number;
  /** Where it ends in the context, in UTF-16 units. */
  end: number;
}

type AnswerOf<O> = O extends { top_k: 1 } ? Answer | null : O extends { top_k: number } ? Answer[] : Answer | null;

/** With `top_k` 1 (default) one answer, or null if the context has none; else a list. */
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

/** Options of `fill-mask`. */
export interface FillMaskOptions extends TaskTextOptions {
  /** Fillings per mask, best first; `null`: all. Default 5. */
  top_k?: number | null;
  /** Scores only these; a text that is not one token is replaced by its first token. */
  targets?: string | readonly string[];
}

/** A token that may stand in place of the mask. */
export interface MaskFilling {
  /** The token's probability, from 0 to 1. */
  score: number;
  /** Id of the token. */
  token: number;
  /** The token as text. */
  token_str: string;
  /** The text with this filling. */
  sequence: string;
}

/** A list for a text with one mask, a list of lists for several masks. A text without a mask is an `InputError`. */
export interface FillMaskPipeline extends LoadedPipeline {
  (text: string, options?: FillMaskOptions): Promise<(MaskFilling[] | MaskFilling[][]) & OneTextFacts>;
  (texts: readonly string[], options?: FillMaskOptions): Promise<((MaskFilling[] | MaskFilling[][]) & OneTextFacts)[]>;
  /** The task's name. */
  readonly task: 'fill-mask';
}

/** Options of `text-ranking`. */
export interface TextRankingOptions extends TaskTextOptions {
  /** Number of documents, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text`. Default `false`. */
  return_documents?: boolean;
  /** Default: the function that the model's files name, else `'sigmoid'`. */
  function_to_apply?: 'sigmoid' | 'none';
  /** What is put before the query; with a chat template the system's message. Default: the model's own. */
  prompt?: string;
  /** Name of one of the model's prompts. An unknown name is an `InputError`. */
  prompt_name?: string;
  /** The chat template of a pair, whose messages have the roles `query` and `document`. `''`: the tokenizer joins the two texts. Default: the model's own. */
  chat_template?: string;
  /** The token of a decoder whose logit is the score, such as `'yes'`. Default: the model's own (`LogitScore`); an `InputError` if it has none. */
  true_token?: string;
  /** The token whose logit is subtracted, such as `'no'`. */
  false_token?: string;
}

/** Ranks documents by how well they answer a query. */
export interface TextRankingPipeline extends LoadedPipeline {
  (query: string, documents: readonly string[], options?: TextRankingOptions): Promise<RankedDocument[]>;
  /** The task's name. */
  readonly task: 'text-ranking';
}

/** The result of `pipeline(task)`. */
export interface Pipelines {
  /** Texts to vectors. */
  'feature-extraction': FeatureExtractionPipeline;
  /** The same as `'feature-extraction'`. */
  embeddings: FeatureExtractionPipeline;
  /** Texts to labels. */
  'text-classification': TextClassificationPipeline;
  /** The same as `'text-classification'`. */
  'sentiment-analysis': TextClassificationPipeline;
  /** Texts to labels that you name when you call it. */
  'zero-shot-classification': ZeroShotClassificationPipeline;
  /** A tag for each token: names of people, places and so on. */
  'token-classification': TokenClassificationPipeline;
  /** The same as `'token-classification'`. */
  ner: TokenClassificationPipeline;
  /** Entities of kinds that you name when you call it (GLiNER). */
  'zero-shot-ner': ZeroShotNerPipeline;
  /** Finds the answer to a question in a context. */
  'question-answering': QuestionAnsweringPipeline;
  /** Fills in `[MASK]`. */
  'fill-mask': FillMaskPipeline;
  /** Ranks documents for a query with a cross-encoder. */
  'text-ranking': TextRankingPipeline;
  /** Continues a text, or answers a chat. */
  'text-generation': TextGenerationPipeline;
  /** Texts to texts. */
  'text2text-generation': Text2TextGenerationPipeline;
  /** Texts to texts in another language. */
  translation: TranslationPipeline;
  /** The same as `'translation'`. */
  [pair: `translation_${string}_to_${string}`]: TranslationPipeline;
  /** Long texts to short ones. */
  summarization: SummarizationPipeline;
  /** Ranks documents by the vectors of their tokens (ColBERT). */
  'late-interaction': LateInteractionPipeline;
  /** Texts to weighted words (SPLADE). */
  'sparse-encoding': SparseEncodingPipeline;
}
