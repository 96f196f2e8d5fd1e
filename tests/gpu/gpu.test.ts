// device: 'webgpu' against the processor, on SwiftShader or on the machine's own GPU. Where there is none, the tests are skipped with a message.
import { join } from 'node:path';
import { env, pipeline, type FeatureExtractionPipeline, type ModelInfo } from 'wattn';
import { failure, goldens, tiny } from '../web/support.js';
import { faulty, findGpu, wideBert, withHalves, withLetters, type Faults } from './gpu_support.js';

const gpu = await findGpu();
const written: unknown[][] = [];
const kConsole = ['log', 'warn', 'error', 'info'] as const;
const own = kConsole.map((name) => console[name]);
beforeEach(() => {
  written.length = 0;
  for (const name of kConsole) console[name] = (...all: unknown[]) => void written.push(all);
});
afterEach(() => {
  kConsole.forEach((name, i) => (console[name] = own[i]!));
  env.gpu = undefined;
  expect(written).toEqual([]);
});
/** A test that needs a GPU. */
const onGpu = (name: string, run: (gpu: GPU) => Promise<void>) => (gpu ? test : test.skip)(name, () => run(gpu!));

/** A GPU that has no shader-f16. */
const withoutHalves = (own: GPU): GPU =>
  ({
    wgslLanguageFeatures: own.wgslLanguageFeatures,
    requestAdapter: async (options?: GPURequestAdapterOptions) => {
      const adapter = await own.requestAdapter(options);
      if (!adapter) return adapter;
      const requestDevice = (description?: GPUDeviceDescriptor) => adapter.requestDevice(description);
      return { limits: adapter.limits, info: adapter.info, features: new Set(), requestDevice };
    },
  }) as unknown as GPU;

const load = (model: unknown, options: object = {}) =>
  pipeline('feature-extraction', model as string, { device: 'webgpu', ...options }) as Promise<FeatureExtractionPipeline>;
const loadWith = (faults: Faults, options: object = {}, model: unknown = tiny) => {
  env.gpu = faulty(withoutHalves(gpu!), faults);
  return load(model, options);
};
/** How far rows of a are from those of b, over the lengths of the latter: the root of the mean square. */
function distance(a: { data: ArrayLike<number>; dims: readonly number[] }, b: { data: ArrayLike<number> }): number {
  const width = a.dims[a.dims.length - 1]!;
  expect(a.data.length).toBe(b.data.length);
  let sum = 0;
  for (let row = 0; row < a.data.length; row += width) {
    let difference = 0;
    let length = 1e-30;
    for (let i = row; i < row + width; ++i) {
      difference += (a.data[i]! - b.data[i]!) ** 2;
      length += b.data[i]! ** 2;
    }
    sum += difference / length;
  }
  return Math.sqrt((sum * width) / a.data.length);
}
const letters = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => String.fromCharCode(97 + ((first + 7 * i + i * i) % 26))).join('');
/** value without the lower bits that bf16 lacks. */
function bf16(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer);
  bits[0]! &= 0xffff0000;
  return new Float32Array(bits.buffer)[0]!;
}
/** Around the sizes of tiles and blocks, together longer than a tile. */
const lengths = [1, 31, 32, 33, 2, 15, 16, 17, 40, 3];
const kModes = ['mean', 'cls', 'max', 'weightedmean', 'lasttoken', 'mean_sqrt_len_tokens'] as const;

type Dtype = 'f32' | 'f16' | 'q8' | 'q4';
const isFloat = (dtype: Dtype) => dtype === 'f32' || dtype === 'f16';
interface Case {
  name: string;
  model: () => unknown;
  dtype: Dtype;
  texts: string[];
  /** Products are in f16. */
  halves?: boolean;
}
const words = (count: number) =>
  Array.from({ length: count }, (_, i) => ['boat', 'river', 'the', 'birds', 'old'][(i * i + count) % 5]).join(' ');
