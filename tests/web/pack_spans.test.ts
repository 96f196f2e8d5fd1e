// Packed models that read their labels beside the text: GLiNER, GLiNER2 and GLiClass.
import { join } from 'node:path';
import { describeModel, packModel, packTo, pipeline, type PackOptions } from 'wattn';
import { changed } from './safetensors.js';
import { edited, expectError, failure, filesOf, goldens, readJson, serveHub, tinyFiles, type Files } from './support.js';
import { wideFiles } from './wide.js';

type Model = Parameters<typeof pipeline>[1];
const spans = readJson('spans/cases.json') as { cases: string[]; texts: string[]; labels: string[][] };
const schemas = readJson('schemas/cases.json') as typeof spans;

const packed = async (files: Files, options: PackOptions) => ({ 'model.gguf': await packModel(files, options) });

/** All that a model finds, with any score. */
async function found(model: Model, { texts, labels }: typeof spans, options: object = {}) {
  const ner = await pipeline('zero-shot-ner', model, { threads: 1, ...options });
  const out = [];
  for (const own of labels) out.push(await ner(texts, own, { threshold: 0.2, flat_ner: false, multi_label: true }));
  await ner.dispose();
  return out;
}

async function classified(model: Model, texts: string[], labels: string[], options: object = {}) {
  const classify = await pipeline('zero-shot-classification', model, { threads: 1, ...options });
  const out = await classify(texts, labels, { multi_label: true });
  await classify.dispose();
  return out as { labels: string[]; scores: number[] }[];
}

const pairs = readJson('spans_bi/cases.json') as typeof spans;

const kModels: [name: string, folder: string, sets: typeof spans][] = [
  ...spans.cases.map((name) => [`GLiNER, ${name}`, join(goldens, 'spans', name), spans] as [string, string, typeof spans]),
  ...pairs.cases.map((name) => [`bi-encoder, ${name}`, join(goldens, 'spans_bi', name), pairs] as [string, string, typeof spans]),
  ...schemas.cases.map((name) => [`GLiNER2, ${name}`, join(goldens, 'schemas', name), schemas] as [string, string, typeof spans]),
];

const kMore = 4;
const kFirst = 4; // the first id that is not special

/** The model with pieces that no text has, before all others but the special ones: ids that its files name are larger. */
function withUnused(files: Files): Files {
  const later = (id: number) => (id >= kFirst ? id + kMore : id);
  const visit = (value: any, key = ''): any => {
    if (typeof value === 'number') return /_token_index$/.test(key) ? later(value) : key === 'vocab_size' ? value + kMore : value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each, name)]));
  };
  const json = (name: string, change: (json: any) => any) => {
    const bytes = files.get(name);
    if (bytes) files.set(name, new TextEncoder().encode(JSON.stringify(change(JSON.parse(new TextDecoder().decode(bytes))))));
  };
  for (const name of ['config.json', 'encoder_config/config.json', 'gliner_config.json']) json(name, visit);
  const unused = Array.from({ length: kMore }, (_, i) => `zq${i}zq`);
  json('tokenizer.json', ({ model, added_tokens, ...others }) => {
    const { vocab } = model;
    const pieces = Array.isArray(vocab)
      ? [...vocab.slice(0, kFirst), ...unused.map((piece) => [piece, -30]), ...vocab.slice(kFirst)]
      : Object.fromEntries([
          ...Object.entries<number>(vocab).map(([piece, id]) => [piece, later(id)]),
          ...unused.map((piece, i) => [piece, kFirst + i]),
        ]);
    const added = added_tokens.map((token: any) => ({ ...token, id: later(token.id) }));
    return { ...others, added_tokens: added, model: { ...model, vocab: pieces } };
  });
  json('tokenizer_config.json', ({ added_tokens_decoder: decoder, ...others }) => ({
    ...others,
    ...(decoder && {
      added_tokens_decoder: Object.fromEntries(Object.entries(decoder).map(([id, token]) => [later(Number(id)), token])),
    }),
  }));
  const weights = changed(files.get('model.safetensors')!, (tensors) => {
    const [name, { dtype, shape, bytes }] = [...tensors].find(([each]) =>
      /(word_embeddings|shared|embed_tokens)\.weight$/.test(each),
    )!;
    const row = bytes.length / shape[0]!;
    const wider = new Uint8Array(bytes.length + kMore * row);
    wider.set(bytes.subarray(0, kFirst * row));
    wider.set(bytes.subarray(kFirst * row), (kFirst + kMore) * row);
    tensors.set(name, { dtype, shape: [shape[0]! + kMore, ...shape.slice(1)], bytes: wider });
  });
  return files.set('model.safetensors', weights);
}

