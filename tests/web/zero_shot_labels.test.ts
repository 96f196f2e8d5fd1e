// zero-shot-classification by GLiClass models, against the package gliclass (tests/goldens/labels), and rejected arguments.
import { join } from 'node:path';
import {
  AutoModelForSequenceClassification,
  describeModel,
  packModel,
  pipeline,
  type LoadOptions,
  type ZeroShotOptions,
} from 'wattn';
import { expectError, filesOf, goldens, headFiles, readJson } from './support.js';
import { wideFiles } from './wide.js';

const folder = (name: string) => join(goldens, 'labels', name);
const load = (name: string, options: LoadOptions = {}) => pipeline('zero-shot-classification', folder(name), options);
const { cases, texts, labels, options } = readJson('labels/cases.json') as {
  cases: string[];
  texts: string[];
  labels: string[][];
  options: ZeroShotOptions[];
};

/** The scores of labels, in the order of the labels. */
const inOrder = (own: readonly string[], got: { labels: string[]; scores: number[] }) =>
  own.map((label) => got.scores[got.labels.indexOf(label)] as number);
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
function softmax(logits: readonly number[]): number[] {
  const most = Math.max(...logits);
  const powers = logits.map((x) => Math.exp(x - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

describe('zero-shot-classification by labels beside the text', () => {
  it.each(cases)('gives the scores of the package: %s', async (name) => {
    const classify = await load(name);
    expect(classify.info().head).toBe('labels');
    const { f32_diff, calls } = readJson(`labels/${name}/expected.json`);
    const bound = 4 * Math.max(f32_diff, 2 ** -23); // of logits; the derivative of both functions is below 1
    for (const [t, l, o, logits] of calls as [number, number, number, number[]][]) {
      const own = labels[l] as string[];
      const what = JSON.stringify([texts[t], own, options[o]]);
      const each = await classify(texts[t] as string, own, { ...options[o], multi_label: true });
      inOrder(own, each).forEach((score, i) =>
        expect([what, Math.abs(score - sigmoid(logits[i] as number)) <= bound]).toEqual([what, true]),
      );
      const one = await classify(texts[t] as string, own, options[o]);
      const expected = own.length === 1 ? [sigmoid(logits[0] as number)] : softmax(logits);
      inOrder(own, one).forEach((score, i) =>
        expect([what, Math.abs(score - (expected[i] as number)) <= bound]).toEqual([what, true]),
      );
      expect(one.sequence).toBe(texts[t]);
      expect(one.scores).toEqual([...one.scores].sort((a, b) => b - a));
    }
    await classify.dispose();
  });

  it('gives the same alone, in a batch, and in a worker', async () => {
    for (const name of ['deberta', 'bert-text-first']) {
      const [classify, there] = [await load(name), await load(name, { worker: 2 })];
      const own = labels[2] as string[];
      const together = await classify(texts, own);
      expect(await there(texts, own)).toEqual(together);
      for (const [i, text] of texts.entries()) expect(await classify(text, own.join(', '))).toEqual(together[i]);
      await classify.dispose();
      await there.dispose();
    }
  });

  it('shortens the text and never the labels', async () => {
    const classify = await load('deberta');
    const long = 'Ada saw the old boat. '.repeat(400);
    const got = await classify(long, ['sport', 'news']);
    expect(got.truncated).toBe(true);
    expect((await classify('Ada', ['sport', 'news'])).truncated).toBe(false);
    // The beginning is read: 1,024 tokens with [CLS], [SEP] and the labels.
    const beginning = await classify(long.slice(0, 2000), ['sport', 'news']);
    expect(beginning.scores).toEqual(got.scores);
    await expectError(
      classify('Ada', ['sport', 'the news of today'], { max_length: 16 }),
      'InputError',
      /: text 0: expected labels of at most 16 tokens in all, found \d+: raise max_length, or give fewer labels$/,
    );
    await expectError(
      classify(['Ada', long], ['a'], { max_length: 64, on_overflow: 'error' }),
      'InputError',
      /: text 1: expected at most 64 tokens, found \d+ \(on_overflow is 'error'\)/,
    );
    await classify.dispose();
    const after = await load('bert-text-first');
    await expectError(
      after(['Ada', long], ['sport', 'news']),
      'InputError',
      /: text 1: expected a text and labels of at most 320 tokens in all, found \d+: raise max_length, or give fewer labels or a shorter text$/,
    );
    await after.dispose();
  });

  it('writes labels into a template only if there is one', async () => {
    const classify = await load('modernbert');
    const plain = await classify('Ada', ['sport', 'news']);
    const with_template = await classify('Ada', ['sport', 'news'], { hypothesis_template: 'about {}' });
    const written = await classify('Ada', ['about sport', 'about news']);
    expect(with_template.scores).toEqual(written.scores);
    expect(with_template.scores).not.toEqual(plain.scores);
    expect([...with_template.labels].sort()).toEqual(['news', 'sport']);
    await classify.dispose();
  });

  it('runs in q8, q16 and q4, and packed', async () => {
    const own = labels[0] as string[];
    const exact = await load('modernbert');
    const expected = inOrder(own, await exact(texts[0] as string, own));
    await exact.dispose();
    for (const dtype of ['q16', 'q8', 'q4'] as const) {
      const classify = await load('modernbert', { dtype });
      const got = inOrder(own, await classify(texts[0] as string, own));
      got.forEach((score, i) => expect(Math.abs(score - (expected[i] as number))).toBeLessThan(dtype === 'q4' ? 0.2 : 0.05));
      await classify.dispose();
    }
  });

  it('is packed with the bits of q8', async () => {
    const own = labels[0] as string[];
    for (const name of ['deberta', 'deberta-lstm']) {
      const files = wideFiles(folder(name)); // rows have whole groups
      const bytes = await packModel(files, { dtype: 'native' });
      expect(bytes.length).toBeLessThan(0.6 * (files.get('model.safetensors') as Uint8Array).length);
      const as_is = await pipeline('zero-shot-classification', files, { dtype: 'q8' });
      const packed = await pipeline('zero-shot-classification', { 'model.gguf': bytes });
      expect(packed.info()).toMatchObject({ dtype: 'q8', head: 'labels' });
      expect(await packed(texts, own)).toEqual(await as_is(texts, own));
      await as_is.dispose();
      await packed.dispose();
    }
  });

  it('refuses what it cannot read', async () => {
    const classify = await load('deberta');
    const call = classify as (...args: any[]) => Promise<unknown>;
    await expectError(call('a', []), 'InputError', /: candidate_labels: expected at least one label/);
    for (const label of ['b<<LABEL>>', '<<SEP>>']) {
      await expectError(
        call('a', ['a', label]),
        'InputError',
        /candidate_labels: expected texts without '<<LABEL>>' and '<<SEP>>'/,
      );
    }
    for (const examples of [{}, [{}], [{ text: 'a' }], [{ text: 'a', labels: 'b' }], [{ text: 'a', labels: [1] }], 'a']) {
      await expectError(call('a', ['b'], { examples }), 'InputError', /option 'examples': expected a list of \{ text, labels \}/);
    }
    await expectError(call('a', ['b'], { prompt: 7 }), 'InputError', /option 'prompt'/);
    expect(await call(['\ud800', '\udfff \ud83d'], ['\udc00x'])).toHaveLength(2);
    expect(await call('a', ['b', 'b'])).toMatchObject({ labels: ['b', 'b'] });
    await classify.dispose();
  });

  it('says where its options and its models belong', async () => {
    const nli = await pipeline('zero-shot-classification', headFiles('sequence'));
    const call = nli as (...args: any[]) => Promise<unknown>;
    const wanted = /expected a GLiClass or GLiNER2 model, found one for natural language inference/;
    await expectError(call('a', ['b'], { prompt: 'c' }), 'InputError', wanted);
    await expectError(call('a', ['b'], { examples: [] }), 'InputError', wanted);
    await nli.dispose();
    const classes = await pipeline('text-classification', folder('bert'));
    await expectError(classes('a'), 'UnsupportedError', /GLiClass.*use zero-shot-classification/);
    await classes.dispose();
    await expectError(
      AutoModelForSequenceClassification.from_pretrained(folder('bert')),
      'UnsupportedError',
      /GLiClass.*use pipeline\('zero-shot-classification'\)/,
    );
    await expectError(
      pipeline('feature-extraction', folder('bert')),
      'UnsupportedError',
      /models of GLiClass run with zero-shot-classification/,
    );
    expect((await describeModel(folder('bert'))).heads).toEqual(['labels']);
  });

  it('names the variants of GLiClass that it lacks', async () => {
    const change = (more: object) => {
      const files = filesOf(folder('bert'));
      const config = JSON.parse(new TextDecoder().decode(files.get('config.json')));
      files.set('config.json', new TextEncoder().encode(JSON.stringify({ ...config, ...more })));
      return pipeline('zero-shot-classification', files);
    };
    await expectError(change({ architecture_type: 'bi-encoder' }), 'UnsupportedError', /architecture_type.*found "bi-encoder"/);
    await expectError(change({ scorer_type: 'cross-attn' }), 'UnsupportedError', /scorer_type.*found "cross-attn"/);
    await expectError(change({ encoder_config: null }), 'ModelFormatError', /encoder_config: expected the encoder's configuration/);
    await expectError(change({ vocab_size: 3 }), 'ModelFormatError', /word_embeddings/);
  });
});
