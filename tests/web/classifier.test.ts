import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Classifier, pipeline, Tensor, type ClassifierProgress, type Embedder } from 'wattn';
import { expectError, readJson, root, tiny, tinyFiles } from './support.js';

const { made_up, trec_accuracy_16_first_100 } = readJson('classifier', 'cases.json');
const trec = join(root, '../shared/data/classification/trec');
const minilm = join(process.env.WATTN_MODELS_DIR ?? join(root, '.models'), 'all-MiniLM-L6-v2');

/** Never called where vectors are given. */
const none: Embedder = () => Promise.reject(new Error('the embedder was asked'));
const rows = (values: number[], dim: number) => new Tensor('float32', values, [values.length / dim, dim]);

function* blobs(count: number, dim: number, labels: number): Generator<[number[], string]> {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) / 2 ** 22 - 1;
  };
  const centres = Array.from({ length: labels }, () => Array.from({ length: dim }, next));
  for (let i = 0; i < count; ++i) yield [(centres[i % labels] as number[]).map((x) => x + 0.9 * next()), `label ${i % labels}`];
}

function someBlobs(count: number, dim: number, labels: number) {
  const all = [...blobs(count, dim, labels)];
  return {
    vectors: rows(
      all.flatMap(([x]) => x),
      dim,
    ),
    labels: all.map(([, label]) => label),
  };
}