const architecture = (folder: string, dtype: Dtype): Case => ({
  name: `${folder}, ${dtype}`,
  model: () => withLetters(join(goldens, folder)),
  dtype,
  texts: lengths.map((count, i) => letters(count, i)),
});
const cases: Case[] = [
  ...(['q8', 'q4'] as const).map((dtype) => ({
    name: `rows of three groups, ${dtype}`,
    model: () => wideBert(),
    dtype,
    texts: lengths.map((count, i) => letters(count, i)),
  })),
  ...(['f32', 'f16', 'q8', 'q4'] as const).map((dtype) => ({
    name: `bert, ${dtype}`,
    model: () => tiny,
    dtype,
    texts: lengths.map(words),
  })),
  { ...architecture('architectures/modernbert', 'f16'), name: 'modernbert, products in f16', halves: true },
  { name: 'bert, products in f16', model: () => tiny, dtype: 'f16', texts: lengths.map(words), halves: true },
  {
    name: 'rows of several tiles, products in f16',
    model: () => wideBert(),
    dtype: 'f16',
    texts: lengths.map((count, i) => letters(count, i)),
    halves: true,
  },
  {
    name: 'some columns in bf16, some of zeros, and a matrix with a weight beyond the range of products in f16',
    model: () =>
      wideBert((value, name, at) => {
        if (name.endsWith('query.weight') && at === 1000) return 128;
        const row = Math.floor(at / 192);
        return /(key|intermediate.dense).weight$/.test(name) && row % 3 > 0 ? (row % 3 === 1 ? 0 : bf16(value)) : value;
      }),
    dtype: 'f16',
    texts: lengths.map((count, i) => letters(count, i)),
    halves: true,
  },
  architecture('architectures/modernbert', 'f32'), // rotary positions, windows, gates, pre-norm
  architecture('architectures/nomic-bert', 'q8'),
  architecture('architectures/nomic-bert', 'q4'),
  architecture('architectures/jina-bert', 'f32'), // biases by distance
  architecture('architectures/roberta', 'f32'), // positions after padding
];

describe.each(cases)('$name', ({ model, dtype, texts, halves }) => {
  onGpu("has the processor's vectors within the bound, and the same bits alone and in a batch", async (own) => {
    env.gpu = halves ? withHalves(own) : withoutHalves(own);
    const [there, here] = await Promise.all([load(model(), { dtype }), load(model(), { dtype, device: 'wasm' })]);
    const { device, device_reason, gpu: facts } = there.info() as ModelInfo;
    expect([device, device_reason]).toEqual(['webgpu', undefined]);
    expect(facts!.products).toBe(halves ? 'f16' : isFloat(dtype) ? 'f32' : 'int8');
    expect(facts!.bound).toBeLessThan(isFloat(dtype) && !halves ? 2e-5 : 6e-2);
    for (const options of [{ pooling: kModes }, { pooling: 'none' as const }, { pooling: 'mean' as const, normalize: true }]) {
      const [a, b] = [await there(texts, options), await here(texts, options)];
      expect(a.dims).toEqual(b.dims);
      const off = distance(a, b);
      expect(off).toBeLessThanOrEqual(facts!.bound);
      if (isFloat(dtype)) expect(off).toBeGreaterThan(0); // it was another machine
    }
    const all = (await there(texts, { pooling: kModes })).data;
    const width = all.length / texts.length;
    for (const [i, text] of texts.entries())
      expect(
        Buffer.from(all.slice(i * width, (i + 1) * width).buffer).equals(
          Buffer.from((await there([text], { pooling: kModes })).data.buffer),
        ),
      ).toBe(true);
    expect(there.info().device).toBe('webgpu');
    await there.dispose();
    await here.dispose();
  });
});

