// Whole small models over token ids, and generation.
import { InputError } from '../core/errors.js';
import { Native, type KeyValueCache } from './module.js';
import type { AttendOptions, Drawn, PositionKind } from './modules.js';
import type { EncoderForward, TransformerLayerOptions } from './transformers.js';
import type { SequencePoolingMode } from './functional.js';
import { toMask } from '../host/nn_seam.js';
import { Tensor } from '../core/tensor.js';

type F32 = Tensor<'float32'>;

export interface LanguageModelOptions extends Drawn, TransformerLayerOptions {
  vocab_size: number;
  /** Default 2. `dim_feedforward` is 4 d_model by default here. */
  num_layers?: number;
  /** Longest sequence; default 512. */
  max_len?: number;
  /** Default learned. */
  positions?: PositionKind;
  /** A norm after the last layer; default: with norm_first. */
  final_norm?: boolean;
  /** The output head is the embedding's matrix; default true. */
  tie_weights?: boolean;
  /** Embeddings times sqrt(d_model). */
  scale_embedding?: boolean;
}

/** Names, meanings and defaults of transformers' `generate()`. */
export interface GenerateOptions {
  /** Default 20. */
  max_new_tokens?: number;
  /** No end before so many tokens. */
  min_new_tokens?: number;
  /** Draw each token; default false: the likeliest. */
  do_sample?: boolean;
  temperature?: number;
  /** Default 50; 0: all. */
  top_k?: number;
  top_p?: number;
  /** Leaves out tokens below this share of the likeliest one's probability. */
  min_p?: number;
  /** Above 1: tokens that occur already become less likely. */
  repetition_penalty?: number;
  /** No sequence of so many tokens comes twice. */
  no_repeat_ngram_size?: number;
  /** The first new token after a prompt of one token. */
  forced_bos_token_id?: number;
  /** The last token when max_new_tokens is reached. */
  forced_eos_token_id?: number;
  /** At most 64. */
  num_beams?: number;
  /** Beams are compared by log-probability / length^length_penalty; default 1. */
  length_penalty?: number;
  /** Stop as soon as num_beams sequences ended. */
  early_stopping?: boolean;
  /** One or several tokens that end a sequence. */
  eos_token_id?: number | readonly number[];
  /** false computes every step from the beginning; the answer is the same. */
  use_cache?: boolean;
  seed?: number;
}

const toIds = (ids: Tensor | readonly number[]): Int32Array => {
  if (ids instanceof Tensor && ids.dims.length === 2 && ids.dims[0] !== 1) {
    throw new InputError(`nn.generate: expected one prompt, [seq] or [1, seq], found dims [${ids.dims}]`);
  }
  return Int32Array.from(ids instanceof Tensor ? (ids.data as ArrayLike<number>) : ids, Number);
};

/** Encoder, pooling, linear: ids `[batch, seq]` -> logits `[batch, num_classes]`. `embedding`, `positions`, `encoder`, `classifier`. */
export class SequenceClassifier extends Native {
  constructor(options: Omit<LanguageModelOptions, 'tie_weights'> & { num_classes: number; pooling?: SequencePoolingMode }) {
    super('SequenceClassifier', { ...options });
  }
  override forward(ids: Tensor, { key_padding_mask }: Pick<AttendOptions, 'key_padding_mask'> = {}): F32 {
    return this.run({ tensors: { input: ids, key_padding_mask: toMask(key_padding_mask, false) } }).output;
  }
}

/**
 * A decoder without memory (as GPT): ids `[batch, seq]` -> logits `[batch, seq, vocab_size]`, each of what follows. `embedding`,
 * `positions`, `decoder.layers.0`, .., `decoder.norm`, `head`.
 */
export class LanguageModel extends Native {
  constructor(options: LanguageModelOptions) {
    super('LanguageModel', { ...options });
  }
  override forward(ids: Tensor, { cache }: { cache?: KeyValueCache | null } = {}): F32 {
    return this.run({ tensors: { input: ids }, cache }).output;
  }
  /** Prompt and continuation, one token at a time with a key-value cache: greedy, drawn, or by beams. */
  generate(prompt: Tensor | readonly number[], options: GenerateOptions = {}): number[] {
    return [...this.generateIds(toIds(prompt), null, { ...options })];
  }
}

/** Source ids and target ids -> logits `[batch, tgt, tgt_vocab_size]`. `src_embedding`, `tgt_embedding`, `positions`, `transformer`, `head`. */
export class EncoderDecoder extends Native {
  constructor(
    options: Omit<LanguageModelOptions, 'vocab_size' | 'num_layers' | 'final_norm'> & {
      src_vocab_size: number;
      /** Default: src_vocab_size. */
      tgt_vocab_size?: number;
      num_encoder_layers?: number;
      num_decoder_layers?: number;
    },
  ) {
    super('EncoderDecoder', { ...options });
  }
  override forward(src: Tensor, tgt: Tensor, { src_key_padding_mask }: Pick<EncoderForward, 'src_key_padding_mask'> = {}): F32 {
    const memory_key_padding_mask = toMask(src_key_padding_mask, false);
    return this.run({ tensors: { input: tgt, key: src, memory_key_padding_mask } }).output;
  }
  /** `src [1, seq]`; prompt: how the target begins, at least its start token. */
  generate(src: Tensor, prompt: Tensor | readonly number[], options: GenerateOptions = {}): number[] {
    return [...this.generateIds(toIds(prompt), src, { ...options })];
  }
}
