/// <reference lib="esnext.disposable" preserve="true" />
// The public types, by hand: unit, default and error of every field. Nothing here needs the DOM's or Node's own types.
import type { Embeddings, OutputPrecision, QuantizedEmbeddings } from './embedding_types.js';
import type { Chat, ChatTemplateOptions } from './generation_types.js';
import type { Tensor } from './tensor.js';
import type { TokenizerHelpers } from './training_types.js';

/** What wattn uses of an `AbortSignal`. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason?: any;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** What wattn uses of a `Blob`. */
export interface BlobLike {
  readonly size: number;
  stream(): any;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** What wattn uses of a `File`, as `<input type="file" webkitdirectory>` or a drop gives it. */
export interface FileLike extends BlobLike {
  readonly name: string;
  readonly webkitRelativePath?: string;
}

/** What wattn uses of a `URL`. */
export interface UrlLike {
  readonly href: string;
}

export type FileBytes = Uint8Array | ArrayBuffer | BlobLike;

/**
 * Where a model is. Decided by its form alone, never by looking what is there:
 * - a string `org/name` or `name`: a hub id, fetched from `env.remoteHost`;
 * - a string beginning with `http:` or `https:`, or a `URL`: the URL of a directory;
 * - a string beginning with `.`, `/`, `file:` or a drive letter, or with two slashes or more, or one at its end: in Node the
 *   path of a directory; in a page a URL relative to the page (in a worker: to the worker's script);
 * - `File`s: a directory from a file picker or a drop (the directories that all have in common are stripped);
 * - a `Map` or an object of names (`'config.json'`, `'1_Pooling/config.json'`) to bytes or `Blob`s.
 */
export type ModelSpecifier =
  string | UrlLike | ArrayLike<FileLike> | ReadonlyMap<string, FileBytes> | { readonly [name: string]: FileBytes };

/** `'progress'` speaks of all files together: `loaded` never falls, `total` is known from the first such event on and stays. */
export type ProgressInfo =
  | {
      status: 'initiate' | 'done';
      /** The model, as it was named. */
      name: string;
      /** The file that is begun or complete, named inside the model. */
      file: string;
    }
  | {
      status: 'progress';
      name: string;
      /** The file whose bytes came last. */
      file: string;
      /** `'download'` from a network, `'read'` from a disk or from memory. */
      phase: 'download' | 'read';
      /** Bytes that came so far, over all files. */
      loaded: number;
      /** Bytes of all files. */
      total: number;
      /** 100 * loaded / total. */
      progress: number;
    }
  | { status: 'ready'; name: string };

/** What loading anything can be told. */
export interface SourceOptions {
  /** Called while files arrive. What it throws ends the loading. */
  progress_callback?: ((info: ProgressInfo) => void) | undefined;
  /** Ends the loading at once with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
  /** Branch, tag or commit of a hub id. Default `'main'`; an `InputError` with any other kind of model. */
  revision?: string;
  /** `true`: an `InputError` for a model that would need the network; a hub id comes from the cache. Default `false`. */
  local_files_only?: boolean;
  /** Where downloads from hubs are kept. Default `env.cacheDir`. */
  cache_dir?: string;
}

export interface LoadOptions extends SourceOptions {
  /**
   * How weights are held and multiplied, quantised while they load. `'f32'` (default; `'fp32'` means the same): Python's numbers.
   * `'q16'`: half the memory, more than twice the speed, f32's answers for practical purposes. `'q8'`: a quarter of the memory,
   * vectors a little off (README has the figures). `'q4'`: the largest matrices in half of q8's memory, for size alone. Each gives
   * the same bits on every engine.
   */
  dtype?: 'f32' | 'fp32' | 'q16' | 'q8' | 'q4';
  /** `'exact'` (default): the same bits on every engine. `'fast'`: may use fused multiply-add where the engine has it. */
  precision?: 'exact' | 'fast';
  /**
   * `true`: the model lives in a Web Worker (in Node a worker thread), and the page never waits for it. A number: in that many, each
   * with a copy of the weights, which share the work of a call. Default `false`.
   */
  worker?: boolean | number;
  /**
   * Threads that compute, the caller's included; more change no bit. Default: the machine's cores, at most 4, where memory can be
   * shared (Node, cross-origin isolated pages), else 1; with several workers 1. A number is waited for; by default the model is there
   * at once, and the threads join it when they have started (`warmup()` waits). What came of it and why is in `info()`.
   */
  threads?: number;
  /**
   * Of models that generate text: tokens that a sequence may have, prompt and answer, at most the model's own
   * `max_position_embeddings`. Default: that, at most 4096. The memory of a call grows with what it asks for, not with this.
   */
  context_length?: number;
}

/** sentence-transformers' names, and transformers.js's `'first_token'` (= cls), `'last_token'` and `'eos'` (= lasttoken). */
export type PoolingMode =
  'mean' | 'cls' | 'max' | 'mean_sqrt_len_tokens' | 'weightedmean' | 'lasttoken' | 'first_token' | 'last_token' | 'eos';

export interface EmbedOptions {
  /** How token vectors become one; several are concatenated. `'none'`: one vector a token. Default: the model's own, else none. */
  pooling?: 'none' | PoolingMode | readonly PoolingMode[];
  /** Unit length for each vector. Default: the model's own; `false` with `pooling: 'none'`. */
  normalize?: boolean;
  /** Put before every text. Default: the model's default prompt, which few have. An `InputError` beside `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's own prompts (`info().prompts`), such as `'query'`; an unknown one is an `InputError`. */
  prompt_name?: string;
  /** Tokens, specials included. Default: the model's own limit. Beyond the model's positions: an `InputError`. */
  max_length?: number;
  /** The first so many components (Matryoshka); the model's own unit length comes before it, `normalize: true` after it. */
  truncate_dim?: number;
  /** `'float32'` (default), or fewer bits: see `quantize_embeddings`; `'int8'` and `'uint8'` find their ranges in this call's texts. */
  precision?: OutputPrecision;
  /**
   * A text beyond `max_length`: `'truncate'` (default; the result says so in `truncated`), `'error'` (an `InputError`), or `'window'`: it
   * runs in windows of `max_length` tokens. A prompt stands before the text, so in its first window.
   */
  on_overflow?: 'truncate' | 'error' | 'window';
  /** Of `on_overflow: 'window'`: a text's vector is the mean of its windows' (default), or each window has its own. */
  windows?: 'mean' | 'each';
  /** Of `on_overflow: 'window'`: tokens that neighbouring windows share. Default 0. */
  overlap?: number;
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python: they are special tokens. */
  split_special_tokens?: boolean;
  /** Ends the call with an `AbortError`, between two micro-batches. */
  signal?: AbortSignalLike | undefined;
}

/** What a model is. Names that config.json has are config.json's. */
export interface ModelInfo {
  model_type: string;
  hidden_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  max_position_embeddings: number;
  /** Tokens a text may have, specials included: what the repository says, at most `max_position_embeddings`. */
  max_length: number;
  /** Tokens of one micro-batch. */
  token_budget: number;
  /** Whether the repository says how to pool. */
  pooled: boolean;
  /** Whether the repository asks for unit length. */
  normalize: boolean;
  /** The repository's own prompts by name. */
  prompts: Record<string, string>;
  dtype: 'f32' | 'q16' | 'q8' | 'q4';
  precision: 'exact' | 'fast';
  /** Which inner loops run. */
  kernels: string;
  /** Which WebAssembly file runs; `'given'`: the one in `env.wasm`. */
  wasm: 'relaxed' | 'simd' | 'given';
  /** Threads that compute now, in each worker where there are any. */
  threads: number;
  /** Why there is only one thread, when there is only one. */
  threads_reason?: string;
  /** Workers that hold the model; 0: it is on the caller's own thread. */
  workers: number;
  /** The build of wattn. */
  build_id: string;
}

/** Bytes. */
export interface MemoryInfo {
  /** The weights, as they are held. */
  weights: number;
  /** The arena that every run works in; taken at the first run, and never grows. */
  activations: number;
  /** weights + activations. */
  total: number;
}

interface Disposable_ {
  /** Gives the memory back; every later call is a `StateError`. A second call does nothing. */
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `await embed(text | texts, options)`. */
export interface FeatureExtractionPipeline extends Disposable_ {
  (texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  (texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  /** As sentence-transformers': with the model's prompt named `'query'` (`'document'`), or none, where options say nothing of prompts. */
  encode_query(texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  encode_query(texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  encode_document(texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  encode_document(texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  readonly task: 'feature-extraction';
  /** The model's tokenizer. It belongs to this pipeline: its own `dispose()` does nothing. With `worker`: an `UnsupportedError`. */
  readonly tokenizer: Tokenizer;
  info(): ModelInfo;
  memory(): MemoryInfo;
  /**
   * Runs made-up texts until the engine has compiled what is busy, up to 2 seconds; the first calls after it are as fast as all
   * later ones. Never needed.
   */
  warmup(): Promise<void>;
}

export interface TokenizeOptions {
  /** Second texts: a string beside a string, an array beside an array of the same length. */
  text_pair?: string | readonly string[];
  /** `true` = `'longest'`: to the longest of the call; `'max_length'`: to max_length, else to the model's limit. Default `false`. */
  padding?: boolean | 'longest' | 'max_length';
  /** `true` = `'longest_first'`. Default: `false`, but truncates when `max_length` is given without padding, as in Python. */
  truncation?: boolean | 'longest_first' | 'only_first' | 'only_second';
  /** Tokens, specials included. Default with truncation or padding to it: `model_max_length`; an `InputError` when there is none. */
  max_length?: number;
  /** Default `true`. */
  add_special_tokens?: boolean;
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /** Adds `offset_mapping`: start and end of each token in its text; 0, 0 for special tokens that were added. Default `false`. */
  return_offsets_mapping?: boolean;
  /** Unit of the offsets. `'utf16'` (default): `text.slice(start, end)` is the token's text. `'codepoint'`: Python's. */
  offsets?: 'utf16' | 'codepoint';
  /** Adds `special_tokens_mask`: 1 for special tokens that were added and for padding. Default `false`. */
  return_special_tokens_mask?: boolean;
  /** Default: whether the model's files ask for them (BERT's do). */
  return_token_type_ids?: boolean;
  /** Default `true`. */
  return_attention_mask?: boolean;
  /** What truncation cut off comes in rows of its own, with `overflow_to_sample_mapping`. Default `false`. */
  return_overflowing_tokens?: boolean;
  /** Tokens that two neighbouring rows of one text share (Python's `stride`). Default 0; less than the room there is. */
  overlap?: number;
  /** `true` (default): int32 `Tensor`s, for which all rows must be of one length (padding). `false`: arrays of numbers. */
  return_tensor?: boolean;
}

/** `Ids` is a Tensor `[rows, tokens]`, rows of numbers, or numbers. Each entry is there when its option asks for it. */
export interface Encoding<Ids, Offsets = Ids, PerRow = Ids> {
  input_ids: Ids;
  /** 1 for tokens, 0 for padding. */
  attention_mask?: Ids;
  token_type_ids?: Ids;
  /** A Tensor `[rows, tokens, 2]`, or pairs `[start, end]`. */
  offset_mapping?: Offsets;
  special_tokens_mask?: Ids;
  /** For each row the index of the text it came from. */
  overflow_to_sample_mapping?: PerRow;
  /** For each row whether its text was cut. */
  truncated: boolean[];
}

export type TensorEncoding = Encoding<Tensor<'int32'>>;
export type Span = [start: number, end: number];

export interface DecodeOptions {
  /** Leaves special tokens out. Default `false`. */
  skip_special_tokens?: boolean;
  /** Takes out spaces before punctuation and in contractions. Default: what tokenizer_config.json says, else `false`. */
  clean_up_tokenization_spaces?: boolean;
}

/** Token ids of one text, in any usual form. */
export type TokenIds = readonly number[] | readonly bigint[] | Int32Array | BigInt64Array | Tensor;

/** What may be said to `encode` and `tokenize`. */
export type EncodeOptions = Pick<TokenizeOptions, 'truncation' | 'max_length' | 'add_special_tokens' | 'split_special_tokens'> & {
  text_pair?: string;
};

export interface Tokenizer extends Disposable_, TokenizerHelpers {
  (texts: string | readonly string[], options?: TokenizeOptions & { return_tensor?: true }): TensorEncoding;
  (
    text: string,
    options: TokenizeOptions & { return_tensor: false; return_overflowing_tokens?: false },
  ): Encoding<number[], Span[], number[]>;
  (
    texts: string | readonly string[],
    options: TokenizeOptions & { return_tensor: false },
  ): Encoding<number[][], Span[][], number[]>;
  /** Ids of one text, with special tokens. */
  encode(text: string, options?: EncodeOptions): number[];
  /** Token strings of one text, without special tokens unless asked. */
  tokenize(text: string, options?: EncodeOptions): string[];
  decode(ids: TokenIds, options?: DecodeOptions): string;
  batch_decode(batch: readonly TokenIds[] | Tensor, options?: DecodeOptions): string[];
  /**
   * A chat as the model's `chat_template` writes it: its ids, or with `tokenize: false` its text. Needs the package
   * `@huggingface/jinja` (an `UnsupportedError` without it).
   */
  apply_chat_template(chat: Chat, options: ChatTemplateOptions & { tokenize: false }): Promise<string>;
  apply_chat_template(chat: Chat, options?: ChatTemplateOptions): Promise<number[]>;
  /** Token strings of ids; an id outside the vocabulary is an `InputError`. */
  convert_ids_to_tokens(ids: TokenIds): string[];
  /** Tokens that the model takes, specials included; `Infinity` when the files say nothing. */
  readonly model_max_length: number;
  /** Added tokens included. */
  readonly vocab_size: number;
}

/** Rows of ids or of 0 and 1, all of one length. */
export type TokenRows = Tensor | readonly (readonly number[])[] | readonly (readonly bigint[])[];

/** What `tokenizer(...)` gives fits; of its further entries the model takes no notice. */
export interface ModelInputs {
  /** `[batch, seq]`. */
  input_ids: TokenRows;
  /** `[batch, seq]` of 0 and 1. Tokens with 0 do not run, and come back as zeros. Default: all 1. */
  attention_mask?: TokenRows;
  /** `[batch, seq]`. Default: all 0. */
  token_type_ids?: TokenRows;
}

export interface ForwardOptions {
  /** Adds `attentions`. Default `false`, which costs nothing. */
  output_attentions?: boolean;
  /** Adds `hidden_states`. Default `false`, which costs nothing. */
  output_hidden_states?: boolean;
  /** Adds `queries`, `keys` and `values`. Default `false`, which costs nothing. */
  output_qkv?: boolean;
  /** What each head's attentions are multiplied by, `[layers, heads]`, or `[heads]` for all layers: 0 takes a head out. */
  head_mask?: Tensor | readonly number[] | readonly (readonly number[])[];
  /**
   * Activation patching: numbers put in place of the model's own, and the rest of the pass computed from them. Names:
   * `'embeddings.output'`, `'layer.N.attention.query'` (`key`, `value`, `context`, `output`), `'layer.N.intermediate'`,
   * `'layer.N.output'`; each a float32 Tensor `[batch, seq, width]`, such as another call's `hidden_states[N + 1]`. An unknown name or
   * another shape is an `InputError`.
   */
  patch?: { readonly [tap: string]: Tensor };
  /**
   * So many of the tokens that each layer would put in each place: its output through the head (nostalgebraist 2020). Default 0: none.
   * Of `AutoModelForMaskedLM` alone, elsewhere an `InputError`.
   */
  logit_lens?: number;
  /** Ends the call with an `AbortError`, between two runs. */
  signal?: AbortSignalLike | undefined;
}

/** `[layers + 1, batch, seq, logit_lens]`, of the embeddings and each layer: ids, the likeliest first, and their logits. */
export interface LogitLens {
  ids: Tensor<'int32'>;
  logits: Tensor<'float32'>;
}

export interface ModelOutput {
  /** `[batch, seq, hidden]`. */
  last_hidden_state: Tensor<'float32'>;
  /** `[batch, hidden]`, of each row's first token that runs; absent when the checkpoint has no pooler. */
  pooler_output?: Tensor<'float32'>;
  /** Of models with a head (`AutoModelFor..`): `[batch, labels]`, `[batch, seq, labels]` or `[batch, seq, vocab]`. */
  logits?: Tensor<'float32'>;
  /** Of `AutoModelForQuestionAnswering`: `[batch, seq]`. */
  start_logits?: Tensor<'float32'>;
  end_logits?: Tensor<'float32'>;
  /** `[layers + 1]` of `[batch, seq, hidden]`: the embeddings, then each layer's output. */
  hidden_states?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, seq]`, after softmax; the last index is the token that is looked at. */
  attentions?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, head_dim]`, as the scores are made of them (turned, with rotary positions). */
  queries?: Tensor<'float32'>[];
  keys?: Tensor<'float32'>[];
  values?: Tensor<'float32'>[];
  logit_lens?: LogitLens;
}

/** `await model({ input_ids, attention_mask }, options)`. */
export interface Model extends Disposable_ {
  (inputs: ModelInputs, options?: ForwardOptions): Promise<ModelOutput>;
  /** config.json, parsed. */
  readonly config: Readonly<Record<string, any>>;
  info(): ModelInfo;
  memory(): MemoryInfo;
  /**
   * Runs made-up texts until the engine has compiled what is busy, up to 2 seconds; the first calls after it are as fast as all
   * later ones. Never needed.
   */
  warmup(): Promise<void>;
}

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

/** Where the WebAssembly comes from, when not from the file beside wattn's own script. The first that is given counts. */
export interface WasmOverride {
  /** A compiled `WebAssembly.Module`. */
  module?: object;
  /** The bytes of wattn-simd.wasm or wattn-relaxed.wasm. */
  binary?: Uint8Array | ArrayBuffer;
  /** Where to fetch it. */
  url?: string | UrlLike;
}

/** Settings of the whole library; read at each loading. */
export interface Env {
  /** The host of hub ids. Default `'https://huggingface.co'`. */
  remoteHost: string;
  /** Path of a hub id on it. Default `'{model}/resolve/{revision}/'`. */
  remotePathTemplate: string;
  /** `false`: as `local_files_only: true` at every loading. Default `true`. */
  allowRemoteModels: boolean;
  /** In place of the global `fetch`, for files of models and of WebAssembly: to add headers, or to answer from a store. */
  fetch: ((url: string, init?: any) => Promise<any>) | undefined;
  /** Whether downloads from hubs are kept. Default `true`. */
  useCache: boolean;
  /**
   * Where: in Node a folder, by default `wattn` in the user's own folder for caches; in a page the name of a store of the browser's
   * Cache API, by default `'wattn'`.
   */
  cacheDir: string | undefined;
  wasm: WasmOverride;
  /** The package `@huggingface/jinja`, for chat templates. In Node it is imported when it is needed; a page sets it. */
  jinja?: unknown;
}

/** A file of the cache. */
export interface CachedFile {
  /** The hub id. */
  model: string;
  file: string;
  url: string;
  bytes: number;
  /** `false`: loading was ended in the middle, and will go on there. */
  complete: boolean;
}
