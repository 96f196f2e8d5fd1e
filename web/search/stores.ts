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

/** Nothing is kept but the names: what the segments say is in the index already, and no one else reads them. */
export function memoryStore(): SegmentStore {
  const segments = new Set<string>();
  return {
    kind: 'memory',
    list: async () => [...segments],
    read: async () => undefined,
    write: async (name) => void segments.add(name),
    remove: async (name) => void segments.delete(name),
    alone: (run) => run(),
    hasNews: () => false,
    close: () => {},
  };
}
