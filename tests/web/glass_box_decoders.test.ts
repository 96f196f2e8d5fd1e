// The internals of decoders and encoder-decoders in JavaScript, for rows of one batch. tests/native/tasks compares every number with torch's.
import { join } from 'node:path';
import { attention_rollout, AutoModelForCausalLM, AutoModelForSeq2SeqLM, Tensor, to_bertviz } from 'wattn';
import type { CausalModel, Seq2SeqModel } from 'wattn';
import { expectError, expectNear, goldens, readFloats, readJson } from './support.js';

const { cases } = readJson('insides/cases.json');
const floats = readFloats('insides/expected.f32');
const of = (name: string) => cases.find((one: any) => one.case === name);

/** The numbers of tools/goldens/insides.py. */
const values = (count: number) => Float32Array.from({ length: count }, (_, i) => (((7 * i) % 23) - 11) / 8);

/** A tensor of rows [n, width] in the second of two rows [2, seq, width], from column first on. */
function inSecondRow(rows: Float32Array, [tokens = 0, width = 0]: number[], seq: number, first: number): Tensor {
  const data = new Float32Array(2 * seq * width);
  data.set(rows.subarray(0, tokens * width), (seq + first) * width);
  return new Tensor('float32', data, [2, seq, width]);
}

/** The second row of [2, heads, seq, size] as [n, heads * size], from column first on. */
function packed({ data, dims: [, heads = 0, seq = 0, size = 0] }: Tensor, first: number, tokens: number): number[] {
  return Array.from({ length: tokens * heads * size }, (_, i) => {
    const [token, head, j] = [Math.floor(i / (heads * size)), Math.floor(i / size) % heads, i % size];
    return data[((heads + head) * seq + first + token) * size + j] as number;
  });
}

const expected = ({ offset, shape }: any) => floats.subarray(offset, offset + shape.reduce((a: number, b: number) => a * b, 1));
// The native test has the exact bound, of the worst tensor of a kind: a tensor may be luckier in torch than here.
const near = (got: ArrayLike<number>, { f32_diff, max_abs, ...about }: any) =>
  expectNear(got, expected(about), 2 * Math.max(f32_diff, max_abs * 2 ** -23));

