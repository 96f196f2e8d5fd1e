// Transformer layers and stacks with torch's names, and the notes' block; sequences are [batch, seq, hidden].
import { describe, InputError } from '../core/errors.js';
import { Native, type Module } from './module.js';
import { Attending } from './modules.js';
import type { ActivationName, AttendOptions, Drawn, SelfAttentionOptions, Weighed } from './modules.js';
import { toMask, type OptionValues } from '../host/nn_seam.js';
import type { Tensor } from '../core/tensor.js';

type F32 = Tensor<'float32'>;
type Mask = Tensor | null | undefined;

export interface TransformerLayerOptions extends Drawn {
  d_model: number;
  nhead: number;
  /** Default 2048. */
  dim_feedforward?: number;
  activation?: ActivationName;
  layer_norm_eps?: number;
  /** Norms before each part (pre-norm); default: after. */
  norm_first?: boolean;
  bias?: boolean;
  dropout?: number;
  batch_first?: true;
}
export interface EncoderForward extends Pick<AttendOptions, 'is_causal' | 'need_weights' | 'average_attn_weights' | 'cache'> {
  src_mask?: Mask;
  src_key_padding_mask?: Mask;
}
export interface DecoderForward extends Pick<AttendOptions, 'need_weights' | 'average_attn_weights' | 'cache'> {
  tgt_mask?: Mask;
  tgt_is_causal?: boolean;
  tgt_key_padding_mask?: Mask;
  memory_mask?: Mask;
  memory_key_padding_mask?: Mask;
}

abstract class Encoding extends Native {
  override forward(src: Tensor, options: EncoderForward & { need_weights: true }): Weighed;
  override forward(src: Tensor, options?: EncoderForward): F32;
  override forward(src: Tensor, { src_mask, src_key_padding_mask, cache, ...options }: EncoderForward = {}): F32 | Weighed {
    const masks = { attn_mask: toMask(src_mask, false), key_padding_mask: toMask(src_key_padding_mask, false) };
    const { output, weights } = this.run({ tensors: { input: src, ...masks }, options: { ...options }, cache });
    return options.need_weights ? [output, weights as F32] : output;
  }
}

abstract class Decoding extends Native {
  override forward(tgt: Tensor, memory: Tensor, options: DecoderForward & { need_weights: true }): Weighed;
  override forward(tgt: Tensor, memory: Tensor, options?: DecoderForward): F32;
  override forward(tgt: Tensor, memory: Tensor, options: DecoderForward = {}): F32 | Weighed {
    const { tgt_mask, tgt_is_causal, tgt_key_padding_mask, memory_mask, memory_key_padding_mask, cache, ...rest } = options;
    const tensors = {
      input: tgt,
      memory,
      attn_mask: toMask(tgt_mask, false),
      key_padding_mask: toMask(tgt_key_padding_mask, false),
      memory_mask: toMask(memory_mask, false),
      memory_key_padding_mask: toMask(memory_key_padding_mask, false),
    };
    const { output, weights } = this.run({ tensors, options: { is_causal: tgt_is_causal, ...rest }, cache });
    return options.need_weights ? [output, weights as F32] : output;
  }
}

/** Options of a layer: an object, or torch's (d_model, nhead, options). */
function layerOptions(first: TransformerLayerOptions | number, nhead?: number, rest: object = {}): TransformerLayerOptions {
  return typeof first === 'number' ? { ...rest, d_model: first, nhead: nhead as number } : first;
}
const kOptions = new WeakMap<object, TransformerLayerOptions>();

/** Self-attention and feed-forward, each with residual and norm: `self_attn`, `linear1`, `linear2`, `norm1`, `norm2`. */
export class TransformerEncoderLayer extends Encoding {
  constructor(options: TransformerLayerOptions);
  constructor(d_model: number, nhead: number, options?: Omit<TransformerLayerOptions, 'd_model' | 'nhead'>);
  constructor(first: TransformerLayerOptions | number, nhead?: number, rest?: object) {
    const options = layerOptions(first, nhead, rest);
    super('TransformerEncoderLayer', { ...options });
    kOptions.set(this, options);
  }
}

