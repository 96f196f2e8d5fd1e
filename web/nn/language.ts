// Complete small models over token ids, and generation.
import { ownCopy, readOptions } from '../core/options.js';
import { InputError } from '../core/errors.js';
import { Attending, kAttend, kWeights, type AttendOptions, type Weighed } from './attending.js';
import type { Drawn, PositionKind } from './modules.js';
import type { DecoderForward, EncoderForward, TransformerLayerOptions } from './transformers.js';
import type { SequencePoolingMode } from './functional.js';
import { TensorBase } from '../core/tensor_base.js';
import type { Tensor as NnTensor } from './tensor.js';
import type { DecodingOptions } from '../core/types.js';

type F32 = NnTensor;

/** Options of a language model: its sizes, its positions, and its layers. */
export interface LanguageModelOptions extends Drawn, TransformerLayerOptions {
  /** Size of the vocabulary. */
  vocab_size: number;
  /** Number of layers. Default 2. Here `dim_feedforward` defaults to 4 × d_model. */
  num_layers?: number;
  /** Maximum sequence length. Default 512. */
  max_len?: number;
  /** How positions are encoded. Default `'learned'`. */
  positions?: PositionKind;
  /** Adds a norm after the last layer. Default: the value of `norm_first`. */
  final_norm?: boolean;
  /** Shares the embedding's matrix with the output head. Default `true`. */
  tie_weights?: boolean;
  /** Multiplies embeddings by sqrt(d_model). */
  scale_embedding?: boolean;
}

/** Options of `generate` for language models of `nn`. */
export interface GenerateOptions extends DecodingOptions {
  /** Maximum new tokens. Default 20. */
  max_new_tokens?: number;
  /** Beam search: stops as soon as `num_beams` sequences have ended. */
  early_stopping?: boolean;
  /** `false` computes every step from the beginning, with the same result. */
  use_cache?: boolean;
}

const toIds = (ids: TensorBase | readonly number[]): Int32Array => {
  if (ids instanceof TensorBase && ids.dims.length === 2 && ids.dims[0] !== 1) {
    throw new InputError(`nn.generate: expected one prompt, [seq] or [1, seq], found dims [${ids.dims}]`);
  }
  return Int32Array.from(ids instanceof TensorBase ? (ids.data as ArrayLike<number>) : ids, Number);
};

const kPadding = { key_padding_mask: 'key_padding_mask' };

/**
 * A classifier of encoder, pooling and linear layer: ids `[batch, seq]` -> logits `[batch, num_classes]`. Modules: `embedding`, `positions`, `encoder`,
 * `classifier`.
 *
 * @example
 * const model = new nn.SequenceClassifier({ vocab_size: 10, d_model: 8, nhead: 2, num_classes: 3 });
 * model.forward(new Tensor('int32', [1, 2, 3], [1, 3])).shape; // => [1, 3]
 */
export class SequenceClassifier extends Attending {
  constructor(options: Omit<LanguageModelOptions, 'tie_weights'> & { num_classes: number; pooling?: SequencePoolingMode }) {
    super('SequenceClassifier', { ...options });
  }
  /** Returns logits. `src_key_padding_mask`, the encoder's name for it, means the same as `key_padding_mask`. */
  override forward(ids: TensorBase, options: ClassifierForward & { need_weights: true }): Weighed;
  override forward(ids: TensorBase, options?: ClassifierForward): F32;
  override forward(ids: TensorBase, options: ClassifierForward = {}): F32 | Weighed {
    options = readOptions('nn.SequenceClassifier', options, kClassifier);
    const { src_key_padding_mask, ...others } = options;
    const rest = ownCopy(others);
    if (src_key_padding_mask && rest.key_padding_mask) {
      throw new InputError("nn.SequenceClassifier: expected 'key_padding_mask' or 'src_key_padding_mask', found both");
    }
    const key_padding_mask = rest.key_padding_mask ?? src_key_padding_mask;
    return this.attend({ input: ids }, { ...rest, key_padding_mask }, kClassifier, kPadding);
  }
}
type ClassifierForward = Pick<AttendOptions, 'key_padding_mask' | 'need_weights' | 'average_attn_weights'> &
  Pick<EncoderForward, 'src_key_padding_mask'>;