describe('a decoder', () => {
  const golden = of('decoders/llama');
  const tokens = golden.input_ids.length;
  // The row of the goldens stands behind another, with padding before it.
  const inputs = {
    input_ids: [[1, 5, 6, 7, 8, 9, 10, 11], [0, 0, ...golden.input_ids]],
    attention_mask: [Array(8).fill(1), [0, 0, ...Array(tokens).fill(1)]],
  }; // prettier-ignore
  let model: CausalModel;
  beforeAll(async () => {
    model = await AutoModelForCausalLM.from_pretrained(join(goldens, 'decoders/llama'));
  });
  afterAll(() => model.dispose());

  it('shows queries, keys and values, of as many heads as there are', async () => {
    const { queries, keys, values: third } = await model(inputs, { output_qkv: true });
    expect([queries, keys, third].map((list) => list?.map(({ dims }) => dims))).toEqual([
      Array(2).fill([2, 4, 8, 6]),
      Array(2).fill([2, 2, 8, 6]),
      Array(2).fill([2, 2, 8, 6]),
    ]);
    for (const layer of [0, 1]) {
      near(packed(queries?.[layer] as Tensor, 2, tokens), golden.qkv[`layer.${layer}.attention.query`]);
      near(packed(keys?.[layer] as Tensor, 2, tokens), golden.qkv[`layer.${layer}.attention.key`]);
      near(packed(third?.[layer] as Tensor, 2, tokens), golden.qkv[`layer.${layer}.attention.value`]);
    }
  });

  it('is patched, and its heads scaled, as torch is', async () => {
    for (const { masks, patches, logits } of golden.changes) {
      const patch = Object.fromEntries(
        Object.entries(patches as Record<string, number[]>).map(([tap, shape]) => [
          tap,
          inSecondRow(values(shape[0]! * shape[1]!), shape, 8, 2),
        ]),
      );
      const out = await model(inputs, { patch, ...(masks.attention && { head_mask: masks.attention }) });
      near((out.logits as Tensor<'float32'>).data.subarray(14 * 59), logits);
    }
  });

  it('carries one run over into another, in a worker too', async () => {
    const seen = await model(inputs, { output_hidden_states: true });
    const other = { ...inputs, input_ids: inputs.input_ids.map((row) => row.map((id) => (id > 3 ? id + 1 : id))) };
    const patch = { 'layer.0.output': seen.hidden_states?.[1] as Tensor };
    expect((await model(other)).logits?.data).not.toEqual(seen.logits?.data);
    expect((await model(other, { patch })).logits?.data).toEqual(seen.logits?.data);
    const worker = await AutoModelForCausalLM.from_pretrained(join(goldens, 'decoders/llama'), { worker: true });
    const far = await worker(other, { patch, output_qkv: true, logit_lens: 2 });
    expect(Array.from(far.logits?.data as Float32Array)).toEqual(Array.from(seen.logits?.data as Float32Array));
    expect(far.logit_lens?.ids.dims).toEqual([3, 2, 8, 2]);
    await worker.dispose();
  });

  it('refuses what does not fit', async () => {
    const tensor = (...dims: number[]) => new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b)), dims);
    await expectError(model(inputs, { patch: { 'layer.2.output': tensor(2, 8, 24) } }), 'InputError', /'layer.2.output'/);
    await expectError(model(inputs, { patch: { 'layer.0.output': tensor(2, 7, 24) } }), 'InputError', /\[2,8,width\]/);
    await expectError(model(inputs, { patch: { 'layer.0.attention.key': tensor(2, 8, 24) } }), 'InputError', /12 numbers for each/);
    await expectError(model(inputs, { head_mask: [1, 1] }), 'InputError', /head_mask.*\[2, 4\]/);
    await expectError(model(inputs, { output_qkv: 1 as any }), 'InputError', /output_qkv/);
  });

  it('has attentions that roll out and that BertViz reads', async () => {
    const { attentions = [] } = await model(inputs, { output_attentions: true });
    const rollout = attention_rollout(attentions);
    expect(rollout.dims).toEqual([2, 8, 8]);
    const [row] = rollout.tolist() as number[][][];
    row?.forEach((shares, i) => {
      expect(shares.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
      expect(shares.slice(i + 1).every((share) => share === 0)).toBe(true); // nothing of what comes later
    });
    const { attention, total_heads } = to_bertviz(attentions, ['a', 'b', 'c']);
    expect([attention.map(({ name }) => name), total_heads]).toEqual([[null], 4]);
    expect(attention[0]?.attn[1]?.[3]?.[0]).toEqual([1, 0, 0]);
  });
});

