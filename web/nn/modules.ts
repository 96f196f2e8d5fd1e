// The modules of nn, with torch's names, constructors and forwards; sequences are [batch, seq, hidden].
import { Native, type KeyValueCache, type Module } from './module.js';
import { toMask, type OptionValues, type TensorsByName } from '../host/nn_seam.js';
import type { EpsForm, PoolOptions, SequencePoolingMode } from './functional.js';
import type { Tensor } from '../core/tensor.js';

type F32 = Tensor<'float32'>;
type Mask = Tensor | null | undefined;
type Sizes = number | readonly number[];
const list = (sizes: Sizes) => (typeof sizes === 'number' ? [sizes] : [...sizes]);

/** What every module takes. */
export interface Drawn {
  /** Parameters are drawn from SplitMix64 with this seed; default: the next after `nn.manual_seed`. */
  seed?: number;
}

/** A module of one tensor. */
class Unary extends Native {
  override forward(input: Tensor): F32 {
    return this.run({ tensors: { input } }).output;
  }
}

/** `y = x W^T + b`: `[..., in]` -> `[..., out]`. `weight [out, in]`, `bias [out]`. */
export class Linear extends Unary {
  constructor(in_features: number, out_features: number, options: Drawn & { bias?: boolean } = {}) {
    super('Linear', { in_features, out_features, ...options });
  }
}

/** Rows of `weight [num_embeddings, embedding_dim]` by ids. */
export class Embedding extends Unary {
  constructor(num_embeddings: number, embedding_dim: number, options: Drawn = {}) {
    super('Embedding', { num_embeddings, embedding_dim, ...options });
  }
}

/** `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions; arXiv 1607.06450. */
export class LayerNorm extends Unary {
  constructor(
    normalized_shape: Sizes,
    options: { eps?: number; elementwise_affine?: boolean; bias?: boolean; eps_form?: EpsForm } = {},
  ) {
    super('LayerNorm', { normalized_shape: list(normalized_shape), ...options });
  }
}

/** `x / sqrt(mean(x^2) + eps) * weight`; arXiv 1910.07467. */
export class RMSNorm extends Unary {
  constructor(normalized_shape: Sizes, options: { eps?: number; elementwise_affine?: boolean } = {}) {
    super('RMSNorm', { normalized_shape: list(normalized_shape), ...options });
  }
}

interface ChannelNorm {
  eps?: number;
  affine?: boolean;
}
/** Inference: with `running_mean` and `running_var`; `[batch, channels]` or `[batch, channels, length]`; arXiv 1502.03167. */
export class BatchNorm1d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('BatchNorm1d', { num_features, ...options });
  }
}
/** The same for `[batch, channels, height, width]`. */
export class BatchNorm2d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('BatchNorm2d', { num_features, ...options });
  }
}
/** Per example and channel of `[batch, channels, length]`; arXiv 1607.08022. */
export class InstanceNorm1d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('InstanceNorm1d', { num_features, ...options });
  }
}
/** The same for `[batch, channels, height, width]`. */
export class InstanceNorm2d extends Unary {
  constructor(num_features: number, options: ChannelNorm = {}) {
    super('InstanceNorm2d', { num_features, ...options });
  }
}

export class ReLU extends Unary {
  constructor() {
    super('ReLU', {});
  }
}
export class GELU extends Unary {
  constructor(options: { approximate?: 'none' | 'tanh' } = {}) {
    super('GELU', { ...options });
  }
}
export class SiLU extends Unary {
  constructor() {
    super('SiLU', {});
  }
}
export class Tanh extends Unary {
  constructor() {
    super('Tanh', {});
  }
}
export class Sigmoid extends Unary {
  constructor() {
    super('Sigmoid', {});
  }
}
export class Identity extends Unary {
  constructor() {
    super('Identity', {});
  }
}
/** Drops nothing: this library is for inference. There so that PyTorch's models keep their layers' numbers. */
export class Dropout extends Unary {
  constructor(p = 0.5) {
    super('Dropout', { p });
  }
}
export class Softmax extends Unary {
  constructor({ dim = -1 }: { dim?: number } = {}) {
    super('Softmax', { dim });
  }
}
/** `[batch, ...]` -> `[batch, the rest]`. */
export class Flatten extends Unary {
  constructor() {
    super('Flatten', {});
  }
}

const window = (kernel_size: Sizes, { stride, padding }: PoolOptions): OptionValues => ({
  kernel_size: list(kernel_size),
  stride: stride === undefined ? undefined : list(stride),
  padding: padding === undefined ? undefined : list(padding),
});
export class AvgPool2d extends Unary {
  constructor(kernel_size: Sizes, options: PoolOptions = {}) {
    super('AvgPool2d', window(kernel_size, options));
  }
}
export class MaxPool2d extends Unary {
  constructor(kernel_size: Sizes, options: PoolOptions = {}) {
    super('MaxPool2d', window(kernel_size, options));
  }
}

/** `[batch, seq, hidden]` -> `[batch, hidden]`. `key_padding_mask [batch, seq]`: true is left out. */
export class SequencePooling extends Native {
  constructor({ mode = 'mean' }: { mode?: SequencePoolingMode } = {}) {
    super('SequencePooling', { mode });
  }
  override forward(input: Tensor, { key_padding_mask }: { key_padding_mask?: Mask } = {}): F32 {
    return this.run({ tensors: { input, key_padding_mask: toMask(key_padding_mask, false) } }).output;
  }
}

export type PositionKind = 'none' | 'sinusoidal' | 'notes' | 'learned';
/** `x + table[0 .. seq]` for `x [..., seq, d_model]`; learned ones are `weight [max_len, d_model]`. A table of one's own: load it so. */
export class PositionalEncoding extends Native {
  constructor(d_model: number, options: Drawn & { max_len?: number; kind?: PositionKind; base?: number } = {}) {
    super('PositionalEncoding', { d_model, ...options });
  }
  override forward(input: Tensor, { cache }: { cache?: KeyValueCache | null } = {}): F32 {
    return this.run({ tensors: { input }, cache }).output;
  }
}

