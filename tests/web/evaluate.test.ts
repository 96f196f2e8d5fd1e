import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { evaluate, pipeline, type RetrievalSet } from 'wattn';
import { clusterMeasures, labelMeasures } from '../../web/vectors/measures.js';
import { expectError, readJson, root, tiny } from './support.js';

const { pairs, sts, corpus, queries, relevant, retrieval, expected, found, labels, clusters } = readJson(
  'evaluate',
  'expected.json',
);
const rows = (of: Record<string, string>) => Object.entries(of).map(([id, text]) => ({ id, text }));
const collection: RetrievalSet = { corpus: rows(corpus), queries: rows(queries), relevant };

const expectMeasures = (measures: Record<string, number>, wanted: Record<string, number>, digits: number) => {
  for (const [name, value] of Object.entries(wanted)) {
    expect(measures).toHaveProperty([name]);
    expect(measures[name]).toBeCloseTo(value, digits);
  }
};

describe('evaluate', () => {
  let embed: Awaited<ReturnType<typeof pipeline<'feature-extraction'>>>;
  beforeAll(async () => void (embed = await pipeline('feature-extraction', tiny)));
  afterAll(() => embed.dispose());

  it("gives the correlations of sentence-transformers' EmbeddingSimilarityEvaluator", async () => {
    for (const similarity of ['cosine', 'dot', 'euclidean', 'manhattan'] as const) {
      const measures = await evaluate(embed, 'sts', pairs, { similarity });
      expectMeasures(measures, sts[similarity], 5); // vectors are f32, and sentences of the tiny model are much alike
      expect(measures.pairs).toBe(30);
    }
    const { spearman_cosine } = await evaluate(embed, 'sts', pairs);
    expect(spearman_cosine).toBeCloseTo(sts.cosine.spearman_cosine, 5);
  });

  it("gives the measures of sentence-transformers' InformationRetrievalEvaluator", async () => {
    for (const similarity of ['cosine', 'dot'] as const) {
      const measures = await evaluate(embed, 'retrieval', collection, { similarity });
      expect(Object.keys(retrieval[similarity])).toHaveLength(15);
      expectMeasures(measures, retrieval[similarity], 12);
      expect(measures).toMatchObject({ queries: 6, documents: 120 });
    }
  });

  it('leaves queries without relevant documents out, and reports progress', async () => {
    const seen: number[] = [];
    const first = { q0: relevant.q0, q1: [] };
    const measures = await evaluate(embed, 'retrieval', { ...collection, relevant: first }, {
      progress_callback: ({ done, total }) => seen.push(done / total),
    }); // prettier-ignore
    expect(measures.queries).toBe(1);
    expect(seen).toEqual([120 / 121, 1]);
  });

  it('judges a head by its best labels, and names numbers', async () => {
    const texts = ['a good film', 'a bad film', 'I liked it a lot', 'what a waste of time'];
    const classify = await pipeline('sentiment-analysis');
    const best = (await classify(texts)).map(({ label }) => label);
    const data = texts.map((text, i) => ({ text, label: best[i] as string }));
    expect(await evaluate(classify, 'classification', data)).toEqual({ accuracy: 1, macro_f1: 1, texts: 4 });
    const wrong = data.map((row, i) => (i === 0 ? { ...row, label: best[1] as string } : row));
    expect(await evaluate(classify, 'classification', wrong)).toMatchObject({ accuracy: 0.75 });
    const numbered = data.map(({ text, label }) => ({ text, label: label === 'POSITIVE' ? 1 : 0 }));
    const names = ['NEGATIVE', 'POSITIVE'];
    expect(await evaluate(classify, 'classification', numbered, { labels: names })).toMatchObject({ accuracy: 1 });
    await expectError(
      () => evaluate(classify, 'classification', numbered),
      'InputError',
      /labels of the model, such as .*found 1, 0/,
    );
    await expectError(
      () => evaluate(classify, 'classification', [{ text: 'x', label: 2 }], { labels: names }),
      'InputError',
      /data\[0\]: label: expected one of 2 labels, found 2/,
    );
    await classify.dispose();
  });

  it('judges vectors by a classifier that learns from other texts, and by clusters', async () => {
    const model = await pipeline('feature-extraction');
    const about = (label: string, texts: string[]) => texts.map((text) => ({ text, label }));
    const train = [
      ...about('food', ['fresh bread and butter', 'soup with carrots', 'a slice of apple pie', 'grilled fish for dinner']),
      ...about('weather', ['heavy rain tomorrow', 'a sunny afternoon', 'snow in the mountains', 'strong wind from the west']),
    ];
    const data = [
      ...about('food', ['a bowl of rice', 'cheese on toast', 'roast chicken']),
      ...about('weather', ['thunder and lightning', 'cloudy skies', 'frost in the morning']),
    ];
    expect(await evaluate(model, 'classification', data, { train })).toEqual({ accuracy: 1, macro_f1: 1, texts: 6 });
    const swapped = data.map(({ text, label }) => ({ text, label: label === 'food' ? 'weather' : 'food' }));
    expect(await evaluate(model, 'classification', swapped, { train })).toMatchObject({ accuracy: 0 });
    const apart = [
      ...about('food', ['fresh bread', 'Fresh bread!', 'fresh bread.']),
      ...about('weather', ['heavy rain', 'Heavy rain!', 'heavy rain.']),
    ];
    const measures = { v_measure: 1, homogeneity: 1, completeness: 1, texts: 6, clusters: 2 };
    expect(await evaluate(model, 'clustering', apart)).toEqual(measures);
    const mixed = apart.map(({ text }, i) => ({ text, label: i % 2 ? 'odd' : 'even' }));
    expect((await evaluate(model, 'clustering', mixed, { seed: 3 })).v_measure).toBeLessThan(0.5);
    await model.dispose();
  });

  it('says what is wrong', async () => {
    const call = evaluate as (...args: unknown[]) => Promise<unknown>;
    const refuses = (args: unknown[], message: RegExp) => expectError(() => call(...args), 'InputError', message);
    await refuses([embed, 'translation', pairs], /expected a task of sts, retrieval, .*found 'translation'/);
    await refuses([(x: string) => x, 'sts', pairs], /expected a pipeline for feature-extraction, found a function/);
    await refuses([embed, 'sts', []], /at least one row/);
    await refuses([embed, 'sts', pairs.slice(0, 1)], /at least two pairs/);
    await refuses([embed, 'sts', [{ sentence1: 'a', score: 1 }]], /data\[0\]: sentence2: expected a string, found undefined/);
    await refuses([embed, 'sts', [{ ...pairs[0], score: NaN }]], /score: expected a number, found NaN/);
    await refuses([embed, 'sts', pairs, { similarity: 'jaccard' }], /option 'similarity'/);
    await refuses([embed, 'sts', pairs, { top_k: 1 }], /unknown option 'top_k'/);
    await refuses([embed, 'retrieval', { ...collection, relevant: { q0: ['none'] } }], /query 'q0', found 'none'/);
    await refuses([embed, 'retrieval', { ...collection, relevant: {} }], /at least one query/);
    const twice = [...collection.corpus, collection.corpus[0]];
    await refuses([embed, 'retrieval', { ...collection, corpus: twice }], /each id once, found 1 more/);
    await refuses([embed, 'classification', [{ text: 'a', label: 'b' }]], /or texts to learn from \(option 'train'\)/);
    const signal = AbortSignal.abort();
    await expectError(() => evaluate(embed, 'sts', pairs, { signal }), 'AbortError', /./);
  });
});

describe('measures', () => {
  it("are scikit-learn's", () => {
    expectMeasures(labelMeasures(found, expected), labels, 12);
    expectMeasures(clusterMeasures(found.map((name: string) => name.charCodeAt(0)), expected), clusters, 12); // prettier-ignore
  });

  it('are defined where a side is constant', () => {
    expect(clusterMeasures([1, 1], ['a', 'a'])).toEqual({ v_measure: 1, homogeneity: 1, completeness: 1 });
    expect(clusterMeasures([1, 2], ['a', 'a'])).toEqual({ v_measure: 0, homogeneity: 1, completeness: 0 });
  });
});

it('runs the examples of docs/evaluation.md', async () => {
  const text = readFileSync(join(root, 'docs/evaluation.md'), 'utf8');
  const examples = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code]) => (code as string).replace(/^import .*$/gm, ''));
  expect(examples).toHaveLength(2);
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<void>;
  const shown: unknown[] = [];
  for (const code of examples) {
    const run = new AsyncFunction('evaluate', 'pipeline', 'console', code);
    await run(evaluate, pipeline, { log: (value: unknown) => shown.push(value) });
  }
  expect(shown).toEqual([expect.closeTo(1), { accuracy: 1, macro_f1: 1, texts: 2 }]);
});
