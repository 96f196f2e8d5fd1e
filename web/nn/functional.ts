/**
 * torch.nn.functional, with options as objects. It uses the same kernels as the models.
 *
 * @module
 */
import { callFunction, toMask, type MaybeTensor, type Tensor as NnTensor } from './tensor.js';
import { readOptions } from '../core/options.js';
import { nextSeed } from './seed.js';
import type { TensorBase } from '../core/tensor_base.js';

type F32 = NnTensor;
/** One size for both height and width, or `[height, width]`. */
export type Sizes = number | readonly number[];

/**
 * `exp(x_i) / sum_j exp(x_j)` along `dim` (default: the last). A row that is all -infinity becomes zeros.
 *
 * @example
 * nn.functional.softmax(nn.tensor([1, 2, 3]), { dim: 0 }).tolist(); // => [0.09, 0.2447, 0.6652]
 */
export const softmax = (input: TensorBase, options: { dim?: number } = {}): F32 =>
  callFunction('softmax', { input }, options, ['dim']).output;
/**
 * `x_i - log(sum_j exp(x_j))` along `dim` (default: the last).
 *
 * @example
 * nn.functional.log_softmax(nn.tensor([1, 2, 3])).tolist(); // => [-2.4076, -1.4076, -0.4076]
 */
export const log_softmax = (input: TensorBase, options: { dim?: number } = {}): F32 =>
  callFunction('log_softmax', { input }, options, ['dim']).output;

/**
 * Matrix product: `[..., m, k]` times `[..., k, n]` -> `[..., m, n]`; leading dimensions are broadcast.
 *
 * @example
 * nn.functional.matmul(nn.tensor([[1, 2]]), nn.tensor([[3], [4]])).tolist(); // => [[11]]
 */
export const matmul = (input: TensorBase, other: TensorBase): F32 => callFunction('matmul', { input, other }).output;
/**
 * Batched matrix product: `[batch, m, k]` times `[batch, k, n]` -> `[batch, m, n]`.
 *
 * @example
 * nn.functional.bmm(nn.ones(2, 1, 3), nn.ones(2, 3, 4)).shape; // => [2, 1, 4]
 */
export const bmm = (input: TensorBase, other: TensorBase): F32 => callFunction('bmm', { input, other }).output;
/**
 * `x W^T + b`: `[..., in]`, weight `[out, in]`, bias `[out]` -> `[..., out]`.
 *
 * @example
 * nn.functional.linear(nn.ones(1, 2), nn.tensor([[1, 2], [3, 4]])).tolist(); // => [[3, 7]]
 */
export const linear = (input: TensorBase, weight: TensorBase, bias?: MaybeTensor): F32 =>
  callFunction('linear', { input, weight, bias }).output;
/**
 * `x + y`, broadcast, for example for a residual connection.
 *
 * @example
 * nn.functional.add(nn.ones(2), nn.ones(2)).tolist(); // => [2, 2]
 */
export const add = (input: TensorBase, other: TensorBase): F32 => callFunction('add', { input, other }).output;
/**
 * `x * y`, elementwise, broadcast.
 *
 * @example
 * nn.functional.mul(nn.tensor([2, 3]), nn.tensor([4, 5])).tolist(); // => [8, 15]
 */
export const mul = (input: TensorBase, other: TensorBase): F32 => callFunction('mul', { input, other }).output;
/**
 * Similarity of rows, `x y^T`: `[..., n, d]`, `[..., m, d]` (default: the same) -> `[..., n, m]`.
 *
 * @example
 * nn.functional.dot_product_similarity(nn.tensor([[1, 0], [1, 1]])).tolist(); // => [[1, 1], [1, 2]]
 */
export const dot_product_similarity = (input: TensorBase, other?: MaybeTensor): F32 =>
  callFunction('dot_product_similarity', { input, other }).output;

const activate = (kind: string) => (input: TensorBase) => callFunction('activate', { input }, { kind }, ['kind']).output;
/** `max(x, 0)`. */
export const relu: (input: TensorBase) => F32 = activate('relu');
/** `x / (1 + exp(-x))`. */
export const silu: (input: TensorBase) => F32 = activate('silu');
/** The hyperbolic tangent of each value. */
export const tanh: (input: TensorBase) => F32 = activate('tanh');
/** `1 / (1 + exp(-x))` of each value. */
export const sigmoid: (input: TensorBase) => F32 = activate('sigmoid');
/**
 * `x / 2 (1 + erf(x / sqrt 2))`, or its tanh form with `approximate: 'tanh'`; arXiv 1606.08415.
 *
 * @example
 * nn.functional.gelu(nn.tensor([-1, 2])).tolist(); // => [-0.1587, 1.9545]
 */
