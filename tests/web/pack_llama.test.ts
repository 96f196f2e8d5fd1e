// llama.cpp's layout in packed files: names by gguf-py's tables (tests/goldens/gguf/layouts.json), keys, block types; and that wattn reads such a file by
// them alone, as it reads those of llama.cpp's converter. `node tools/check_llama.mjs` asks llama.cpp itself.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModel, AutoTokenizer, packModel, packTo, pipeline, type PackOptions, type PackReport } from 'wattn';
import { changed, floats, writeTensors, readTensors } from './safetensors.js';
import { expectError, filesOf, goldens, tiny, type Files } from './support.js';

const kLayouts: Record<string, { architecture: string; tensors: Record<string, string> }> = JSON.parse(
  readFileSync(join(goldens, 'gguf/layouts.json'), 'utf8'),
);
const named = (bytes: Uint8Array) => ({ 'model.gguf': bytes });
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const parsed = (bytes: Uint8Array | undefined) => JSON.parse(Buffer.from(bytes ?? []).toString());
const edited = (files: Files, name: string, change: (value: any) => any): Files =>
  new Map([...files, [name, json(change(parsed(files.get(name))))]]);

/** The metadata and the tensors of a file. */
function readGguf(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = 8;
  const number = (size: 1 | 4 | 8): number => {
    at += size;
    if (size === 1) return view.getUint8(at - 1);
    return size === 4 ? view.getUint32(at - 4, true) : Number(view.getBigUint64(at - 8, true));
  };
  const text = (): string => {
    const size = number(8);
    at += size;
    return Buffer.from(bytes.subarray(at - size, at)).toString();
  };
  const value = (type: number): unknown => {
    if (type === 8) return text();
    if (type === 9) {
      const [of, count] = [number(4), number(8)];
      return Array.from({ length: count }, () => value(of));
    }
    if (type === 7) return number(1) === 1;
    if (type === 0) return number(1);
    if (type === 6) return view.getFloat32((at += 4) - 4, true);
    if (type === 5) return view.getInt32((at += 4) - 4, true);
    return number(4);
  };
  const [tensors, keys] = [number(8), number(8)];
  const metadata = new Map<string, any>();
  for (let i = 0; i < keys; ++i) metadata.set(text(), value(number(4)));
  const list = new Map<string, { shape: number[]; type: number }>();
  for (let i = 0; i < tensors; ++i) {
    const name = text();
    const shape = Array.from({ length: number(4) }, () => number(8)).reverse();
    list.set(name, { shape, type: number(4) });
    number(8);
  }
  return { metadata, tensors: list };
}

/** As llama.cpp's converter writes it: without the files that wattn reads first. */
function withoutFiles(bytes: Uint8Array): Uint8Array {
  const out = Buffer.from(bytes);
  out.write('other', out.indexOf('wattn.files'));
  return new Uint8Array(out);
}

/** A config.json of Qwen2 means its tokenizer, whatever class is named. */
function withByteLevel(files: Files): Files {
  const pieces = ['<|endoftext|>', ...'abcdefgh', 'Ġ', 'ab', 'abc', 'fe', 'fed'];
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const merges = ['a b', 'ab c', 'f e', 'fe d'];
  const vocab = Object.fromEntries(pieces.map((piece, id) => [piece, id]));
  const tokenizer = {
    added_tokens: [{ id: 0, content: '<|endoftext|>', ...flags, special: true }],
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true },
    model: { type: 'BPE', vocab, merges },
  };
  return new Map([...files, ['tokenizer.json', json(tokenizer)], ['tokenizer_config.json', json({})]]);
}

