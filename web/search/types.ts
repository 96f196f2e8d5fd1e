// Public types of search.
import type { TensorBase } from '../core/tensor_base.js';
import type { AbortSignalLike } from '../core/types.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { LateInteractionPipeline } from '../tasks/retrieval_types.js';
import type { TextRankingPipeline } from '../tasks/task_types.js';
import type { Bm25Options } from './bm25.js';
import type { StemmedLanguage } from './language_names.js';
import type { Analysis } from './words.js';

/** A document of an index. Further fields are kept with it: strings, numbers, anything that JSON can hold. */
export interface IndexDocument {
  /** The document's name in the index: adding another document with this id replaces it. */
  id: string;
  /** What is searched. It may be empty: then the title is found, or nothing. */
  text: string;
  /** Searched with every part of the text. */
  title?: string;
  [field: string]: unknown;
}

/** A function that embeds: one vector for each text. kind: what the texts are. */
export type EmbedFunction = (
  texts: string[],
  kind: 'query' | 'document',
) => Promise<TensorBase | readonly (Float32Array | readonly number[])[]>;

/** A function that judges: one score for each text, higher is better. */
export type RerankFunction = (query: string, texts: string[]) => Promise<ArrayLike<number>>;

/** What judges the best candidates: a pipeline of one of these tasks, or a function. */
export type Reranker = TextRankingPipeline | LateInteractionPipeline | RerankFunction;

/** The parts of a text by their places, `text.slice(start, end)`. */
export type ChunkFunction = (
  text: string,
) => readonly { start: number; end: number }[] | Promise<readonly { start: number; end: number }[]>;

/** How much of a vector is kept. `'int8'`: a byte a number. `'binary'`: bits find candidates, bytes rank them. `'float32'`: all. */
export type IndexPrecision = 'float32' | 'int8' | 'binary';

/**
 * A store of your own for an index: values by their keys, which begin with `wattn/`. A value must be readable as soon as `put` is done, and `put` must be
 * able to refuse: that is what keeps two writers apart.
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
  /** The keys that begin with `prefix`. */
  list(prefix: string): Promise<string[]>;
  /** A value. `undefined` or `null`: there is none. */
  get(key: string): Promise<Uint8Array | ArrayBuffer | null | undefined>;
  /** Stores a value, whole or not at all. isNew: only if there is none. `false`: there is one, and nothing was changed. */
  put(key: string, bytes: Uint8Array, isNew: boolean): Promise<boolean>;
  /** Removes a value, if it is there. */
  delete(key: string): Promise<unknown>;
}

/** The part of Cloudflare's `R2Bucket` that an index uses. */
export interface ObjectBucketLike {
  /** A page of the keys of objects. */
  list(options?: any): Promise<{ objects: { key: string }[]; truncated: boolean; cursor?: string }>;
  /** An object with its bytes, or `null`. */
  get(key: string): Promise<any>;
  /** Stores an object; `null` if the condition does not hold. */
  put(key: string, bytes: any, options?: any): Promise<any>;
  /** Removes an object. */
  delete(key: any): Promise<void>;
  /** Tells it from other stores; not called. */
  createMultipartUpload(key: string): any;
}

/** The part of Cloudflare's `KVNamespace` that an index uses. */
export interface KeyValueLike {
  /** A page of keys. */
  list(options?: any): Promise<{ keys: { name: string }[]; list_complete: boolean; cursor?: string }>;
  /** A value, or `null`. */
  get(key: any, type: any): Promise<any>;
  /** Stores a value. */
  put(key: string, bytes: any): Promise<void>;
  /** Removes a value. */
  delete(key: string): Promise<void>;
  /** Tells it from other stores; not called. */
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
  /** Removes a value. */
  delete(key: any): Promise<any>;
  /** Runs what happens whole or not at all. */
  transaction<T>(run: (within: any) => Promise<T>): Promise<T>;
  /** Tells it from other stores; not called. */
  getAlarm(): Promise<any>;
}

/** A store that a program gives: Cloudflare's R2, a Durable Object's storage or KV, as they are bound, or one of its own. */
export type GivenStore = ObjectBucketLike | DurableStorageLike | KeyValueLike | IndexStore;

