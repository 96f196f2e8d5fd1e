// The modules of nn, with torch's names, constructor arguments and forwards; sequences are [batch, seq, hidden].
import { ownCopy, readOptions } from '../core/options.js';
import { InputError } from '../core/errors.js';
import { Module, Native, type KeyValueCache } from './module.js';
import { toMask, type MaybeTensor, type Tensor as NnTensor } from './tensor.js';
import { Attending, type AttendOptions, type Weighed } from './attending.js';
import type { EpsForm, PoolOptions, SequencePoolingMode, Sizes } from './functional.js';
import type { TensorBase } from '../core/tensor_base.js';

type F32 = NnTensor;

/** Options of every module with parameters. */
export interface Drawn {
  /** Seed for the initial parameters (SplitMix64). Default: the next seed after `nn.manual_seed`. */
  seed?: number;
}

/** A module whose forward takes one tensor and no options. */
class Unary extends Native {
  /** Computes the module's output. */
  override forward(input: TensorBase, options?: Record<string, never>): F32 {
    options = readOptions(`nn.${this.type}`, options, []);
    return this.run({ tensors: { input } }).output;
  }
}

/**
 * Linear layer, `y = x W^T + b`: `[..., in]` -> `[..., out]`. Parameters: `weight [out, in]`, `bias [out]`.
 *
 * @example
 * const layer = new nn.Linear(3, 2);
 * layer.forward(nn.ones(4, 3)).shape; // => [4, 2]
 */
export class Linear extends Unary {
  constructor(in_features: number, out_features: number, options: Drawn & { bias?: boolean } = {}) {
    super('Linear', { in_features, out_features, ...options });
  }
}

/**
 * Looks up rows of `weight [num_embeddings, embedding_dim]` by ids.
 *
 * @example
 * const table = new nn.Embedding(10, 4);
 * table.forward(new Tensor('int32', [1, 2, 3], [3])).shape; // => [3, 4]
 */
export class Embedding extends Unary {
  constructor(num_embeddings: number, embedding_dim: number, options: Drawn = {}) {
    super('Embedding', { num_embeddings, embedding_dim, ...options });
  }
}

/**
 * `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions; arXiv 1607.06450.
 *
 * @example
 * new nn.LayerNorm(4).forward(nn.tensor([[1, 2, 3, 6]])).tolist(); // => [[-1.069, -0.5345, 0, 1.6036]]
 */
export class LayerNorm extends Unary {
  constructor(
    normalized_shape: Sizes,
    options: { eps?: number; elementwise_affine?: boolean; bias?: boolean; eps_form?: EpsForm } = {},
  ) {
    super('LayerNorm', { normalized_shape, ...options });
  }
}

/**
 * `x / sqrt(mean(x^2) + eps) * weight`; arXiv 1910.07467.
 *
 * @example
 * new nn.RMSNorm(2).forward(nn.tensor([[3, 4]])).tolist(); // => [[0.8485, 1.1314]]
 */
export class RMSNorm extends Unary {
  constructor(normalized_shape: Sizes, options: { eps?: number; elementwise_affine?: boolean } = {}) {
    super('RMSNorm', { normalized_shape, ...options });
  }
}

interface ChannelNorm {
  eps?: number;
  affine?: boolean;
}
/**
 * Batch normalisation per channel of `[batch, channels]` or `[batch, channels, length]`, with `running_mean` and `running_var`. Training mode uses the
 * batch's statistics and moves the running ones by `momentum` (default 0.1); arXiv 1502.03167.
 *
 * @example
 * new nn.BatchNorm1d(2).train().forward(nn.tensor([[1, 2], [3, 6]])).tolist(); // => [[-1, -1], [1, 1]]
 */
export class BatchNorm1d extends Unary {
  constructor(num_features: number, options: ChannelNorm & { momentum?: number } = {}) {
    super('BatchNorm1d', { num_features, ...options });
  }
}
/**
 * `BatchNorm1d` for `[batch, channels, height, width]`.
 *
 * @example
 * new nn.BatchNorm2d(3).train().forward(nn.randn(2, 3, 4, 4, { seed: 1 })).shape; // => [2, 3, 4, 4]
 */
export class BatchNorm2d extends Unary {
  constructor(num_features: number, options: ChannelNorm & { momentum?: number } = {}) {
    super('BatchNorm2d', { num_features, ...options });
  }
}
/**
 * Instance normalisation, per example and channel of `[batch, channels, length]`; arXiv 1607.08022.
 *
 * @example
 * new nn.InstanceNorm1d(3).forward(nn.randn(2, 3, 8, { seed: 1 })).shape; // => [2, 3, 8]
 */
