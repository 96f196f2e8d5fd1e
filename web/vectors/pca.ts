// Principal components, in double precision: the eigenvectors of the covariance, by Householder's reduction to a tridiagonal matrix and
// the implicit QL method (Golub and Van Loan, Matrix Computations, 8.3). Matrices are row by row, [rows, columns].
import { StateError } from '../core/errors.js';

/** Called between parts of the work; may yield to the event loop, or throw to end it. */
export type Breathe = () => Promise<void>;

/** Sum of a[aBegin + i] * b[bBegin + i]. */
function dot(a: Float64Array, aBegin: number, b: Float64Array, bBegin: number, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; ++i) sum += (a[aBegin + i] as number) * (b[bBegin + i] as number);
  return sum;
}

/** y[yBegin + i] += factor * x[xBegin + i] */
function axpy(factor: number, x: Float64Array, xBegin: number, y: Float64Array, yBegin: number, count: number): void {
  for (let i = 0; i < count; ++i) y[yBegin + i] = (y[yBegin + i] as number) + factor * (x[xBegin + i] as number);
}

interface Tridiagonal {
  diagonal: Float64Array; // [n]
  /** Beside the diagonal: off[i] couples i and i + 1; the last one is 0. */
  off: Float64Array; // [n]
  /** The reflection I - scale[k] v v^T of step k, where v is row k, zero up to column k. */
  reflectors: Float64Array; // [n, n]
  scales: Float64Array; // [n]
}

/** What is so much smaller than the largest number is what rounding left of a zero. A matrix of few vectors has little else, and turns would never end on it. */
const kNothing = Number.EPSILON / 64;