/** The model with those pieces, packed without them. */
async function cut(files: Files, corpus: string[]) {
  const more = withUnused(files);
  const error = await failure(packTo(more, () => {}, { dtype: 'f32', vocab: 1e6, corpus }));
  const pieces = Number(/fewer than the model's (\d+) pieces/.exec(error.message)?.[1]);
  return { 'model.gguf': await packModel(more, { dtype: 'f32', vocab: pieces - kMore, corpus }) };
}

describe.each(kModels)('a packed %s', (name, folder, sets) => {
  const files = () => filesOf(folder);

  it('finds the same as f32', async () => {
    const before = await found(files(), sets);
    expect(before.flat(2).length).toBeGreaterThan(5);
    expect(await found(await packed(files(), { dtype: 'f32' }), sets)).toEqual(before);
  });

  // This one has a part of a fixed width, which wideFiles() would change.
  (name === 'GLiNER2, deberta' ? it.skip : it)('has the bits of q8 as native, and is smaller as q8', async () => {
    const wide = wideFiles(folder);
    const exact = await found(wide, sets, { dtype: 'q8' });
    expect(exact.flat(2).length).toBeGreaterThan(5);
    expect(await found(await packed(wide, { dtype: 'native' }), sets, { dtype: 'q8' })).toEqual(exact);
    const { bytes, original_bytes, llama_cpp, why_not } = await packTo(wide, () => {}, { dtype: 'q8' });
    expect([bytes < 0.45 * original_bytes, llama_cpp, why_not]).toEqual([true, null, 'llama.cpp has no such head']);
  });

  it('is described by its encoder and its head, packed or not', async () => {
    const model_type =
      { deberta: 'deberta-v2', 'deberta-token': 'deberta-v2', 'bert-token': 'bert' }[name.split(', ')[1]!] ?? name.split(', ')[1];
    const expected = { model_type, kind: 'encoder', heads: ['spans'] };
    expect(await describeModel(files())).toEqual(expected);
    expect(await describeModel(await packed(files(), { dtype: 'f32' }))).toEqual(expected);
  });

  it('is not cut where cutting is not supported', async () => {
    for (const options of [{ layers: [0] }, { dim: 8 }, { dtype: 'q4', calibrate: ['a boat'] }] as PackOptions[]) {
      const option = Object.keys(options).at(-1);
      await expectError(
        packModel(files(), options),
        'UnsupportedError',
        new RegExp(`pack: option '${option}': expected another model than GLiNER`),
      );
    }
  });
});

it('a GLiNER is described as one beside the config.json of its encoder', async () => {
  const files = filesOf(join(goldens, 'spans/bert'));
  const encoder = JSON.parse(new TextDecoder().decode(files.get('gliner_config.json'))).encoder_config;
  const config = { ...encoder, architectures: ['BertModel'] };
  files.set('config.json', new TextEncoder().encode(JSON.stringify(config)));
  expect(await describeModel(files)).toEqual({ model_type: 'bert', kind: 'encoder', heads: ['spans'] });
  files.delete('gliner_config.json');
  expect(await describeModel(files)).toMatchObject({ model_type: 'bert', heads: [] });
});

it('a model of sentence-transformers is described without asking for a file that only a GLiNER has', async () => {
  const config = edited('config.json', { architectures: ['BertModel'] });
  const hub = await serveHub(tinyFiles({ 'config.json': config, 'modules.json': '[]' }), '/');
  expect(await describeModel(hub.url)).toMatchObject({ model_type: 'bert', heads: [] });
  expect(hub.requests).toEqual(['GET /config.json', 'GET /modules.json']);
  await hub.close();
});

describe('fewer pieces', () => {
  it('need to know the rows of the table', async () => {
    const files = filesOf(join(goldens, 'spans/bert'));
    const config = JSON.parse(new TextDecoder().decode(files.get('gliner_config.json')));
    files.set('gliner_config.json', new TextEncoder().encode(JSON.stringify({ ...config, vocab_size: -1 })));
    const packing = packModel(files, { vocab: 100, corpus: ['a boat'] });
    await expectError(packing, 'UnsupportedError', /'vocab': expected class_token_index and vocab_size in gliner_config.json/);
  });

  it('are refused for a bi-encoder, which has two vocabularies', async () => {
    await expectError(
      packModel(filesOf(join(goldens, 'spans_bi/deberta')), { vocab: 100, corpus: ['a boat'] }),
      'UnsupportedError',
      /pack: option 'vocab': expected a model with one vocabulary, found a bi-encoder of GLiNER.*; pack it without 'vocab'/,
    );
  });

  it.each([
    ['spans', 'bert'],
    ['spans', 'deberta'],
    ['spans', 't5'],
    ['schemas', 'bert'],
    ['schemas', 'deberta'],
  ])('change no span of texts whose pieces stay: %s/%s', async (set, name) => {
    const files = () => filesOf(join(goldens, set, name));
    const sets = set === 'spans' ? spans : schemas;
    expect(await found(await cut(files(), [...sets.texts, ...sets.labels.flat()]), sets)).toEqual(await found(files(), sets));
  });

  it.each(['bert', 'deberta', 't5'])('change no score of GLiClass: %s', async (name) => {
    const files = () => filesOf(join(goldens, 'labels', name));
    const [texts, labels] = [spans.texts.slice(0, 4), ['person', 'place']];
    expect(await classified(await cut(files(), [...texts, ...labels]), texts, labels)).toEqual(
      await classified(files(), texts, labels),
    );
  });

  it.each(schemas.cases)('and GLiNER2 classifies as before: %s', async (name) => {
    const files = () => filesOf(join(goldens, 'schemas', name));
    const before = await classified(files(), schemas.texts, ['person', 'place']);
    expect(await classified(await packed(files(), { dtype: 'f32' }), schemas.texts, ['person', 'place'])).toEqual(before);
  });
});
