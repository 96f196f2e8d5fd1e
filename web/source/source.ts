// What a model's files come from, where downloads are kept, and what a page and Node do differently.

/** An open file. Its bytes can be read once. */
export interface OpenFile {
  /** Bytes; undefined while it is unknown. */
  size: number | undefined;
  /** A chunk's bytes stay until the next one is asked for. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface ModelSource {
  /** The model as its user named it. */
  readonly name: string;
  readonly phase: 'download' | 'read';
  /** undefined: there is no such file. file: a path inside the model, like '1_Pooling/config.json'. */
  open(file: string, signal: AbortSignal): Promise<OpenFile | undefined>;
  /** Bytes of a file without reading it; undefined when that cannot be told. */
  size(file: string, signal: AbortSignal): Promise<number | undefined>;
  /** Where a file is looked for, for messages. */
  place(file: string): string;
}

/** Bytes under a key and a part of it. A put is there whole or not at all. */
export interface PieceStore {
  get(key: string, part: string): Promise<Uint8Array | undefined>;
  put(key: string, part: string, bytes: Uint8Array): Promise<void>;
  delete(key: string): Promise<void>;
  keys(): Promise<string[]>;
  /** The lock of a key, held by one in all tabs or processes, and what lets go of it; undefined: another has it. Optional. */
  tryLock?(key: string): Promise<(() => void) | undefined>;
}

export interface Platform {
  /** The model in a place of the machine's own: a path in Node, a URL relative to the page in a page. local: no network. */
  openPlace(place: string, local: boolean): ModelSource;
  /** Bytes of a file: URL; undefined where such URLs are fetched like others. */
  readFileUrl?(url: URL): Promise<Uint8Array>;
  /** Where downloads are kept; undefined where nothing can be kept. name: see `Env.cacheDir`. */
  store(name: string | undefined): PieceStore | undefined;
  /** The package @huggingface/jinja, where a program can import what it did not name itself. */
  jinja?(): Promise<unknown>;
  /** What a relative URL is relative to; undefined where there is nothing such. */
  base(): string | undefined;
}
