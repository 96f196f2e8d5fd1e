// BM25 over an inverted index that grows and shrinks (Robertson and Zaragoza 2009; idf and term weight as Lucene and bm25s have them).
import type { Analyser } from './words.js';

/** The rows in which a term occurs, and how often. */
interface Postings {
  /** Living rows among them. */
  living: number;
  count: number;
  rows: Int32Array;
  times: Uint16Array;
}

export interface Bm25Options {
  /** How soon further occurrences of a word stop to count. Default 1.5. */
  k1?: number | undefined;
  /** How much long texts lose: 0 nothing, 1 in proportion to their length. Default 0.75. */
  b?: number | undefined;
}

const enlarged = <T extends Int32Array | Uint16Array>(array: T): T => {
  const out = new (array.constructor as new (length: number) => T)(2 * array.length);
  out.set(array);
  return out;
};

export class Bm25 {
  private readonly terms = new Map<string, Postings>();
  /** [rows] words of a row; -1: removed. */
  private lengths: number[] = [];
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

  /** Rows so far, removed ones included. */
  get rows(): number {
    return this.lengths.length;
  }

  private counts(text: string): { counts: Map<string, number>; total: number } {
    const counts = new Map<string, number>();
    const words = this.analyser.words(text);
    for (const { term } of words) counts.set(term, (counts.get(term) ?? 0) + 1);
    return { counts, total: words.length };
  }

  /** Adds a text as the next row. */
  add(text: string): void {
    const row = this.lengths.length;
    const { counts, total } = this.counts(text);
    for (const [term, times] of counts) {
      let list = this.terms.get(term);
      if (!list) this.terms.set(term, (list = { living: 0, count: 0, rows: new Int32Array(2), times: new Uint16Array(2) }));
      if (list.count === list.rows.length) {
        list.rows = enlarged(list.rows);
        list.times = enlarged(list.times);
      }
      list.rows[list.count] = row;
      list.times[list.count++] = Math.min(times, 65535);
      ++list.living;
    }
    this.lengths.push(total);
    this.words += total;
    ++this.living;
  }

  /** A row that is removed before its text was read. */
  skip(): void {
    this.lengths.push(-1);
  }

  /** Forgets a row's text, which is the one that was added: its words no longer count, and it is never found. */
  remove(row: number, text: string): void {
    const { counts, total } = this.counts(text);
    for (const term of counts.keys()) {
      const list = this.terms.get(term);
      if (list && --list.living === 0) this.terms.delete(term);
    }
    this.lengths[row] = -1;
    this.words -= total;
    --this.living;
  }

  /** The score of every row for a query; rows without any of its words have 0. found: those with one. */
  scores(query: string): { scores: Float32Array; found: number[] } {
    const { lengths, living, k1, b } = this;
    const scores = new Float32Array(lengths.length);
    const found: number[] = [];
    const mean = this.words / living;
    const { counts } = this.counts(query);
    for (const [term, weight] of counts) {
      const list = this.terms.get(term);
      if (!list) continue;
      const idf = weight * Math.log(1 + (living - list.living + 0.5) / (list.living + 0.5));
      for (let i = 0; i < list.count; ++i) {
        const row = list.rows[i]!;
        const length = lengths[row]!;
        if (length < 0) continue;
        const times = list.times[i]!;
        if (scores[row] === 0) found.push(row);
        scores[row]! += (idf * times) / (times + k1 * (1 - b + (b * length) / mean));
      }
    }
    return { scores, found };
  }
}
