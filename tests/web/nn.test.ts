import { nn, Tensor, type TensorBase } from 'wattn';
import { nn as alone, Tensor as AloneTensor } from 'wattn/nn';
import { writeTensors } from './safetensors.js';
import { expectError, failure, readJson } from './support.js';

/** {"$": [type, dims, data]} -> Tensor, anywhere inside. */
function decode(value: any): any {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== 'object') return value;
  if (value.$) {
    const [type, dims, data] = value.$;
    return new Tensor(
      type,
      data.map((x: any) => (x === '-inf' ? -Infinity : x)),
      dims,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, decode(each)]));
}

/** The numbers that tools/goldens/nn.py drew. */
function drawState(seed: number, shapes: Record<string, number[]>, scale = 0.6): Record<string, Tensor> {
  let x = seed;
  const next = () => {
    x = (x * 48271) % 2147483647;
    return Math.floor(((x / 2147483647) * 2 - 1) * scale * 1000 + 0.5) / 1000;
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, dims]) => {
      const values = Array.from({ length: dims.reduce((a, b) => a * b, 1) }, next);
      const above = name.endsWith('running_var') ? values.map((value) => Math.fround(Math.abs(Math.fround(value)) + 0.5)) : values;
      return [name, new Tensor('float32', above, dims)];
    }),
  );
}

const resolve = (path: string) => path.split('.').reduce((at: any, name) => at[name], nn) as any;

function expectClose(name: string, got: TensorBase, { value, diff, max }: any): void {
  const want = decode(value) as Tensor;
  expect([name, got.dims]).toEqual([name, want.dims]);
  // Ours and torch's float32 both round some 10 to 30 sums in a row. Ours may be off by 8 times what torch is off here. Where torch happens
  // to be exact, ours may be off by a few units in the last place of the largest number.
  const bound = 8 * Math.max(diff, max * 2 ** -22, 2 ** -24);
  got.data.forEach((x: any, i: number) => {
    const difference = Math.abs(Number(x) - Number(want.data[i]));
    if (!(difference <= bound)) throw new Error(`${name} at ${i}: ${x}, expected ${want.data[i]} within ${bound}`);
  });
}

beforeAll(() => nn.ready());

describe('nn against PyTorch', () => {
  const cases = readJson('nn/cases.json') as any[];

  it.each(cases.filter((each) => each.function).map((each) => [each.name, each]))(
    '%s',
    (name, { function: path, args, outputs }) => {
      const out = resolve(path)(...decode(args));
      [out].flat().forEach((tensor: TensorBase, i: number) => expectClose(name, tensor, outputs[i]));
    },
  );

  it.each(cases.filter((each) => each.module).map((each) => [each.name, each]))(
    '%s',
    (name, { module, make, seed, shapes, args, outputs }) => {
      const block = new (resolve(module))(...make);
      expect(Object.fromEntries(Object.entries(block.shapes()).map(([key, { dims }]: any) => [key, dims]))).toEqual(shapes);
      block.load_state_dict(drawState(seed, shapes));
      const out = block.forward(...decode(args));
      [out].flat().forEach((tensor: TensorBase, i: number) => outputs[i] && expectClose(name, tensor, outputs[i]));
      block.dispose();
    },
  );
});

