// What the page's benchmarks compute of their measurements.

/** The upper one of the two in the middle. */
export const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** The smallest cosine of a row of `a` to the same row of `b`. */
export function leastCosine(a: Float32Array, b: Float32Array, dim: number): number {
  let least = 1;
  for (let at = 0; at < a.length; at += dim) {
    let [ab, aa, bb] = [0, 0, 0];
    for (let k = at; k < at + dim; ++k) {
      const [x, y] = [a[k] as number, b[k] as number];
      [ab, aa, bb] = [ab + x * y, aa + x * x, bb + y * y];
    }
    least = Math.min(least, ab / Math.sqrt(aa * bb));
  }
  return least;
}

/** Near 1: what is missing to it, as far as float32 vectors can tell. */
export const formatAgreement = (cosine: number) =>
  cosine > 1 - 1e-7 ? '1' : cosine > 0.999 ? `1 − ${(1 - cosine).toExponential(0).replace('-', '−')}` : cosine.toFixed(4);
