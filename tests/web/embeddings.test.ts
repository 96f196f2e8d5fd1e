import {
  Tensor,
  attention_rollout,
  describeModel,
  packModel,
  pipeline,
  quantize_embeddings,
  to_bertviz,
  type FeatureExtractionPipeline,
} from 'wattn';
import { expectError, expectNear, filesOf, goldens, readJson, tinyFiles } from './support.js';

const expected = readJson('sentence/expected.json');
const exact = (rows: number[][]) => Float32Array.from(rows.flat());
const sentenceFiles = () => new Map([...tinyFiles(), ...filesOf(`${goldens}/sentence/model`)]);

let embed: FeatureExtractionPipeline;
beforeAll(async () => {
  embed = await pipeline('feature-extraction', sentenceFiles());
});
afterAll(() => embed.dispose());

describe('a model with a Dense module', () => {
  it('gives vectors, truncated vectors and prompted ones as sentence-transformers does', async () => {
    for (const { how, options, f32_diff, vectors } of expected.cases) {
      const { normalize_embeddings, ...rest } = options;
      const ours = { ...rest, ...(normalize_embeddings && { normalize: true }) };
      const call = how === 'encode' ? embed : embed[how as 'encode_query'];
      const out = await call(expected.texts, ours);
      expect(out.dims).toEqual([expected.texts.length, vectors[0].length]);
      expectNear(out.data, exact(vectors), f32_diff);
    }
  });

  // SentenceTransformer(.., truncate_dim=n) writes it, and is the option of a call by default.
  it("truncates by its files after its own Normalize, as by an option, so that vectors are shorter than 1 unless they're normalized", async () => {
    const cut = expected.cases.filter(({ how, options }: any) => how === 'encode' && options.truncate_dim);
    for (const { options, f32_diff, vectors } of cut) {
      const files = (more: object) => {
        const settings = { ...readJson('sentence/model/config_sentence_transformers.json'), ...more };
        return sentenceFiles().set('config_sentence_transformers.json', new TextEncoder().encode(JSON.stringify(settings)));
      };
      const { truncate_dim, normalize_embeddings } = options;
      const [own, whole] = await Promise.all([{ truncate_dim }, {}].map((more) => pipeline('feature-extraction', files(more))));
      const given = normalize_embeddings ? { normalize: true } : {};
      const out = await own?.(expected.texts, given);
      expectNear(out?.data as Float32Array, exact(vectors), f32_diff);
      expect(out).toEqual(await whole?.(expected.texts, { ...given, truncate_dim }));
      const length = Math.hypot(...(out?.data.slice(0, truncate_dim) ?? []));
      if (normalize_embeddings) expect(length).toBeCloseTo(1, 6);
      else expect(length).toBeLessThan(0.99);
      await Promise.all([own, whole].map((one) => one?.dispose()));
    }
  });

  // docs/retrieval.md has the list of what sentence-transformers 6 saves.
  it.each([
    'Router',
    'Asym',
    'BoW',
    'WordEmbeddings',
    'WordWeights',
    'CNN',
    'LSTM',
    'WeightedLayerPooling',
    'CLIPModel',
    'SpladePooling',
    'SparseAutoEncoder',
    'SparseStaticEmbedding',
    'MultiVectorMask',
    'TokenPooling',
    'LogitScore',
  ])('is refused by name where vectors of texts have no such module: %s', async (type) => {
    const modules: { type: string; path: string }[] = readJson('sentence/model/modules.json');
    const other = { type: `sentence_transformers.modules.${type}`, path: `9_${type}` };
    const lists = [[other], [...modules.slice(0, 1), other, ...modules.slice(1)], [...modules, other]];
    for (const list of lists) {
      const files = sentenceFiles().set('modules.json', new TextEncoder().encode(JSON.stringify(list)));
      files.set(`9_${type}/config.json`, new TextEncoder().encode('{}'));
      await expectError(
        pipeline('feature-extraction', files),
        'UnsupportedError',
        new RegExp(`modules.json.*type: expected .*found .*${type}`),
      );
    }
  });

  it('is refused by name when its files do not fit', async () => {
    const over = (name: string, content: unknown) =>
      pipeline('feature-extraction', new Map([...sentenceFiles(), [name, new TextEncoder().encode(JSON.stringify(content))]]));
    const config = readJson('sentence/model/2_Dense/config.json');
    const name = '2_Dense/config.json';
    await expectError(over(name, { ...config, activation_function: 'torch.nn.PReLU' }), 'UnsupportedError', /activation_function/);
    await expectError(
      over(name, { ...config, in_features: 31 }),
      'ModelFormatError',
      /in_features: expected the pooled vector's 32/,
    );
    await expectError(over(name, { ...config, out_features: 12 }), 'ModelFormatError', /2_Dense|linear.weight/);
    await expectError(over(name, { ...config, use_residual: true }), 'ModelFormatError', /2_Dense\/residual.weight/);
    const files = sentenceFiles();
    files.delete('2_Dense/model.safetensors');
    await expectError(pipeline('feature-extraction', files), 'ModelFormatError', /2_Dense\/model.safetensors/);
  });

  it('refuses a truncation beyond the vector and a pooling that does not fit the Dense', async () => {
    await expectError(embed('a', { truncate_dim: 14 }), 'InputError', /truncate_dim: expected a whole number from 1 to 13/);
    await expectError(embed('a', { pooling: ['cls', 'mean'] }), 'InputError', /Dense/);
  });
});