describe('generation against transformers', () => {
  const golden = readJson('nn/generation.json');

  it('gives the logits of GPT-2, whole and one token at a time', () => {
    const model = new nn.LanguageModel(golden.make[0]);
    model.load_state_dict(decode(golden.state));
    const ids = new Tensor('int64', golden.prompt.map(BigInt), [1, golden.prompt.length]);
    const whole = model.forward(ids);
    expectClose('logits', whole, { value: golden.logits, diff: 0, max: golden.max });
    const cache = new nn.KeyValueCache();
    golden.prompt.forEach((id: number, i: number) => {
      const row = model.forward(new Tensor('int32', [id], [1, 1]), { cache });
      expect([...row.data]).toEqual([...whole.slice(0, i).data]); // the same bits
    });
    expect(cache.length).toBe(golden.prompt.length);
  });

  it('is greedy and searches by beams as the reference does, with and without a cache', () => {
    const model = new nn.LanguageModel(golden.make[0]);
    model.load_state_dict(decode(golden.state));
    for (const { options, ids } of golden.answers) {
      for (const use_cache of [true, false]) {
        expect([options, model.generate(golden.prompt, { ...options, use_cache })]).toEqual([options, ids]);
      }
    }
  });

  it('draws from the reference’s probabilities', () => {
    for (const { options, probabilities } of golden.warpers) {
      const got = nn.functional.sampling_probabilities(decode(golden.row), options);
      expectClose(JSON.stringify(options), got, { value: probabilities, diff: 0, max: 1 });
    }
    const model = new nn.LanguageModel(golden.make[0]);
    model.load_state_dict(decode(golden.state));
    const draw = (seed: number) => model.generate(golden.prompt, { do_sample: true, seed, max_new_tokens: 30 });
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    // The first token of 2000 draws: each share within five standard errors.
    const want = decode(golden.warpers[0].probabilities).data as Float32Array;
    const counts = new Float64Array(want.length);
    const draws = 2000;
    for (let seed = 0; seed < draws; ++seed) {
      const token = model.generate(golden.prompt, { do_sample: true, seed, max_new_tokens: 1 }).at(-1) as number;
      counts[token] = (counts[token] as number) + 1;
    }
    want.forEach((p, i) =>
      expect(Math.abs((counts[i] as number) / draws - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / draws) + 1e-9),
    );
  });
});

