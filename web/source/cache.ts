// The cache of downloads. Files are stored in pieces, each checked by its SHA-256. An incomplete file is downloaded from its first missing
// or damaged piece on; a complete one needs no network. If the store fails (quota, permissions), loading continues without it.
//
// An entry is accepted once a loader took the file. Files that a loader refuses are not kept: one that came from the cache is requested once
// more (load_from.ts). The copy of an accepted file is replaced only by one that is accepted too, because the loader may have refused another file.
import { env } from '../core/env.js';
import { readOptions } from '../core/options.js';
import { InputError, ModelFormatError, NetworkError, UnsupportedError } from '../core/errors.js';
import { isWhole, kPieceBytes, lockKey, readEntry, readPiece, writeEntry, Writer, type Entry } from './cache_entries.js';
import { htmlError, hubSource, looksLikeHtml, type RangeSource } from './fetch_source.js';
import type { ModelSource, OpenFile, PieceStore, Platform } from './source.js';
import { platform } from './platform.js';
import { accessOf } from './access.js';
import { abortError, onAbort } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { CachedFile, SourceOptions } from './types.js';

const isWeights = (file: string) => /\.(safetensors|gguf|bin)$/i.test(file);

/** A file that was requested although the cache has it. */
interface Anew {
  etag: string;
  /** Its bytes, to replace the cached ones. undefined: the server has no such file, or it is weights, which are too large to be held. */
  bytes: Uint8Array[] | undefined;
}

/** A hub repository behind the cache. offline: only the cache is used. */
class CachedSource implements ModelSource {
  readonly phase = 'download';
  /** Files that the current load has begun to read, and whether some of it came from the cache. */
  private readonly used = new Map<string, { entry: Entry; cached: boolean }>();
  /** Accepted files that were then refused: they are requested once more, and read beside the cache. */
  private readonly doubted = new Set<string>();
  private readonly anew = new Map<string, Anew>();
  /** Whether this load found that the cache and the server have different files. */
  private changed = false;
  /** Writes to the store that have begun. A load that failed waits for them before it deletes what they write. */
  private readonly writes = new Set<Promise<void>>();
  /** Repositories that this model takes files from, by id. They are accepted and refused with it. */
  private readonly besides = new Map<string, CachedSource>();

  constructor(
    private readonly source: RangeSource,
    private readonly store: PieceStore,
    private readonly offline: boolean,
    private readonly copied?: ReturnType<NonNullable<Platform['pythonCopy']>>,
  ) {}

  others(id: string): ModelSource[] {
    const [source] = this.source.others?.(id) as [RangeSource];
    const known = this.besides.get(id) ?? new CachedSource(source, this.store, this.offline);
    this.besides.set(id, known);
    return [known];
  }

  get name(): string {
    return this.source.name;
  }

  place(file: string): string {
    return this.source.place(file);
  }

  kept(): Promise<string[]> {
    return this.store.keys();
  }

  async size(file: string, signal: AbortSignalLike): Promise<number | undefined> {
    const entry = await readEntry(this.store, this.place(file));
    if (entry && isWhole(entry) && !this.doubted.has(file)) return entry.size;
    const copied = await this.copied?.(file, signal as AbortSignal);
    if (this.offline || copied !== undefined) return copied?.size;
    return this.source.size(file, signal as AbortSignal);
  }

  async accepted(): Promise<void> {
    const accept = async (file: string, { entry }: { entry: Entry }) => {
      const key = this.place(file);
      const now = entry.accepted ? undefined : await readEntry(this.store, key);
      if (!now || !isWhole(now) || now.pieces.join() !== entry.pieces.join()) return;
      await writeEntry(this.store, key, { ...now, accepted: true }).catch(() => {});
    };
    const replace = async (file: string, { etag, bytes }: Anew) => {
      const key = this.place(file);
      await this.store.delete(key).catch(() => {});
      if (!bytes) return; // the next load downloads it
      const writer = new Writer(this.store, key, { model: this.name, file, etag, pieces: [], accepted: true });
      for (const chunk of bytes) await writer.write(chunk);
      await writer.end();
    };
    const settle = () => this.store.settle?.().catch(() => {});
    await settle(); // the pieces, before an entry says that they are accepted
    await Promise.all([...this.used].map((pair) => accept(...pair)));
    await Promise.all([...this.anew].map((pair) => replace(...pair)));
    await Promise.all([...this.besides.values()].map((other) => other.accepted()));
    await settle();
    this.doubted.clear();
    this.forget();
  }

  async refused(error: unknown): Promise<boolean> {
    const ofFiles = error instanceof ModelFormatError || error instanceof UnsupportedError || this.changed;
    await Promise.all(this.writes);
    let again = false;
    for (const [file, { entry, cached }] of ofFiles && !this.offline ? this.used : []) {
      again ||= cached;
      if (entry.accepted) this.doubted.add(file);
      else await this.store.delete(this.place(file)).catch(() => {});
    }
    for (const other of this.besides.values()) again = (await other.refused(error)) || again;
    this.forget();
    return again;
  }

