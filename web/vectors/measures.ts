// Measures of how well a model does: correlations, rankings, labels, clusters.

/** Ranks from 1; equal values share the mean of theirs. */
function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] as number) - (values[b] as number));
  const out = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end] as number] === values[order[begin] as number]) ++end;
    for (let i = begin; i < end; ++i) out[order[i] as number] = (begin + 1 + end) / 2;
    begin = end;
  }
  return out;
}

const meanOf = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** Pearson correlation; 0 if one side is constant. */
export function pearson(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [meanOf(a), meanOf(b)];
  let [ab, aa, bb] = [0, 0, 0];
  a.forEach((value, i) => {
    const [x, y] = [value - meanA, (b[i] as number) - meanB];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  });
  return aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : 0;
}

/** Spearman correlation: the Pearson correlation of ranks. */
export const spearman = (a: readonly number[], b: readonly number[]): number => pearson(ranks(a), ranks(b));

export interface Counts {
  right: number;
  found: number;
  expected: number;
}

/** 0 if nothing was found and nothing expected. */
export const f1Of = ({ right, found, expected }: Counts): number => (found + expected > 0 ? (2 * right) / (found + expected) : 0);

/** One label each. The mean of F1 is over the labels that are found or expected, as in scikit-learn. */
export function labelMeasures(found: readonly string[], expected: readonly string[]): { accuracy: number; macro_f1: number } {
  const counts = new Map<string, Counts>();
  const of = (name: string) => counts.get(name) ?? counts.set(name, { right: 0, found: 0, expected: 0 }).get(name)!;
  let right = 0;
  found.forEach((label, i) => {
    ++of(label).found;
    ++of(expected[i] as string).expected;
    if (label !== expected[i]) return;
    ++right;
    ++of(label).right;
  });
  return { accuracy: right / expected.length, macro_f1: meanOf([...counts.values()].map(f1Of)) };
}

/** The cutoffs of sentence-transformers' InformationRetrievalEvaluator. */
const kCutoffs = [1, 3, 5, 10];
const kMapCutoff = 100;
/** How many of a query's documents rankingMeasures looks at. */
export const kRanked = kMapCutoff;

export type RankingMeasures = Record<
  `${'accuracy' | 'precision' | 'recall'}@${1 | 3 | 5 | 10}` | 'mrr@10' | 'ndcg@10' | 'map@100',
  number
>;

const discount = (place: number) => 1 / Math.log2(place + 2);

/**
 * Means over queries. ranked: of each query, its best documents, best first (at least 100 where there are that many); relevant: those that answer it, at
 * least one. As sentence-transformers has them: a document is relevant or not, without grades.
 */
export function rankingMeasures(ranked: readonly (readonly string[])[], relevant: readonly ReadonlySet<string>[]): RankingMeasures {
  const sums: Record<string, number> = {};
  const add = (name: string, value: number) => void (sums[name] = (sums[name] ?? 0) + value);
  ranked.forEach((ids, i) => {
    const wanted = relevant[i] as ReadonlySet<string>;
    const hits = ids.map((id) => wanted.has(id));
    const within = (k: number) => hits.slice(0, k).filter(Boolean).length;
    const gains = (places: number[]) => places.reduce((sum, place) => sum + discount(place), 0);
    const places = [...hits.keys()].filter((place) => hits[place]);
    for (const k of kCutoffs) {
      add(`accuracy@${k}`, Number(within(k) > 0));
      add(`precision@${k}`, within(k) / k);
      add(`recall@${k}`, within(k) / wanted.size);
    }
    const first = places[0] ?? Infinity;
    add('mrr@10', first < 10 ? 1 / (first + 1) : 0);
    const best = Array.from({ length: Math.min(10, wanted.size) }, (_, place) => place);
    add('ndcg@10', gains(places.filter((place) => place < 10)) / gains(best));
    const precisions = places.filter((place) => place < kMapCutoff).map((place, rank) => (rank + 1) / (place + 1));
    add('map@100', precisions.reduce((sum, x) => sum + x, 0) / Math.min(kMapCutoff, wanted.size));
  });
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / ranked.length])) as RankingMeasures;
}

function entropy(counts: Iterable<number>, total: number): number {
  let sum = 0;
  for (const count of counts) if (count > 0) sum -= (count / total) * Math.log(count / total);
  return sum;
}

/** Rosenberg and Hirschberg 2007: whether each cluster has one label, whether each label is one cluster, and the harmonic mean of both. */
export function clusterMeasures(
  clusters: readonly number[],
  labels: readonly string[],
): { v_measure: number; homogeneity: number; completeness: number } {
  const total = labels.length;
  const [byCluster, byLabel, both] = [new Map<number, number>(), new Map<string, number>(), new Map<string, number>()];
  const count = <Key>(of: Map<Key, number>, key: Key) => of.set(key, (of.get(key) ?? 0) + 1);
  labels.forEach((label, i) => {
    count(byCluster, clusters[i] as number);
    count(byLabel, label);
    count(both, `${clusters[i]} ${label}`);
  });
  const [ofClusters, ofLabels, joint] = [byCluster, byLabel, both].map((of) => entropy(of.values(), total)) as [
    number,
    number,
    number,
  ];
  const shared = ofClusters + ofLabels - joint;
  const homogeneity = ofLabels === 0 ? 1 : shared / ofLabels;
  const completeness = ofClusters === 0 ? 1 : shared / ofClusters;
  const sum = homogeneity + completeness;
  return { v_measure: sum > 0 ? (2 * homogeneity * completeness) / sum : 0, homogeneity, completeness };
}
