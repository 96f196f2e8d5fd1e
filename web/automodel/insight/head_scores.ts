// Which heads link two tokens more than they link others, and what the answer loses without each.
import { InputError } from '../../core/errors.js';
import { readOptions } from '../../core/options.js';
import { Tensor } from '../../core/tensor.js';
import type { ModelInputs } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import { defaultMetric, measureOne, readOne, runOne, toMetric } from './measure.js';
import type { HeadScores, HeadScoresOptions } from './types.js';

const where = 'head_scores';

/**
 * Scores how strongly each head links one token to another. A large attention weight alone shows little, because many heads attend to the same token
 * from everywhere. So the mean weight that all other tokens give to `to` is subtracted. Each head is also turned off once, by setting its output to zero
 * (zero ablation in TransformerLens), to see whether the answer depends on it. Costs layers × heads forward passes.
 *
 * @example
 * const tokenizer = await AutoTokenizer.from_pretrained();
 * const model = await AutoModel.from_pretrained();
 * const { contrasts, effects } = await head_scores(model, tokenizer('The cat sat because it was tired.'), { from: 5, to: 2 });
 * contrasts.dims; // [layers, heads]
 */
export async function head_scores(model: Model, inputs: ModelInputs, options: HeadScoresOptions): Promise<HeadScores> {
  const own = readOptions(where, options, { from: 'index', to: 'index', metric: 'any', signal: 'signal' });
  const signal = own.signal ? { signal: own.signal } : {};
  const text = readOne(where, inputs);
  const { seq } = text;
  for (const name of ['from', 'to'] as const) {
    if (!(own[name] < seq)) throw new InputError(`${where}: option '${name}': expected one of ${seq} tokens, found ${own[name]}`);
  }
  const { from, to } = own;
  const base = await runOne(model, text, { output_attentions: true, ...signal });
  const metric = toMetric(where, own.metric) ?? defaultMetric(where, base, text);
  const value = measureOne(base, text, metric);
  const attentions = base.attentions as Tensor<'float32'>[];
  const [layers, heads] = [attentions.length, attentions[0]?.dims[1] as number];
  const weights = new Float32Array(layers * heads);
  const averages = new Float32Array(layers * heads);
  const effects = new Float32Array(layers * heads);
  // No token of a decoder attends to a later one.
  const isCausal = attentions.every(({ data }) => data.every((weight, i) => i % seq <= Math.floor(i / seq) % seq || weight === 0));
  const rows = Array.from({ length: seq }, (_, i) => i).filter((i) => i !== from && text.mask[i] === 1 && !(isCausal && i < to));
  for (let layer = 0; layer < layers; ++layer)
    for (let head = 0; head < heads; ++head) {
      const at = layer * heads + head;
      const weight = (row: number) => attentions[layer]?.data[(head * seq + row) * seq + to] as number;
      weights[at] = weight(from);
      averages[at] = rows.reduce((sum, row) => sum + weight(row), 0) / Math.max(1, rows.length);
      const head_mask = Array.from({ length: layers }, (_, l) =>
        Array.from({ length: heads }, (__, h) => (l === layer && h === head ? 0 : 1)),
      );
      effects[at] = measureOne(await runOne(model, text, { head_mask, ...signal }), text, metric) - value;
    }
  const tensor = (data: Float32Array) => new Tensor('float32', data, [layers, heads]);
  return {
    weights: tensor(weights),
    averages: tensor(averages),
    contrasts: tensor(weights.map((weight, i) => weight - (averages[i] as number))),
    effects: tensor(effects),
    value,
  };
}
