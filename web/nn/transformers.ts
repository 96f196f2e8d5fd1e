// Transformer layers and stacks with torch's names, and TransformerBlock; sequences are [batch, seq, hidden].
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { Module } from './module.js';
import { Attending, kWeights, type AttendOptions, type Weighed } from './attending.js';
import type { ActivationName, Drawn, SelfAttentionOptions } from './modules.js';
import type { OptionValues } from '../host/nn_seam.js';
import type { MaybeTensor, Tensor as NnTensor } from './tensor.js';
import type { TensorBase } from '../core/tensor_base.js';

type F32 = NnTensor;

/** Options of a transformer layer, under torch's names. */
export interface TransformerLayerOptions extends Drawn {
  /** Width of a token's vector. */
  d_model: number;
  /** Number of heads; must divide `d_model`. */
  nhead: number;
  /** Width of the feed-forward block. Default 2048. */
  dim_feedforward?: number;
  /** Activation of the feed-forward block. Default `'relu'`. */
  activation?: ActivationName;
  /** Added to the variance in norms. Default 1e-5. */
  layer_norm_eps?: number;
  /** `true`: norms come before each sublayer (pre-norm). Default: after it. */
  norm_first?: boolean;
  /** Whether layers have biases. Default `true`. */
  bias?: boolean;
  /** Fraction of values that dropout sets to zero in training mode. */
  dropout?: number;
  /** As in torch; only `true` is supported: `[batch, seq, d_model]`. */
  batch_first?: true;
}
/** Options of an encoder's `forward`, under torch's names. */
export interface EncoderForward extends Pick<AttendOptions, 'is_causal' | 'need_weights' | 'average_attn_weights' | 'cache'> {
  /** Mask, broadcast to `[batch, heads, source, source]`: bool (true is masked out) or float (added to the scores). */
  src_mask?: MaybeTensor;
  /** Source tokens to mask out (true), `[batch, source]`. */
  src_key_padding_mask?: MaybeTensor;
}
/** Options of a decoder's `forward`, under torch's names. */
export interface DecoderForward extends Pick<AttendOptions, 'need_weights' | 'average_attn_weights' | 'cache'> {
  /** Mask, broadcast to `[batch, heads, target, target]`: bool (true is masked out) or float (added to the scores). */
  tgt_mask?: MaybeTensor;
  /** `true`: a token attends only to tokens up to its own position. */
  tgt_is_causal?: boolean;
  /** Target tokens to mask out (true), `[batch, target]`. */
  tgt_key_padding_mask?: MaybeTensor;
  /** Mask, broadcast to `[batch, heads, target, source]`: bool (true is masked out) or float (added to the scores). */
  memory_mask?: MaybeTensor;
  /** Source tokens to mask out (true), `[batch, source]`. */
  memory_key_padding_mask?: MaybeTensor;
}
const kSourceMasks = ['src_mask', 'src_key_padding_mask'];
const kTargetMasks = {
  attn_mask: 'tgt_mask',
  key_padding_mask: 'tgt_key_padding_mask',
  memory_mask: 'memory_mask',
  memory_key_padding_mask: 'memory_key_padding_mask',
};
const kTarget = [...Object.values(kTargetMasks), 'tgt_is_causal'];

abstract class Encoding extends Attending {
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(src: TensorBase, options: EncoderForward & { need_weights: true }): Weighed;
  /** Returns the output, `[batch, source, d_model]`. */
  override forward(src: TensorBase, options?: EncoderForward): F32;
  override forward(src: TensorBase, options: EncoderForward = {}): F32 | Weighed {
    const masks = { attn_mask: 'src_mask', key_padding_mask: 'src_key_padding_mask' };
    return this.attend({ input: src }, options, [...kSourceMasks, 'is_causal', ...kWeights], masks);
  }
}

abstract class Decoding extends Attending {
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(tgt: TensorBase, memory: TensorBase, options: DecoderForward & { need_weights: true }): Weighed;
  /** Returns the output, `[batch, target, d_model]`. */
  override forward(tgt: TensorBase, memory: TensorBase, options?: DecoderForward): F32;
  override forward(tgt: TensorBase, memory: TensorBase, options: DecoderForward = {}): F32 | Weighed {
    return this.attend({ input: tgt, memory }, options, [...kTarget, ...kWeights], kTargetMasks);
  }
}

/** A layer's options, given as one object or as torch's (d_model, nhead, options). */
function layerOptions(first: TransformerLayerOptions | number, nhead?: number, rest: object = {}): TransformerLayerOptions {
  return typeof first === 'number' ? { ...rest, d_model: first, nhead: nhead as number } : first;
}
const kOptions = new WeakMap<object, TransformerLayerOptions>();

/**
 * Self-attention and feed-forward, each with residual and norm. Modules: `self_attn`, `linear1`, `linear2`, `norm1`, `norm2`.
 *
 * @example
 * new nn.TransformerEncoderLayer(8, 2).forward(nn.ones(1, 5, 8)).shape; // => [1, 5, 8]
 */
export class TransformerEncoderLayer extends Encoding {
  constructor(options: TransformerLayerOptions);
  constructor(d_model: number, nhead: number, options?: Omit<TransformerLayerOptions, 'd_model' | 'nhead'>);
  constructor(first: TransformerLayerOptions | number, nhead?: number, rest?: object) {
    const options = layerOptions(first, nhead, rest);
    super('TransformerEncoderLayer', { ...options });
    kOptions.set(this, options);
  }
}

