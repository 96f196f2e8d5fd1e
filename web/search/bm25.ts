// BM25 over an inverted index that grows and shrinks (Robertson and Zaragoza 2009; idf and term weight as Lucene and bm25s have them). Documents
// are counted, whatever parts they are cut into: a word is as rare, and a text as long, as it is for a reader. The parts share their document's
// score.
import { Beginnings } from './beginnings.js';
import { joinWords, kStepTerms, type Steps } from './join_words.js';
import { push, TermLists, type Postings } from './postings.js';
import { StoredWords, WordsWriter } from './stored_words.js';
import { Titles } from './titles.js';
import type { Analyser } from './words.js';

/** A row: a part of a document. */
export interface Part {
  /** The first row of its document, which has `count` rows. */
  first: number;
  count: number;
  /** Read with every part, and counted once for the document. */
  title: string | undefined;
  text: string;
  /** Characters at the beginning of `text` that the part before has too: the document's words there are counted already. */
  shared: number;
}

export interface Bm25Options {
  /** How soon further occurrences of a word stop counting. Default 1.5. */
  k1?: number | undefined;
  /** How much long texts are penalised: 0 not at all, 1 in proportion to their length. Default 0.75. */
  b?: number | undefined;
}

/** Terms that stand for one word of a query, and what each counts beside the word itself. */
export interface Group {
  /** How often the word occurs in the query. */
  times: number;
  forms: readonly (readonly [term: string, weight: number])[];
}

/** How often each term occurs. */
type Counts = Map<string, number>;

const count = (counts: Counts, term: string) => void counts.set(term, (counts.get(term) ?? 0) + 1);

export class Bm25 {
  private readonly terms = new TermLists();
  /** Terms, where words are their own stems. */
  private readonly beginnings = new Beginnings();
  private readonly titles = new Titles();
  /** [rows] words of the document that begins at a row; -1: removed. */
  private lengths: number[] = [];
  /** The number of rows of documents that have several, by their first. */
  private readonly several = new Map<number, number>();
  private living = 0;
  private words = 0;
  private readonly k1: number;
  private readonly b: number;

  constructor(
    readonly analyser: Analyser,
    { k1 = 1.5, b = 0.75 }: Bm25Options = {},
  ) {
    this.k1 = k1;
    this.b = b;
  }

  /** Rows that were begun, removed ones included. */
  get rows(): number {
    return this.lengths.length;
  }

  /** all: the words of a part, if its document has several; fresh: those that its document does not have from earlier parts, `length` of them. titles: takes the title's. */
  private *read(part: Part, isFirst: boolean, titles?: Titles): Steps<{ all: Counts; fresh: Counts; length: number }> {
    const all: Counts = new Map();
    const fresh: Counts = new Map();
    let length = 0;
    let isFirstBatch = true;
    const sources = [
      [part.title ?? '', isFirst ? 0 : Infinity, true],
      [part.text, part.shared, false],
    ] as const;
    for (const [text, from, isTitle] of sources) {
      for (const words of this.analyser.batches(text)) {
        if (!isFirstBatch) yield;
        isFirstBatch = false;
        for (const { term, word, start } of words) {
          if (part.count > 1) count(all, term);
          if (start < from) continue;
          if (isTitle) titles?.add(word, part.first);
          count(fresh, term);
          ++length;
        }
      }
    }
    return { all, fresh, length };
  }

  private listOf(term: string): Postings {
    const list = this.terms.find(term);
    if (!list && !this.analyser.hasStems) this.beginnings.add(term);
    return list ?? this.terms.begin(term);
  }

  /** Adds a part as the next row. The parts of a document come one after another. */
  *add(part: Part): Steps {
    const { first, count } = part;
    const row = this.lengths.length;
    this.lengths.push(0);
    const { all, fresh, length } = yield* this.read(part, row === first, this.titles);
    let done = 0;
    for (const [term, times] of fresh) {
      if (++done % kStepTerms === 0) yield;
      const list = this.listOf(term);
      if (list.places[list.newest] === first) {
        list.times[list.newest] = Math.min(list.times[list.newest]! + times, 65535);
        continue;
      }
      list.newest = list.count;
      ++list.living;
      push(list, first, times);
    }
    if (count > 1) {
      this.several.set(first, count);
      for (const [term, times] of all) {
        if (++done % kStepTerms === 0) yield;
        push(this.listOf(term), ~row, times);
      }
    }
    this.lengths[first]! += length;
    this.words += length;
    if (row === first) ++this.living;
  }

  /** Takes what a segment stores of the next documents, of which each has so many rows. */
  take(words: StoredWords, rows: readonly number[]): void {
    const base = this.lengths.length;
    this.terms.take({ words, base, rows: rows.reduce((sum, count) => sum + count, 0) });
    this.titles.take(words, base);
    if (this.analyser.hasStems) this.analyser.learn(words);
    else this.beginnings.addAll(words.terms);
    rows.forEach((count, i) => {
      if (count > 1) this.several.set(this.lengths.length, count);
      this.words += words.lengths[i]!;
      this.lengths.push(words.lengths[i]!);
      for (let part = 1; part < count; ++part) this.lengths.push(0);
    });
    this.living += rows.length;
  }