/** Folders of goldens with the op or form that no kernel has; undefined: it is proven right. */
const architectures: Record<string, RegExp | undefined> = {
  ...Object.fromEntries(
    [
      'albert',
      'camembert',
      'distilbert',
      'electra',
      'gte',
      'gte-new',
      'jina-bert',
      'modernbert',
      'nomic-bert',
      'nomic-bert-first',
      'roberta',
      'xlm-roberta',
    ].map((name) => [`architectures/${name}`, undefined]),
  ),
  'architectures/deberta-v2': /'relative_rows'/,
  'architectures/deberta-v3': /'relative_rows'/,
  'architectures/mpnet': undefined,
  'eurobert/base': undefined,
  'hub_layouts/jina-v3': undefined,
  'hub_layouts/nomic-moe': /'experts'/,
  'variants/encoders/bert-quick-gelu': /'quick_gelu'/,
  'variants/encoders/convbert': /'join'/,
  'variants/encoders/mobilebert': /'windows'/,
  'variants/encoders/mobilebert-inside': /'affine'/,
  ...Object.fromEntries(
    ['albert-groups', 'dpr', 'ernie', 'longformer', 'megatron-bert', 'neobert', 'roformer', 'squeezebert', 'xlm'].map((name) => [
      `variants/encoders/${name}`,
      undefined,
    ]),
  ),
};
test.each(Object.entries(architectures))('%s is proven right in f32, q8 and q4, or refused by name', async (folder, lacks) => {
  if (!gpu) return;
  env.gpu = gpu;
  for (const dtype of ['f32', 'q8', 'q4'] as const) {
    const pipe = await load(withLetters(join(goldens, folder)), { dtype });
    const { device, device_reason } = pipe.info();
    if (lacks) expect(device_reason).toMatch(lacks);
    else expect([device, device_reason]).toEqual(['webgpu', undefined]);
    await pipe.dispose();
  }
});

onGpu('a Longformer with global tokens runs on the processor', async (own) => {
  env.gpu = own;
  const classify = await pipeline('text-classification', join(goldens, 'longformer'), { device: 'webgpu' });
  const { device, device_reason } = classify.info();
  expect([device, device_reason]).toEqual(['wasm', expect.stringContaining("'global_attention'")]);
  await classify.dispose();
});

onGpu('all-MiniLM-L6-v2 is right in f32, f16, q8 and q4: whole numbers differ as two roundings of activations do', async (own) => {
  env.gpu = withHalves(own);
  for (const dtype of ['f32', 'f16', 'q8', 'q4'] as const) {
    const pipe = await load(null, { dtype }); // 384 numbers: six groups
    const { device, device_reason, gpu: facts } = pipe.info();
    expect([device, device_reason]).toEqual(['webgpu', undefined]);
    expect(facts!.bound).toBeLessThan(dtype === 'f32' ? 2e-5 : 0.05);
    expect(facts!.distance).toBeLessThan({ f32: 2e-6, f16: 2e-3, q8: 0.014, q4: 0.014 }[dtype]); // 1 - cosine: half of its square
    if (dtype === 'q4') {
      const here = await load(null, { dtype, device: 'wasm' });
      const some = ['The bakery opens at six.', 'Trains leave every hour.', 'Six'];
      const options = { pooling: 'mean' as const };
      const [a, b] = [await pipe(some, options), await here(some, options)];
      expect(distance(a, b)).toBeGreaterThan(0);
      expect(distance(a, b)).toBeLessThanOrEqual(facts!.bound);
      for (const [i, text] of some.entries()) expect((await pipe([text], options)).tolist()[0]).toEqual(a.tolist()[i]);
      await here.dispose();
    }
    await pipe.dispose();
  }
});

onGpu("options of a call are the processor's: prompts, truncation, windows, max_length", async (own) => {
  env.gpu = own;
  const [there, here] = [await load(tiny), await load(tiny, { device: 'wasm' })];
  const texts = [words(50), 'boat', '', words(9)];
  for (const options of [
    { prompt: 'query: ', truncate_dim: 8, normalize: true, pooling: 'mean' as const },
    { on_overflow: 'window' as const, max_length: 12, overlap: 2, pooling: 'mean' as const },
    { on_overflow: 'window' as const, windows: 'each' as const, max_length: 12, pooling: 'mean' as const },
    {},
  ]) {
    const [a, b] = [await there(texts, options), await here(texts, options)];
    expect(a.dims).toEqual(b.dims);
    expect(distance(a, b)).toBeLessThan(1e-4);
  }
  expect((await there([], {})).dims[0]).toBe(0);
  expect(await failure(there(texts, { max_length: 100000 }))).toMatchObject({ name: 'InputError' });
  const controller = new AbortController();
  controller.abort();
  expect(await failure(there(texts, { signal: controller.signal }))).toMatchObject({ name: 'AbortError' });
  await there.dispose();
  expect(await failure(there(texts))).toMatchObject({ name: 'StateError' });
  await here.dispose();
});