describe('Classifier', () => {
  it("finds scikit-learn's optimum", async () => {
    for (const { C, class_weight, dim, vectors, labels, probe, scores } of made_up) {
      const options = { C, tolerance: 1e-7, max_iterations: 1000, ...(class_weight && { class_weight }) };
      const classifier = await Classifier.fit(none, rows(vectors, dim), labels.map(String), options);
      const found = await classifier(rows(probe, dim), { top_k: null });
      // No component of the gradient is over 1e-7, and the curvature is at least 1 / (C n): so far are the weights at most, and so
      // far a score, whose slope in any logit is a half at most. (What curves the biases is the loss, and more.)
      const far = Math.sqrt(scores[0].length * (dim + 1)) * 1e-7 * C * labels.length;
      found.forEach((list, i) => {
        const x = [1, ...probe.slice(i * dim, (i + 1) * dim)];
        // Weights, here below 32 together, are kept in float32, each within 2^-24 of itself: a logit is within 2^-19 |x| by that.
        const bound = ((far + 2 ** -19) / 2) * Math.hypot(...x);
        for (const { label, score } of list) expect(Math.abs(score - scores[i][Number(label)])).toBeLessThanOrEqual(bound);
      });
    }
  });

  it('reports on folds, calibrates, and gives the same with the same seed', async () => {
    const { vectors, labels } = someBlobs(90, 6, 3);
    const fit = (more = {}) => Classifier.fit(none, vectors, labels, { validation: 3, ...more });
    const [classifier, plain] = [await fit(), await fit({ calibrate: false })];
    const report = classifier.report!;
    expect([report.folds, report.examples, plain.temperature]).toEqual([3, 90, 1]);
    expect(report.labels.map(({ label, support }) => [label, support])).toEqual(classifier.labels.map((label) => [label, 30]));
    const right = report.confusion.reduce((sum, row, i) => sum + (row[i] as number), 0);
    expect(report.accuracy).toBe(right / 90);
    expect(report.confusion.flat().reduce((sum, n) => sum + n, 0)).toBe(90);
    expect(report.accuracy).toBeGreaterThan(0.6);
    expect(report.accuracy).toBe(plain.report!.accuracy); // a temperature changes no order
    expect(report.log_loss).toBeLessThanOrEqual(plain.report!.log_loss);
    expect((await fit()).report).toEqual(report);
    expect((await fit({ seed: 5 })).report).not.toEqual(report);
  });

  it('is no surer than the number of examples that it got right allows', async () => {
    for (const [n, shares] of [
      [2, [3 / 4]],
      [18, [19 / 20]],
      [18, [19 / 20, 1 / 40, 1 / 40]],
    ] as const) {
      const dim = shares.length === 1 ? 1 : 3;
      const corner = (i: number) => (dim === 1 ? [i % 2 ? 1 : -1] : [0, 1, 2].map((j) => Number(i % 3 === j)));
      const all = Array.from({ length: n }, (_, i) => i);
      const vectors = rows(all.flatMap(corner), dim);
      const labels = all.map((i) => `label ${i % (dim === 1 ? 2 : 3)}`);
      const options = { validation: { texts: vectors, labels }, tolerance: 1e-9, max_iterations: 1000 };
      const classifier = await Classifier.fit(none, vectors, labels, options);
      expect(classifier.report!.accuracy).toBe(1);
      // All are alike, so each score is what makes the examples likeliest: its search ends within 1e-6 of the temperature's
      // logarithm, in which a score's slope is at most the score times the distance of logits, here below 5.
      const [list] = await classifier(rows(corner(1), dim), { top_k: null });
      const found = list!.map(({ score }) => score);
      shares.forEach((share, j) => expect(Math.abs(found[j]! - share)).toBeLessThan(1e-5));
    }
  });

  it('leaves scores as they come where its examples tell no temperature', async () => {
    const vectors = rows([1, 0, 0, 1], 2);
    const fit = (labels: string[], held: string[]) =>
      Classifier.fit(none, vectors, labels, { validation: { texts: vectors, labels: held } });
    const same = await Classifier.fit(none, rows([1, 1], 1), ['a', 'b'], {
      validation: { texts: rows([1, 1], 1), labels: ['a', 'b'] },
    });
    expect(same.temperature).toBe(1); // every score is a half
    const wrong = await fit(['a', 'b'], ['b', 'a']);
    expect([wrong.temperature, wrong.report!.accuracy]).toEqual([1, 0]);
    expect((await fit(['a', 'b'], ['a', 'b'])).temperature).toBeLessThan(1);
  });

  it('trains a perceptron where a line cannot part the labels', async () => {
    const points = Array.from({ length: 200 }, (_, i) => [Math.sin(i * 1.7), Math.cos(i * 2.9)] as const);
    const labels = points.map(([x, y]) => (x * y > 0 ? 'same' : 'other'));
    const vectors = rows(points.flat(), 2);
    const held = { texts: vectors, labels };
    const line = await Classifier.fit(none, vectors, labels, { validation: held });
    const options = { kind: 'mlp', hidden_size: 16, epochs: 200, learning_rate: 0.01, validation: held } as const;
    const [mlp, again] = [
      await Classifier.fit(none, vectors, labels, options),
      await Classifier.fit(none, vectors, labels, options),
    ];
    expect(line.report!.accuracy).toBeLessThan(0.75);
    expect(mlp.report!.accuracy).toBeGreaterThan(0.95);
    expect(again.report).toEqual(mlp.report);
  });

  it('is saved and loaded with all its bits', async () => {
    const { vectors, labels } = someBlobs(60, 5, 3);
    for (const kind of ['logistic', 'mlp'] as const) {
      const classifier = await Classifier.fit(none, vectors, labels, { kind, epochs: 5, validation: 2 });
      const files = classifier.save();
      const loaded = await Classifier.load(none, files);
      expect(await loaded(vectors, { top_k: null })).toEqual(await classifier(vectors, { top_k: null }));
      expect([loaded.labels, loaded.report, loaded.kind]).toEqual([classifier.labels, classifier.report, kind]);
      const weights = files['classifier.safetensors'];
      for (let length = 0; length < weights.length; length += 1 + (length >> 3)) {
        await expectError(
          Classifier.load(none, { ...files, 'classifier.safetensors': weights.slice(0, length) }),
          'ModelFormatError',
        );
      }
      const about = JSON.parse(new TextDecoder().decode(files['classifier.json']));
      const changes = [
        { dim: 6 },
        { labels: ['a'] },
        { kind: 'x' },
        { sizes: [3, 3, 3] },
        { temperature: 0 },
        { wattn_classifier: 'x' },
        { embed_options: 3 },
      ];
      for (const change of changes) {
        const json = new TextEncoder().encode(JSON.stringify({ ...about, ...change }));
        await expectError(Classifier.load(none, { ...files, 'classifier.json': json }), 'ModelFormatError');
      }
      await expectError(
        Classifier.load(none, { 'classifier.json': files['classifier.json'] }),
        'ModelFormatError',
        /classifier\.safetensors/,
      );
    }
  });

  it('learns from texts, tells how far it is, explains, and can be ended', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const nouns = ['river', 'bridge', 'boat', 'bird', 'wind', 'star', 'night', 'home'];
    const texts = nouns.flatMap((noun) => [`the dark ${noun} sings`, `we read 42 ${noun}s again`]);
    const labels = texts.map((_, i) => (i % 2 ? 'reads' : 'sings'));
    const told: ClassifierProgress[] = [];
    const progress_callback = (progress: ClassifierProgress) => void told.push(progress);
    const classifier = await Classifier.fit(embed, texts, labels, { C: 10, validation: 4, progress_callback });
    expect(new Set(told.map(({ stage }) => stage))).toEqual(new Set(['embed', 'validate', 'train']));
    expect(told.every(({ done, total }) => done >= 0 && done <= total)).toBe(true);
    const [best] = await classifier('the dark train sings');
    expect(best?.label).toBe('sings');
    expect(await classifier(texts, { top_k: 1 })).toHaveLength(16);
    const text = 'we read 42 old letters again';
    const { label, score, words } = await classifier.explain(text);
    expect([label, score]).toEqual(Object.values((await classifier(text))[0]!));
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(words.map(({ word }) => word));
    const [without] = await classifier(['we  42 old letters again'], { top_k: null });
    const other = without!.find((one) => one.label === label)!;
    expect(words[1]!.weight).toBe(score - other.score);
    await expectError(classifier.explain(text, { label: 'x' }), 'InputError', /one of reads, sings/);
    await expectError(Classifier.fit(embed, texts, labels, { signal: AbortSignal.abort() }), 'AbortError');
    const controller = new AbortController();
    const ended = Classifier.fit(embed, texts, labels, {
      kind: 'mlp',
      epochs: 100000,
      signal: controller.signal,
      progress_callback: ({ stage }) => stage === 'train' && controller.abort(),
    });
    await expectError(ended, 'AbortError');
    await embed.dispose();
  });

  it('says what is wrong', async () => {
    const { vectors, labels } = someBlobs(8, 3, 2);
    const fit = (more: object, texts: any = vectors, own: any = labels) => Classifier.fit(none, texts, own, more);
    await expectError(fit({}, vectors, ['a']), 'InputError', /as many labels as texts, found 1 labels and 8 texts/);
    await expectError(
      fit(
        {},
        vectors,
        labels.map(() => 'a'),
      ),
      'InputError',
      /two different/,
    );
    await expectError(
      fit(
        {},
        vectors,
        labels.map(() => 3),
      ),
      'InputError',
      /a string at index 0/,
    );
    await expectError(fit({ validation: 9 }), 'InputError', /from 2 to 4 folds \(no label has more examples\)/);
    await expectError(
      Classifier.fit(none, rows([1, 2], 1), ['a', 'b'], { validation: 2 }),
      'InputError',
      /at least two examples of a label/,
    );
    await expectError(fit({ validation: true }), 'InputError');
    await expectError(
      fit({ validation: { texts: vectors, labels: labels.map(() => 'z') } }),
      'InputError',
      /a label of the training examples, found 'z'/,
    );
    await expectError(fit({ C: -1 }), 'InputError', /'C'/);
    await expectError(fit({ kinds: 'mlp' }), 'InputError', /unknown option 'kinds'/);
    const unpooled = await pipeline('feature-extraction', tinyFiles({ 'modules.json': null }));
    await expectError(Classifier.fit(unpooled, ['a', 'b'], ['x', 'y']), 'InputError', /pooling/);
    const classifier = await Classifier.fit(unpooled, ['a', 'b'], ['x', 'y'], { embed_options: { pooling: 'mean' } });
    expect(await classifier('a')).toHaveLength(1);
    await expectError(classifier(rows([1, 2], 2)), 'InputError', /vectors \[texts, 32\]/);
    await unpooled.dispose();
  });

  // bench/web/classifier.mjs does it with 64 and 256 a label too, and all of the test set.
  (existsSync(trec) && existsSync(minilm) ? it : it.skip)(
    "is as accurate as scikit-learn's on TREC, by MiniLM's vectors",
    async () => {
      const read = (name: string) =>
        readFileSync(join(trec, name), 'latin1')
          .trimEnd()
          .split('\n')
          .map((line) => ({ label: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));
      const train = read('TREC.train.all');
      const names = [...new Set(train.map(({ label }) => label))].sort();
      const some = names.flatMap((name) => train.filter(({ label }) => label === name).slice(0, 16));
      const test = read('TREC.test.all').slice(0, 100);
      const embed = await pipeline('feature-extraction', minilm, { threads: 1 });
      const validation = { texts: test.map(({ text }) => text), labels: test.map(({ label }) => label) };
      const { report } = await Classifier.fit(
        embed,
        some.map(({ text }) => text),
        some.map(({ label }) => label),
        { validation },
      );
      expect(Math.abs(report!.accuracy - trec_accuracy_16_first_100)).toBeLessThanOrEqual(0.01);
      await embed.dispose();
    },
  );
});