export class InstanceNorm1d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('InstanceNorm1d', { num_features, ...options });
  }
}
/**
 * `InstanceNorm1d` for `[batch, channels, height, width]`.
 *
 * @example
 * new nn.InstanceNorm2d(3).forward(nn.randn(2, 3, 4, 4, { seed: 1 })).shape; // => [2, 3, 4, 4]
 */
export class InstanceNorm2d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('InstanceNorm2d', { num_features, ...options });
  }
}

/**
 * `max(0, x)`.
 *
 * @example
 * new nn.ReLU().forward(nn.tensor([-1, 2])).tolist(); // => [0, 2]
 */
export class ReLU extends Unary {
  constructor() {
    super('ReLU', {});
  }
}
/**
 * `x Phi(x)`, arXiv 1606.08415; `approximate: 'tanh'` uses its approximation.
 *
 * @example
 * new nn.GELU().forward(nn.tensor([-1, 2])).tolist(); // => [-0.1587, 1.9545]
 */
export class GELU extends Unary {
  constructor(options: { approximate?: 'none' | 'tanh' } = {}) {
    super('GELU', { ...options });
  }
}
/**
 * `x / (1 + exp(-x))`, arXiv 1702.03118.
 *
 * @example
 * new nn.SiLU().forward(nn.tensor([-1, 2])).tolist(); // => [-0.2689, 1.7616]
 */
export class SiLU extends Unary {
  constructor() {
    super('SiLU', {});
  }
}
/**
 * The hyperbolic tangent.
 *
 * @example
 * new nn.Tanh().forward(nn.tensor([-1, 2])).tolist(); // => [-0.7616, 0.964]
 */
export class Tanh extends Unary {
  constructor() {
    super('Tanh', {});
  }
}
/**
 * `1 / (1 + exp(-x))`.
 *
 * @example
 * new nn.Sigmoid().forward(nn.tensor([0, 2])).tolist(); // => [0.5, 0.8808]
 */
export class Sigmoid extends Unary {
  constructor() {
    super('Sigmoid', {});
  }
}
/**
 * Returns its input.
 *
 * @example
 * new nn.Identity().forward(nn.tensor([1, 2])).tolist(); // => [1, 2]
 */
export class Identity extends Unary {
  constructor() {
    super('Identity', {});
  }
}
/**
 * In training mode, sets values to zero with probability `p` and scales the others by `1 / (1 - p)`; arXiv 1207.0580. In evaluation mode it does
 * nothing.
 *
 * @example
 * const drop = new nn.Dropout(0.5).train();
 * drop.forward(nn.ones(4)).shape; // => [4]
 */
export class Dropout extends Unary {
  constructor(p = 0.5) {
    super('Dropout', { p });
  }
}
/**
 * `exp(x) / sum(exp(x))` along a dimension.
 *
 * @example
 * new nn.Softmax(-1).forward(nn.tensor([[0, 0]])).tolist(); // => [[0.5, 0.5]]
 */
export class Softmax extends Unary {
  constructor(options: { dim?: number } = {}) {
    super('Softmax', { ...options });
  }
}
/**
 * Merges all dimensions after the first: `[batch, ...]` -> `[batch, size]`.
 *
 * @example
 * new nn.Flatten().forward(nn.ones(2, 3, 4)).shape; // => [2, 12]
 */
export class Flatten extends Unary {
  constructor() {
    super('Flatten', {});
  }
}

/**
 * The mean of each window, like `F.avg_pool2d`.
 *
 * @example
 * new nn.AvgPool2d(2).forward(nn.ones(1, 1, 4, 4)).shape; // => [1, 1, 2, 2]
 */
export class AvgPool2d extends Unary {
  constructor(kernel_size: Sizes, options: PoolOptions = {}) {
    super('AvgPool2d', { kernel_size, ...options });
  }
}
/**
 * The maximum of each window, like `F.max_pool2d`.
 *
 * @example
 * new nn.MaxPool2d(2).forward(nn.ones(1, 1, 4, 4)).shape; // => [1, 1, 2, 2]
 */
export class MaxPool2d extends Unary {
  constructor(kernel_size: Sizes, options: PoolOptions = {}) {
    super('MaxPool2d', { kernel_size, ...options });
  }
}

/**
 * Pools a sequence into one vector: `[batch, seq, hidden]` -> `[batch, hidden]`. `key_padding_mask [batch, seq]`: tokens with true are left out.
 *
 * @example
 * new nn.SequencePooling().forward(nn.ones(2, 5, 8)).shape; // => [2, 8]
 */
export class SequencePooling extends Native {
  constructor(options: { mode?: SequencePoolingMode } = {}) {
    super('SequencePooling', { ...options });
  }
  /** Returns one vector per sequence: `[batch, seq, hidden]` -> `[batch, hidden]`. `key_padding_mask` leaves tokens out. */
  override forward(input: TensorBase, options: { key_padding_mask?: MaybeTensor } = {}): F32 {
    options = readOptions('nn.SequencePooling', options, ['key_padding_mask']);
    return this.run({ tensors: { input, key_padding_mask: toMask(options?.key_padding_mask, false) } }).output;
  }
}

