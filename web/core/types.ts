/// <reference lib="esnext.disposable" preserve="true" />
// Public types of all rooms. They need neither the DOM's types nor Node's.

/** The part of `AbortSignal` that wattn uses. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason?: any;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The part of `Blob` that wattn uses. */
export interface BlobLike {
  readonly size: number;
  stream(): any;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** The part of `File` that wattn uses, as from `<input type="file" webkitdirectory>` or drag and drop. */
export interface FileLike extends BlobLike {
  readonly name: string;
  readonly webkitRelativePath?: string;
}

/** The part of `URL` that wattn uses. */
export interface UrlLike {
  readonly href: string;
}

export type FileBytes = Uint8Array | ArrayBuffer | BlobLike;

export interface Disposable_ {
  /** Frees the memory. Later calls throw a `StateError`; a second `dispose()` does nothing. */
  dispose(): Promise<void>;
  [Symbol.dispose](): void;
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

/** Global settings, read whenever something is loaded. */
export interface Env {
  /** The host that hub ids refer to. Default `'https://huggingface.co'`. */
  remoteHost: string;
  /** The path of a hub id on that host. Default `'{model}/resolve/{revision}/'`. */
  remotePathTemplate: string;
  /** `false` acts like `local_files_only: true` everywhere. Default `true`. */
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
  wasm: WasmOverride;
  /** The package `@huggingface/jinja`, for chat templates. Node imports it when needed; a page must set it. */
  jinja?: unknown;
}

/** Which WebAssembly runs: with relaxed SIMD, with SIMD128, or the one in `env.wasm`. */
export type WasmKind = 'relaxed' | 'simd' | 'given';

/** The data type of a vector's components. */
export type OutputPrecision = 'float32' | 'int8' | 'uint8' | 'binary' | 'ubinary';
