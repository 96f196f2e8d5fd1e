// The table of a site: rows whose sums give texts the vectors that the site's model gives them, by least squares. Rows of the table begin where the model puts
// the pieces by themselves, so words that the site does not have keep a place near their meaning.
import type { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { eigenSymmetric } from '../vectors/pca.js';

/** A text as shares of pieces, and how much it counts. */
export interface FitText {
  ids: readonly number[];
  weight: number;
}

/** How much a row may leave where it began: chosen on CISI and MED, as were the other numbers of this file and of `build.ts`. */
const kHold = 3e-4;
const kRounds = 60;

/** The directions [dims, width] in which vectors [n, width] of unit length differ most from zero: products in them are nearest to those of all. */
export async function mainDirections(
  vectors: Float32Array,
  width: number,
  dims: number,
  breather: Breather,
  signal?: AbortSignalLike,
): Promise<Float64Array> {
  const products = new Float64Array(width * width);
  for (let at = 0; at < vectors.length; at += width) {
    for (let j = 0; j < width; ++j) {
      const value = vectors[at + j]!;
      for (let k = 0; k <= j; ++k) products[j * width + k]! += value * vectors[at + k]!;
    }
    await breather.breathe(signal);
  }
  for (let j = 0; j < width; ++j) for (let k = 0; k < j; ++k) products[k * width + j] = products[j * width + k]!;
  const { vectors: all } = await eigenSymmetric(products, width, () => breather.breathe(signal));
  return all.slice(0, dims * width);
}

/** Vectors [n, width] along directions [dims, width]. */
export function along(vectors: Float32Array, width: number, directions: Float64Array): Float32Array {
  const dims = directions.length / width;
  const out = new Float32Array((vectors.length / width) * dims);
  for (let row = 0; row * width < vectors.length; ++row) {
    for (let c = 0; c < dims; ++c) {
      let sum = 0;
      for (let j = 0; j < width; ++j) sum += vectors[row * width + j]! * directions[c * width + j]!;
      out[row * dims + c] = sum;
    }
  }
  return out;
}

/**
 * Rows T [pieces, dims] that make the sum of weight |mean of a text's rows - its target|^2 + hold |T - start|^2 least. The method is conjugate
 * gradients, each column by itself (Hestenes and Stiefel 1952). targets: [texts, dims]; start: [pieces, dims].
 */
export async function fit(
  texts: readonly FitText[],
  targets: Float32Array,
  start: Float32Array,
  dims: number,
  breather: Breather,
  signal?: AbortSignalLike,
): Promise<Float32Array> {
  const kept = texts.map(({ ids }, i) => ({ ids, i })).filter(({ ids }) => ids.length > 0);
  /** out += X^T W (X rows - minus) */
  const pass = async (rows: Float64Array, out: Float64Array, minus?: Float32Array) => {
    const mean = new Float64Array(dims);
    for (const { ids, i } of kept) {
      mean.fill(0);
      for (const id of ids) for (let j = 0; j < dims; ++j) mean[j]! += rows[id * dims + j]!;
      const factor = texts[i]!.weight / ids.length;
      for (let j = 0; j < dims; ++j) mean[j] = factor * (mean[j]! / ids.length - (minus ? minus[i * dims + j]! : 0));
      for (const id of ids) for (let j = 0; j < dims; ++j) out[id * dims + j]! += mean[j]!;
      if (i % 64 === 0) await breather.breathe(signal);
    }
  };
  const rows = Float64Array.from(start);
  const rest = new Float64Array(rows.length);
  await pass(rows, rest, targets);
  rest.forEach((value, i) => (rest[i] = -value));
  const step = rest.slice();
  const squares = (values: Float64Array, others = values) => {
    const sums = new Float64Array(dims);
    for (let i = 0; i < values.length; ++i) sums[i % dims]! += values[i]! * others[i]!;
    return sums;
  };
  let size = squares(rest);
  const least = size.map((value) => 1e-8 * value);
  for (let round = 0; round < kRounds && size.some((value, j) => value > least[j]!); ++round) {
    const moved = step.map((value) => kHold * value);
    await pass(step, moved);
    const bend = squares(step, moved);
    const far = size.map((value, j) => (bend[j]! > 0 ? value / bend[j]! : 0));
    for (let i = 0; i < rows.length; ++i) {
      rows[i]! += far[i % dims]! * step[i]!;
      rest[i]! -= far[i % dims]! * moved[i]!;
    }
    const next = squares(rest);
    const turn = next.map((value, j) => (size[j]! > 0 ? value / size[j]! : 0));
    for (let i = 0; i < step.length; ++i) step[i] = rest[i]! + turn[i % dims]! * step[i]!;
    size = next;
    await breather.breathe(signal);
  }
  return Float32Array.from(rows);
}