/** One after another. */
export class Sequential extends Unary {
  constructor(...parts: Module[]) {
    super('Sequential', {}, parts);
    Object.defineProperty(this, 'parts', { value: parts }); // keeps them alive
  }
}

export type ActivationName = 'relu' | 'gelu' | 'gelu_tanh' | 'silu';

/** `Linear(k, n_mlp k)`, activation, `Linear(n_mlp k, k)`: `linear1`, `linear2`. */
export class FeedForward extends Unary {
  constructor(options: Drawn & { k: number; n_mlp?: number; activation?: ActivationName; bias?: boolean }) {
    super('FeedForward', { ...options });
  }
}

export interface SelfAttentionOptions extends Drawn {
  /** Width of the input. */
  k: number;
  heads?: number;
  /** narrow: heads share d_q and d_v; wide: each has maps of that whole width. Default with several heads: narrow. */
  mode?: 'narrow' | 'wide';
  /** Of W_q, W_k and W_v. */
  bias?: boolean;
  /** Width of queries and keys; default k. */
  d_q?: number;
  /** Width of values; default k. */
  d_v?: number;
  /** Maps the heads back to k, with bias; default: with several heads, or where a mode is given. */
  unify?: boolean;
  /** By 1 / sqrt(d_q of a head); default true. */
  scaled?: boolean;
  causal?: boolean;
  /** Relative positions: parameter `relative` for the first four. */
  relative?: 'none' | 'bias' | 'multiply' | 'vector' | 't5' | 'alibi' | 'rotary';
  /** Offsets beyond it count as it (t5: buckets end there). Default 128. */
  max_distance?: number;
  num_buckets?: number;
  bidirectional?: boolean;
  base?: number;
  interleaved?: boolean;
}

export interface AttendOptions {
  /** Broadcast to `[batch, heads, queries, keys]`: bool (true may not be looked at, as in torch's modules) or float (added). */
  attn_mask?: Mask;
  /** `[batch, keys]`: true may not be looked at. */
  key_padding_mask?: Mask;
  is_causal?: boolean;
  need_weights?: boolean;
  /** Default true: the mean over the heads. */
  average_attn_weights?: boolean;
  cache?: KeyValueCache | null;
}
export type Weighed = [output: F32, weights: F32];

/** What the notes' attentions share: with `need_weights` they answer `[output, weights]`. */
export abstract class Attending extends Native {
  /** @internal */
  protected attend(tensors: TensorsByName, { attn_mask, key_padding_mask, cache, ...options }: AttendOptions): F32 | Weighed {
    const masks = { attn_mask: toMask(attn_mask, false), key_padding_mask: toMask(key_padding_mask, false) };
    const { output, weights } = this.run({ tensors: { ...tensors, ...masks }, options: { ...options }, cache });
    return options.need_weights ? [output, weights as F32] : output;
  }
}

/**
 * `softmax(Q K^T / sqrt(d_q)) V` with `Q = W_q x`, `K = W_k x`, `V = W_v x`; arXiv 1706.03762. `[batch, seq, k]` (or `[seq, k]`) ->
 * the same, or `[.., d_v]` without `unify`. With `need_weights` the answer is `[output, weights]`, weights
 * `[batch, heads, queries, keys]`. Parameters `W_q.weight`, `W_k.weight`, `W_v.weight`, `unify.weight`, `unify.bias`, `relative`.
 */
export class SelfAttention extends Attending {
  constructor(options: SelfAttentionOptions) {
    super('SelfAttention', { ...options });
  }
  override forward(x: Tensor, options: AttendOptions & { need_weights: true }): Weighed;
  override forward(x: Tensor, options?: AttendOptions): F32;
  override forward(x: Tensor, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x }, options);
  }
}

/** The same with queries from `x [batch, queries, k]` and keys and values from `context [batch, keys, k_context]`. */
export class CrossAttention extends Attending {
  constructor(options: SelfAttentionOptions & { k_context?: number }) {
    super('CrossAttention', { ...options });
  }
  override forward(x: Tensor, context: Tensor, options: AttendOptions & { need_weights: true }): Weighed;
  override forward(x: Tensor, context: Tensor, options?: AttendOptions): F32;
  override forward(x: Tensor, context: Tensor, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x, key: context }, options);
  }
}

/**
 * torch.nn.MultiheadAttention with batch_first. Answers `[output, weights]` as torch does; `need_weights: false` makes weights
 * undefined. Unlike torch, `is_causal` masks by itself, and a query that may look at nothing gets zeros.
 */
export class MultiheadAttention extends Native {
  constructor(
    embed_dim: number,
    num_heads: number,
    options: Drawn & { bias?: boolean; kdim?: number; vdim?: number; dropout?: number; batch_first?: true } = {},
  ) {
    super('MultiheadAttention', { embed_dim, num_heads, ...options });
  }
  override forward(
    query: Tensor,
    key: Tensor = query,
    value: Tensor = key,
    { attn_mask, key_padding_mask, cache, need_weights = true, ...rest }: AttendOptions = {},
  ): [output: F32, weights: F32 | undefined] {
    const own = key === query && value === query; // keys of earlier steps go before these
    const { output, weights } = this.run({
      tensors: {
        input: query,
        ...(own ? {} : { key, value }),
        attn_mask: toMask(attn_mask, false),
        key_padding_mask: toMask(key_padding_mask, false),
      },
      options: { need_weights, ...rest },
      cache,
    });
    return [output, weights];
  }
}