/** A golden's files, with a tokenizer that llama.cpp knows, and mean pooling if it is an encoder without a head. */
function filesFor(folder: string, isSentence = true): Files {
  let files: Files = new Map(filesOf(join(goldens, folder)));
  for (const name of [...files.keys()])
    if (/\.gguf$|expected/.test(name) || (isSentence && name.includes('Dense'))) files.delete(name);
  if (files.has('modules.json'))
    files.set('modules.json', json(parsed(files.get('modules.json')).filter(({ type }: { type: string }) => !/Dense$/.test(type))));
  else if (isSentence && !/decoders|seq2seq/.test(folder))
    for (const name of ['modules.json', '1_Pooling/config.json']) files.set(name, filesOf(tiny).get(name) as Uint8Array);
  // What llama.cpp does not know.
  if (/t5/.test(folder)) files = edited(files, 'config.json', (config) => ({ ...config, relative_attention_max_distance: 128 }));
  if (/qwen2$/.test(folder)) files = edited(files, 'config.json', (config) => ({ ...config, use_sliding_window: false }));
  if (/gemma[23]$/.test(folder))
    files = edited(files, 'config.json', (config) => ({ ...config, query_pre_attn_scalar: config.head_dim }));
  if (/t5/.test(folder)) return files;
  const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  if (/qwen2$/.test(folder)) return withByteLevel(files);
  const vocab = Object.fromEntries([...special, ...'abcdefgh', '##a', '##b', 'abc', 'fed'].map((piece, id) => [piece, id]));
  files.set(
    'tokenizer.json',
    json({
      added_tokens: special.map((content, id) => ({ id, content, ...flags, special: true })),
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] },
      model: { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100, vocab },
    }),
  );
  files.set('tokenizer_config.json', json({ tokenizer_class: 'TokenizersBackend' })); // other classes allow one kind of tokenizer
  return files;
}

/** A model of rows that are whole blocks: each width four times as large, with other weights. */
function widened(folder: string): Files {
  const files = filesFor(folder);
  const wide = (size: number) => (size >= 24 && size !== 60 ? 4 * size : size);
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
  const tensors = [...readTensors(files.get('model.safetensors') as Uint8Array)].map(([name, { shape }]): [string, any] => {
    const wider = shape.map(wide);
    const isNorm = /(norm|ln|norm\d|LayerNorm)\.weight$/i.test(name);
    return [name, floats(wider, () => (isNorm ? 1 + 0.2 * random() : random() * (wider.length > 1 ? 0.5 : 0.2)))];
  });
  const config = edited(files, 'config.json', (config) => ({
    ...config,
    ...Object.fromEntries(
      Object.entries(config).flatMap(([key, value]) =>
        /^(hidden_size|intermediate_size|max_position_embeddings|head_dim|dim|hidden_dim|n_embd|n_inner|n_positions)$/.test(key)
          ? [[key, 4 * (value as number)]]
          : [],
      ),
    ),
  }));
  return new Map([...config, ['model.safetensors', writeTensors(new Map(tensors))]]);
}

async function pack(files: Files, options: PackOptions): Promise<{ bytes: Uint8Array; report: PackReport }> {
  const parts: Uint8Array[] = [];
  const report = await packTo(files, (chunk) => void parts.push(chunk.slice()), options);
  return { bytes: new Uint8Array(Buffer.concat(parts)), report };
}

const kIds = [5, 9, 7, 3, 12, 8, 11, 10, 6, 4, 5, 5, 13, 2];
async function states(from: Parameters<typeof AutoModel.from_pretrained>[0]): Promise<number[]> {
  const model = await AutoModel.from_pretrained(from);
  const out = await model({ input_ids: [kIds] });
  const values = [...out.last_hidden_state.data];
  await model.dispose();
  return values;
}

