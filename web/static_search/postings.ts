// Words of a static index: in which rows they are, and how often. Words are in order and divided into files, so that those that begin alike are together.
import { ByteReader, ByteWriter } from './bytes.js';

/** The rows that hold a word, rising, and how often each does. */
export interface Postings {
  rows: number[];
  times: number[];
}

/** Bytes of a file of words before it is packed. A word that is in many rows may have more by itself. */
const kFileBytes = 8192;

const sharedStart = (a: string, b: string): number => {
  let at = 0;
  while (at < a.length && a[at] === b[at]) ++at;
  return at;
};

function postingsBytes({ rows, times }: Postings): Uint8Array {
  const out = new ByteWriter();
  rows.forEach((row, i) => {
    const step = row - (i === 0 ? 0 : rows[i - 1]!);
    const more = times[i]! > 1;
    out.number(2 * step + Number(more));
    if (more) out.number(times[i]! - 2);
  });
  return out.done();
}

/** The files of words, and for each the least text that tells it from the one before: file i has what is not below begins[i]. */
export function writeWords(words: ReadonlyMap<string, Postings>): { begins: string[]; files: Uint8Array[] } {
  const begins: string[] = [];
  const files: Uint8Array[] = [];
  let file = new ByteWriter();
  let last = '';
  const end = () => {
    if (file.length > 0) files.push(file.done());
    file = new ByteWriter();
  };
  for (const term of [...words.keys()].sort()) {
    const list = words.get(term)!;
    const bytes = postingsBytes(list);
    if (file.length > 0 && file.length + bytes.length > kFileBytes) end();
    if (file.length === 0) begins.push(files.length === 0 ? '' : term.slice(0, sharedStart(last, term) + 1));
    const shared = file.length === 0 ? 0 : sharedStart(last, term);
    file.number(shared).text(term.slice(shared)).number(list.rows.length).number(bytes.length).raw(bytes);
    last = term;
  }
  end();
  return { begins, files };
}

/** The words of a file, in order, each with its postings as bytes. */
export type WordFile = readonly { term: string; count: number; bytes: Uint8Array }[];

export function readWords(bytes: Uint8Array, name: string): WordFile {
  const reader = new ByteReader(bytes, name);
  const words: { term: string; count: number; bytes: Uint8Array }[] = [];
  let last = '';
  while (!reader.isAtEnd) {
    const shared = reader.number();
    const term = last.slice(0, shared) + reader.text();
    const count = reader.number();
    words.push({ term, count, bytes: reader.raw(reader.number()) });
    last = term;
  }
  return words;
}

export function readPostings({ count, bytes }: WordFile[number], name: string): Postings {
  const reader = new ByteReader(bytes, name);
  const [rows, times]: [number[], number[]] = [[], []];
  let row = 0;
  for (let i = 0; i < count; ++i) {
    const step = reader.number();
    rows.push((row += step >> 1));
    times.push(step & 1 ? reader.number() + 2 : 1);
  }
  return { rows, times };
}

/** The files that may have words which begin with `prefix` (exact: that are it), from first to last. */
export function filesOf(begins: readonly string[], prefix: string, exact: boolean): { first: number; last: number } {
  const below = (text: string) => {
    let [low, high] = [0, begins.length]; // begins[low - 1] <= text < begins[high]
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begins[middle]! <= text) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  const first = below(prefix);
  return { first, last: exact ? first : below(`${prefix}\uffff`) };
}
