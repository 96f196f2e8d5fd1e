// What an index holds while it is open: its documents, and a row for each part of them, in vectors and in words.
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { Bm25, type Part } from './bm25.js';
import type { Steps } from './join_words.js';
import type { Segment } from './segments.js';
import { rowsOf, storedRowBytes, type StoredDocument, type VectorModel } from './stored_documents.js';
import type { StoredWords } from './stored_words.js';
import type { IndexDocument } from './types.js';
import { VectorRows } from './vector_rows.js';
import { Analyser } from './words.js';

/** A document and its place. */
export interface Entry extends StoredDocument {
  /** Its first row; the others follow. */
  first: number;
  /** Its vectors are missing: another model made those that were stored. */
  stale: boolean;
  /** The number of the segment that stores it. */
  at: number;
}

/** A document's own title: what something added to `Object.prototype` is none. */
export const titleOf = (document: IndexDocument): string | undefined =>
  Object.hasOwn(document, 'title') ? document.title : undefined;

/** A part of a document's text as it is read: after its title. */
export const withTitle = (document: IndexDocument, text: string): string => {
  const title = titleOf(document);
  return title === undefined ? text : `${title}\n${text}`;
};

/** What a filter lets through: a byte for each row. It holds as long as `Contents.owners` is the same list. */
export interface Passing {
  owners: readonly (Entry | undefined)[];
  rows: Uint8Array;
}

/** Documents between two looks at the time. */
const kBreath = 256;
/** Removed rows that are given back at once, if they are as many as the others. */
const kLeastGarbage = 1024;

/** Runs steps with breaks. */
async function inSteps<T>(steps: Steps<T>): Promise<T> {
  const breather = new Breather();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await breather.breathe(undefined);
  }
}

export class Contents {
  readonly documents = new Map<string, Entry>();
  /** [rows] the document of a row; undefined: removed. */
  owners: (Entry | undefined)[] = [];
  stale = 0;
  private removed = 0;
  /** The documents that a segment stores, by its number, with others that have left it since. */
  private readonly written = new Map<number, Entry[]>();
  private readonly remaining = new Map<number, number>();
  /** [rows] 1: may be found. */
  private living = new Uint8Array(64);
  words: Bm25;
  /** What stems the words, as it is stored; undefined: none was chosen. */
  language: string | undefined;
  /** Words of a query that count only if it has no others. */
  stopwords: ReadonlySet<string> | undefined;
  /** Reads words as they are written. */
  readonly asWritten = new Analyser({});
  /** Removed documents whose words still count, with the number of their rows that were read. */
  private readonly leaving = new Map<Entry, number>();
  private reading: Steps | undefined;

  /** model: whose vectors the rows hold; undefined: none, and `vectors` has no rows. */
  constructor(
    private makeWords: () => Bm25,
    public model?: VectorModel,
    public vectors?: VectorRows,
  ) {
    this.words = makeWords();
  }

  /** An empty one for the same words. */
  empty(): Contents {
    const out = new Contents(this.makeWords);
    out.language = this.language;
    out.stopwords = this.stopwords;
    return out;
  }

  /** Living rows. */
  get rows(): number {
    return this.owners.length - this.removed;
  }

  /** Takes vectors of this model from now on. Those that are there are of another one. */
  begin(model: VectorModel, vectors: VectorRows): void {
    vectors.append(new Float32Array(this.owners.length * model.dim));
    this.vectors?.dispose();
    this.model = model;
    this.vectors = vectors;
    for (const entry of this.documents.values()) entry.stale = true;
    this.stale = this.documents.size;
  }

  /** The part of a text that a row stands for. */
  part(row: number): { entry: Entry; start: number; end: number } {
    const entry = this.owners[row]!;
    const at = 2 * (row - entry.first);
    return { entry, start: entry.chunks[at]!, end: entry.chunks[at + 1]! };
  }

  /** The row of a document with the highest score. */
  bestRow(entry: Entry, scores: Float32Array): number {
    const end = entry.first + rowsOf(entry);
    let best = entry.first;
    for (let row = best + 1; row < end; ++row) if (scores[row]! > scores[best]!) best = row;
    return best;
  }

  /** The first rows of a document as their words are read, from one of them on. */
  private *wordsOf(
    entry: Pick<Entry, 'document' | 'chunks' | 'first'>,
    begin: number,
    end: number,
  ): Generator<Part, void, undefined> {
    const { document, first, chunks } = entry;
    for (let i = begin; i < end; ++i) {
      const [start, stop] = [chunks[2 * i]!, chunks[2 * i + 1]!];
      const before = i === 0 ? 0 : chunks[2 * i - 1]!;
      yield {
        first,
        count: rowsOf(entry),
        title: titleOf(document),
        text: document.text.slice(start, stop),
        shared: Math.max(0, before - start),
      };
    }
  }

