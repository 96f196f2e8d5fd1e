// What a generation is asked for that needs the rows of scores in JavaScript.
import type { LogitsFunction } from './logits_processor.js';

/** As in GenerateOptions. */
export interface RowOptions {
  sequence_bias?: readonly (readonly [readonly number[], number])[];
  encoder_repetition_penalty?: number;
  encoder_no_repeat_ngram_size?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  exponential_decay_length_penalty?: readonly [number, number];
  suppress_tokens?: readonly number[];
  begin_suppress_tokens?: readonly number[];
  top_h?: number;
  typical_p?: number;
  epsilon_cutoff?: number;
  eta_cutoff?: number;
  logits_processor?: readonly LogitsFunction[];
  /** Alternatives for each token; 0: the token's own logarithm alone. */
  top_logprobs?: number;
  output_scores?: boolean;
  output_logits?: boolean;
  // What processors need to know of the other options.
  do_sample?: boolean;
  temperature?: number;
  has_forced_bos?: boolean;
}

/** A token of a text, with the natural logarithm of its probability. */
export interface TokenLogprob {
  id: number;
  logprob: number;
}

/** What a caller asked to see of one text. */
export interface SeenRows {
  /** For each token: itself, then the likeliest ones. */
  likely?: TokenLogprob[][];
  /** [steps] of [vocab]. */
  scores?: Float32Array[];
  logits?: Float32Array[];
}