export const gelu = (input: TensorBase, options: { approximate?: 'none' | 'tanh' } = {}): F32 => {
  options = readOptions('nn.gelu', options, { approximate: ['none', 'tanh'] });
  return activate(options?.approximate === 'tanh' ? 'gelu_tanh' : 'gelu')(input);
};

/**
 * Sets values to zero with probability `p` and scales the others by `1 / (1 - p)`, unless `training` is false; arXiv 1207.0580.
 *
 * @example
 * nn.functional.dropout(nn.ones(4), { p: 0.5, training: false }).tolist(); // => [1, 1, 1, 1]
 */
export const dropout = (input: TensorBase, options: { p?: number; training?: boolean; seed?: number } = {}): F32 => {
  options = readOptions('nn.dropout', options, ['p', 'training', 'seed']);
  const { p = 0.5, training = true, seed = nextSeed() } = options ?? {};
  return callFunction('dropout', { input }, { p: training ? p : 0, seed }, ['p', 'seed']).output;
};

/** How losses are reduced to one number. `'none'`: not at all, one loss per element or row. */
export type Reduction = 'mean' | 'sum' | 'none';
/** Options of `cross_entropy`. */
export interface CrossEntropyOptions {
  /** Weight of each class, `[classes]`. */
  weight?: MaybeTensor;
  /** Targets to ignore. Default -100. */
  ignore_index?: number;
  /** The fraction of a target that is spread over all classes, from 0 to 1 (arXiv 1512.00567). Default 0. */
  label_smoothing?: number;
  /** How to reduce the losses to one number: `'mean'` (default), `'sum'` or `'none'`. */
  reduction?: Reduction;
}
/**
 * `-ln softmax(input)[target]`: logits `[rows, classes]` (or `[batch, classes, ...]`); targets are class indices `[rows]`, or class probabilities in the
 * shape of the logits.
 *
 * @example
 * nn.functional.cross_entropy(nn.tensor([[2, 0]]), new Tensor('int32', [0], [1])).item(); // => 0.1269
 */
export const cross_entropy = (input: TensorBase, target: TensorBase, options: CrossEntropyOptions = {}): F32 =>
  callFunction('cross_entropy', { input, target }, options, ['weight', 'ignore_index', 'label_smoothing', 'reduction']).output;
/** Options of `binary_cross_entropy_with_logits`. */
export interface BinaryCrossEntropyOptions {
  /** Weight of each loss. Default 1. */
  weight?: MaybeTensor;
  /** Weight of targets of 1, relative to targets of 0. Default 1. */
  pos_weight?: MaybeTensor;
  /** How to reduce the losses to one number: `'mean'` (default), `'sum'` or `'none'`. */
  reduction?: Reduction;
}
/**
 * Binary cross-entropy `-(y ln s(x) + (1 - y) ln(1 - s(x)))` of logits x and targets y from 0 to 1, where `s` is the sigmoid.
 *
 * @example
 * nn.functional.binary_cross_entropy_with_logits(nn.tensor([0, 2]), nn.tensor([0, 1])).item(); // => 0.41
 */
export const binary_cross_entropy_with_logits = (
  input: TensorBase,
  target: TensorBase,
  options: BinaryCrossEntropyOptions = {},
): F32 =>
  callFunction('binary_cross_entropy_with_logits', { input, target }, options, ['weight', 'pos_weight', 'reduction']).output;
/**
 * Squared error, `(input - target)^2`.
 *
 * @example
 * nn.functional.mse_loss(nn.tensor([1, 2]), nn.tensor([1, 4])).item(); // => 2
 */
export const mse_loss = (input: TensorBase, target: TensorBase, options: { reduction?: Reduction } = {}): F32 =>
  callFunction('mse_loss', { input, target }, options, ['reduction']).output;
/**
 * Absolute error, `|input - target|`.
 *
 * @example
 * nn.functional.l1_loss(nn.tensor([1, 2]), nn.tensor([1, 4])).item(); // => 1
 */
export const l1_loss = (input: TensorBase, target: TensorBase, options: { reduction?: Reduction } = {}): F32 =>
  callFunction('l1_loss', { input, target }, options, ['reduction']).output;