  private forget(): void {
    this.used.clear();
    this.anew.clear();
    this.changed = false;
  }

  async open(file: string, signal: AbortSignal): Promise<OpenFile | undefined> {
    const key = this.place(file);
    const kept = async () => {
      const entry = await readEntry(this.store, key);
      if (entry && isWhole(entry)) await this.checkSize(key, entry);
      const whole: OpenFile | undefined =
        entry && isWhole(entry)
          ? {
              size: entry.size,
              part: (begin) => this.part(key, entry, Math.floor(begin / kPieceBytes)),
              chunks: () => this.chunks(file, entry, undefined, signal),
            }
          : undefined;
      return { entry, whole };
    };
    const before = await kept();
    if (before.whole) {
      const anew = this.doubted.has(file) ? await this.openAnew(file, before.entry as Entry, signal) : undefined;
      return anew ? anew.open : before.whole;
    }
    const copied = await this.copied?.(file, signal);
    if (copied !== undefined) return copied ?? undefined;
    if (this.offline) return this.absent(file, before.entry);
    const release = await lockKey(this.store, key, signal);
    onAbort(signal, release);
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

  /** Forgets a size that the last piece contradicts: it was damaged, and the file is downloaded from that piece on. */
  private async checkSize(key: string, entry: Entry): Promise<void> {
    const before = kPieceBytes * (entry.pieces.length - 1);
    const last =
      entry.pieces.length > 0 ? await this.store.get(key, String(entry.pieces.length - 1)).catch(() => undefined) : undefined;
    if (!last || before + last.length === entry.size) return; // a missing piece is downloaded
    entry.pieces.pop();
    delete entry.size;
  }

  /** A doubted file from the server; undefined: the cached one is the server's, or the server does not respond. */
  private async openAnew(file: string, entry: Entry, signal: AbortSignal): Promise<{ open: OpenFile | undefined } | undefined> {
    try {
      const weights = isWeights(file);
      const { size, etag } = (weights && entry.etag !== '' && (await this.source.head(file, signal))) || {};
      if (size === entry.size && etag === entry.etag) return undefined;
      const open = await this.source.openFrom(file, 0, signal);
      const bytes: Uint8Array[] | undefined = weights || !open ? undefined : [];
      this.anew.set(file, { etag: open?.etag ?? '', bytes });
      return {
        open: open && {
          size: open.size,
          part: open.part,
          chunks: () => watched(open.chunks(), (chunk) => bytes?.push(chunk.slice())),
        },
      };
    } catch (error) {
      if (error instanceof NetworkError) return undefined;
      throw error;
    }
  }

  private async download(file: string, entry: Entry | undefined, signal: AbortSignal): Promise<OpenFile | undefined> {
    const kept = entry && !entry.missing && entry.etag !== '' ? entry.pieces.length : 0;
    let answer;
    try {
      answer = await this.source.openFrom(file, kept * kPieceBytes, signal);
    } catch (error) {
      // A file that was missing before is missing without a network, and where the server refuses to say so to a caller without a token: otherwise absent
      // optional files would make loading fail.
      const isSilent = error instanceof NetworkError && [undefined, 401, 403].includes(error.status);
      if (entry?.missing && isSilent) return undefined;
      throw error;
    }
    if (!answer) {
      const writer = new Writer(this.store, this.place(file), { model: this.name, file, etag: '', pieces: [], missing: true });
      await this.write(() => writer.end(), signal);
      return undefined;
    }
    const resumes = entry !== undefined && answer.from > 0 && answer.etag === entry.etag;
    if (answer.from > 0 && !resumes) answer = await this.source.openFrom(file, 0, signal); // the file has changed
    if (!answer) return undefined;
    const now: Entry = resumes ? entry : { model: this.name, file, etag: answer.etag, pieces: [] };
    const { size } = answer;
    return { size, part: answer.part, chunks: () => this.chunks(file, now, answer, signal) };
  }

  /** A whole file from one of its pieces on. It ends at a piece that is damaged. */
  private async part(key: string, entry: Entry, first: number) {
    const { store } = this;
    async function* chunks() {
      for (let i = first, piece; i < entry.pieces.length && (piece = await readPiece(store, key, entry, i)); ++i) yield piece;
    }
    return { from: first * kPieceBytes, chunks };
  }

  private absent(file: string, entry: Entry | undefined): undefined {
    if (entry?.missing) return undefined;
    throw new InputError(
      `${file}: this file of '${this.name}' is not in the cache, and local_files_only (or env.allowRemoteModels = false, HF_HUB_OFFLINE) forbids the network`,
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
    this.used.set(file, { entry, cached: known > 0 });
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
      this.changed = true;
      delete entry.accepted;
      throw new NetworkError(`${file}: the file changed on the server during the download; load again`, key, undefined);
    }
    entry.etag = answer.etag;
    entry.pieces.length = right;
    delete entry.size;
    delete entry.accepted;
    const writer = new Writer(this.store, key, entry);
    let skip = begin - answer.from; // a server without range requests sends the whole file
    for await (const chunk of answer.chunks()) {
      const passed = Math.min(skip, chunk.length);
      skip -= passed;
      const fresh = chunk.subarray(passed);
      if (begin === 0 && entry.pieces.length === 0 && looksLikeHtml(fresh)) throw htmlError(file, key);
      await this.write(() => writer.write(fresh), signal);
      if (fresh.length > 0) yield fresh;
    }
    await this.write(() => writer.end(), signal);
    if (begin > 0 || answer.isPieced()) await this.checkHash(file, entry, answer.sha256);
  }

  /** Runs a write, and begins none after the load has ended. */
  private async write(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw abortError(signal);
    const writing = work();
    this.writes.add(writing);
    try {
      await writing;
    } finally {
      this.writes.delete(writing);
    }
  }

  /**
   * Compares a file that came in several responses with the SHA-256 that the server names. A file of one response is not hashed: that would cost more
   * than reading it. Nothing is compared if the store did not take the file.
   */
  private async checkHash(file: string, entry: Entry, named: string | undefined): Promise<void> {
    if (named === undefined || !isWhole(entry)) return;
    const { Sha256 } = await import('./sha256.js'); // rarely needed
    const hash = new Sha256();
    for (let i = 0; i < entry.pieces.length; ++i) {
      const piece = await readPiece(this.store, this.place(file), entry, i);
      if (!piece) return;
      hash.update(piece);
    }
    const found = hash.hex();
    if (found === named) return;
    this.changed = true;
    this.used.set(file, { entry, cached: true });
    throw new NetworkError(`${file}: expected bytes with the SHA-256 ${named}, found ${found}`, this.place(file));
  }
}

async function* watched(chunks: AsyncIterable<Uint8Array>, see: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    see(chunk);
    yield chunk;
  }
}

