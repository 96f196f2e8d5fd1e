// Static embeddings: model2vec's and sentence-transformers' files, compared with these libraries' embeddings.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeModel, inspectModel, packModel, pipeline, type LoadOptions } from 'wattn';
import { expectError, expectNear, filesOf, goldens, readJson, serveHub, type Files } from './support.js';

const { texts, models } = readJson('static/expected.json') as {
  texts: string[];
  models: Record<string, { options: { max_length?: number }; f32_diff: number; vectors: number[] }[]>;
};
const folder = (name: string) => join(goldens, 'static', name);
const load = (model: string | Files, options: LoadOptions = {}) => pipeline('feature-extraction', model as never, options);
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** A model of the folder's files, some of them replaced. null: without that file. */
function changed(name: string, over: Record<string, Uint8Array | null>): Files {
  const files = filesOf(folder(name));
  for (const [file, bytes] of Object.entries(over)) {
    if (bytes) files.set(file, bytes);
    else files.delete(file);
  }
  return files;
}

/** A safetensors file of these tensors: bytes by dtype and shape. */
function tensorFile(tensors: Record<string, { dtype: string; shape: number[]; bytes: Uint8Array }>): Uint8Array {
  let end = 0;
  const header: Record<string, unknown> = {};
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors))
    header[name] = { dtype, shape, data_offsets: [end, (end += bytes.length)] };
  const text = new TextEncoder().encode(JSON.stringify(header).padEnd(512));
  const out = new Uint8Array(8 + text.length + end);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  let at = 8 + text.length;
  for (const { bytes } of Object.values(tensors)) {
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}

const bytesOf = (values: ArrayBufferView) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
const f32 = (shape: number[], fill = 0.5) => ({
  dtype: 'F32',
  shape,
  bytes: bytesOf(new Float32Array(shape.reduce((a, b) => a * b)).fill(fill)),
});
const i32 = (values: number[]) => ({ dtype: 'I32', shape: [values.length], bytes: bytesOf(Int32Array.from(values)) });

