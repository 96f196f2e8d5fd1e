import { AutoModel, AutoTokenizer, Tensor, type Model, type Tokenizer } from 'wattn';
import { edited, expectError, expectNear, mixedTexts, readFloats, readJson, tiny, tinyFiles } from './support.js';

let model: Model;
let tokenizer: Tokenizer;
beforeAll(async () => {
  [model, tokenizer] = await Promise.all([AutoModel.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny)]);
});
afterAll(async () => {
  await model.dispose();
  await tokenizer.dispose();
});

const everything = { output_attentions: true, output_hidden_states: true };

describe('model', () => {
  const { inputs } = readJson('bert-tiny/taps.json');
  const tapOf = (input: any, name: string) => {
    const { offset, shape, f32_diff } = input.taps[name];
    const count = shape.reduce((size: number, dim: number) => size * dim, 1);
    return { exact: readFloats('bert-tiny', input.file).subarray(offset, offset + count), f32_diff };
  };

  it('gives hidden states, attentions and pooler output of the reference', async () => {
    for (const input of inputs) {
      const out = await model({ input_ids: [input.input_ids], token_type_ids: [input.token_type_ids] }, everything);
      const near = (tensor: Tensor<'float32'> | undefined, name: string) => {
        const { exact, f32_diff } = tapOf(input, name);
        expectNear(tensor?.data as Float32Array, exact, f32_diff);
      };
      near(out.hidden_states?.[0], 'embeddings.output');
      near(out.hidden_states?.[1], 'layer.0.output');
      near(out.hidden_states?.[2], 'layer.1.output');
      near(out.last_hidden_state, 'layer.1.output');
      near(out.attentions?.[0], 'layer.0.attention.probs');
      near(out.attentions?.[1], 'layer.1.attention.probs');
      near(out.pooler_output, 'pooler_output');
    }
  });

  it('gives each padded row the bits it has alone, and zeros behind', async () => {
    const longest = Math.max(...inputs.map((input: any) => input.input_ids.length));
    const pad = (values: number[]) => [...values, ...new Array(longest - values.length).fill(0)];
    const batch = await model(
      {
        input_ids: inputs.map((input: any) => pad(input.input_ids)),
        attention_mask: inputs.map((input: any) => pad(input.input_ids.map(() => 1))),
        token_type_ids: inputs.map((input: any) => pad(input.token_type_ids)),
      },
      everything,
    );
    expect(batch.last_hidden_state.dims).toEqual([4, longest, 32]);
    expect(batch.attentions?.map((layer) => layer.dims)).toEqual([[4, 4, longest, longest], [4, 4, longest, longest]]); // prettier-ignore
    expect(batch.pooler_output?.dims).toEqual([4, 32]);
    for (const [i, input] of inputs.entries()) {
      const count = input.input_ids.length;
      const alone = await model({ input_ids: [input.input_ids], token_type_ids: [input.token_type_ids] }, everything);
      expect(batch.last_hidden_state.slice(i, [0, count]).data).toEqual(alone.last_hidden_state.data);
      expect(batch.last_hidden_state.slice(i, [count, longest]).data.every((x) => x === 0)).toBe(true);
      expect(batch.attentions?.[1]?.slice(i, null, [0, count], [0, count]).data).toEqual(alone.attentions?.[1]?.data);
      expect(batch.attentions?.[1]?.slice(i, null, null, [count, longest]).data.every((x) => x === 0)).toBe(true);
      expect(batch.hidden_states?.[1]?.slice(i, [0, count]).data).toEqual(alone.hidden_states?.[1]?.data);
      expect(batch.pooler_output?.get(i).data).toEqual(alone.pooler_output?.data);
    }
  });

  it("takes a tokenizer's answer as it is, and int64 as int32", async () => {
    const encoding = tokenizer(['the old boat', 'a'], {
      padding: true,
      return_offsets_mapping: true,
      return_special_tokens_mask: true,
    });
    const out = await model(encoding);
    expect(Object.keys(out)).toEqual(['last_hidden_state', 'pooler_output']);
    const wide = await model({
      input_ids: encoding.input_ids.to('int64'),
      attention_mask: encoding.attention_mask?.to('int64') as Tensor,
    });
    expect(wide.last_hidden_state.data).toEqual(out.last_hidden_state.data);
  });

  it('runs more tokens than one run takes', async () => {
    const texts = mixedTexts(200);
    const encoding = tokenizer(texts, { padding: true, truncation: true });
    const tokens = encoding.attention_mask?.data.reduce((sum, x) => sum + x, 0) as number;
    expect(tokens).toBeGreaterThan(2 * model.info().token_budget);
    const out = await model(encoding);
    const last = tokenizer(texts[199] as string, { truncation: true });
    const count = last.input_ids.dims[1] as number;
    expect(out.last_hidden_state.slice(199, [0, count]).data).toEqual((await model(last)).last_hidden_state.data);
  });

  it('counts positions by columns, as the reference does', async () => {
    const left = await model({ input_ids: [[0, 0, 2, 158, 3]], attention_mask: [[0, 0, 1, 1, 1]] });
    const right = await model({ input_ids: [[2, 158, 3]] });
    expect(left.last_hidden_state.slice(0, [0, 2]).data.every((x) => x === 0)).toBe(true);
    expect(left.last_hidden_state.slice(0, [2, 5]).data).not.toEqual(right.last_hidden_state.data);
  });

  it('takes rows without tokens, and no rows', async () => {
    const out = await model({ input_ids: [[2, 3], [0, 0]], attention_mask: [[1, 1], [0, 0]] }, everything); // prettier-ignore
    expect(out.last_hidden_state.get(1).data.every((x) => x === 0)).toBe(true);
    expect((await model({ input_ids: [] })).last_hidden_state.dims).toEqual([0, 0, 32]);
  });

  it('has its config', () => {
    expect(model.config).toMatchObject({ model_type: 'bert', hidden_size: 32 });
    expect(model.info().num_attention_heads).toBe(4);
    expect(model.memory().total).toBeGreaterThan(0);
  });

  it('has no pooler output when the checkpoint has no pooler', async () => {
    const { withoutTensors } = await import('./safetensors.js');
    const files = tinyFiles();
    files.set('model.safetensors', withoutTensors(files.get('model.safetensors') as Uint8Array, /^pooler/));
    const poolerless = await AutoModel.from_pretrained(files);
    expect(Object.keys(await poolerless({ input_ids: [[2, 158, 3]] }))).toEqual(['last_hidden_state']);
    await poolerless.dispose();
  });

  it('refuses wrong inputs by name', async () => {
    const ids = [[2, 158, 3]];
    const wrong: [unknown, unknown, RegExp][] = [
      [undefined, {}, /expected \{ input_ids, \.\.\. \}, found undefined/],
      [{}, {}, /input_ids: expected a Tensor \[batch, seq\] or rows of numbers, found undefined/],
      [{ input_ids: [2, 3] }, {}, /input_ids: expected a Tensor .* found an array/],
      [{ input_ids: [[2, 3], [2]] }, {}, /expected rows of one length \(use padding\), found 2 and 1 at row 1/],
      [{ input_ids: new Tensor('int32', [2, 3], [2]) }, {}, /expected dims \[batch, seq\], found \[2\]/],
      [{ input_ids: [[2, 'a']] }, {}, /expected whole numbers, found 'a' at row 0, column 1/],
      [{ input_ids: [[2, 512]] }, {}, /input_ids: expected numbers from 0 to 511 .*found 512/],
      [{ input_ids: [[2, -1]] }, {}, /found -1/],
      [{ input_ids: ids, attention_mask: [[1, 1]] }, {}, /attention_mask: expected dims \[1,3\] like input_ids, found \[1,2\]/],
      [{ input_ids: ids, attention_mask: [[1, 1, 2]] }, {}, /attention_mask: expected 0 or 1, found 2 at index 2/],
      [{ input_ids: ids, token_type_ids: [[0, 2, 0]] }, {}, /token_type_ids: expected numbers from 0 to 1/],
      [{ input_ids: [new Array(65).fill(5)] }, {}, /max_position_embeddings = 64/],
      [{ input_ids: ids, position_ids: ids }, {}, /unknown option 'position_ids'/],
      [
        { input_ids: ids },
        { head_masks: [] },
        /unknown option 'head_masks'; did you mean 'head_mask'\? known options: adapter, output_attentions/,
      ],
    ];
    for (const [input, options, message] of wrong) await expectError((model as any)(input, options), 'InputError', message);
    await expectError(model({ input_ids: ids }, { signal: AbortSignal.abort('now') }), 'AbortError');
    expect((await model({ input_ids: ids })).last_hidden_state.dims).toEqual([1, 3, 32]);
  });

  it('is gone after dispose', async () => {
    const gone = await AutoModel.from_pretrained(tinyFiles({ 'config.json': edited('config.json', {}) }));
    await gone.dispose();
    await expectError(gone({ input_ids: [[2, 3]] }), 'StateError');
  });
});
