// torch.nn.functional, with options as objects. Everything is computed by the kernels that run the models.
import { callFunction, toMask, type MaybeTensor, type Tensor as NnTensor } from './tensor.js';
import { checkOptions } from '../core/options.js';
import { nextSeed } from './seed.js';
import type { Tensor } from '../core/tensor.js';

type F32 = NnTensor;
export type Sizes = number | readonly number[];

/** `exp(x_i) / sum_j exp(x_j)` along `dim` (default: the last). A row of nothing but -infinity becomes zeros. */
export const softmax = (input: Tensor, options: { dim?: number } = {}): F32 =>
  callFunction('softmax', { input }, options, ['dim']).output;
/** `x_i - log(sum_j exp(x_j))` along `dim` (default: the last). */
export const log_softmax = (input: Tensor, options: { dim?: number } = {}): F32 =>
  callFunction('log_softmax', { input }, options, ['dim']).output;

/** `[..., m, k]` times `[..., k, n]` -> `[..., m, n]`; leading dimensions are broadcast. */
export const matmul = (input: Tensor, other: Tensor): F32 => callFunction('matmul', { input, other }).output;
/** `[batch, m, k]` times `[batch, k, n]` -> `[batch, m, n]`. */
export const bmm = (input: Tensor, other: Tensor): F32 => callFunction('bmm', { input, other }).output;
/** `x W^T + b`: `[..., in]`, weight `[out, in]`, bias `[out]` -> `[..., out]`. */
export const linear = (input: Tensor, weight: Tensor, bias?: MaybeTensor): F32 =>
  callFunction('linear', { input, weight, bias }).output;
/** `x + y`, broadcast: a residual connection. */
export const add = (input: Tensor, other: Tensor): F32 => callFunction('add', { input, other }).output;
/** `x * y`, element by element, broadcast. */
export const mul = (input: Tensor, other: Tensor): F32 => callFunction('mul', { input, other }).output;
/** `x y^T`, how similar the rows are: `[..., n, d]`, `[..., m, d]` (default: the same) -> `[..., n, m]`. */
export const dot_product_similarity = (input: Tensor, other?: MaybeTensor): F32 =>
  callFunction('dot_product_similarity', { input, other }).output;

const activate = (kind: string) => (input: Tensor) => callFunction('activate', { input }, { kind }, ['kind']).output;
/** `max(x, 0)`. */
export const relu: (input: Tensor) => F32 = activate('relu');
/** `x / (1 + exp(-x))`. */
export const silu: (input: Tensor) => F32 = activate('silu');
export const tanh: (input: Tensor) => F32 = activate('tanh');
export const sigmoid: (input: Tensor) => F32 = activate('sigmoid');
/** `x / 2 (1 + erf(x / sqrt 2))`, or its tanh form with `approximate: 'tanh'`; arXiv 1606.08415. */
export const gelu = (input: Tensor, options: { approximate?: 'none' | 'tanh' } = {}): F32 => {
  checkOptions('nn.gelu', options, { approximate: ['none', 'tanh'] });
  return activate(options?.approximate === 'tanh' ? 'gelu_tanh' : 'gelu')(input);
};

/** Zeros with probability `p`, everything else times `1 / (1 - p)`, unless `training` is false; arXiv 1207.0580. */
export const dropout = (input: Tensor, options: { p?: number; training?: boolean; seed?: number } = {}): F32 => {
  checkOptions('nn.dropout', options, ['p', 'training', 'seed']);
  const { p = 0.5, training = true, seed = nextSeed() } = options ?? {};
  return callFunction('dropout', { input }, { p: training ? p : 0, seed }, ['p', 'seed']).output;
};

/** `'none'`: the losses as they are, a number for each element or row. */
export type Reduction = 'mean' | 'sum' | 'none';
export interface CrossEntropyOptions {
  /** `[classes]`: a weight of each class. */
  weight?: MaybeTensor;
  /** Targets that do not count. Default -100. */
  ignore_index?: number;
  label_smoothing?: number;
  reduction?: Reduction;
}
/** `-ln softmax(input)[target]`: logits `[rows, classes]` (or `[batch, classes, ...]`), whole numbers `[rows]`, or probabilities of the classes in the shape of the logits. */
export const cross_entropy = (input: Tensor, target: Tensor, options: CrossEntropyOptions = {}): F32 =>
  callFunction('cross_entropy', { input, target }, options, ['weight', 'ignore_index', 'label_smoothing', 'reduction']).output;
