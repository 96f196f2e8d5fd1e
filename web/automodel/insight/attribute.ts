// How much each token adds to an answer.
import { InputError } from '../../core/errors.js';
import { ownCopy, readOptions } from '../../core/options.js';
import { Tensor } from '../../core/tensor.js';
import type { ForwardOptions, ModelInputs } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import { differences } from './differences.js';
import { exactSlopes } from './gradients.js';
import {
  defaultMetric,
  kEmbeddings,
  measureAll,
  measureOne,
  perRowOf,
  readOne,
  runOne,
  toMetric,
  type OneText,
} from './measure.js';
import type { Attribution, AttributeOptions, LogitMetric } from './types.js';

const where = 'attribute';
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
 * Computes how much each token of a text contributes to one number of the model's output, the metric. Methods: Captum's `InputXGradient` and
 * `IntegratedGradients`, taken at the output of the embeddings and summed over its components, and leave-one-out. Both gradient methods load the model a
 * second time, in float32 with the WebAssembly for training, and keep it until `dispose()`. A gradient costs about three passes. If the metric is a
 * function, or the model has no backward pass, derivatives are central differences of order 8 along each token's embedding. (Static embeddings, the
 * encoder of an encoder-decoder, and a model with an active adapter have no backward pass.) That costs eight passes per token and equals automatic
 * differentiation to about 1e-3 of the largest score with `dtype: 'f32'`.
 *
 * Attention shows where a head looks; an attribution shows what the answer depends on. The two can disagree, and so can methods.
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
  const slopes = (await exactSlopes(model, text, how)) ?? differences(model, text, how);
  const end = embeddings.data;
  if (method === 'gradient_x_input') return answer(await slopes(end, end));
  const start = await startOf(model, own.baseline, text, end.length, forward);
  const along = end.map((x, k) => x - (start[k] as number));
  const { points, weights } = gaussLegendre(own.n_steps ?? 50);
  const sums = new Float64Array(text.seq);
  for (const [i, point] of points.entries()) {
    const at = start.map((x, k) => x + point * (along[k] as number));
    (await slopes(at, along)).forEach((slope, token) => (sums[token]! += (weights[i] as number) * slope));
  }
  const [baseline] = (await measureAll(
    model,
    text,
    { tap: kEmbeddings, changes: [{ values: start }], width, perRow },
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
