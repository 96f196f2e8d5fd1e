// Finds the parts of an index that fit a query: candidates by words and by meaning, joined, reranked, and told as hits.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { withTitle, type Contents, type Entry, type Passing } from './contents.js';
import { headingsAt } from './headings.js';
import type { Expanded } from './expand.js';
import { bestRows, fuse, isClose, kMeaningWeight, moments, type Moments, type View } from './ranking.js';

import type { IndexHit, IndexSearchOptions, Reranker, RerankFunction } from './types.js';
import type { Analyser } from './words.js';

/** Rows whose cosines stand for all. */
const kSample = 4096;
const kLeastCandidates = 200;
/** What a pipeline that reranks says of a text. */
type Ranked = { corpus_id: number; score: number };
const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);
const isRanking = (value: unknown) =>
  Array.isArray(value) && value.every(({ corpus_id, score }: Ranked) => Number.isInteger(corpus_id) && isNumber(score));
const kRerank = "Index.search: option 'rerank'";

/** A part of a document, and what is known of it. Rows may get other numbers while a reranker judges, so it has its place instead. */
interface Candidate {
  entry: Entry;
  start: number;
  end: number;
  score: number;
  close: boolean;
  coverage: number | null;
  words: number | null;
  meaning: number | null;
  trust: number | null;
  rank: number | null;
}

/** The row with the highest score among neighbouring ones of a unit. */
function bestOfEach(rows: readonly number[], scores: Float32Array, unitOf: (row: number) => number): number[] {
  const out: number[] = [];
  for (const row of rows) {
    const last = out.at(-1);
    if (last === undefined || unitOf(last) !== unitOf(row)) out.push(row);
    else if (scores[row]! > scores[last]!) out[out.length - 1] = row;
  }
  return out;
}

/**
 * The documents that fit a query best, best first, each with the part that does; or, grouped by chunk, the parts. At most `wanted`. A document
 * has the score of all its words, which is that of its best part, and the cosine of its nearest part.
 */
