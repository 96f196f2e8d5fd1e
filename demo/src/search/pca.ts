// Principal components: the plane on which rows of numbers differ most.

export interface Plane {
  /** [dim] */
  mean: Float64Array;
  /** Two directions of unit length at a right angle, [dim] each. */
  axes: [Float64Array, Float64Array];
  /** The part of all variance that each direction has. */
  shares: [number, number];
}

const kMostRounds = 300;
const kClose = 1e-10; // of 1 - |cosine| between two rounds

const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);

/** vectors: [rows, dim] */
export function principalPlane(vectors: Float32Array, dim: number): Plane {
  const rows = vectors.length / dim;
  const mean = new Float64Array(dim);
  for (let i = 0; i < vectors.length; ++i) mean[i % dim] = (mean[i % dim] as number) + (vectors[i] as number) / rows;
  const centred = Float64Array.from(vectors, (x, i) => x - (mean[i % dim] as number));
  const total = dot(centred, centred);
  const first = component(centred, dim, []);
  const second = component(centred, dim, [first.axis]);
  const share = ({ spread }: { spread: number }) => (total > 0 ? spread / total : 0);
  return { mean, axes: [first.axis, second.axis], shares: [share(first), share(second)] };
}

/** Power iteration on the covariance, at a right angle to the axes before. spread: sum of squares along the axis. */
function component(centred: Float64Array, dim: number, before: readonly Float64Array[]) {
  let axis = unit(startOf(centred, dim, before));
  let spread = 0;
  for (let round = 0; round < kMostRounds; ++round) {
    const next = new Float64Array(dim);
    spread = 0;
    for (let at = 0; at < centred.length; at += dim) {
      let along = 0;
      for (let k = 0; k < dim; ++k) along += (centred[at + k] as number) * (axis[k] as number);
      for (let k = 0; k < dim; ++k) next[k] = (next[k] as number) + along * (centred[at + k] as number);
      spread += along * along;
    }
    const turned = unit(without(next, before));
    const close = 1 - Math.abs(dot(turned, axis));
    axis = turned;
    if (close < kClose) break;
  }
  return { axis, spread };
}

/** The longest row is never at a right angle to all that matters; without rows that differ, any direction will do. */
function startOf(centred: Float64Array, dim: number, before: readonly Float64Array[]): Float64Array {
  let best = without(new Float64Array(dim).fill(1), before);
  let longest = 0;
  for (let at = 0; at < centred.length; at += dim) {
    const row = without(centred.slice(at, at + dim), before);
    const length = dot(row, row);
    if (length > longest) [best, longest] = [row, length];
  }
  return best;
}

function without(vector: Float64Array, axes: readonly Float64Array[]): Float64Array {
  for (const axis of axes) {
    const along = dot(vector, axis);
    vector.forEach((x, k) => (vector[k] = x - along * (axis[k] as number)));
  }
  return vector;
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((x) => x / length) : vector;
}

/** Where rows lie on the plane: [rows, 2]. */
export function project(vectors: ArrayLike<number>, dim: number, { mean, axes }: Plane): Float32Array {
  const points = new Float32Array((2 * vectors.length) / dim);
  for (let row = 0; row * dim < vectors.length; ++row) {
    axes.forEach((axis, side) => {
      let along = 0;
      for (let k = 0; k < dim; ++k) along += ((vectors[row * dim + k] as number) - (mean[k] as number)) * (axis[k] as number);
      points[2 * row + side] = along;
    });
  }
  return points;
}
