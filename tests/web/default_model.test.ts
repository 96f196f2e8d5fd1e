// The bundled model: its file matches the card, its scores on unseen texts, and typical uses.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, env, evaluate, pipeline, semantic_search } from 'wattn';
import { kDefaults } from '../../web/tasks/defaults.js';
import { kAliases } from '../../web/tasks/aliases.js';
import { kTaskNames } from '../../web/tasks/tasks.js';
import { failure, root, typeOfTokenTypes } from './support.js';

const report = JSON.parse(readFileSync(join(root, 'models/default/wattn-default.json'), 'utf8'));
const scores = JSON.parse(readFileSync(join(root, 'models/scores.json'), 'utf8'))['wattn-default']; // of the card
const data = join(root, '../shared/data');
const withData = existsSync(data) ? it : it.skip;
const why = existsSync(data) ? '' : ` (skipped: no data sets at ${data})`;

const lines = (name: string) => readFileSync(join(data, name), 'utf8').trimEnd().split('\n');

describe('the default model', () => {
  it('is the file that its card speaks of, within 4 MB', () => {
    const bytes = readFileSync(join(root, 'dist/wattn-default.gguf'));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(report.sha256);
    expect(readFileSync(join(root, 'models/default/CARD.md'), 'utf8')).toContain(report.sha256);
    expect(bytes.length).toBeLessThan(4_000_000);
    expect(typeOfTokenTypes(bytes)).toEqual({ dimensions: 2, type: 0 });
  });

  it("gives PyTorch's vectors, with no network", async () => {
    const { fetch } = env;
    env.fetch = () => Promise.reject(new Error('the network was asked'));
    try {
      const embed = await pipeline('feature-extraction', null, { dtype: 'f32' });
      const rows = (await embed(report.vectors.texts)).tolist() as number[][];
      // Components to six digits in the report; f32 sums of 384 terms in two orders differ by some 1e-6.
      report.vectors.first_8.forEach((expected: number[], i: number) =>
        expected.forEach((value, k) => expect(Math.abs((rows[i]?.[k] as number) - value)).toBeLessThan(5e-6)),
      );
      expect(embed.info().max_length).toBe(256);
      await embed.dispose();
    } finally {
      env.fetch = fetch;
    }
  });

  it('finds what a query is about', async () => {
    const embed = await pipeline('feature-extraction');
    const corpus = await embed(['The bakery opens at six.', 'Trains leave every hour.', 'He plays the guitar in a band.']);
    const hits = semantic_search(await embed(['When can I buy bread?', 'rail timetable', 'music']), corpus, { top_k: 1 });
    expect(hits.map(([best]) => best?.corpus_id)).toEqual([0, 1, 2]);
    await embed.dispose();
  });

  it('runs in a worker, and gives the same bits there', async () => {
    const [here, there] = [await pipeline('feature-extraction'), await pipeline('feature-extraction', null, { worker: true })];
    const texts = ['one text', 'and another one, a little longer'];
    expect([here.info().dtype, there.info().dtype]).toEqual(['q8', 'q8']);
    expect([...(await there(texts)).data]).toEqual([...(await here(texts)).data]);
    await Promise.all([here.dispose(), there.dispose()]);
  });

  it('is q8 by default, unless another dtype is requested', async () => {
    for (const [options, dtype] of [
      [{}, 'q8'],
      [{ dtype: null }, 'q8'],
      [{ dtype: 'f32' }, 'f32'],
      [{ dtype: 'fp32' }, 'f32'],
      [{ dtype: 'f32', worker: true }, 'f32'],
    ] as any[]) {
      const embed = await pipeline('feature-extraction', null, options);
      expect([options, embed.info().dtype]).toEqual([options, dtype]);
      await embed.dispose();
    }
  });

  it('tells praise from blame', async () => {
    const classify = await pipeline('sentiment-analysis');
    const [good, bad] = await classify(['I love this film, it is wonderful.', 'A boring, terrible waste of time.']);
    expect([good, bad]).toMatchObject([{ label: 'POSITIVE' }, { label: 'NEGATIVE' }]);
    await classify.dispose();
  });

  it('calls most plain statements and questions neutral', async () => {
    const classify = await pipeline('sentiment-analysis');
    const texts = [
      'The train leaves at ten.',
      'How far is it from Denver to Aspen?',
      'The box holds twelve bottles.',
      'The meeting is on Monday.',
      'Water boils at 100 degrees.',
      'She bought bread and milk.',
      'Please send the report by Friday.',
      'My order number is 4512.',
      'Turn left at the corner.',
      'The phone is black.',
    ];
    const found = (await classify(texts)).map((one) => (one as { label: string }).label);
    expect(found.filter((label) => label === 'NEUTRAL').length).toBeGreaterThanOrEqual(8);
    await classify.dispose();
  });

  it('reads emoji', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained();
    expect(tokenizer.tokenize('so 😍😍')).toEqual(['so', '😍', '##😍']);
    const classify = await pipeline('sentiment-analysis');
    expect(await classify(['we got there 😍', 'we got there 😡'])).toMatchObject([{ label: 'POSITIVE' }, { label: 'NEGATIVE' }]);
    await classify.dispose();
  });

  it('has a tokenizer and attentions of its own', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained();
    const model = await AutoModel.from_pretrained();
    const { attentions } = await model(tokenizer('Look inside.'), { output_attentions: true });
    expect(attentions?.length).toBe(4);
    await model.dispose();
  });

  it('leaves what it has no head for to a model of the hub, which a warning names', async () => {
    const { warn } = console;
    const said: string[] = [];
    console.warn = (text) => void said.push(text);
    const asked = new Set<string>();
    env.useCache = false;
    env.fetch = async (url) => {
      asked.add(/huggingface\.co\/([^/]+\/[^/]+)/.exec(url)?.[1] ?? url);
      return new Response('', { status: 404 });
    };
    const tasks = [...kTaskNames].filter((task) => !['text-classification', 'sentiment-analysis'].includes(task));
    for (const task of tasks) await failure(pipeline(task as 'ner'));
    Object.assign(env, { useCache: true, fetch: undefined });
    console.warn = warn;
    const models = tasks.map((task) => kDefaults[kAliases[task] ?? task]!);
    expect([...asked].sort()).toEqual([...new Set(models.map(([model]) => model))].sort());
    for (const [model, licence] of models) {
      expect(said.join('\n')).toContain(`': '${model}' (${licence}) is loaded`);
      expect(['MIT', 'Apache-2.0']).toContain(licence);
    }
    const guide = readFileSync(join(root, 'docs/tasks.md'), 'utf8');
    for (const [task, [model, licence]] of Object.entries(kDefaults))
      expect(guide).toContain(`| \`${task}\` | ${model} | ${licence} |`);
  });

  withData(`keeps its score on STS-B test${why}`, async () => {
    const embed = await pipeline('feature-extraction');
    const pairs = lines('pairs/stsb/sts-test.csv').map((line) => {
      const [, , , , score, sentence1, sentence2] = line.split('\t') as string[];
      return { sentence1, sentence2, score: Number(score) };
    });
    const { spearman_cosine } = await evaluate(embed, 'sts', pairs as any);
    expect(spearman_cosine).toBeCloseTo(scores['STS-B test, Spearman'], 4);
    await embed.dispose();
  });

  withData(`keeps its score on SST-2 dev${why}`, async () => {
    const classify = await pipeline('sentiment-analysis');
    const rows = lines('classification/sst2-glue-alps/test.tsv')
      .slice(1)
      .map((line) => line.split('\t'));
    const found = await classify(rows.map((row) => (row[0] as string).trim()));
    const right = found.filter(
      (one, i) => (one as { label: string }).label === (rows[i]?.[1] === '1' ? 'POSITIVE' : 'NEGATIVE'),
    ).length;
    expect(right / rows.length).toBeCloseTo(scores['SST-2 dev, accuracy'], 4);
    await classify.dispose();
  });
});