  /** fits: whether the vectors are of this index' model. Searches may look at what is there so far. */
  async apply(segment: Segment, fits: boolean, at: number): Promise<void> {
    const breather = new Breather();
    const first = this.owners.length;
    for (const id of segment.deleted) this.remove(id);
    const rowBytes = storedRowBytes(segment.model);
    let place = 0;
    for (let begin = 0; begin < segment.documents.length; begin += kBreath) {
      const some = segment.documents.slice(begin, begin + kBreath);
      const end = place + some.reduce((sum, each) => sum + rowsOf(each), 0) * rowBytes;
      this.putVectors(some, segment.vectors.subarray(place, end), fits);
      for (const stored of some) this.put(stored, !fits || !!stored.stale, at);
      place = end;
      await breather.breathe(undefined);
    }
    if (segment.words) await this.takeWords(segment.words, first, segment.documents);
  }

  /** Takes the stored words of the newest rows, if this index reads words so, and those of all rows before them are known. Else texts are read. */
  private async takeWords(words: StoredWords, first: number, documents: readonly StoredDocument[]): Promise<void> {
    const isNext = this.words.rows === first && !this.reading;
    if (words.manner !== this.words.analyser.manner || !isNext || this.owners.includes(undefined, first)) return;
    this.words.take(words, documents.map(rowsOf));
    await inSteps(this.words.tidy(words.manner));
  }

  /** The rows of some documents: all at once, unless other models made some. */
  private putVectors(documents: readonly StoredDocument[], bytes: Uint8Array, fits: boolean): void {
    const { vectors } = this;
    if (!vectors) return;
    if (fits && !documents.some(({ stale }) => stale)) {
      vectors.appendStored(bytes);
      return;
    }
    let place = 0;
    for (const stored of documents) {
      const rows = rowsOf(stored);
      const end = place + (fits ? rows * vectors.rowBytes : 0);
      if (fits && !stored.stale) vectors.appendStored(bytes.subarray(place, end));
      else vectors.append(new Float32Array(rows * vectors.dim));
      place = end;
    }
  }

  private put({ document, chunks }: StoredDocument, stale: boolean, at: number): void {
    this.remove(document.id);
    const first = this.owners.length;
    const count = chunks.length / 2;
    const entry: Entry = { document, chunks, first, stale, at };
    if (entry.stale) ++this.stale;
    for (let i = 0; i < count; ++i) this.owners.push(entry);
    if (this.living.length < this.owners.length) {
      const more = new Uint8Array(2 * this.owners.length);
      more.set(this.living);
      this.living = more;
    }
    this.living.fill(1, first, first + count);
    this.documents.set(document.id, entry);
    if (!this.written.has(at)) this.written.set(at, []);
    this.written.get(at)!.push(entry);
    this.remaining.set(at, this.livingIn(at) + 1);
  }

  remove(id: string): boolean {
    const entry = this.documents.get(id);
    if (!entry) return false;
    const end = entry.first + rowsOf(entry);
    const read = Math.min(end, this.words.rows) - entry.first;
    if (read > 0) this.leaving.set(entry, read);
    this.owners.fill(undefined, entry.first, end);
    this.living.fill(0, entry.first, end);
    this.removed += end - entry.first;
    if (entry.stale) --this.stale;
    this.documents.delete(id);
    this.remaining.set(entry.at, this.livingIn(entry.at) - 1);
    return true;
  }

  /** How many documents a segment stores that have not been replaced or removed. at: its number. */
  livingIn(at: number): number {
    return this.remaining.get(at) ?? 0;
  }

  /** The documents that some segments store. */
  writtenIn(from: number, to: number): Entry[] {
    const numbers = [...this.written.keys()].filter((at) => at >= from && at <= to).sort((a, b) => a - b);
    return numbers.flatMap((at) => this.written.get(at)!.filter((entry) => this.documents.get(entry.document.id) === entry));
  }

  /** Takes some segments for one. */
  join(from: number, to: number): void {
    const entries = this.writtenIn(from, to);
    for (const at of this.written.keys()) {
      if (at < from || at > to) continue;
      this.written.delete(at);
      this.remaining.delete(at);
    }
    for (const entry of entries) entry.at = to;
    this.written.set(to, entries);
    this.remaining.set(to, entries.length);
  }

  /** Gives removed rows back if they are many. Rows get other numbers, and the words are read again. */
  tidy(): void {
    if (this.removed < kLeastGarbage || this.removed < this.rows) return;
    const keep = new Int32Array(this.rows);
    let row = 0;
    let last: Entry | undefined;
    this.owners.forEach((entry, from) => {
      if (!entry) return;
      if (entry !== last) entry.first = row;
      last = entry;
      keep[row++] = from;
    });
    this.vectors?.compact(keep);
    this.owners = this.owners.filter((entry) => entry !== undefined);
    this.removed = 0;
    this.living.fill(0);
    this.living.fill(1, 0, this.owners.length);
    this.forgetWords();
  }

  /** Reads words in another way from now on. */
  readAs(language: string | undefined, stopwords: ReadonlySet<string> | undefined, makeWords: () => Bm25): void {
    this.language = language;
    this.stopwords = stopwords;
    this.makeWords = makeWords;
    this.forgetWords();
  }

