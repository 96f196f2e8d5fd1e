// Interfaces: a file that is read, and a store of pieces of files.

/** An open file, which can be read once. */
export interface OpenFile {
  /** Size in bytes; undefined if unknown. */
  size: number | undefined;
  /** Opens a part, apart from chunks(): bytes from `from` on, which is `begin` or before, and at least up to `end`. undefined: not possible. */
  part?(begin: number, end: number): Promise<{ from: number; chunks(): AsyncIterable<Uint8Array> } | undefined>;
  /** The file that the bytes are made from, if they are not those of a file: its size, and how much of it has been used. */
  origin?: { readonly size: number; position(): number };
  /** Called once the engine has all weights, of which some are the file's. held: how it has the file's tensors (SeamModel.finish). */
  keep?(held: Uint8Array): void;
  /** A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Uint8Array>;
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
  /** What was put outlasts a loss of power. */
  settle?(): Promise<void>;
}
