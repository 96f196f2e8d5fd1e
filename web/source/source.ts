// Interfaces: sources of model files, stores of downloads, and platforms (a page or Node).

/** An open file, which can be read once. */
export interface OpenFile {
  /** Size in bytes; undefined if unknown. */
  size: number | undefined;
  /** A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface ModelSource {
  /** The model as the user named it. */
  readonly name: string;
  readonly phase: 'download' | 'read';
  /** undefined: no such file. file: a path inside the model, such as '1_Pooling/config.json'. */
  open(file: string, signal: AbortSignal): Promise<OpenFile | undefined>;
  /** Size of a file in bytes, without reading it; undefined if unknown. */
  size(file: string, signal: AbortSignal): Promise<number | undefined>;
  /** Where a file is looked for, for messages. */
  place(file: string): string;
  /** The loader accepted all files that it read. */
  accepted?(): Promise<void>;
  /** The load ended with this error. true: it refused files that came from a cache, and opening them again requests them anew. */
  refused?(error: unknown): Promise<boolean>;
}

/** Stores bytes by key and part. A put is atomic. */
export interface PieceStore {
  get(key: string, part: string): Promise<Uint8Array | undefined>;
  put(key: string, part: string, bytes: Uint8Array): Promise<void>;
  delete(key: string): Promise<void>;
  keys(): Promise<string[]>;
  /** Removes everything, also what a failed put may have left. */
  clear(): Promise<void>;
  /** Takes a key's lock, which is exclusive among all tabs or processes, and returns its release; undefined: it is taken. */
  tryLock?(key: string): Promise<(() => void) | undefined>;
}

export interface Platform {
  /** A local model: a path in Node, a URL relative to the page in a page. local: no network. timeout: see `SourceOptions`. */
  openPlace(place: string, local: boolean, timeout?: number): ModelSource;
  /** Reads a file: URL; undefined if such URLs are fetched like others. */
  readFileUrl?(url: URL): Promise<Uint8Array>;
  /** The store of downloads; undefined if nothing can be stored. name: see `Env.cacheDir`. */
  store(name: string | undefined): PieceStore | undefined;
  /** Imports the package @huggingface/jinja; undefined where that is not possible. */
  jinja?(): Promise<unknown>;
  /** The base of relative URLs; undefined if there is none. */
  base(): string | undefined;
}
