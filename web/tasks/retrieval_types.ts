// Public types of late interaction and sparse vectors.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { LoadedPipeline, TaskTextOptions } from '../engine/types.js';

interface PromptedOptions extends TaskTextOptions {
  /** Text to put before every text. Default: the model's own. Throws an `InputError` together with `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's prompts (`info().prompts`). An unknown name throws an `InputError`. */
  prompt_name?: string;
}

/**
 * Options of `encode_query` and `encode_document`. `max_length` includes the prefix token and is the length to which queries are expanded. Default: the
 * model's own.
 */
export interface TokenVectorsOptions extends PromptedOptions {}

/** `[vectors, dim]`: one unit-length vector per token, except tokens that the model skips (punctuation in documents). */
export interface TokenVectors extends Tensor<'float32'> {
  /** Token ids, `[vectors]`. */
  ids: Int32Array;
  /** Offsets in the text, `[vectors, 2]`, for `text.slice(start, end)`; 0, 0 for special tokens and for a query's mask tokens. */
  offsets: Int32Array;
  /** Number of tokens of the text, including special tokens but not a query's mask tokens. */
  tokens: number;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The fraction of the text's tokens, from 0 to 1, that are not in the vocabulary. */
  unknown: number;
  /** The unit-length embedding of the whole text, from the same pass. Only for bge-m3 and similar models. */
  dense?: Float32Array;
  /** The weights of the text's tokens, from the same pass. Only for bge-m3 and similar models. */
  sparse?: SparseVector;
}

/** A document with its score. With a cross-encoder, `truncated` and `unknown` refer to query and document together. */
export interface RankedDocument {
  /** Index of the document. */
  corpus_id: number;
  /** How relevant the document is; higher is better. The scale depends on the model. */
  score: number;
  /** The document, with `return_documents: true`. */
  text?: string;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The fraction of the text's tokens, from 0 to 1, that are not in the vocabulary. */
  unknown: number;
}

/** Options of ranking. `max_length` and `on_overflow` apply to documents. */
export interface LateInteractionRankOptions extends TaskTextOptions {
  /** Number of documents to return, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text` to documents that were passed as text. Default `false`. */
  return_documents?: boolean;
}

interface EncodeTokens {
  (text: string, options?: TokenVectorsOptions): Promise<TokenVectors>;
  (texts: readonly string[], options?: TokenVectorsOptions): Promise<TokenVectors[]>;
}

/**
 * The result of `pipeline('late-interaction')`: ColBERT, as saved by PyLate, sentence-transformers or the original code. Call it to rank documents for a
 * query. A document is a text, or its vectors from `encode_document`.
 *
 *     const colbert = await pipeline('late-interaction', 'lightonai/GTE-ModernColBERT-v1');
 *     const documents = await colbert.encode_document(texts);
 *     const [best] = await colbert('Who sings?', documents);
 *     console.log(texts[best.corpus_id], best.score);
 */
export interface LateInteractionPipeline extends LoadedPipeline {
  (
    query: string | TokenVectors,
    documents: readonly (string | TokenVectors)[],
    options?: LateInteractionRankOptions,
  ): Promise<RankedDocument[]>;
  /** Encodes queries, with the query prefix, expanded by mask tokens if the model requires it. */
  encode_query: EncodeTokens;
  /** Encodes documents, with the document prefix and without the tokens that the model skips. */
  encode_document: EncodeTokens;
  /**
   * For each query vector, the largest dot product with a document vector, summed up; 0 for a document without vectors. With bge-m3 the mean, as in
   * FlagEmbedding's `colbert_score`.
   */
  max_sim(query: TensorBase, document: TensorBase): number;
  /** One score for each of several documents. */
  max_sim(query: TensorBase, documents: readonly TensorBase[]): number[];
  /** The task's name. */
  readonly task: 'late-interaction';
}

/** Options of a call of a `sparse-encoding` pipeline. */
export interface SparseEncodingOptions extends PromptedOptions {
  /** Keeps only this many of the largest weights of a text. Default: the model's own limit, else all. */
  max_active_dims?: number;
}

/** A sparse embedding: words with non-zero weights. */
export interface SparseVector {
  /** Ids of the words in the vocabulary, ascending. */
  indices: Int32Array;
  /** The weights of the words in `indices`. */
  values: Float32Array;
  /** Number of tokens of the text, including special tokens. */
  tokens: number;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The fraction of the text's tokens, from 0 to 1, that are not in the vocabulary. */
  unknown: number;
}

/** A word with its weight. The word is a vocabulary token, which may be part of a word. */
export interface WeightedWord {
  /** The word, or a part of one. */
  word: string;
  /** The word's id in the vocabulary. */
  id: number;
  /** The weight, above 0: how relevant the word is for the text. */
  weight: number;
}

interface EncodeSparse {
  (text: string, options?: SparseEncodingOptions): Promise<SparseVector>;
  (texts: readonly string[], options?: SparseEncodingOptions): Promise<SparseVector[]>;
}

/** A sparse embedding without its size: word ids in ascending order, and their weights. */
export type Sparse = Pick<SparseVector, 'indices' | 'values'>;

/**
 * The result of `pipeline('sparse-encoding')`: SPLADE, as saved by sentence-transformers' `SparseEncoder`.
 *
 *     const encode = await pipeline('sparse-encoding', 'naver/splade-v3');
 *     const query = await encode.encode_query('Who sings?');
 *     console.log(await encode.decode(query, { top_k: 5 })); // [{ word: 'sing', id: 6170, weight: 2.1 }, ..]
 *     const scores = await encode.similarity(query, await encode.encode_document(texts)); // Tensor [1, texts]
 */
export interface SparseEncodingPipeline extends LoadedPipeline, EncodeSparse {
  /** Encodes queries, with the model's prompt for queries. Some models encode queries without a network, by a weight per word. */
  encode_query: EncodeSparse;
  /** Encodes documents, with the model's prompt for documents. */
  encode_document: EncodeSparse;
  /** The words of a vector, highest weight first. `top_k`: maximum number of words; default: all. */
  decode(vector: Sparse, options?: { top_k?: number | null }): Promise<WeightedWord[]>;
  /** The words of several vectors: one list per vector. */
  decode(vectors: readonly Sparse[], options?: { top_k?: number | null }): Promise<WeightedWord[][]>;
  /** Dot products of every `first` with every `second`, or their cosines if the model's files say so: `[first, second]`. */
  similarity(first: Sparse | readonly Sparse[], second: Sparse | readonly Sparse[]): Promise<Tensor<'float32'>>;
  /** The task's name. */
  readonly task: 'sparse-encoding';
}
