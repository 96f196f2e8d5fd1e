// Generation with device: 'webgpu' against the processor: the GPU reads tokens and gives logits, the processor chooses.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { env, pipeline, type ModelInfo, type Tensor, type TextGenerationPipeline } from 'wattn';
import { failure, filesOf, goldens, root } from '../web/support.js';
import { faulty, findGpu, wideLlama, withHalves, withLetters, type Faults } from './gpu_support.js';

const gpu = await findGpu();
const onGpu = (name: string, run: (gpu: GPU) => Promise<void>) => (gpu ? test : test.skip)(name, () => run(gpu!));
afterEach(() => {
  env.gpu = undefined;
});

const load = (model: unknown, options: object = {}) =>
  pipeline('text-generation', model as string, { device: 'webgpu', ...options }) as Promise<TextGenerationPipeline>;
const loadWith = (faults: Faults, model: unknown = llama(), options: object = {}) => {
  env.gpu = faulty(gpu!, faults);
  return load(model, options);
};
/** The tokenizer of Qwen2 is one of its own. */
const kOwnTokenizer = ['decoders/qwen2'];
const decoder = (folder: string) => {
  if (folder === 'wide') return wideLlama();
  return kOwnTokenizer.includes(folder) ? filesOf(join(goldens, folder)) : withLetters(join(goldens, folder));
};
const llama = () => decoder('decoders/llama');
const text = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => String.fromCharCode(97 + ((first + 7 * i + i * i) % 26))).join('');

interface Steps {
  tokens: number[];
  /** The scores of each step. */
  rows: Float32Array[];
}
/** Greedy search for each prompt, or with `forced` those tokens, whatever the scores. */
async function followAll(
  pipe: TextGenerationPipeline,
  prompts: string[],
  count: number,
  forced?: readonly number[],
): Promise<Steps[]> {
  const rows = prompts.map((): Float32Array[] => []);
  const force = (ids: bigint[][], logits: Tensor<'float32'>) => {
    const vocab = logits.dims[1]!;
    ids.forEach((each, i) => {
      const prompt = prompts.length === 1 ? 0 : prompts.findIndex((text) => Number(each[0]) === text.charCodeAt(0) - 95); // 'a' is token 2
      const row = logits.data.subarray(i * vocab, (i + 1) * vocab);
      rows[prompt]!.push(row.slice());
      if (forced) row.forEach((_, id) => (row[id] = id === forced[rows[prompt]!.length - 1] ? 0 : -Infinity));
    });
  };
  const options = { max_new_tokens: count, min_new_tokens: count, do_sample: false, logits_processor: force };
  const results = (await pipe(prompts, options)) as unknown as [{ tokens: number[] }][];
  return results.map(([{ tokens }], i) => ({ tokens, rows: rows[i]! }));
}
const follow = async (pipe: TextGenerationPipeline, prompt: string, count: number, forced?: readonly number[]): Promise<Steps> =>
  (await followAll(pipe, [prompt], count, forced))[0]!;
const best = (row: Float32Array) => row.reduce((most, value, i) => (value > row[most]! ? i : most), 0);

/** Compares the rows of the same tokens. bound: of the distance of a row over its length. */
function expectSame(there: Steps, here: Steps, bound: number): void {
  expect(there.tokens).toEqual(here.tokens);
  expect(there.rows.length).toBe(here.rows.length);
  there.rows.forEach((row, i) => {
    const right = here.rows[i]!;
    let difference = 0;
    let length = 0;
    right.forEach((value, j) => {
      if (!Number.isFinite(value)) return expect(row[j]).toBe(value);
      difference += (row[j]! - value) ** 2;
      length += value ** 2;
    });
    const off = Math.sqrt(difference);
    expect(off).toBeLessThanOrEqual(bound * Math.sqrt(length));
    const [a, b] = [best(row), best(right)];
    if (a !== b) expect(right[b]! - right[a]!).toBeLessThanOrEqual(2 * off); // the margin is within what was found
  });
}
const bits = ({ rows }: Steps) => rows.map((row) => Buffer.from(row.buffer).toString('base64'));