  /** Makes one of many stored words that were taken. */
  *tidy(manner: string): Steps {
    const many = this.terms.many();
    if (many.length === 0) return;
    const base = many[0]!.base;
    const { base: last, rows: more } = many.at(-1)!;
    const rows = last + more - base;
    const to = new Int32Array(last + more).fill(-1);
    for (let row = base; row < last + more; ++row) if (this.lengths[row]! >= 0) to[row] = row - base;
    this.terms.replace(many, { words: yield* joinWords(manner, many, to, [], rows), base, rows });
  }

  /** The words of some documents, by their first rows, as a segment of these stores them; undefined: they were read from texts here. */
  *storedOf(manner: string, firsts: readonly number[]): Steps<StoredWords | undefined> {
    const parts = this.terms.holding(firsts);
    if (!parts) return undefined;
    const { base } = parts[0]!;
    const end = parts.at(-1)!.base + parts.at(-1)!.rows;
    const to = new Int32Array(end).fill(-1);
    let rows = 0;
    for (const first of firsts) {
      const next = first + (this.several.get(first) ?? 1);
      for (let row = first; row < next; ++row) to[row] = rows++;
    }
    const lengths = firsts.map((first) => this.lengths[first]!);
    const words = yield* joinWords(manner, parts, to, lengths, rows);
    const isSame = rows === end - base && to.every((row, i) => i < base || row === i - base);
    if (isSame) this.terms.replace(parts, { words, base, rows }); // nothing is left out: it serves here, too
    return words;
  }

  /** The words of all documents, which were read from texts here, as a segment of them stores them. */
  *stored(manner: string): Steps<StoredWords> {
    const out = new WordsWriter(manner);
    let documents = 0;
    for (let row = 0; row < this.lengths.length; row += this.several.get(row) ?? 1, ++documents) out.document(this.lengths[row]!);
    const slots = new Map<string, number>();
    for (const [term, { living, count, places, times }] of this.terms.all()) {
      if (slots.size % kStepTerms === 0) yield;
      slots.set(term, out.term(term, living, places.subarray(0, count), times));
    }
    for (const [word, term] of this.analyser.known ?? []) out.word(word, slots.get(term)!);
    for (const [word, firsts] of this.titles.all()) out.title(word, firsts);
    yield;
    return StoredWords.read(out.bytes(), documents, this.lengths.length)!;
  }

  /** A row that is removed before its text was read. */
  skip(): void {
    this.lengths.push(-1);
  }

  /** Forgets a document, of which these parts were added: its words no longer count, and it is never found. */
  *remove(parts: Iterable<Part>): Steps {
    const terms = new Set<string>();
    let start = -1;
    let rows = 0;
    for (const part of parts) {
      start = part.first;
      const { fresh } = yield* this.read(part, rows++ === 0);
      for (const term of fresh.keys()) {
        if (terms.has(term)) continue;
        terms.add(term);
        if (terms.size % kStepTerms === 0) yield;
        const list = this.terms.find(term);
        if (list && --list.living === 0) this.terms.drop(term);
      }
      yield;
    }
    this.words -= this.lengths[start]!;
    this.lengths.fill(-1, start, start + rows);
    this.several.delete(start);
    --this.living;
  }

  /** Documents that count. */
  get documents(): number {
    return this.living;
  }

  /** Words with their terms: all that a document has, as far as it was read. */
  vocabulary(): Iterable<readonly [word: string, term: string]> {
    return this.analyser.known ?? this.ownTerms();
  }

  private *ownTerms(): Generator<readonly [string, string], void, undefined> {
    for (const term of this.terms.names()) yield [term, term];
  }

  /** The words among them that begin with `start`. */
  *beginningWith(start: string): Generator<readonly [word: string, term: string], void, undefined> {
    const { known, beginnings } = this.analyser;
    for (const word of (known ? beginnings : this.beginnings).of(start)) yield [word, known?.get(word) ?? word];
  }

  /** How many documents hold a term. */
  holders(term: string): number {
    return this.terms.holders(term);
  }

  private visit(term: string, see: (first: number) => void): void {
    const list = this.terms.find(term);
    for (let i = 0; list && i < list.count; ++i) {
      const place = list.places[i]!;
      if (place >= 0 && this.lengths[place]! >= 0) see(place);
    }
  }

  /** The documents that hold all of some terms: a byte for each row, 1 for the first one of such a document. undefined: no terms, so all of them. */
  withAll(terms: readonly string[]): Uint8Array | undefined {
    let out: Uint8Array | undefined;
    for (const term of terms) {
      const own = new Uint8Array(this.lengths.length);
      const before = out;
      this.visit(term, (first) => void (own[first] = before?.[first] ?? 1));
      out = own;
    }
    return out;
  }

