// What an output depends on: patch maps, head scores and attributions, against torch in float64 (tools/goldens/insight.py).
import { join } from 'node:path';
import {
  attribute,
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  head_scores,
  patch_map,
  type AttributeOptions,
  type Metric,
  type MetricFunction,
  type Model,
} from 'wattn';
import { expectError, goldens, headFiles, readJson } from './support.js';

const kNear = 1e-5;
const ofSize = (scores: readonly number[], near = kNear) => near * Math.max(1, ...scores.map(Math.abs));
/** Differences of float32 have noise: of random weights, whose logits are steep, more than of trained ones. */
const kRough = 2e-3;
const cases: any[] = readJson('insight/cases.json');

const load = (name: string): Promise<Model> => {
  if (name === 'tasks/sequence') return AutoModelForSequenceClassification.from_pretrained(headFiles('sequence'));
  const from = name.startsWith('decoders/') ? AutoModelForCausalLM : AutoModel;
  return from.from_pretrained(join(goldens, name)) as unknown as Promise<Model>;
};
const worst = (got: ArrayLike<number>, expected: readonly number[]) => {
  expect(got.length).toBe(expected.length);
  return Math.max(...expected.map((value, i) => Math.abs(value - (got[i] as number))));
};

describe.each(cases)('$model', (golden) => {
  const metric: Metric = golden.metric;
  const [clean, corrupted] = [golden.clean, golden.corrupted].map((ids) => ({ input_ids: [ids] }));
  const gap = Math.min(1, Math.abs(golden.patch_map.clean - golden.patch_map.corrupted)); // what scores are divided by
  let model: Model;
  beforeAll(async () => void (model = await load(golden.model)));
  afterAll(() => model.dispose());

  it('patches each token of each layer as TransformerLens does', async () => {
    const map = await patch_map(model, clean!, corrupted!, { metric });
    expect(map.scores.dims).toEqual([2, golden.clean.length]);
    expect(worst([map.clean, map.corrupted], [golden.patch_map.clean, golden.patch_map.corrupted])).toBeLessThan(kNear);
    expect(worst(map.scores.data, golden.patch_map.residual.flat())).toBeLessThan(kNear / gap);
    const again = Array.from(map.values.data, (value) => (value - map.corrupted) / (map.clean - map.corrupted));
    expect(worst(map.scores.data, again)).toBeLessThan(kNear);
  });

  it('patches each head', async () => {
    const { scores } = await patch_map(model, clean!, corrupted!, { metric, at: 'head' });
    expect(scores.dims).toEqual([2, golden.patch_map.head[0].length]);
    expect(worst(scores.data, golden.patch_map.head.flat())).toBeLessThan(kNear / gap);
  });

  it('scores heads by contrast and by what the answer loses', async () => {
    const { from, to, value, contrasts, effects } = golden.head_scores;
    const scores = await head_scores(model, clean!, { from, to, metric });
    expect(Math.abs(scores.value - value)).toBeLessThan(kNear);
    expect(worst(scores.contrasts.data, contrasts.flat())).toBeLessThan(kNear);
    expect(worst(scores.effects.data, effects.flat())).toBeLessThan(kNear);
    const sums = scores.averages.data.map((average, i) => average + (scores.contrasts.data[i] as number));
    expect(worst(scores.weights.data, [...sums])).toBeLessThan(1e-7);
  });

  it('attributes by the gradient times the input', async () => {
    const { scores, value } = await attribute(model, clean!, { method: 'gradient_x_input', metric });
    expect(Math.abs(value - golden.patch_map.clean)).toBeLessThan(kNear);
    expect(worst(scores.data, golden.gradient_x_input)).toBeLessThan(ofSize(golden.gradient_x_input));
  });

  it('attributes by integrated gradients as Captum does', async () => {
    for (const { baseline, scores, low } of golden.integrated_gradients) {
      const options: AttributeOptions = {
        method: 'integrated_gradients',
        metric,
        ...(baseline && { baseline: { input_ids: [baseline] } }),
      };
      const found = await attribute(model, clean!, options);
      expect(worst(found.scores.data, scores)).toBeLessThan(ofSize(scores));
      expect(Math.abs((found.baseline as number) - low)).toBeLessThan(kNear);
      const sum = scores.reduce((all: number, score: number) => all + score, 0);
      expect(Math.abs((found.delta as number) - (sum - (golden.patch_map.clean - low)))).toBeLessThan(5 * ofSize(scores));
    }
  });

  it('attributes by leaving a token out', async () => {
    const { scores } = await attribute(model, clean!, { method: 'leave_one_out', metric });
    // Without its first token a classifier reads the next one, which transformers does not do.
    const compared = golden.leave_one_out.map((score: number | null, i: number) => score ?? (scores.data[i] as number));
    expect(worst(scores.data, compared)).toBeLessThan(kNear);
  });
});

