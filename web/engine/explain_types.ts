// Public types of a pipeline's `explain`.
import type { AbortSignalLike } from '../core/types.js';
import type { TokenizerInfo } from '../tokenizer/types.js';

/** Options of `explain`. */
export interface ExplainTextOptions {
  /** The second text, for tasks that take pairs. */
  text_pair?: string;
  /** The prompt to put before the text, for `feature-extraction`. Default: the model's default prompt, if it has one. */
  prompt?: string;
  /** The name of one of the model's own prompts. */
  prompt_name?: string;
  /** Maximum tokens, special tokens included. Default: `info().max_length`. */
  max_length?: number;
  /** `true`: treats strings such as `[SEP]` in the text as ordinary text. Default `false`: they are special tokens. */
  split_special_tokens?: boolean;
  /** Cancels the call with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** A token that the model reads. */
export interface ExplainedToken {
  /** The token's id in the vocabulary. */
  id: number;
  /** The token as written in the vocabulary, such as `'##ing'`. */
  token: string;
  /** Where the token comes from. `'special'`: added by the tokenizer, such as `[CLS]`. */
  part: 'special' | 'prompt' | 'text' | 'text_pair';
  /** Start offset in its part, in UTF-16 code units; `null` for a special token. */
  start: number | null;
  /** End offset, exclusive; `null` for a special token. */
  end: number | null;
  /** Whether the vocabulary has no token for this piece of text. */
  unknown: boolean;
}

/** The result of `explain`: the model's input for a text, and how the model was loaded. */
export interface ExplainedText {
  /** The pipeline's task. */
  task: string;
  /** All tokens that the model reads, in order. */
  tokens: ExplainedToken[];
  /** Number of tokens without truncation, special tokens included. */
  tokens_untruncated: number;
  /** The end of the text that was truncated; `''` if the model reads all of it. */
  left_out: string;
  /** The fraction of the text's tokens that are unknown, from 0 to 1. */
  unknown: number;
  /** Tokens per word; 1 if every word is a token. A much larger number means that the vocabulary was made for other texts. */
  tokens_per_word: number;
  /** The prompt that is put before the text. */
  prompt: string;
  /** The pooling modes of `feature-extraction`, such as `['mean']`. `[]`: no pooling; `null`: the files do not say. */
  pooling: string[] | null;
  /** Whether embeddings have unit length, for `feature-extraction`; otherwise `null`. */
  normalize: boolean | null;
  /** The data type of the weights in memory. */
  dtype: string;
  /** The files that determined the tokenizer. */
  tokenizer: TokenizerInfo;
  /** Python code that computes the same result. */
  python: string;
  /** Things that may be unexpected, one sentence each. They often explain an answer that looks wrong. */
  notes: string[];
}
