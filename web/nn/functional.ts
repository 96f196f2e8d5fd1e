// torch.nn.functional, options as objects. Each is computed by the kernels that run the models.
import { callFunction } from '../host/nn_seam.js';
import { toMask } from '../host/nn_seam.js';
import type { Tensor } from '../core/tensor.js';

type F32 = Tensor<'float32'>;
type Maybe = Tensor | null | undefined;
type Sizes = number | readonly number[];
const list = (sizes: Sizes) => (typeof sizes === 'number' ? [sizes] : [...sizes]);

/** `exp(x_i) / sum_j exp(x_j)` along `dim` (default: the last). A row of nothing but -infinity becomes zeros. */
export const softmax = (input: Tensor, { dim = -1 }: { dim?: number } = {}): F32 =>
  callFunction('softmax', { input }, { dim }).output;
/** `x_i - log(sum_j exp(x_j))` along `dim`. */
export const log_softmax = (input: Tensor, { dim = -1 }: { dim?: number } = {}): F32 =>
  callFunction('log_softmax', { input }, { dim }).output;

/** `[..., m, k]` times `[..., k, n]` -> `[..., m, n]`; leading dimensions are broadcast. */
export const matmul = (input: Tensor, other: Tensor): F32 => callFunction('matmul', { input, other }).output;
/** `[batch, m, k]` times `[batch, k, n]` -> `[batch, m, n]`. */
export const bmm = (input: Tensor, other: Tensor): F32 => callFunction('bmm', { input, other }).output;
/** `x W^T + b`: `[..., in]`, weight `[out, in]`, bias `[out]` -> `[..., out]`. */
export const linear = (input: Tensor, weight: Tensor, bias?: Maybe): F32 => callFunction('linear', { input, weight, bias }).output;
/** `x + y`, broadcast: a residual connection. */
export const add = (input: Tensor, other: Tensor): F32 => callFunction('add', { input, other }).output;
/** `x * y`, element by element, broadcast. */
export const mul = (input: Tensor, other: Tensor): F32 => callFunction('mul', { input, other }).output;
/** `x y^T`, how alike rows are: `[..., n, d]`, `[..., m, d]` (default: the same) -> `[..., n, m]`. */
export const dot_product_similarity = (input: Tensor, other?: Maybe): F32 =>
  callFunction('dot_product_similarity', { input, other }).output;

const activate = (kind: string) => (input: Tensor) => callFunction('activate', { input }, { kind }).output;
/** `max(x, 0)`. */
export const relu: (input: Tensor) => F32 = activate('relu');
/** `x / (1 + exp(-x))`. */
export const silu: (input: Tensor) => F32 = activate('silu');
export const tanh: (input: Tensor) => F32 = activate('tanh');
export const sigmoid: (input: Tensor) => F32 = activate('sigmoid');
/** `x / 2 (1 + erf(x / sqrt 2))`, or with `approximate: 'tanh'` its tanh form; arXiv 1606.08415. */
export const gelu = (input: Tensor, { approximate = 'none' }: { approximate?: 'none' | 'tanh' } = {}): F32 =>
  activate(approximate === 'tanh' ? 'gelu_tanh' : 'gelu')(input);

/** Rows of `weight [n, d]` by ids of any shape -> `[..., d]`. */
export const embedding = (input: Tensor, weight: Tensor): F32 => callFunction('embedding', { input, weight }).output;
/** Ids -> vectors of `num_classes` (default: the largest id + 1) with a single 1. */
export const one_hot = (input: Tensor, { num_classes }: { num_classes?: number | undefined } = {}): F32 =>
  callFunction('one_hot', { input }, { num_classes }).output;

/** Where epsilon goes: `1 / sqrt(variance + eps)`, or `1 / (sigma + eps)`. */
export type EpsForm = 'inside' | 'outside';