describe('a metric', () => {
  const [clean, corrupted] = [{ input_ids: [cases[0].clean] }, { input_ids: [cases[0].corrupted] }];
  let [bare, labelled]: [Model, Model] = [] as never;
  beforeAll(async () => {
    [bare, labelled] = [await load('bert-tiny/model'), await load('tasks/sequence')];
  });
  afterAll(async () => {
    await bare.dispose();
    await labelled.dispose();
  });

  it('is by default the cosine to the mean vector, or the logit of the label that wins', async () => {
    const map = await patch_map(bare, clean, corrupted);
    expect(map.clean).toBeCloseTo(1, 6);
    expect(map.corrupted).toBeLessThan(1);
    const { logits } = await labelled(clean);
    const { value } = await attribute(labelled, clean);
    expect(value).toBe(Math.max(...logits!.data));
    expect((await head_scores(labelled, clean, { from: 1, to: 2 })).value).toBe(value);
  });

  it('may be a function of any number of rows', async () => {
    const metric: Metric = ({ logits }, row) => logits!.data[row * 3 + 2] as number;
    const [own, named] = [
      await attribute(labelled, clean, { method: 'leave_one_out', metric }),
      await attribute(labelled, clean, { method: 'leave_one_out', metric: { logit: 2 } }),
    ];
    expect([...own.scores.data]).toEqual([...named.scores.data]);
  });

  it('that is a function has derivatives by differences', async () => {
    const golden = cases.find(({ model }) => model === 'tasks/sequence');
    const { logit, against } = golden.metric;
    const metric: Metric = ({ logits }, row) =>
      (logits!.data[row * 3 + logit] as number) - (against === undefined ? 0 : (logits!.data[row * 3 + against] as number));
    const { scores } = await attribute(labelled, clean, { method: 'gradient_x_input', metric });
    expect(worst(scores.data, golden.gradient_x_input)).toBeLessThan(ofSize(golden.gradient_x_input, kRough));
  });

  it('gives NaN where both texts have the same answer', async () => {
    const { scores } = await patch_map(bare, clean, clean);
    expect([...scores.data].every(Number.isNaN)).toBe(true);
  });

  it('skips masked tokens', async () => {
    const padded = { input_ids: [[...cases[0].clean, 0]], attention_mask: [[...cases[0].clean.map(() => 1), 0]] };
    const options: AttributeOptions = { method: 'gradient_x_input', metric: { cosine: cases[0].metric.cosine } };
    const [with_, without] = [await attribute(bare, padded, options), await attribute(bare, clean, options)];
    expect(worst([...with_.scores.data], [...without.scores.data, 0])).toBeLessThan(kNear);
  });

  it('is refused where it does not fit, by name', async () => {
    await expectError(attribute(bare, clean), 'InputError', /attribute: option 'metric': expected \{ cosine \}/);
    await expectError(attribute(bare, clean, { metric: { logit: 0 } }), 'InputError', /expected a model with a head/);
    await expectError(attribute(labelled, clean, { metric: { logit: 3 } }), 'InputError', /expected an index below 3, found 3/);
    await expectError(attribute(bare, clean, { metric: { cosine: [1] } }), 'InputError', /cosine: expected 32 numbers, found 1/);
    await expectError(attribute(bare, clean, { metric: 'cosine' as never }), 'InputError', /expected \{ logit \}, \{ cosine \} or a function, found 'cosine'/); // prettier-ignore
    await expectError(attribute(labelled, clean, { metric: () => NaN }), 'InputError', /metric: expected a finite number/);
    await expectError(attribute(labelled, clean, { method: 'leave_one_out', n_steps: 5 }), 'InputError', /options 'baseline' and 'n_steps'/); // prettier-ignore
    await expectError(attribute(labelled, clean, { method: 'integrated_gradients', baseline: { input_ids: [[0]] } }), 'InputError', /option 'baseline': expected as many tokens as the text has, 7, found 1/); // prettier-ignore
    await expectError(patch_map(bare, clean, { input_ids: [[2, 3]] }), 'InputError', /expected texts with the same number of tokens, found 7 and 2/); // prettier-ignore
    await expectError(patch_map(bare, { input_ids: [[2], [3]] }, clean), 'InputError', /expected the tokens of one text/);
    await expectError(head_scores(bare, clean, { from: 7, to: 0 }), 'InputError', /option 'from': expected one of 7 tokens, found 7/); // prettier-ignore
  });

  it('has no default for a head over the vocabulary', async () => {
    const model = await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm'));
    await expectError(attribute(model, clean), 'InputError', /expected \{ logit, position \} for a model with logits per token/);
    await model.dispose();
  });

  it('ends when its signal says so', async () => {
    await expectError(patch_map(bare, clean, corrupted, { signal: AbortSignal.abort() }), 'AbortError');
  });
});