/**
 * Kullback-Leibler divergence, `target (ln target - input)`: `input` has log-probabilities, `target` probabilities.
 *
 * @example
 * nn.functional.kl_div(nn.tensor([[0.5, 0.5]]).log(), nn.tensor([[0.9, 0.1]]), { reduction: 'batchmean' }).item(); // => 0.3681
 */
export const kl_div = (input: TensorBase, target: TensorBase, options: { reduction?: Reduction | 'batchmean' } = {}): F32 =>
  callFunction('kl_div', { input, target }, options, ['reduction']).output;
/**
 * `1 - cos` for similar rows (target 1), `max(0, cos - margin)` for others (target -1).
 *
 * @example
 * nn.functional.cosine_embedding_loss(nn.tensor([[1, 0]]), nn.tensor([[0, 1]]), nn.tensor([1])).item(); // => 1
 */
export const cosine_embedding_loss = (
  input1: TensorBase,
  input2: TensorBase,
  target: TensorBase,
  options: { margin?: number; reduction?: Reduction } = {},
): F32 => callFunction('cosine_embedding_loss', { input1, input2, target }, options, ['margin', 'reduction']).output;
/** Options of `triplet_margin_loss`. */
export interface TripletOptions {
  /** How much closer the positive must be than the negative. Default 1. */
  margin?: number;
  /** Added to differences before computing the norm. Default 1e-6. */
  eps?: number;
  /** `true`: uses the distance from positive to negative if it is smaller. Default `false`. */
  swap?: boolean;
  /** How to reduce the losses to one number: `'mean'` (default), `'sum'` or `'none'`. */
  reduction?: Reduction;
}
/**
 * `max(0, |anchor - positive| - |anchor - negative| + margin)`.
 *
 * @example
 * nn.functional.triplet_margin_loss(nn.tensor([[0, 0]]), nn.tensor([[0, 1]]), nn.tensor([[0, 1.5]])).item(); // => 0.5
 */
export const triplet_margin_loss = (
  anchor: TensorBase,
  positive: TensorBase,
  negative: TensorBase,
  options: TripletOptions = {},
): F32 =>
  callFunction('triplet_margin_loss', { anchor, positive, negative }, options, ['margin', 'eps', 'swap', 'reduction']).output;

/**
 * Looks up rows of `weight [n, d]` by ids of any shape -> `[..., d]`.
 *
 * @example
 * nn.functional.embedding(new Tensor('int32', [1, 0], [2]), nn.tensor([[1, 2], [3, 4]])).tolist(); // => [[3, 4], [1, 2]]
 */
export const embedding = (input: TensorBase, weight: TensorBase): F32 => callFunction('embedding', { input, weight }).output;
/**
 * One-hot vectors of ids, with `num_classes` components (default: the largest id + 1).
 *
 * @example
 * nn.functional.one_hot(new Tensor('int32', [1, 0], [2]), { num_classes: 3 }).tolist(); // => [[0, 1, 0], [1, 0, 0]]
 */
export const one_hot = (input: TensorBase, options: { num_classes?: number | undefined } = {}): F32 =>
  callFunction('one_hot', { input }, options, ['num_classes']).output;

/** Where epsilon is added: `1 / sqrt(variance + eps)`, or `1 / (sigma + eps)`. */
export type EpsForm = 'inside' | 'outside';

/** A norm over the last dimensions: their sizes go with the options. */
const lastDims = (name: string, input: TensorBase, normalized_shape: Sizes, options: object, known: readonly string[]): F32 => {
  options = readOptions(`nn.${name}`, options, known);
  return callFunction(name, { input }, { ...options, normalized_shape }, [...known, 'normalized_shape']).output;
};
/**
 * `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions; arXiv 1607.06450.
 *
 * @example
 * nn.functional.layer_norm(nn.tensor([[1, 2, 3, 6]]), 4).tolist(); // => [[-1.069, -0.5345, 0, 1.6036]]
 */
export const layer_norm = (
  input: TensorBase,
  normalized_shape: Sizes,
  options: { weight?: MaybeTensor; bias?: MaybeTensor; eps?: number; eps_form?: EpsForm } = {},
): F32 => lastDims('layer_norm', input, normalized_shape, options, ['weight', 'bias', 'eps', 'eps_form']);
/**
 * `x / sqrt(mean(x^2) + eps) * weight`; arXiv 1910.07467.
 *
 * @example
 * nn.functional.rms_norm(nn.tensor([[3, 4]]), 2).tolist(); // => [[0.8485, 1.1314]]
 */
