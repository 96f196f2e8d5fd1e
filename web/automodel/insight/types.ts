// Options and results of the functions that say what a model's answer depends on.
import type { Tensor } from '../../core/tensor.js';
import type { AbortSignalLike } from '../../core/types.js';
import type { ModelInputs, ModelOutput } from '../../engine/types.js';

/** A logit, or the difference of two. */
export interface LogitMetric {
  /** Index of a label, or the id of a token for a model with a head over the vocabulary. */
  logit: number;
  /** The logit of this label or token is subtracted. Default: nothing is. */
  against?: number;
  /** The token whose logits are read, for models with logits per token; negative numbers count unmasked tokens from the end. Default -1. */
  position?: number;
}

/** The cosine of the mean of `last_hidden_state` over all unmasked tokens to a vector. */
export interface CosineMetric {
  /** `[hidden]`. */
  cosine: ArrayLike<number>;
}

/** One number for one row of a model's output; row: its index in the batch. Called for outputs with any number of rows. */
export type MetricFunction = (output: ModelOutput, row: number) => number;

/** The number whose changes are measured. */
export type Metric = LogitMetric | CosineMetric | MetricFunction;

/** Options of every measurement. */
interface MeasureOptions {
  /** Ends the call with an `AbortError`, between two runs. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `patch_map`. */
export interface PatchMapOptions extends MeasureOptions {
  /**
   * What is measured. Default: for a model with labels, the logit of the label that wins in `clean`, minus that of the one that wins in
   * `corrupted` if it is another. Without a head it is the cosine to the mean vector of `clean`. A head over the vocabulary has no default.
   */
  metric?: Metric | undefined;
  /**
   * What is taken over from `clean`. `'residual'`, the default: one token's vector as it enters one layer. `'head'`: what one head adds, for all tokens, before
   * the output projection.
   */
  at?: 'residual' | 'head' | undefined;
}

/** The result of `patch_map`. */
export interface PatchMap {
  /** `[layers, seq]` or, with `at: 'head'`, `[layers, heads]`: `(value - corrupted) / (clean - corrupted)`. 0: nothing changed; 1: as in `clean`. NaN if both are equal. */
  scores: Tensor<'float32'>;
  /** The same shape: the metric of each patched run. */
  values: Tensor<'float32'>;
  /** The metric of `clean`. */
  clean: number;
  /** The metric of `corrupted`. */
  corrupted: number;
}

/** Options of `head_scores`. */
export interface HeadScoresOptions extends MeasureOptions {
  /** Index of the token that attends. */
  from: number;
  /** Index of the token that it attends to. */
  to: number;
  /** What is measured with each head turned off. Default: as in `patch_map`, of these inputs alone. */
  metric?: Metric | undefined;
}

/** The result of `head_scores`; all tensors are `[layers, heads]`. */
export interface HeadScores {
  /** The attention weight of `to` for `from`. */
  weights: Tensor<'float32'>;
  /** Its mean over all other tokens that can attend to `to`; 0 where there is none. */
  averages: Tensor<'float32'>;
  /** `weights - averages`: how much more `from` attends to `to` than other tokens do. About 0 for a head that attends to `to` whatever the token. */
  contrasts: Tensor<'float32'>;
  /** The metric without the head, minus `value`. */
  effects: Tensor<'float32'>;
  /** The metric of the whole model. */
  value: number;
}

/** Options of `attribute`. */
export interface AttributeOptions extends MeasureOptions {
  /**
   * `'gradient_x_input'`: the gradient of the metric times the token's embedding, summed. `'integrated_gradients'` (Sundararajan, Taly and Yan 2017,
   * arXiv:1703.01365): the mean gradient on the straight line from `baseline`, times the difference. `'leave_one_out'`: what the metric loses without this token, which is masked;
   * NaN for the token whose logits the metric reads. Default `'leave_one_out'`, which takes one pass a token and is exact.
   */
  method?: 'gradient_x_input' | 'integrated_gradients' | 'leave_one_out' | undefined;
  /** What is explained. Default: the logit of the label that wins; models without labels have no default. */
  metric?: Metric | undefined;
  /** For `'integrated_gradients'`: inputs of the same shape whose embeddings are the start, such as padding tokens. Default: zeros, as in Captum. */
  baseline?: ModelInputs | undefined;
  /** For `'integrated_gradients'`: points on the line, by Gauss-Legendre quadrature. Default 50, as in Captum. */
  n_steps?: number | undefined;
}

/** The result of `attribute`. */
export interface Attribution {
  /** `[seq]`, in units of the metric. */
  scores: Tensor<'float32'>;
  /** The metric of the inputs. */
  value: number;
  /** With `'integrated_gradients'`: the metric of the baseline. */
  baseline?: number;
  /** With `'integrated_gradients'`: sum of the scores minus `value - baseline`. Far from 0: use more steps. */
  delta?: number;
}