export interface BinaryCrossEntropyOptions {
  weight?: MaybeTensor;
  pos_weight?: MaybeTensor;
  reduction?: Reduction;
}
/** `-(y ln s(x) + (1 - y) ln(1 - s(x)))` of logits x, `s` the sigmoid, and targets y from 0 to 1. */
export const binary_cross_entropy_with_logits = (input: Tensor, target: Tensor, options: BinaryCrossEntropyOptions = {}): F32 =>
  callFunction('binary_cross_entropy_with_logits', { input, target }, options, ['weight', 'pos_weight', 'reduction']).output;
/** `(input - target)^2`. */
export const mse_loss = (input: Tensor, target: Tensor, options: { reduction?: Reduction } = {}): F32 =>
  callFunction('mse_loss', { input, target }, options, ['reduction']).output;
/** `|input - target|`. */
export const l1_loss = (input: Tensor, target: Tensor, options: { reduction?: Reduction } = {}): F32 =>
  callFunction('l1_loss', { input, target }, options, ['reduction']).output;
/** `target (ln target - input)` of logarithms of probabilities and probabilities. */
export const kl_div = (input: Tensor, target: Tensor, options: { reduction?: Reduction | 'batchmean' } = {}): F32 =>
  callFunction('kl_div', { input, target }, options, ['reduction']).output;
/** Of rows that belong together (target 1), `1 - cos`; of others (-1), `max(0, cos - margin)`. */
export const cosine_embedding_loss = (
  input1: Tensor,
  input2: Tensor,
  target: Tensor,
  options: { margin?: number; reduction?: Reduction } = {},
): F32 => callFunction('cosine_embedding_loss', { input1, input2, target }, options, ['margin', 'reduction']).output;
export interface TripletOptions {
  margin?: number;
  eps?: number;
  swap?: boolean;
  reduction?: Reduction;
}
/** `max(0, |anchor - positive| - |anchor - negative| + margin)`. */
export const triplet_margin_loss = (anchor: Tensor, positive: Tensor, negative: Tensor, options: TripletOptions = {}): F32 =>
  callFunction('triplet_margin_loss', { anchor, positive, negative }, options, ['margin', 'eps', 'swap', 'reduction']).output;

/** Rows of `weight [n, d]` by ids of any shape -> `[..., d]`. */
export const embedding = (input: Tensor, weight: Tensor): F32 => callFunction('embedding', { input, weight }).output;
/** Ids -> vectors of `num_classes` (default: the largest id + 1) with a single 1. */
export const one_hot = (input: Tensor, options: { num_classes?: number | undefined } = {}): F32 =>
  callFunction('one_hot', { input }, options, ['num_classes']).output;

/** Where epsilon goes: `1 / sqrt(variance + eps)`, or `1 / (sigma + eps)`. */
export type EpsForm = 'inside' | 'outside';

/** A norm over the last dimensions: their sizes go with the options. */
const lastDims = (name: string, input: Tensor, normalized_shape: Sizes, options: object, known: readonly string[]): F32 => {
  checkOptions(`nn.${name}`, options, known);
  return callFunction(name, { input }, { ...options, normalized_shape }, [...known, 'normalized_shape']).output;
};
/** `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions; arXiv 1607.06450. */
export const layer_norm = (
  input: Tensor,
  normalized_shape: Sizes,
  options: { weight?: MaybeTensor; bias?: MaybeTensor; eps?: number; eps_form?: EpsForm } = {},
): F32 => lastDims('layer_norm', input, normalized_shape, options, ['weight', 'bias', 'eps', 'eps_form']);
/** `x / sqrt(mean(x^2) + eps) * weight`; arXiv 1910.07467. */
export const rms_norm = (
  input: Tensor,
  normalized_shape: Sizes,
  options: { weight?: MaybeTensor; eps?: number | undefined } = {},
): F32 => lastDims('rms_norm', input, normalized_shape, options, ['weight', 'eps']);

interface AffineOptions {
  weight?: MaybeTensor;
  bias?: MaybeTensor;
  eps?: number | undefined;
}
const kAffine = ['weight', 'bias', 'eps'];
/** With the statistics of training, per channel of `[batch, channels, ...]`; arXiv 1502.03167. */
export const batch_norm = (input: Tensor, running_mean: Tensor, running_var: Tensor, options: AffineOptions = {}): F32 =>
  callFunction('batch_norm', { input, running_mean, running_var }, options, kAffine).output;