const largestOf = (values: Float64Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** Overwrites a, [n, n]. */
async function tridiagonalize(a: Float64Array, n: number, breathe: Breathe): Promise<Tridiagonal> {
  const diagonal = new Float64Array(n);
  const off = new Float64Array(n);
  const reflectors = new Float64Array(n * n);
  const scales = new Float64Array(n);
  const product = new Float64Array(n);
  for (let k = 0; k < n; ++k) {
    diagonal[k] = a[k * n + k] as number;
    const rest = n - k - 1;
    const at = k * n + k + 1; // row k beside the diagonal
    if (rest === 0) break;
    const length = Math.sqrt(dot(a, at, a, at, rest));
    const first = a[at] as number;
    off[k] = first > 0 ? -length : length;
    if (rest === 1 || length === Math.abs(first)) {
      off[k] = first;
      continue;
    }
    reflectors.set(a.subarray(at, at + rest), at);
    reflectors[at] = first - (off[k] as number);
    const scale = (scales[k] = 2 / dot(reflectors, at, reflectors, at, rest));
    for (let i = 0; i < rest; ++i) product[i] = scale * dot(a, (k + 1 + i) * n + k + 1, reflectors, at, rest);
    axpy((-scale / 2) * dot(product, 0, reflectors, at, rest), reflectors, at, product, 0, rest);
    for (let i = 0; i < rest; ++i) {
      const row = (k + 1 + i) * n + k + 1;
      axpy(-(reflectors[at + i] as number), product, 0, a, row, rest);
      axpy(-(product[i] as number), reflectors, at, a, row, rest);
    }
    await breathe();
  }
  return { diagonal, off, reflectors, scales };
}

/** One step of the implicit QL method on rows begin to end: changes the matrix and turns rows of vectors. */
function turn(diagonal: Float64Array, off: Float64Array, vectors: Float64Array, n: number, begin: number, end: number): void {
  const shift = ((diagonal[begin + 1] as number) - (diagonal[begin] as number)) / (2 * (off[begin] as number));
  const root = Math.hypot(shift, 1);
  let g = (diagonal[end] as number) - (diagonal[begin] as number) + (off[begin] as number) / (shift + (shift < 0 ? -root : root));
  let [sine, cosine, moved] = [1, 1, 0];
  for (let i = end - 1; i >= begin; --i) {
    const f = sine * (off[i] as number);
    const b = cosine * (off[i] as number);
    const r = Math.hypot(f, g);
    off[i + 1] = r;
    if (r === 0) {
      diagonal[i + 1] = (diagonal[i + 1] as number) - moved;
      off[end] = 0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    const next = (diagonal[i + 1] as number) - moved;
    const s = ((diagonal[i] as number) - next) * sine + 2 * cosine * b;
    moved = sine * s;
    diagonal[i + 1] = next + moved;
    g = cosine * s - b;
    const upper = i * n;
    const lower = upper + n;
    for (let j = 0; j < n; ++j) {
      const [x, y] = [vectors[upper + j] as number, vectors[lower + j] as number];
      vectors[lower + j] = sine * x + cosine * y;
      vectors[upper + j] = cosine * x - sine * y;
    }
  }
  diagonal[begin] = (diagonal[begin] as number) - moved;
  off[begin] = g;
  off[end] = 0;
}

/** Far more than any matrix takes. */
const kMostTurns = 100;

export interface Eigen {
  /** `[n]`, the largest first. */
  values: Float64Array;
  /** `[n, n]`: row i is the unit vector of value i, of either sign. */
  vectors: Float64Array;
}

/** The eigenvalues and eigenvectors of a symmetric matrix [n, n], which is overwritten. */
export async function eigenSymmetric(matrix: Float64Array, n: number, breathe: Breathe = async () => {}): Promise<Eigen> {
  const { diagonal, off, reflectors, scales } = await tridiagonalize(matrix, n, breathe);
  const vectors = new Float64Array(n * n);
  for (let i = 0; i < n; ++i) vectors[i * n + i] = 1;
  const nothing = kNothing * Math.max(largestOf(diagonal), largestOf(off));
  for (let begin = 0; begin < n; ++begin) {
    for (let turns = 0; ; ++turns) {
      let end = begin;
      const isSmall = (i: number) =>
        Math.abs(off[i] as number) <=
        Math.max(nothing, Number.EPSILON * (Math.abs(diagonal[i] as number) + Math.abs(diagonal[i + 1] as number)));
      while (end < n - 1 && !isSmall(end)) ++end;
      if (end === begin) break;
      if (turns === kMostTurns) throw new StateError('eigenvalues: no convergence (check the matrix for NaN)');
      turn(diagonal, off, vectors, n, begin, end);
      await breathe();
    }
  }
  for (let i = 0; i < n; ++i) {
    for (let k = n - 3; k >= 0; --k) {
      const [from, rest] = [k + 1, n - k - 1];
      if (scales[k] === 0) continue;
      const inside = dot(reflectors, k * n + from, vectors, i * n + from, rest);
      axpy(-(scales[k] as number) * inside, reflectors, k * n + from, vectors, i * n + from, rest);
    }
    await breathe();
  }
  const order = [...diagonal.keys()].sort((i, j) => (diagonal[j] as number) - (diagonal[i] as number));
  const sorted = new Float64Array(n * n);
  order.forEach((from, to) => sorted.set(vectors.subarray(from * n, (from + 1) * n), to * n));
  return { values: Float64Array.from(order, (i) => diagonal[i] as number), vectors: sorted };
}

/** Rows of the data that are in double precision at a time. */
const kRows = 4;

/** The means of the columns of data [rows, width], and the products of its centred columns, [width, width]. */
async function moments(
  data: Float32Array,
  width: number,
  breathe: Breathe,
): Promise<{ means: Float64Array; products: Float64Array }> {
  const rows = data.length / width;
  const means = new Float64Array(width);
  for (let i = 0; i < data.length; ++i) means[i % width] = (means[i % width] as number) + (data[i] as number);
  for (let j = 0; j < width; ++j) means[j] = (means[j] as number) / rows;
  const products = new Float64Array(width * width);
  const part = new Float64Array(kRows * width); // the last part is padded with zeros
  for (let begin = 0; begin < rows; begin += kRows) {
    part.fill(0);
    for (let i = 0; i < Math.min(kRows, rows - begin) * width; ++i) {
      part[i] = (data[begin * width + i] as number) - (means[i % width] as number);
    }
    for (let j = 0; j < width; ++j) {
      const [a, b, c, d] = [part[j], part[width + j], part[2 * width + j], part[3 * width + j]] as [number, number, number, number];
      const row = j * width;
      for (let k = j; k < width; ++k) {
        products[row + k] =
          (products[row + k] as number) +
          (a * (part[k] as number) +
            b * (part[width + k] as number) +
            (c * (part[2 * width + k] as number) + d * (part[3 * width + k] as number)));
      }
    }
    await breathe();
  }
  for (let j = 0; j < width; ++j) for (let k = 0; k < j; ++k) products[j * width + k] = products[k * width + j] as number;
  return { means, products };
}

/**
 * The centred rows of data, [rows, width], along its principal components, [rows, dims]. components: how many, at most width; below 1: as
 * many as explain this share of the variance. The row with the largest number of a component has it positive.
 */
export async function principalComponents(
  data: Float32Array,
  width: number,
  components: number,
  breathe: Breathe = async () => {},
): Promise<{ dims: number; scores: Float64Array }> {
  const rows = data.length / width;
  const { means, products } = await moments(data, width, breathe);
  const { values, vectors } = await eigenSymmetric(products, width, breathe);
  let dims = components;
  if (components < 1) {
    const total = values.reduce((sum, value) => sum + Math.max(0, value), 0);
    let explained = 0;
    dims = 0;
    do explained += Math.max(0, values[dims++] as number) / total;
    while (dims < width && explained < components);
  }
  const scores = new Float64Array(rows * dims);
  const centred = new Float64Array(width);
  const extremes = new Float64Array(dims);
  for (let i = 0; i < rows; ++i) {
    for (let j = 0; j < width; ++j) centred[j] = (data[i * width + j] as number) - (means[j] as number);
    for (let c = 0; c < dims; ++c) {
      const score = (scores[i * dims + c] = dot(centred, 0, vectors, c * width, width));
      if (Math.abs(score) > Math.abs(extremes[c] as number)) extremes[c] = score;
    }
    await breathe();
  }
  for (let i = 0; i < scores.length; ++i) if ((extremes[i % dims] as number) < 0) scores[i] = -(scores[i] as number);
  return { dims, scores };
}