describe('modules behind the pooling', () => {
  const filesOfCase = (name: string) => new Map([...tinyFiles(), ...filesOf(`${goldens}/sentence/modules/${name}`)]);
  const inFolder = (files: ReadonlyMap<string, Uint8Array>): Map<string, Uint8Array> => {
    const modules = JSON.parse(new TextDecoder().decode(files.get('modules.json')));
    modules[0].path = '0_Transformer';
    const moved = [...files].map(([name, bytes]): [string, Uint8Array] => [
      name.includes('/') ? name : `0_Transformer/${name}`,
      bytes,
    ]);
    return new Map([...moved, ['modules.json', new TextEncoder().encode(JSON.stringify(modules))]]);
  };

  it('are run in their order, as sentence-transformers does, from the root, a folder and a GGUF file', async () => {
    for (const name of readJson('sentence/modules/cases.json')) {
      const { f32_diff, vectors } = readJson(`sentence/modules/${name}/expected.json`);
      const files = filesOfCase(name);
      const packed = new Map([['model.gguf', await packModel(inFolder(files), { dtype: 'f32' })]]);
      for (const model of [files, inFolder(files), packed]) {
        const extract = await pipeline('feature-extraction', model);
        expectNear((await extract(expected.texts)).data, exact(vectors), f32_diff);
        await extract.dispose();
      }
    }
  });

  it('leave a Transformer in a folder describable, and name what is missing there', async () => {
    const files = inFolder(filesOfCase('layer-norm'));
    expect((await describeModel(files)).model_type).toBe('bert');
    files.delete('0_Transformer/config.json');
    await expectError(pipeline('feature-extraction', files), 'ModelFormatError', /config.json/);
  });

  it('that are not computed are refused by name', async () => {
    const modules = readJson('sentence/modules/layer-norm/modules.json');
    for (const type of ['WeightedLayerPooling', 'CNN', 'LSTM', 'BoW', 'WordEmbeddings']) {
      for (const at of [1, 2]) {
        const changed = modules.map((module: object, i: number) =>
          i === at ? { ...module, type: `sentence_transformers.models.${type}` } : module,
        );
        const files = filesOfCase('layer-norm').set('modules.json', new TextEncoder().encode(JSON.stringify(changed)));
        await expectError(pipeline('feature-extraction', files), 'UnsupportedError', new RegExp(`modules.json.*found .*${type}`));
      }
    }
  });
});