export const rms_norm = (
  input: TensorBase,
  normalized_shape: Sizes,
  options: { weight?: MaybeTensor; eps?: number | undefined } = {},
): F32 => lastDims('rms_norm', input, normalized_shape, options, ['weight', 'eps']);

interface AffineOptions {
  weight?: MaybeTensor;
  bias?: MaybeTensor;
  eps?: number | undefined;
}
const kAffine = ['weight', 'bias', 'eps'];
/**
 * Batch normalisation per channel of `[batch, channels, ...]`, with the statistics of this batch; arXiv 1502.03167.
 *
 * @example
 * nn.functional.batch_norm(nn.tensor([[1, 2]]), nn.tensor([1, 0]), nn.tensor([1, 4])).tolist(); // => [[0, 1]]
 */
export const batch_norm = (
  input: TensorBase,
  running_mean: TensorBase,
  running_var: TensorBase,
  options: AffineOptions = {},
): F32 => callFunction('batch_norm', { input, running_mean, running_var }, options, kAffine).output;
/**
 * Instance normalisation, per example and channel of `[batch, channels, ...]`; arXiv 1607.08022.
 *
 * @example
 * nn.functional.instance_norm(nn.randn(2, 3, 8, { seed: 1 })).shape; // => [2, 3, 8]
 */
export const instance_norm = (input: TensorBase, options: AffineOptions = {}): F32 =>
  callFunction('instance_norm', { input }, options, kAffine).output;
/**
 * The norm `(sum |x|^ord)^(1 / ord)` along `dim`.
 *
 * @example
 * nn.functional.vector_norm(nn.tensor([3, 4])).item(); // => 5
 */
export const vector_norm = (input: TensorBase, options: { ord?: number; dim?: number; keepdim?: boolean } = {}): F32 =>
  callFunction('vector_norm', { input }, options, ['ord', 'dim', 'keepdim']).output;
/**
 * `x / max(||x||_p, eps)` along `dim` (default 1, as in torch).
 *
 * @example
 * nn.functional.normalize(nn.tensor([[3, 4]])).tolist(); // => [[0.6, 0.8]]
 */
export const normalize = (input: TensorBase, options: { p?: number; dim?: number; eps?: number } = {}): F32 =>
  callFunction('normalize', { input }, options, ['p', 'dim', 'eps']).output;

/**
 * `x1 . x2 / (max(||x1||, eps) max(||x2||, eps))` along `dim` (default 1, as in torch). Default of `eps`: 1e-8.
 *
 * @example
 * nn.functional.cosine_similarity(nn.tensor([[3, 4]]), nn.tensor([[4, 3]])).tolist(); // => [0.96]
 */
export function cosine_similarity(x1: TensorBase, x2: TensorBase, options: { dim?: number; eps?: number } = {}): F32 {
  const { dim = 1, eps = 1e-8 } = readOptions('cosine_similarity', options, { dim: 'number', eps: 'number' });
  return normalize(x1, { dim, eps }).mul(normalize(x2, { dim, eps })).sum(dim);
}

/** Options of `avg_pool2d` and `max_pool2d`. */
export interface PoolOptions {
  /** Step between windows. Default: `kernel_size`. */
  stride?: Sizes;
  /** Rows and columns to add on each side. Default 0. */
  padding?: Sizes;
}
const pool2d = (name: string, input: TensorBase, kernel_size: Sizes, options: PoolOptions): F32 => {
  options = readOptions(`nn.${name}`, options, ['stride', 'padding']);
  return callFunction(name, { input }, { ...options, kernel_size }, ['stride', 'padding', 'kernel_size']).output;
};
/**
 * Mean of each window of `[..., height, width]`; padding counts as zeros.
 *
 * @example
 * nn.functional.avg_pool2d(nn.tensor([[1, 2], [3, 4]]), 2).tolist(); // => [[2.5]]
 */