/** How positions are encoded: sinusoids of arXiv 1706.03762, those of the lecture notes, a learned table, or not at all. */
export type PositionKind = 'none' | 'sinusoidal' | 'notes' | 'learned';
/**
 * Adds positions: `x + table[0 .. seq]` for `x [..., seq, d_model]`. A learned table is the parameter `weight [max_len, d_model]`; to use your own
 * table, load it as that parameter.
 *
 * @example
 * new nn.PositionalEncoding(8).forward(nn.zeros(1, 5, 8)).shape; // => [1, 5, 8]
 */
export class PositionalEncoding extends Native {
  constructor(d_model: number, options: Drawn & { max_len?: number; kind?: PositionKind; base?: number } = {}) {
    super('PositionalEncoding', { d_model, ...options });
  }
  /** Returns the input with positions added. With `cache`, positions continue after the cached tokens. */
  override forward(input: TensorBase, options: { cache?: KeyValueCache | null } = {}): F32 {
    options = readOptions('nn.PositionalEncoding', options, ['cache']);
    return this.run({ tensors: { input }, cache: options?.cache }).output;
  }
}

/**
 * Runs modules one after another.
 *
 * @example
 * const net = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 1));
 * net.forward(nn.ones(2, 4)).shape; // => [2, 1]
 */
export class Sequential extends Unary {
  declare private readonly parts: readonly Module[];

  /** `parts` that are all modules of `nn` run in one call; with your own classes among them, they run one by one. */
  constructor(...parts: Module[]) {
    super('Sequential', {}, parts.some(isOwn) ? [] : parts);
    Object.defineProperty(this, 'parts', { value: parts }); // keeps them alive
    if (!this.is_composed) return;
    // What the module in WebAssembly knows of its parts, it then asks of them.
    for (const name of ['state_dict', 'entries', 'own_and_parts', 'setParameter'] as const) {
      Object.defineProperty(this, name, { value: Module.prototype[name] });
    }
  }
  /** @internal Whether any part is a module of yours, so that JavaScript runs the parts. */
  override get is_composed(): boolean {
    return this.parts.some(isOwn);
  }
  /** The submodules, named by their index. */
  override named_children(): [name: string, module: Module][] {
    return this.is_composed ? this.parts.map((part, i) => [String(i), part]) : [];
  }
  /** Passes the input through all modules in order. */
  override forward(input: TensorBase, options?: Record<string, never>): F32 {
    if (!this.is_composed) return super.forward(input, options);
    options = readOptions('nn.Sequential', options, []);
    return this.parts.reduce((at, part) => part.forward(at), input) as F32;
  }
  /** Sets training mode, or evaluation mode with `false`, for all submodules. */
  override train(mode = true): this {
    super.train(mode);
    for (const [, part] of this.named_children()) part.train(mode);
    return this;
  }
  /** @internal */
  override pause(): void {
    super.pause();
    for (const [, part] of this.named_children()) part.pause();
  }
  /** @internal */
  override resume(): void {
    super.resume();
    for (const [, part] of this.named_children()) part.resume();
  }
  /** Reinitialises the parameters of all submodules. */
  override reset_parameters(seed: number): this {
    if (this.is_composed)
      throw new InputError('nn.Sequential.reset_parameters: expected modules of nn only, found classes of your own');
    return super.reset_parameters(seed);
  }
}
/** A class of the caller's, or a Sequential with one inside. */
const isOwn = (part: Module): boolean => part instanceof Module && (!(part instanceof Native) || part.is_composed);

/** The activation functions of blocks. `'gelu_tanh'` is GELU's approximation. */
export type ActivationName = 'relu' | 'gelu' | 'gelu_tanh' | 'silu';

/**
 * Two linear layers with an activation between them: `Linear(k, n_mlp k)`, activation, `Linear(n_mlp k, k)`. Modules: `linear1`, `linear2`.
 *
 * @example
 * new nn.FeedForward({ k: 8 }).forward(nn.ones(1, 3, 8)).shape; // => [1, 3, 8]
 */
export class FeedForward extends Unary {
  constructor(options: Drawn & { k: number; n_mlp?: number; activation?: ActivationName; bias?: boolean }) {
    super('FeedForward', { ...options });
  }
}

