// Quantized safetensors: each method's numbers bit for bit, the models' results, and every rejected file.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoModel, AutoModelForCausalLM, describeModel, env, inspectModel, packModel, Tensor, type ModelSpecifier } from 'wattn';
import { fuzz } from '../fuzz/quantized_fuzz.js';
import { kIndex, plainTensors, quantizedFiles } from './quantized_files.js';
import { id, RangeHub } from './range_hub.js';
import { changed, floats, readTensors, type TensorEntry } from './safetensors.js';
import { expectError, largestDifference, readJson, textOf, type Files } from './support.js';

const kWeights = 'model.safetensors';
const { input_ids, cases } = readJson('quantized/expected.json') as {
  input_ids: number[][];
  cases: Record<string, { weights: Record<string, string>; hidden: number[] }>;
};
const names = Object.keys(cases);
const encode = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function hiddenOf(model: ModelSpecifier, options = {}): Promise<number[]> {
  const loaded = await AutoModel.from_pretrained(model, options);
  const ids = new Tensor('int64', BigInt64Array.from(input_ids[0]!, BigInt), [1, input_ids[0]!.length]);
  const { last_hidden_state } = await loaded({ input_ids: ids });
  await loaded.dispose();
  return [...(last_hidden_state as Tensor).data] as number[];
}

/** A model with the configuration's quantization changed. */
function withConfig(files: Files, change: (config: any) => void): Files {
  const config = JSON.parse(textOf(files, 'config.json'));
  change(config);
  return new Map(files).set('config.json', encode(config));
}

const withTensors = (name: string, change: (tensors: Map<string, TensorEntry>) => void): Files => {
  const files = quantizedFiles(name);
  return files.set(kWeights, changed(files.get(kWeights)!, change));
};