/** Folders of goldens with what no kernel has; undefined: it is proven right. */
const architectures: Record<string, RegExp | undefined> = {
  wide: undefined,
  ...Object.fromEntries(
    ['gemma', 'gemma2', 'gemma3', 'gpt2', 'llama', 'llama-linear', 'mistral', 'qwen2', 'qwen3', 'smollm'].map((name) => [
      `decoders/${name}`,
      undefined,
    ]),
  ),
  ...Object.fromEntries(
    (
      'arcee bloom codegen cohere cohere2 ernie4-5 exaone exaone4 glm glm4 gpt-bigcode gpt-neo gpt-neox gpt-neox-in-turn gpt2-by-layer gptj granite granite-4 ' +
      'helium hunyuan llama-dynamic llama-yarn minicpm ministral mobilellm modernbert-decoder mpt nanochat olmo olmo2 olmo3 opt phi phi3 phi3-longrope phi3-partial ' +
      'smollm3 stablelm stablelm-parallel starcoder2 vaultgemma xglm'
    )
      .split(' ')
      .map((name) => [`variants/decoders/${name}`, undefined]),
  ),
  'variants/decoders/lfm2': /'short_convolution'/,
  'variants/decoders/qwen3-5': /'gated_delta'/,
};

/** The others have the same kernels there. */
const kInQ8 = ['wide', 'decoders/llama', 'decoders/gpt2', 'decoders/gemma3', 'decoders/qwen2', 'variants/decoders/mpt'];
const kInQ4 = ['wide', 'decoders/llama', 'decoders/qwen2'];
const dtypesOf = (folder: string) => [
  'f32' as const,
  ...(folder === 'wide' ? (['f16'] as const) : []),
  ...(kInQ8.includes(folder) ? (['q8'] as const) : []),
  ...(kInQ4.includes(folder) ? (['q4'] as const) : []),
];

describe.each(Object.entries(architectures))('%s', (folder, lacks) => {
  for (const dtype of dtypesOf(folder))
    onGpu(`${dtype}: a forced text has the processor's logits within the bound`, async (own) => {
      env.gpu = withHalves(own);
      const there = await load(decoder(folder), { dtype });
      const { device, device_reason, gpu: facts } = there.info() as ModelInfo;
      if (lacks) {
        expect([device, device_reason]).toEqual(['wasm', expect.stringMatching(lacks)]);
        return there.dispose();
      }
      expect([device, device_reason]).toEqual(['webgpu', undefined]);
      expect(facts!.products).toBe(dtype === 'q8' || dtype === 'q4' ? 'int8' : 'f32'); // also where the device computes in f16
      expect(facts!.bound).toBeLessThan(dtype === 'f32' || dtype === 'f16' ? 2e-5 : 0.2);
      const here = await load(decoder(folder), { dtype, device: 'wasm' });
      const right = await follow(here, text(40), 10);
      const found = await follow(there, text(40), 10, right.tokens);
      expectSame(found, right, 4 * facts!.bound); // a row may be off by more than the mean
      expect(there.info().device).toBe('webgpu');
      await there.dispose();
      await here.dispose();
    });
});

describe.each([
  ['decoders/llama', 'f32'],
  ['decoders/llama', 'q8'],
  ['wide', 'f32'],
  ['wide', 'f16'],
  ['wide', 'q8'],
  ['wide', 'q4'],
] as const)('%s in %s on one device', (model, dtype) => {
  onGpu('has the same bits for a text alone and in a batch, read at once, in pieces and token by token', async (own) => {
    env.gpu = own;
    const pipe = await load(decoder(model), { dtype });
    const prompts = [text(70), text(1, 3), text(33, 5), text(9, 8)];
    const letters = [5, 9, 3, 20, 11, 7];
    const together = await followAll(pipe, prompts, letters.length, letters);
    for (const [i, prompt] of prompts.entries())
      expect(bits(await follow(pipe, prompt, letters.length, letters))).toEqual(bits(together[i]!));
    const written = letters.slice(0, -1).map((id) => String.fromCharCode(id + 95));
    for (const i of [0, 1]) {
      await follow(pipe, text(70, 20), 1); // what follows is read anew
      const [row] = bits(await follow(pipe, prompts[i]! + written.join(''), 1, letters));
      expect(row).toBe(bits(together[i]!).at(-1));
    }
    expect(pipe.info().device).toBe('webgpu');
    await pipe.dispose();
  });
});

