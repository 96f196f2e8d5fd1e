// How much each token adds to an answer.
import { InputError } from '../../core/errors.js';
import { ownCopy, readOptions } from '../../core/options.js';
import { Tensor } from '../../core/tensor.js';
import type { ForwardOptions, ModelInputs } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import { defaultMetric, measureAll, measureOne, perRowOf, readOne, runOne, toMetric, type OneText } from './measure.js';
import type { Attribution, AttributeOptions, LogitMetric, MetricFunction } from './types.js';

const where = 'attribute';
const kTap = 'embeddings.output';
const kStep = 0.05; // of a derivative, relative to the vector

/**
 * Weights of central differences for offsets 1, 2, ..: exact for polynomials up to degree 8. The points lie wide apart, so that rounding in float32 stays small
 * (Fornberg 1988, doi:10.1090/S0025-5718-1988-0935077-0).
 */
const kStencil = [4 / 5, -1 / 5, 4 / 105, -1 / 280];

interface Line {
  /** The embeddings at which derivatives are taken, and a direction for each token: [seq, width]. */
  at: Float32Array;
  along: Float32Array;
}

const norm = (row: Float32Array) => Math.hypot(...row);

/** For each token, the derivative of the metric when its embedding moves along its direction: [seq]. 0 where a direction is 0. */
async function derivatives(
  model: Model,
  text: OneText,
  lines: readonly Line[],
  { width, perRow, metric, options }: { width: number; perRow: number; metric: MetricFunction; options: ForwardOptions },
): Promise<Float64Array[]> {
  const places: { line: number; token: number; weight: number }[] = [];
  const changes: { values: Float32Array }[] = [];
  lines.forEach(({ at, along }, line) => {
    for (let token = 0; token < text.seq; ++token) {
      const [begin, end] = [token * width, (token + 1) * width];
      const [size, far] = [norm(at.subarray(begin, end)), norm(along.subarray(begin, end))];
      if (far === 0 || text.mask[token] === 0) continue;
      const step = kStep * Math.min(1, Math.max(1e-6, size / far));
      kStencil.forEach((weight, i) => {
        for (const sign of [1, -1]) {
          const values = at.slice();
          for (let k = begin; k < end; ++k) values[k]! += sign * (i + 1) * step * (along[k] as number);
          places.push({ line, token, weight: (sign * weight) / step });
          changes.push({ values });
        }
      });
    }
  });
  const found = await measureAll(model, text, { tap: kTap, changes, width, perRow }, metric, options);
  const out = lines.map(() => new Float64Array(text.seq));
  places.forEach(({ line, token, weight }, i) => ((out[line] as Float64Array)[token]! += weight * (found[i] as number)));
  return out;
}

