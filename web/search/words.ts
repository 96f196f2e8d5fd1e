// The words of a text, as search compares them.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { readTexts } from '../core/texts.js';

/** A word of a text: `text.slice(start, end)`, folded to `term`. */
export interface Word {
  term: string;
  start: number;
  end: number;
}

/** How words become terms, beyond folding. */
export interface Analysis {
  /** Reduces a folded word to its stem. Default: none. */
  stem?: ((word: string) => string) | undefined;
  /** Words without meaning, which are left out; they are folded, too. Default: none. */
  stopwords?: Iterable<string> | undefined;
}

// Scripts written without spaces. Thai, Lao, Khmer and Myanmar too: two neighbours say more than a whole sentence as one word.
const kUnspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc`;
const kRun = new RegExp(`^[${kUnspaced}]`, 'u');
// A run of an unspaced script, or a word: letters, marks and digits, with apostrophes and points inside (l'eau, 3.14).
const kWord = new RegExp(
  String.raw`(?:[${kUnspaced}]\p{M}*)+|(?:(?![${kUnspaced}])[\p{L}\p{M}\p{N}_])+(?:(?<=\p{N})[.,](?=\p{N})(?:(?![${kUnspaced}])[\p{L}\p{M}\p{N}_])+)*`,
  'gu',
);
const kAscii = /^[\x00-\x7f]*$/;
const kMarked = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+/gu;

/**
 * Folds a word: compatibility forms (full width, ligatures) and case, and the accents of Latin, Greek and Cyrillic letters. In other
 * scripts marks are vowels, which stay.
 */
export function fold(word: string): string {
  if (kAscii.test(word)) return word.toLowerCase();
  const bare = word.normalize('NFKD').replace(kMarked, '$1');
  return bare
    .toLowerCase()
    .replace(/\u00df/g, 'ss')
    .replace(/\u03c2/g, '\u03c3')
    .normalize('NFC');
}

/** The pairs of neighbours in a run of an unspaced script; a single character is a word. */
function* pairs(run: string, at: number): Generator<Word, void, undefined> {
  const starts: number[] = [];
  for (let i = 0; i < run.length; i += run.codePointAt(i)! > 0xffff ? 2 : 1) {
    if (i === 0 || !/^\p{M}/u.test(run.slice(i))) starts.push(i);
  }
  starts.push(run.length);
  const last = Math.max(1, starts.length - 2);
  for (let i = 0; i < last; ++i) {
    const [start, end] = [starts[i]!, starts[Math.min(i + 2, starts.length - 1)]!];
    yield { term: fold(run.slice(start, end)), start: at + start, end: at + end };
  }
}

const kStem = "Index: option 'words': stem";

function toStopwords(stopwords: unknown): ReadonlySet<string> {
  const where = "Index: option 'words': stopwords";
  if (typeof stopwords !== 'object' || stopwords === null || !(Symbol.iterator in stopwords))
    throw new InputError(`${where}: expected an array or a Set of strings, found ${describe(stopwords)}`);
  return new Set(readTexts(where, [...(stopwords as Iterable<unknown>)]).map(fold));
}

/** Splits texts into words. One analyser serves documents and queries of an index. */
export class Analyser {
  private readonly stopwords: ReadonlySet<string>;
  private readonly stems = new Map<string, string>();
  private readonly stem: ((word: string) => string) | undefined;

  constructor({ stem, stopwords }: Analysis) {
    this.stem = stem ?? undefined;
    this.stopwords = toStopwords(stopwords ?? []);
  }

  /** One at a time: a long text has millions. */
  *words(text: string): Generator<Word, void, undefined> {
    for (const match of text.matchAll(kWord)) {
      const [found] = match;
      const start = match.index;
      if (kRun.test(found)) {
        yield* pairs(found, start);
        continue;
      }
      const term = fold(found);
      if (!this.stopwords.has(term)) yield { term: this.stemOf(term), start, end: start + found.length };
    }
  }

  /** Stems are kept: a corpus has far fewer different words than words. */
  private stemOf(word: string): string {
    if (!this.stem) return word;
    let stem = this.stems.get(word);
    if (stem === undefined) {
      stem = checkAnswer<string>(kStem, this.stem(word), 'a string', (value) => typeof value === 'string');
      this.stems.set(word, stem);
    }
    return stem;
  }
}
