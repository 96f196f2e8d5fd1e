// Finds the parts of an index that fit a query: candidates by words and by meaning, joined, reranked, and told as hits.
import { InputError } from '../core/errors.js';
import type { AbortSignalLike } from '../core/types.js';
import { withTitle, type Contents, type Entry } from './contents.js';
import { bestRows, fuse, moments, type View } from './ranking.js';
import type { IndexDocument, IndexHit, IndexSearchOptions, Reranker } from './types.js';
import type { Analyser } from './words.js';

/** Rows whose cosines stand for all. */
const kSample = 4096;
const kLeastCandidates = 200;

/** A part of a document, and what is known of it. Rows may get other numbers while a reranker judges, so it has its place instead. */
interface Candidate {
  entry: Entry;
  start: number;
  end: number;
  score: number;
  words: number | null;
  meaning: number | null;
  rank: number | null;
}

/** The parts that fit a query best, best first: at most `wanted`. */
export function candidates(
  contents: Contents,
  query: string,
  vector: Float32Array | undefined,
  mode: 'hybrid' | 'words' | 'meaning',
  wanted: number,
  filter: ((document: IndexDocument) => boolean) | undefined,
  { fusion = 'minmax', weights, group_by }: IndexSearchOptions,
): Candidate[] {
  const { vectors } = contents;
  const allowed = contents.allowed(filter);
  const words = mode === 'meaning' ? undefined : contents.words.scores(query);
  const worded = words?.found.filter((row) => allowed[row] === 1);
  const meaning = vector && vectors && vectors.count > 0 ? vectors : undefined;
  // Parts of few documents may be all that was found: then more parts are asked for.
  for (let depth = Math.max(kLeastCandidates, 10 * wanted); ; depth *= 4) {
    const byWords = words && worded ? bestRows(worded, words.scores, depth) : [];
    const byMeaning = meaning ? Array.from(meaning.search(vector!, Math.min(depth, meaning.count), allowed).rows) : [];
    const rows = Int32Array.from(new Set([...byWords, ...byMeaning]));
    const places = new Map(Array.from(rows, (row, i) => [row, i] as const));
    const views: View[] = [];
    const placesOf = (list: readonly number[]) => list.map((row) => places.get(row)!);
    const wordScores = words && Float64Array.from(rows, (row) => words.scores[row]!);
    if (words && wordScores) {
      const all = words.found.map((row) => words.scores[row]!);
      const view = { weight: weights?.words ?? 1, scores: wordScores, ranked: placesOf(byWords) };
      views.push({ ...view, ...moments(all, contents.rows) });
    }
    const cosines = meaning && Float64Array.from(meaning.scores(vector!, rows));
    if (meaning && cosines) {
      const view = { weight: weights?.meaning ?? 1, scores: cosines, ranked: placesOf(byMeaning) };
      views.push({ ...view, ...moments(meaning.scores(vector!, contents.sample(kSample))) });
    }
    const [only] = views;
    const scores = views.length === 1 ? only!.scores : fuse(views, rows.length, fusion);
    const order = Array.from(rows.keys()).sort((a, b) => scores[b]! - scores[a]! || rows[a]! - rows[b]!);
    const found: Candidate[] = [];
    const seen = new Set<Entry>();
    for (const i of order) {
      const row = rows[i]!;
      const { entry, start, end } = contents.part(row);
      if (group_by !== 'chunk' && seen.has(entry)) continue;
      seen.add(entry);
      found.push({
        entry,
        start,
        end,
        score: scores[i]!,
        words: wordScores?.[i] ?? null,
        meaning: cosines?.[i] ?? null,
        rank: null,
      });
      if (found.length === wanted) break;
    }
    const isAll = byWords.length < depth && byMeaning.length < depth;
    if (found.length === wanted || isAll) return found;
  }
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
  if ('task' in rerank) {
    for (const { corpus_id, score } of await rerank(query, texts, { signal })) scores[corpus_id] = score;
  } else {
    const own = await rerank(query, texts);
    if (own.length !== texts.length)
      throw new InputError(`Index.search: rerank: expected ${texts.length} scores, found ${own.length}`);
    scores.set(Array.from(own));
  }
  const judged = found.map((candidate, i) => ({ ...candidate, rank: scores[i]!, score: scores[i]! }));
  return judged.sort((a, b) => b.score - a.score);
}

export function toHit(analyser: Analyser, query: string, { entry, start, end, score, words, meaning, rank }: Candidate): IndexHit {
  const { document } = entry;
  const text = document.text.slice(start, end);
  const why = { words, meaning, rank };
  return { id: document.id, score, text, start, end, why, highlights: highlights(analyser, query, text), document };
}

function highlights(analyser: Analyser, query: string, text: string): IndexHit['highlights'] {
  const wanted = new Set(analyser.words(query).map(({ term }) => term));
  const out: IndexHit['highlights'] = [];
  for (const { term, start, end } of analyser.words(text)) {
    if (!wanted.has(term)) continue;
    const last = out.at(-1);
    if (last && start <= last.end)
      last.end = end; // neighbouring pairs of one run
    else out.push({ start, end });
  }
  return out;
}

export function isAbove({ score, words, meaning, rank }: Candidate, floor: IndexSearchOptions['min_score']): boolean {
  if (floor === undefined || floor === null) return true;
  if (typeof floor === 'number') return score >= floor;
  const own = { words, meaning, rank };
  return (['words', 'meaning', 'rank'] as const).some(
    (name) => floor[name] !== undefined && (own[name] ?? -Infinity) >= floor[name],
  );
}