/** Its norms' epsilon and rotary base are float32 in the file, so that bits agree. */
describe.each(Object.entries(kLayouts))('%s', (folder, { architecture, tensors }) => {
  it("has llama.cpp's names, and wattn reads it by them alone", async () => {
    const files = filesFor(folder);
    const { bytes, report } = await pack(files, { dtype: 'f32' });
    expect(report).toMatchObject({ llama_cpp: architecture });
    const { metadata, tensors: written } = readGguf(bytes);
    const pooler = [...written.keys()].filter((name) => name.startsWith('cls.'));
    const expected = Object.entries(tensors);
    expect([...written.keys()].filter((name) => !pooler.includes(name)).sort()).toEqual(expected.map(([, name]) => name).sort());
    expect(metadata.get('general.architecture')).toBe(architecture);
    expect(metadata.get('general.file_type')).toBe(0);
    for (const key of ['block_count', 'context_length', 'embedding_length', 'feed_forward_length', 'attention.head_count'])
      expect(metadata.get(`${architecture}.${key}`)).toBeGreaterThan(0);
    const rows = written.get('token_embd.weight')?.shape[0];
    for (const key of ['tokens', 'token_type']) expect(metadata.get(`tokenizer.ggml.${key}`)).toHaveLength(rows as number);
    const own = await states(files);
    expect(await states(named(bytes))).toEqual(own);
    expect(await states(named(withoutFiles(bytes)))).toEqual(own);
  });
});

describe.each(['nomic-bert', 'nomic-bert-first', 'jina-bert', 'modernbert', 'distilbert', 'roberta'])('%s, wider', (name) => {
  const files = widened(`architectures/${name}`);

  it.each([
    ['q8', 8, 7],
    ['q4', 2, 2],
    ['f16', 1, 1],
    ['mixed', 2, 2],
  ] as const)('has the same numbers by either names as %s', async (dtype, type, fileType) => {
    const { bytes, report } = await pack(files, { dtype });
    const { metadata, tensors } = readGguf(bytes);
    expect(metadata.get('general.file_type')).toBe(fileType); // llama_ftype of llama.h
    const list = [...tensors];
    expect(report.llama_cpp).not.toBeNull();
    expect(tensors.get('token_embd.weight')?.type).toBe(type);
    for (const [name, { shape, type: found }] of list)
      if (shape.length === 1 || /token_types/.test(name)) expect([name, found]).toEqual([name, 0]);
    if (dtype === 'mixed') expect(new Set(list.map(([, tensor]) => tensor.type))).toEqual(new Set([0, 2, 8]));
    const [own, whole] = [await states(named(bytes)), await states(files)];
    expect(await states(named(withoutFiles(bytes)))).toEqual(own);
    const dot = (a: number[], b: number[]) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
    // Weights off by 1/14 of their block's largest at 4 bits, 1/254 at 8.
    const least = dtype === 'q8' || dtype === 'f16' ? 0.999 : 0.9;
    expect(dot(own, whole) / Math.sqrt(dot(own, own) * dot(whole, whole))).toBeGreaterThan(least);
  });

  it('keeps agreeing with fewer pieces and layers', async () => {
    const { bytes, report } = await pack(files, { dtype: 'q8', vocab: 14, corpus: ['a ab abb h g'], layers: [0] });
    expect(report).toMatchObject({ vocab: 14, layers: 1 });
    const { metadata, tensors } = readGguf(bytes);
    expect(tensors.get('token_embd.weight')?.shape[0]).toBe(14);
    expect(metadata.get('tokenizer.ggml.tokens')).toHaveLength(14);
    expect(metadata.get(`${report.llama_cpp}.block_count`)).toBe(1);
    const run = async (model: Uint8Array) => {
      const embed = await pipeline('feature-extraction', named(model));
      const out = await embed(['a ab', 'h g abb'], { normalize: true });
      await embed.dispose();
      return [...out.data];
    };
    const [a, b] = [await run(bytes), await run(withoutFiles(bytes))];
    b.forEach((value, i) => expect(value).toBeCloseTo(a[i] as number, 5));
  });
});