onGpu("a long text has the processor's logits: several spans of keys, pieces and lanes", async (own) => {
  env.gpu = own;
  const [there, here] = [await load(wideLlama()), await load(wideLlama(), { device: 'wasm' })];
  const right = await follow(here, text(580), 6);
  expectSame(await follow(there, text(580), 6, right.tokens), right, 4 * there.info().gpu!.bound);
  await there.dispose();
  await here.dispose();
});

onGpu("the options of a call are the processor's, with the same results", async (own) => {
  let submits = 0;
  let poison = false;
  env.gpu = faulty(own, {
    onSubmit: () => void ++submits,
    onRead(values) {
      if (poison && values.length > 20) values[5] = NaN;
    },
  });
  const [there, here] = [await load(llama()), await load(llama(), { device: 'wasm' })];
  const prompts = [text(20), text(3, 2), text(11, 4)];
  for (const options of [
    { max_new_tokens: 12 },
    { max_new_tokens: 8, do_sample: true, seed: 3, temperature: 0.8, top_k: 9 },
    { max_new_tokens: 8, num_beams: 3 },
    { max_new_tokens: 8, num_beams: 4, num_return_sequences: 2, length_penalty: 0.5 },
    { max_new_tokens: 6, do_sample: true, num_return_sequences: 3, seed: 5 },
    { max_new_tokens: 8, repetition_penalty: 1.4, no_repeat_ngram_size: 2 },
    { max_new_tokens: 12, prompt_lookup_num_tokens: 4 },
    { max_new_tokens: 12, top_logprobs: 2 },
  ]) {
    const before = submits;
    const [a, b] = [await there(prompts, options as object), await here(prompts, options as object)];
    expect(plain(a)).toEqual(plain(b));
    expect(submits).toBeGreaterThan(before + 5);
  }
  const scores = [await there.score('abc', ['def', 'xyzz']), await here.score('abc', ['def', 'xyzz'])];
  expect(JSON.stringify(scores[0]).length).toBeGreaterThan(10);
  expect(plain(scores[0])).toEqual(plain(scores[1]));
  const pieces: string[] = [];
  for await (const piece of there.stream(text(20), { max_new_tokens: 6 })) pieces.push(piece);
  const [result] = (await here(text(20), { max_new_tokens: 6, return_full_text: false })) as unknown as [
    { generated_text: string },
  ];
  expect(pieces.join('')).toBe(result.generated_text);
  // What is to be kept is read by the processor.
  expect(await there.load_prefix(await there.save_prefix(text(40)))).toEqual({ tokens: 40 });
  // What a slot has is not read again.
  const count = async (prompt: string) => {
    const before = submits;
    const steps = await follow(there, prompt, 1);
    return { submits: submits - before, bits: bits(steps) };
  };
  const whole = await count(text(90));
  const again = await count(text(90));
  expect(again.bits).toEqual(whole.bits);
  expect(again.submits).toBeLessThan(whole.submits);
  // Logits that are not finite are computed again on the processor.
  const beams = { max_new_tokens: 10, num_beams: 2 };
  const right = plain(await here(text(30), beams));
  poison = true;
  expect(plain(await there(text(30), beams))).toEqual(right);
  poison = false;
  expect(plain(await there(text(30), beams))).toEqual(right);
  expect(there.info()).toMatchObject({ device: 'webgpu', gpu: { recomputed: 1 } });
  // A signal ends a call between two steps, and the next call is right.
  const written = await here(text(40), { max_new_tokens: 20 });
  for (const after of [0, 1]) {
    const controller = new AbortController();
    let heard = 0;
    const callback = () => {
      if (++heard > after) controller.abort();
    };
    if (after === 0) controller.abort();
    const options = { max_new_tokens: 20, signal: controller.signal, callback } as object;
    expect(await failure(there(text(40), options))).toMatchObject({ name: 'AbortError' });
    expect(await there(text(40), { max_new_tokens: 20 })).toEqual(written);
  }
  expect(there.info().gpu!.bytes).toBeGreaterThan(0);
  await there.dispose();
  expect(there.info().gpu!.bytes).toBe(0);
  expect(await failure(there(text(9)))).toMatchObject({ name: 'StateError' });
  await here.dispose();
});
/** Without numbers' last digits. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'number' ? Number(each.toPrecision(4)) : each)));

onGpu('a device that is lost at any step loses and doubles no token', async () => {
  const faults: Faults = {};
  const here = await load(llama(), { device: 'wasm' });
  const calls: [prompts: string[], options: object][] = [
    [[text(50)], { max_new_tokens: 8 }],
    [[text(20), text(3, 2)], { max_new_tokens: 5, num_beams: 2 }],
  ];
  let seed = 1;
  const random = (below: number) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % below;
  for (const [prompts, options] of calls) {
    const right = await here(prompts, options);
    const pipe = await loadWith(faults);
    for (let recovered = 1; recovered <= 3; ++recovered) {
      let submits = 0;
      const at = 1 + random(8);
      faults.onSubmit = (_, device) => {
        if (++submits === at) device.destroy();
      };
      expect(await pipe(prompts, options)).toEqual(right);
      expect(pipe.info()).toMatchObject({ device: 'webgpu', gpu: { recovered } });
    }
    // For the fourth time: the processor takes over, from the tokens so far.
    let submits = 0;
    faults.onSubmit = (_, device) => {
      if (++submits === 5) device.destroy();
    };
    expect(await pipe(prompts, options)).toEqual(right);
    expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/lost.*for the 4th time/) });
    expect(await pipe(prompts, options)).toEqual(right);
    delete faults.onSubmit;
    await pipe.dispose();
  }
  await here.dispose();
});

onGpu("the processor has no memory for a generation that is the GPU's, until it takes over", async () => {
  const faults: Faults = {};
  const pipe = await loadWith(faults);
  const here = await load(llama(), { device: 'wasm' });
  const right = await here(text(8), { max_new_tokens: 6 });
  expect(pipe.info().gpu!.processor_bytes).toBe(undefined); // nothing was generated
  expect(await pipe(text(8), { max_new_tokens: 6 })).toEqual(right);
  expect(pipe.info().gpu!.processor_bytes).toBe(0);
  let submits = 0;
  faults.onSubmit = (_, device) => void (++submits % 3 === 0 && device.destroy());
  expect(await pipe(text(8), { max_new_tokens: 6 })).toEqual(right);
  expect(pipe.info().device).toBe('wasm');
  expect(pipe.info().gpu!.processor_bytes).toBeGreaterThan(0);
  await pipe.dispose();
  await here.dispose();
});

/** An adapter that changes nothing: its second matrices are zero. */
function idleAdapter(): Map<string, Uint8Array> {
  const files = filesOf(join(goldens, 'peft/llama'));
  const bytes = files.get('adapter_model.safetensors')!;
  const begin = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, begin)));
  for (const [name, { data_offsets: offsets }] of Object.entries<any>(header))
    if (name.includes('lora_B')) bytes.fill(0, begin + offsets[0], begin + offsets[1]);
  return files;
}

