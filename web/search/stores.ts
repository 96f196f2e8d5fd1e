// Where the files of an index are kept: its segments and its head (segment_log.ts says what their names mean).
import { StateError, WattnError } from '../core/errors.js';

/** The file by which a folder's writers keep each other away. */
export const kLockName = 'writer.lock';

export interface SegmentStore {
  /** What it is, for `info()` and messages. */
  readonly kind: string;
  /** Nothing but this index reads from it, so what is written is known. */
  readonly forgets?: boolean;
  /** The names of all files. */
  list(): Promise<string[]>;
  /** A file. Empty: a writer claimed the name, and has not written. */
  read(name: string): Promise<Uint8Array | undefined>;
  /**
   * Makes a file that is whole or not there, and stays there after a loss of power once this is done. False, and nothing changes, if there is one of
   * that name.
   */
  add(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Writes a file that is there anew, in place. It stays there once this is done; before that it may be anything. */
  patch(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Runs while no other tab or process writes. It may fail to keep them away: `add` is what decides. */
  alone<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Whether others may have written since the last question. */
  hasNews(): boolean;
  /** Removes the place itself, if nothing is in it. */
  leave(): Promise<void>;
  close(): void;
}

/** What an index is called in messages. */
export const placeOf = (name: string, { kind }: Pick<SegmentStore, 'kind'>): string => `Index: '${name}' in ${kind}`;

export function reason(cause: unknown): string {
  const { name, message, code } = (cause ?? {}) as { name?: string; message?: string; code?: unknown };
  return typeof code === 'string' ? code : `${name}: ${message}`;
}

/** A store whose failures are errors of this library. name: the index. */
export function guarded(name: string, store: SegmentStore): SegmentStore {
  const kept = (what: string) => `Index: '${name}' cannot ${what}; stored data is unchanged`;
  const tell = (what: (why: string) => string) => (cause: unknown) => {
    throw cause instanceof WattnError ? cause : new StateError(what(reason(cause)), { cause });
  };
  const { kind } = store;
  return {
    kind,
    list: () => store.list().catch(tell((why) => `Index: '${name}' cannot list ${kind} (${why})`)),
    read: (file) => store.read(file).catch(tell((why) => `Index: '${name}' cannot read ${file} in ${kind} (${why})`)),
    add: (file, bytes) => store.add(file, bytes).catch(tell((why) => kept(`store ${bytes.length} bytes (${why})`))),
    patch: (file, bytes) => store.patch(file, bytes).catch(tell((why) => kept(`change ${file} in ${kind} (${why})`))),
    remove: (file) => store.remove(file).catch(tell((why) => kept(`remove ${file} in ${kind} (${why})`))),
    async alone(run, signal) {
      let isIn = false;
      const inside = () => {
        isIn = true;
        return run();
      };
      return store.alone(inside, signal).catch((cause: unknown) => {
        if (isIn || signal.aborted) throw cause;
        return tell((why) => kept(`write in ${kind} (${why})`))(cause);
      });
    },
    hasNews: () => store.hasNews(),
    leave: () => store.leave(),
    close: () => store.close(),
  };
}

/** Nothing is kept of segments but the names: what they say is in the index already, and no one else reads them. */
export function memoryStore(): SegmentStore {
  const files = new Map<string, Uint8Array | undefined>();
  return {
    kind: 'memory',
    forgets: true,
    list: async () => [...files.keys()],
    read: async (name) => files.get(name)?.slice(),
    async add(name, bytes) {
      if (files.has(name)) return false;
      files.set(name, name.startsWith('head') ? bytes.slice() : undefined);
      return true;
    },
    patch: async (name, bytes) => void files.set(name, bytes.slice()),
    remove: async (name) => void files.delete(name),
    alone: (run) => run(),
    hasNews: () => false,
    leave: async () => {},
    close: () => {},
  };
}

/** Says yes once in so many milliseconds. */
export function every(ms: number): () => boolean {
  let last = 0;
  return () => {
    const isDue = Date.now() - last >= ms;
    if (isDue) last = Date.now();
    return isDue;
  };
}