describe('an encoder-decoder', () => {
  const golden = of('seq2seq/bart');
  const [source, target] = [golden.input_ids.length, golden.decoder_input_ids.length];
  const [read, written] = [source + 1, target + 2];
  const inputs = {
    input_ids: [Array(read).fill(7), [...golden.input_ids, 0]],
    attention_mask: [Array(read).fill(1), [...Array(source).fill(1), 0]],
    decoder_input_ids: [Array(written).fill(9), [...golden.decoder_input_ids, 0, 0]],
    decoder_attention_mask: [Array(written).fill(1), [...Array(target).fill(1), 0, 0]],
  };
  let model: Seq2SeqModel;
  beforeAll(async () => {
    model = await AutoModelForSeq2SeqLM.from_pretrained(join(goldens, 'seq2seq/bart'));
  });
  afterAll(() => model.dispose());

  it('shows queries, keys and values of all three attentions', async () => {
    const out = await model(inputs, { output_qkv: true });
    const check = (list: Tensor[] | undefined, tap: string, dims: number[], tokens: number) => {
      list?.forEach((tensor, i) => {
        expect(tensor.dims).toEqual(dims);
        near(packed(tensor, 0, tokens), golden.qkv[tap.replace('N', String(i))]);
      });
    };
    expect(out.encoder_queries?.length).toBe(2);
    expect(out.cross_keys?.length).toBe(3);
    check(out.encoder_queries, 'encoder.layer.N.attention.query', [2, 3, read, 8], source);
    check(out.encoder_keys, 'encoder.layer.N.attention.key', [2, 3, read, 8], source);
    check(out.encoder_values, 'encoder.layer.N.attention.value', [2, 3, read, 8], source);
    check(out.decoder_queries, 'decoder.layer.N.attention.query', [2, 2, written, 12], target);
    check(out.decoder_keys, 'decoder.layer.N.attention.key', [2, 2, written, 12], target);
    check(out.decoder_values, 'decoder.layer.N.attention.value', [2, 2, written, 12], target);
    check(out.cross_queries, 'decoder.layer.N.cross_attention.query', [2, 2, written, 12], target);
    check(out.cross_keys, 'decoder.layer.N.cross_attention.key', [2, 2, read, 12], source);
    check(out.cross_values, 'decoder.layer.N.cross_attention.value', [2, 2, read, 12], source);
  });

  it('is patched, and its heads scaled, as torch is', async () => {
    for (const { masks, patches, logits } of golden.changes) {
      const patch = Object.fromEntries(
        Object.entries(patches as Record<string, number[]>).map(([tap, shape]) => {
          const seq = shape[0] === source ? read : written;
          return [tap, inSecondRow(values(shape[0]! * shape[1]!), shape, seq, 0)];
        }),
      );
      const { logits: got } = await model(inputs, {
        patch,
        ...(masks['encoder.attention'] && { head_mask: masks['encoder.attention'] }),
        ...(masks['decoder.attention'] && { decoder_head_mask: masks['decoder.attention'] }),
        ...(masks['decoder.cross_attention'] && { cross_attn_head_mask: masks['decoder.cross_attention'] }),
      });
      near(got.data.subarray((written + target - 2) * 96, (written + target) * 96), logits);
    }
  });

  it('says what its head makes of each layer', async () => {
    const { logit_lens, logits } = await model(inputs, { logit_lens: 3 });
    expect(logit_lens?.ids.dims).toEqual([4, 2, written, 3]);
    const found = logit_lens?.ids.slice(null, 1, [0, target]).data as Int32Array;
    golden.lens.ids.forEach((id: number, i: number) => expect([i, id < 0 ? id : found[i]]).toEqual([i, id]));
    near(logit_lens?.logits.slice(null, 1, [0, target]).data as Float32Array, golden.lens);
    const row = logits.data.subarray(0, 96);
    expect(logit_lens?.logits.slice(3, 0, 0, 0).data[0]).toBe(Math.max(...row));
  });

  it('refuses what does not fit', async () => {
    const tensor = (...dims: number[]) => new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b)), dims);
    const refused = (patch: Record<string, Tensor>, message: RegExp) =>
      expectError(model(inputs, { patch }), 'InputError', message);
    await refused({ 'layer.0.output': tensor(2, written, 24) }, /begin with 'encoder.' or 'decoder.', found 'layer.0.output'/);
    await refused({ 'encoder.layer.0.output': tensor(2, written, 24) }, new RegExp(`\\[2,${read},width\\]`));
    await refused({ 'decoder.layer.0.cross_attention.key': tensor(2, written, 24) }, new RegExp(`\\[2,${read},width\\]`));
    await refused({ 'decoder.layer.3.output': tensor(2, written, 24) }, /'decoder.layer.3.output'/);
    await expectError(model(inputs, { head_mask: [1, 1] }), 'InputError', /'head_mask'.*\[2, 3\]/);
    await expectError(model(inputs, { decoder_head_mask: [1] }), 'InputError', /'decoder_head_mask'.*\[3, 2\]/);
    await expectError(model(inputs, { cross_attn_head_mask: [1] }), 'InputError', /'cross_attn_head_mask'.*\[3, 2\]/);
  });

  it('becomes what BertViz reads of encoder-decoders', async () => {
    const out = await model(inputs, { output_attentions: true });
    const tokens = { encoder_tokens: ['x', 'y'], decoder_tokens: ['a', 'b', 'c'] };
    const { attention, include_layers, total_heads } = to_bertviz(out, tokens, 1);
    const sizes = attention.map(({ name, attn, left_text, right_text }) => [
      name,
      [attn.length, attn[0]?.length, attn[0]?.[0]?.length, attn[0]?.[0]?.[0]?.length],
      left_text.length,
      right_text.length,
    ]);
    expect(sizes).toEqual([['Encoder', [2, 3, 2, 2], 2, 2], ['Decoder', [3, 2, 3, 3], 3, 3], ['Cross', [3, 2, 3, 2], 3, 2]]); // prettier-ignore
    expect([include_layers, total_heads]).toEqual([[0, 1, 2], 3]);
    const cross = out.cross_attentions?.[2]?.data as Float32Array;
    expect(attention[2]?.attn[2]?.[1]?.[2]).toEqual(
      Array.from(cross.subarray((3 * written + 2) * read, (3 * written + 2) * read + 2)),
    );
    await expectError(() => to_bertviz({}, tokens), 'InputError', /output_attentions/);
    await expectError(() => to_bertviz(out, { encoder_tokens: Array(99).fill('a') }), 'InputError', /99 tokens/);
  });

  it('rolls out over decoder and source, shares that add up to one', async () => {
    const { target: own, source: from } = attention_rollout(await model(inputs, { output_attentions: true }));
    expect([own.dims, from.dims]).toEqual([[2, written, written], [2, written, read]]); // prettier-ignore
    const [owned, given] = [own, from].map((tensor) => (tensor.tolist() as number[][][])[0]) as [number[][], number[][]];
    owned.forEach((shares, i) => expect([...shares, ...(given[i] as number[])].reduce((a, b) => a + b)).toBeCloseTo(1, 5));
    // By hand, of made-up attentions: one head, one layer each, one token of a decoder, two of a source.
    const one = (...rows: number[][]) => [
      new Tensor('float32', Float32Array.from(rows.flat()), [1, 1, rows.length, rows[0]!.length]),
    ];
    const small = attention_rollout({
      encoder_attentions: one([1, 0], [0.5, 0.5]), // rolls out to [1, 0], [1/4, 3/4]
      decoder_attentions: one([1]),
      cross_attentions: one([0.5, 0.5]), // half the token itself, a quarter of each of the source's
    });
    expect(small.target.tolist()).toEqual([[[0.5]]]);
    expect(small.source.tolist()).toEqual([[[0.25 + 0.25 * 0.25, 0.25 * 0.75]]]);
    await expectError(() => attention_rollout({ encoder_attentions: one([1]) }), 'InputError', /attention_rollout/);
  });
});

