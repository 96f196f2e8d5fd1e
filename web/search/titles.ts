// Which documents have a word in their title, for suggestions.
import { Beginnings, kMostWaiting } from './beginnings.js';
import type { StoredWords } from './stored_words.js';

export class Titles {
  /** Documents by the words of their titles, as their first rows. */
  private readonly rows = new Map<string, number[]>();
  private readonly beginnings = new Beginnings();
  /** What segments store, which nobody has asked for. */
  private readonly taken: { words: StoredWords; base: number }[] = [];

  /** Takes in the titles of rows from `base` on. */
  take(words: StoredWords, base: number): void {
    if (words.titles.length > 0) this.taken.push({ words, base });
    if (this.taken.length > kMostWaiting) this.all();
  }

  /** All words, with their documents. */
  all(): ReadonlyMap<string, readonly number[]> {
    for (const { words, base } of this.taken.splice(0)) {
      words.titles.forEach((word, i) => words.titled[i]!.forEach((row) => this.add(word, base + row)));
    }
    return this.rows;
  }

  add(word: string, first: number): void {
    const list = this.rows.get(word);
    if (list) list.push(first);
    else {
      this.rows.set(word, [first]);
      this.beginnings.add(word);
    }
  }

  /** The first documents, at most `limit`, whose titles have all these words, or for the last one a word that begins with it. lengths: [rows] below 0: removed. */
  find(words: readonly string[], limit: number, lengths: readonly number[]): number[] {
    const all = this.all();
    const marks = new Uint16Array(lengths.length); // how many of the words a title has
    words.forEach((word, i) => {
      const isLast = i === words.length - 1;
      for (const each of isLast ? this.beginnings.of(word) : [word])
        for (const first of all.get(each) ?? []) if (marks[first] === i) marks[first] = i + 1;
    });
    const out: number[] = [];
    for (let row = 0; row < marks.length && out.length < limit; ++row)
      if (marks[row] === words.length && lengths[row]! >= 0) out.push(row);
    return out;
  }
}
