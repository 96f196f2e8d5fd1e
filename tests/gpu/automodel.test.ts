// AutoModel and its variants with device: 'webgpu' against the processor: last states, logits and generate() on a GPU, all else on the processor.
import { join } from 'node:path';
import {
  AutoModel,
  AutoModelForCausalLM,
  AutoModelForMaskedLM,
  AutoModelForSequenceClassification,
  AutoModelForTokenClassification,
  env,
  type ModelOutput,
  type Tensor,
} from 'wattn';
import { failure, filesOf, goldens, headFiles } from '../web/support.js';
import { faulty, findGpu, type Faults } from './gpu_support.js';

const gpu = await findGpu();
const onGpu = (name: string, run: (gpu: GPU) => Promise<void>) => (gpu ? test : test.skip)(name, () => run(gpu!));
afterEach(() => {
  env.gpu = undefined;
});

/** Ids of a vocabulary of at least 28. */
const row = (count: number, first = 0) => Array.from({ length: count }, (_, i) => 2 + ((first + 7 * i + i * i) % 26));
/** Rows of several lengths, with zeros behind them, and their masks. */
function rowsOf(lengths: readonly number[]) {
  const longest = Math.max(...lengths);
  const fill = (i: number, values: number[]) => [...values, ...new Array<number>(longest - lengths[i]!).fill(0)];
  return {
    input_ids: lengths.map((count, i) => fill(i, row(count, i))),
    attention_mask: lengths.map((count, i) => fill(i, new Array<number>(count).fill(1))),
  };
}

/** How far rows of a are from those of b, over the lengths of the latter: the root of the mean square. Rows of zeros are left out. */
function distance(a: Tensor<'float32'>, b: Tensor<'float32'>): number {
  expect(a.dims).toEqual(b.dims);
  const width = a.dims[a.dims.length - 1]!;
  const all: number[] = [];
  for (let begin = 0; begin < a.data.length; begin += width) {
    let difference = 0;
    let length = 0;
    for (let i = begin; i < begin + width; ++i) {
      difference += (a.data[i]! - b.data[i]!) ** 2;
      length += b.data[i]! ** 2;
    }
    if (length === 0) expect(difference).toBe(0);
    else all.push(difference / length);
  }
  return Math.sqrt(all.reduce((sum, each) => sum + each, 0) / all.length);
}
const same = (a: Tensor<'float32'>, b: Tensor<'float32'>) => Buffer.from(a.data.buffer).equals(Buffer.from(b.data.buffer));

const encoders = {
  'without a head': () => [AutoModel, filesOf(join(goldens, 'architectures/roberta'))], // it has no tokenizer
  'with a pooler': () => [AutoModel, filesOf(join(goldens, 'bert-tiny/model'))],
  'for sequences': () => [AutoModelForSequenceClassification, headFiles('sequence')],
  'for tokens': () => [AutoModelForTokenClassification, headFiles('token')],
  'for masked words': () => [AutoModelForMaskedLM, headFiles('masked_lm')],
} as const;

describe.each(Object.entries(encoders))('an encoder %s', (_, files) => {
  onGpu("has the processor's outputs within the bound, and the same bits alone and in a batch", async (own) => {
    let submits = 0;
    env.gpu = faulty(own, { onSubmit: () => void ++submits });
    const load = (device: string) => {
      const [from, model] = files();
      return (from as typeof AutoModel).from_pretrained(model as never, { device });
    };
    const [there, here] = [await load('webgpu'), await load('wasm')];
    const { device, device_reason, gpu: facts } = there.info();
    expect([device, device_reason]).toEqual(['webgpu', undefined]);
    const inputs = rowsOf([9, 33, 1, 20]);
    const before = submits;
    const [a, b] = [await there(inputs), await here(inputs)];
    expect(submits).toBeGreaterThan(before);
    expect(Object.keys(a).sort()).toEqual(Object.keys(b).sort());
    for (const name of ['last_hidden_state', 'pooler_output', 'logits'] as const) {
      if (!b[name]) continue;
      const off = distance(a[name]!, b[name]!);
      // A number of a head is a sum of products of a state with weights, of some 32 numbers of about 1.
      expect(off).toBeLessThanOrEqual((name === 'last_hidden_state' ? 1 : 32) * facts!.bound);
      if (name === 'last_hidden_state') expect(off).toBeGreaterThan(0); // it was another machine
    }
    for (const [i, length] of [9, 33, 1, 20].entries()) {
      const alone = await there({ input_ids: [row(length, i)] });
      const width = alone.last_hidden_state.dims[2]!;
      const whole = a.last_hidden_state.data.subarray(i * 33 * width, (i * 33 + length) * width);
      expect(Buffer.from(alone.last_hidden_state.data.buffer).equals(Buffer.from(whole.slice().buffer))).toBe(true);
    }
    expect(there.info().gpu!.processor_passes).toBe(undefined);
    // What a GPU does not give is the processor's.
    const left = { input_ids: [[0, 0, ...row(5)]], attention_mask: [[0, 0, 1, 1, 1, 1, 1]] };
    const more: (readonly [object, object])[] = [
      [inputs, { output_hidden_states: true }],
      [inputs, { output_attentions: true }],
      [inputs, { output_qkv: true }],
      [left, {}],
    ];
    for (const [i, [given, options]] of more.entries()) {
      const [own, right] = [await there(given as never, options), await here(given as never, options)];
      expect(Object.keys(own).sort()).toEqual(Object.keys(right).sort());
      expect(same(own.last_hidden_state, right.last_hidden_state)).toBe(true);
      expect(there.info().gpu!.processor_passes).toBe(i + 1);
    }
    expect(await failure(there({ input_ids: [[5, 1e6]] }))).toMatchObject({ name: 'InputError' });
    expect(there.info().device).toBe('webgpu');
    await there.dispose();
    await here.dispose();
  });
});