/** `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions; arXiv 1607.06450. */
export const layer_norm = (
  input: Tensor,
  normalized_shape: Sizes,
  { weight, bias, ...rest }: { weight?: Maybe; bias?: Maybe; eps?: number; eps_form?: EpsForm } = {},
): F32 => callFunction('layer_norm', { input, weight, bias }, { normalized_shape: list(normalized_shape), ...rest }).output;
/** `x / sqrt(mean(x^2) + eps) * weight`; arXiv 1910.07467. */
export const rms_norm = (
  input: Tensor,
  normalized_shape: Sizes,
  { weight, eps }: { weight?: Maybe; eps?: number | undefined } = {},
): F32 => callFunction('rms_norm', { input, weight }, { normalized_shape: list(normalized_shape), eps }).output;
/** With the statistics of training, per channel of `[batch, channels, ...]`; arXiv 1502.03167. */
export const batch_norm = (
  input: Tensor,
  running_mean: Tensor,
  running_var: Tensor,
  { weight, bias, eps }: { weight?: Maybe; bias?: Maybe; eps?: number | undefined } = {},
): F32 => callFunction('batch_norm', { input, running_mean, running_var, weight, bias }, { eps }).output;
/** Per example and channel of `[batch, channels, ...]`; arXiv 1607.08022. */
export const instance_norm = (
  input: Tensor,
  { weight, bias, eps }: { weight?: Maybe; bias?: Maybe; eps?: number | undefined } = {},
): F32 => callFunction('instance_norm', { input, weight, bias }, { eps }).output;
/** `(sum |x|^ord)^(1 / ord)` along `dim`. */
export const vector_norm = (input: Tensor, options: { ord?: number; dim?: number; keepdim?: boolean } = {}): F32 =>
  callFunction('vector_norm', { input }, options).output;
/** `x / max(||x||_p, eps)` along `dim` (default 1, as in torch). */
export const normalize = (input: Tensor, options: { p?: number; dim?: number; eps?: number } = {}): F32 =>
  callFunction('normalize', { input }, options).output;

export interface PoolOptions {
  /** Default: `kernel_size`. */
  stride?: Sizes;
  padding?: Sizes;
}
const window = (kernel_size: Sizes, { stride, padding }: PoolOptions) => ({
  kernel_size: list(kernel_size),
  stride: stride === undefined ? undefined : list(stride),
  padding: padding === undefined ? undefined : list(padding),
});
/** Means of windows of `[..., height, width]`; padding counts as zeros. */
export const avg_pool2d = (input: Tensor, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  callFunction('avg_pool2d', { input }, window(kernel_size, options)).output;
/** Largest of windows of `[..., height, width]`. */
export const max_pool2d = (input: Tensor, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  callFunction('max_pool2d', { input }, window(kernel_size, options)).output;

export type SequencePoolingMode = 'mean' | 'max' | 'cls' | 'last' | 'mean_sqrt_len_tokens' | 'weightedmean';
/** `[batch, seq, hidden]` -> `[batch, hidden]`. `mask [batch, seq]`: tokens with 0 are left out. */
export const pool_sequence = (input: Tensor, { mode = 'mean', mask }: { mode?: SequencePoolingMode; mask?: Maybe } = {}): F32 =>
  callFunction('pool_sequence', { input, mask }, { mode }).output;

export interface AttentionOptions {
  /** Broadcast to `[..., queries, keys]`: bool (true may be looked at) or float (added to the scores). */
  attn_mask?: Maybe;
  /** Multiplied with the scores before `attn_mask` is added. */
  score_factor?: Maybe;
  is_causal?: boolean;
  /** Default `1 / sqrt(d_k)`; 1: unscaled. */
  scale?: number | undefined;
  need_weights?: boolean;
}

/**
 * `softmax(q k^T * scale) v`, arXiv 1706.03762: `[..., queries, d_k]`, `[..., keys, d_k]`, `[..., keys, d_v]` -> `[..., queries, d_v]`.
 * With `need_weights` the answer is `[output, weights]`.
 */
export function scaled_dot_product_attention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions & { need_weights: true },
): [output: F32, weights: F32];
export function scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, options?: AttentionOptions): F32;
export function scaled_dot_product_attention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  { attn_mask, score_factor, ...options }: AttentionOptions = {},
): F32 | [F32, F32] {
  const tensors = { query, key, value, score_factor, attn_mask: toMask(attn_mask, true) };
  const { output, weights } = callFunction('scaled_dot_product_attention', tensors, options);
  return options.need_weights ? [output, weights as F32] : output;
}

/** Attention without parameters: `w = softmax(x x^T)`, `y = w x`; `[..., seq, hidden]`. Answers `[y, w]`. */
export const self_attention = (x: Tensor): [output: F32, weights: F32] =>
  scaled_dot_product_attention(x, x, x, { scale: 1, need_weights: true });

/** The second to last dimension in another order: `out[i] = x[order[i]]`. */
export const permute_rows = (input: Tensor, order: Tensor): F32 => callFunction('permute_rows', { input, order }).output;
/** Logits `[vocab]` -> the probabilities that `generate` draws from, with its defaults (`top_k` 50). */
export const sampling_probabilities = (
  input: Tensor,
  options: { temperature?: number; top_k?: number; top_p?: number; min_p?: number } = {},
): F32 => callFunction('sampling_probabilities', { input }, options).output;