export const avg_pool2d = (input: TensorBase, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  pool2d('avg_pool2d', input, kernel_size, options);
/**
 * Maximum of each window of `[..., height, width]`.
 *
 * @example
 * nn.functional.max_pool2d(nn.tensor([[1, 2], [3, 4]]), 2).tolist(); // => [[4]]
 */
export const max_pool2d = (input: TensorBase, kernel_size: Sizes, options: PoolOptions = {}): F32 =>
  pool2d('max_pool2d', input, kernel_size, options);

/** How a sequence's vectors are pooled: mean, maximum, first, last, sum divided by the square root of the count, or a mean with increasing weights. */
export type SequencePoolingMode = 'mean' | 'max' | 'cls' | 'last' | 'mean_sqrt_len_tokens' | 'weightedmean';
/**
 * Pools a sequence into one vector: `[batch, seq, hidden]` -> `[batch, hidden]`. `mask [batch, seq]`: tokens with 0 are left out.
 *
 * @example
 * nn.functional.pool_sequence(nn.tensor([[[1, 2], [3, 4]]])).tolist(); // => [[2, 3]]
 */
export const pool_sequence = (input: TensorBase, options: { mode?: SequencePoolingMode; mask?: MaybeTensor } = {}): F32 =>
  callFunction('pool_sequence', { input }, options, ['mode', 'mask']).output;

/** Options of `scaled_dot_product_attention`. */
export interface AttentionOptions {
  /** Mask, broadcast to `[..., queries, keys]`: bool (true may be attended to) or float (added to the scores). */
  attn_mask?: MaybeTensor;
  /** Factor of the scores, applied before `attn_mask` is added. */
  score_factor?: MaybeTensor;
  /** `true`: a query attends only to keys up to its own position. Default `false`. */
  is_causal?: boolean;
  /** Factor of the scores. Default `1 / sqrt(d_k)`; 1: unscaled. */
  scale?: number | undefined;
  /** `true` returns `[output, weights]`. Default `false`. */
  need_weights?: boolean;
}

/**
 * `softmax(q k^T * scale) v`, arXiv 1706.03762: `[..., queries, d_k]`, `[..., keys, d_k]`, `[..., keys, d_v]` -> `[..., queries, d_v]`.
 * With `need_weights` the result is `[output, weights]`.
 *
 * @example
 * const q = nn.tensor([[1, 0], [0, 1]]);
 * nn.functional.scaled_dot_product_attention(q, q, nn.tensor([[1, 2], [3, 4]]), { is_causal: true }).tolist(); // => [[1, 2], [2.3395, 3.3395]]
 */
export function scaled_dot_product_attention(
  query: TensorBase,
  key: TensorBase,
  value: TensorBase,
  options: AttentionOptions & { need_weights: true },
): [output: F32, weights: F32];
export function scaled_dot_product_attention(
  query: TensorBase,
  key: TensorBase,
  value: TensorBase,
  options?: AttentionOptions,
): F32;
export function scaled_dot_product_attention(
  query: TensorBase,
  key: TensorBase,
  value: TensorBase,
  options: AttentionOptions = {},
): F32 | [F32, F32] {
  const known = ['attn_mask', 'score_factor', 'is_causal', 'scale', 'need_weights'];
  const name = 'scaled_dot_product_attention';
  const own = readOptions(`nn.${name}`, options, known);
  const masked = own.attn_mask ? { ...own, attn_mask: toMask(own.attn_mask, true) } : own;
  const { output, weights } = callFunction(name, { query, key, value }, masked, known);
  return own.need_weights ? [output, weights as F32] : output;
}

/**
 * Attention without parameters: `w = softmax(x x^T)`, `y = w x`; `[..., seq, hidden]`. Returns `[y, w]`.
 *
 * @example
 * const [y, w] = nn.functional.self_attention(nn.tensor([[1, 0], [0, 1]]));
 * w.tolist(); // => [[0.7311, 0.2689], [0.2689, 0.7311]]
 */
export const self_attention = (x: TensorBase): [output: F32, weights: F32] =>
  scaled_dot_product_attention(x, x, x, { scale: 1, need_weights: true });

/**
 * Reorders the second-to-last dimension: `out[i] = x[order[i]]`.
 *
 * @example
 * nn.functional.permute_rows(nn.tensor([[1, 2], [3, 4]]), new Tensor('int32', [1, 0], [2])).tolist(); // => [[3, 4], [1, 2]]
 */
export const permute_rows = (input: TensorBase, order: TensorBase): F32 => callFunction('permute_rows', { input, order }).output;
/**
 * Converts logits `[vocab]` to the probabilities that `generate` samples from, with its defaults (`top_k` 50).
 *
 * @example
 * nn.functional.sampling_probabilities(nn.tensor([1, 2, 3]), { top_k: 2 }).tolist(); // => [0, 0.2689, 0.7311]
 */
export const sampling_probabilities = (
  input: TensorBase,
  options: { temperature?: number; top_k?: number; top_p?: number; min_p?: number } = {},
): F32 => callFunction('sampling_probabilities', { input }, options, ['temperature', 'top_k', 'top_p', 'min_p']).output;