describe('static embeddings', () => {
  it.each(Object.keys(models))('equal Python: %s', async (name) => {
    const embed = await load(folder(name));
    for (const { options, f32_diff, vectors } of models[name] ?? []) {
      expectNear((await embed(texts, options)).data as Float32Array, vectors, f32_diff);
      const alone = await embed(texts[2] as string, options);
      const among = await embed(texts, options);
      expect([...(alone.data as Float32Array)]).toEqual([...(among.get(2).data as Float32Array)]);
    }
    await embed.dispose();
  });

  it.each(['q16', 'q8'] as const)('in %s are near f32', async (dtype) => {
    // A row of integers is off by half a step of its scale; the mean's error is at most that of its rows.
    const step = { q16: 1 / 32767, q8: 1 / 127 }[dtype];
    const [exact, rounded] = await Promise.all([load(folder('sentence')), load(folder('sentence'), { dtype })]);
    const [a, b] = [(await exact(texts)).data as Float32Array, (await rounded(texts)).data as Float32Array];
    const most = 5; // above the largest number of the random table
    a.forEach((value, i) => expect(Math.abs(value - (b[i] as number))).toBeLessThan((most * step) / 2));
    await Promise.all([exact.dispose(), rounded.dispose()]);
  });

  it('say what they are', async () => {
    const embed = await load(folder('model2vec-quantized'));
    expect(embed.info()).toMatchObject({
      model_type: 'model2vec',
      kind: 'encoder',
      num_hidden_layers: 0,
      num_attention_heads: 0,
      hidden_size: 24,
      max_length: 512,
      pooled: true,
      normalize: true,
    });
    expect(embed.memory().weights).toBeLessThan(20_000); // 9 rows of 24 numbers, not one for each token
    await embed.dispose();
    expect(await describeModel(folder('sentence-folder'))).toEqual({ model_type: 'static-embedding', kind: 'encoder', heads: [] });
    const { layers } = await inspectModel(folder('model2vec-quantized'));
    expect(layers.map(({ name }) => name)).toEqual(['embeddings', 'mapping', 'weights']);
  });

  it('tell what was cut and what is unknown', async () => {
    const embed = await load(folder('model2vec-float32'));
    const long = 'river home boat '.repeat(300);
    const out = await embed(['zzz the zzz', long, '', 'the boat']);
    expect([...out.truncated]).toEqual([false, true, false, false]);
    expect(out.tokens[2]).toBe(0);
    expect(out.unknown[3]).toBe(0);
    await expectError(embed(long, { on_overflow: 'error' }), 'InputError', /expected at most 512 tokens/);
    const windows = await embed(long, { on_overflow: 'window', windows: 'each' });
    expect(windows.dims[0]).toBe(windows.windows[0]);
    expect(windows.dims[0]).toBeGreaterThan(1);
    await embed.dispose();
  });

  it('have no limit of length where Python has none', async () => {
    const embed = await load(folder('sentence'));
    const words = 'the old boat '.repeat(20_000);
    const once = await embed('the old boat', { normalize: true });
    const often = await embed(words, { normalize: true });
    expect(often.truncated[0]).toBe(false);
    // The sum of n numbers of at most m is off by n * m * 2^-24 * n / 2 at most, so the mean of 60,000 by 60,000 * 5 * 2^-25.
    expectNear(often.data as Float32Array, once.data as Float32Array, 60_000 * 5 * 2 ** -25);
    for (const pooling of ['max', 'last_token', 'first_token', 'weightedmean', 'none'] as const) {
      const out = await embed(words.slice(0, 13 * 700), { pooling, normalize: false });
      expect(out.dims.at(-1)).toBe(24);
    }
    await embed.dispose();
  });

  it('give the vectors of parts of a long text in any pooling', async () => {
    const embed = await load(folder('sentence'));
    const text = 'the old boat home river '.repeat(300);
    const rows = await embed(text, { pooling: 'none' });
    const tokens = rows.tokens[0] as number;
    const data = rows.data as Float32Array;
    expect(tokens).toBe(1500);
    const last = await embed(text, { pooling: 'last_token', normalize: false });
    expect([...(last.data as Float32Array)]).toEqual([...data.subarray((tokens - 1) * 24)]);
    const most = await embed(text, { pooling: 'max', normalize: false });
    const expected = Float32Array.from({ length: 24 }, (_, j) =>
      Array.from({ length: tokens }, (__, i) => data[i * 24 + j] as number).reduce((a, b) => Math.max(a, b)),
    );
    expect([...(most.data as Float32Array)]).toEqual([...expected]);
    await embed.dispose();
  });

  it('load from a hub, in a worker and from a packed file', async () => {
    const { vectors, f32_diff } = (models['sentence-folder'] as { vectors: number[]; f32_diff: number }[])[0] as never;
    const hub = await serveHub(filesOf(folder('sentence-folder')), '/model/');
    const far = await load(`${hub.url}/model/`, { worker: true });
    expectNear((await far(texts)).data as Float32Array, vectors, f32_diff);
    await far.dispose();
    await hub.close();
    for (const name of ['model2vec-quantized', 'model2vec-int8', 'sentence-dense']) {
      const packed = await load(new Map([['model.gguf', await packModel(folder(name), { dtype: 'f32' })]]));
      const of = (models[name] as { vectors: number[]; f32_diff: number }[])[0] as { vectors: number[]; f32_diff: number };
      expectNear((await packed(texts)).data as Float32Array, of.vectors, of.f32_diff);
      await packed.dispose();
    }
  });

  it('follow config.json where it and modules.json differ on normalisation', async () => {
    const config = JSON.parse(new TextDecoder().decode(filesOf(folder('model2vec-float32')).get('config.json')));
    for (const normalize of [false, undefined]) {
      const embed = await load(changed('model2vec-float32', { 'config.json': json({ ...config, normalize }) }));
      expect(embed.info().normalize).toBe(false);
      await embed.dispose();
    }
    const embed = await load(
      changed('model2vec-float32', { 'modules.json': null, 'config.json': json({ ...config, max_length: null }) }),
    );
    expect(embed.info().normalize).toBe(true);
    expect(embed.info().max_length).toBeGreaterThan(1e9);
    await embed.dispose();
  });

  it.each<[string, string, Record<string, Uint8Array | null>, RegExp]>([
    [
      'a mapping out of range',
      'model2vec-quantized',
      { 'model.safetensors': tensorFile({ embeddings: f32([3, 4]), mapping: i32([0, 3, 1]) }) },
      /tensor 'mapping': expected whole numbers from 0 to 2, found 3/,
    ],
    [
      'a negative mapping',
      'model2vec-quantized',
      { 'model.safetensors': tensorFile({ embeddings: f32([3, 4]), mapping: i32([0, -1]) }) },
      /expected whole numbers from 0 to 2, found -1/,
    ],
    [
      'NaN',
      'model2vec-float32',
      { 'model.safetensors': tensorFile({ embeddings: f32([3, 4], NaN) }) },
      /tensor 'embeddings': expected finite numbers, found NaN/,
    ],
    [
      'NaN weights',
      'model2vec-float32',
      { 'model.safetensors': tensorFile({ embeddings: f32([3, 4]), weights: f32([3], NaN) }) },
      /tensor 'weights': expected finite numbers, found NaN/,
    ],
    [
      'weights of another length',
      'model2vec-float32',
      { 'model.safetensors': tensorFile({ embeddings: f32([3, 4]), weights: f32([2]) }) },
      /tensor 'weights': expected shape \[3\], found \[2\]/,
    ],
    [
      'zero rows',
      'model2vec-float32',
      { 'model.safetensors': tensorFile({ embeddings: { dtype: 'F32', shape: [0, 4], bytes: new Uint8Array() } }) },
      /tensor 'embeddings': expected a shape \[tokens, components\], found \[0, 4\]/,
    ],
    [
      'one dimension',
      'sentence',
      { 'model.safetensors': tensorFile({ 'embedding.weight': f32([6]) }) },
      /tensor 'embedding.weight': expected a shape \[tokens, components\], found \[6\]/,
    ],
    [
      'no table',
      'sentence',
      { 'model.safetensors': tensorFile({ other: f32([2, 2]) }) },
      /expected a tensor 'embeddings' or 'embedding.weight', found 'other'/,
    ],
    [
      'another tensor',
      'sentence',
      { 'model.safetensors': tensorFile({ 'embedding.weight': f32([2, 2]), other: f32([2, 2]) }) },
      /tensor 'other' \[2, 2\]: this architecture has no such tensor/,
    ],
    [
      'a cut-off file',
      'sentence',
      { 'model.safetensors': filesOf(folder('sentence')).get('model.safetensors')!.subarray(0, 900) },
      /cut off/,
    ],
    [
      'a header that is none',
      'sentence',
      { 'model.safetensors': new TextEncoder().encode('<html>not found</html>') },
      /HTML|header length/,
    ],
    [
      'a module outside',
      'sentence-folder',
      { 'modules.json': json([{ type: 'x.StaticEmbedding', path: '../up' }]) },
      /expected a path inside the model, found '..\/up'/,
    ],
    [
      'a wrong Dense',
      'sentence-dense',
      { '1_Dense/config.json': json({ in_features: 7, out_features: 3, bias: true }) },
      /in_features: expected the pooled vector's 24, found 7/,
    ],
    ['no tokenizer', 'sentence', { 'tokenizer.json': null }, /tokenizer.json: expected this file/],
    [
      'neither config.json nor modules.json',
      'sentence',
      { 'modules.json': null, 'config_sentence_transformers.json': null },
      /config.json: expected this file/,
    ],
  ])('refuse %s', async (_, name, over, message) => {
    await expectError(load(changed(name, over)), 'ModelFormatError', message);
  });

  it('give zeros where the vocabulary is empty', async () => {
    const tokenizer = { version: '1.0', model: { type: 'WordLevel', vocab: {}, unk_token: '[UNK]' } };
    const embed = await load(changed('sentence', { 'tokenizer.json': json(tokenizer) }));
    expect([...((await embed('')).data as Float32Array)]).toEqual(Array(24).fill(0));
    await expectError(embed('the boat'), 'InputError', /vocabulary/);
    await embed.dispose();
  });

  it('refuse a token without a row when a text has it', async () => {
    const embed = await load(changed('sentence', { 'model.safetensors': tensorFile({ 'embedding.weight': f32([3, 4]) }) }));
    await expectError(embed('the boat'), 'InputError', /input_ids: expected numbers from 0 to 2/);
    await embed.dispose();
  });

  const fixture = join(goldens, '../../../shared/data/weights/model2vec-fixture');
  const there = existsSync(fixture) ? it : it.skip; // model2vec's own test models are not in this repository
  there('equal the vectors that model2vec tests itself with', async () => {
    const recorded = (name: string) => JSON.parse(readFileSync(join(fixture, `embeddings_${name}.json`), 'utf8'))[0] as number[];
    const long = Array(1000).fill('hello').join(' ');
    // Where the folder has no numbers they are model2vec 0.10.0's, as printed. Its f16 model computes in f16.
    for (const [name, text, expected, bound] of [
      ['float32', 'hello world', recorded('short'), 1e-6],
      ['float32', long, recorded('long'), 1e-6],
      ['sentence-transformers', 'hello world', recorded('short'), 1e-6],
      ['float16', 'hello world', recorded('short'), 2 ** -10],
      ['int8', 'hello world', [-0.388057, -0.9216354], 1e-6],
      ['vocab-quantized', 'hello world', [-0.00060175, -0.3296836, 0.31183153], 1e-6],
    ] as const) {
      const embed = await load(join(fixture, `test-model-${name}`));
      const data = (await embed(text)).data as Float32Array;
      expected.forEach((value, i) => expect(Math.abs(value - (data[i] as number))).toBeLessThan(bound));
      await embed.dispose();
    }
  });
});