const kClassifier = ['key_padding_mask', 'src_key_padding_mask', 'need_weights', 'average_attn_weights'];

/**
 * A decoder without an encoder, like GPT: ids `[batch, seq]` -> logits of each next token, `[batch, seq, vocab_size]`. Modules: `embedding`,
 * `positions`, `decoder.layers.0`, .., `decoder.norm`, `head`.
 *
 * @example
 * const model = new nn.LanguageModel({ vocab_size: 10, d_model: 8, nhead: 2 });
 * model.generate([2], { max_new_tokens: 4 }).length; // => 5
 */
export class LanguageModel extends Attending {
  constructor(options: LanguageModelOptions) {
    super('LanguageModel', { ...options });
  }
  /** With `need_weights`: returns logits and attention weights. */
  override forward(ids: TensorBase, options: Omit<AttendOptions, 'is_causal'> & { need_weights: true }): Weighed;
  /** Returns the logits of the next token at each position, `[batch, seq, vocab_size]`. */
  override forward(ids: TensorBase, options?: Omit<AttendOptions, 'is_causal'>): F32;
  override forward(ids: TensorBase, options: Omit<AttendOptions, 'is_causal'> = {}): F32 | Weighed {
    const known = kAttend.filter((name) => name !== 'is_causal'); // it is always causal
    return this.attend({ input: ids }, options, known);
  }
  /** Generates text with a key-value cache and returns prompt and continuation. Greedy search, sampling or beam search. */
  generate(prompt: TensorBase | readonly number[], options: GenerateOptions = {}): number[] {
    return [...this.generateIds(toIds(prompt), null, { ...options })];
  }
}

/**
 * An encoder-decoder: source ids and target ids -> logits `[batch, tgt, tgt_vocab_size]`. Modules: `src_embedding`, `tgt_embedding`, `positions`,
 * `transformer`, `head`.
 *
 * @example
 * const model = new nn.EncoderDecoder({ src_vocab_size: 10, d_model: 8, nhead: 2 });
 * model.generate(new Tensor('int32', [1, 2, 3], [1, 3]), [2], { max_new_tokens: 4 }).length; // => 5
 */
export class EncoderDecoder extends Attending {
  constructor(
    options: Omit<LanguageModelOptions, 'vocab_size' | 'num_layers' | 'final_norm'> & {
      src_vocab_size: number;
      /** Size of the target vocabulary. Default: `src_vocab_size`. */
      tgt_vocab_size?: number;
      num_encoder_layers?: number;
      num_decoder_layers?: number;
    },
  ) {
    super('EncoderDecoder', { ...options });
  }
  /** Returns logits. The source's mask applies to the encoder and to cross-attention. */
  override forward(src: TensorBase, tgt: TensorBase, options: EncoderDecoderForward & { need_weights: true }): Weighed;
  override forward(src: TensorBase, tgt: TensorBase, options?: EncoderDecoderForward): F32;
  override forward(src: TensorBase, tgt: TensorBase, options: EncoderDecoderForward = {}): F32 | Weighed {
    return this.attend({ input: tgt, key: src }, options, [...Object.values(kBothMasks), ...kBothWeights], kBothMasks);
  }
  /** Generates the target for `src [1, seq]`. `prompt` is the beginning of the target, at least its start token. */
  generate(src: TensorBase, prompt: TensorBase | readonly number[], options: GenerateOptions = {}): number[] {
    return [...this.generateIds(toIds(prompt), src, { ...options })];
  }
}
type EncoderDecoderForward = Pick<EncoderForward, 'src_key_padding_mask'> &
  Pick<DecoderForward, 'tgt_key_padding_mask' | 'tgt_mask' | 'need_weights' | 'average_attn_weights'>;
const kBothMasks = {
  memory_key_padding_mask: 'src_key_padding_mask',
  key_padding_mask: 'tgt_key_padding_mask',
  attn_mask: 'tgt_mask',
};
const kBothWeights = kWeights.filter((name) => name !== 'cache');