describe("llama.cpp's keys", () => {
  const keysOf = async (folder: string, change: (config: any) => any = (config) => config, options: PackOptions = {}) =>
    readGguf((await pack(edited(filesFor(folder), 'config.json', change), { dtype: 'f32', ...options })).bytes).metadata;

  it('say which layers see a window, by a period or one by one', async () => {
    const regular = await keysOf('architectures/modernbert');
    expect(regular.get('modern-bert.attention.sliding_window_pattern')).toBe(3);
    expect(regular.get('modern-bert.attention.sliding_window')).toBe(10);
    expect(regular.get('modern-bert.rope.freq_base')).toBe(160000);
    const layer_types = ['sliding_attention', 'full_attention', 'full_attention'];
    const files = edited(filesFor('architectures/modernbert'), 'config.json', (config) => ({ ...config, layer_types }));
    const { bytes } = await pack(files, { dtype: 'f32' });
    expect(readGguf(bytes).metadata.get('modern-bert.attention.sliding_window_pattern')).toEqual([true, false, false]);
    expect(await states(named(bytes))).toEqual(await states(files));
    await expectError(
      states(named(withoutFiles(bytes))),
      'UnsupportedError',
      /sliding_window_pattern: expected a number for all layers/,
    );
    const gemma = await keysOf('embedders/embeddinggemma/model');
    expect(gemma.get('gemma-embedding.attention.sliding_window_pattern')).toBe(2);
    expect(gemma.get('gemma-embedding.attention.causal')).toBe(false);
  });

  it('limit NomicBERT to what it was trained for, as the converter does', async () => {
    const long = (config: any) => ({ ...config, n_positions: 8192, max_trained_positions: 2048 });
    expect((await keysOf('architectures/nomic-bert-first', long)).get('nomic-bert.context_length')).toBe(2048);
    expect((await keysOf('architectures/nomic-bert-first')).get('nomic-bert.context_length')).toBe(40);
  });

  it("have Unigram's pieces, scores, kinds and table of characters", async () => {
    const keys = await keysOf('embedders/sentence-t5/model');
    const tokenizer = parsed(filesFor('embedders/sentence-t5/model').get('tokenizer.json'));
    const vocab: [string, number][] = tokenizer.model.vocab;
    expect(keys.get('tokenizer.ggml.model')).toBe('t5');
    expect(keys.get('tokenizer.ggml.tokens').slice(0, vocab.length)).toEqual(vocab.map(([piece]) => piece));
    expect(keys.get('tokenizer.ggml.scores')[5]).toBeCloseTo((vocab[5] as [string, number])[1], 4);
    expect(keys.get('tokenizer.ggml.token_type')[tokenizer.model.unk_id]).toBe(2);
    const map = JSON.stringify(tokenizer.normalizer).match(/"precompiled_charsmap":"([^"]*)"/)?.[1];
    if (map) expect(Buffer.from(keys.get('tokenizer.ggml.precompiled_charsmap')).toString('base64')).toBe(map);
    expect(keys.get('t5encoder.attention.relative_buckets_count')).toBeGreaterThan(0);
    expect(keys.has('t5encoder.decoder_block_count')).toBe(false);
  });

  it('have tokens that wattn reads as the original tokenizer does', async () => {
    for (const folder of ['embedders/sentence-t5/model', 'architectures/jina-bert']) {
      const files = filesFor(folder);
      const { bytes } = await pack(files, { dtype: 'f32' });
      const [a, b] = await Promise.all([
        AutoTokenizer.from_pretrained(files),
        AutoTokenizer.from_pretrained(named(withoutFiles(bytes))),
      ]);
      for (const text of ['ab ba h', 'the bridge  of  sighs', 'Ää é']) expect(b.encode(text)).toEqual(a.encode(text));
    }
  });
});

describe('the pooler of a sentence encoder', () => {
  it('stays where llama.cpp has a name for it, unless the model shall be smaller', async () => {
    const poolerOf = async (from: Parameters<typeof AutoModel.from_pretrained>[0]) => {
      const model = await AutoModel.from_pretrained(from);
      const out = await model({ input_ids: [[1, 5, 2]] });
      await model.dispose();
      return out['pooler_output'] && [...out['pooler_output'].data];
    };
    const { bytes, report } = await pack(filesOf(tiny), { dtype: 'f32' });
    expect(report.llama_cpp).toBe('bert');
    expect(readGguf(bytes).tensors.get('cls.weight')?.shape).toEqual([32, 32]);
    expect(await poolerOf(named(bytes))).toEqual(await poolerOf(tiny));
    const smaller = await packModel(tiny, { dtype: 'f32', layers: [0] });
    expect(readGguf(smaller).tensors.has('cls.weight')).toBe(false);
  });
});