describe('quantize_embeddings', () => {
  const vectors = new Tensor('float32', exact(expected.cases[0].vectors), [4, 13]);

  it("gives Python's values", async () => {
    for (const { precision, values, with_ranges } of expected.quantized) {
      expect(quantize_embeddings(vectors, precision).tolist()).toEqual(values);
      expect(quantize_embeddings(vectors, precision, { ranges: expected.ranges }).tolist()).toEqual(with_ranges);
    }
    expect((await embed(expected.texts, { precision: 'ubinary' })).type).toBe('uint8');
  });

  it('needs something to find ranges in', async () => {
    await expectError(embed('one', { precision: 'int8' }), 'InputError', /found one embedding/);
    await expectError(() => quantize_embeddings(vectors, 'int4' as any), 'InputError', /'int4'/);
    await expectError(() => quantize_embeddings(vectors, 'int8', { ranges: [[1], [2]] }), 'InputError', /13 components/);
  });
});

describe('windows', () => {
  const words = Array.from({ length: 60 }, (_, i) => `${expected.texts[i % 4]} ${i}`).join(' ');

  it('run all of a long text, and their mean is the vector', async () => {
    const each = await embed(['short', words], { on_overflow: 'window', windows: 'each', normalize: false, max_length: 20 });
    const mean = await embed(['short', words], { on_overflow: 'window', normalize: false, max_length: 20 });
    const [one, many] = each.windows as unknown as [number, number];
    expect(one).toBe(1);
    expect(many).toBeGreaterThan(10);
    expect(each.dims).toEqual([1 + many, 13]);
    expect(mean.dims).toEqual([2, 13]);
    expect(mean.truncated).toEqual([false, false]);
    for (let j = 0; j < 13; ++j) {
      let sum = 0;
      for (let i = 0; i < many; ++i) sum += each.data[(1 + i) * 13 + j] as number;
      // many sums of numbers up to 1, rounded each.
      expect(Math.abs((mean.data[13 + j] as number) - sum / many)).toBeLessThan(many * 2 ** -24);
      expect(mean.data[j]).toBe(each.data[j]);
    }
  });

  it('are those of the tokenizer', async () => {
    const { windows, tokens } = await embed(words, { on_overflow: 'window', max_length: 20, overlap: 5 });
    const encoding = embed.tokenizer(words, {
      truncation: true,
      max_length: 20,
      overlap: 5,
      return_overflowing_tokens: true,
      return_tensor: false,
    } as any) as any;
    expect(windows[0]).toBe(encoding.input_ids.length);
    expect(tokens[0]).toBe(encoding.input_ids.flat().length);
  });

  it('are refused without a pooling, and their options without them', async () => {
    await expectError(embed('a', { on_overflow: 'window', pooling: 'none' }), 'InputError', /pooling/);
    await expectError(embed('a', { windows: 'each' }), 'InputError', /on_overflow/);
    await expectError(embed('a', { on_overflow: 'window', overlap: 46, max_length: 48 }), 'InputError', /overlap/);
  });
});

describe('attentions', () => {
  const attentions = [
    new Tensor('float32', [1, 0, 0.5, 0.5, 0, 1, 1, 0], [1, 2, 2, 2]),
    new Tensor('float32', [0.5, 0.5, 0, 1, 0.5, 0.5, 1, 0], [1, 2, 2, 2]),
  ];

  it('roll out to what each token is made of', () => {
    // Means of heads [[.5, .5], [.75, .25]] and [[.5, .5], [.5, .5]]; half of the token itself: [[.75, .25], [.375, .625]], [[.75, .25], [.25, .75]].
    const rollout = attention_rollout(attentions);
    expect(rollout.dims).toEqual([1, 2, 2]);
    expect(rollout.tolist()).toEqual([[[0.65625, 0.34375], [0.46875, 0.53125]]]); // prettier-ignore
  });

  it('become what BertViz reads', async () => {
    const { attention, include_layers, total_heads } = to_bertviz(attentions, ['a']);
    expect(attention).toEqual([
      {
        name: null,
        attn: [
          [[[1]], [[0]]],
          [[[0.5]], [[0.5]]],
        ],
        left_text: ['a'],
        right_text: ['a'],
      },
    ]);
    expect([include_layers, total_heads]).toEqual([[0, 1], 2]);
    await expectError(() => to_bertviz(attentions, ['a', 'b', 'c']), 'InputError', /3 tokens/);
    await expectError(() => attention_rollout([]), 'InputError', /attention_rollout/);
  });
});
