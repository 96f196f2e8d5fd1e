// Token vectors, scores and rankings of PyLate, from tests/goldens/late-interaction.
import { pipeline, type LateInteractionPipeline, type TokenVectors } from 'wattn';
import { expectError, expectNear, filesOf, goldens, largestDifference, readJson, serveHub, textOf, type Files } from './support.js';

const expected = readJson('late-interaction/expected.json');
const { queries, documents }: { queries: string[]; documents: string[] } = expected;
const kSettings = 'config_sentence_transformers.json';

function files(model: string, change: Record<string, Record<string, unknown> | null> = {}): Files {
  const out = filesOf(`${goldens}/late-interaction/${model}`);
  for (const [name, members] of Object.entries(change)) {
    if (members === null) out.delete(name);
    else out.set(name, new TextEncoder().encode(JSON.stringify({ ...JSON.parse(textOf(out, name) || '{}'), ...members })));
  }
  return out;
}

const load = (model: Files, options = {}) => pipeline('late-interaction', model, { threads: 1, ...options });

interface Row {
  ids: number[];
  vectors: number[];
}

function expectVectors(got: TokenVectors[], rows: Row[], f32Diff: number) {
  expect(got.map(({ ids }) => [...ids])).toEqual(rows.map(({ ids }) => ids));
  got.forEach(({ dims, data }, i) => {
    const { ids, vectors } = rows[i] as Row;
    expect(dims).toEqual([ids.length, expected.dim]);
    expectNear(data, Float32Array.from(vectors), f32Diff);
  });
}

const cases: [string, any][] = Object.entries(expected.models).flatMap(([model, list]) =>
  (list as any[]).map((one): [string, any] => [`${model}, ${one.name}`, { model, ...one }]),
);