/** Points and weights of Gauss-Legendre quadrature on [0, 1]. */
export function gaussLegendre(count: number): { points: number[]; weights: number[] } {
  const points: number[] = [];
  const weights: number[] = [];
  for (let i = 0; i < count; ++i) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let round = 0; round < 100; ++round) {
      let [before, value] = [1, x];
      for (let n = 2; n <= count; ++n) [before, value] = [value, ((2 * n - 1) * x * value - (n - 1) * before) / n];
      slope = (count * (x * value - before)) / (x * x - 1);
      const move = value / slope;
      x -= move;
      if (Math.abs(move) < 1e-16) break;
    }
    points.push((1 - x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  return { points, weights };
}

/**
 * How much each token of one text adds to a number of the model's output: Captum's `InputXGradient`, `IntegratedGradients` and an ablation, taken at the output of the
 * embeddings and summed over its components. Derivatives are central differences of order 8 along each token's embedding, eight forward passes each:
 * with `dtype: 'f32'` they equal those of automatic differentiation to about 1e-4 of the largest score; with quantised weights they are rough. `'leave_one_out'` takes one
 * pass a token, `'gradient_x_input'` 8, `'integrated_gradients'` `8 n_steps`: seconds and minutes for a text of twenty tokens and a model of 20 M weights.
 *
 * Attention says where a head looks, an attribution what the answer depends on: they may disagree, and so may methods.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * const model = await AutoModel.from_pretrained();
 * const { last_hidden_state } = await model(tokenizer('a walk by the sea'));
 * const cosine = last_hidden_state.mean(1).data;
 * const { scores } = await attribute(model, tokenizer('We swam and then ate.'), { metric: { cosine } });
 * scores.dims; // [seq]
 */
export async function attribute(model: Model, inputs: ModelInputs, options?: AttributeOptions | null): Promise<Attribution> {
  const own = readOptions(where, options ?? {}, {
    method: ['gradient_x_input', 'integrated_gradients', 'leave_one_out'],
    metric: 'any',
    baseline: 'any',
    n_steps: 'count',
    signal: 'signal',
  });
  const method = own.method ?? 'leave_one_out';
  if (method !== 'integrated_gradients' && (own.baseline ?? own.n_steps) !== undefined) {
    throw new InputError(`${where}: options 'baseline' and 'n_steps': expected method 'integrated_gradients', found '${method}'`);
  }
  const forward: ForwardOptions = own.signal ? { signal: own.signal } : {};
  const text = readOne(where, inputs);
  const base = await runOne(model, text, { output_hidden_states: true, ...forward });
  const given = toMetric(where, own.metric);
  if (!given && !base.logits && !base.start_logits) {
    throw new InputError(`${where}: option 'metric': expected { cosine } or a function for a model without a head, found none`);
  }
  const metric = given ?? defaultMetric(where, base, text);
  const value = measureOne(base, text, metric);
  const embeddings = base.hidden_states?.[0] as Tensor<'float32'>;
  const width = embeddings.dims[2] as number;
  const perRow = perRowOf(base);
  const answer = (scores: ArrayLike<number>): Attribution => ({
    scores: new Tensor('float32', Float32Array.from(scores), [text.seq]),
    value,
  });
  if (method === 'leave_one_out') {
    const read = (ownCopy(own.metric) as Partial<LogitMetric> | undefined)?.position;
    const tokens = Array.from({ length: text.seq }, (_, i) => i).filter((i) => text.mask[i] === 1 && i !== read);
    const changes = tokens.map((token) => ({ mask: text.mask.map((kept, i) => (i === token ? 0 : kept)) }));
    const found = await measureAll(model, text, { changes, width, perRow }, metric, forward);
    const scores = new Float64Array(text.seq);
    if (read !== undefined && read >= 0) scores[read] = NaN;
    tokens.forEach((token, i) => (scores[token] = value - (found[i] as number)));
    return answer(scores);
  }
  const how = { width, perRow, metric, options: forward };
  const end = embeddings.data;
  if (method === 'gradient_x_input') {
    const [scores] = await derivatives(model, text, [{ at: end, along: end }], how);
    return answer(scores as Float64Array);
  }
  const start = await startOf(model, own.baseline, text, end.length, forward);
  const along = end.map((x, k) => x - (start[k] as number));
  const { points, weights } = gaussLegendre(own.n_steps ?? 50);
  const sums = new Float64Array(text.seq);
  for (const [i, point] of points.entries()) {
    const at = start.map((x, k) => x + point * (along[k] as number));
    const [slopes] = await derivatives(model, text, [{ at, along }], how);
    (slopes as Float64Array).forEach((slope, token) => (sums[token]! += (weights[i] as number) * slope));
  }
  const [baseline] = (await measureAll(
    model,
    text,
    { tap: kTap, changes: [{ values: start }], width, perRow },
    metric,
    forward,
  )) as [number];
  return { ...answer(sums), baseline, delta: sums.reduce((sum, score) => sum + score, 0) - (value - baseline) };
}

/** The embeddings at which the line begins. */
async function startOf(
  model: Model,
  baseline: ModelInputs | undefined | null,
  { seq }: OneText,
  length: number,
  options: ForwardOptions,
): Promise<Float32Array> {
  if (baseline === undefined || baseline === null) return new Float32Array(length);
  const text = readOne(`${where}: baseline`, baseline);
  if (text.seq !== seq) {
    throw new InputError(`${where}: option 'baseline': expected as many tokens as the text has, ${seq}, found ${text.seq}`);
  }
  return (await runOne(model, text, { output_hidden_states: true, ...options })).hidden_states?.[0]?.data as Float32Array;
}
