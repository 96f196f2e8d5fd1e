// A classifier's network over vectors: one linear layer, or two with a ReLU between them, in double precision.
import type { ClassifierOptions, ClassifierReport } from '../classifier_types.js';
import { exp } from '../../core/scores.js';

export interface Layer {
  weight: Float64Array; // [out, in]
  bias: Float64Array; // [out]
}

/** Training vectors with their labels. */
export interface Data {
  vectors: Float64Array; // [count, dim]
  dim: number;
  labels: Int32Array; // [count]
  num_labels: number;
  weights: Float64Array; // [count] weight of each example
}

/** Awaited between steps: yields to the event loop, reports progress, and throws if the caller's signal fired. */
export type Tick = (done: number, total: number, loss: number) => Promise<void>;
/** The same without progress. */
export type Breathe = () => Promise<void>;

/** Rows that are computed between breaks. */
export const kRows = 128;

/** sum of a[i] b[i], as four independent sums in a fixed order, for speed. */
export function dot(a: Float64Array, at: number, b: Float64Array, bt: number, count: number): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 4 <= count; i += 4) {
    s0 += (a[at + i] as number) * (b[bt + i] as number);
    s1 += (a[at + i + 1] as number) * (b[bt + i + 1] as number);
    s2 += (a[at + i + 2] as number) * (b[bt + i + 2] as number);
    s3 += (a[at + i + 3] as number) * (b[bt + i + 3] as number);
  }
  for (; i < count; ++i) s0 += (a[at + i] as number) * (b[bt + i] as number);
  return s0 + s1 + (s2 + s3);
}

/** out[i] += factor * x[i]. */
export function addScaled(out: Float64Array, at: number, x: Float64Array, xt: number, count: number, factor: number): void {
  for (let i = 0; i < count; ++i) out[at + i] = (out[at + i] as number) + factor * (x[xt + i] as number);
}

/** y = W x + b for the vector that begins at x[at]. */
export function applyLayer({ weight, bias }: Layer, x: Float64Array, at: number, y: Float64Array): void {
  const size = weight.length / bias.length;
  for (let j = 0; j < bias.length; ++j) y[j] = (bias[j] as number) + dot(weight, j * size, x, at, size);
}

/** Softmax in place. Returns ln of the sum of exponentials, for the loss. */
export function softmaxInPlace(z: Float64Array): number {
  let most = -Infinity;
  for (let j = 0; j < z.length; ++j) most = Math.max(most, z[j] as number);
  let sum = 0;
  for (let j = 0; j < z.length; ++j) sum += z[j] = exp((z[j] as number) - most);
  for (let j = 0; j < z.length; ++j) z[j] = (z[j] as number) / sum;
  return most + Math.log(sum);
}

/** The logits of all vectors: [count, labels]. */
export async function logitsOf(
  network: readonly Layer[],
  vectors: Float64Array,
  dim: number,
  breathe: Breathe,
): Promise<Float64Array> {
  const labels = (network[network.length - 1] as Layer).bias.length;
  const count = vectors.length / dim;
  const out = new Float64Array(count * labels);
  for (let i = 0; i < count; ++i) {
    let x = vectors;
    let at = i * dim;
    network.forEach((layer, depth) => {
      const y = depth === network.length - 1 ? out.subarray(i * labels, (i + 1) * labels) : new Float64Array(layer.bias.length);
      applyLayer(layer, x, at, y);
      if (depth < network.length - 1) y.forEach((value, j) => (y[j] = Math.max(0, value)));
      [x, at] = [y, 0];
    });
    if ((i + 1) % kRows === 0) await breathe();
  }
  return out;
}

export interface Fitted {
  kind: 'logistic' | 'mlp';
  labels: string[];
  dim: number;
  network: Layer[];
  /** Logistic: the inverse strength of the regularisation. */
  C?: number | undefined;
  temperature: number;
  report: ClassifierReport | undefined;
  embed_options: ClassifierOptions['embed_options'];
}
