// What a typed word may stand for: words that it begins, and words that it misspells.
import type { Bm25, Group } from './bm25.js';
import type { Word } from './words.js';

/** Which words are looked for beside those that were typed. */
export interface Expansion {
  /** The word that is still being typed, which may be the beginning of others; undefined: none. */
  beginning: Word | undefined;
  isFuzzy: boolean;
}

/** The words of a query, with what they may stand for. */
export interface Expanded {
  /** Terms that stand for themselves, and how often each occurs. */
  plain: ReadonlyMap<string, number>;
  groups: readonly Group[];
  /** Terms that mean little, and what they add to what the others find. */
  little: ReadonlyMap<string, number>;
  /** All terms that are found. */
  terms: ReadonlySet<string>;
  /** The text with words that the index has in place of those that it has not. */
  text: string;
}

/** Words that a beginning or a misspelt word stands for, the most frequent ones. */
const kMostForms = 64;
/** A word that one document in so many holds may be a misspelt one. */
const kRare = 1000;
/** A rare word is taken for another one only if that is so many times as frequent. */
const kCommoner = 10;
const kPrefixWeight = { least: 0.5, more: 0.4 };
const kTypoWeights = [1, 0.8, 0.5];
const kLetters = /^[\p{L}\p{M}]+$/u;

/**
 * What a word that means little counts. Chosen of 0, 0.05, 0.1, 0.2, 0.35 and 1 on SNLI's and STS-B's dev sets, CISI, MED and XQuAD with English
 * stems. On SNLI's and STS-B's test sets, first hits by words alone are right in 0.583 and 0.873 of cases, instead of 0.576 and 0.831 with 0.
 */
const kLittle = 0.2;

/** Edits that a word of so many letters may have: none below 4, 1 below 8, else 2. */
export const editsOf = (length: number): number => (length < 4 ? 0 : length < 8 ? 1 : 2);

/** Which letters a word has, a bit for each of 32 kinds. */
function lettersOf(word: string): number {
  let bits = 0;
  for (let i = 0; i < word.length; ++i) bits |= 1 << (word.charCodeAt(i) & 31);
  return bits;
}

function countOf(bits: number): number {
  let count = 0;
  for (; bits !== 0; bits &= bits - 1) ++count;
  return count;
}

const kLongest = 160;
const rows = [new Uint8Array(kLongest), new Uint8Array(kLongest), new Uint8Array(kLongest)] as [Uint8Array, Uint8Array, Uint8Array];

/**
 * Edits that make `from` into `to` (one character more, less, another, or two neighbours exchanged; Damerau 1964, each place once), or into a
 * beginning of `to`. `most + 1` if there are more than `most`.
 */
export function edits(from: string, to: string, most: number, isPrefix: boolean): number {
  const [n, m] = [from.length, isPrefix ? Math.min(to.length, from.length + most) : to.length];
  const over = most + 1;
  if (n >= kLongest || m >= kLongest || n - m > most || m - n > most) return over;
  let [before, last, row] = rows;
  for (let j = 0; j <= m; ++j) last[j] = Math.min(j, over);
  for (let i = 1; i <= n; ++i) {
    const [begin, end] = [Math.max(1, i - most), Math.min(m, i + most)];
    const letter = from.charCodeAt(i - 1);
    let least = (row[begin - 1] = begin === 1 ? Math.min(i, over) : over);
    for (let j = begin; j <= end; ++j) {
      const other = to.charCodeAt(j - 1);
      let value = last[j - 1]! + (letter === other ? 0 : 1);
      if (j < i + most) value = Math.min(value, last[j]! + 1);
      value = Math.min(value, row[j - 1]! + 1);
      if (i > 1 && j > 1 && letter === to.charCodeAt(j - 2) && from.charCodeAt(i - 2) === other)
        value = Math.min(value, before[j - 2]! + 1);
      row[j] = value = Math.min(value, over);
      if (value < least) least = value;
    }
    if (end < m) row[end + 1] = over;
    if (least > most) return over;
    [before, last, row] = [last, row, before];
  }
  if (!isPrefix) return last[m]!;
  let least = over;
  for (let j = Math.max(0, n - most); j <= m; ++j) least = Math.min(least, last[j]!);
  return least;
}

/** A word of the query, and the terms found for it. */
interface Typed {
  word: Word;
  times: number;
  /** Edits that are allowed; 0: it is spelt as it is. */
  most: number;
  letters: number;
  isBeginning: boolean;
  /** Holders that another word must have to be meant. */
  least: number;
  forms: Map<string, { weight: number; word: string }>;
}