/** Per example and channel of `[batch, channels, ...]`; arXiv 1607.08022. */
export const instance_norm = (input: Tensor, options: AffineOptions = {}): F32 =>
  callFunction('instance_norm', { input }, options, kAffine).output;
/** `(sum |x|^ord)^(1 / ord)` along `dim`. */
export const vector_norm = (input: Tensor, options: { ord?: number; dim?: number; keepdim?: boolean } = {}): F32 =>
  callFunction('vector_norm', { input }, options, ['ord', 'dim', 'keepdim']).output;
/** `x / max(||x||_p, eps)` along `dim` (default 1, as in torch). */
export const normalize = (input: Tensor, options: { p?: number; dim?: number; eps?: number } = {}): F32 =>
  callFunction('normalize', { input }, options, ['p', 'dim', 'eps']).output;

export interface PoolOptions {
  /** Default: `kernel_size`. */
  stride?: Sizes;
  padding?: Sizes;
}
const pool2d = (name: string, input: Tensor, kernel_size: Sizes, options: PoolOptions): F32 => {
  checkOptions(`nn.${name}`, options, ['stride', 'padding']);
  return callFunction(name, { input }, { ...options, kernel_size }, ['stride', 'padding', 'kernel_size']).output;
};
/** Mean of each window of `[..., height, width]`; padding counts as zeros. */
export const avg_pool2d = (input: Tensor, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  pool2d('avg_pool2d', input, kernel_size, options);
/** Maximum of each window of `[..., height, width]`. */
export const max_pool2d = (input: Tensor, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  pool2d('max_pool2d', input, kernel_size, options);

export type SequencePoolingMode = 'mean' | 'max' | 'cls' | 'last' | 'mean_sqrt_len_tokens' | 'weightedmean';
/** `[batch, seq, hidden]` -> `[batch, hidden]`. `mask [batch, seq]`: tokens with 0 are left out. */
export const pool_sequence = (input: Tensor, options: { mode?: SequencePoolingMode; mask?: MaybeTensor } = {}): F32 =>
  callFunction('pool_sequence', { input }, options, ['mode', 'mask']).output;

export interface AttentionOptions {
  /** Broadcast to `[..., queries, keys]`: bool (true may be attended to) or float (added to the scores). */
  attn_mask?: MaybeTensor;
  /** Multiplied with the scores before `attn_mask` is added. */
  score_factor?: MaybeTensor;
  is_causal?: boolean;
  /** Default `1 / sqrt(d_k)`; 1: unscaled. */
  scale?: number | undefined;
  need_weights?: boolean;
}

/**
 * `softmax(q k^T * scale) v`, arXiv 1706.03762: `[..., queries, d_k]`, `[..., keys, d_k]`, `[..., keys, d_v]` -> `[..., queries, d_v]`.
 * With `need_weights` the result is `[output, weights]`.
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
  options: AttentionOptions = {},
): F32 | [F32, F32] {
  const known = ['attn_mask', 'score_factor', 'is_causal', 'scale', 'need_weights'];
  const name = 'scaled_dot_product_attention';
  const masked = options?.attn_mask ? { ...options, attn_mask: toMask(options.attn_mask, true) } : options;
  const { output, weights } = callFunction(name, { query, key, value }, masked, known);
  return options?.need_weights ? [output, weights as F32] : output;
}

/** Attention without parameters: `w = softmax(x x^T)`, `y = w x`; `[..., seq, hidden]`. Returns `[y, w]`. */
export const self_attention = (x: Tensor): [output: F32, weights: F32] =>
  scaled_dot_product_attention(x, x, x, { scale: 1, need_weights: true });

/** Reorders the second to last dimension: `out[i] = x[order[i]]`. */
export const permute_rows = (input: Tensor, order: Tensor): F32 => callFunction('permute_rows', { input, order }).output;
/** Logits `[vocab]` -> the probabilities that `generate` draws from, with its defaults (`top_k` 50). */
export const sampling_probabilities = (
  input: Tensor,
  options: { temperature?: number; top_k?: number; top_p?: number; min_p?: number } = {},
): F32 => callFunction('sampling_probabilities', { input }, options, ['temperature', 'top_k', 'top_p', 'min_p']).output;
