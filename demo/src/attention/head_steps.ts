// What one head does for one token, step by step, from the model's own queries, keys and values.

export interface HeadSteps {
  /** [headDim] */
  query: Float32Array;
  /** For each token that may be looked at: its key and value [headDim], */
  keys: Float32Array[];
  values: Float32Array[];
  /** q k, */
  scores: number[];
  /** q k / sqrt(headDim), */
  scaled: number[];
  /** exp of that, less the largest, so that nothing overflows, */
  exps: number[];
  /** and exp / sum of exp. */
  weights: number[];
  /** sum of weight * value: [headDim] */
  output: number[];
  /** Largest difference of these weights to those that the model really has. */
  gap: number;
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);

/** queries, keys, values: [seq * headDim]; attention: [seq * seq], the model's own. */
export function stepsOf(
  token: number,
  headDim: number,
  { queries, keys, values, attention }: Record<'queries' | 'keys' | 'values' | 'attention', Float32Array>,
): HeadSteps {
  const rows = (all: Float32Array) =>
    Array.from({ length: all.length / headDim }, (_, i) => all.slice(i * headDim, (i + 1) * headDim));
  const query = rows(queries)[token] as Float32Array;
  const [keyRows, valueRows] = [rows(keys), rows(values)];
  const scores = keyRows.map((key) => dot(query, key));
  const scaled = scores.map((score) => score / Math.sqrt(headDim));
  const most = Math.max(...scaled);
  const exps = scaled.map((score) => Math.exp(score - most));
  const sum = exps.reduce((total, value) => total + value, 0);
  const weights = exps.map((value) => value / sum);
  const output = Array.from({ length: headDim }, (_, k) =>
    weights.reduce((total, weight, i) => total + weight * (valueRows[i]?.[k] as number), 0),
  );
  const gap = Math.max(...weights.map((weight, i) => Math.abs(weight - (attention[token * weights.length + i] as number))));
  return { query, keys: keyRows, values: valueRows, scores, scaled, exps, weights, output, gap };
}