describe('without a GPU that works the processor answers, and info() says why', () => {
  const expectProcessor = async (pipe: FeatureExtractionPipeline, reason: RegExp) => {
    const info = pipe.info();
    expect(info.device).toBe('wasm');
    expect(info.device_reason).toMatch(reason);
    const here = await load(tiny, { device: 'wasm' });
    const texts = ['boat', words(20)];
    expect((await pipe(texts)).tolist()).toEqual((await here(texts)).tolist());
    expect(here.info().device).toBe(undefined);
    await pipe.dispose();
    await here.dispose();
  };

  onGpu('a model with an op that the GPU lacks', async (own) => {
    env.gpu = own;
    const deberta = () => withLetters(join(goldens, 'architectures/deberta-v2'));
    for (const device of ['webgpu', 'auto'] as const) {
      for (const [model, options, lacks] of [
        [deberta(), {}, /'relative_rows'/],
        [tiny, { dtype: 'q16' }, /held as 'q16' .a GPU reads dtype 'f32', 'f16', 'q8' or 'q4'/],
      ] as const) {
        const pipe = await load(model, { ...options, device });
        expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(lacks) });
        await pipe.dispose();
      }
    }
    await expectProcessor(await loadWith({ shader: () => 'nonsense' }), /./);
  });

  onGpu('out of memory, thrown and reported', async () => {
    const thrown = await loadWith({
      buffer: () => {
        throw new RangeError('out of memory');
      },
    });
    await expectProcessor(thrown, /out of memory/);
    const limits = (device: GPUDevice) => device.limits.maxBufferSize;
    const reported = await loadWith({
      buffer: (device, description, make) =>
        description.size > 8000 ? device.createBuffer({ ...description, size: 2 * limits(device) }) : make(),
    }).catch((error) => error);
    await expectProcessor(reported, /./);
  });

  // A fault in each kernel: what it changes, and into what. Some are slight.
  const lies: [kernel: string, find: RegExp, put: string, dtype: Dtype, model?: () => unknown][] = [
    ['product', /acc\[3\] = fma\(vec4<f32>\(xs\[first_at \+ 3u\]\)/, 'acc[3] = fma(vec4<f32>(xs[first_at + 2u])', 'f32'],
    ['norm', /squares \+= d \* d/, 'squares += abs(d)', 'f32'],
    ['attention', /sum \*= before/, 'sum *= 1.0f', 'f32'],
    ['words', /let row = rows\[token\];\n {2}out\[at\] = table/, 'let row = rows[0];\n  out[at] = table', 'f32'],
    ['rows that are added', /x\[at\] \+ table/, 'x[at] - table', 'f32'],
    ['erf', /0\.115591064f/, '0.125591064f', 'f32'],
    ['product in q8', /96 - i32/, '95 - i32', 'q8'],
    ['quantized activations', /192\.0f \/ range/, '190.0f / range', 'q8'],
    ['table in q8', /% 4u \* 8u, 8u/, '% 4u * 8u, 7u', 'q8'],
    ['a scale that is 1 % off', /scale\[at\] \* of_row\.x/, '1.01f * scale[at] * of_row.x', 'q8'],
    [
      'a scale that is 1 % off, in three groups',
      /scale\[at\] \* of_row\.x/,
      '1.01f * scale[at] * of_row.x',
      'q8',
      () => wideBert(),
    ],
    [
      'one of three groups with a scale that is 1 % off',
      /scale\[at\] \* of_row\.x/,
      'select(1.0f, 1.01f, g == 1u) * scale[at] * of_row.x',
      'q8',
      () => wideBert(),
    ],
    [
      'one of three groups with a zero point that is one off',
      /96 - i32\(of_row\.y\)/,
      '96 - i32(of_row.y) + select(0, 1, g == 2u)',
      'q8',
      () => wideBert(),
    ],
    ['a group that is dropped', /g < GROUPS; g\+\+/, 'g < GROUPS - 1u; g++', 'q8', () => wideBert()],
    ['activations whose zero point is rounded down', /let z = round\(/, 'let z = floor(', 'q8', () => wideBert()],
    ['codes of the other column', /w\[part \* 4u \+ column % 4u\] >>/, 'w[part * 4u + (column ^ 1u) % 4u] >>', 'q4'],
    ['codes of the other half', />> vec4<u32>\(column \/ 4u \* 4u\)/, '>> vec4<u32>(4u - column / 4u * 4u)', 'q4'],
    ['one book of the next part', /256u \+ part \/ 2u/, '256u + select(part, part ^ 2u, part == 5u) / 2u', 'q4', () => wideBert()],
    ['an entry of a book', /own\.w/, 'own.z', 'q4'],
    ['what is behind k in q4', /words &= select\(mask/, 'words &= select(vec4<u32>(0xffffffffu)', 'q4'],
    ['a zero point in q4', /96 - i32\(of_row\.y\)/, '95 - i32(of_row.y)', 'q4', () => wideBert()],
    ['numbers of f16 that are not scaled', /scale == vec4<f32>\(1\.0f\)/, 'scale != vec4<f32>(0.0f)', 'f16'],
    ['numbers of f16 of the next column', /two\.x << 16u, /, 'two.x & 0xffff0000u, ', 'f16'],
    ['words in f16', /16u - \((row \* W \+ column)\) % 2u \* 16u/, '16u - ($1 + 1u) % 2u * 16u', 'f16'],
    ['rows that are swapped', /let row = row0 \+ thread \/ 4u/, 'let row = row0 + ((thread / 4u) ^ 1u)', 'f32'],
    ['rows of q8 that are swapped', /let row = row0 \+ at \/ 16u/, 'let row = row0 + ((at / 16u) ^ 1u)', 'q8'],
    ['rows beyond the first tile', /let row = row0 \+ thread \/ 4u/, 'let row = min(row0 + thread / 4u, 64u)', 'f32'],
    ['a product that is 1 % off', /total\[i\]\[j\] \+ bias\[column\]/, '1.01f * total[i][j] + bias[column]', 'f32'],
    ['a product that is 0.01 % off', /total\[i\]\[j\] \+ bias\[column\]/, '1.0001f * total[i][j] + bias[column]', 'f32'],
    [
      'scores that are 1 % off',
      /let before = exp\(most - larger\)/,
      'for (var j = 0u; j < TILE; j++) { scores[j] *= 1.01f; } larger *= 1.01f;\n    let before = exp(most - larger)',
      'f32',
    ],
    ['a last key that is left out', /k >= end/, 'k + 1u >= end', 'f32'],
  ];
  (gpu ? test : test.skip).each(lies)('a kernel that lies: %s', async (_, find, put, dtype, model = () => tiny) => {
    let changed = 0;
    const shader = (code: string) => {
      const lie = code.replace(find, put);
      if (lie !== code) ++changed;
      return lie;
    };
    const pipe = await loadWith({ shader }, { dtype }, model());
    expect(changed).toBeGreaterThan(0);
    expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/are off by/) });
    await pipe.dispose();
  });

  /** Faults of products in f16: the shader, and what it is changed into. f32 is right, so the model runs on the GPU. */
  const liesInHalves: [kernel: string, find: RegExp, put: string, model?: () => unknown][] = [
    ['rows that are swapped', /let row = row0 \+ thread \/ 4u/, 'let row = row0 + ((thread / 4u) ^ 1u)'],
    ['columns that are swapped', /column \/ 4u % 2u/, '(column / 4u + 1u) % 2u'],
    ["another row's factor", /\* factor\[row\]/, '* factor[row ^ 1u]'],
    ['a last part of a sum that is left out', /k0 < K; k0/, 'k0 + DEPTH < K; k0', () => wideBert()],
    ['sums over the last part alone', /total\[i\] \+= vec4<f32>\(acc\[i\]\)/, 'total[i] = vec4<f32>(acc[i])', () => wideBert()],
    [
      'activations that are halved twice',
      /out_factor\[token\] = bitcast<f32>\(down\)/,
      'out_factor[token] = 0.5f * bitcast<f32>(down)',
    ],
    ['numbers of the next four', /h\[row \* \(\(K \+ 3u\) \/ 4u\) \+ k \/ 4u\]/, 'h[row * ((K + 3u) / 4u) + (k / 4u ^ 1u)]'],
    ['bias that is left out', /factor\[row\] \+ bias\[column\]/, 'factor[row]', () => wideBert()],
    ['a shader that does not compile', /enable f16;/, 'enable f16; nonsense'],
    ['numbers that are not finite', /let up = /, 'let up = 1e30f * '],
  ];
  (gpu ? test : test.skip).each(liesInHalves)(
    'products in f16 that lie are replaced: %s',
    async (_, find, put, model = () => tiny) => {
      let changed = 0;
      const shader = (code: string) => {
        if (!/enable f16|out_factor/.test(code)) return code;
        const lie = code.replace(find, put);
        if (lie !== code) ++changed;
        return lie;
      };
      env.gpu = withHalves(gpu!, { shader });
      const pipe = await load(model(), { dtype: 'f16' });
      expect(changed).toBeGreaterThan(0);
      const { device, gpu: facts } = pipe.info() as ModelInfo;
      expect([device, facts!.products]).toEqual(['webgpu', 'f32']);
      expect(facts!.bound).toBeLessThan(2e-5);
      await pipe.dispose();
    },
  );

  onGpu('pooling that lies, when it is first used', async () => {
    const pipe = await loadWith({ shader: (code) => code.replace('value /= f32(end - first)', 'value /= f32(end - start + 1u)') });
    expect(pipe.info().device).toBe('webgpu');
    const here = await load(tiny, { device: 'wasm' });
    const options = { pooling: 'mean' as const };
    expect((await pipe(['boat'], options)).tolist()).toEqual((await here(['boat'], options)).tolist());
    expect(pipe.info().device_reason).toMatch(/off by/);
    await pipe.dispose();
    await here.dispose();
  });
});