/** Causal or other self-attention, attention to memory, feed-forward: `self_attn`, `multihead_attn`, `linear1`, .., `norm3`. */
export class TransformerDecoderLayer extends Decoding {
  constructor(options: TransformerLayerOptions);
  constructor(d_model: number, nhead: number, options?: Omit<TransformerLayerOptions, 'd_model' | 'nhead'>);
  constructor(first: TransformerLayerOptions | number, nhead?: number, rest?: object) {
    const options = layerOptions(first, nhead, rest);
    super('TransformerDecoderLayer', { ...options });
    kOptions.set(this, options);
  }
}

function stackOptions(what: string, layer: Module, num_layers: number, norm: boolean): OptionValues {
  const options = kOptions.get(layer);
  if (!options) throw new InputError(`nn.${what}: expected a layer of that kind, found ${describe(layer)}`);
  return { ...options, num_layers, norm };
}
/** As torch does: every layer begins as a copy of the one given. */
function copyToLayers(stack: Module, layer: Module, num_layers: number): void {
  for (const [name, tensor] of Object.entries(layer.state_dict())) {
    for (let i = 0; i < num_layers; ++i) stack.setParameter(`layers.${i}.${name}`, tensor);
  }
}

/** `num_layers` copies of a layer, and a LayerNorm after them where `norm`: `layers.0`, .., `norm`. */
export class TransformerEncoder extends Encoding {
  constructor(layer: TransformerEncoderLayer, num_layers: number, { norm = false }: { norm?: boolean } = {}) {
    super('TransformerEncoder', stackOptions('TransformerEncoder', layer, num_layers, norm));
    copyToLayers(this, layer, num_layers);
  }
}
/** The same of decoder layers. */
export class TransformerDecoder extends Decoding {
  constructor(layer: TransformerDecoderLayer, num_layers: number, { norm = false }: { norm?: boolean } = {}) {
    super('TransformerDecoder', stackOptions('TransformerDecoder', layer, num_layers, norm));
    copyToLayers(this, layer, num_layers);
  }
}

/** Encoder and decoder, each with a last norm; arXiv 1706.03762. `[batch, src, d]`, `[batch, tgt, d]` -> `[batch, tgt, d]`. */
export class Transformer extends Native {
  constructor(options: TransformerLayerOptions & { num_encoder_layers?: number; num_decoder_layers?: number }) {
    super('Transformer', { ...options });
  }
  override forward(
    src: Tensor,
    tgt: Tensor,
    options: Omit<DecoderForward, 'need_weights' | 'average_attn_weights'> & { src_mask?: Mask; src_key_padding_mask?: Mask } = {},
  ): F32 {
    const tensors = {
      input: tgt,
      key: src,
      src_mask: toMask(options.src_mask, false),
      src_key_padding_mask: toMask(options.src_key_padding_mask, false),
      attn_mask: toMask(options.tgt_mask, false),
      key_padding_mask: toMask(options.tgt_key_padding_mask, false),
      memory_mask: toMask(options.memory_mask, false),
      memory_key_padding_mask: toMask(options.memory_key_padding_mask, false),
    };
    return this.run({ tensors, options: { is_causal: options.tgt_is_causal }, cache: options.cache }).output;
  }
}

/**
 * The notes' block: self-attention and a feed-forward of width `n_mlp k`, each with residual and norm (`norm: 'post'`, or `'pre'`):
 * `attention`, `norm1`, `feed_forward`, `norm2`.
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
  override forward(x: Tensor, options: AttendOptions & { need_weights: true }): Weighed;
  override forward(x: Tensor, options?: AttendOptions): F32;
  override forward(x: Tensor, options: AttendOptions = {}): F32 | Weighed {
    return this.attend({ input: x }, options);
  }
}