describe('quantized safetensors', () => {
  it.each(names)('of %s are the numbers of the method, bit for bit', async (name) => {
    const files = quantizedFiles(name);
    const before = new Map(
      [...files].filter(([file]) => file.endsWith('.safetensors')).flatMap(([, bytes]) => [...readTensors(bytes)]),
    );
    for (const [step, parts] of [
      [1 << 20, true],
      [777, true],
      [4096, false],
    ] as const) {
      const { tensors, config } = await plainTensors(files, step, parts);
      const { weights } = cases[name]!;
      expect(Object.keys(weights).length).toBeGreaterThan(5);
      for (const [tensor, hash] of Object.entries(weights)) {
        expect(`${tensor} ${tensors.get(tensor)!.dtype} ${sha256(tensors.get(tensor)!.bytes)}`).toBe(`${tensor} F32 ${hash}`);
      }
      for (const [other, { dtype, shape, bytes }] of tensors) {
        const is = { dtype, shape, bytes: sha256(bytes) };
        if (!(other in weights)) expect(is).toEqual({ ...before.get(other), bytes: sha256(before.get(other)!.bytes) });
      }
      expect([...tensors.keys()].filter((other) => !/(weight|bias)$/.test(other))).toEqual([]);
      expect(Object.keys(config).filter((key) => /quantization/.test(key))).toEqual([]);
    }
  });

  it.each(names)('of %s answer as torch does', async (name) => {
    const { hidden } = cases[name]!;
    expect(largestDifference(await hiddenOf(quantizedFiles(name)), hidden)).toBeLessThan(2e-5);
    const held = await hiddenOf(quantizedFiles(name), { dtype: 'q8' });
    const difference = largestDifference(held, hidden);
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(0.5);
  });

  it('are described, inspected, packed and run in a worker', async () => {
    const files = quantizedFiles('mlx');
    expect(await describeModel(files)).toMatchObject({ model_type: 'llama', kind: 'decoder' });
    expect((await inspectModel(files)).parameters).toBeGreaterThan(90_000);
    const folder = mkdtempSync(join(tmpdir(), 'wattn-quantized-'));
    try {
      const packed = join(folder, 'packed.gguf');
      writeFileSync(packed, await packModel(files, { dtype: 'f32' }));
      expect(await hiddenOf(packed)).toEqual(await hiddenOf(files));
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(await hiddenOf(files, { worker: true })).toEqual(await hiddenOf(files));
  });

  it('generate', async () => {
    const model = await AutoModelForCausalLM.from_pretrained(quantizedFiles('bnb-nf4'));
    const out = await model.generate({ input_ids: input_ids, max_new_tokens: 3, do_sample: false });
    expect((out as Tensor).dims[1]).toBeGreaterThan(input_ids[0]!.length);
    await model.dispose();
  });
});

describe('quantized safetensors of a server', () => {
  const before = { ...env };
  afterEach(() => void Object.assign(env, before));

  it.each(['mlx', 'fp8-blocks', 'bnb-nf4'])('are streamed, and their scales read before: %s', async (name) => {
    const hub = new RangeHub(quantizedFiles(name));
    env.useCache = false;
    await hub.start();
    try {
      for (const ranges of [true, false]) {
        hub.ranges = ranges;
        expect(await hiddenOf(id)).toEqual(await hiddenOf(quantizedFiles(name)));
      }
    } finally {
      await hub.stop();
    }
  });
});

describe('what is refused', () => {
  const kModel = 'model.layers.0.self_attn.q_proj';
  const wrongly: [string, string, (tensors: Map<string, TensorEntry>) => void, RegExp][] = [
    ['mlx-8', 'no scales', (t) => t.delete(`${kModel}.scales`), /model\.safetensors: tensor 'model\.layers\.0\.self_attn\.q_proj\.weight': expected the tensor '.*q_proj\.scales' beside it, found none/], // prettier-ignore
    ['mlx-8', 'no biases', (t) => t.delete(`${kModel}.biases`), /q_proj\.biases' beside it, found none/],
    ['fp8-blocks', 'no scale', (t) => t.delete(`${kModel}.weight_scale_inv`), /q_proj\.weight': expected the tensor '.*weight_scale_inv' or '.*weight_scale' beside it, found none/], // prettier-ignore
    ['bnb-int8', 'no SCB', (t) => t.delete('encoder.layer.0.attention.self.query.SCB'), /query\.SCB' beside it, found none/],
    ['bnb-fp4', 'no state', (t) => t.delete(`${kModel}.weight.quant_state.bitsandbytes__fp4`), /quant_state\.bitsandbytes__nf4' \(or fp4\) beside it/], // prettier-ignore
    ['bnb-fp4', 'no absmax', (t) => t.delete(`${kModel}.weight.absmax`), /weight\.absmax' beside it, found none/],
    ['bnb-fp4', 'a state that is no JSON', (t) => void (t.get(`${kModel}.weight.quant_state.bitsandbytes__fp4`)!.bytes[0] = 65), /expected JSON with the shape and blocksize of a matrix, found A/], // prettier-ignore
    ['gptq-8', 'no zeros', (t) => t.delete(`${kModel}.qzeros`), /q_proj\.qzeros' beside it, found none/],
    ['gptq-8', 'a group beyond the last', (t) => void t.get(`${kModel}.g_idx`)!.bytes.set([9], 12), /g_idx': expected groups below 2, found 9 at 3/], // prettier-ignore
    ['awq', 'no scales', (t) => t.delete(`${kModel}.scales`), /q_proj\.scales' beside it, found none/],
    ['int4-packed-rows', 'no shape', (t) => t.delete(`${kModel}.weight_shape`), /q_proj\.weight_shape' beside it, found none/],
    ['int4-packed-rows', 'another shape', (t) => void t.get(`${kModel}.weight_shape`)!.bytes.set([99], 8), /expected the bits of \[40, 99\] in 4 bits, found shape \[40, 5\]/], // prettier-ignore
    ['mlx-8', 'scales of another shape', (t) => void t.set(`${kModel}.scales`, floats([64, 2], () => 1)), /scales': expected shape \[64, 1\], found \[64, 2\]/], // prettier-ignore
    ['fp8-blocks', 'scales of another shape', (t) => void t.set(`${kModel}.weight_scale_inv`, floats([3, 2], () => 1)), /weight_scale_inv': expected a scale for the whole, or for each row or block, of \[64, 64\], found shape \[3, 2\]/], // prettier-ignore
    ['mlx-8', 'a scale that is NaN', (t) => void t.set(`${kModel}.scales`, floats([64, 1], (i) => (i === 7 ? NaN : 1))), /scales': expected finite numbers, found NaN at 7/], // prettier-ignore
    ['awq', 'an infinite scale', (t) => void t.set(`${kModel}.scales`, floats([2, 64], () => Infinity)), /scales': expected finite numbers, found Infinity at 0/], // prettier-ignore
    ['fp8-blocks', 'a value that is NaN', (t) => void (t.get(`${kModel}.weight`)!.bytes[5] = 127), /q_proj\.weight': expected finite numbers, found NaN at row 0, column 5/], // prettier-ignore
    ['bnb-int8', 'scales of another type', (t) => void (t.get('encoder.layer.0.attention.self.query.SCB')!.dtype = 'I32'), /SCB': expected F32 or F16 or BF16 or F64, found I32/], // prettier-ignore
  ];
  it.each(wrongly)('%s: %s', async (name, _, change, message) => {
    await expectError(hiddenOf(withTensors(name, change)), 'ModelFormatError', message);
  });

  it.each(names)('%s cut off anywhere', async (name) => {
    const files = quantizedFiles(name);
    const [file, bytes] = [...files].filter(([each]) => each.endsWith('.safetensors')).at(-1)!;
    for (const part of [0.5, 0.9]) {
      const cut = new Map(files).set(file, bytes.subarray(0, Math.floor(part * bytes.length)));
      await expectError(hiddenOf(cut), 'ModelFormatError', new RegExp(`${file}: expected`));
    }
  });

  const settings: [string, string, (config: any) => void, RegExp][] = [
    ['gptq', '3 bits', (c) => void (c.bits = 3), /quantization_config\.bits: expected 2 or 4 or 8, found 3 \(quantized weights\)/],
    ['gptq', 'marlin', (c) => void (c.checkpoint_format = 'marlin'), /checkpoint_format: expected 'gptq' or 'gptq_v2', found 'marlin'/],
    ['awq', 'gemv', (c) => void (c.version = 'gemv'), /version: expected 'gemm', found 'gemv'/],
    ['mlx', 'another mode', (c) => void (c.mode = 'mxfp4'), /mode: expected 'affine', found 'mxfp4'/],
    ['mlx', '7 bits', (c) => void (c.bits = 7), /bits: expected 2 or 3 or 4 or 5 or 6 or 8, found 7/],
    ['fp8-blocks', 'a block of one size', (c) => void (c.weight_block_size = [128]), /weight_block_size: expected two numbers/],
    ['int4-packed', 'fp4', (c) => void (c.format = 'nvfp4-pack-quantized'), /format: expected .*'pack-quantized'.*, found 'nvfp4-pack-quantized'/],
    ['int4-packed', '3 bits', (c) => void (c.config_groups.group_0.weights.num_bits = 3), /num_bits: expected 2 or 4 or 8, found 3/],
    ['int4-packed', 'sparsity', (c) => void (c.sparsity_config = { format: 'sparse-24-bitmask' }), /sparsity_config\.format: expected 'dense'/],
    ['bnb-int8', 'hqq', (c) => void (c.quant_method = 'hqq'), /quant_method: expected one of awq, bitsandbytes, .*, found 'hqq'/],
  ]; // prettier-ignore
  it.each(settings)('%s with %s', async (name, _, change, message) => {
    const files = withConfig(quantizedFiles(name), (config) => change(config.quantization_config ?? config.quantization));
    await expectError(hiddenOf(files), 'UnsupportedError', message);
    await expectError(describeModel(files), 'UnsupportedError', message);
  });

  it('names the original', async () => {
    const files = withConfig(quantizedFiles('awq'), (config) => void (config.quantization_config.quant_method = 'aqlm'));
    await expectError(hiddenOf(files), 'UnsupportedError', /load the repository that it was made from, which it does not name/);
    files.set('README.md', new TextEncoder().encode('---\nbase_model:\n- Qwen/Qwen2-Tiny\n---\n'));
    await expectError(
      hiddenOf(files),
      'UnsupportedError',
      /load its original \(base_model in README\.md\): pipeline\(\.\., 'Qwen\/Qwen2-Tiny'\)/,
    );
  });

  it('GPT-2, whose matrices are the other way round', async () => {
    const files = withConfig(quantizedFiles('awq'), (config) => void (config.model_type = 'gpt2'));
    await expectError(hiddenOf(files), 'UnsupportedError', /expected none where model_type is 'gpt2', found 'awq'/);
  });

  it('an index that names a shard which is not there', async () => {
    const files = quantizedFiles('mlx');
    expect(files.has(kIndex)).toBe(true);
    files.delete('model-00002-of-00003.safetensors');
    await expectError(hiddenOf(files), 'ModelFormatError', /model-0000\d-of-00003\.safetensors: /);
  });

  it('damage of any kind, with a typed error', async () => {
    const { rounds, valid } = await fuzz(1, (round) => round < 400);
    expect(rounds).toBe(400);
    expect(valid).toBeGreaterThan(5);
    expect(valid).toBeLessThan(395);
  });
});