onGpu('an adapter that is loaded while a text is written ends the GPU, and the text goes on', async (own) => {
  env.gpu = own;
  const here = await load(llama(), { device: 'wasm' });
  const right = await follow(here, text(20), 24);
  const pipe = await load(llama());
  let loading: Promise<void> | undefined;
  const options = { max_new_tokens: 24, min_new_tokens: 24, do_sample: false };
  const onStep = () => void (loading ??= pipe.load_adapter(idleAdapter()));
  const [{ tokens }] = (await pipe(text(20), { ...options, logits_processor: onStep })) as unknown as [{ tokens: number[] }];
  await loading;
  expect(tokens).toEqual(right.tokens);
  expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: 'an adapter was loaded' });
  expect(pipe.info().gpu!.processor_bytes).toBeGreaterThan(0); // it took over before the end
  await pipe.dispose();
  await here.dispose();
});

// A fault in each kernel that generation adds, and in what others have for it.
const lies: [kernel: string, find: RegExp, put: string, dtype: 'f32' | 'f16' | 'q8' | 'q4', model?: string][] = [
  ['a product for one or few rows', /total \+= sums\[/, 'total += 1.0001f * sums[', 'f32'],
  ['a product for one row', /(const ROWS = 1u;[^]*?)total \+= sums\[/, '$1total += 1.0001f * sums[', 'f32'],
  ['a product in q8 for one row', /(const ROWS = 1u;[^]*?)96 - i32/, '$195 - i32', 'q8'],
  ['a lane that is left out', /lane < LANES; lane\+\+\) \{ total \+=/, 'lane < LANES - 1u; lane++) { total +=', 'f32', 'wide'],
  ['a row of few that is another', /let a = x\[\(min\(row0 \+ r,/, 'let a = x[(min(row0 + (r ^ 1u),', 'f32'],
  ['few rows beyond the first four', /let row0 = group\.y \* ROWS;/, 'let row0 = group.y * 0u;', 'f32'],
  ['a product in q8 for few rows', /total = fma\(term\.x, term\.y, total\)/, 'total = fma(term.x, 1.01f * term.y, total)', 'q8'],
  ['a zero point for few rows', /term = vec2<f32>\(f32\(whole\[r\] \+ \(96/, 'term = vec2<f32>(f32(whole[r] + (95', 'q8'],
  ['a product in q4 for one row', /(const ROWS = 1u;[^]*?)own\.w/, '$1own.z', 'q4', 'wide'],
  ['a product in q4 for few rows', /(const ROWS = 4u;[^]*?)column % 4u\] >>/, '$1column % 2u] >>', 'q4', 'wide'],
  ['a product in f16 for one row', /(const ROWS = 1u;[^]*?)let w3 = four\(at \+ 6u/, '$1let w3 = four(at + 4u', 'f16', 'wide'],
  [
    'words of the head in f16',
    /\(row \/ 8u \* W \+ column\) \* 8u \+ row % 8u\) \/ 2u/,
    '(row / 8u * W + column) * 8u) / 2u',
    'f16',
    'wide',
  ],
  ['keys that are stored a row too far', /out\[\(place\.x \+ place\.y\) \* W/, 'out[(place.x + place.y + 1u) * W', 'f32'],
  ['values that are not stored', /\+ column\] = x\[token \* (\d+)u/, '+ column] = 0.0f * x[token * $1u', 'f32'],
  ['many queries that see a key too much', /k > query \+ 0u/, 'k > query + 1u', 'f32'],
  ['one query: a key that is left out', /let end = query \+ 1u;/, 'let end = query;', 'f32'],
  ['one query: scores that are off', /weights\[j\] = score;/, 'weights[j] = 1.01f * score;', 'f32'],
  ['one query: a tile whose sum is not scaled', /sum \*= before;\n {6}for \(var i = 0u; i < 1u/, 'for (var i = 0u; i < 1u', 'f32'],
  ['one query: the head of another', /q\[i\] = x\[token \* ROW \+ head \* D \+ i\]/, 'q[i] = x[token * ROW + i]', 'f32'],
  ['the rows of the head', /out\[at\] = x\[wanted\[token\] \* W \+ column\]/, 'out[at] = x[wanted[0] * W + column]', 'f32'],
  [
    'words of the head',
    /table\[\(row \/ 8u \* W \+ column\) \* 8u \+ row % 8u\]/,
    'table[(row / 8u * W + column) * 8u]',
    'f32',
    'wide',
  ],
  ['words of the head in q8', /column % 4u \* 8u, 8u\)\)\n/, 'column % 4u * 8u, 7u))\n', 'q8', 'wide'],
  ['a window that is one wider', /query > k \+ (\d)u/, 'query > k + $1u + 1u', 'f32', 'decoders/gemma3'],
  ['positions', /let first_at = positions\[token\] \*/, 'let first_at = (positions[token] + 1u) / 2u *', 'f32'],
];
describe('a kernel that lies', () => {
  (gpu ? test : test.skip).each(lies)('%s', async (_, find, put, dtype, model = 'decoders/llama') => {
    let changed = 0;
    const shader = (code: string) => {
      const lie = code.replace(find, put);
      if (lie !== code) ++changed;
      return lie;
    };
    const pipe = await loadWith({ shader }, decoder(model), { dtype });
    expect(changed).toBeGreaterThan(0);
    expect(pipe.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/are off by/) });
    await pipe.dispose();
  });
});

onGpu("what no GPU runs is the processor's, and says why", async (own) => {
  env.gpu = own;
  const text2text = await pipeline('text2text-generation', filesOf(join(goldens, 'seq2seq/t5')) as never, { device: 'webgpu' });
  expect(text2text.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(/processor/) });
  await text2text.dispose();
  for (const [options, why] of [
    [{ dtype: 'q16' }, /'q16'/],
    [{ kv_cache_dtype: 'q8' }, /kv_cache_dtype/],
  ] as const) {
    const [there, here] = [await load(llama(), options), await load(llama(), { ...options, device: 'wasm' })];
    expect(there.info()).toMatchObject({ device: 'wasm', device_reason: expect.stringMatching(why) });
    expect(await there(text(9))).toEqual(await here(text(9)));
    await there.dispose();
    await here.dispose();
  }
});

onGpu("device: 'auto' measures both, and the sooner one writes", async (own) => {
  env.gpu = own;
  const [pipe, here] = [await load(llama(), { device: 'auto' }), await load(llama(), { device: 'wasm' })];
  expect(pipe.info().gpu!.timing).toMatchObject({
    few: expect.any(Number),
    many: expect.any(Number),
    processor: expect.any(Number),
  });
  expect(await pipe(text(20))).toEqual(await here(text(20)));
  await pipe.dispose();
  await here.dispose();
});

const stories = join(root, '../shared/data/weights/stories260K-llama');
const real: [name: string, model: string][] = [
  ['stories260K-llama', stories],
  ['wattn-story', join(root, 'models/story/wattn-story.gguf')],
];
describe.each(real)('%s', (name, model) => {
  const there = existsSync(model);
  if (!there) console.warn(`skipped: no ${name}`);
  for (const dtype of ['f32', 'q8'] as const)
    (gpu && there ? test : test.skip)(`${dtype}: writes what the processor writes`, async () => {
      env.gpu = gpu;
      const [pipe, here] = [await load(model, { dtype }), await load(model, { dtype, device: 'wasm' })];
      const { device, device_reason, gpu: facts } = pipe.info() as ModelInfo;
      expect([device, device_reason]).toEqual(['webgpu', undefined]);
      const prompt = 'Once upon a time, there was a little';
      const right = await follow(here, prompt, 24);
      expectSame(await follow(pipe, prompt, 24, right.tokens), right, 4 * facts!.bound);
      for (const options of [
        { max_new_tokens: 12, num_beams: 2 },
        { max_new_tokens: 16, response_format: { type: 'regex', regex: ' (the cat|a dog) was [a-z]{3,9}\\.' } },
      ])
        expect(await pipe(prompt, options as object)).toEqual(await here(prompt, options as object));
      const bytes = pipe.info().gpu!.bytes;
      expect(bytes).toBeGreaterThan(0);
      await pipe.dispose();
      expect(pipe.info().gpu!.bytes).toBe(0);
      await here.dispose();
    });
});