  /** How many of some documents hold a term. */
  count(term: string, among: Uint8Array | undefined): number {
    if (!among) return this.holders(term);
    let count = 0;
    this.visit(term, (first) => void (count += among[first]!));
    return count;
  }

  /** The first of some documents that holds a term. */
  firstWith(term: string, among: Uint8Array | undefined): number | undefined {
    const list = this.terms.find(term);
    for (let i = 0; list && i < list.count; ++i) {
      const place = list.places[i]!;
      if (place >= 0 && this.lengths[place]! >= 0 && (among?.[place] ?? 1) === 1) return place;
    }
    return undefined;
  }

  /** The first documents, at most `limit`, whose titles have all these words (not their stems), the last one perhaps unfinished. */
  titled(words: readonly string[], limit: number): number[] {
    return this.titles.find(words, limit, this.lengths);
  }

  /** The documents that hold a term, by their first rows. */
  documentsWith(term: string): Set<number> {
    const out = new Set<number>();
    this.visit(term, (first) => void out.add(first));
    return out;
  }

  /**
   * The score of every row for the terms of a query; rows without any of its words have 0. found: those with one. Of the parts of a document, the one that holds
   * the words best has the document's score, the others as much of it as they hold in comparison. whole: the score of a document of mean length that
   * holds each word of the query once, those that no document has included. groups: words that several terms stand for. In each document the one that
   * scores most counts, as rare as all of them are together. little: terms that find nothing by themselves, and add to the score of what is found.
   */
  scores(
    wanted: ReadonlyMap<string, number>,
    groups: readonly Group[] = [],
    little: ReadonlyMap<string, number> = new Map(),
  ): { scores: Float32Array; found: number[]; whole: number } {
    const { lengths, several, living, k1, b } = this;
    const scores = new Float32Array(lengths.length);
    const shares = new Float32Array(several.size > 0 ? lengths.length : 0);
    const documents: number[] = [];
    const mean = this.words / living;
    let whole = 0;
    const addTerm = (term: string, weight: number, finds: boolean): void => {
      const list = this.terms.find(term);
      const holders = list?.living ?? 0;
      const idf = weight * Math.log(1 + (living - holders + 0.5) / (holders + 0.5));
      whole += idf / (1 + k1);
      for (let i = 0; list && i < list.count; ++i) {
        const place = list.places[i]!;
        const times = list.times[i]!;
        if (place < 0) {
          if (finds || shares[~place]! > 0) shares[~place]! += (idf * times) / (times + k1);
          continue;
        }
        const length = lengths[place]!;
        if (length < 0 || (scores[place] === 0 && !finds)) continue;
        if (scores[place] === 0) documents.push(place);
        scores[place]! += (idf * times) / (times + k1 * (1 - b + (b * length) / mean));
      }
    };
    for (const [term, weight] of wanted) addTerm(term, weight, true);
    for (const group of groups) whole += this.addGroup(group, mean, scores, shares, documents);
    for (const [term, weight] of little) addTerm(term, weight, false);
    const found: number[] = [];
    for (const first of documents) {
      const end = first + (several.get(first) ?? 1);
      if (end === first + 1) {
        found.push(first);
        continue;
      }
      const score = scores[first]!;
      let most = 0;
      for (let row = first; row < end; ++row) most = Math.max(most, shares[row]!);
      for (let row = first; row < end; ++row) {
        scores[row] = (score * shares[row]!) / most;
        if (shares[row]! > 0) found.push(row);
      }
    }
    return { scores, found, whole };
  }

  /** Adds to the scores what a group of terms gives. Returns what a text of mean length gets for the word itself. */
  private addGroup(
    { times: weight, forms }: Group,
    mean: number,
    scores: Float32Array,
    shares: Float32Array,
    documents: number[],
  ): number {
    const { lengths, living, k1, b } = this;
    const holders = Math.min(
      living,
      forms.reduce((sum, [term]) => sum + this.holders(term), 0),
    );
    const idf = weight * Math.log(1 + (living - holders + 0.5) / (holders + 0.5));
    const best = new Map<number, number>();
    for (const [term, worth] of forms) {
      const list = this.terms.find(term);
      for (let i = 0; list && i < list.count; ++i) {
        const place = list.places[i]!;
        const times = list.times[i]!;
        const length = place < 0 ? mean : lengths[place]!;
        if (length < 0) continue;
        const norm = place < 0 ? k1 : k1 * (1 - b + (b * length) / mean);
        best.set(place, Math.max(best.get(place) ?? 0, (worth * idf * times) / (times + norm)));
      }
    }
    for (const [place, score] of best) {
      if (place < 0) {
        shares[~place]! += score;
        continue;
      }
      if (scores[place] === 0) documents.push(place);
      scores[place]! += score;
    }
    return idf / (1 + k1);
  }
}