describe('late-interaction', () => {
  it.each(cases)('has the vectors, scores and order of PyLate: %s', async (_name, { model, config, f32_diff, ...rows }) => {
    const colbert = await load(files(model, model === 'original' ? {} : { [kSettings]: config }));
    const [ours, theirs] = [await colbert.encode_query(queries), await colbert.encode_document(documents)];
    expectVectors(ours, rows.queries, f32_diff);
    expectVectors(theirs, rows.documents, f32_diff);
    // A score is a sum over a query's tokens: products of unit vectors.
    const bound = 8 * f32_diff * 32;
    for (const [i, query] of ours.entries()) {
      const scores = colbert.max_sim(query, theirs);
      expect(largestDifference(scores, rows.scores[i])).toBeLessThan(bound);
      expect(colbert.max_sim(query, theirs[0] as TokenVectors)).toBe(scores[0]);
      const [fromVectors, fromTexts] = [await colbert(query, theirs), await colbert(queries[i] as string, documents)];
      expect(fromTexts.map(({ corpus_id, score }) => [corpus_id, score])).toEqual(
        fromVectors.map(({ corpus_id, score }) => [corpus_id, score]),
      );
      if (!rows.padded[i]) expect(fromTexts.map(({ corpus_id }) => corpus_id)).toEqual(rows.ranked[i].map(([id]: number[]) => id));
    }
    await colbert.dispose();
  });

  it('has the same bits alone, in a batch, with threads and in workers, and is near in q16 and q8', async () => {
    const one = await load(files('bert'));
    const all = await one.encode_document(documents);
    for (const options of [{ threads: 2 }, { worker: true }, { worker: 2 }]) {
      const other = await pipeline('late-interaction', files('bert'), options);
      const [again, alone] = [await other.encode_document(documents), await other.encode_document(documents[3] as string)];
      expect(again.map(({ data }) => [...data])).toEqual(all.map(({ data }) => [...data]));
      expect([...alone.data]).toEqual([...all[3]!.data]);
      expect(await other('who sings?', again)).toHaveLength(documents.length);
      expect(await other('who sings?', documents)).toEqual(await one('who sings?', documents));
      await other.dispose();
    }
    for (const [dtype, most] of [
      ['q16', 0.01],
      ['q8', 0.2],
    ] as const) {
      const small = await load(files('bert'), { dtype });
      const vectors = await small.encode_document(documents);
      vectors.forEach(({ data }, i) => expect(largestDifference(data, all[i]!.data)).toBeLessThan(most));
      expect(largestDifference(vectors[0]!.data, all[0]!.data)).toBeGreaterThan(0);
      await small.dispose();
    }
    await one.dispose();
  });

  it('says where each token is, how long a text was, and what was cut', async () => {
    const colbert = await load(files('bert', { [kSettings]: { prompts: { ask: 'find ' }, default_prompt_name: 'ask' } }));
    const text = '  An old boat';
    const { ids, offsets, tokens, truncated } = await colbert.encode_document(text);
    const spans = [...ids].map((_, i) => text.slice(offsets[2 * i], offsets[2 * i + 1]));
    expect(spans.join('')).toBe(text);
    const alone = await colbert.encode_document(text, { prompt: '' }); // the spaces at the ends are left out
    expect([...alone.ids].map((_, i) => text.slice(alone.offsets[2 * i], alone.offsets[2 * i + 1])).join('')).toBe('An old boat');
    expect([tokens, truncated]).toEqual([3 + 'find '.length + text.length, false]); // the prompt keeps the spaces inside
    const cut = await colbert.encode_document('e'.repeat(100), { max_length: 10 });
    expect([cut.dims[0], cut.tokens, cut.truncated]).toEqual([10, 10, true]);
    const query = await colbert.encode_query('bee', { max_length: 30, prompt: '' });
    expect([query.dims[0], query.tokens, query.truncated]).toEqual([30, 6, false]);
    await expectError(colbert.encode_document(['e', 'e'.repeat(100)], { on_overflow: 'error' }), 'InputError', /text 1: expected at most 40 tokens, found 108/); // prettier-ignore
    await colbert.dispose();
  });

  it('ranks texts and vectors, the best first', async () => {
    const colbert = await load(files('bert'));
    const [first] = await colbert.encode_document(documents);
    const ranked = await colbert('who sings?', [first as TokenVectors, documents[3] as string], {
      top_k: 1,
      return_documents: true,
    });
    expect(ranked).toHaveLength(1);
    expect(ranked[0]).toMatchObject({ corpus_id: 0, truncated: false, unknown: 0 });
    expect(await colbert('who sings?', [])).toEqual([]);
    expect(await colbert.encode_query([])).toEqual([]);
    await expectError(colbert('who?', 'one text' as any), 'InputError', /documents: expected an array/);
    await expectError(colbert(1 as any, documents), 'InputError', /query: expected a text, or vectors/);
    await expectError(colbert('who?', [1 as any]), 'InputError', /documents: 0/);
    await expectError(
      () => colbert.max_sim(first as TokenVectors, 'text' as any),
      'InputError',
      /documents: expected a text, or vectors/,
    );
    await colbert.dispose();
  });

  it('gives a document of skipped words alone no vector and the score 0', async () => {
    const words = ['[CLS]', '[SEP]', '[D] ', '!'];
    const colbert = await load(files('bert', { [kSettings]: { skiplist_words: words } }));
    const none = await colbert.encode_document('!!!');
    expect(none.dims).toEqual([0, expected.dim]);
    expect(colbert.max_sim(await colbert.encode_query('who?'), none)).toBe(0);
    expect((await colbert('who?', ['!!!']))[0]?.score).toBe(0);
    await colbert.dispose();
  });

  it('refuses by name what it cannot know', async () => {
    const refused = (model: string, change: Parameters<typeof files>[1], kind: string, message: RegExp) =>
      expectError(load(files(model, change)), kind, message);
    await refused('bert', { [kSettings]: { query_prefix: '[X] ' } }, 'ModelFormatError', /query_prefix: expected a token/);
    await refused('bert', { [kSettings]: { query_length: 0 } }, 'ModelFormatError', /query_length/);
    await refused('bert', { [kSettings]: { skiplist_words: 'x' } }, 'ModelFormatError', /skiplist_words/);
    await refused('bert', { [kSettings]: null }, 'ModelFormatError', /config_sentence_transformers.json: expected this file/);
    await refused('bert', { 'modules.json': null }, 'UnsupportedError', /modules.json: expected this file .* or "HF_ColBERT"/);
    await refused('bert', { 'tokenizer_config.json': { padding_side: 'left' } }, 'UnsupportedError', /padding_side/);
    await refused('bert', { '1_Dense/config.json': { in_features: 25 } }, 'ModelFormatError', /in_features: expected .* 24/);
    await refused('bert', { '1_Dense/config.json': { use_residual: true } }, 'ModelFormatError', /1_Dense\/residual.weight/);
    await refused('bert', { 'config.json': { vocab_size: 70 } }, 'ModelFormatError', /query_prefix|vocab/);
    await refused('original', { 'artifact.metadata': { dim: 11 } }, 'ModelFormatError', /linear.weight/);
    const modules = (list: object[]) => {
      const out = files('bert');
      return out.set('modules.json', new TextEncoder().encode(JSON.stringify(list)));
    };
    const transformer = { path: '', type: 'sentence_transformers.models.Transformer' };
    await expectError(load(modules([transformer])), 'UnsupportedError', /expected a Dense module/);
    await expectError(load(modules([transformer, { path: '1', type: 'x.Pooling' }])), 'ModelFormatError', /1.config.json/);
    await expectError(load(modules([transformer, { path: '../1', type: 'x.Dense' }])), 'ModelFormatError', /inside the model/);
    await expectError(load(files('bert', { [kSettings]: { query_length: 500 } })).then((c) => c.encode_query('a')), 'InputError', /max_length: expected a whole number from 2 to 200/); // prettier-ignore
    await expectError(pipeline('feature-extraction', files('bert')), 'UnsupportedError', /modules.json/);
  });

  it('loads from a hub, with the files that the original ColBERT has', async () => {
    const hub = await serveHub(files('original'), '/');
    const colbert: LateInteractionPipeline = await pipeline('late-interaction', `${hub.url}/`);
    expect((await colbert.encode_query('who?')).dims).toEqual([14, expected.dim]);
    expect(hub.requests.filter((request) => request.includes('artifact.metadata')).length).toBeGreaterThan(0);
    expect(colbert.info()).toMatchObject({ head: 'none', pooled: false });
    expect(colbert.info().pooled_reason).toBe(undefined);
    await colbert.dispose();
    await hub.close();
  });
});

