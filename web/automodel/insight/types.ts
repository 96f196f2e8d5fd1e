// Options and results of the functions that say what a model's answer depends on.
import type { Tensor } from '../../core/tensor.js';
import type { AbortSignalLike } from '../../core/types.js';
import type { ModelInputs, ModelOutput } from '../../engine/types.js';

/** A logit, or the difference of two logits. */
export interface LogitMetric {
  /** Index of a label; for a model with a language-model head, the id of a token. */
  logit: number;
  /** Index of a label or token whose logit is subtracted. Default: none. */
  against?: number;
  /** Index of the token whose logits are read, for models with logits per token. Negative numbers count unmasked tokens from the end. Default -1. */
  position?: number;
}

/** The cosine similarity between a vector and the mean of `last_hidden_state` over all unmasked tokens. */
export interface CosineMetric {
  /** The vector to compare with, `[hidden]`. */
  cosine: ArrayLike<number>;
}

/** Computes the metric for one row of a model's output. `row` is its index in the batch, which may have any number of rows. */
export type MetricFunction = (output: ModelOutput, row: number) => number;

/** The number whose changes are measured: a logit, a cosine, or a function. */
export type Metric = LogitMetric | CosineMetric | MetricFunction;

/** Options shared by all measurements. */
interface MeasureOptions {
  /** Cancels the call between two passes, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `patch_map`. */
export interface PatchMapOptions extends MeasureOptions {
  /**
   * The number to measure. Default for a model with labels: the logit of the top label for `clean`, minus the logit of the top label for `corrupted`
   * if they differ. Default for a model without a head: the cosine to the mean vector of `clean`. A language-model head has no default.
   */
  metric?: Metric | undefined;
  /**
   * The activation to copy from `clean`. `'residual'` (default): one token's vector at the input of one layer. `'head'`: one head's output for all
   * tokens, before the output projection.
   */
  at?: 'residual' | 'head' | undefined;
}

/** The result of `patch_map`. */
export interface PatchMap {
  /**
   * `[layers, seq]` or, with `at: 'head'`, `[layers, heads]`: `(value - corrupted) / (clean - corrupted)`. 0: no effect; 1: fully restores `clean`. NaN
   * if both texts have the same metric.
   */
  scores: Tensor<'float32'>;
  /** The metric of each patched run, in the shape of `scores`. */
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
  /** The number to measure while a head is turned off. Default: as in `patch_map`, for these inputs alone. */
  metric?: Metric | undefined;
}

/** The result of `head_scores`; all tensors are `[layers, heads]`. */
export interface HeadScores {
  /** The attention weight from `from` to `to`. */
  weights: Tensor<'float32'>;
  /** The mean attention weight to `to` from all other tokens that can attend to it; 0 if there are none. */
  averages: Tensor<'float32'>;
  /** `weights - averages`: how much more `from` attends to `to` than other tokens do. About 0 for a head that attends to `to` from every token. */
  contrasts: Tensor<'float32'>;
  /** The metric with the head turned off, minus `value`. */
  effects: Tensor<'float32'>;
  /** The metric of the unchanged model. */
  value: number;
}

/** Options of `attribute`. */
export interface AttributeOptions extends MeasureOptions {
  /**
   * `'gradient_x_input'`: the gradient of the metric times the token's embedding, summed. `'integrated_gradients'` (Sundararajan, Taly and Yan 2017,
   * arXiv:1703.01365): the mean gradient on the straight line from `baseline`, times the difference. `'leave_one_out'`: the drop of the metric when this
   * token is masked; NaN for the token whose logits the metric reads. Default `'leave_one_out'`, which is exact and takes one pass per token.
   */
  method?: 'gradient_x_input' | 'integrated_gradients' | 'leave_one_out' | undefined;
  /** The number to explain. Default: the logit of the top label. Models without labels have no default. */
  metric?: Metric | undefined;
  /** For `'integrated_gradients'`: the starting point, as inputs of the same shape, such as padding tokens. Default: embeddings of zeros, as in Captum. */
  baseline?: ModelInputs | undefined;
  /** For `'integrated_gradients'`: the number of points on the line (Gauss-Legendre quadrature). Default 50, as in Captum. */
  n_steps?: number | undefined;
}

/** The result of `attribute`. */
export interface Attribution {
  /** The contribution of each token, `[seq]`, in units of the metric. */
  scores: Tensor<'float32'>;
  /** The metric of the inputs. */
  value: number;
  /** With `'integrated_gradients'`: the metric of the baseline. */
  baseline?: number;
  /** With `'integrated_gradients'`: the sum of the scores minus `value - baseline`. If it is far from 0, use more steps. */
  delta?: number;
}
