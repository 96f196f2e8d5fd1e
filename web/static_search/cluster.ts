// Clusters of rows: a page reads those that are nearest to its query.
import type { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';

/** Rows of a cluster in the mean. */
const kRows = 100;
const kRounds = 8;
/** Rows that decide where the clusters are, for each of them. */
const kSample = 60;

/** Lloyd's k-means by cosine. rows: [n, dims] at unit length. Returns the centres [k, dims] at unit length, and the rows of each. */
export async function cluster(
  rows: Float32Array,
  dims: number,
  breather: Breather,
  signal?: AbortSignalLike,
): Promise<{ centres: Float32Array; members: number[][] }> {
  const n = rows.length / dims;
  const count = Math.max(1, Math.round(n / kRows));
  const spread = (number: number, i: number) => Math.floor(((i + 0.5) * n) / number);
  const centres = new Float32Array(count * dims);
  for (let c = 0; c < count; ++c) centres.set(rows.subarray(spread(count, c) * dims, (spread(count, c) + 1) * dims), c * dims);
  const nearest = (row: number) => {
    let [best, most] = [0, -Infinity];
    for (let c = 0; c < count; ++c) {
      let dot = 0;
      for (let j = 0; j < dims; ++j) dot += rows[row * dims + j]! * centres[c * dims + j]!;
      if (dot > most) [best, most] = [c, dot];
    }
    return best;
  };
  const sample = Math.min(n, kSample * count);
  for (let round = 0; round < kRounds && count > 1; ++round) {
    const sums = new Float64Array(count * dims);
    for (let i = 0; i < sample; ++i) {
      const row = spread(sample, i);
      const c = nearest(row);
      for (let j = 0; j < dims; ++j) sums[c * dims + j]! += rows[row * dims + j]!;
      await breather.breathe(signal);
    }
    for (let c = 0; c < count; ++c) {
      const sum = sums.subarray(c * dims, (c + 1) * dims);
      const length = Math.sqrt(sum.reduce((all, value) => all + value * value, 0));
      if (length > 0)
        centres.set(
          Float32Array.from(sum, (value) => value / length),
          c * dims,
        ); // one that nobody is near to stays
    }
  }
  const members: number[][] = Array.from({ length: count }, () => []);
  for (let row = 0; row < n; ++row) {
    members[nearest(row)]!.push(row);
    await breather.breathe(signal);
  }
  return { centres, members };
}
