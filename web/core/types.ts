/// <reference lib="esnext.disposable" preserve="true" />
// Public types of all rooms. They need neither the DOM's types nor Node's.

/** The part of `AbortSignal` that wattn uses. */
export interface AbortSignalLike {
  /** Whether the signal has fired. */
  readonly aborted: boolean;
  /** The reason, if the caller gave one. */
  readonly reason?: any;
  /** Registers a listener. */
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  /** Removes a listener. */
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A list that is never empty. */
export type AtLeastOne<T> = [T, ...T[]];

/** The part of `Blob` that wattn uses. */
export interface BlobLike {
  /** The number of bytes. */
  readonly size: number;
  /** The bytes as a `ReadableStream`. */
  stream(): any;
  /** Reads all bytes. */
  arrayBuffer(): Promise<ArrayBuffer>;
  /** A part: the bytes from `begin` up to `end`. */
  slice?(begin?: number, end?: number): any;
}

/** The part of `File` that wattn uses, as from `<input type="file" webkitdirectory>` or drag and drop. */
export interface FileLike extends BlobLike {
  /** The file's name, without its folder. */
  readonly name: string;
  /** The path within the folder that the user chose; `''` if they chose a file. */
  readonly webkitRelativePath?: string;
}

/** The part of `URL` that wattn uses. */
export interface UrlLike {
  /** The full URL. */
  readonly href: string;
}

/** The bytes of a file. */
export type FileBytes = Uint8Array | ArrayBuffer | BlobLike;

/** An object that holds memory outside JavaScript; `dispose()` frees it. */
export interface Disposable_ {
  /** Frees the memory. Later calls throw a `StateError`; calling `dispose()` again does nothing. */
  dispose(): Promise<void>;
  /** `dispose()` for `using`. */
  [Symbol.dispose](): void;
  /** `dispose()` for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Where to load the WebAssembly from, instead of the file next to wattn's script. The first one set is used. */
export interface WasmOverride {
  /** A compiled `WebAssembly.Module`. */
  module?: object;
  /** The bytes of wattn-simd.wasm or wattn-relaxed.wasm. */
  binary?: Uint8Array | ArrayBuffer;
  /** The URL to fetch it from. */
  url?: string | UrlLike;
}

/** A cache of responses by URL, like `Cache` of the Cache API. */
export interface CustomCache {
  /** The response for a URL, or `undefined`. */
  match(url: string): Promise<any>;
  /** Stores a response. */
  put(url: string, response: any): Promise<void>;
}

/** Global settings. They are read at each load. */
export interface Env {
  /** The version of wattn. */
  readonly version: string;
  /** The host of Hub ids. Default `'https://huggingface.co'`; in Node, the environment variable `HF_ENDPOINT` if it is set. */
  remoteHost: string;
  /** The path of a Hub id on that host. Default `'{model}/resolve/{revision}/'`. */
  remotePathTemplate: string;
  /**
   * `true` (default): a repository with only ONNX files (made for transformers.js) is replaced by the original that its model card names, at its
   * newest revision. A warning, the progress event `'original'` and `info().original` report this. `false`: throws an error that names the original.
   */
  resolveOriginal: boolean;
  /** `false` has the effect of `local_files_only: true` in every call. URLs of the page's own origin are still allowed. Default `true`. */
  allowRemoteModels: boolean;
  /** Replaces the global `fetch` for model files and WebAssembly, for example to add headers or to serve from a store. */
  fetch: ((url: string, init?: any) => Promise<any>) | undefined;
  /** Whether downloads from the Hub are cached. Default `true`. */
  useCache: boolean;
  /**
   * Where downloads are cached. In Node: a folder, by default `wattn` in the user's cache folder. In a page: the name of a Cache API store, by default
   * `'wattn'`.
   */
  cacheDir: string | undefined;
  /** Where to load the WebAssembly from, if not from next to wattn's script. Default: not set. */
  wasm: WasmOverride;
  /**
   * `true`: follows transformers.js where wattn intentionally differs. `feature-extraction` without the option `pooling` returns one vector per token,
   * not normalised, and a tokenizer's tensors are int64. Default `false`.
   *
   *     import { env, pipeline } from 'wattn';
   *     env.compat = true;
   */
  compat: boolean;
  /** `false` ignores `localModelPath`. Default `true`. */
  allowLocalModels: boolean;
  /**
   * The folder (in a page: its URL) that contains models by Hub id, as `<localModelPath>/<id>`. Models are then read from there, and `revision` is
   * ignored. Default `undefined`: Hub ids refer to the Hub.
   */
  localModelPath: string | undefined;
  /** `false` turns the cache off, as do `useCache`, `useFSCache` and `useFS`. Default `true`. */
  useBrowserCache: boolean;
  /** The same as `useBrowserCache`. */
  useFSCache: boolean;
  /** The same as `useBrowserCache`. */
  useFS: boolean;
  /** Accepted for compatibility with transformers.js and ignored: browsers cache the .wasm like any other file. */
  useWasmCache: boolean;
  /** Above 30 (`LogLevel.WARNING`): no warnings about settings without effect. Default 30. */
  logLevel: number;
  /** `true`: requests for whole files ask `customCache` first and store responses there. Default `false`. */
  useCustomCache: boolean;
  /** The cache that `useCustomCache` uses: the part of the Cache API that wattn needs. */
  customCache: CustomCache | undefined;
  /**
   * Settings of transformers.js. `onnx.wasm.numThreads` is the default of the option `threads`, and `onnx.wasm.proxy` of `worker`. All other settings
   * are ignored: wattn does not use ONNX Runtime.
   */
  backends: {
    onnx: { wasm: { numThreads?: number; proxy?: boolean; [name: string]: any }; [name: string]: any };
    [name: string]: any;
  };
  /**
   * The WebGPU implementation for `device: 'webgpu'` and `'auto'`, instead of `navigator.gpu`. In Node: `create([])` of the package `webgpu`. Workers
   * use their platform's own.
   */
  gpu?: { requestAdapter(options?: any): Promise<any> } | undefined;
  /** The package `@huggingface/jinja`, for chat templates. Node imports it when needed; in a page you must set it. */
  jinja?: unknown;
}

/** The WebAssembly in use: with relaxed SIMD, with SIMD128, or the one in `env.wasm`. */
export type WasmKind = 'relaxed' | 'simd' | 'given';

/** The data type of a vector's components. */
export type OutputPrecision = 'float32' | 'int8' | 'uint8' | 'binary' | 'ubinary';

/** Options that control how the next token is chosen. Names, meanings and defaults are those of transformers. */
export interface DecodingOptions {
  /** Minimum number of new tokens before a sequence may end. */
  min_new_tokens?: number;
  /** `true`: sample tokens. `false` (default): take the most likely token. */
  do_sample?: boolean;
  /** Sampling: logits are divided by this. Default 1. */
  temperature?: number;
  /** Sampling: considers only this many of the most likely tokens. Default 50; 0: all. */
  top_k?: number;
  /** Sampling: considers only the most likely tokens whose probabilities sum to this. Default 1. */
  top_p?: number;
  /** Sampling: considers only tokens with at least this fraction of the highest probability. Default 0. */
  min_p?: number;
  /** Above 1: tokens that already occurred become less likely. Default 1. */
  repetition_penalty?: number;
  /** No sequence of this many tokens may occur twice. Default 0: no limit. */
  no_repeat_ngram_size?: number;
  /** Number of beams, at most 64. Default 1. More than one with `do_sample` throws an `InputError`. */
  num_beams?: number;
  /** Beam search: log-probabilities are divided by the length to this power. Default 1. */
  length_penalty?: number;
  /** Forced as the first new token after a prompt of one token. */
  forced_bos_token_id?: number;
  /** Forced as the last token when the maximum length is reached. */
  forced_eos_token_id?: number;
  /** The id or ids that end a sequence. */
  eos_token_id?: number | readonly number[];
  /** Sampling: the same seed gives the same tokens. */
  seed?: number;
}