/** Options of `Index.open`. */
export interface IndexOptions {
  /** Makes vectors. Default: none, then the index knows words alone. */
  embed?: FeatureExtractionPipeline | EmbedFunction | undefined;
  /**
   * Where the index is kept. `'opfs'`: the origin's private files; `'indexeddb'`; `'memory'`: nowhere. In Node a folder's path, in which the index
   * gets a folder of its name. Or a store as an object: `IndexStore`, an R2 bucket, a Durable Object's storage, a KV namespace (one writer at a time).
   * Default: in a page `'opfs'` if it can be written there, else `'indexeddb'`; in Node the current folder.
   */
  store?: 'opfs' | 'indexeddb' | 'memory' | (string & {}) | GivenStore | undefined;
  /** Default `'int8'`. An index that exists keeps its own. */
  precision?: IndexPrecision | undefined;
  /** Keeps the first numbers of each vector (Matryoshka embeddings). Default: all. */
  truncate_dim?: number | undefined;
  /**
   * How texts are divided: `max_tokens` with the prompt and title (default 256, at most the model's own), and `overlap` tokens that neighbours share
   * (default 0). Or a function, or `false`: not at all. Default for an `embed` function: `false`.
   */
  chunk?: { max_tokens?: number; overlap?: number } | ChunkFunction | false | undefined;
  /** How words are compared; see `Analysis`. It may change from one time to the next. */
  words?: (Omit<Analysis, 'stopwords'> & { stopwords?: Iterable<string> | StemmedLanguage | undefined } & Bm25Options) | undefined;
  /**
   * Words are compared by their stems (Snowball's algorithms): a language by its code, `'en'`; `'auto'`: the one that the first documents are in, if it is one of these; `'none'`: none. It is stored with
   * the index. Default: what is stored, else none. `words.stem` goes before.
   */
  language?: StemmedLanguage | 'auto' | 'none' | undefined;
  /** Default for searches. */
  rerank?: Reranker | undefined;
  /** The model's name, for messages. Default: its kind and size. */
  model?: string | undefined;
  /** What to do with vectors of another model: `'refuse'` (default, an `InputError`) or `'re-embed'`: in the background, see `reembedding`. */
  other_model?: 'refuse' | 're-embed' | undefined;
  /** Ends the opening with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** What `add` has done so far. */
export interface AddProgress {
  /** Documents that are stored and found. */
  done: number;
  /** All documents; `undefined` if they come from an iterator. */
  total: number | undefined;
  /** Chunks that were made of the texts so far, with vectors if the index has such; this also grows while a long document is read. */
  chunks: number;
  /** The time that the rest will take, in seconds; `undefined` before the first are done or without a total. */
  seconds_left: number | undefined;
}

/** What `add` did. */
export interface AddResult {
  /** Documents that the index did not have. */
  added: number;
  /** Documents whose text or title changed: they were embedded again. */
  updated: number;
  /** Documents that only changed other fields, or nothing. */
  unchanged: number;
}

/** Options of `add`. */
export interface AddOptions {
  /** Ends the work with an `AbortError`. What is finished stays. */
  signal?: AbortSignalLike | undefined;
}

/** What a field is compared with. */
export type FilterValue = string | number | boolean | null;

/** What a field must be; where there are several, all of them. A field that holds a list is compared by its items. */
export interface FilterOperators {
  /** Equals the value; of a list, one item does. */
  readonly $eq?: FilterValue;
  /** The opposite of `$eq`. Documents without the field count, too. */
  readonly $ne?: FilterValue;
  /** Equals one of the values; of a list, one item does. */
  readonly $in?: readonly FilterValue[];
  /** The opposite of `$in`. Documents without the field count, too. */
  readonly $nin?: readonly FilterValue[];
  /** Is greater. Numbers are compared with numbers, strings with strings (by UTF-16 units, so that dates as `toISOString()` writes them are in order). */
  readonly $gt?: number | string;
  /** Is greater or equal. */
  readonly $gte?: number | string;
  /** The field is below this bound. */
  readonly $lt?: number | string;
  /** Is less or equal. */
  readonly $lte?: number | string;
  /** Whether the document has the field, be it `null`. */
  readonly $exists?: boolean;
  /** The opposite of what it holds. Documents without the field count, too. */
  readonly $not?: FilterValue | readonly FilterValue[] | FilterOperators;
}

/**
 * Which documents a search may return: a function that returns `true` or `false` at once, or fields and what they must be. That is a value, a
 * list of which one must fit, or operators. Several fields: all must fit; `{}`: all documents do. `$and` and `$or` join filters, `$not` turns one
 * around.
 */
export type Filter =
  | ((document: IndexDocument) => boolean)
  | {
      /** All of these must fit. */
      readonly $and?: readonly Filter[];
      /** One of these must fit. */
      readonly $or?: readonly Filter[];
      /** This must not fit. */
      readonly $not?: Filter;
      readonly [field: string]: FilterValue | readonly FilterValue[] | FilterOperators | Filter | readonly Filter[] | undefined;
    };

/** Options of `search`. */
export interface IndexSearchOptions {
  /** Number of hits. Default 10. */
  top_k?: number | undefined;
  /** `'hybrid'` (default with vectors): words and meaning. Or one of both. */
  mode?: 'hybrid' | 'words' | 'meaning' | undefined;
  /**
   * How the scores of both are joined. `'coverage'` (default): (coverage + 2 trust cosine) / (1 + 2 trust), from 0 to 1, so that scores of two queries can be compared; see `why`
   * of a hit. `'minmax'`: each from 0 to 1, added; 0 is no common word, and the meaning of the last candidate.
   * `'zscore'`: standard deviations above the mean of all parts, added. `'rrf'`: reciprocal ranks, `1 / (60 + rank)` (Cormack et al. 2009), added.
   */
  fusion?: 'coverage' | 'minmax' | 'zscore' | 'rrf' | undefined;
  /** What each counts. Default 1 each. */
  weights?: { words?: number; meaning?: number } | undefined;
  /** Only these documents are found. Default: all. A filter that is not understood is an `InputError`. */
  filter?: Filter | undefined;
  /**
   * Leaves out hits below it. A number is compared with `score`. An object is compared with `why`: a hit stays if one of the named scores is
   * reached, so `{ words: 0.1, meaning: 0.3 }` asks for a common word or a cosine of 0.3.
   */
  min_score?: number | { coverage?: number; words?: number; meaning?: number; rank?: number } | undefined;
  /** Judges the best candidates, which then have its order. Default: that of the index. `false`: none. */
  rerank?: Reranker | false | undefined;
  /** Candidates that are reranked. Default 3 times `top_k`, at least 20. */
  rerank_depth?: number | undefined;
  /** `'document'` (default): one hit a document, its best part. `'chunk'`: every part by itself. */
  group_by?: 'document' | 'chunk' | undefined;
  /**
   * Whether the query may have operators: `"a phrase"`, `-word`, `-"a phrase"`, `title:word`, `title:"a phrase"`. `'auto'` (default): in one line of at most 256
   * characters, and a phrase that no document has only counts as words beside others. `'always'`: in any text, and such a phrase finds nothing. `'never'`: all is text.
   */
  syntax?: 'auto' | 'always' | 'never' | undefined;
  /** Search as you type: the last word, if nothing follows it, also finds words that begin with it, which count less than the word itself. Default `false`. */
  prefix?: boolean | undefined;
  /**
   * A word that no document has (or one in a thousand at most) also finds words that are like it, which count less. They differ by one edit in a word
   * of 4 to 7 letters, by two in a longer one. An edit is a letter more, less, another, or two neighbours exchanged. Default `false`.
   */
  fuzzy?: boolean | undefined;
  /** Each hit has `sentence`, that of its text which is nearest to the query in meaning. It costs a pass of the model over the hits' sentences. Default `false`. */
  sentences?: boolean | undefined;
  /** Ends the search with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of `suggest`. */
export interface IndexSuggestOptions {
  /** Number of suggestions. Default 5. */
  limit?: number | undefined;
  /** Ends the work with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** What a text in a search box may become. */
export interface IndexSuggestion {
  /** The whole text to search for. */
  text: string;
  /** `'word'`: the text with its last word completed; `'title'`: a title that has all its words. */
  kind: 'word' | 'title';
  /** Documents that have the word and the text's other words; of a title, 1. */
  documents: number;
}

/** What a search found. */
export interface IndexHit {
  /** The id of the document. */
  id: string;
  /** The order of hits, by default from 0 to 1: with `mode: 'words'` the coverage, with `'meaning'` the cosine. Another `fusion` and `rerank` have scales of their own. */
  score: number;
  /**
   * Whether the hit is near to the query: its coverage and cosine, joined as by default, reach 0.38 (words alone 0.49, meaning alone 0.4). If no hit is, the index has probably nothing
   * on it; a short text that says something in other words may be right all the same.
   */
  close: boolean;
  /** The part of the document's text that was found, `document.text.slice(start, end)`. */
  text: string;
  /** Where the part begins in the document's text, in UTF-16 units. */
  start: number;
  /** Where it ends in the document's text, in UTF-16 units. */
  end: number;
  /**
   * The headings above the part, the outermost first: `['Guide', 'Installation']`. They come from the document's field `headings`, a list of `{ start, level, title }` in order, or else
   * from Markdown in its text (`## Installation`). Empty: there are none.
   */
  headings: string[];
  /**
   * Why it was found. coverage: the share of the query that the document's words hold, rare words counting more. It is its BM25 score over that of a
   * text of mean length with every word of the query, at most 1. words: BM25. meaning: cosine. trust: from 0 to 1, how well the model reads the
   * query. It is less where its tokens are unknown or its words are cut into many pieces, as in a language that the model does not know. rank: the
   * reranker's score. `null`: not asked. With `group_by: 'chunk'` they are the part's.
   */
  why: {
    coverage: number | null;
    words: number | null;
    meaning: number | null;
    trust: number | null;
    rank: number | null;
  };
  /** Words of the query in `text`, places in it: by their stems, as beginnings and as misspelt ones, too, where the search finds these. */
  highlights: { start: number; end: number }[];
  /** With `sentences: true`: the sentence of `text` that is nearest to the query, its place and its cosine. */
  sentence?: { start: number; end: number; score: number };
  /** The whole document with its fields. */
  document: IndexDocument;
}

/** A part of a document as an index holds it. */
export interface IndexChunk {
  /** The id of the document. */
  id: string;
  /** `document.text.slice(start, end)` */
  text: string;
  /** Where it begins in the document's text, in UTF-16 units. */
  start: number;
  /** Where it ends in the document's text, in UTF-16 units. */
  end: number;
  /** A vector of unit length, as exact as `precision` keeps it. `undefined`: the index knows words alone, or the document waits for `reembedding`. */
  vector: Float32Array | undefined;
}

/** Facts about an index. */
export interface IndexInfo {
  /** The name it was opened by. */
  name: string;
  /** Where it is kept: `'opfs'`, `'indexeddb'`, `'memory'` or a folder. */
  store: string;
  /** The number of documents. */
  documents: number;
  /** The parts that documents were cut into. */
  chunks: number;
  /** Width of a vector; 0: words alone. */
  dim: number;
  /** How exactly vectors are kept. */
  precision: IndexPrecision;
  /** The model of the vectors; `undefined`: none yet. */
  model: string | undefined;
  /** Whose stemmer reads the words; `undefined`: none. */
  language: StemmedLanguage | undefined;
  /** Documents that wait for vectors of the present model. */
  stale: number;
  /** Bytes of vectors in memory, and of what is stored. */
  memory: number;
  /** Bytes of what is stored. */
  stored: number;
}

/** Where `Index.delete`, `Index.list`, `Index.check` and `Index.repair` look. */
export interface IndexStoreOptions {
  /** As for `Index.open`. */
  store?: IndexOptions['store'];
}

/** An index that is kept somewhere. */
export interface IndexListing {
  /** The name to open it by. */
  name: string;
  /** Where it is kept: `'opfs'`, `'indexeddb'`, a folder, or the kind of a store that was given. */
  store: string;
}

/** Something in the store of an index that is not as it should be. */
export interface IndexProblem {
  /** The file's name; `undefined`: a file that is not there. */
  file: string | undefined;
  /**
   * `'damaged'`: its bytes are other ones than those that were written. `'missing'`: it was stored and is not there. `'foreign'`: it is of another index.
   * These three may mean a loss. `'unfinished'`: a write that did not end, and was not reported as done. `'left over'`: a writer that ended early left it.
   */
  state: 'damaged' | 'missing' | 'foreign' | 'unfinished' | 'left over';
  /** What is wrong, in words. */
  what: string;
  /** Documents of a damaged segment that cannot be read, and how many it has. `undefined`: not known. */
  lost?: { documents: number; of: number } | undefined;
}

/** What `Index.check` found. */
export interface IndexCheck extends IndexListing {
  /** Whether all that was stored is there. */
  sound: boolean;
  /** Documents that can be read. */
  documents: number;
  /** Files with documents. */
  segments: number;
  /** All that is not as it should be, with what does not matter. */
  problems: IndexProblem[];
}

/** What `Index.repair` did. */
export interface IndexRepair extends IndexListing {
  /** Documents that the index has now. */
  documents: number;
  /** What was lost. Empty: nothing had to be repaired. Deletions may be among it, so a document that was deleted may be there again. */
  lost: IndexProblem[];
}
