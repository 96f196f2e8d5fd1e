// Beside the page: places texts on a plane by their vectors. First the principal components, then UMAP from there, sent as it goes.
import { UMAP } from 'umap-js';
import type { Finished, Report } from '../beside/task.js';
import { principalPlane, project, type Plane } from '../search/pca.js';
import { best, kNear, nearestRows, unitRows } from './near.js';

export interface Asked {
  /** [rows, dim] */
  vectors: Float32Array;
  dim: number;
}

/** How far the map is. */
export type Placed =
  | { stage: 'plane'; points: Float32Array; share: number; kept: number }
  | { stage: 'neighbours' }
  | { stage: 'refine'; points: Float32Array; done: number };

export interface Refined {
  points: Float32Array;
  /** The share of each text's nearest vectors that are its nearest on the map. */
  kept: number;
}

const kNeighbours = 15;
const kMinDist = 0.4; // larger than usual: dots of one group stay apart
const kSpread = 10; // the plane's longest side before UMAP begins, from the middle
const kPause = 40; // ms between two maps that are sent
const kEpochs = 200;
const kPlaneRows = 1000; // from which the plane is found
const kSampled = 100; // texts whose neighbours are compared

/** Numbers from 0 to 1, the same for each map. */
function draws(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Rows that stand evenly among all: [count] of their numbers. */
function someOf(rows: number, count: number): number[] {
  const step = Math.max(1, Math.floor(rows / count));
  return Array.from({ length: Math.min(count, rows) }, (_, i) => i * step);
}

/** The plane of all rows, or of a part of them that shows as much. */
function planeOf(units: Float32Array, dim: number): Plane {
  const rows = units.length / dim;
  if (rows <= kPlaneRows) return principalPlane(units, dim);
  const some = new Float32Array(kPlaneRows * dim);
  someOf(rows, kPlaneRows).forEach((row, i) => some.set(units.subarray(row * dim, (row + 1) * dim), i * dim));
  return principalPlane(some, dim);
}

/** Which rows are near to a sample of rows, by their vectors. */
function sampleOf(units: Float32Array, dim: number) {
  const rows = units.length / dim;
  const sample = someOf(rows, kSampled);
  const near = sample.map((row) => new Set(nearestRows(units, dim, row).map(({ row: other }) => other)));
  /** points: [rows, 2] */
  return (points: Float32Array): number => {
    let [kept, all] = [0, 0];
    sample.forEach((row, i) => {
      const [x, y] = [points[2 * row] as number, points[2 * row + 1] as number];
      const closeness = Float32Array.from(
        { length: rows },
        (_, k) => -Math.hypot((points[2 * k] as number) - x, (points[2 * k + 1] as number) - y),
      );
      for (const other of best(closeness, kNear, row)) kept += Number(near[i]?.has(other.row));
      all += (near[i] as Set<number>).size;
    });
    return all === 0 ? 1 : kept / all;
  };
}

/** points: [rows, 2], moved and scaled alike on both sides. */
function scaled(points: Float32Array): Float32Array {
  const most = points.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return most > 0 ? points.map((value) => (kSpread * value) / most) : points;
}

const flat = (rows: readonly (readonly number[])[]) => {
  const points = new Float32Array(2 * rows.length);
  rows.forEach(([x = 0, y = 0], i) => points.set([x, y], 2 * i));
  return points;
};

export async function place({ vectors, dim }: Asked, report: Report): Promise<Finished<Refined>> {
  const say = (placed: Placed) => report(placed);
  const rows = vectors.length / dim;
  const units = unitRows(vectors, dim);
  const plane = planeOf(units, dim);
  const start = scaled(project(units, dim, plane));
  const keptOf = sampleOf(units, dim);
  const kept = keptOf(start);
  say({ stage: 'plane', points: start, share: plane.shares[0] + plane.shares[1], kept });
  if (rows < 4) return { first: { points: start, kept } };
  say({ stage: 'neighbours' });
  const umap = new UMAP({
    nNeighbors: Math.min(kNeighbours, rows - 1),
    minDist: kMinDist,
    nEpochs: kEpochs,
    random: draws(),
    distanceFn: oneMinusDot,
  });
  const epochs = umap.initializeFit(Array.from({ length: rows }, (_, i) => units.subarray(i * dim, (i + 1) * dim) as never));
  umap.getEmbedding().forEach((point, i) => point.splice(0, 2, start[2 * i] as number, start[2 * i + 1] as number));
  let last = 0;
  for (let epoch = 1; epoch <= epochs; ++epoch) {
    umap.step();
    if (performance.now() - last < kPause) continue;
    last = performance.now();
    say({ stage: 'refine', points: flat(umap.getEmbedding()), done: epoch / epochs });
  }
  const points = flat(umap.getEmbedding());
  return { first: { points, kept: keptOf(points) } };
}

/** 1 - cosine, of vectors of unit length. Four sums, so that the products need not wait for each other. */
function oneMinusDot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < a.length; i += 4) {
    s0 += (a[i] as number) * (b[i] as number);
    s1 += (a[i + 1] as number) * (b[i + 1] as number);
    s2 += (a[i + 2] as number) * (b[i + 2] as number);
    s3 += (a[i + 3] as number) * (b[i + 3] as number);
  }
  for (; i < a.length; ++i) s0 += (a[i] as number) * (b[i] as number);
  return Math.max(0, 1 - s0 - s1 - s2 - s3);
}
