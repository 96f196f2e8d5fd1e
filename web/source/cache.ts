// The cache of downloads. Files are stored in pieces, each checked by its SHA-256. An incomplete file is downloaded from its first missing
// or damaged piece on; a complete one needs no network. If the store fails (quota, permissions), loading continues without it.
import { env } from '../core/env.js';
import { checkOptions } from '../core/options.js';
import { InputError, NetworkError } from '../core/errors.js';
import { htmlError, hubSource, looksLikeHtml, type RangeSource } from './fetch_source.js';
import type { ModelSource, OpenFile, PieceStore } from './source.js';
import { platform } from './platform.js';
import { abortError, pause } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { CachedFile, SourceOptions } from './types.js';

const kPieceBytes = 4 << 20;
const kEntry = 'entry.json';
const kPollMs = 100;
const kPatienceMs = 30_000;

interface Entry {
  model: string;
  file: string;
  /** Undefined until the download is complete. */
  size?: number | undefined;
  etag: string;
  pieces: string[];
  /** The server has no such file. */
  missing?: boolean;
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const isWhole = ({ missing, size, pieces }: Entry) =>
  !missing && size !== undefined && pieces.length === Math.ceil(size / kPieceBytes);

async function readEntry(store: PieceStore, key: string): Promise<Entry | undefined> {
  try {
    const bytes = await store.get(key, kEntry);
    const entry = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Entry);
    return entry && Array.isArray(entry.pieces) ? entry : undefined;
  } catch {
    return undefined; // treated as absent
  }
}

/** A piece, if it is present and its hash is right. */
async function readPiece(store: PieceStore, key: string, { pieces }: Entry, i: number): Promise<Uint8Array | undefined> {
  try {
    const bytes = await store.get(key, String(i));
    return bytes && (await sha256(bytes)) === pieces[i] ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file's pieces as they arrive. After the store's first failure it stops writing. */
class Writer {
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
      await this.store.put(this.key, kEntry, new TextEncoder().encode(JSON.stringify(this.entry)));
    } catch {
      this.refused = true;
    }
  }
}

/**
 * Takes the lock for writing a key's pieces and returns the function that releases it. Waits as long as another writer makes progress.
 * The lock only saves downloads: two writers are safe, because pieces are written atomically and used only if their hash is the entry's.
 */
async function lockKey(store: PieceStore, key: string, signal: AbortSignal): Promise<() => void> {
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

/** A hub repository behind the cache. offline: only the cache is used. */
class CachedSource implements ModelSource {
  readonly phase = 'download';

  constructor(
    private readonly source: RangeSource,
    private readonly store: PieceStore,
    private readonly offline: boolean,
  ) {}

  get name(): string {
    return this.source.name;
  }

  place(file: string): string {
    return this.source.place(file);
  }

  async size(file: string, signal: AbortSignalLike): Promise<number | undefined> {
    const entry = await readEntry(this.store, this.place(file));
    return entry && isWhole(entry) ? entry.size : this.offline ? undefined : this.source.size(file, signal as AbortSignal);
  }

  async open(file: string, signal: AbortSignal): Promise<OpenFile | undefined> {
    const key = this.place(file);
    const kept = async () => {
      const entry = await readEntry(this.store, key);
      const whole =
        entry && isWhole(entry) ? { size: entry.size, chunks: () => this.chunks(file, entry, undefined, signal) } : undefined;
      return { entry, whole };
    };
    const before = await kept();
    if (before.whole) return before.whole;
    if (this.offline) return this.absent(file, before.entry);
    const release = await lockKey(this.store, key, signal);
    signal.addEventListener('abort', release, { once: true });
    try {
      const { entry, whole } = await kept(); // another writer may have completed it
      const opened = whole ?? (await this.download(file, entry, signal));
      if (!opened || whole) release();
      return opened && { ...opened, chunks: () => finallyDo(opened.chunks(), release) };
    } catch (error) {
      release();
      throw error;
    }
  }

  private async download(file: string, entry: Entry | undefined, signal: AbortSignal): Promise<OpenFile | undefined> {
    const kept = entry && !entry.missing && entry.etag !== '' ? entry.pieces.length : 0;
    let answer;
    try {
      answer = await this.source.openFrom(file, kept * kPieceBytes, signal);
    } catch (error) {
      // Without a network, a file that was missing before is missing: otherwise absent optional files would make loading fail.
      if (entry?.missing && error instanceof NetworkError && error.status === undefined) return undefined;
      throw error;
    }
    if (!answer) {
      await new Writer(this.store, this.place(file), { model: this.name, file, etag: '', pieces: [], missing: true }).end();
      return undefined;
    }
    const resumes = entry !== undefined && answer.from > 0 && answer.etag === entry.etag;
    if (answer.from > 0 && !resumes) answer = await this.source.openFrom(file, 0, signal); // the file has changed
    if (!answer) return undefined;
    const now: Entry = resumes ? entry : { model: this.name, file, etag: answer.etag, pieces: [] };
    const { size } = answer;
    return { size, chunks: () => this.chunks(file, now, answer, signal) };
  }

  private absent(file: string, entry: Entry | undefined): undefined {
    if (entry?.missing) return undefined;
    throw new InputError(
      `${file}: this file of '${this.name}' is not in the cache, and local_files_only (or env.allowRemoteModels = false) forbids the network`,
    );
  }

  /** Yields valid cached pieces, then downloads the rest and writes it to the cache. */
  private async *chunks(
    file: string,
    entry: Entry,
    open: Awaited<ReturnType<RangeSource['openFrom']>>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const key = this.place(file);
    const known = entry.pieces.length;
    let right = 0;
    for (; right < known; ++right) {
      const piece = await readPiece(this.store, key, entry, right);
      if (!piece) break;
      if (signal.aborted) throw abortError(signal);
      yield piece;
    }
    if (right === known && isWhole(entry)) return;
    const begin = right * kPieceBytes;
    let answer = open;
    if (!answer || answer.from > begin || right < known) {
      await open?.chunks().return?.(undefined);
      if (this.offline) throw new InputError(`${file}: the cached copy is damaged, and the network is forbidden`);
      answer = await this.source.openFrom(file, begin, signal);
    }
    if (!answer || (begin > 0 && answer.etag !== entry.etag)) {
      await this.store.delete(key).catch(() => {});
      throw new NetworkError(`${file}: the file changed on the server during the download; load again`, key, undefined);
    }
    entry.etag = answer.etag;
    entry.pieces.length = right;
    delete entry.size;
    const writer = new Writer(this.store, key, entry);
    let skip = begin - answer.from; // a server without range requests sends the whole file
    for await (const chunk of answer.chunks()) {
      const passed = Math.min(skip, chunk.length);
      skip -= passed;
      const fresh = chunk.subarray(passed);
      if (begin === 0 && entry.pieces.length === 0 && looksLikeHtml(fresh)) throw htmlError(file, key);
      await writer.write(fresh);
      if (fresh.length > 0) yield fresh;
    }
    await writer.end();
  }
}

async function* finallyDo<T>(items: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* items;
  } finally {
    end();
  }
}