/**
 * Self-attention, cross-attention to memory, and feed-forward, each with residual and norm. Modules: `self_attn`, `multihead_attn`, `linear1`, ..,
 * `norm3`.
 *
 * @example
 * new nn.TransformerDecoderLayer(8, 2).forward(nn.ones(1, 5, 8), nn.ones(1, 3, 8)).shape; // => [1, 5, 8]
 */
export class TransformerDecoderLayer extends Decoding {
  constructor(options: TransformerLayerOptions);
  constructor(d_model: number, nhead: number, options?: Omit<TransformerLayerOptions, 'd_model' | 'nhead'>);
  constructor(first: TransformerLayerOptions | number, nhead?: number, rest?: object) {
    const options = layerOptions(first, nhead, rest);
    super('TransformerDecoderLayer', { ...options });
    kOptions.set(this, options);
  }
}

function stackOptions(what: string, layer: Module, num_layers: number, given: { norm?: boolean }): OptionValues {
  given = readOptions(`nn.${what}`, given, { norm: 'boolean' });
  const options = kOptions.get(layer);
  if (!options) throw new InputError(`nn.${what}: expected a layer of that kind, found ${describe(layer)}`);
  return { ...options, num_layers, norm: given?.norm };
}
/** As in torch, every layer begins as a copy of the given one. */
function copyToLayers(stack: Module, layer: Module, num_layers: number): void {
  for (const [name, tensor] of Object.entries(layer.state_dict())) {
    for (let i = 0; i < num_layers; ++i) stack.setParameter(`layers.${i}.${name}`, tensor);
  }
}

/**
 * `num_layers` encoder layers, followed by a LayerNorm if `norm` is true. Modules: `layers.0`, .., `norm`.
 *
 * @example
 * new nn.TransformerEncoder(new nn.TransformerEncoderLayer(8, 2), 2).forward(nn.ones(1, 5, 8)).shape; // => [1, 5, 8]
 */
export class TransformerEncoder extends Encoding {
  constructor(layer: TransformerEncoderLayer, num_layers: number, options: { norm?: boolean } = {}) {
    super('TransformerEncoder', stackOptions('TransformerEncoder', layer, num_layers, options));
    copyToLayers(this, layer, num_layers);
  }
}
/**
 * `num_layers` decoder layers, followed by a LayerNorm if `norm` is true. Modules: `layers.0`, .., `norm`.
 *
 * @example
 * const decoder = new nn.TransformerDecoder(new nn.TransformerDecoderLayer(8, 2), 2);
 * decoder.forward(nn.ones(1, 5, 8), nn.ones(1, 3, 8)).shape; // => [1, 5, 8]
 */
export class TransformerDecoder extends Decoding {
  constructor(layer: TransformerDecoderLayer, num_layers: number, options: { norm?: boolean } = {}) {
    super('TransformerDecoder', stackOptions('TransformerDecoder', layer, num_layers, options));
    copyToLayers(this, layer, num_layers);
  }
}

/**
 * An encoder and a decoder, each followed by a norm: `[batch, src, d]`, `[batch, tgt, d]` -> `[batch, tgt, d]`; arXiv 1706.03762.
 *
 * @example
 * const model = new nn.Transformer({ d_model: 8, nhead: 2, num_encoder_layers: 1, num_decoder_layers: 1 });
 * model.forward(nn.ones(1, 5, 8), nn.ones(1, 3, 8)).shape; // => [1, 3, 8]
 */
export class Transformer extends Attending {
  constructor(options: TransformerLayerOptions & { num_encoder_layers?: number; num_decoder_layers?: number }) {
    super('Transformer', { ...options });
  }
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(
    src: TensorBase,
    tgt: TensorBase,
    options: DecoderForward & { need_weights: true } & Pick<EncoderForward, 'src_mask' | 'src_key_padding_mask'>,
  ): Weighed;
  /** Returns the decoder's output, `[batch, target, d_model]`. */
  override forward(
    src: TensorBase,
    tgt: TensorBase,
    options?: DecoderForward & Pick<EncoderForward, 'src_mask' | 'src_key_padding_mask'>,
  ): F32;
  override forward(src: TensorBase, tgt: TensorBase, options: DecoderForward = {}): F32 | Weighed {
    const masks = { ...kTargetMasks, src_mask: 'src_mask', src_key_padding_mask: 'src_key_padding_mask' };
    return this.attend({ input: tgt, key: src }, options, [...kSourceMasks, ...kTarget, ...kWeights], masks);
  }
}

/**
 * Self-attention and a feed-forward of width `n_mlp k`, each with residual and norm. The norm comes after it with `norm: 'post'`, before it with
 * `'pre'`. Modules: `attention`, `norm1`, `feed_forward`, `norm2`.
 *
 * @example
 * new nn.TransformerBlock({ k: 8, heads: 2 }).forward(nn.ones(1, 3, 8)).shape; // => [1, 3, 8]
 */
export class TransformerBlock extends Attending {
  constructor(
    options: SelfAttentionOptions & {
      n_mlp?: number;
      activation?: ActivationName;
      norm?: 'post' | 'pre';
      norm_kind?: 'layer' | 'rms';
      eps?: number;
    },
  ) {
    super('TransformerBlock', { ...options });
  }
  /** With `need_weights`: returns the output and the attention weights. */
  override forward(x: TensorBase, options: AttendOptions & { need_weights: true }): Weighed;
  /** Returns the output, `[batch, seq, k]`. */
  override forward(x: TensorBase, options?: AttendOptions): F32;
  override forward(x: TensorBase, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x }, options);
  }
}
