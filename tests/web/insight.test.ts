// What an answer depends on: patch maps, head scores and attributions, against torch in float64 (tools/goldens/insight.py).
import { join } from 'node:path';
import {
  attribute,
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForSequenceClassification,
  head_scores,
  patch_map,
  type AttributeOptions,
  type Metric,
  type Model,
} from 'wattn';
import { expectError, goldens, headFiles, readJson } from './support.js';

const kNear = 1e-5;
/** Differences of float32 have noise: of random weights, whose logits are steep, more than of trained ones. */
const kRough = 2e-4;
const ofSize = (scores: readonly number[]) => kRough * Math.max(1, ...scores.map(Math.abs));
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
  const isCosine = golden.metric.cosine !== undefined;
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
    expect(worst(scores.data, golden.gradient_x_input)).toBeLessThan(isCosine ? kNear : ofSize(golden.gradient_x_input));
  });

  it('attributes by integrated gradients as Captum does', async () => {
    for (const { baseline, scores, low } of golden.integrated_gradients) {
      const options: AttributeOptions = {
        method: 'integrated_gradients',
        metric,
        ...(baseline && { baseline: { input_ids: [baseline] } }),
      };
      const found = await attribute(model, clean!, options);
      expect(worst(found.scores.data, scores)).toBeLessThan(isCosine ? kNear : ofSize(scores));
      expect(Math.abs((found.baseline as number) - low)).toBeLessThan(kNear);
      const sum = scores.reduce((all: number, score: number) => all + score, 0);
      expect(Math.abs((found.delta as number) - (sum - (golden.patch_map.clean - low)))).toBeLessThan(
        isCosine ? 5 * kNear : 5 * ofSize(scores),
      );
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
