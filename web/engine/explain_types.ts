// Public types of a pipeline's `explain`.
import type { AbortSignalLike } from '../core/types.js';
import type { TokenizerInfo } from '../tokenizer/types.js';

/** Options of `explain`: those of the call that are about the text. */
export interface ExplainTextOptions {
  /** The second text, of tasks over pairs. */
  text_pair?: string;
  /** What is put before the text, for feature-extraction. Default: the model's default prompt, if it has one. */
  prompt?: string;
  /** The name of one of the model's own prompts. */
  prompt_name?: string;
  /** Most tokens, special tokens included. Default: `info().max_length`. */
  max_length?: number;
  /** Whether strings such as `[SEP]` in the text are text. Default `false`: they are special tokens. */
  split_special_tokens?: boolean;
  /** Ends the call with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** A token that the model reads. */
export interface ExplainedToken {
  /** The token's id in the vocabulary. */
  id: number;
  /** As the vocabulary has it, such as `'##ing'`. */
  token: string;
  /** Where it comes from. `'special'`: from neither text, such as `[CLS]`. */
  part: 'special' | 'prompt' | 'text' | 'text_pair';
  /** Where it begins in its part, in UTF-16 units; `null` for a special token. */
  start: number | null;
  /** Where it ends. */
  end: number | null;
  /** Whether the vocabulary lacks what stands there. */
  unknown: boolean;
}

/** What a pipeline makes of a text before its model computes anything, and how the model was loaded. */
export interface ExplainedText {
  /** The pipeline's task. */
  task: string;
  /** All tokens that the model reads, in order. */
  tokens: ExplainedToken[];
  /** How many tokens the text has, special tokens included, if nothing is cut off. */
  tokens_untruncated: number;
  /** What is not read, from the end of the text; `''`: all of it is. */
  left_out: string;
  /** The share of the text's tokens that are unknown, from 0 to 1. */
  unknown: number;
  /** Tokens for each word of the text; 1 where words are tokens. Much more: the vocabulary was made for other texts. */
  tokens_per_word: number;
  /** What is put before the text. */
  prompt: string;
  /** How token vectors become one, for feature-extraction: such as `['mean']`; `[]`: they do not; `null`: the files do not say. */
  pooling: string[] | null;
  /** Whether vectors have unit length, for feature-extraction; else `null`. */
  normalize: boolean | null;
  /** How weights are held. */
  dtype: string;
  /** Which files decided about the tokenizer. */
  tokenizer: TokenizerInfo;
  /** What Python computes the same with. */
  python: string;
  /** What may surprise, each in a sentence; often the reason for an answer that looks wrong. */
  notes: string[];
}
