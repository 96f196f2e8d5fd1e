// Joins what words and meaning say of the same rows.
import type { IndexSearchOptions } from './types.js';

export type Fusion = NonNullable<IndexSearchOptions['fusion']>;

/** Mean and standard deviation. */
export interface Moments {
  mean: number;
  deviation: number;
}

/** One way to look at candidates. The moments are those of all that there are, candidates or not. */
export interface View extends Moments {
  weight: number;
  /** [candidates] */
  scores: Float64Array;
  /** [candidates] From 0 to 1: how much of the query's words they hold, or their cosine. */
  shares: Float64Array;
  /** The candidates that this view found by itself, best first: places in `scores`. */
  ranked: readonly number[];
  /** What counts as 1 and as 0 with min-max. */
  most: number;
  least: number;
}

const kRankConstant = 60; // Cormack et al. 2009

/** What a cosine counts beside a coverage: chosen on SNLI's and STS-B's dev sets with the model in the package and all-MiniLM-L6-v2. */
export const kMeaningWeight = 2;

/**
 * From which score on a hit is close. The index holds one half of XQuAD's articles, and questions are on either half. 92 % (model in the package) and
 * 96 % (all-MiniLM-L6-v2) are told apart by the score of the first hit, and 93 % by words alone.
 */
const kClose = { both: 0.38, words: 0.49, meaning: 0.4 };

/** Whether a hit is close, by what is known of it. trust: of its cosine. */
export function isClose(coverage: number | undefined, cosine: number | undefined, trust: number): boolean {
  if (coverage === undefined) return cosine! >= kClose.meaning;
  if (cosine === undefined) return coverage >= kClose.words;
  const weight = kMeaningWeight * trust;
  return (coverage + weight * cosine) / (1 + weight) >= kClose.both;
}

/** The joint score of each candidate. */
export function fuse(views: readonly View[], count: number, fusion: Fusion): Float64Array {
  const out = new Float64Array(count);
  if (fusion === 'coverage') {
    const all = views.reduce((sum, { weight }) => sum + weight, 0);
    for (const { weight, shares } of views) if (all > 0) shares.forEach((share, i) => (out[i]! += (weight / all) * share));
    return out;
  }
  for (const { weight, scores, ranked, most, least, mean, deviation } of views) {
    if (fusion === 'rrf') {
      ranked.forEach((candidate, rank) => (out[candidate]! += weight / (kRankConstant + rank + 1)));
    } else if (fusion === 'zscore') {
      if (deviation > 0) scores.forEach((score, i) => (out[i]! += (weight * (score - mean)) / deviation));
    } else {
      for (const i of ranked) out[i]! += weight * (most > least ? (scores[i]! - least) / (most - least) : 1);
    }
  }
  return out;
}

/** The rows with the highest scores, best first; equal ones in order. Faster than sorting all of many. */
export function bestRows(rows: readonly number[], scores: Float32Array, count: number): number[] {
  let some = rows;
  if (rows.length > count) {
    const all = Float32Array.from(rows, (row) => scores[row]!).sort();
    const least = all[all.length - count]!;
    some = rows.filter((row) => scores[row]! >= least);
  }
  return [...some].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, count);
}

export function moments(values: ArrayLike<number>, count = values.length): Moments {
  let [sum, squares] = [0, 0];
  for (let i = 0; i < values.length; ++i) sum += values[i]!;
  const mean = count === 0 ? 0 : sum / count;
  for (let i = 0; i < values.length; ++i) squares += (values[i]! - mean) ** 2;
  squares += (count - values.length) * mean ** 2; // those that are not listed are 0
  return { mean, deviation: count === 0 ? 0 : Math.sqrt(squares / count) };
}
