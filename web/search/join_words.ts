// Makes the stored words of a segment that joins several from theirs.
import { StoredWords, WordsWriter } from './stored_words.js';

/** Work that is done in steps, so that a page can do other things between them. Each is soon done, however long a text is. */
export type Steps<T = void> = Generator<void, T, undefined>;

/** The terms of a step. */
export const kStepTerms = 2000;

/** Stored words, and the rows of an index that they are of. */
export interface PlacedWords {
  words: StoredWords;
  base: number;
  rows: number;
  /** The places of terms that some document holds. */
  slots: ReadonlyMap<string, number>;
}

/** to: [rows of the index] the row of each; below 0: of a document that is left out. lengths: the words of each of the others. rows: how many these have. */
export function* joinWords(
  manner: string,
  parts: readonly PlacedWords[],
  to: Int32Array,
  lengths: readonly number[],
  rows: number,
): Steps<StoredWords> {
  const out = new WordsWriter(manner);
  for (const length of lengths) out.document(length);
  let done = 0;
  const slots = new Map<string, number>();
  const [places, times]: [number[], number[]] = [[], []];
  for (const [i, part] of parts.entries()) {
    for (const term of part.slots.keys()) {
      if (++done % kStepTerms === 0) yield;
      if (slots.has(term)) continue;
      places.length = times.length = 0;
      let holders = 0;
      for (let j = i; j < parts.length; ++j) {
        const { words, base, slots: own } = parts[j]!;
        const slot = own.get(term);
        if (slot === undefined) continue;
        words.visit(slot, (place, count) => {
          const row = to[base + (place < 0 ? ~place : place)]!;
          if (row < 0) return;
          if (place >= 0) ++holders;
          places.push(place < 0 ? ~row : row);
          times.push(count);
        });
      }
      if (places.length > 0) slots.set(term, out.term(term, holders, places, times));
    }
  }
  yield;
  const stems = new Map(parts.flatMap(({ words }) => words.words.map((word, i) => [word, words.terms[words.stems[i]!]!] as const)));
  for (const [word, term] of stems) if (slots.has(term)) out.word(word, slots.get(term)!);
  yield;
  const titled = new Map<string, number[]>();
  for (const { words, base } of parts) {
    words.titles.forEach((word, i) => {
      const own = words.titled[i]!.map((row) => to[base + row]!).filter((row) => row >= 0);
      if (own.length > 0) titled.set(word, [...(titled.get(word) ?? []), ...own]);
    });
  }
  for (const [word, own] of titled) out.title(word, own);
  yield;
  return StoredWords.read(out.bytes(), lengths.length, rows)!;
}