describe('what llama.cpp computes otherwise', () => {
  const reasonOf = async (folder: string, change: (config: any) => any) =>
    (await pack(edited(filesFor(folder), 'config.json', change), { dtype: 'f32' })).report;

  it.each([
    ['architectures/jina-bert', { feed_forward_type: 'reglu' }, "its feed-forward is 'reglu'"],
    ['architectures/roberta', { hidden_act: 'relu' }, "its activation is 'relu'"],
    ['architectures/distilbert', { activation: 'relu' }, "its activation is 'relu'"],
    ['architectures/modernbert', { hidden_activation: 'relu' }, "its activation is 'relu'"],
    ['architectures/nomic-bert', { hidden_act: 'gelu' }, "its activation is 'gelu'"],
    ['embedders/sentence-t5/model', { feed_forward_proj: 'gated-silu' }, "its activation is 'gated-silu'"],
    ['embedders/sentence-t5/model', { relative_attention_max_distance: 64 }, 'the maximum distance of its positions is not 128'],
    ['decoders/gemma3', { query_pre_attn_scalar: 7 }, 'its scores are not divided by the square root of head_dim'],
    ['decoders/qwen3', { use_bidirectional_attention: true }, 'it reads in both directions'],
  ])('%s with %j is for wattn alone, and the reason is named', async (folder, change, why_not) => {
    const report = await reasonOf(folder, (config) => ({ ...config, ...change }));
    expect(report).toMatchObject({ llama_cpp: null, why_not });
  });

  it('is a bias without a name there', async () => {
    const files = filesFor('architectures/modernbert');
    const weights = changed(files.get('model.safetensors') as Uint8Array, (tensors) => {
      for (let i = 0; i < 3; ++i)
        tensors.set(
          `layers.${i}.attn.Wo.bias`,
          floats([24], () => 0.1),
        );
    });
    const biased = await pack(new Map([...files, ['model.safetensors', weights]]), { dtype: 'f32' });
    expect(biased.report).toMatchObject({ llama_cpp: null, why_not: "llama.cpp has no tensor like 'layers.0.attn.Wo.bias'" });
  });
});

