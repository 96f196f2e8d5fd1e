// The words of a text, as search compares them.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { Breather } from '../core/signal.js';
import { readTexts } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import { Beginnings, kMostWaiting } from './beginnings.js';
import type { StoredWords } from './stored_words.js';

/** A word of a text: `text.slice(start, end)`, folded to `word`, of which `term` is the stem. */
export interface Word {
  term: string;
  word: string;
  start: number;
  end: number;
}

/** How words become search terms, after folding. */
export interface Analysis {
  /** Reduces a folded word to its stem. Default: the stemmer of the index's `language`, if any. */
  stem?: ((word: string) => string) | undefined;
  /** Words to ignore; they are folded, too. Default: none. `Index.open` also accepts a language such as `'en'` for its built-in list. */
  stopwords?: Iterable<string> | undefined;
}

// Scripts written without spaces. Thai, Lao, Khmer and Myanmar too: two neighbours say more than a whole sentence as one word.
const kUnspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc`;
// Letters, marks and digits. A longer run is several words: an engine's stack for regular expressions is bounded, and Unicode's order of marks
// takes it time that grows with the square of their number.
const kLetters = String.raw`(?:(?![${kUnspaced}])[\p{L}\p{M}\p{N}_]){1,128}`;
// What stands between words; then a character of an unspaced script with its marks, or a word, with points inside numbers (3.14), or nothing.
// Every character is one of these, so that each match goes on, by some thousand units at most.
const kNext = new RegExp(
  String.raw`[^\p{L}\p{M}\p{N}_${kUnspaced}]{0,4096}(?:([${kUnspaced}]\p{M}{0,32})|(${kLetters}(?:(?<=\p{N})[.,](?=\p{N})${kLetters}){0,16}))?`,
  'uy',
);
const kMarks = /\p{M}{1,4096}/uy;
/** A batch has the words of about so many units. */
const kBatchUnits = 8192;
const kAscii = /^[\x00-\x7f]*$/;
const kMarked = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+/gu;

/**
 * Folds a word for comparison: normalises compatibility forms (full width, ligatures) and case, and removes accents from Latin, Greek and Cyrillic
 * letters. In other scripts marks are vowels, so they stay.
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

/** A character of an unspaced script with its marks: from start to end, or to `next` with marks beyond reason. */
interface Character {
  start: number;
  end: number;
  next: number;
  isFirst: boolean;
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
  /** Terms by folded words. */
  private readonly terms = new Map<string, string>();
  /** The keys of `terms`. */
  readonly beginnings = new Beginnings();
  /** What segments say of words, which nobody has asked for. */
  private readonly learnt: StoredWords[] = [];
  private readonly stem: ((word: string) => string) | undefined;
  private readonly isNative: boolean;

  /** Says how words are read: analysers of one manner read the same. Undefined: nothing can say it, such as with a stemmer of the caller's. */
  readonly manner: string | undefined;

  /**
   * native: stems words in lower case as they are written, with accents that an ending may need; the stem is folded then. mannerOf: the manner with these
   * folded stop words.
   */
  constructor(
    private readonly analysis: Analysis,
    private readonly native?: (word: string) => string,
    private readonly mannerOf?: (stopwords: ReadonlySet<string>) => string,
  ) {
    const { stem, stopwords } = analysis;
    this.stem = stem ?? native;
    this.isNative = !stem && native !== undefined;
    this.stopwords = toStopwords(stopwords ?? []);
    this.manner = stem ? undefined : mannerOf?.(this.stopwords);
  }

  /** Another one that reads the same and has read nothing. */
  fresh(): Analyser {
    return new Analyser({ ...this.analysis, stopwords: this.stopwords }, this.native, this.mannerOf);
  }

  /** Some words at a time, as a long text has millions. There is little work between two batches, whatever the text is. */
  *batches(text: string): Generator<readonly Word[], void, undefined> {
    let words: Word[] = [];
    let last: Character | undefined;
    const add = (word: string, start: number, end: number, term = word) => void words.push({ term, word, start, end });
    const endRun = () => {
      // A character alone is a word, others are the pairs of neighbours.
      if (last?.isFirst) add(fold(text.slice(last.start, last.end)), last.start, last.end);
      last = undefined;
    };
    for (let at = 0, begun = 0; at < text.length;) {
      if (at - begun > kBatchUnits) {
        yield words;
        words = [];
        begun = at;
      }
      kMarks.lastIndex = at; // those that kNext left
      if (last && last.end - last.start > 32 && kMarks.test(text)) {
        last.next = at = kMarks.lastIndex;
        continue;
      }
      kNext.lastIndex = at;
      const [found, character, word] = kNext.exec(text) as unknown as [string, string | undefined, string | undefined];
      at += found.length;
      const start = at - (character ?? word ?? '').length;
      if (last?.next !== start) endRun();
      if (character !== undefined) {
        if (last) add(fold(text.slice(last.start, last.end) + character), last.start, at);
        last = { start, end: at, next: at, isFirst: last === undefined };
      } else if (word !== undefined) {
        endRun();
        const folded = fold(word);
        if (!this.stopwords.has(folded)) add(folded, start, at, this.stemOf(folded, word));
      }
    }
    endRun();
    yield words;
  }

  /** The words of a query. */
  async read(query: string, signal: AbortSignalLike | undefined): Promise<Word[]> {
    const breather = new Breather();
    const all: Word[] = [];
    for (const words of this.batches(query)) {
      for (const word of words) all.push(word);
      await breather.breathe(signal);
    }
    return all;
  }

  /** Whether words have stems, which are not always themselves. */
  get hasStems(): boolean {
    return this.stem !== undefined;
  }

  /** The words that were read so far, with their stems; undefined: words are their own stems. */
  get known(): ReadonlyMap<string, string> | undefined {
    this.settle();
    return this.stem && this.terms;
  }

  /** Takes the words that were read for a segment for some that were read here. */
  learn(words: StoredWords): void {
    this.learnt.push(words);
    this.beginnings.addAll(words.words);
    if (this.learnt.length > kMostWaiting) this.settle();
  }

  private settle(): void {
    for (const { words, stems, terms } of this.learnt.splice(0))
      words.forEach((word, i) => this.terms.set(word, terms[stems[i]!]!));
  }

  /** Stems are kept: a corpus has far fewer different words than words. */
  private stemOf(folded: string, word: string): string {
    if (!this.stem) return folded;
    const key = this.isNative && !kAscii.test(word) ? word.normalize('NFC').toLowerCase() : folded;
    let stem = this.stems.get(key);
    if (stem === undefined) {
      stem = checkAnswer<string>(kStem, this.stem(key), 'a string', (value) => typeof value === 'string');
      if (this.isNative) stem = fold(stem);
      this.stems.set(key, stem);
      this.terms.set(folded, stem);
      this.beginnings.add(folded);
    }
    return stem;
  }
}
