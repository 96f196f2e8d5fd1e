// Sparse vectors of sentence-transformers' SparseEncoder, from tests/goldens/sparse.
import { pipeline, type SparseVector } from 'wattn';
import { expectError, filesOf, goldens, largestDifference, readJson, textOf, type Files } from './support.js';

const expected = readJson('sparse/expected.json');
const texts: string[] = expected.texts;
const kSettings = 'config_sentence_transformers.json';
const kPooling = '1_SpladePooling/config.json';

function files(model: string, change: Record<string, Record<string, unknown> | null> = {}): Files {
  const out = filesOf(`${goldens}/sparse/${model}`);
  for (const [name, members] of Object.entries(change)) {
    if (members === null) out.delete(name);
    else out.set(name, new TextEncoder().encode(JSON.stringify({ ...JSON.parse(textOf(out, name) || '{}'), ...members })));
  }
  return out;
}

const load = (model: Files, options = {}) => pipeline('sparse-encoding', model, { threads: 1, ...options });

function dense({ indices, values }: { indices: ArrayLike<number>; values: ArrayLike<number> }): Float64Array {
  const out = new Float64Array(200);
  Array.from(indices).forEach((index, i) => (out[index] = values[i] as number));
  return out;
}

const expectSame = (got: SparseVector[], rows: { indices: number[]; values: number[] }[], f32Diff: number) => {
  expect(got.length).toBe(rows.length);
  got.forEach((vector, i) => {
    expect(largestDifference(dense(vector), dense(rows[i]!))).toBeLessThanOrEqual(4 * f32Diff);
    expect([...vector.indices]).toEqual([...vector.indices].sort((a, b) => a - b));
    expect(vector.values.every((value) => value > 0)).toBe(true);
  });
};

/** Arrays of this realm. */
const plain = ({ indices, values, ...facts }: SparseVector) => ({ ...facts, indices: [...indices], values: [...values] });

const cases: [string, any][] = Object.entries(expected.models).flatMap(([model, list]) =>
  (list as any[]).map((one): [string, any] => [`${model}, ${one.name}`, { model, ...one }]),
);

