// Public types of vectors and of attention maps.
import type { Tensor } from '../core/tensor.js';

/** One vector: numbers, or a Tensor `[dim]` or `[1, dim]`. */
export type Vector = readonly number[] | Float32Array | Float64Array | Tensor;

/** Several vectors: rows, or a Tensor `[n, dim]`. */
export type Vectors = readonly Vector[] | Tensor;

export interface SearchOptions {
  /** Hits per query, at most. Default 10. */
  top_k?: number;
  /** Greater is nearer. Default `cos_sim`. */
  score_function?: (query: Float64Array, entry: Float64Array) => number;
}

export interface SearchHit {
  /** Row of the corpus. */
  corpus_id: number;
  score: number;
}

export interface QuantizeOptions {
  /** Least and most of each component, `[2][dim]`. */
  ranges?: readonly ArrayLike<number>[];
  /** Embeddings to find them in. Default: those that are quantised. */
  calibration_embeddings?: Tensor<'float32'>;
}

/** What BertViz draws. */
export interface BertvizData {
  /** attn: `[layers][heads][left_text][right_text]`. name: of encoder-decoders 'Encoder', 'Decoder', 'Cross'. */
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

/** Of an encoder-decoder's output (`Seq2SeqOutput`) what is needed here. */
export interface Seq2SeqAttentions {
  encoder_attentions?: Tensor<'float32'>[];
  decoder_attentions?: Tensor<'float32'>[];
  cross_attentions?: Tensor<'float32'>[];
}

/** How much of each input token is in each of the decoder's tokens at the end; each row of both together adds up to 1. */
export interface CrossRollout {
  /** `[batch, target, target]`. */
  target: Tensor<'float32'>;
  /** `[batch, target, source]`. */
  source: Tensor<'float32'>;
}

/** Of each text, beside the vectors. */
export interface TextCounts {
  /** `[texts]`: tokens that ran for each text, special ones and the prompt's included; of all its windows. */
  tokens: Int32Array;
  /** `[texts]`: whether the text was longer than that and cut. */
  truncated: boolean[];
  /** `[texts]`: windows that each text ran in; 1 without `on_overflow: 'window'`. */
  windows: Int32Array;
}

export type QuantizedEmbeddings = Tensor<'int8' | 'uint8'> & TextCounts;

/** Pooled: `[texts, dim]`, with `windows: 'each'` `[windows, dim]`. With `pooling: 'none'`: `[texts, longest, hidden]`, zeros behind the shorter texts. */
export interface Embeddings extends Tensor<'float32'>, TextCounts {}

export interface LabelScore {
  label: string;
  score: number;
}
