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
  /** A similarity; greater is nearer. Default `cos_sim`. */
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
  /** attn: `[layers][heads][left_text][right_text]`. name: 'Encoder', 'Decoder' or 'Cross' for encoder-decoders. */
  attention: { name: string | null; attn: number[][][][]; left_text: string[]; right_text: string[] }[];
  /** What BertViz shows first: `'all'`, or the `name` of an attention. */
  default_filter: string;
  /** Numbers of the layers that BertViz shows. */
  include_layers: number[];
  /** Numbers of the heads that BertViz shows. */
  include_heads: number[];
  /** How many heads each layer has. */
  total_heads: number;
}

/** The tokens of one row of an encoder-decoder. */
export interface BertvizTokens {
  /** The source's tokens, which the encoder read. */
  encoder_tokens?: readonly string[];
  /** The target's tokens, which the decoder read. */
  decoder_tokens?: readonly string[];
}

/** The attentions in an encoder-decoder's output (`Seq2SeqOutput`). */
export interface Seq2SeqAttentions {
  /** One of each layer: `[batch, heads, source, source]`. */
  encoder_attentions?: Tensor<'float32'>[];
  /** One of each layer: `[batch, heads, target, target]`. */
  decoder_attentions?: Tensor<'float32'>[];
  /** One of each layer: `[batch, heads, target, source]`. */
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

/** Embeddings whose numbers are a byte each, or a bit, with the counts of their texts. */
export type QuantizedEmbeddings = Tensor<'int8' | 'uint8'> & TextCounts;

/** Pooled: `[texts, dim]`, with `windows: 'each'` `[windows, dim]`. With `pooling: 'none'`: `[texts, longest, hidden]`, padded with zeros. */
export interface Embeddings extends Tensor<'float32'>, TextCounts {}

/** A label and its score. */
export interface LabelScore {
  /** The label's name, from config.json or from the examples that a classifier learned. */
  label: string;
  /** From 0 to 1, unless raw logits were asked for. */
  score: number;
}
