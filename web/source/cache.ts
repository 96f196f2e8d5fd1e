// The cache of downloads. Files are stored in pieces, each checked by its SHA-256. An incomplete file is downloaded from its first missing
// or damaged piece on; a complete one needs no network. If the store fails (quota, permissions), loading continues without it.
//
// An entry is accepted once a loader took the file. Files that a loader refuses are not kept: one that came from the cache is requested once
// more (load_from.ts). The copy of an accepted file is replaced only by one that is accepted too, because the loader may have refused another file.
import { env } from '../core/env.js';
import { InputError, ModelFormatError, NetworkError, UnsupportedError } from '../core/errors.js';
import { copyKey, isWhole, kPieceBytes, lockKey, readEntry, readPiece, writeEntry, Writer, type Entry } from './cache_entries.js'; // prettier-ignore
import { htmlError, hubSource, looksLikeHtml, type RangeSource } from './fetch_source.js';
import type { Copies, ModelSource, OpenFile, PieceStore, Platform } from './source.js';
import type { CopyError, Taken } from './held_copy.js';
import { platform } from './platform.js';
import { accessOf } from './access.js';
import { abortError, onAbort } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { SourceOptions } from './types.js';

export const isWeights = (file: string) => /\.(safetensors|gguf|bin)$/i.test(file);

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
  /** Weight files that the engine has taken as published, and those of which it has read a copy. */
  private readonly taken = new Map<string, Taken>();
  private readonly copiesUsed = new Set<string>();
  /** Files that the repository does not have, and whether the cache says so. */
  private readonly absences = new Map<string, { cached: boolean }>();

  constructor(
    private readonly source: RangeSource,
    private readonly store: PieceStore,
    private readonly offline: boolean,
    private readonly copied?: ReturnType<NonNullable<Platform['pythonCopy']>>,
    public copies?: Copies,
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
    const copy = this.copies && (await readEntry(this.store, copyKey(this.place(file))));
    const entry = copy?.accepted ? copy : await readEntry(this.store, this.place(file));
    if (entry && isWhole(entry) && !this.doubted.has(file)) return entry.size;
    const copied = await this.copied?.(file, signal as AbortSignal);
    if (this.offline || copied !== undefined) return copied?.size;
    return this.source.size(file, signal as AbortSignal);
  }

  async accepted(): Promise<void> {
    const accept = async (file: string, { entry }: { entry: Entry }) => {
      const key = this.place(file);
      const isOnly = this.taken.has(file); // by loads that can do with a copy
      const now = entry.accepted && (isOnly || !entry.only) ? undefined : await readEntry(this.store, key);
      if (!now || !isWhole(now) || now.pieces.join() !== entry.pieces.join()) return;
      const { only: _, ...rest } = now;
      await writeEntry(this.store, key, { ...rest, accepted: true, ...(isOnly && { only: 'q8' }) }).catch(() => {});
    };
    const acceptAbsence = async (file: string, { cached }: { cached: boolean }) => {
      const now = cached ? undefined : await readEntry(this.store, this.place(file));
      if (now?.missing) await writeEntry(this.store, this.place(file), { ...now, accepted: true }).catch(() => {});
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
    await Promise.all([...this.absences].map((pair) => acceptAbsence(...pair)));
    await Promise.all([...this.anew].map((pair) => replace(...pair)));
    await Promise.all([...this.besides.values()].map((other) => other.accepted()));
    await settle();
    this.doubted.clear();
    const { store, copies } = this;
    const taken = copies?.makes ? [...this.taken.values()] : [];
    const used = [...this.copiesUsed].map((file) => this.place(file));
    this.forget();
    // Afterwards: the model can be used meanwhile.
    if (taken.length + used.length > 0)
      void copies?.load().then(
        (own) => own.settleCopies(store, taken, used),
        () => {},
      );
  }

  async refused(error: unknown): Promise<boolean> {
    const ofFiles = error instanceof ModelFormatError || error instanceof UnsupportedError || this.changed;
    await Promise.all(this.writes);
    const { copy } = error as { copy?: CopyError['copy'] };
    if (copy) {
      await (await this.copies?.load())?.dropCopy(this.store, this.place(copy.file), copy);
      if (!copy.damaged) this.copies = undefined;
      this.forget();
      return true;
    }
    let again = false;
    for (const [file, { entry, cached }] of ofFiles && !this.offline ? this.used : []) {
      again ||= cached;
      if (entry.accepted) this.doubted.add(file);
      else await this.store.delete(this.place(file)).catch(() => {});
    }
    const trusted = [...this.copiesUsed, ...[...this.absences].flatMap(([file, { cached }]) => (cached ? [file] : []))];
    for (const file of ofFiles && !this.offline ? trusted : []) {
      again = true;
      this.doubted.add(file);
    }
    for (const other of this.besides.values()) again = (await other.refused(error)) || again;
    this.forget();
    return again;
  }

  private forget(): void {
    this.used.clear();
    this.taken.clear();
    this.copiesUsed.clear();
    this.absences.clear();
    this.anew.clear();
    this.changed = false;
  }

  async open(file: string, signal: AbortSignal): Promise<OpenFile | undefined> {
    if (!this.copies || !file.endsWith('.safetensors')) return this.openPublished(file, signal);
    const key = this.place(file);
    const entry = await readEntry(this.store, copyKey(key));
    if (entry?.accepted) {
      const head = this.doubted.has(file) && !this.offline ? () => this.source.head(file, signal) : undefined;
      const copy = await (await this.copies.load()).openCopy(this.store, file, key, entry, this.offline, head);
      if (copy) {
        this.copiesUsed.add(file);
        return copy;
      }
    }
    const open = await this.openPublished(file, signal);
    return open && { ...open, keep: (held) => void this.taken.set(file, { key, held }) };
  }

  private async openPublished(file: string, signal: AbortSignal): Promise<OpenFile | undefined> {
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
    if (before.entry?.missing && before.entry.accepted && !this.doubted.has(file)) {
      this.absences.set(file, { cached: true });
      return undefined;
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
      // A file that was missing before is missing without a network, and where the server refuses to say so to a caller without a token. Otherwise
      // absent optional files would make loading fail.
      const isSilent = error instanceof NetworkError && [undefined, 401, 403].includes(error.status);
      if (entry?.missing && isSilent) return undefined;
      throw error;
    }
    if (!answer) {
      const writer = new Writer(this.store, this.place(file), { model: this.name, file, etag: '', pieces: [], missing: true });
      await this.write(() => writer.end(), signal);
      this.absences.set(file, { cached: false });
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

  private async absent(file: string, entry: Entry | undefined): Promise<undefined> {
    if (entry?.missing) return undefined;
    const copy = await readEntry(this.store, copyKey(this.place(file)));
    throw new InputError(
      `${file}: this file of '${this.name}' is not in the cache${copy?.accepted ? " except as a copy for dtype: 'q8'" : ''}, and local_files_only (or env.allowRemoteModels = false, HF_HUB_OFFLINE) forbids the network`,
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

export const storeOf = (options: SourceOptions) =>
  env.useCache && env.useBrowserCache && env.useFSCache && env.useFS
    ? platform.store(options.cache_dir ?? env.cacheDir)
    : undefined;

/** A repository of a hub, behind the cache if there is one. */
export function cachedHubSource(id: string, options: SourceOptions, local: boolean, copies?: Copies): ModelSource {
  const source = hubSource(id, options, accessOf(options));
  const store = storeOf(options);
  const copied = platform.pythonCopy?.(id, options.revision ?? 'main', source, local);
  if (store) return new CachedSource(source, store, local, copied, copies);
  if (!local) return source;
  const why = 'local_files_only (or env.allowRemoteModels = false, HF_HUB_OFFLINE) forbids the network';
  throw new InputError(`model: '${id}' is a Hub id, and ${why}${platform.folderHint?.(id) ?? ''}`);
}
