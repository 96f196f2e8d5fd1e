// The entries of the cache: a file's pieces, each with its SHA-256, and what is known of the file.
import { parseJson } from '../core/json.js';
import { pause } from '../core/signal.js';
import type { PieceStore } from './open_file.js';

export const kPieceBytes = 4 << 20;
const kEntry = 'entry.json';
const kPollMs = 100;
const kPatienceMs = 30_000;

export interface Entry {
  model: string;
  file: string;
  /** Undefined until the download is complete. */
  size?: number | undefined;
  etag: string;
  pieces: string[];
  /** The server has no such file. */
  missing?: boolean;
  /** A loader has taken the file. */
  accepted?: boolean;
  /** Weights that only loads with this data type have used: a copy may take their place. */
  only?: string;
  /** A copy of the file as the engine has it (held_copy.ts). */
  copy?: { dtype: string; format: number };
}

const kCopy = '.wattn-q8';
/** The key of a file's copy. */
export const copyKey = (key: string): string => key + kCopy;
/** The key of the file, of which this may be the copy. */
export const fileKey = (key: string): string => (key.endsWith(kCopy) ? key.slice(0, -kCopy.length) : key);

async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const isWhole = ({ missing, size, pieces }: Entry) =>
  !missing && size !== undefined && pieces.length === Math.ceil(size / kPieceBytes);

function isEntry(json: unknown): json is Entry {
  const { model, file, size, etag, pieces } = (json ?? {}) as { [name in keyof Entry]?: unknown };
  const texts = [model, file, etag, ...(Array.isArray(pieces) ? pieces : [undefined])];
  return (
    texts.every((text) => typeof text === 'string') && (size === undefined || (Number.isSafeInteger(size) && Number(size) >= 0))
  );
}

export async function readEntry(store: PieceStore, key: string): Promise<Entry | undefined> {
  try {
    const bytes = await store.get(key, kEntry);
    const entry: unknown = bytes && parseJson(new TextDecoder().decode(bytes));
    return isEntry(entry) ? entry : undefined;
  } catch {
    return undefined; // treated as absent
  }
}

export const writeEntry = (store: PieceStore, key: string, entry: Entry) =>
  store.put(key, kEntry, new TextEncoder().encode(JSON.stringify(entry)));

/** A piece, if it is present and its hash is right. */
export async function readPiece(store: PieceStore, key: string, { pieces }: Entry, i: number): Promise<Uint8Array | undefined> {
  try {
    const bytes = await store.get(key, String(i));
    return bytes && (await sha256(bytes)) === pieces[i] ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file's pieces as they arrive. After the store's first failure it stops writing. */
export class Writer {
  private readonly piece = new Uint8Array(kPieceBytes);
  private filled = 0;
  private refused = false;

  constructor(
    private readonly store: PieceStore,
    private readonly key: string,
    private readonly entry: Entry,
  ) {}

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      const some = chunk.subarray(at, at + kPieceBytes - this.filled);
      this.piece.set(some, this.filled);
      this.filled += some.length;
      at += some.length;
      if (this.filled === kPieceBytes) await this.flush();
    }
  }

  async end(): Promise<void> {
    this.entry.size = this.entry.pieces.length * kPieceBytes + this.filled;
    // The size is saved with the last piece: without it, a short piece would pass for a full one.
    if (this.filled > 0) await this.flush();
    else await this.save();
  }

  private async flush(): Promise<void> {
    const bytes = this.piece.slice(0, this.filled);
    this.filled = 0;
    if (this.refused) return;
    const { entry, key, store } = this;
    try {
      await store.put(key, String(entry.pieces.length), bytes);
      entry.pieces.push(await sha256(bytes));
      await this.save();
    } catch {
      this.refused = true; // quota or permissions: the caller still gets the bytes
    }
  }

  private async save(): Promise<void> {
    if (this.refused) return;
    try {
      await writeEntry(this.store, this.key, this.entry);
    } catch {
      this.refused = true;
    }
  }
}

/**
 * Takes the lock for writing a key's pieces and returns the function that releases it. Waits as long as another writer makes progress.
 * The lock only saves downloads: two writers are safe, because pieces are written atomically and used only if their hash is the entry's.
 */
export async function lockKey(store: PieceStore, key: string, signal: AbortSignal): Promise<() => void> {
  const none = () => {};
  let seen = -1;
  let since = 0;
  for (;;) {
    const release = store.tryLock ? await store.tryLock(key).catch(() => none) : none;
    if (release) return release;
    const pieces = (await readEntry(store, key))?.pieces.length ?? 0;
    if (pieces !== seen) since = performance.now();
    if (performance.now() - since > kPatienceMs) return none;
    seen = pieces;
    await pause(kPollMs, signal);
  }
}