/**
 * Finds what words may stand for among all words of the index: one look at each, unless none is misspelt. stopwords: those that mean little, unless there are
 * no others.
 */
export function expand(
  words: Bm25,
  text: string,
  all: readonly Word[],
  { beginning, isFuzzy }: Expansion,
  stopwords: ReadonlySet<string> | undefined,
): Expanded {
  const counting = all.filter(({ word }) => !stopwords?.has(word));
  const read = counting.length > 0 ? counting : all;
  const little = new Map<string, number>();
  if (read !== all) for (const { word, term } of all) if (stopwords?.has(word)) little.set(term, (little.get(term) ?? 0) + kLittle);
  const typed = new Map<string, Typed>();
  for (const word of read) {
    const known = typed.get(word.term);
    if (known) {
      ++known.times;
      continue;
    }
    const holders = words.holders(word.term);
    const isMisspelt = isFuzzy && holders * kRare <= words.documents && kLetters.test(word.word);
    const most = isMisspelt ? editsOf(word.word.length) : 0;
    const letters = lettersOf(word.word);
    typed.set(word.term, {
      word,
      times: 1,
      most,
      letters,
      isBeginning: false,
      least: Math.max(1, holders * kCommoner),
      forms: new Map(),
    });
  }
  if (beginning && !typed.has(beginning.term)) {
    typed.set(beginning.term, { word: beginning, times: 1, most: 0, letters: 0, isBeginning: true, least: 1, forms: new Map() });
  }
  const unfinished = beginning && typed.get(beginning.term);
  if (unfinished) unfinished.isBeginning = true;
  const wanted = [...typed.values()].filter(({ most, isBeginning }) => most > 0 || isBeginning);
  if (wanted.length > 0) {
    // A misspelt word may be any.
    const isBegun = wanted.length === 1 && wanted[0]!.most === 0;
    for (const [word, term] of isBegun ? words.beginningWith(wanted[0]!.word.word) : words.vocabulary()) {
      for (const each of wanted) {
        const weight = weightOf(each, word);
        if (weight === 0 || term === each.word.term) continue;
        const holders = words.holders(term);
        if (holders === 0 || (holders < each.least && !(each.isBeginning && word.startsWith(each.word.word)))) continue;
        if (weight > (each.forms.get(term)?.weight ?? 0)) each.forms.set(term, { weight, word });
      }
    }
  }
  const plain = new Map<string, number>();
  const groups: Group[] = [];
  const terms = new Set<string>();
  const meant: { start: number; end: number; word: string }[] = [];
  for (const [term, { word, times, forms }] of typed) {
    terms.add(term);
    const isKnown = words.holders(term) > 0;
    if (forms.size === 0) {
      plain.set(term, times);
      continue;
    }
    const worth = ([form, { weight }]: [string, { weight: number }]) => weight * Math.log(1 + words.holders(form));
    const best = [...forms].sort((a, b) => worth(b) - worth(a)).slice(0, kMostForms);
    for (const [form] of best) terms.add(form);
    groups.push({
      times,
      forms: [...(isKnown ? [[term, 1] as const] : []), ...best.map(([form, { weight }]) => [form, weight] as const)],
    });
    if (!isKnown) meant.push({ start: word.start, end: word.end, word: best[0]![1].word });
  }
  let out = '';
  let at = 0;
  for (const { start, end, word } of meant.sort((a, b) => a.start - b.start)) {
    out += text.slice(at, start) + word;
    at = end;
  }
  return { plain, groups, little, terms, text: out + text.slice(at) };
}

/** How much a word counts as what was typed; 0: it is not meant. */
function weightOf({ word: { word: typed }, most, letters, isBeginning }: Typed, word: string): number {
  if (isBeginning && word.startsWith(typed)) return kPrefixWeight.least + (kPrefixWeight.more * typed.length) / word.length;
  if (most === 0 || word.length < typed.length - most || (!isBeginning && word.length > typed.length + most)) return 0;
  const own = lettersOf(word);
  // An edit brings in one kind of letter at most, and takes one out.
  if (countOf(letters & ~own) > most || (!isBeginning && countOf(own & ~letters) > most)) return 0;
  const found = edits(typed, word, most, isBeginning);
  if (found > most) return 0;
  const weight = kTypoWeights[found]!;
  return isBeginning
    ? weight * (kPrefixWeight.least + (kPrefixWeight.more * typed.length) / Math.max(typed.length, word.length))
    : weight;
}