describe('a decoder whose layers are not alike', () => {
  it('shows the insides that its layers have, as Python does', async () => {
    const folder = join(goldens, 'variants/decoders/lfm2'); // the second of four layers has attention, the others short convolutions
    const model = await AutoModelForCausalLM.from_pretrained(folder);
    const { inputs } = readJson('variants/decoders/lfm2/expected.json');
    const all = readFloats('variants/decoders/lfm2/expected.f32');
    const { input_ids, tensors } = inputs[0];
    const out = await model({ input_ids: [input_ids] }, { output_attentions: true, output_hidden_states: true, output_qkv: true });
    expect(out.hidden_states).toHaveLength(5);
    expect([out.attentions, out.queries, out.keys, out.values].map((one) => one!.length)).toEqual([1, 1, 1, 1]);
    const { offset, shape } = tensors['attentions.1'];
    expect(out.attentions![0]!.dims).toEqual([1, ...shape]);
    expectNear(out.attentions![0]!.data, all.subarray(offset, offset + out.attentions![0]!.data.length), 1e-5);
    const patch = {
      'layer.0.attention.query': new Tensor('float32', new Float32Array(24 * input_ids.length), [1, input_ids.length, 24]),
    };
    await expectError(model({ input_ids: [input_ids] }, { patch }), 'InputError', /found 'layer.0.attention.query'/);
    await model.dispose();
  });
});
