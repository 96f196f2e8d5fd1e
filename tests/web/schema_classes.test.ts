// zero-shot-classification by GLiNER2 models, against the package gliner2 (tests/goldens/schemas).
import { join } from 'node:path';
import { pipeline, type ZeroShotClassificationPipeline, type ZeroShotResult } from 'wattn';
import { expectError, filesOf, goldens, readJson, tiny } from './support.js';

type Classes = [task: string, labels: string[], examples: [string, string][]];
const { cases, texts, classes } = readJson('schemas/cases.json') as { cases: string[]; texts: string[]; classes: Classes[] };
const folder = (name: string) => join(goldens, 'schemas', name);
const load = (name: string, options: object = {}) =>
  pipeline('zero-shot-classification', folder(name), options) as Promise<ZeroShotClassificationPipeline>;
const callOf = ([prompt, labels, examples]: Classes) =>
  [labels, { prompt, examples: examples.map(([text, label]) => ({ text, labels: [label] })) }] as const;

const softmax = (logits: readonly number[]) => {
  const parts = logits.map(Math.exp);
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
};
const sigmoid = (logits: readonly number[]) => logits.map((logit) => 1 / (1 + Math.exp(-logit)));

describe('zero-shot-classification with GLiNER2', () => {
  it.each(cases)("has the package's scores: %s", async (name) => {
    const classify = await load(name);
    const { f32_diff, calls } = readJson(`schemas/${name}/classes.json`) as {
      f32_diff: number;
      calls: [number, number, number[]][];
    };
    expect(calls.length).toBe(texts.length * classes.length);
    for (const multi_label of [false, true]) {
      for (const [t, c, logits] of calls) {
        const [labels, options] = callOf(classes[c]!);
        const { sequence, labels: order, scores } = await classify(texts[t]!, labels, { ...options, multi_label });
        expect(sequence).toBe(texts[t]);
        expect([...scores].sort((a, b) => b - a)).toEqual(scores);
        const expected = multi_label || labels.length === 1 ? sigmoid(logits) : softmax(logits);
        // A probability moves by at most half as much as the largest difference of two logits.
        labels.forEach((label, i) => {
          const score = scores[order.indexOf(label)]!;
          expect(Math.abs(score - expected[i]!)).toBeLessThanOrEqual(4 * f32_diff + 2 ** -23);
        });
      }
    }
    await classify.dispose();
  });

  it('gives the same alone, in a batch, in a worker, and from a list of files', async () => {
    const classify = await load('deberta');
    const others = [
      await load('deberta', { worker: true }),
      await pipeline('zero-shot-classification', filesOf(folder('deberta'))),
    ];
    const labels = 'person, place, boat';
    const together = (await classify(texts, labels)) as ZeroShotResult[];
    for (const other of others) expect(await (other as ZeroShotClassificationPipeline)(texts, labels)).toEqual(together);
    for (const [i, text] of texts.entries()) expect(await classify(text, labels)).toEqual(together[i]);
    const named = await classify(texts[0]!, labels, { prompt: 'category' });
    expect(named).toEqual(together[0]);
    expect(await classify(texts[0]!, labels, { prompt: '' })).toEqual(named);
    expect(await classify(texts[0]!, labels, { prompt: 'another task' })).not.toEqual(named);
    expect(await classify(texts[0]!, labels, { hypothesis_template: 'a {}' })).not.toEqual(named);
    expect(classify.info().head).toBe('spans');
    for (const one of [classify, ...others]) await one.dispose();
  });

  it('reads the beginning of a long text, and says so', async () => {
    const classify = await load('bert');
    const long = 'the old boat on the river '.repeat(200);
    expect(await classify(long, ['boat', 'river'])).toMatchObject({ truncated: true });
    expect(await classify('the old boat', ['boat', 'river'])).toMatchObject({ truncated: false });
    await expectError(
      classify(['a boat', long], ['boat'], { on_overflow: 'error' }),
      'InputError',
      /text 1: expected a text that the model reads at once \(on_overflow is 'error'\)/,
    );
    await classify.dispose();
  });

  it('is near in other formats', async () => {
    const [labels, options] = callOf(classes[1]!);
    const scoresIn = async (dtype: string) => {
      const classify = await load('modernbert', { dtype });
      const found = (await classify(texts, labels, options)) as ZeroShotResult[];
      await classify.dispose();
      return found.map(({ scores, labels: order }) => labels.map((label) => scores[order.indexOf(label)]!));
    };
    const exact = (await scoresIn('f32')).flat();
    // Each format moves a weight by at most 2^-12, 1/254 and 1/14 of the largest near it.
    for (const [dtype, most] of Object.entries({ f16: 2e-3, q8: 0.02, q4: 0.35 })) {
      const found = (await scoresIn(dtype)).flat();
      expect(found).not.toEqual(exact);
      found.forEach((score, i) => expect(Math.abs(score - exact[i]!)).toBeLessThan(most));
    }
  });

  it('refuses what it cannot do', async () => {
    const classify = await load('bert');
    await expectError(
      classify('a', ['b'], { max_length: 10 }),
      'InputError',
      /option 'max_length': expected another model than one of GLiNER2/,
    );
    await expectError(
      classify('a', ['x [L] y']),
      'InputError',
      /labels: expected texts with at least one token and without '\[L\]'/,
    );
    await expectError(classify('a', []), 'InputError', /at least one label/);
    await classify.dispose();
    const config = new TextEncoder().encode(
      JSON.stringify({ ...readJson('schemas/bert/config.json'), counting_layer: 'count_lstm_moe' }),
    );
    const moe = new Map(filesOf(folder('bert'))).set('config.json', config);
    await expectError(
      pipeline('zero-shot-classification', moe),
      'UnsupportedError',
      /config.json: counting_layer: expected one of/,
    );
    // Neither GLiNER nor a model without a head: the error is that of the head that is missing.
    await expectError(
      pipeline('zero-shot-classification', join(goldens, 'spans/bert')),
      'ModelFormatError',
      /config.json: expected this file/,
    );
    await expectError(
      pipeline('zero-shot-classification', tiny),
      'UnsupportedError',
      /a sentence encoder compares texts with the names of labels/,
    );
    await expectError(pipeline('text-classification', folder('bert')), 'UnsupportedError', /zero-shot-classification/);
  });
});
