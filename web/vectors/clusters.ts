// Paraphrase mining and community detection, as in sentence_transformers.util, and k-means.
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { makeRandom } from '../core/random.js';
import { best, checkLengths, dot, toUnit, toVectors } from './similarity.js';
import { Tensor } from '../core/tensor.js';
import type { Clusters, CommunityOptions, KMeansOptions, ParaphraseOptions, ParaphrasePair } from './clusters_types.js';
import type { Vectors } from './types.js';

function toRows(where: string, embeddings: Vectors): Float64Array[] {
  const rows = toVectors(`${where}: embeddings`, embeddings);
  for (const row of rows) checkLengths(where, rows[0] as Float64Array, row);
  return rows;
}

/**
 * The pairs of rows with the highest cosine, best first. Only the `top_k` nearest rows of each row are considered.
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * const vectors = await embed(['A boat.', 'The bread is fresh.', 'A small boat.']);
 * const [{ i, j }] = paraphrase_mining(vectors);
 * [i, j]; // => [0, 2]
 */
export function paraphrase_mining(embeddings: Vectors, options: ParaphraseOptions = {}): ParaphrasePair[] {
  options = readOptions('paraphrase_mining', options, { top_k: 'count', max_pairs: 'count' });
  const { top_k, max_pairs } = { top_k: options?.top_k ?? 100, max_pairs: options?.max_pairs ?? 500_000 };
  const rows = toRows('paraphrase_mining', embeddings).map(toUnit);
  if (rows.length < 2) return [];
  const pairs = new Map<number, ParaphrasePair>();
  rows.forEach((row, own) => {
    const scores = Float64Array.from(rows, (other) => dot(row, other));
    scores[own] = -Infinity;
    for (const { corpus_id, score } of best(scores, Math.min(top_k, rows.length - 1))) {
      const [i, j] = own < corpus_id ? [own, corpus_id] : [corpus_id, own];
      pairs.set(i * rows.length + j, { score, i, j });
    }
  });
  return [...pairs.values()].sort((a, b) => b.score - a.score || a.i - b.i || a.j - b.j).slice(0, max_pairs);
}

/**
 * Finds disjoint groups of rows whose cosine with a central row is at least `threshold`, largest first. Each begins with its central row, followed by
 * the others, nearest first.
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * const vectors = await embed(['A boat.', 'A small boat.', 'The bread is fresh.', 'Fresh bread.']);
 * community_detection(vectors, { threshold: 0.6, min_community_size: 2 }).length; // => 2
 */
export function community_detection(embeddings: Vectors, options: CommunityOptions = {}): number[][] {
  options = readOptions('community_detection', options, { threshold: 'any', min_community_size: 'count' });
  const { threshold, least } = { threshold: options?.threshold ?? 0.75, least: options?.min_community_size ?? 10 };
  if (typeof threshold !== 'number' || Number.isNaN(threshold))
    throw new InputError(`community_detection: option 'threshold': expected a number, found ${describe(threshold)}`);
  const rows = toRows('community_detection', embeddings).map(toUnit);
  const found: { center: number; rows: number[] }[] = [];
  rows.forEach((row, center) => {
    const scores = Float64Array.from(rows, (other) => dot(row, other));
    const near = [...scores.keys()].filter((i) => (scores[i] as number) >= threshold);
    if (near.length < least) return;
    found.push({ center, rows: near.sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b) });
  });
  found.sort((a, b) => b.rows.length - a.rows.length);
  const used = new Uint8Array(rows.length);
  const out: number[][] = [];
  for (const { center, rows: near } of found) {
    const free = near.filter((i) => !used[i]);
    if (used[center] || free.length < least) continue;
    const community = [center, ...free.filter((i) => i !== center)];
    for (const i of community) used[i] = 1;
    out.push(community);
  }
  return out.sort((a, b) => b.length - a.length);
}

function squaredDistance(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += ((a[i] as number) - (b[i] as number)) ** 2;
  return sum;
}

/** k-means++ (Arthur and Vassilvitskii 2007): rows are drawn as centres with probability proportional to the squared distance to others. */
function firstCentres(rows: readonly Float64Array[], count: number, random: () => number): Float64Array[] {
  const centres = [rows[Math.floor(random() * rows.length)] as Float64Array];
  const far = Float64Array.from(rows, () => Infinity);
  while (centres.length < count) {
    const newest = centres[centres.length - 1] as Float64Array;
    rows.forEach((row, i) => (far[i] = Math.min(far[i] as number, squaredDistance(row, newest))));
    let at = random() * far.reduce((sum, d) => sum + d, 0);
    let row = far.findIndex((d) => (at -= d) < 0);
    if (row < 0) row = far.findIndex((d) => d > 0); // rounding of the sum
    centres.push(rows[Math.max(row, 0)] as Float64Array);
  }
  return centres.map((row) => row.slice());
}

interface Run {
  labels: Int32Array;
  centres: Float64Array[];
  inertia: number;
}

function lloyd(rows: readonly Float64Array[], centres: Float64Array[], iterations: number): Run {
  const labels = new Int32Array(rows.length).fill(-1);
  let inertia = 0;
  for (let iteration = 0; iteration < iterations; ++iteration) {
    let moved = false;
    inertia = 0;
    rows.forEach((row, i) => {
      let [label, least] = [0, Infinity];
      centres.forEach((centre, j) => {
        const distance = squaredDistance(row, centre);
        if (distance < least) [label, least] = [j, distance];
      });
      inertia += least;
      if (labels[i] !== label) moved = true;
      labels[i] = label;
    });
    if (!moved) break;
    centres.forEach((centre, j) => {
      const own = rows.filter((_, i) => labels[i] === j);
      if (own.length > 0)
        centre.forEach((_, d) => (centre[d] = own.reduce((sum, row) => sum + (row[d] as number), 0) / own.length));
    });
  }
  return { labels, centres, inertia };
}

/**
 * Groups rows into `count` clusters around their means, by Euclidean distance. For cosine, pass unit-length vectors.
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * const vectors = await embed(['A boat.', 'A small boat.', 'The bread is fresh.', 'Fresh bread.']);
 * const { labels } = k_means(vectors, 2);
 * labels[0] === labels[1] && labels[0] !== labels[2]; // => true
 */
export function k_means(embeddings: Vectors, count: number, options: KMeansOptions = {}): Clusters {
  options = readOptions('k_means', options, { n_init: 'count', max_iterations: 'count', seed: 'index' });
  const rows = toRows('k_means', embeddings);
  if (!Number.isInteger(count) || count < 1 || count > rows.length)
    throw new InputError(`k_means: expected from 1 to ${rows.length} clusters, found ${describe(count)}`);
  const random = makeRandom(options?.seed ?? 0);
  const runs = Array.from({ length: options?.n_init ?? 4 }, () =>
    lloyd(rows, firstCentres(rows, count, random), options?.max_iterations ?? 300),
  );
  const { labels, centres, inertia } = runs.reduce((a, b) => (b.inertia < a.inertia ? b : a));
  const data = Float32Array.from(centres.flatMap((centre) => [...centre]));
  return { labels, centroids: new Tensor('float32', data, [count, (rows[0] as Float64Array).length]), inertia };
}