/** What names the same number, by its derivative and as a function, whose derivative is taken by differences. */
async function compare(model: Model, ids: readonly number[], named: Metric, asFunction: Metric): Promise<void> {
  const inputs = { input_ids: [ids] };
  const exact = await attribute(model, inputs, { method: 'gradient_x_input', metric: named });
  const rough = await attribute(model, inputs, { method: 'gradient_x_input', metric: asFunction });
  expect(exact.value).toBeCloseTo(rough.value, 5);
  expect(worst(exact.scores.data, [...rough.scores.data])).toBeLessThan(ofSize([...rough.scores.data], kRough));
  expect(exact.scores.data).not.toEqual(rough.scores.data);
}

/** A cosine metric as a function, with the sums in the order of the named one. */
const cosineTo =
  (vector: ArrayLike<number>): MetricFunction =>
  ({ last_hidden_state: { data, dims } }, row) => {
    const [, seq = 0, width = 0] = dims;
    const mean = new Float64Array(width);
    for (let i = 0; i < seq * width; ++i) mean[i % width]! += data[row * seq * width + i] as number;
    let [dot, own, other] = [0, 0, 0];
    mean.forEach((sum, k) => {
      const x = sum / seq;
      dot += x * (vector[k] as number);
      own += x ** 2;
      other += (vector[k] as number) ** 2;
    });
    return dot / Math.sqrt(own * other);
  };

describe('derivatives', () => {
  const models: Model[] = [];
  const kept = (model: Model) => (models.push(model), model);
  afterEach(async () => void (await Promise.all(models.splice(0).map((model) => model.dispose()))));
  const ids = [2, 9, 17, 30, 12, 3];
  const logitAt =
    (position: number, logit: number): Metric =>
    ({ logits }, row) => {
      const [, seq = 0, width = 0] = logits!.dims;
      return logits!.data[(row * seq + position) * width + logit] as number;
    };

  it('go through heads over tokens and over the vocabulary', async () => {
    const token = kept(await AutoModelForTokenClassification.from_pretrained(headFiles('token')));
    await compare(token, ids, { logit: 1, position: 2 }, logitAt(2, 1));
    const masked = kept(await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm')));
    await compare(masked, ids, { logit: 20, against: 7, position: 1 }, (output, row) => {
      const [first, second] = [logitAt(1, 20), logitAt(1, 7)] as ((o: typeof output, r: number) => number)[];
      return first!(output, row) - second!(output, row);
    });
  });

  it.each(['modernbert', 'distilbert', 'albert', 'electra', 'deberta-v3'])('go through %s', async (name) => {
    const model = kept(await AutoModel.from_pretrained(join(goldens, 'architectures', name)));
    const cosine = (await model({ input_ids: [[2, 8, 11, 3]] })).last_hidden_state.mean(1).data;
    await compare(model, ids, { cosine }, cosineTo(cosine));
  });

  it('are the same in a worker, and near with other data types', async () => {
    const { model: name, clean, metric, gradient_x_input } = cases[0];
    const options: AttributeOptions = { method: 'gradient_x_input', metric };
    const scoresOf = async (load: object) => {
      const model = kept(await AutoModel.from_pretrained(join(goldens, name), load));
      return (await attribute(model, { input_ids: [clean] }, options)).scores.data;
    };
    expect(await scoresOf({ worker: true })).toEqual(await scoresOf({}));
    expect(worst(await scoresOf({ dtype: 'q8' }), gradient_x_input)).toBeLessThan(ofSize(gradient_x_input, 0.05));
  });

  it('are differences where a model cannot learn', async () => {
    const model = kept(await AutoModel.from_pretrained(join(goldens, 'variants/encoders/squeezebert')));
    const cosine = (await model({ input_ids: [[2, 8, 3]] })).last_hidden_state.mean(1).data;
    const of = (metric: Metric) => attribute(model, { input_ids: [[2, 11, 7, 3]] }, { method: 'gradient_x_input', metric });
    const named = await of({ cosine });
    expect(Math.max(...named.scores.data.map(Math.abs))).toBeGreaterThan(1e-3);
    // The same differences: it is no gradient that is nearly right.
    expect(named.scores.data).toEqual((await of(cosineTo(cosine))).scores.data);
  });

  it('load the model once, and let it go with the model', async () => {
    const model = await AutoModel.from_pretrained(join(goldens, 'bert-tiny/model'));
    const metric = { cosine: cases[0].metric.cosine };
    const run = () => attribute(model, { input_ids: [ids] }, { method: 'gradient_x_input', metric });
    expect((await run()).scores.data).toEqual((await run()).scores.data);
    await model.dispose();
    await expectError(run(), 'StateError', /disposed/);
  });
});
