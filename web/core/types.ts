/// <reference lib="esnext.disposable" preserve="true" />
// Public types that every room uses: unit, default and error of every field. Nothing here needs the DOM's or Node's own types.

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

export interface Disposable_ {
  /** Gives the memory back; every later call is a `StateError`. A second call does nothing. */
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
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

/** The WebAssembly that runs: with relaxed SIMD, with SIMD128, or the one that `env.wasm` names. */
export type WasmKind = 'relaxed' | 'simd' | 'given';

/** Of a vector's components. */
export type OutputPrecision = 'float32' | 'int8' | 'uint8' | 'binary' | 'ubinary';
