// BM25 of a static index: as in web/search/bm25.ts, over the words that a query needs.
import { kNames, type Head, type Pages } from './layout.js';
import type { Files } from './files.js';
import { stopWords } from './stop_words.js';
import { filesOf, readPostings, readWords, type Postings } from './postings.js';

const kK1 = 1.5;
const kB = 0.75;
/** Files that are read for words which begin with the last one; a beginning that needs more says too little. */
const kMostFiles = 2;
/** What a word counts that only begins with the query's last one, beside one that is it. */
const kLonger = 0.5;
/** A common word is looked up if it has at least this share of the query's weight. */
const kShare = 0.1;

export interface ScoredWords {
  /** [pages] */
  scores: Float32Array;
  /** [rows] how much of its page's words a row holds: comparable within a page. */
  shares: Float32Array;
  /** Pages with a word, best first. */
  found: number[];
  /** The score of a page of mean length that holds each word once. */
  whole: number;
  /** The words that counted, for highlights. */
  terms: Set<string>;
}

/** Several lists as one. */
function joined(lists: readonly { list: Postings; factor: number }[]): Postings {
  if (lists.length === 1) return lists[0]!.list;
  const times = new Map<number, number>();
  for (const { list, factor } of lists)
    list.rows.forEach((row, i) => times.set(row, (times.get(row) ?? 0) + factor * list.times[i]!));
  const rows = [...times.keys()].sort((a, b) => a - b);
  return { rows, times: rows.map((row) => times.get(row)!) };
}

/** A word's plural or singular, in languages that have an s for it. */
const kinOf = (term: string): string => (term.endsWith('s') ? term.slice(0, -1) : `${term}s`);
/** Shorter words have none: 'as' is no plural. */
const kLeastKin = 4;

/** onTheirWay: words are fetched meanwhile. asked: how often the query has each term. open: the last one, if it may be the beginning of a word. */
export async function scoreWords(
  files: Files,
  head: Head,
  onTheirWay: Promise<Pages>,
  asked: ReadonlyMap<string, number>,
  open: string | undefined,
): Promise<ScoredWords> {
  const stops = stopWords(head.language);
  const telling = [...asked].filter(([term]) => !stops.has(term));
  const wanted = telling.length > 0 ? new Map(telling) : asked;
  const terms = new Set<string>();
  const lookUp = async (term: string, isOpen: boolean): Promise<Postings> => {
    const kin = term.length < kLeastKin || /[^a-z\u00e0-\u024f]/.test(term) ? term : kinOf(term);
    const range = filesOf(head.words, term, !isOpen);
    const isWide = range.last - range.first >= kMostFiles;
    const { first, last } = isWide ? filesOf(head.words, term, true) : range;
    const all = new Set([...Array.from({ length: last - first + 1 }, (_, i) => first + i), filesOf(head.words, kin, true).first]);
    const names = [...all].map(kNames.words);
    const read = await Promise.all(names.map((name) => files.get(name, (bytes) => readWords(bytes, name))));
    const fits = (word: string) => word === term || word === kin || (isOpen && !isWide && word.startsWith(term));
    const found = read.flatMap((words, i) => words.filter((word) => fits(word.term)).map((word) => ({ word, name: names[i]! })));
    for (const { word } of found) terms.add(word.term);
    const hasExact = found.some(({ word }) => word.term === term);
    const lists = found.map(({ word, name }) => ({
      list: readPostings(word, name),
      factor: hasExact && word.term !== term ? kLonger : 1,
    }));
    return lists.length > 0 ? joined(lists) : { rows: [], times: [] };
  };
  const idfOf = (holders: number, weight: number) => weight * Math.log(1 + (head.pages - holders + 0.5) / (holders + 0.5));

  const isCommon = (term: string) => Object.hasOwn(head.common, term) && term !== open;
  const rare = [...wanted.keys()].filter((term) => !isCommon(term));
  const lists = new Map<string, { list: Postings; holders: number }>();
  const add = async (term: string) => {
    const [list, pages] = await Promise.all([lookUp(term, term === open), onTheirWay]);
    let [holders, last] = [0, -1];
    for (const row of list.rows) {
      const page = pages.pageOf(row);
      if (page !== last) ++holders;
      last = page;
    }
    lists.set(term, { list, holders });
  };
  await Promise.all(rare.map(add));
  const weight = rare.reduce((sum, term) => sum + idfOf(lists.get(term)!.holders, wanted.get(term)!), 0);
  const common = [...wanted.keys()].filter(isCommon).map((term) => ({ term, idf: idfOf(head.common[term]!, wanted.get(term)!) }));
  const hasRare = rare.some((term) => lists.get(term)!.holders > 0);
  const needed = common.filter(({ idf }) => !hasRare || idf >= kShare * (weight + idf));
  await Promise.all(needed.map(({ term }) => add(term)));

  const pages = await onTheirWay;
  const scores = new Float32Array(head.pages);
  const shares = new Float32Array(head.rows);
  const found: number[] = [];
  let whole = 0;
  for (const [term, { list, holders }] of lists) {
    const idf = idfOf(holders, wanted.get(term)!);
    whole += idf / (1 + kK1);
    const { rows, times } = list;
    for (let i = 0; i < rows.length;) {
      const page = pages.pageOf(rows[i]!);
      let all = 0;
      for (; i < rows.length && rows[i]! < pages.firsts[page + 1]!; ++i) {
        all += times[i]!;
        shares[rows[i]!]! += (idf * times[i]!) / (times[i]! + kK1);
      }
      if (scores[page] === 0) found.push(page);
      scores[page]! += (idf * all) / (all + kK1 * (1 - kB + (kB * pages.lengths[page]!) / head.mean));
    }
  }
  // A common word that was not looked up is on nearly every page: it counts as if it were on all.
  const left = common.filter((one) => !needed.includes(one)).reduce((sum, { idf }) => sum + idf / (1 + kK1), 0);
  for (const page of found) scores[page]! += left;
  const { weights } = pages;
  found.sort((a, b) => weights[b]! * scores[b]! - weights[a]! * scores[a]! || a - b);
  return { scores, shares, found, whole: whole + left, terms };
}
