// Public types of search.
import type { TensorBase } from '../core/tensor_base.js';
import type { AbortSignalLike } from '../core/types.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { LateInteractionPipeline } from '../tasks/retrieval_types.js';
import type { TextRankingPipeline } from '../tasks/task_types.js';
import type { Bm25Options } from './bm25.js';
import type { StemmedLanguage } from './language_names.js';
import type { Analysis } from './words.js';

/** A document of an index. Additional fields are stored with it: anything that JSON can represent. */
export interface IndexDocument {
  /** The document's unique id. Adding another document with this id replaces it. */
  id: string;
  /** The text to search. It may be empty if only the title should be found. */
  text: string;
  /** The title. It is searched together with every chunk of the text. */
  title?: string;
  [field: string]: unknown;
}

/** A function that embeds texts: one vector per text. `kind` says whether they are queries or documents. */
export type EmbedFunction = (
  texts: string[],
  kind: 'query' | 'document',
) => Promise<TensorBase | readonly (Float32Array | readonly number[])[]>;

/** A function that scores texts for a query: one number per text, higher is better. */
export type RerankFunction = (query: string, texts: string[]) => Promise<ArrayLike<number>>;

/** A reranker: a pipeline of one of these tasks, or a function. */
export type Reranker = TextRankingPipeline | LateInteractionPipeline | RerankFunction;

/** A function that splits a text into chunks, given by their offsets: `text.slice(start, end)`. */
export type ChunkFunction = (
  text: string,
) => readonly { start: number; end: number }[] | Promise<readonly { start: number; end: number }[]>;

/** Precision of stored vectors. `'int8'`: one byte per component. `'binary'`: bits find candidates, bytes rank them. `'float32'`: full precision. */
export type IndexPrecision = 'float32' | 'int8' | 'binary';

/**
 * A custom store for an index: a map from keys, which begin with `wattn/`, to bytes. A value must be readable as soon as `put` resolves. `put` must be
 * able to refuse, because that keeps two writers apart.
 *
 *     const values = new Map();
 *     const store = {
 *       list: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
 *       get: async (key) => values.get(key),
 *       put: async (key, bytes, isNew) => (isNew && values.has(key) ? false : !!values.set(key, bytes)),
 *       delete: async (key) => values.delete(key),
 *     };
 *     const index = await Index.open('notes', { store });
 */
export interface IndexStore {
  /** Lists the keys that begin with `prefix`. */
  list(prefix: string): Promise<string[]>;
  /** Reads a value. `undefined` or `null` if there is none. */
  get(key: string): Promise<Uint8Array | ArrayBuffer | null | undefined>;
  /** Stores a value atomically. `isNew`: only if the key does not exist; otherwise returns `false` and changes nothing. */
  put(key: string, bytes: Uint8Array, isNew: boolean): Promise<boolean>;
  /** Deletes a value, if it exists. */
  delete(key: string): Promise<unknown>;
}

/** The part of Cloudflare's `R2Bucket` that an index uses. */
export interface ObjectBucketLike {
  /** Lists objects, page by page. */
  list(options?: any): Promise<{ objects: { key: string }[]; truncated: boolean; cursor?: string }>;
  /** An object with its bytes, or `null`. */
  get(key: string): Promise<any>;
  /** Stores an object; `null` if the condition does not hold. */
  put(key: string, bytes: any, options?: any): Promise<any>;
  /** Deletes an object. */
  delete(key: any): Promise<void>;
  /** Identifies this type of store; not called. */
  createMultipartUpload(key: string): any;
}

/** The part of Cloudflare's `KVNamespace` that an index uses. */
export interface KeyValueLike {
  /** Lists keys, page by page. */
  list(options?: any): Promise<{ keys: { name: string }[]; list_complete: boolean; cursor?: string }>;
  /** A value, or `null`. */
  get(key: any, type: any): Promise<any>;
  /** Stores a value. */
  put(key: string, bytes: any): Promise<void>;
  /** Deletes a value. */
  delete(key: string): Promise<void>;
  /** Identifies this type of store; not called. */
  getWithMetadata(...given: any[]): any;
}

/** The part of Cloudflare's `DurableObjectStorage` that an index uses. */
export interface DurableStorageLike {
  /** Keys that begin with a prefix, with their values. */
  list(options: any): Promise<Map<string, any>>;
  /** The value of a key. */
  get(key: any): Promise<any>;
  /** Stores a value. */
  put(key: any, value: any): Promise<void>;
  /** Deletes a value. */
  delete(key: any): Promise<any>;
  /** Runs a function as one atomic transaction. */
  transaction<T>(run: (within: any) => Promise<T>): Promise<T>;
  /** Identifies this type of store; not called. */
  getAlarm(): Promise<any>;
}

