// Scores from logits, with the same bits on every engine: sums and products are exact, unlike Math.exp.

const kLn2High = 0.6931471803691238; // ln 2 with its last 21 bits zero, so that k * kLn2High is exact
const kLn2Low = 1.9082149292705877e-10;
/** 1 / 14!, ..., 1 / 1!, 1 / 0!. */
const kSeries = Float64Array.from({ length: 15 }, (_, i) => {
  let factorial = 1;
  for (let n = 2; n <= 14 - i; ++n) factorial *= n;
  return 1 / factorial;
});
const bits = new DataView(new ArrayBuffer(8));

/** e^x within a few units in the last place: the series of e^r for |r| <= ln 2 / 2, times a power of two. */
export function exp(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 709) return x > 710 ? Infinity : exp(x - 1) * Math.E;
  if (x < -708) return 0;
  const k = Math.round(x * Math.LOG2E);
  const r = x - k * kLn2High - k * kLn2Low;
  let sum = 0;
  for (let n = 0; n < kSeries.length; ++n) sum = sum * r + (kSeries[n] as number);
  bits.setUint32(0, (k + 1023) << 20);
  return sum * bits.getFloat64(0);
}

export function sigmoid(x: number): number {
  return 1 / (1 + exp(-x));
}

export function softmax(logits: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(logits);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[i] = exp((values[i] as number) - most);
  return values.map((value) => value / sum);
}

/** The index of the greatest value; the first of equal ones. */
export function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; ++i) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

/** The indices of the greatest values, greatest first; equal values keep their order. */
export function topIndices(values: ArrayLike<number>, count: number): number[] {
  if (count === 1) return values.length === 0 ? [] : [argmax(values)];
  const indices = Array.from({ length: values.length }, (_, i) => i);
  return indices.sort((a, b) => (values[b] as number) - (values[a] as number) || a - b).slice(0, count);
}
