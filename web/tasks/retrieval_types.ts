// Public types of late interaction and sparse vectors.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { LoadedPipeline, TaskTextOptions } from '../engine/types.js';

interface PromptedOptions extends TaskTextOptions {
  /** Prefix of every text. Default: that of the model's files. An `InputError` with `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's prompts (`info().prompts`). An unknown name is an `InputError`. */
  prompt_name?: string;
}

/** `max_length` counts the prefix token too, and is the length to which queries are expanded. Default: the model's own. */
export interface TokenVectorsOptions extends PromptedOptions {}

/** `[vectors, dim]`: one vector of unit length for each token, but none for those that the model skips (punctuation of documents). */
export interface TokenVectors extends Tensor<'float32'> {
  /** `[vectors]` the tokens' ids. */
  ids: Int32Array;
  /** `[vectors, 2]` their places in the text, for `text.slice(start, end)`; 0, 0 for special tokens and mask tokens of a query. */
  offsets: Int32Array;
  /** Tokens of the text with special ones, without the mask tokens of a query. */
  tokens: number;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The share of the text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number;
  /** The vector of the whole text, which bge-m3 and its kin give, at length 1, from the same pass. */
  dense?: Float32Array;
  /** The weights of its tokens, which the same models give, from the same pass. */
  sparse?: SparseVector;
}

/** With a cross-encoder, its facts are of query and document together. */
export interface RankedDocument {
  /** Index of the document. */
  corpus_id: number;
  /** How well the document answers; higher is better. Its scale depends on the model. */
  score: number;
  /** The document, with `return_documents: true`. */
  text?: string;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The share of the text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number;
}

/** `max_length` and `on_overflow` are of documents. */
export interface LateInteractionRankOptions extends TaskTextOptions {
  /** Number of documents, best first; `null` (default): all. */
  top_k?: number | null;
  /** Adds `text` to documents that were given as text. Default `false`. */
  return_documents?: boolean;
}

interface EncodeTokens {
  (text: string, options?: TokenVectorsOptions): Promise<TokenVectors>;
  (texts: readonly string[], options?: TokenVectorsOptions): Promise<TokenVectors[]>;
}

/**
 * ColBERT, as PyLate, sentence-transformers or the original code save it. Called, it ranks documents for a query; each is a text, or its
 * vectors if it was encoded before.
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
  /** The vectors of queries, with the query prefix and expanded by mask tokens if the model asks for it. */
  encode_query: EncodeTokens;
  /** The vectors of documents, with the document prefix and without what the model skips. */
  encode_document: EncodeTokens;
  /**
   * The sum over the query's vectors of the largest product with a vector of the document; 0 for a document without vectors. With bge-m3 the mean, as in
   * FlagEmbedding's `colbert_score`.
   */
  max_sim(query: TensorBase, document: TensorBase): number;
  /** The same for several documents: a number for each. */
  max_sim(query: TensorBase, documents: readonly TensorBase[]): number[];
  /** The task's name. */
  readonly task: 'late-interaction';
}

/** Options of a `sparse-encoding` pipeline's call. */
export interface SparseEncodingOptions extends PromptedOptions {
  /** Keeps the largest weights of a text. Default: the model's own, else all. */
  max_active_dims?: number;
}

/** Words with a weight other than 0. */
export interface SparseVector {
  /** Ids of words in the vocabulary, rising. */
  indices: Int32Array;
  /** The weights of the words in `indices`. */
  values: Float32Array;
  /** Tokens of the text, special ones included. */
  tokens: number;
  /** Whether the text was truncated. */
  truncated: boolean;
  /** The share of the text's tokens, from 0 to 1, that the vocabulary does not know. */
  unknown: number;
}

/** A word (a token of the vocabulary, which may be a part of one) and its weight. */
export interface WeightedWord {
  /** The word, or the part of one. */
  word: string;
  /** The word's number in the vocabulary. */
  id: number;
  /** How much the text is about it; more than 0. */
  weight: number;
}

interface EncodeSparse {
  (text: string, options?: SparseEncodingOptions): Promise<SparseVector>;
  (texts: readonly string[], options?: SparseEncodingOptions): Promise<SparseVector[]>;
}

/** A sparse vector without its size: the ids of words in ascending order, and their weights. */
export type Sparse = Pick<SparseVector, 'indices' | 'values'>;

/**
 * SPLADE, as sentence-transformers' `SparseEncoder` saves it.
 *
 *     const encode = await pipeline('sparse-encoding', 'naver/splade-v3');
 *     const query = await encode.encode_query('Who sings?');
 *     console.log(await encode.decode(query, { top_k: 5 })); // [{ word: 'sing', id: 6170, weight: 2.1 }, ..]
 *     const scores = await encode.similarity(query, await encode.encode_document(texts)); // Tensor [1, texts]
 */
export interface SparseEncodingPipeline extends LoadedPipeline, EncodeSparse {
  /** With the model's prompt for queries. In models that encode queries without a network, by a weight for each word. */
  encode_query: EncodeSparse;
  /** With the model's prompt for documents. */
  encode_document: EncodeSparse;
  /** The words of a vector, the heaviest first. top_k: at most so many; default all. */
  decode(vector: Sparse, options?: { top_k?: number | null }): Promise<WeightedWord[]>;
  /** The same for several vectors: a list for each. */
  decode(vectors: readonly Sparse[], options?: { top_k?: number | null }): Promise<WeightedWord[][]>;
  /** The product of every one of the first with every one of the second, or their cosine if the model's files say so: `[first, second]`. */
  similarity(first: Sparse | readonly Sparse[], second: Sparse | readonly Sparse[]): Promise<Tensor<'float32'>>;
  /** The task's name. */
  readonly task: 'sparse-encoding';
}