/** A store given as an object: a binding of Cloudflare R2, KV or a Durable Object's storage, or your own. */
export type GivenStore = ObjectBucketLike | DurableStorageLike | KeyValueLike | IndexStore;

/** Options of `Index.open`. */
export interface IndexOptions {
  /** Computes embeddings. Default: none, so the index only supports keyword search. */
  embed?: FeatureExtractionPipeline | EmbedFunction | undefined;
  /**
   * Where the index is stored. `'opfs'`: the origin private file system; `'indexeddb'`; `'memory'`: not stored. In Node: a path, in which the index gets
   * a folder of its name. Or an object: an `IndexStore`, an R2 bucket, a Durable Object's storage, a KV namespace (one writer at a time). Default: in a
   * page `'opfs'` if it is writable, otherwise `'indexeddb'`; in Node the current folder.
   */
  store?: 'opfs' | 'indexeddb' | 'memory' | (string & {}) | GivenStore | undefined;
  /** Precision of stored vectors. Default `'int8'`. An existing index keeps its own. */
  precision?: IndexPrecision | undefined;
  /** Keeps only the first components of each vector (Matryoshka). Default: all. */
  truncate_dim?: number | undefined;
  /**
   * How texts are split into chunks: `max_tokens`, including prompt and title (default 256, at most the model's limit), and `overlap` tokens that
   * adjacent chunks share (default 0). Or a function, or `false` for one chunk per text. Default for an `embed` function: `false`.
   */
  chunk?: { max_tokens?: number; overlap?: number } | ChunkFunction | false | undefined;
  /** How words are compared, see `Analysis`. It may differ each time you open the index. */
  words?: (Omit<Analysis, 'stopwords'> & { stopwords?: Iterable<string> | StemmedLanguage | undefined } & Bm25Options) | undefined;
  /**
   * Compares words by their stems (Snowball algorithms): a language code such as `'en'`; `'auto'`: the language of the first documents, if it has a
   * stemmer; `'none'`: no stemming. Stored with the index. Default: the stored value, otherwise none. `words.stem` takes precedence.
   */
  language?: StemmedLanguage | 'auto' | 'none' | undefined;
  /** The default reranker of searches. */
  rerank?: Reranker | undefined;
  /** The model's name, for messages. Default: its type and size. */
  model?: string | undefined;
  /**
   * What to do if vectors are from another model: `'refuse'` (default; throw an `InputError`) or `'re-embed'`: embed again in the background, see
   * `reembedding`.
   */
  other_model?: 'refuse' | 're-embed' | undefined;
  /** Cancels opening with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Progress of `add`. */
export interface AddProgress {
  /** Documents that are stored and can be found. */
  done: number;
  /** Total number of documents; `undefined` if they come from an iterator. */
  total: number | undefined;
  /** Number of chunks so far, with vectors if the index has any. It also grows while a long document is read. */
  chunks: number;
  /** Estimated time for the rest, in seconds; `undefined` before the first documents are done, or without a total. */
  seconds_left: number | undefined;
}

/** The result of `add`. */
export interface AddResult {
  /** Documents that were new. */
  added: number;
  /** Documents whose text or title changed, so that they were embedded again. */
  updated: number;
  /** Documents of which only other fields, or nothing, changed. */
  unchanged: number;
}

/** Options of `add`. */
export interface AddOptions {
  /** Cancels the work with an `AbortError`. Finished parts remain. */
  signal?: AbortSignalLike | undefined;
}

/** A value that a field is compared with. */
export type FilterValue = string | number | boolean | null;

/** Conditions on a field; all of them must hold. For a field that is a list, the condition applies to its items. */
export interface FilterOperators {
  /** The field equals the value; for a list, one item does. */
  readonly $eq?: FilterValue;
  /** The opposite of `$eq`. Documents without the field match, too. */
  readonly $ne?: FilterValue;
  /** The field equals one of the values; for a list, one item does. */
  readonly $in?: readonly FilterValue[];
  /** The opposite of `$in`. Documents without the field match, too. */
  readonly $nin?: readonly FilterValue[];
  /** The field is greater. Numbers are compared with numbers, strings with strings (by UTF-16 code units, so dates from `toISOString()` compare correctly). */
  readonly $gt?: number | string;
  /** The field is greater or equal. */
  readonly $gte?: number | string;
  /** The field is less. */
  readonly $lt?: number | string;
  /** The field is less or equal. */
  readonly $lte?: number | string;
  /** Whether the document has the field, even if it is `null`. */
  readonly $exists?: boolean;
  /** Negates a condition. Documents without the field match, too. */
  readonly $not?: FilterValue | readonly FilterValue[] | FilterOperators;
}

/**
 * Selects the documents that a search may return: a synchronous function that returns `true` or `false`, or an object of conditions on fields. A
 * condition is a value, a list of allowed values, or operators. All fields must match; `{}` matches all documents. `$and` and `$or` combine filters,
 * `$not` negates one.
 */
export type Filter =
  | ((document: IndexDocument) => boolean)
  | {
      /** All of these filters must match. */
      readonly $and?: readonly Filter[];
      /** One of these filters must match. */
      readonly $or?: readonly Filter[];
      /** This filter must not match. */
      readonly $not?: Filter;
      readonly [field: string]: FilterValue | readonly FilterValue[] | FilterOperators | Filter | readonly Filter[] | undefined;
    };

/** Options of `search`. */
export interface IndexSearchOptions {
  /** Maximum number of hits. Default 10. */
  top_k?: number | undefined;
  /** `'hybrid'` (default with vectors): keyword and semantic search. `'words'`: keyword search. `'meaning'`: semantic search. */
  mode?: 'hybrid' | 'words' | 'meaning' | undefined;
  /**
   * How hybrid search combines both scores. `'coverage'` (default): (coverage + 2 trust cosine) / (1 + 2 trust), from 0 to 1, so you can compare scores
   * of different queries; see `why` of a hit. `'minmax'`: each scaled to 0 to 1, then added; 0 means no common word, or the cosine of the last
   * candidate. `'zscore'`: standard deviations above the mean of all parts, added. `'rrf'`: reciprocal ranks, `1 / (60 + rank)` (Cormack et al. 2009),
   * added.
   */
  fusion?: 'coverage' | 'minmax' | 'zscore' | 'rrf' | undefined;
  /** Weights of the two scores. Default 1 each. */
  weights?: { words?: number; meaning?: number } | undefined;
  /** Only these documents can be found. Default: all. An invalid filter throws an `InputError`. */
  filter?: Filter | undefined;
  /**
   * Leaves out hits with a lower score. A number is compared with `score`. An object is compared with `why`, and a hit stays if it reaches one of the
   * named scores: `{ words: 0.1, meaning: 0.3 }` requires a common word or a cosine of 0.3.
   */
  min_score?: number | { coverage?: number; words?: number; meaning?: number; rank?: number } | undefined;
  /** Reranks the best candidates. Default: the reranker of the index. `false`: none. */
  rerank?: Reranker | false | undefined;
  /** Number of candidates to rerank. Default: 3 times `top_k`, at least 20. */
  rerank_depth?: number | undefined;
  /** `'document'` (default): one hit per document, its best chunk. `'chunk'`: every chunk can be a hit. */
  group_by?: 'document' | 'chunk' | undefined;
  /**
   * Whether the query may use operators: `"a phrase"`, `-word`, `-"a phrase"`, `title:word`, `title:"a phrase"`. `'auto'` (default): in a single line of
   * at most 256 characters; a phrase that no document contains counts as separate words. `'always'`: in any query; such a phrase finds nothing.
   * `'never'`: operators are plain text.
   */
  syntax?: 'auto' | 'always' | 'never' | undefined;
  /** Search as you type: if nothing follows the last word, words that begin with it match, too, but count less than the word itself. Default `false`. */
  prefix?: boolean | undefined;
  /**
   * Tolerates typos: a word that at most one document in a thousand contains also matches similar words, which count less. They differ by one edit for
   * words of 4 to 7 letters, by two for longer ones. An edit inserts, deletes or replaces a letter, or swaps two neighbours. Default `false`.
   */
  fuzzy?: boolean | undefined;
  /**
   * Adds `sentence` to each hit: the sentence of its text that is closest to the query in meaning. The model has to embed the hits' sentences. Default
   * `false`.
   */
  sentences?: boolean | undefined;
  /** Cancels the search with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `suggest`. */
export interface IndexSuggestOptions {
  /** Maximum number of suggestions. Default 5. */
  limit?: number | undefined;
  /** Cancels the work with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** A completion for the text in a search box. */
export interface IndexSuggestion {
  /** The completed text to search for. */
  text: string;
  /** `'word'`: the text with its last word completed; `'title'`: a title that contains all its words. */
  kind: 'word' | 'title';
  /** Number of documents that contain the completed word and the other words; 1 for a title. */
  documents: number;
}

/** A search result. */
export interface IndexHit {
  /** The id of the document. */
  id: string;
  /**
   * The score that orders hits, by default from 0 to 1: with `mode: 'words'` the coverage, with `'meaning'` the cosine. Another `fusion` or `rerank`
   * uses its own scale.
   */
  score: number;
  /**
   * Whether the hit is close to the query: its default score reaches 0.38 (keyword search 0.49, semantic search 0.4). If no hit is close, the index
   * probably has nothing about the query. A short text in other words may still be relevant.
   */
  close: boolean;
  /** The chunk that was found, `document.text.slice(start, end)`. */
  text: string;
  /** Start offset of the chunk in the document's text, in UTF-16 code units. */
  start: number;
  /** End offset of the chunk in the document's text, in UTF-16 code units. */
  end: number;
  /**
   * The headings above the chunk, the outermost first: `['Guide', 'Installation']`. They come from the document's field `headings`, an ordered list of
   * `{ start, level, title }`, or else from Markdown in its text (`## Installation`). Empty if there are none.
   */
  headings: string[];
  /**
   * Scores that explain the hit. `coverage`: how much of the query the document's words cover; rare words count more. It is the BM25 score divided by
   * that of a text of mean length with every word of the query, at most 1. `words`: BM25. `meaning`: cosine. `trust`: from 0 to 1, how well the model
   * reads the query. It is lower if tokens are unknown or words are cut into many pieces, as in a language that the model does not know. `rank`: the
   * reranker's score. `null`: not computed. With `group_by: 'chunk'` they are the chunk's.
   */
  why: {
    coverage: number | null;
    words: number | null;
    meaning: number | null;
    trust: number | null;
    rank: number | null;
  };
  /** Offsets in `text` of the query's words, including words with the same stem, completed prefixes and corrected typos, if the search uses them. */
  highlights: { start: number; end: number }[];
  /** With `sentences: true`: the sentence of `text` that is closest to the query, as offsets in `text` with its cosine. */
  sentence?: { start: number; end: number; score: number };
  /** The document with all its fields. */
  document: IndexDocument;
}

/** A chunk of a document in an index. */
export interface IndexChunk {
  /** The id of the document. */
  id: string;
  /** `document.text.slice(start, end)` */
  text: string;
  /** Start offset in the document's text, in UTF-16 code units. */
  start: number;
  /** End offset in the document's text, in UTF-16 code units. */
  end: number;
  /** A vector of unit length, in the stored precision. `undefined`: the index has no vectors, or the document waits for `reembedding`. */
  vector: Float32Array | undefined;
}

/** Facts about an index. */
export interface IndexInfo {
  /** The name under which the index was opened. */
  name: string;
  /** Where it is stored: `'opfs'`, `'indexeddb'`, `'memory'` or a folder. */
  store: string;
  /** Number of documents. */
  documents: number;
  /** Number of chunks. */
  chunks: number;
  /** Components per vector; 0: keyword search only. */
  dim: number;
  /** Precision of stored vectors. */
  precision: IndexPrecision;
  /** The model of the vectors; `undefined` if there are none yet. */
  model: string | undefined;
  /** The language of the stemmer; `undefined`: none. */
  language: StemmedLanguage | undefined;
  /** Documents that wait for vectors from the current model. */
  stale: number;
  /** Bytes of vectors in memory. */
  memory: number;
  /** Bytes of stored data. */
  stored: number;
}

/** The store for `Index.delete`, `Index.list`, `Index.check` and `Index.repair`. */
export interface IndexStoreOptions {
  /** The store, as for `Index.open`. */
  store?: IndexOptions['store'];
}

/** A stored index. */
export interface IndexListing {
  /** The name under which to open it. */
  name: string;
  /** Where it is stored: `'opfs'`, `'indexeddb'`, a folder, or the type of the given store. */
  store: string;
}

/** A problem in the store of an index. */
export interface IndexProblem {
  /** The file's name; `undefined` if a file is missing. */
  file: string | undefined;
  /**
   * `'damaged'`: its bytes changed after they were written. `'missing'`: it was stored and is gone. `'foreign'`: it belongs to another index. These
   * three may mean lost data. `'unfinished'`: a write that was interrupted and never reported as done. `'left over'`: a leftover of an interrupted
   * writer.
   */
  state: 'damaged' | 'missing' | 'foreign' | 'unfinished' | 'left over';
  /** Description of the problem. */
  what: string;
  /** Documents of a damaged segment that cannot be read, and how many it has. `undefined` if unknown. */
  lost?: { documents: number; of: number } | undefined;
}

/** The result of `Index.check`. */
export interface IndexCheck extends IndexListing {
  /** Whether all stored data is intact. */
  sound: boolean;
  /** Documents that can be read. */
  documents: number;
  /** Number of files with documents. */
  segments: number;
  /** All problems, including harmless ones. */
  problems: IndexProblem[];
}

/** The result of `Index.repair`. */
export interface IndexRepair extends IndexListing {
  /** Number of documents that the index has now. */
  documents: number;
  /** What was lost; empty if nothing had to be repaired. It may include deletions, so deleted documents may reappear. */
  lost: IndexProblem[];
}