const llama = () => filesOf(join(goldens, 'decoders/llama')); // it has no tokenizer
const loadCausal = (device: string, options: object = {}) =>
  AutoModelForCausalLM.from_pretrained(llama() as never, { device, ...options });

describe.each(['f32', 'q8', 'q4'] as const)('a decoder in %s', (dtype) => {
  onGpu("has the processor's states and logits within the bound, and its tokens", async (own) => {
    let submits = 0;
    env.gpu = faulty(own, { onSubmit: () => void ++submits });
    const [there, here] = [await loadCausal('webgpu', { dtype }), await loadCausal('wasm', { dtype })];
    const { device, device_reason, gpu: facts } = there.info();
    expect([device, device_reason]).toEqual(['webgpu', undefined]);
    const inputs = rowsOf([9, 41, 1, 70]);
    const [a, b] = [await there(inputs), await here(inputs)];
    expect(Object.keys(a).sort()).toEqual(Object.keys(b).sort());
    for (const name of ['last_hidden_state', 'logits'] as const) {
      const off = distance(a[name]!, b[name]!);
      expect(off).toBeLessThanOrEqual(4 * facts!.bound); // a row may be off by more than the mean
      expect(off).toBeGreaterThan(0);
    }
    const again: ModelOutput = await there({ input_ids: [row(70, 3)] });
    expect(Buffer.from(again.logits!.data.buffer)).toEqual(Buffer.from(a.logits!.data.slice(-again.logits!.data.length).buffer));
    const before = submits;
    const options = { max_new_tokens: 8, do_sample: false };
    const input_ids = [row(30)];
    const [made, right] = [
      await there.generate({ input_ids, ...options } as never),
      await here.generate({ input_ids, ...options } as never),
    ];
    expect(submits).toBeGreaterThan(before);
    if (dtype === 'f32') expect((made as Tensor).tolist()).toEqual((right as Tensor).tolist());
    else expect((made as Tensor).dims).toEqual((right as Tensor).dims);
    expect(there.info().gpu!.processor_passes).toBe(undefined);
    const states = { output_hidden_states: true };
    expect(same((await there({ input_ids }, states)).logits!, (await here({ input_ids }, states)).logits!)).toBe(true);
    expect(there.info().gpu!.processor_passes).toBe(1);
    expect(((await there.generate({ input_ids, ...options } as never)) as Tensor).tolist()).toEqual((made as Tensor).tolist());
    expect(await failure(there({ input_ids: [[5, 1e6]] }))).toMatchObject({ name: 'InputError' });
    expect(there.info().device).toBe('webgpu');
    await there.dispose();
    await here.dispose();
  });
});

onGpu(
  'a device that is lost in a pass is found again, and numbers that are not finite are computed on the processor',
  async (own) => {
    let lose = 0;
    let poison = false;
    const faults: Faults = {
      onSubmit(_, device) {
        if (lose > 0 && --lose === 0) device.destroy();
      },
      onRead(values) {
        if (poison) values[5] = NaN;
        poison = false;
      },
    };
    env.gpu = faulty(own, faults);
    const [there, here] = [await loadCausal('webgpu'), await loadCausal('wasm')];
    const input_ids = [row(60)];
    const right = await there({ input_ids });
    for (const [i, at] of [1, 3].entries()) {
      lose = at;
      const found = await there({ input_ids });
      for (const name of ['last_hidden_state', 'logits'] as const) expect(same(found[name]!, right[name]!)).toBe(true);
      expect(there.info()).toMatchObject({ device: 'webgpu', gpu: { recovered: i + 1 } });
    }
    poison = true;
    const found = await there({ input_ids }, { output_logits: false } as object);
    expect(same(found.last_hidden_state, (await here({ input_ids })).last_hidden_state)).toBe(true);
    expect(there.info().gpu).toMatchObject({ recomputed: 1 });
    await there.dispose();
    expect(await failure(there({ input_ids }))).toMatchObject({ name: 'StateError' });
    await here.dispose();
  },
);

onGpu("device: 'auto' measures both without a tokenizer", async (own) => {
  env.gpu = own;
  const timing = { few: expect.any(Number), many: expect.any(Number), processor: expect.any(Number) };
  for (const [name, files] of [
    [AutoModel, filesOf(join(goldens, 'architectures/roberta'))],
    [AutoModelForCausalLM, llama()],
  ] as const) {
    const load = (options: object) => (name as typeof AutoModel).from_pretrained(files as never, options);
    const [pipe, here] = [await load({ device: 'auto' }), await load({})];
    expect(pipe.info().gpu!.timing).toMatchObject(timing);
    const [a, b] = [await pipe({ input_ids: [row(9)] }), await here({ input_ids: [row(9)] })];
    expect(distance(a.last_hidden_state, b.last_hidden_state)).toBeLessThanOrEqual(4 * pipe.info().gpu!.bound);
    await pipe.dispose();
    await here.dispose();
  }
});