  private forgetWords(): void {
    this.words = this.makeWords();
    this.leaving.clear();
    this.reading = undefined;
  }

  /** Whether the words of all documents count, and no others. */
  get isRead(): boolean {
    return this.reading === undefined && this.leaving.size === 0 && this.words.rows === this.owners.length;
  }

  /** The words of some documents, as a segment of these stores them. Undefined: nothing says how they are read. */
  async storedWords(documents: readonly (StoredDocument | Entry)[]): Promise<StoredWords | undefined> {
    const { manner } = this.words.analyser;
    if (manner === undefined || documents.length === 0) return undefined;
    return inSteps(this.storingSteps(documents, manner));
  }

  private *storingSteps(documents: readonly (StoredDocument | Entry)[], manner: string): Steps<StoredWords> {
    const firsts = documents.flatMap((each) => ('first' in each ? [each.first] : []));
    const known = firsts.length === documents.length ? yield* this.words.storedOf(manner, firsts) : undefined;
    if (known) return known;
    const words = new Bm25(this.words.analyser.fresh());
    for (const { document, chunks } of documents) {
      for (const part of this.wordsOf({ document, chunks, first: words.rows }, 0, chunks.length / 2)) {
        yield* words.add(part);
        yield;
      }
    }
    return yield* words.stored(manner);
  }

  private *readingSteps(): Steps {
    for (;;) {
      for (const [entry, rows] of this.leaving) {
        yield* this.words.remove(this.wordsOf(entry, 0, rows));
        this.leaving.delete(entry);
      }
      const row = this.words.rows;
      if (row === this.owners.length) return;
      const entry = this.owners[row];
      if (!entry) this.words.skip();
      else for (const part of this.wordsOf(entry, row - entry.first, row - entry.first + 1)) yield* this.words.add(part);
      yield;
    }
  }

  /** Reads the words of documents that came or went since the last time, in steps that leave a page time for other things. */
  async readWords(signal: AbortSignalLike | undefined): Promise<void> {
    const breather = new Breather();
    while (!this.isRead) {
      this.reading ??= this.readingSteps(); // searches that run at once take turns at the same work
      try {
        if (this.reading.next().done) this.reading = undefined;
      } catch (error) {
        this.forgetWords(); // the text was read in part
        throw error;
      }
      await breather.breathe(signal);
    }
  }

  /** Which rows a filter lets through, looked at with breaks. Documents may come meanwhile; if rows get other numbers, it begins again. */
  async passing(filter: (document: IndexDocument) => boolean, signal: AbortSignalLike | undefined): Promise<Passing> {
    const breather = new Breather();
    for (;;) {
      const { owners } = this;
      const rows: number[] = [];
      let seen = 0;
      for (let row = 0; row < owners.length && owners === this.owners;) {
        const entry = owners[row];
        const count = entry ? rowsOf(entry) : 1;
        const passes = entry !== undefined && filter(entry.document);
        for (let i = 0; i < count; ++i) rows.push(passes ? 1 : 0);
        row += count;
        if (++seen % kBreath === 0) await breather.breathe(signal);
      }
      if (owners === this.owners) return { owners, rows: Uint8Array.from(rows) };
    }
  }

  /** Which rows may be found: a byte each. passing: of the same numbers; undefined: all. */
  allowed(passing: Passing | undefined): Uint8Array {
    const all = this.living.subarray(0, this.owners.length);
    return passing ? all.map((lives, row) => lives & (passing.rows[row] ?? 0)) : all;
  }

  /** At most `count` living rows with vectors, evenly spread. */
  sample(count: number): Int32Array {
    const rows = new Int32Array(Math.min(count, this.rows));
    const step = this.owners.length / rows.length;
    let taken = 0;
    for (let i = 0, row = 0; i < rows.length && row < this.owners.length; ++i) {
      row = Math.max(row, Math.floor(i * step));
      while (row < this.owners.length && (this.owners[row] === undefined || this.owners[row]!.stale)) ++row;
      if (row < this.owners.length) rows[taken++] = row++;
    }
    return rows.subarray(0, taken);
  }

  /** The documents as they are stored. Nothing else changes them meanwhile: writes of an index wait for each other. */
  async segment(entries: readonly Entry[], deleted: string[] = []): Promise<Segment> {
    const { model, vectors, language } = this;
    const breather = new Breather();
    const documents: StoredDocument[] = [];
    const rows = entries.reduce((sum, entry) => sum + rowsOf(entry), 0);
    const bytes = new Uint8Array(rows * storedRowBytes(vectors && model));
    let at = 0;
    for (const { document, chunks, stale, first } of entries) {
      documents.push({ document, chunks, ...(stale && model && { stale }) });
      const part = vectors?.stored(first, chunks.length / 2);
      if (part) bytes.set(part, at);
      at += part?.length ?? 0;
      if (documents.length % kBreath === 0) await breather.breathe(undefined);
    }
    return { ...(vectors && model && { model }), ...(language !== undefined && { language }), documents, deleted, vectors: bytes };
  }
}