const storeOf = (options: SourceOptions) => (env.useCache ? platform.store(options.cache_dir ?? env.cacheDir) : undefined);

/** A repository of a hub, behind the cache if there is one. */
export function cachedHubSource(id: string, options: SourceOptions, local: boolean): ModelSource {
  const source = hubSource(id, options.revision ?? 'main');
  const store = storeOf(options);
  if (store) return new CachedSource(source, store, local);
  if (!local) return source;
  throw new InputError(`model: '${id}' is a hub id, and local_files_only (or env.allowRemoteModels = false) forbids the network`);
}

type CacheOptions = Pick<SourceOptions, 'cache_dir' | 'revision'>;

async function entriesOf(
  where: string,
  model: string | undefined,
  options: CacheOptions,
): Promise<{ store: PieceStore; found: [string, Entry][] }> {
  checkOptions(where, options, { cache_dir: 'string', revision: 'string' });
  const store = storeOf(options);
  if (!store) throw new InputError('cache: not available (env.useCache is false, or this page may not store data)');
  const prefix = model === undefined ? '' : hubSource(model, options.revision ?? 'main').place('');
  const keys = (await store.keys()).filter((key) => key.startsWith(prefix));
  const entries = await Promise.all(keys.map(async (key) => [key, await readEntry(store, key)] as const));
  return { store, found: entries.filter((pair): pair is [string, Entry] => pair[1] !== undefined) };
}

/** The cache of downloads from hubs. Options: `cache_dir` and `revision`, as for loading. */
export const cache = {
  /** Lists all cached files, or those of a hub id. */
  async list(model?: string, options: CacheOptions = {}): Promise<CachedFile[]> {
    const { found } = await entriesOf('cache.list', model, options);
    return found
      .filter(([, entry]) => !entry.missing)
      .map(([url, entry]) => ({
        model: entry.model,
        file: entry.file,
        url,
        bytes: entry.size ?? entry.pieces.length * kPieceBytes,
        complete: isWhole(entry),
      }));
  },

  /** Whether a hub id can be loaded without a network: its weights are cached and no file is incomplete. */
  async has(model: string, options: CacheOptions = {}): Promise<boolean> {
    checkOptions('cache.has', options, { cache_dir: 'string', revision: 'string' });
    const files = await cache.list(model, options);
    return files.every(({ complete }) => complete) && files.some(({ file }) => /\.(safetensors|gguf)$/.test(file));
  },

  /** Deletes all files, or those of a hub id, and returns how many there were. */
  async delete(model?: string, options: CacheOptions = {}): Promise<number> {
    const { store, found } = await entriesOf('cache.delete', model, options);
    for (const [key] of found) await store.delete(key);
    return found.filter(([, entry]) => !entry.missing).length;
  },
};