describe('nn', () => {
  const x = new Tensor('float32', [0.4581, 0.4829, 0.3125, 0.615, 0.2139, 0.4118], [2, 3]);

  it('is one class with what wattn/nn gives', () => {
    expect(alone.Linear).toBe(nn.Linear);
    expect(AloneTensor).toBe(Tensor);
  });

  it('has the parameter counts of the notes', () => {
    expect(new nn.SelfAttention({ k: 6 }).num_parameters()).toBe(108);
    expect(new nn.SelfAttention({ k: 6, heads: 8, mode: 'wide' }).num_parameters()).toBe(1158);
  });

  it('has the dictionary of the notes', () => {
    const corpus = 'Saarbrücken is situated in Saarland. It has a University called Saarland University.';
    const dictionary = nn.Dictionary.from_corpus(corpus);
    expect(dictionary.encode('Saarland University is in Saarbrücken.')).toEqual([2, 3, 8, 7, 1]);
    const special = nn.Dictionary.from_corpus(corpus, { specials: ['<unk>', '<pad>', '<s>', '</s>'], lowercase: true });
    expect(special.encode('Is Paris', { bos: true, eos: true })).toEqual([2, special.encode('is')[0], 0, 3]);
    expect(special.encode_batch(['is', 'it is'])[0]?.[1]).toBe(1);
    expect(special.decode(special.encode('it is situated', { eos: true }))).toBe('it is situated');
    const letters = nn.Dictionary.from_corpus('abba', { level: 'character' });
    expect([letters.tokens, letters.encode('ba'), letters.decode([1, 0])]).toEqual([['a', 'b'], [1, 0], 'ba']);
    expect(() => dictionary.encode('Paris')).toThrow(/'Paris' is not in the dictionary, and there is no <unk>/);
    expect(() => dictionary.decode([99])).toThrow(/expected ids below 10, found 99/);
  });

  it('draws the same parameters from a seed, in every build', () => {
    const [a, b, c] = [7, 7, 8].map((seed) => new nn.Linear(4, 3, { seed }).state_dict().weight!.tolist());
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
    expect(Math.max(...(a as number[][]).flat().map(Math.abs))).toBeLessThanOrEqual(0.5);
    nn.manual_seed(5);
    const first = new nn.Linear(4, 3).state_dict();
    expect(new nn.Linear(4, 3, { seed: 5 }).state_dict()).toEqual(first);
  });

  it('goes through safetensors and back', () => {
    const model = new nn.TransformerEncoderLayer(8, 2, { dim_feedforward: 16 });
    const bytes = nn.save_safetensors(model.state_dict(), { metadata: { format: 'pt' } });
    const again = new nn.TransformerEncoderLayer(8, 2, { dim_feedforward: 16 });
    again.load_state_dict(nn.load_safetensors(bytes));
    expect(again.state_dict()).toEqual(model.state_dict());
    for (let length = 0; length < bytes.length; length += 97) {
      expect(() => nn.load_safetensors(bytes.slice(0, length))).toThrow(expect.objectContaining({ name: 'ModelFormatError' }));
    }
  });

  it('checks the header of a safetensors file as the native reader does', async () => {
    const file = (header: string, dataBytes: number) => {
      const text = new TextEncoder().encode(header);
      return Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer), text, new Uint8Array(dataBytes)]);
    };
    for (const { name, header, data_bytes, error } of readJson('../fixtures/safetensors_headers.json')) {
      const load = () => nn.load_safetensors(file(header, data_bytes));
      if (error === undefined) expect([name, typeof load()]).toEqual([name, 'object']);
      else expect([name, (await failure(load)).message]).toEqual([name, expect.stringContaining(error)]);
    }
    const others: [start: string, message: RegExp][] = [
      ['<!DOCTYPE html>', /found HTML/],
      ['version https://git-lfs', /Git LFS pointer/],
      ['\u0001\0\0\0\0\0\0\0{}', /a header length from 2 to 2, found 1/],
      ['\u0003\0\0\0\0\0\0\0{}', /a header length from 2 to 2, found 3/],
      ['', /found only 0 bytes/],
    ];
    for (const [start, message] of others) {
      await expectError(() => nn.load_safetensors(new TextEncoder().encode(start)), 'ModelFormatError', message);
    }
  });

  it('reads every type of a safetensors file, at any offset', () => {
    const bytes = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const types: [dtype: string, stored: Uint8Array, type: string, values: unknown[]][] = [
      ['U8', Uint8Array.of(7), 'uint8', [7]], // so that the others are not aligned
      ['F32', bytes(Float32Array.of(1.5, -0, NaN)), 'float32', [1.5, -0, NaN]],
      ['F64', bytes(Float64Array.of(0.1, 1e300)), 'float32', [Math.fround(0.1), Infinity]],
      ['F16', bytes(Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00, 0x7e00)), 'float32', [1, -2, 2 ** -24, Infinity, NaN]],
      ['BF16', bytes(Uint16Array.of(0x3f80, 0xc000, 0x7fc0)), 'float32', [1, -2, NaN]],
      ['I64', bytes(BigInt64Array.of(-(2n ** 62n))), 'int64', [-(2n ** 62n)]],
      ['I32', bytes(Int32Array.of(-5)), 'int32', [-5]],
      ['I16', bytes(Int16Array.of(-300)), 'int32', [-300]],
      ['I8', bytes(Int8Array.of(-3)), 'int8', [-3]],
      ['BOOL', Uint8Array.of(1, 0), 'bool', [1, 0]],
    ];
    const file = writeTensors(
      new Map(types.map(([dtype, stored, , values]) => [dtype, { dtype, shape: [values.length], bytes: stored }])),
    );
    const loaded = nn.load_safetensors(file);
    expect(Object.entries(loaded).map(([dtype, { type, data }]) => [dtype, type, [...data]])).toEqual(
      types.map(([dtype, , type, values]) => [dtype, type, values]),
    );
    file.fill(0);
    expect(loaded['U8']?.data[0]).toBe(7); // a copy
  });

  it('has parts of one’s own', () => {
    class Net extends nn.Module {
      first = new nn.Linear(3, 4);
      rest = [new nn.ReLU(), new nn.Linear(4, 2)];
      override forward(input: TensorBase): nn.Tensor {
        return this.rest.reduce((at: nn.Tensor, part) => part.forward(at), this.first.forward(input));
      }
    }
    const net = new Net();
    expect(Object.keys(net.state_dict())).toEqual(['first.weight', 'first.bias', 'rest.1.weight', 'rest.1.bias']);
    const sequential = new nn.Sequential(net.first, ...net.rest);
    expect(sequential.forward(x).tolist()).toEqual(net.forward(x).tolist());
    expect(net.num_parameters()).toBe(3 * 4 + 4 + 4 * 2 + 2);
    const zeros = Object.fromEntries(
      Object.entries(net.state_dict()).map(([k, v]) => [k, new Tensor('float32', new Float32Array(v.size), v.dims)]),
    );
    net.load_state_dict(zeros);
    expect(net.forward(x).tolist()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(nn.summary(net, [2, 3]).rows.map((row) => row.type)).toEqual(['Net', 'Linear', 'ReLU', 'Linear']);
    net.dispose();
    expect(() => net.forward(x)).toThrow(/disposed/);
  });

  it('prints what torchinfo prints', () => {
    const mlp = new nn.Sequential(
      new nn.Linear(16, 64),
      new nn.ReLU(),
      new nn.LayerNorm(64),
      new nn.Sequential(new nn.Linear(64, 32, { bias: false }), new nn.GELU()),
      new nn.Linear(32, 3),
    );
    const embedding = new nn.Sequential(new nn.Embedding(1000, 300), new nn.Linear(300, 1000));
    const columns = ['input', 'output', 'parameters', 'mult_adds'] as const;
    const [first, second, third] = readJson('nn/summaries.json').texts;
    expect(nn.summary(mlp, first.shape).toString({ columns })).toBe(first.text);
    // An id is 8 bytes in torch's example and 4 here; nothing else differs.
    const text = nn.summary(embedding, second.shape).toString({ columns });
    expect(text.replace(/0\.00$/m, '')).toBe(second.text.replace(/0\.00$/m, ''));
    class Shared extends nn.Module {
      first = new nn.Linear(6, 6);
      second = new nn.Linear(6, 4);
      override forward(input: TensorBase): nn.Tensor {
        return this.second.forward(this.first.forward(this.first.forward(input)));
      }
    }
    const shared = nn.summary(new Shared(), third.shape);
    expect(shared.toString({ columns })).toBe(third.text);
    expect(String(shared)).toMatch(/Kernel Shape {14}Param # {19}Mult-Adds {17}MACs\n/);
    expect(String(shared)).toMatch(/^├─Linear: 1-2 .* \(recursive\) +84 +72$/m);
    expect(String(shared)).toMatch(/^Total MACs \(M\): 0\.00$/m);
  });

  const construct = ([name, args]: [string, any[]]): any =>
    new (nn as any)[name](...args.map((each) => (each?.new ? construct(each.new) : each)));
  const modules = readJson('nn/summaries.json').modules as any[];
  it.each(modules.map((each) => [each.name, each]))('counts what torchinfo and torch count: %s', (_, { make, shapes, ...want }) => {
    const model = construct(make);
    const facts = nn.summary(model, shapes);
    expect({
      name: want.name,
      total_params: facts.total_params,
      total_mult_adds: facts.total_mult_adds,
      output_bytes: Math.round(facts.output_mb * 1e6),
      param_bytes: Math.round(facts.params_mb * 1e6),
      parameters: model.num_parameters(),
      macs: facts.total_macs,
    }).toEqual(want);
    expect(model.parameters().reduce((sum: number, { size }: TensorBase) => sum + size, 0)).toBe(want.parameters);
  });

  it('adds up the forwards inside a class of one’s own', () => {
    class Twice extends nn.Module {
      part = new nn.Linear(3, 4);
      same = this.part;
      override forward(input: TensorBase): nn.Tensor {
        return nn.functional.add(this.part.forward(input), this.same.forward(input));
      }
    }
    const facts = nn.summary(new nn.Linear(3, 4), [5, 3]);
    const twice = nn.summary(new Twice(), [5, 3]);
    expect([facts.total_macs, twice.total_macs]).toEqual([5 * 12, 2 * 5 * 12]);
    expect([twice.total_params, new Twice().num_parameters()]).toEqual([16, 16]);
    expect(twice.rows.map(({ is_recursive, macs }) => [is_recursive, macs])).toEqual([
      [false, 120],
      [false, 60],
      [true, 60],
    ]);
  });

  it('shows both halves of an encoder-decoder, with all their attention', () => {
    const options = { d_model: 8, nhead: 2, dim_feedforward: 16, num_encoder_layers: 1, num_decoder_layers: 2 };
    const model = new nn.EncoderDecoder({ ...options, src_vocab_size: 7, max_len: 9 });
    const source = new Tensor('int32', [1, 2, 3, 4, 5, 6], [1, 6]);
    const target = new Tensor('int32', [1, 2, 3], [1, 3]);
    const { output, rows } = nn.trace(model, source, target, { need_weights: true, average_attn_weights: false });
    expect(rows.filter(({ depth }) => depth < 3).map(({ name }) => name)).toEqual([
      'EncoderDecoder',
      'src_embedding',
      'positions',
      'tgt_embedding',
      'positions',
      'transformer',
      'encoder',
      'decoder',
      'head',
    ]);
    expect(rows.filter(({ type }) => type === 'MultiheadAttention').map(({ name, weights }) => [name, weights?.dims])).toEqual([
      ['self_attn', [1, 2, 6, 6]],
      ['self_attn', [1, 2, 3, 3]],
      ['multihead_attn', [1, 2, 3, 6]],
      ['self_attn', [1, 2, 3, 3]],
      ['multihead_attn', [1, 2, 3, 6]],
    ]);
    // The answer itself has the weights of the last cross-attention, as without a trace.
    const plain = model.forward(source, target, { need_weights: true, average_attn_weights: false });
    expect((output as Tensor[]).map(({ data }) => [...data])).toEqual(plain.map(({ data }) => [...data]));
  });

  it('traces steps with a cache', () => {
    const layer = new nn.TransformerEncoderLayer(8, 2, { dim_feedforward: 16 });
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: 32 }, (_, i) => Math.sin(i)),
      [1, 4, 8],
    );
    const cache = new nn.KeyValueCache();
    layer.forward(input.slice(null, [0, 3], null), { is_causal: true, cache });
    const { output, rows } = nn.trace(layer, input.slice(null, [3, 4], null), { is_causal: true, cache });
    expect([...(output as Tensor).data]).toEqual([...layer.forward(input, { is_causal: true }).slice(null, [3, 4], null).data]);
    expect(rows[1]?.macs).toBe(4 * 8 * 8 + 4 * 2 * 8); // four keys
  });

  it('lets one look inside', () => {
    const layer = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(8, 2, { dim_feedforward: 16 }), 2);
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: 40 }, (_, i) => Math.sin(i)),
      [1, 5, 8],
    );
    const { output, rows } = nn.trace(layer, input, { need_weights: true, average_attn_weights: false });
    const attention = rows.filter((row) => row.type === 'MultiheadAttention');
    expect(attention.map((row) => row.weights?.dims)).toEqual([
      [1, 2, 5, 5],
      [1, 2, 5, 5],
    ]);
    expect(rows[0]?.tensor?.tolist()).toEqual((output as Tensor[])[0]?.tolist());
  });

  it('shows what permuting the input does', () => {
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: 2 * 6 * 8 }, (_, i) => Math.sin(3 * i)),
      [2, 6, 8],
    );
    const attention = new nn.SelfAttention({ k: 8, heads: 2 });
    const positions = new nn.PositionalEncoding(8);
    const near = 1e-6; // sums of six terms of size 1, in another order
    const plain = nn.equivariance((x) => attention.forward(x), input);
    expect(plain.equivariant).toBeLessThan(near);
    expect(plain.invariant).toBeGreaterThan(0.01);
    const pooled = nn.equivariance((x) => nn.functional.pool_sequence(attention.forward(x), { mode: 'mean' }), input);
    expect(pooled.invariant).toBeLessThan(near);
    const placed = nn.equivariance((x) => attention.forward(positions.forward(x)), input);
    expect(placed.equivariant).toBeGreaterThan(0.01);
    expect(placed.invariant).toBeGreaterThan(0.01);
    // Ids have no hidden dimension: their tokens are the last one.
    const embedding = new nn.Embedding(20, 8);
    for (const type of ['int32', 'int64'] as const) {
      const ids = new Tensor(type, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], [2, 6]);
      expect(nn.equivariance((x) => embedding.forward(x), ids).equivariant).toBe(0);
      expect(nn.equivariance((x) => positions.forward(embedding.forward(x)), ids).equivariant).toBeGreaterThan(0.01);
    }
  });

  it('clips offsets beyond max_distance, and no nearer ones', () => {
    const attention = new nn.SelfAttention({ k: 2, relative: 'bias', max_distance: 3 });
    const bias = attention.state_dict()['relative'] as Tensor<'float32'>;
    expect(bias.dims).toEqual([7, 1]); // offsets from -3 to 3
    const offsets = new Tensor('float32', [-3, -2, -1, 0, 1, 2, 3], [7, 1]);
    const table = nn.functional.softmax(nn.positional.relative_bias(offsets, { queries: 1, keys: 5 }));
    expect(table.data[3]! / table.data[2]!).toBeCloseTo(Math.E, 5);
    expect(table.data[4]).toBe(table.data[3]);
  });

  it('takes steps with a cache that equal the whole', () => {
    const step = (i: number, of: Tensor | nn.Tensor) => of.slice(null, [i, i + 1], null);
    const input = new Tensor(
      'float32',
      Float32Array.from({ length: 6 * 8 }, (_, i) => Math.cos(i)),
      [1, 6, 8],
    );
    const memory = new Tensor(
      'float32',
      Float32Array.from({ length: 4 * 8 }, (_, i) => Math.sin(i)),
      [1, 4, 8],
    );
    const decoder = new nn.TransformerDecoder(new nn.TransformerDecoderLayer(8, 2, { dim_feedforward: 16 }), 2);
    const whole = decoder.forward(input, memory, { tgt_is_causal: true });
    const cache = new nn.KeyValueCache();
    for (let i = 0; i < 6; ++i) {
      const row = decoder.forward(step(i, input), memory, { tgt_is_causal: true, cache });
      expect([...row.data]).toEqual([...step(i, whole).data]);
    }
    for (const relative of ['bias', 'vector', 't5', 'alibi', 'rotary'] as const) {
      const attention = new nn.SelfAttention({ k: 8, heads: 2, relative, causal: true, max_distance: 20, num_buckets: 8 });
      const all = attention.forward(input);
      const seen = new nn.KeyValueCache();
      for (let i = 0; i < 6; ++i) {
        const row = attention.forward(step(i, input), { cache: seen });
        expect([relative, ...row.data]).toEqual([relative, ...step(i, all).data]);
      }
    }
    expect(() => decoder.forward(new Tensor('float32', new Float32Array(16), [2, 1, 8]), memory, { cache })).toThrow(/batch/);
  });

  it('names what is wrong', async () => {
    const linear = new nn.Linear(3, 2);
    const cases: [() => unknown, RegExp][] = [
      [() => new nn.Linear(0, 2), /nn\.Linear: option 'in_features': expected a whole number from 1 on, found 0/],
      [() => new nn.Linear(2.5, 2), /found 2\.5/],
      [() => new nn.Linear(2, 2, { biass: true } as any), /nn\.Linear: unknown option 'biass'/],
      [() => new nn.MultiheadAttention(10, 3), /expected embed_dim to be a multiple of the 3 heads, found 10/],
      [() => new nn.MultiheadAttention(8, 2, { batch_first: false } as any), /batch_first: false is not supported/],
      [() => new nn.SelfAttention({ k: 8, mode: 'broad' as any }), /'mode': expected one of 'narrow', 'wide', found 'broad'/],
      [
        () => linear.forward(new Tensor('float32', [1, 2], [2])),
        /nn\.Linear: expected the input of shape \[\.\.\., 3\], found \[2\]/,
      ],
      [() => linear.forward([1, 2, 3] as any), /expected a Tensor as 'input', found an array/],
      [() => linear.load_state_dict({}), /'weight' \[2,3\] is missing/],
      [() => linear.load_state_dict({ weight: x, bias: x }), /expected 'bias' of shape \[2\], found \[2,3\]/],
      [() => new nn.Embedding(3, 2).forward(new Tensor('int64', [3n], [1])), /whole numbers below 3, found 3/],
      [() => nn.functional.softmax(x, { dim: 2 }), /expected dim in -2 \.\. 1, found 2/],
      [() => nn.functional.matmul(x, x), /inner sizes of \[2, 3\] and \[2, 3\] differ/],
      [
        () => nn.functional.scaled_dot_product_attention(x, x, x, { attn_mask: new Tensor('bool', [1, 1, 1], [3]) }),
        /mask or bias/,
      ],
      [() => nn.functional.max_pool2d(x, [5, 5]), /larger than the image/],
      [
        () => new nn.TransformerDecoderLayer(4, 1).forward(new Tensor('float32', new Float32Array(4), [1, 1, 4]), null as any),
        /expected memory/,
      ],
      [
        () => new nn.LanguageModel({ vocab_size: 5, d_model: 4, nhead: 1, max_len: 4 }).generate([1, 2, 3], { max_new_tokens: 9 }),
        /max_len = 4/,
      ],
      [() => new nn.LanguageModel({ vocab_size: 5, d_model: 4, nhead: 1 }).generate([7]), /whole numbers below 5, found 7/],
      [() => new nn.LanguageModel({ vocab_size: 5, d_model: 4, nhead: 1 }).generate([]), /prompt of at least one token/],
    ];
    for (const [run, message] of cases) await expectError(run, 'InputError', message);
    await expectError(() => new nn.Embedding(2 ** 30, 2 ** 10), 'OutOfMemoryError', /out of memory for the parameter 'weight'/);
    expect(linear.forward(x).dims).toEqual([2, 2]);
  });
});