async function* finallyDo<T>(items: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* items;
  } finally {
    end();
  }
}

const storeOf = (options: SourceOptions) =>
  env.useCache && env.useBrowserCache && env.useFSCache && env.useFS
    ? platform.store(options.cache_dir ?? env.cacheDir)
    : undefined;

/** A repository of a hub, behind the cache if there is one. */
export function cachedHubSource(id: string, options: SourceOptions, local: boolean): ModelSource {
  const source = hubSource(id, options, accessOf(options));
  const store = storeOf(options);
  if (store) return new CachedSource(source, store, local, platform.pythonCopy?.(id, options.revision ?? 'main', source, local));
  if (!local) return source;
  const why = 'local_files_only (or env.allowRemoteModels = false, HF_HUB_OFFLINE) forbids the network';
  throw new InputError(`model: '${id}' is a hub id, and ${why}${platform.folderHint?.(id) ?? ''}`);
}

type CacheOptions = Pick<SourceOptions, 'cache_dir' | 'revision'>;

async function entriesOf(
  where: string,
  model: string | undefined,
  options: CacheOptions,
): Promise<{ store: PieceStore; keys: string[]; found: [string, Entry][] }> {
  options = readOptions(where, options, { cache_dir: 'string', revision: 'string' });
  const store = storeOf(options);
  const unavailable = (cause?: unknown) =>
    new InputError('cache: not available (env.useCache is false, or this page may not store data)', { cause });
  if (!store) throw unavailable();
  const prefix = model === undefined ? '' : hubSource(model, options, {}).place('x').slice(0, -1); // the folder of any file
  const keys = (await store.keys().catch((cause: unknown) => Promise.reject(unavailable(cause)))).filter((key) =>
    key.startsWith(prefix),
  );
  const entries = await Promise.all(keys.map(async (key) => [key, await readEntry(store, key)] as const));
  return { store, keys, found: entries.filter((pair): pair is [string, Entry] => pair[1] !== undefined) };
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
        complete: isWhole(entry) && entry.accepted === true,
      }));
  },

  /** Whether a hub id can be loaded without a network: its weights are cached, no file is incomplete, and a load has accepted them. */
  async has(model: string, options: CacheOptions = {}): Promise<boolean> {
    options = readOptions('cache.has', options, { cache_dir: 'string', revision: 'string' });
    const files = await cache.list(model, options);
    return files.every(({ complete }) => complete) && files.some(({ file }) => isWeights(file));
  },

  /** Deletes all files, or those of a hub id, and returns how many there were. */
  async delete(model?: string, options: CacheOptions = {}): Promise<number> {
    const { store, keys, found } = await entriesOf('cache.delete', model, options);
    for (const key of keys) await store.delete(key); // also those whose entry cannot be read
    if (model === undefined) await store.clear();
    return found.filter(([, entry]) => !entry.missing).length;
  },
};