describe('Dense modules', () => {
  const folder = 'embedders/embeddinggemma/model';
  const gemma: Files = new Map([...filesOf(join(goldens, folder)), ['tokenizer.json', filesFor(folder).get('tokenizer.json')!]]);
  const vectors = async (model: any) => {
    const embed = await pipeline('feature-extraction', model, { dtype: 'f32' });
    const out = (await embed(['the old boat', 'small birds sing'])).tolist();
    await embed.dispose();
    return out;
  };
  const sizes = (from: number, to: number) => (config: any) => ({ ...config, in_features: from, out_features: to });

  it("of EmbeddingGemma have llama.cpp's names and sizes, and wattn reads them by those alone", async () => {
    for (const dim of [undefined, 16]) {
      const { bytes, report } = await pack(gemma, { dtype: 'f32', ...(dim !== undefined && { dim }) });
      expect(report).toMatchObject({ llama_cpp: 'gemma-embedding' });
      const { metadata, tensors } = readGguf(bytes);
      const keys = ['dense_2_feat_in', 'dense_2_feat_out', 'dense_3_feat_in', 'dense_3_feat_out'];
      expect(keys.map((key) => metadata.get(`gemma-embedding.${key}`))).toEqual([32, 48, 48, 32]);
      expect(tensors.get('dense_2.weight')?.shape).toEqual([48, 32]);
      expect(tensors.get('dense_3.weight')?.shape).toEqual([32, 48]);
      const own = await vectors(gemma);
      expect(await vectors(named(withoutFiles(bytes)))).toEqual(own);
      if (dim === undefined) expect(await vectors(named(bytes))).toEqual(own);
      else expect((await vectors(named(bytes)))[0]).toHaveLength(dim);
    }
  });

  const kDense = '3_Dense/config.json';
  it.each([
    [
      kDense,
      (config: any) => ({ ...config, activation_function: 'torch.nn.modules.activation.Tanh' }),
      'the activation of its Dense module is',
    ],
    [kDense, (config: any) => ({ ...config, use_residual: true }), 'its Dense module has a residual connection'],
    [kDense, sizes(48, 24), 'its Dense modules give 24 numbers instead of 32'],
    [
      'modules.json',
      (list: any[]) => [list[0], list[1], list[4], list[2], list[3]],
      'its Dense modules do not follow the pooling directly',
    ],
    [
      'modules.json',
      (list: any[]) => [list[0], list[1], list[3], list[4]],
      "the folder of its Dense module is '3_Dense' instead of '2_Dense'",
    ],
  ])('that llama.cpp computes otherwise are for wattn alone: %s %#', async (file, change, reason) => {
    const { report } = await pack(edited(gemma, file, change), { dtype: 'f32' });
    expect(report).toMatchObject({ llama_cpp: null, why_not: expect.stringContaining(reason) });
  });

  it('with a bias, and of other models, are for wattn alone', async () => {
    const weights = changed(gemma.get('3_Dense/model.safetensors') as Uint8Array, (tensors) => {
      tensors.set('linear.bias', floats([32], () => 0.1));
    }); // prettier-ignore
    const biased = edited(gemma, kDense, (config) => ({ ...config, bias: true })).set('3_Dense/model.safetensors', weights);
    const { report } = await pack(biased, { dtype: 'f32' });
    expect(report).toMatchObject({ llama_cpp: null, why_not: "llama.cpp has no tensor like '3_Dense/linear.bias'" });
    const other = await pack(new Map(filesOf(join(goldens, 'embedders/sentence-t5/model'))), { dtype: 'f32' });
    expect(other.report.llama_cpp).toBe(null);
  });
});

describe('layers of T5', () => {
  it('are cut from an encoder alone, not from both stacks', async () => {
    const files = filesFor('embedders/sentence-t5/model');
    const { bytes, report } = await pack(files, { dtype: 'f32', layers: [0] });
    expect(report).toMatchObject({ layers: 1, llama_cpp: 't5encoder' });
    expect(readGguf(bytes).metadata.get('t5encoder.block_count')).toBe(1);
    expect(await states(named(withoutFiles(bytes)))).toEqual(await states(named(bytes)));
    await expectError(pack(filesFor('seq2seq/t5'), { layers: [0] }), 'UnsupportedError', /expected a model with one stack/);
  });
});

describe('a damaged file of each layout', () => {
  it.each([
    'architectures/jina-bert',
    'architectures/distilbert',
    'eurobert/base',
    'embedders/embeddinggemma/model',
    'embedders/sentence-t5/model',
  ])('%s loads or is refused by name', async (folder) => {
    const bytes = withoutFiles((await pack(filesFor(folder), { dtype: 'f32' })).bytes);
    const keys = Buffer.from(bytes).indexOf('tokenizer.ggml.model');
    let seed = 11;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    for (let i = 0; i < 60; ++i) {
      const copy = bytes.slice(0, i % 4 === 0 ? random(bytes.length) : bytes.length);
      const at = 24 + random(Math.min(copy.length, keys) - 24 > 0 ? Math.min(copy.length, keys) - 24 : 1);
      if (at < copy.length) copy[at] = random(256);
      try {
        const model = await AutoModel.from_pretrained(named(copy));
        await model.dispose();
      } catch (error) {
        expect((error as Error).name).toMatch(/^(ModelFormat|Unsupported|OutOfMemory|Input)Error$/);
      }
    }
  });
});
