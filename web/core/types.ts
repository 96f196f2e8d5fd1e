/// <reference lib="esnext.disposable" preserve="true" />
// Public types of all rooms. They need neither the DOM's types nor Node's.

/** The part of `AbortSignal` that wattn uses. */
export interface AbortSignalLike {
  /** Whether the work is to end. */
  readonly aborted: boolean;
  /** Why, if the caller said so. */
  readonly reason?: any;
  /** Asks to be told. */
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  /** Takes back what `addEventListener` asked. */
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A list that is never empty. */
export type AtLeastOne<T> = [T, ...T[]];

/** The part of `Blob` that wattn uses. */
export interface BlobLike {
  /** The number of bytes. */
  readonly size: number;
  /** Its bytes as a `ReadableStream`. */
  stream(): any;
  /** All its bytes. */
  arrayBuffer(): Promise<ArrayBuffer>;
  /** A part of it: the bytes from `begin` up to `end`. */
  slice?(begin?: number, end?: number): any;
}

/** The part of `File` that wattn uses, as from `<input type="file" webkitdirectory>` or drag and drop. */
export interface FileLike extends BlobLike {
  /** The file's name, without its folder. */
  readonly name: string;
  /** Its path from the folder that a person chose; `''` if they chose a file. */
  readonly webkitRelativePath?: string;
}

/** The part of `URL` that wattn uses. */
export interface UrlLike {
  /** The whole address. */
  readonly href: string;
}

/** The bytes of a file. */
export type FileBytes = Uint8Array | ArrayBuffer | BlobLike;

/** Has memory outside JavaScript, which `dispose()` frees. */
export interface Disposable_ {
  /** Frees the memory. Later calls throw a `StateError`; a second `dispose()` does nothing. */
  dispose(): Promise<void>;
  /** `dispose()`, for `using`. */
  [Symbol.dispose](): void;
  /** `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Where the WebAssembly comes from if not from the file beside wattn's script. The first that is set is used. */
export interface WasmOverride {
  /** A compiled `WebAssembly.Module`. */
  module?: object;
  /** The bytes of wattn-simd.wasm or wattn-relaxed.wasm. */
  binary?: Uint8Array | ArrayBuffer;
  /** The URL to fetch it from. */
  url?: string | UrlLike;
}

/** A cache of responses by URL, as `Cache` of the Cache API is. */
export interface CustomCache {
  /** The response for a URL, or `undefined`. */
  match(url: string): Promise<any>;
  /** Keeps a response. */
  put(url: string, response: any): Promise<void>;
}

/** Global settings, read whenever something is loaded. */
export interface Env {
  /** The version of wattn. */
  readonly version: string;
  /** The host that hub ids refer to. Default `'https://huggingface.co'`, in Node `HF_ENDPOINT` of the environment if that is set. */
  remoteHost: string;
  /** The path of a hub id on that host. Default `'{model}/resolve/{revision}/'`. */
  remotePathTemplate: string;
  /**
   * `true` (default): a repository that holds only ONNX (as made for transformers.js) is replaced by the original that its card names, at its newest
   * revision. A warning, a progress event `'original'` and `info().original` say so. `false`: an error names the original.
   */
  resolveOriginal: boolean;
  /** `false` acts like `local_files_only: true` everywhere. A page's own origin is not remote. Default `true`. */
  allowRemoteModels: boolean;
  /** Replaces the global `fetch` for model files and WebAssembly, for example to add headers or to serve from a store. */
  fetch: ((url: string, init?: any) => Promise<any>) | undefined;
  /** Whether downloads from hubs are cached. Default `true`. */
  useCache: boolean;
  /**
   * Where downloads are cached: in Node a folder, by default `wattn` in the user's cache folder; in a page the name of a Cache API
   * store, by default `'wattn'`.
   */
  cacheDir: string | undefined;
  /** Where the WebAssembly is, if not beside wattn's script. Default: nothing set. */
  wasm: WasmOverride;
  /**
   * `true`: where wattn and transformers.js differ by choice, as there: `feature-extraction` without the option `pooling` gives a vector for each token, not
   * normalised; a tokenizer's tensors are int64. Default `false`.
   *
   *     import { env, pipeline } from 'wattn';
   *     env.compat = true;
   */
  compat: boolean;
  /** `false`: `localModelPath` is not used. Default `true`. */
  allowLocalModels: boolean;
  /**
   * The folder (in a page: the URL of one) where hub ids are, as `<localModelPath>/<id>`. A model is read there, and its revision is not looked at.
   * Default `undefined`: hub ids are on the hub.
   */
  localModelPath: string | undefined;
  /** `false`: as `useCache`, as are `useFSCache` and `useFS`. Default `true`. */
  useBrowserCache: boolean;
  /** The same as `useBrowserCache`: `false` turns the cache off. */
  useFSCache: boolean;
  /** The same as `useBrowserCache`: `false` turns the cache off. */
  useFS: boolean;
  /** An option of transformers.js, without effect: the WebAssembly is a file of the package, which browsers cache as others. */
  useWasmCache: boolean;
  /** Above 30 (`LogLevel.WARNING`), settings without effect are not warned of. Default 30. */
  logLevel: number;
  /** `true`: requests for whole files ask `customCache` first, and fill it. Default `false`. */
  useCustomCache: boolean;
  /** With `useCustomCache`: the part of the Cache API that is used. */
  customCache: CustomCache | undefined;
  /**
   * Settings of transformers.js. `onnx.wasm.numThreads` is the default of the option `threads`, and `onnx.wasm.proxy` of `worker`. Nothing else in it has an
   * effect: wattn has no ONNX Runtime.
   */
  backends: {
    onnx: { wasm: { numThreads?: number; proxy?: boolean; [name: string]: any }; [name: string]: any };
    [name: string]: any;
  };
  /**
   * WebGPU for `device: 'webgpu'` and `'auto'`, in place of `navigator.gpu`: in Node, `create([])` of the package `webgpu`. Workers have their platform's own.
   */
  gpu?: { requestAdapter(options?: any): Promise<any> } | undefined;
  /** The package `@huggingface/jinja`, for chat templates. Node imports it when needed; a page must set it. */
  jinja?: unknown;
}

/** Which WebAssembly runs: with relaxed SIMD, with SIMD128, or the one in `env.wasm`. */
export type WasmKind = 'relaxed' | 'simd' | 'given';

/** The data type of a vector's components. */
export type OutputPrecision = 'float32' | 'int8' | 'uint8' | 'binary' | 'ubinary';

/** Options for choosing tokens, with transformers' names, meanings and defaults. */
export interface DecodingOptions {
  /** Sequences do not end before this many new tokens. */
  min_new_tokens?: number;
  /** `true`: samples tokens; `false` (default): takes the most likely one. */
  do_sample?: boolean;
  /** Sampling: logits are divided by it. Default 1. */
  temperature?: number;
  /** Sampling: considers only this many of the most likely tokens. Default 50; 0: all. */
  top_k?: number;
  /** Sampling: considers only the most likely tokens whose probabilities sum to this. Default 1. */
  top_p?: number;
  /** Sampling: considers only tokens with at least this fraction of the highest probability. Default 0. */
  min_p?: number;
  /** Above 1: makes tokens that already occurred less likely. Default 1. */
  repetition_penalty?: number;
  /** No sequence of this many tokens occurs twice. Default 0: no limit. */
  no_repeat_ngram_size?: number;
  /** Number of beams, at most 64. Default 1. An `InputError` with `do_sample`. */
  num_beams?: number;
  /** Beam search: log-probabilities are divided by the length to this power. Default 1. */
  length_penalty?: number;
  /** Forced as the first new token after a prompt of one token. */
  forced_bos_token_id?: number;
  /** Forced as the last token when the maximum length is reached. */
  forced_eos_token_id?: number;
  /** One or several ids that end a sequence. */
  eos_token_id?: number | readonly number[];
  /** Sampling: the same seed gives the same tokens. */
  seed?: number;
}