export function candidates(
  contents: Contents,
  { plain, groups, little }: Pick<Expanded, 'plain' | 'groups' | 'little'>,
  asked: { vector: Float32Array; trust: number } | undefined,
  mode: 'hybrid' | 'words' | 'meaning',
  wanted: number,
  passing: Passing | undefined,
  { fusion = 'coverage', weights, group_by }: IndexSearchOptions,
): Candidate[] {
  const { vectors, owners } = contents;
  const isByChunk = group_by === 'chunk';
  /** What is ranked: a document goes by its first row. */
  const unitOf = (row: number) => (isByChunk ? row : owners[row]!.first);
  const allowed = contents.allowed(passing);
  const words = mode === 'meaning' ? undefined : contents.words.scores(plain, groups, little);
  const worded =
    words &&
    bestOfEach(
      words.found.filter((row) => allowed[row] === 1),
      words.scores,
      unitOf,
    );
  /** The row that holds the words best in each document that has one of these rows. */
  const bestByWords = (rows: readonly number[]) =>
    words && !isByChunk
      ? Array.from(new Set(rows.map((row) => owners[row]!)), (entry) => contents.bestRow(entry, words.scores))
      : [];
  const meaning = asked && vectors && vectors.count > 0 ? vectors : undefined;
  const { vector, trust = 1 } = asked ?? {};
  const isShared = fusion === 'coverage';
  /** Only z-scores need to know of all rows. */
  const ofAll = (scores: () => ArrayLike<number>, count?: number) =>
    fusion === 'zscore' ? moments(scores(), count) : { mean: 0, deviation: 0 };
  const count = isByChunk ? contents.rows : contents.documents.size;
  // Parts of few documents may be all that was found: then more parts are asked for.
  for (let depth = Math.max(kLeastCandidates, 10 * wanted); ; depth *= 4) {
    const byWords = words && worded ? bestRows(worded, words.scores, depth) : [];
    const byMeaning = meaning ? Array.from(meaning.search(vector!, Math.min(depth, meaning.count), allowed).rows) : [];
    const rows = Int32Array.from(new Set([...byWords, ...byMeaning, ...bestByWords(byMeaning)]));
    const units = new Map<number, number>();
    const unitAt = Int32Array.from(rows, (row) => {
      const unit = unitOf(row);
      if (!units.has(unit)) units.set(unit, units.size);
      return units.get(unit)!;
    });
    const views: View[] = [];
    const partViews: View[] = [];
    /** share: a score as a number from 0 to 1. */
    const look = (
      weight: number,
      scores: Float64Array,
      found: readonly number[],
      least: number,
      all: Moments,
      share: (score: number) => number,
    ): View => {
      const ofUnits = new Float64Array(units.size).fill(-Infinity);
      unitAt.forEach((unit, i) => (ofUnits[unit] = Math.max(ofUnits[unit]!, scores[i]!)));
      const ranked = [...new Set(found.map((row) => units.get(unitOf(row))!))];
      const scale = { weight, most: ofUnits[ranked[0] ?? 0]!, least, ...all };
      const view = { ...scale, scores: ofUnits, shares: ofUnits.map(share), ranked };
      views.push(view);
      partViews.push({ ...scale, scores, shares: scores.map(share), ranked: [...rows.keys()] });
      return view;
    };
    let byWord: View | undefined;
    if (words) {
      const { scores, found, whole } = words;
      const all = ofAll(() => bestOfEach(found, scores, unitOf).map((row) => scores[row]!), count);
      byWord = look(
        weights?.words ?? 1,
        Float64Array.from(rows, (row) => scores[row]!),
        byWords,
        0,
        all,
        (score) => (whole > 0 ? Math.min(1, score / whole) : 0),
      );
    }
    let byCosine: View | undefined;
    if (meaning) {
      const scores = Float64Array.from(meaning.scores(vector!, rows));
      const least = scores[rows.indexOf(byMeaning.at(-1)!)]!;
      const all = ofAll(() => meaning.scores(vector!, contents.sample(kSample)));
      const weight = (weights?.meaning ?? 1) * (isShared ? kMeaningWeight * trust : 1);
      byCosine = look(weight, scores, byMeaning, least, all, (cosine) => Math.max(0, cosine));
    }
    const [only] = views;
    const scores = views.length === 1 ? only!.scores : fuse(views, units.size, fusion);
    const ofParts = fuse(partViews, rows.length, isShared ? fusion : 'minmax');
    const nearParts = partViews.at(-1)?.scores ?? ofParts; // cosines, if there are such: they decide between equal ones
    const isBetter = (a: number, b: number) =>
      ofParts[a]! > ofParts[b]! || (ofParts[a] === ofParts[b] && nearParts[a]! > nearParts[b]!);
    const best = new Int32Array(units.size).fill(-1);
    unitAt.forEach((unit, i) => {
      if (best[unit]! < 0 || isBetter(i, best[unit]!)) best[unit] = i;
    });
    const nearness = views.at(-1)?.scores ?? scores; // the same: an untrusted model's hits may all have 0
    const order = Array.from(best.keys()).sort(
      (a, b) => scores[b]! - scores[a]! || nearness[b]! - nearness[a]! || rows[best[a]!]! - rows[best[b]!]!,
    );
    const isAll = byWords.length < depth && byMeaning.length < depth;
    if (order.length < wanted && !isAll) continue;
    const shown = isShared && views.length === 1 ? only!.shares : scores;
    return order.slice(0, wanted).map((unit) => ({
      ...contents.part(rows[best[unit]!]!),
      score: shown[unit]!,
      close: isClose(byWord?.shares[unit], byCosine?.shares[unit], trust),
      coverage: byWord?.shares[unit] ?? null,
      words: byWord?.scores[unit] ?? null,
      meaning: byCosine?.scores[unit] ?? null,
      trust: byCosine ? trust : null,
      rank: null,
    }));
  }
}

/** Documents that a query of conditions alone lets through, as they were added: they have all that it asks for. */
export function listed(contents: Contents, passing: Passing, wanted: number, isByChunk: boolean): Candidate[] {
  const out: Candidate[] = [];
  let last: Entry | undefined;
  for (let row = 0; row < passing.rows.length && out.length < wanted; ++row) {
    const entry = contents.owners[row];
    if (!entry || !passing.rows[row] || (entry === last && !isByChunk)) continue;
    last = entry;
    out.push({ ...contents.part(row), score: 1, close: true, coverage: 1, words: null, meaning: null, trust: null, rank: null });
  }
  return out;
}

/** Numbers in an array of our own: those of an array or a typed array, each read once. */
function numbersOf(what: string, value: unknown, length: number): Float64Array {
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
  const list = checkAnswer<ArrayLike<unknown>>(what, value, `${length} numbers`, () => isList);
  if (list.length !== length) throw new InputError(`${what}: expected it to return ${length} numbers, found ${list.length}`);
  return Float64Array.from({ length }, (_, i) => {
    const each = list[i];
    if (isNumber(each)) return each as number;
    throw new InputError(`${what}: expected it to return numbers, found ${describe(each)} at index ${i}`);
  });
}

