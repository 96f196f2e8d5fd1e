// Where the segments of an index are kept. A name says which segment it is: see search_index.ts. A segment is written whole or not at all.

export interface SegmentStore {
  /** What it is, for `info()`. */
  readonly kind: string;
  list(): Promise<string[]>;
  read(name: string): Promise<Uint8Array | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Runs alone: no other tab or process writes meanwhile. */
  alone<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Whether others may have written since the last question. */
  hasNews(): boolean;
  close(): void;
}

export function memoryStore(): SegmentStore {
  const segments = new Map<string, Uint8Array>();
  return {
    kind: 'memory',
    list: async () => [...segments.keys()],
    read: async (name) => segments.get(name),
    write: async (name, bytes) => void segments.set(name, bytes),
    remove: async (name) => void segments.delete(name),
    alone: (run) => run(),
    hasNews: () => false,
    close: () => {},
  };
}