/** Options of `SelfAttention`. */
export interface SelfAttentionOptions extends Drawn {
  /** Width of the input. */
  k: number;
  /** Number of heads. Default 1. */
  heads?: number;
  /** `'narrow'`: the heads share d_q and d_v; `'wide'`: each head has the full width. Default with several heads: `'narrow'`. */
  mode?: 'narrow' | 'wide';
  /** Adds a bias to W_q, W_k and W_v. */
  bias?: boolean;
  /** Width of queries and keys. Default: k. */
  d_q?: number;
  /** Width of values. Default: k. */
  d_v?: number;
  /** Projects the concatenated heads back to k, with a bias. Default: `true` with several heads or if a mode is given. */
  unify?: boolean;
  /** Scales the scores by 1 / sqrt(d_q of a head). Default `true`. */
  scaled?: boolean;
  /** `true`: a query attends only to keys up to its own position. Default `false`. */
  causal?: boolean;
  /** Relative positions. `'bias'`, `'multiply'`, `'vector'` and `'t5'` have a parameter `relative`. */
  relative?: 'none' | 'bias' | 'multiply' | 'vector' | 't5' | 'alibi' | 'rotary';
  /** Larger offsets are clipped to this (t5: the last bucket begins here). Default 128. */
  max_distance?: number;
  /** T5 positions: number of buckets. Default 32. */
  num_buckets?: number;
  /** T5 positions: separate buckets for keys after the query. Default: `true` unless `causal` is set. */
  bidirectional?: boolean;
  /** Rotary positions: base of the angles. Default 10000. */
  base?: number;
  /** Rotary positions: rotates the pairs (2i, 2i + 1), as in the paper, instead of (i, i + d / 2). Default `false`. */
  interleaved?: boolean;
}

/**
 * `softmax(Q K^T / sqrt(d_q)) V` with `Q = W_q x`, `K = W_k x`, `V = W_v x`; arXiv 1706.03762. `[batch, seq, k]` (or `[seq, k]`) -> the same, or `[..,
 * d_v]` without `unify`. With `need_weights` it returns `[output, weights]`, weights `[batch, heads, queries, keys]`. Parameters `W_q.weight`,
 * `W_k.weight`, `W_v.weight`, `unify.weight`, `unify.bias`, `relative`.
 *
 * @example
 * new nn.SelfAttention({ k: 8, heads: 2 }).forward(nn.ones(1, 5, 8)).shape; // => [1, 5, 8]
 */
export class SelfAttention extends Attending {
  constructor(options: SelfAttentionOptions) {
    super('SelfAttention', { ...options });
  }
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(x: TensorBase, options: AttendOptions & { need_weights: true }): Weighed;
  /** Returns the output, `[batch, seq, k]`. */
  override forward(x: TensorBase, options?: AttendOptions): F32;
  override forward(x: TensorBase, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x }, options);
  }
}

/**
 * Attention with queries from `x [batch, queries, k]` and keys and values from `context [batch, keys, k_context]`.
 *
 * @example
 * const attention = new nn.CrossAttention({ k: 8, heads: 2, k_context: 4 });
 * attention.forward(nn.ones(1, 5, 8), nn.ones(1, 3, 4)).shape; // => [1, 5, 8]
 */
export class CrossAttention extends Attending {
  constructor(options: SelfAttentionOptions & { k_context?: number }) {
    super('CrossAttention', { ...options });
  }
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(x: TensorBase, context: TensorBase, options: AttendOptions & { need_weights: true }): Weighed;
  /** Returns the output, `[batch, queries, k]`. */
  override forward(x: TensorBase, context: TensorBase, options?: AttendOptions): F32;
  override forward(x: TensorBase, context: TensorBase, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x, key: context }, options);
  }
}

/**
 * torch.nn.MultiheadAttention with `batch_first`. Like torch, it returns `[output, weights]`; with `need_weights: false` weights are undefined. Unlike
 * in torch, `is_causal` needs no mask, and a query whose keys are all masked out gives zeros.
 *
 * @example
 * const [output, weights] = new nn.MultiheadAttention(8, 2).forward(nn.ones(1, 5, 8));
 * [output.shape, weights.shape]; // => [[1, 5, 8], [1, 5, 5]]
 */
export class MultiheadAttention extends Attending {
  constructor(
    embed_dim: number,
    num_heads: number,
    options: Drawn & { bias?: boolean; kdim?: number; vdim?: number; dropout?: number; batch_first?: true } = {},
  ) {
    super('MultiheadAttention', { embed_dim, num_heads, ...options });
  }
  /** Returns the output `[batch, queries, embed_dim]`, and the attention weights, or `undefined` with `need_weights: false`. */
  override forward(
    query: TensorBase,
    key: TensorBase = query,
    value: TensorBase = key,
    options: AttendOptions = {},
  ): [output: F32, weights: F32 | undefined] {
    const own = key === query && value === query; // self-attention: a cache puts the keys of earlier steps before these
    const given = ownCopy(options);
    const asked = typeof given === 'object' ? { ...given, need_weights: given?.need_weights ?? true } : given;
    const out = this.attend({ input: query, ...(own ? {} : { key, value }) }, asked);
    return Array.isArray(out) ? out : [out, undefined];
  }
}