describe('sparse-encoding', () => {
  it.each(cases)('has the vectors, similarities and words of SparseEncoder: %s', async (_name, one) => {
    const { model, pooling, settings, f32_diff, calls, similarity, decoded } = one;
    const encode = await load(files(model, model === 'splade' ? { [kPooling]: pooling, [kSettings]: settings } : {}));
    const [plain, queries, documents] = [
      await encode(texts),
      await encode.encode_query(texts),
      await encode.encode_document(texts),
    ];
    expectSame(plain, calls.encode, f32_diff);
    expectSame(queries, calls.encode_query, f32_diff);
    expectSame(documents, calls.encode_document, f32_diff);
    const scores = await encode.similarity(queries, documents);
    expect(scores.dims).toEqual([texts.length, texts.length]);
    expect(largestDifference(scores.data, similarity.flat())).toBeLessThan(Math.max(...similarity.flat()) * f32_diff * 50);
    const words = await encode.decode(plain, { top_k: 3 });
    expect(words.map((list) => list.map(({ word }) => word))).toEqual(
      decoded.map((list: [string][]) => list.map(([word]) => word)),
    );
    expect(await encode.decode(plain[0]!, { top_k: 3 })).toEqual(words[0]);
    await encode.dispose();
  });

  it('has the same bits alone, in a batch, with threads and in workers, and is near in q16 and q8', async () => {
    const long = texts.join(' ').repeat(2);
    const one = await load(files('splade'));
    const all = await one([...texts, long]);
    for (const options of [{ threads: 2 }, { worker: true }, { worker: 2 }]) {
      const other = await pipeline('sparse-encoding', files('splade'), options);
      const again = await other([...texts, long]);
      expect(again.map(plain)).toEqual(all.map(plain));
      expect(plain(await other(texts[2] as string))).toEqual(plain(all[2]!));
      expect(await other.decode(again[0]!)).toEqual(await one.decode(all[0]!));
      await other.dispose();
    }
    expect(all.map(({ truncated }) => truncated)).toEqual([false, false, false, false, false, false, true, true]);
    for (const [dtype, most] of [
      ['q16', 0.02],
      ['q8', 0.5],
    ] as const) {
      const small = await load(files('splade'), { dtype });
      const vectors = await small(texts);
      vectors.forEach((vector, i) => expect(largestDifference(dense(vector), dense(all[i]!))).toBeLessThan(most));
      await small.dispose();
    }
    await one.dispose();
  });

  it('keeps the largest weights when asked to', async () => {
    const encode = await load(files('splade'));
    const [all, few] = [await encode(texts[0] as string), await encode(texts[0] as string, { max_active_dims: 4 })];
    const largest = [...all.values].sort((a, b) => b - a).slice(0, 4);
    expect([...few.values].sort((a, b) => b - a)).toEqual(largest);
    expect(few.indices.every((index) => all.indices.includes(index))).toBe(true);
    expect(await encode([])).toEqual([]);
    await expectError(encode('a', { max_active_dims: 0 }), 'InputError', /max_active_dims/);
    await expectError(encode('a', { max_length: 91 }), 'InputError', /max_length: expected a whole number from 1 to 90/);
    await expectError(encode('a', { prompt_name: 'x' }), 'InputError', /prompt_name.*query|document/);
    await expectError(encode([texts[6] as string], { on_overflow: 'error' }), 'InputError', /text 0: expected at most 60 tokens/);
    await expectError(encode.similarity(all, 'x' as any), 'InputError', /similarity: 0: expected \{ indices, values \}/);
    await encode.dispose();
  });

  it('reads the files of older versions, and a router whose encoder lies at the root', async () => {
    const encode = await load(files('splade'));
    const vectors = await encode(texts);
    const old = files('splade', { 'sentence_bert_config.json': null, [kSettings]: null });
    const module = (type: string, path: string) => ({ path, type: `sentence_transformers.sparse_encoder.models.${type}` });
    old.set(
      'modules.json',
      new TextEncoder().encode(JSON.stringify([module('MLMTransformer', ''), module('SpladePooling', '1_SpladePooling')])),
    );
    old.set('sentence_bert_config.json', new TextEncoder().encode('{"max_seq_length": 60, "do_lower_case": false}'));
    old.set(kPooling, new TextEncoder().encode('{"pooling_strategy": "max", "word_embedding_dimension": null}'));
    const before = await load(old);
    expect(await before(texts)).toEqual(vectors);

    const router = files('router');
    const whole = await load(router);
    const queries = await whole.encode_query(texts);
    const flat: Files = new Map([...router].map(([name, bytes]) => [name.replace('document_0_Transformer/', ''), bytes]));
    const config = JSON.parse(textOf(router, 'router_config.json'));
    config.types[''] = config.types['document_0_Transformer'];
    config.structure.document[0] = '';
    flat.set('router_config.json', new TextEncoder().encode(JSON.stringify(config)));
    const root = await load(flat);
    expect(await root(texts)).toEqual(await whole(texts));
    expect(await root.encode_query(texts)).toEqual(queries);
    expect(queries[2]!.tokens).toBe((texts[2] as string).length); // without special tokens
    for (const one of [encode, before, whole, root]) await one.dispose();
  });

  it('takes a masked-language model without modules.json for SPLADE, as SparseEncoder does', async () => {
    const unread = { prompts: { query: 'ask: ' }, default_prompt_name: 'query', max_active_dims: 3 };
    const saved = await load(files('splade'));
    const plain = await load(files('splade', { 'modules.json': null, [kSettings]: unread }));
    expect(await plain(texts)).toEqual(await saved(texts));
    for (const one of [saved, plain]) await one.dispose();
  });

  it('refuses by name what it cannot know', async () => {
    const refused = (model: string, change: Parameters<typeof files>[1], kind: string, message: RegExp) =>
      expectError(load(files(model, change)), kind, message);
    await refused(
      'splade',
      { [kPooling]: { pooling_strategy: 'mean' } },
      'UnsupportedError',
      /pooling_strategy: expected one of "max", "sum"/,
    );
    await refused('splade', { [kPooling]: { activation_function: 'gelu' } }, 'UnsupportedError', /activation_function/);
    const trained = files('splade');
    const kinds = ['Transformer', 'Pooling', 'SparseAutoEncoder'];
    const modules = kinds.map((kind, idx) => ({ idx, name: `${idx}`, path: idx === 0 ? '' : `${idx}_${kind}`, type: kind }));
    trained.set('modules.json', new TextEncoder().encode(JSON.stringify(modules)));
    for (const { path } of modules.slice(1)) trained.set(`${path}/config.json`, new TextEncoder().encode('{}'));
    await expectError(load(trained), 'UnsupportedError', /then SpladePooling, found .*SparseAutoEncoder/);
    const noHead = { 'modules.json': null, 'config.json': { architectures: ['BertModel'] } };
    await refused('splade', noHead, 'UnsupportedError', /ForMaskedLM, which this task needs/);
    await refused('splade', { 'config.json': { architectures: ['BertModel'] } }, 'UnsupportedError', /ForMaskedLM/);
    await refused(
      'splade',
      { 'sentence_bert_config.json': { transformer_task: 'feature-extraction' } },
      'UnsupportedError',
      /transformer_task/,
    );
    await refused('splade', { [kSettings]: { max_active_dims: -1 } }, 'ModelFormatError', /max_active_dims/);
    await refused('router', { 'router_config.json': null }, 'ModelFormatError', /router_config.json/);
    await refused(
      'router',
      { 'router_config.json': { structure: { query: [], document: [] } } },
      'ModelFormatError',
      /config.json|structure/,
    );
    await refused(
      'router',
      { 'router_config.json': { parameters: { default_route: 'query' } } },
      'UnsupportedError',
      /default_route/,
    );
    const outside = { structure: { query: ['query_0_SparseStaticEmbedding'], document: ['../x'] } };
    await refused('router', { 'router_config.json': outside }, 'ModelFormatError', /inside the model/);
    const named = { query_0_SparseStaticEmbedding: 'x.Other' };
    const types = JSON.parse(textOf(files('router'), 'router_config.json')).types;
    await refused(
      'router',
      { 'router_config.json': { types: { ...types, ...named } } },
      'UnsupportedError',
      /SparseStaticEmbedding.*Other/,
    );
    const settings = await load(files('splade', { [kSettings]: { similarity_fn_name: 'manhattan' } }));
    const vector = await settings('a');
    await expectError(settings.similarity(vector, vector), 'UnsupportedError', /similarity_fn_name/);
    await settings.dispose();
    await expectError(load(filesOf(`${goldens}/late-interaction/bert`)), 'UnsupportedError', /modules.json: type|architectures/);
  });
});