/** The same in the order of a reranker's scores. */
export async function reranked(
  query: string,
  found: Candidate[],
  rerank: Reranker,
  signal: AbortSignalLike | undefined,
): Promise<Candidate[]> {
  const texts = found.map(({ entry, start, end }) => withTitle(entry.document, entry.document.text.slice(start, end)));
  const scores = new Float64Array(found.length);
  if (Object.hasOwn(rerank, 'task')) {
    const ranked = await (rerank as Exclude<Reranker, RerankFunction>)(query, texts, { signal });
    for (const { corpus_id, score } of checkAnswer<Ranked[]>(kRerank, ranked, 'a score for each text', isRanking))
      scores[corpus_id] = score;
  } else {
    scores.set(numbersOf(kRerank, await (rerank as RerankFunction)(query, texts), texts.length));
  }
  const judged = found.map((candidate, i) => ({ ...candidate, rank: scores[i]!, score: scores[i]! }));
  return judged.sort((a, b) => b.score - a.score);
}

/** What a search answers: its candidates with the places of the query's words in them. */
export async function toHits(
  analyser: Analyser,
  wanted: ReadonlySet<string>,
  found: readonly Candidate[],
  signal: AbortSignalLike | undefined,
): Promise<IndexHit[]> {
  const breather = new Breather();
  const hits: IndexHit[] = [];
  for (const { entry, start, end, score, close, coverage, words, meaning, trust, rank } of found) {
    const { document } = entry;
    const text = document.text.slice(start, end);
    const highlights: IndexHit['highlights'] = [];
    for (const words of analyser.batches(text)) {
      for (const word of words) {
        if (!wanted.has(word.term)) continue;
        const last = highlights.at(-1);
        if (last && word.start <= last.end)
          last.end = word.end; // neighbouring pairs of one run
        else highlights.push({ start: word.start, end: word.end });
      }
      await breather.breathe(signal);
    }
    hits.push({
      id: document.id,
      score,
      close,
      text,
      start,
      end,
      headings: headingsAt(document, start),
      why: { coverage, words, meaning, trust, rank },
      highlights,
      document,
    });
  }
  return hits;
}

export function isAbove({ score, coverage, words, meaning, rank }: Candidate, floor: IndexSearchOptions['min_score']): boolean {
  if (floor === undefined || floor === null) return true;
  if (typeof floor === 'number') return score >= floor;
  const own = { coverage, words, meaning, rank };
  return (['coverage', 'words', 'meaning', 'rank'] as const).some(
    (name) => floor[name] !== undefined && (own[name] ?? -Infinity) >= floor[name],
  );
}

/** The sentences of a text, without the spaces around them. */
function sentencesOf(text: string): { start: number; end: number }[] {
  const parts =
    typeof Intl === 'object' && 'Segmenter' in Intl
      ? Array.from(
          new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text),
          ({ index, segment }) => [index, segment] as const,
        )
      : Array.from(
          text.matchAll(/[^.!?\u3002\uff01\uff1f\n]+[.!?\u3002\uff01\uff1f]*/g),
          ({ index, 0: segment }) => [index, segment] as const,
        );
  return parts.flatMap(([index, segment]) => {
    const words = segment.trim();
    const start = index + segment.indexOf(words);
    return words === '' ? [] : [{ start, end: start + words.length }];
  });
}

/** Adds to each hit the sentence whose vector is nearest to the query's: one pass over the sentences of all hits. */
export async function withSentences(
  hits: readonly IndexHit[],
  query: Float32Array,
  embed: (texts: string[]) => Promise<Float32Array>,
): Promise<void> {
  const all = hits.map(({ text }) => sentencesOf(text));
  const vectors = await embed(hits.flatMap(({ text }, i) => all[i]!.map(({ start, end }) => text.slice(start, end))));
  let row = 0;
  hits.forEach((hit, i) => {
    let best: NonNullable<IndexHit['sentence']> | undefined;
    for (const { start, end } of all[i]!) {
      let score = 0;
      for (let j = 0; j < query.length; ++j) score += query[j]! * vectors[row * query.length + j]!;
      ++row;
      if (!best || score > best.score) best = { start, end, score };
    }
    if (best) hit.sentence = best;
  });
}
