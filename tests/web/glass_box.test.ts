import { AutoModel, AutoModelForMaskedLM, Tensor, type Model } from 'wattn';
import { expectError, expectNear, headFiles, tiny } from './support.js';

let model: Model;
beforeAll(async () => {
  model = await AutoModel.from_pretrained(tiny);
});
afterAll(() => model.dispose());

// The second row is shorter; its padding does not run.
const inputs = {
  input_ids: [
    [2, 96, 275, 305, 3],
    [2, 158, 3, 0, 0],
  ],
  attention_mask: [
    [1, 1, 1, 1, 1],
    [1, 1, 1, 0, 0],
  ],
};

describe('queries, keys and values', () => {
  it('are what the attentions are made of', async () => {
    const { queries, keys, attentions } = await model(inputs, { output_qkv: true, output_attentions: true });
    expect(queries?.map((layer) => layer.dims)).toEqual([[2, 4, 5, 8], [2, 4, 5, 8]]); // prettier-ignore
    for (const layer of [0, 1]) {
      for (const [row, count] of [5, 3].entries()) {
        const [q, k] = [queries, keys].map((list) => (list?.[layer] as Tensor).slice(row, 2, [0, count]).tolist() as number[][]);
        const probs = q!.flatMap((query) => {
          const e = k!.map((key) => Math.exp(query.reduce((sum, x, i) => sum + x * key[i]!, 0) / Math.sqrt(8)));
          return e.map((x) => x / e.reduce((a, b) => a + b));
        });
        // Rounded scores of size 10 at most, and as many roundings again in the softmax.
        expectNear(
          (attentions?.[layer] as Tensor<'float32'>).slice(row, 2, [0, count], [0, count]).data,
          Float32Array.from(probs),
          20 * 2 ** -24,
        );
      }
    }
  });
});

describe('head_mask', () => {
  it('of zeros takes a layer out as a patch of its context does', async () => {
    const masked = await model(inputs, { head_mask: [[1, 1, 1, 1], [0, 0, 0, 0]], output_attentions: true }); // prettier-ignore
    const zeros = new Tensor('float32', new Float32Array(2 * 5 * 32), [2, 5, 32]);
    const patched = await model(inputs, { patch: { 'layer.1.attention.context': zeros } });
    expect(masked.last_hidden_state.data).toEqual(patched.last_hidden_state.data);
    expect(masked.attentions?.[1]?.data.every((x) => x === 0)).toBe(true);
    expect(masked.attentions?.[0]?.data.some((x) => x > 0)).toBe(true);
  });

  it('of ones changes no bit, in either form', async () => {
    const plain = await model(inputs);
    for (const head_mask of [[1, 1, 1, 1], new Tensor('float32', new Float32Array(8).fill(1), [2, 4])]) {
      expect((await model(inputs, { head_mask })).last_hidden_state.data).toEqual(plain.last_hidden_state.data);
    }
    await expectError(model(inputs, { head_mask: [1, 1] }), 'InputError', /head_mask.*\[2, 4\]/);
    await expectError(model(inputs, { head_mask: {} as any }), 'InputError', /head_mask/);
  });
});

describe('patch', () => {
  it('carries one run over into another', async () => {
    const source = await model(inputs, { output_hidden_states: true });
    const other = { ...inputs, input_ids: inputs.input_ids.map((row) => row.map((id) => (id > 3 ? id + 1 : id))) };
    const patch = { 'layer.0.output': source.hidden_states?.[1] as Tensor };
    expect((await model(other)).last_hidden_state.data).not.toEqual(source.last_hidden_state.data);
    expect((await model(other, { patch })).last_hidden_state.data).toEqual(source.last_hidden_state.data);
    const worker = await AutoModel.from_pretrained(tiny, { worker: true });
    const far = (await worker(other, { patch })).last_hidden_state.data; // an array of another realm
    expect(Array.from(far)).toEqual(Array.from(source.last_hidden_state.data));
    await worker.dispose();
  });

  it('refuses names and shapes that are not the model', async () => {
    const tensor = (...dims: number[]) => new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b)), dims);
    await expectError(model(inputs, { patch: { 'layer.2.output': tensor(2, 5, 32) } }), 'InputError', /'layer.2.output'/);
    await expectError(model(inputs, { patch: { 'layer.0.output': tensor(2, 4, 32) } }), 'InputError', /\[2,5,width\]/);
    await expectError(model(inputs, { patch: { 'layer.0.output': tensor(2, 5, 31) } }), 'InputError', /32 numbers for each/);
    await expectError(model(inputs, { patch: { 'layer.0.output': null as any } }), 'InputError', /null/);
  });
});

describe('the logit lens of a masked model', () => {
  it('ends in its logits, and is the same in a worker', async () => {
    const masked = await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm'));
    const { logit_lens, logits, hidden_states } = await masked(inputs, { logit_lens: 2 });
    expect(hidden_states).toBeUndefined();
    expect(logit_lens?.ids.dims).toEqual([3, 2, 5, 2]);
    for (const [row, count] of [5, 3].entries()) {
      for (let i = 0; i < count; ++i) {
        const own = Array.from(logits?.slice(row, i).data as Float32Array);
        const best = own.map((value, id) => ({ value, id })).sort((a, b) => b.value - a.value);
        expect(Array.from(logit_lens?.ids.slice(2, row, i).data as Int32Array)).toEqual(best.slice(0, 2).map(({ id }) => id));
        expect(logit_lens?.logits.slice(2, row, i).data[0]).toBe(best[0]?.value);
      }
    }
    expect(logit_lens?.logits.slice(null, 1, [3, 5]).data.every((x) => x === 0)).toBe(true); // what is masked does not run
    const worker = await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm'), { worker: true });
    const far = await worker(inputs, { logit_lens: 2 });
    expect(Array.from(far.logit_lens?.ids.data as Int32Array)).toEqual(Array.from(logit_lens?.ids.data as Int32Array));
    await Promise.all([masked.dispose(), worker.dispose()]);
  });

  it('is refused where there is no such head, or fewer tokens', async () => {
    await expectError(model(inputs, { logit_lens: 1 }), 'InputError', /logit_lens.*ForMaskedLM/);
    await expectError(model(inputs, { logit_lens: -1 }), 'InputError', /logit_lens/);
    const masked = await AutoModelForMaskedLM.from_pretrained(headFiles('masked_lm'));
    await expectError(masked(inputs, { logit_lens: 513 }), 'InputError', /vocab_size 512, found 513/);
    await masked.dispose();
  });
});