onGpu('a device that is lost in a call is found again, and no text is lost or doubled', async () => {
  // Each submit of the first call is the last of its device, once.
  let lose = false;
  const faults: Faults = {
    onSubmit(_, device) {
      if (lose) device.destroy();
      lose = false;
    },
  };
  const pipe = await loadWith(faults);
  const texts = Array.from({ length: 60 }, (_, i) => words(1 + (i % 50)));
  const options = { pooling: 'mean' as const };
  const right = (await pipe(texts, options)).tolist();
  lose = true;
  expect((await pipe(texts, options)).tolist()).toEqual(right);
  expect(pipe.info()).toMatchObject({ device: 'webgpu', gpu: { recovered: 1 } });
  // Again and again: then the processor.
  faults.onSubmit = (_, device) => device.destroy();
  const here = await load(tiny, { device: 'wasm' });
  expect((await pipe(texts, options)).tolist()).toEqual((await here(texts, options)).tolist());
  expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/lost/) });
  await pipe.dispose();
  await here.dispose();
});

onGpu('numbers that are not finite are computed again on the processor', async () => {
  let poison = false;
  const pipe = await loadWith({
    onRead(values) {
      if (poison) values[33] = NaN;
      poison = false;
    },
  });
  const here = await load(tiny, { device: 'wasm' });
  const texts = ['boat', 'river', 'birds'];
  const options = { pooling: 'mean' as const };
  const [right, exact] = [await pipe(texts, options), await here(texts, options)];
  poison = true;
  const mixed = await pipe(texts, options);
  expect(mixed.tolist()[0]).toEqual(right.tolist()[0]);
  expect(mixed.tolist()[1]).toEqual(exact.tolist()[1]);
  expect(pipe.info().gpu).toMatchObject({ recomputed: 1 });
  await pipe.dispose();
  await here.dispose();
});

onGpu("device: 'auto' measures once for an adapter and a model, and uses what is sooner", async (own) => {
  env.gpu = own;
  const pipe = await load(tiny, { device: 'auto' });
  const { timing } = pipe.info().gpu!;
  expect(timing).toMatchObject({ tokens: expect.any(Number), few: expect.any(Number) });
  const again = await load(tiny, { device: 'auto' });
  expect(again.info().gpu!.timing).toEqual(timing);
  const here = await load(tiny, { device: 'wasm' });
  expect(distance(await pipe(['boat', words(30)]), await here(['boat', words(30)]))).toBeLessThan(1e-4);
  for (const each of [pipe, again, here]) await each.dispose();
});

onGpu('an adapter that is loaded ends it', async (own) => {
  env.gpu = own;
  const pipe = await load(tiny);
  const adapter = join(goldens, 'peft/bert');
  await pipe.load_adapter(adapter);
  expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/adapter/) });
  const here = await load(tiny, { device: 'wasm', adapter });
  expect((await pipe('boat')).tolist()).toEqual((await here('boat')).tolist());
  await pipe.dispose();
  await here.dispose();
});