describe("sentence-transformers' HierarchicalTokenPooling", () => {
  const whole = (name: string) =>
    new Map([...filesOf(`${goldens}/multi-vector/model`), ...filesOf(`${goldens}/multi-vector/pooled/${name}`)]);

  it.each(readJson('multi-vector/pooled/cases.json') as string[])('gives the same clusters, in order: %s', async (name) => {
    const { texts, f32_diff, vectors } = readJson(`multi-vector/pooled/${name}/expected.json`);
    const [colbert, plain] = [await load(whole(name)), await load(filesOf(`${goldens}/multi-vector/model`))];
    let fewer = 0;
    for (const role of ['query', 'document'] as const) {
      const [got, all] = [await colbert[`encode_${role}`](texts as string[]), await plain[`encode_${role}`](texts as string[])];
      got.forEach(({ dims, data, ids, offsets }, i) => {
        const { shape, vectors: expected } = vectors[role][i];
        expect(dims).toEqual(shape[0] === 0 ? [0, dims[1]] : shape);
        expectNear(data, Float32Array.from(expected), Math.max(2 * f32_diff, 2e-7));
        expect([ids.length, offsets.length]).toEqual([dims[0], 2 * dims[0]!]);
        expect([...ids].every((id) => all[i]!.ids.includes(id))).toBe(true);
        fewer += dims[0]! < all[i]!.dims[0]! ? 1 : 0;
      });
    }
    expect(fewer > 0).toBe(name !== 'unit-length');
    await Promise.all([colbert.dispose(), plain.dispose()]);
  });

  it('is checked', async () => {
    const name = '4_HierarchicalTokenPooling/config.json';
    const change = async (more: object, error: string, message: RegExp) => {
      const model = whole('halves');
      model.set(name, new TextEncoder().encode(JSON.stringify({ ...JSON.parse(textOf(model, name)), ...more })));
      const colbert = await load(model);
      await expectError(() => colbert.encode_document('birds'), error, message);
      await colbert.dispose();
    };
    await change({ pool_factor: 0.5 }, 'ModelFormatError', /pool_factor: expected a number from 1 on, found 0.5/);
    await change({ num_protected_tokens: -1 }, 'ModelFormatError', /num_protected_tokens: expected a whole number/);
    await change({ normalize_embeddings: 1 }, 'ModelFormatError', /normalize_embeddings: expected true or false/);
    await change({ tasks: ['image'] }, 'UnsupportedError', /tasks: expected 'query' or 'document', found 'image'/);
    const model = whole('halves');
    model.delete(name);
    await expectError(load(model), 'ModelFormatError', /4_HierarchicalTokenPooling.config.json: expected this file/);
  });
});

describe("sentence-transformers' MultiVectorEncoder", () => {
  it('gives the same vectors and scores from its own files', async () => {
    const { queries, documents, f32_diff, vectors, scores } = readJson('multi-vector/expected.json');
    const model = filesOf(`${goldens}/multi-vector/model`);
    const colbert = await load(model);
    const ours = await colbert.encode_query(queries as string[]);
    const theirs = await colbert.encode_document(documents as string[]);
    for (const [got, rows] of [
      [ours, vectors.queries],
      [theirs, vectors.documents],
    ] as const) {
      got.forEach(({ dims, data }, i) => {
        expect(dims).toEqual(rows[i].shape);
        expectNear(data, Float32Array.from(rows[i].vectors), f32_diff);
      });
    }
    ours.forEach((query, i) =>
      expect(largestDifference(colbert.max_sim(query, theirs), scores[i])).toBeLessThan(8 * f32_diff * 32),
    );
    await colbert.dispose();
    const settings = JSON.parse(textOf(model, 'sentence_bert_config.json'));
    const over = (change: object) => new TextEncoder().encode(JSON.stringify({ ...settings, ...change }));
    model.set('sentence_bert_config.json', over({ query_expansion: { strategy: 'min', length: 20 } }));
    await expectError(load(model), 'UnsupportedError', /query_expansion.strategy: expected "fixed"/);
    model.set('sentence_bert_config.json', over({ query_expansion: { strategy: 'fixed', length: 20, token: 'none' } }));
    await expectError(load(model), 'ModelFormatError', /query_expansion.token: expected a token/);
  });
});
