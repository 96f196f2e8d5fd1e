// Public types of vectors and attention maps.
import type { Tensor } from '../core/tensor.js';

/** One vector: numbers, or a Tensor `[dim]` or `[1, dim]`. */
export type Vector = readonly number[] | Float32Array | Float64Array | Tensor;

/** Several vectors: rows, or a Tensor `[n, dim]`. */
export type Vectors = readonly Vector[] | Tensor;

export interface SearchOptions {
  /** Maximum hits per query. Default 10. */
  top_k?: number;
  /** A similarity; greater is nearer. Default `cos_sim`. */
  score_function?: (query: Float64Array, entry: Float64Array) => number;
}

export interface SearchHit {
  /** Row of the corpus. */
  corpus_id: number;
  score: number;
}

export interface QuantizeOptions {
  /** Minimum and maximum of each component, `[2][dim]`. */
  ranges?: readonly ArrayLike<number>[];
  /** Embeddings to take the ranges from. Default: the embeddings themselves. */
  calibration_embeddings?: Tensor<'float32'>;
}

/** The input of BertViz. */
export interface BertvizData {
  /** attn: `[layers][heads][left_text][right_text]`. name: 'Encoder', 'Decoder' or 'Cross' for encoder-decoders. */
  attention: { name: string | null; attn: number[][][][]; left_text: string[]; right_text: string[] }[];
  default_filter: string;
  include_layers: number[];
  include_heads: number[];
  total_heads: number;
}

/** The tokens of one row of an encoder-decoder. */
export interface BertvizTokens {
  encoder_tokens?: readonly string[];
  decoder_tokens?: readonly string[];
}

/** The attentions in an encoder-decoder's output (`Seq2SeqOutput`). */
export interface Seq2SeqAttentions {
  encoder_attentions?: Tensor<'float32'>[];
  decoder_attentions?: Tensor<'float32'>[];
  cross_attentions?: Tensor<'float32'>[];
}

/** The share of each input token in each of the decoder's output tokens; the rows of both together sum to 1. */
export interface CrossRollout {
  /** `[batch, target, target]`. */
  target: Tensor<'float32'>;
  /** `[batch, target, source]`. */
  source: Tensor<'float32'>;
}

/** Counts for each text. */
export interface TextCounts {
  /** `[texts]`: tokens processed, including special tokens and the prompt, in all windows. */
  tokens: Int32Array;
  /** `[texts]`: whether the text was truncated. */
  truncated: boolean[];
  /**
   * `[texts]`: the share of the text's tokens, from 0 to 1, that the vocabulary does not know. The more there are, the less a vector says:
   * texts in a script that the model never saw are all alike.
   */
  unknown: number[];
  /** `[texts]`: number of windows; 1 without `on_overflow: 'window'`. */
  windows: Int32Array;
}

export type QuantizedEmbeddings = Tensor<'int8' | 'uint8'> & TextCounts;

/** Pooled: `[texts, dim]`, with `windows: 'each'` `[windows, dim]`. With `pooling: 'none'`: `[texts, longest, hidden]`, padded with zeros. */
export interface Embeddings extends Tensor<'float32'>, TextCounts {}

export interface LabelScore {
  label: string;
  score: number;
}
