// Public types of vectors and attention maps.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';

/** One vector: numbers, or a Tensor `[dim]` or `[1, dim]`. */
export type Vector = readonly number[] | Float32Array | Float64Array | TensorBase;

/** Several vectors: rows, or a Tensor `[n, dim]`. */
export type Vectors = readonly Vector[] | TensorBase;

/** Options of `semantic_search`. */
export interface SearchOptions {
  /** Maximum hits per query. Default 10. */
  top_k?: number;
  /** The similarity function; larger is more similar. Default `cos_sim`. */
  score_function?: (query: Float64Array, entry: Float64Array) => number;
}

/** One result of `semantic_search`. */
export interface SearchHit {
  /** Row of the corpus. */
  corpus_id: number;
  /** The similarity of query and row: a cosine, from -1 to 1, by default. */
  score: number;
}

/** Options of `quantize_embeddings`. */
export interface QuantizeOptions {
  /** Minimum and maximum of each component, `[2][dim]`. */
  ranges?: readonly ArrayLike<number>[];
  /** Embeddings to take the ranges from. Default: the embeddings themselves. */
  calibration_embeddings?: TensorBase<'float32'>;
}

/** The input of BertViz. */
export interface BertvizData {
  /** One view each. `attn`: `[layers][heads][left_text][right_text]`. `name`: `'Encoder'`, `'Decoder'` or `'Cross'` for encoder-decoders. */
  attention: { name: string | null; attn: number[][][][]; left_text: string[]; right_text: string[] }[];
  /** The view that BertViz shows first: `'all'`, or the `name` of an attention. */
  default_filter: string;
  /** Indices of the layers to show. */
  include_layers: number[];
  /** Indices of the heads to show. */
  include_heads: number[];
  /** Number of heads per layer. */
  total_heads: number;
}

/** The tokens of one row of an encoder-decoder. */
export interface BertvizTokens {
  /** The source's tokens, for the encoder. */
  encoder_tokens?: readonly string[];
  /** The target's tokens, for the decoder. */
  decoder_tokens?: readonly string[];
}

/** The attentions in an encoder-decoder's output (`Seq2SeqOutput`). */
export interface Seq2SeqAttentions {
  /** One tensor per layer: `[batch, heads, source, source]`. */
  encoder_attentions?: Tensor<'float32'>[];
  /** One tensor per layer: `[batch, heads, target, target]`. */
  decoder_attentions?: Tensor<'float32'>[];
  /** One tensor per layer: `[batch, heads, target, source]`. */
  cross_attentions?: Tensor<'float32'>[];
}

/** The contribution of each input token to each of the decoder's output tokens. Rows of both tensors together sum to 1. */
export interface CrossRollout {
  /** Contributions of the decoder's tokens, `[batch, target, target]`. */
  target: Tensor<'float32'>;
  /** Contributions of the source's tokens, `[batch, target, source]`. */
  source: Tensor<'float32'>;
}

/** Facts about each text. */
export interface TextCounts {
  /** Number of tokens processed per text, `[texts]`, in all windows, including special tokens and the prompt. */
  tokens: Int32Array;
  /** Whether each text was truncated, `[texts]`. */
  truncated: boolean[];
  /**
   * The fraction of each text's tokens, from 0 to 1, that are not in the vocabulary, `[texts]`. The higher it is, the less an embedding means: texts in
   * a script that the model never saw all look the same.
   */
  unknown: number[];
  /** Number of windows per text, `[texts]`; 1 without `on_overflow: 'window'`. */
  windows: Int32Array;
}

/** Quantised embeddings, one byte or one bit per component, with facts about their texts. */
export type QuantizedEmbeddings = Tensor<'int8' | 'uint8'> & TextCounts;

/**
 * Embeddings with facts about their texts. Pooled: `[texts, dim]`, or `[windows, dim]` with `windows: 'each'`. With `pooling: 'none'`: `[texts, longest,
 * hidden]`, padded with zeros.
 */
export interface Embeddings extends Tensor<'float32'>, TextCounts {}

/** A label and its score. */
export interface LabelScore {
  /** The label's name, from config.json or from the examples that a classifier learned. */
  label: string;
  /** The score, from 0 to 1, unless you requested raw logits. */
  score: number;
}
