import { nn, Tensor, type TensorBase } from 'wattn';
import { readJson } from './support.js';

/** {"$": [type, dims, data]} -> Tensor, anywhere inside; those of floats require gradients. */
function decode(value: any): any {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null || typeof value !== 'object') return value;
  if (!value.$) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, decode(each)]));
  const [type, dims, data] = value.$;
  const numbers = data.map((x: any) => (x === '-inf' ? -Infinity : x));
  const tensor = new Tensor(type, numbers, dims);
  return type === 'float32' ? nn.tensor(tensor, { requires_grad: true }) : tensor;
}

/** x = 48271 x mod (2^31 - 1), as in tools/goldens/nn.py. */
class Lehmer {
  constructor(public x: number) {}
  draw(dims: readonly number[], scale: number): nn.Tensor {
    const values = Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => {
      this.x = (this.x * 48271) % 2147483647;
      return Math.floor(((this.x / 2147483647) * 2 - 1) * scale * 1000 + 0.5) / 1000;
    });
    return new nn.Tensor('float32', values, dims);
  }
  whole(dims: readonly number[], below: number): Tensor<'int32'> {
    const values = Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => {
      this.draw([1], 1);
      return this.x % below;
    });
    return new Tensor('int32', values, dims);
  }
}

function drawState(seed: number, shapes: Record<string, number[]>, scale = 0.6): Record<string, TensorBase> {
  const lehmer = new Lehmer(seed);
  return Object.fromEntries(
    Object.entries(shapes).map(([name, dims]) => {
      const values = lehmer.draw(dims, scale);
      const above = Float32Array.from(values.data, (value) => Math.abs(value) + 0.5);
      return [name, name.endsWith('running_var') ? new Tensor('float32', above, dims) : values];
    }),
  );
}

const largest = (packed: string[]) => Math.max(...packed.map((each) => unpack(each).reduce((a, b) => Math.max(a, Math.abs(b)), 0)));
const unpack = (text: string) => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);

/**
 * The gradients are sums of some hundred products of float32. Each rounding is at most 2^-24 of a sum that is at most some times the largest
 * gradient, and errors of different signs cancel. 1e-5 of the largest leaves room for that and shows every wrong term. The largest is that
 * of all parameters of a module, as the gradient of some (the bias of keys) is a sum that is zero.
 */
function expectClose(name: string, got: ArrayLike<number>, packed: string, most = largest([packed])): void {
  const want = unpack(packed);
  expect([name, got.length]).toEqual([name, want.length]);
  want.forEach((value, i) => {
    const difference = Math.abs((got[i] as number) - value);
    if (!(difference <= 1e-5 * most)) throw new Error(`${name} at ${i}: ${got[i]}, expected ${value}, the largest ${most}`);
  });
}

/** The sum of all outputs times numbers of Lehmer(7). */
function backward(outputs: any[]): void {
  const lehmer = new Lehmer(7);
  const parts = outputs
    .filter((out) => out instanceof nn.Tensor && out.requires_grad)
    .map((out) => out.mul(lehmer.draw(out.dims, 1)).sum());
  parts.reduce((a, b) => a.add(b)).backward();
}

function expectGradients(name: string, args: any[], gradients: Record<string, string>): void {
  for (const [place, packed] of Object.entries(gradients)) {
    const at = place.split('.').reduce((value: any, key) => value[key], args);
    expectClose(`${name}, argument ${place}`, at.grad.data, packed);
  }
}

function expectError(work: () => unknown, name: string, message: RegExp): void {
  let error: any;
  try {
    work();
  } catch (cause) {
    error = cause;
  }
  expect(`${error?.name}: ${error?.message}`).toMatch(message);
  expect(error.name).toBe(name);
}

const resolve = (path: string) => path.split('.').reduce((at: any, name) => at[name], nn) as any;

const memories: WebAssembly.Memory[] = [];
beforeAll(async () => {
  const { Memory } = WebAssembly;
  (WebAssembly as any).Memory = function (descriptor: WebAssembly.MemoryDescriptor) {
    memories.push(new Memory(descriptor));
    return memories.at(-1);
  };
  await nn.ready();
  WebAssembly.Memory = Memory;
});

describe('gradients against torch', () => {
  const known = Object.fromEntries((readJson('nn/cases.json') as any[]).map((each) => [each.name, each]));
  const cases = (readJson('autograd/cases.json') as any[]).map((each) => ({ ...(each.args ? {} : known[each.name]), ...each }));

  it.each(cases.filter((each) => each.function).map((each) => [each.name, each]))(
    '%s',
    (name, { function: path, args, gradients, values = [] }) => {
      const given = decode(args);
      const outputs = [resolve(path)(...given)].flat();
      values.forEach((packed: string, i: number) => expectClose(`${name}, value`, outputs[i].data, packed));
      backward(outputs);
      expectGradients(name, given, gradients);
    },
  );

  it.each(cases.filter((each) => each.method).map((each) => [each.name, each]))(
    'tensor.%s',
    (name, { method, args, gradients, values }) => {
      const [on, ...rest] = decode(args);
      const outputs = [on[method](...rest)].flat().filter((out) => out instanceof nn.Tensor);
      outputs.forEach((out, i) => expectClose(`${name}, value`, out.data, values[i]));
      backward(outputs);
      expectGradients(name, [on, ...rest], gradients);
    },
  );

  it.each(cases.filter((each) => each.module).map((each) => [each.name, each]))(
    '%s',
    (name, { module, make, seed, train, shapes, args, gradients, parameters, buffers }) => {
      const block = new (resolve(module))(...make);
      block.load_state_dict(drawState(seed, shapes));
      const plain = block.forward(...decode(args));
      block.train(train ?? false);
      const list = block.named_parameters();
      const given = decode(args);
      const outputs = [block.forward(...given)].flat();
      // The tape changes no bit.
      if (!train) [plain].flat().forEach((out, i) => expect(outputs[i]?.data).toEqual(out?.data));
      backward(outputs);
      expectGradients(name, given, gradients);
      expect(list.map(([each]: any) => each).sort()).toEqual(Object.keys(parameters).sort());
      for (const [each, parameter] of list)
        expectClose(`${name}, ${each}`, parameter.grad.data, parameters[each], largest(Object.values(parameters)));
      for (const [each, packed] of Object.entries(buffers ?? {}))
        expectClose(each, block.state_dict()[each].data, packed as string);
      block.dispose();
    },
  );
});

// The notes' classes, line by line from PyTorch; tools/goldens/autograd.py has the originals.
class Classifier extends nn.Module {
  embedding;
  positions;
  encoder;
  head;
  constructor(vocab: number, k: number, heads: number, length: number, classes: number) {
    super();
    this.embedding = new nn.Embedding(vocab, k);
    this.positions = new nn.Parameter(nn.zeros(length, k));
    this.encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(k, heads, { dim_feedforward: 2 * k, dropout: 0 }), 2);
    this.head = new nn.Linear(k, classes);
  }
  override forward(ids: TensorBase) {
    const x = this.embedding.forward(ids).add(this.positions);
    return this.head.forward(this.encoder.forward(x).mean(1));
  }
}

class SelfAttention extends nn.Module {
  heads;
  tokeys;
  toqueries;
  tovalues;
  unifyheads;
  constructor(k: number, heads: number) {
    super();
    this.heads = heads;
    this.tokeys = new nn.Linear(k, k, { bias: false });
    this.toqueries = new nn.Linear(k, k, { bias: false });
    this.tovalues = new nn.Linear(k, k, { bias: false });
    this.unifyheads = new nn.Linear(k, k);
  }
  override forward(x: TensorBase) {
    const [b, t, k] = x.dims as [number, number, number];
    const h = this.heads;
    const s = k / h;
    const split = (y: nn.Tensor) =>
      y
        .view(b, t, h, s)
        .transpose(1, 2)
        .reshape(b * h, t, s);
    const queries = split(this.toqueries.forward(x));
    const keys = split(this.tokeys.forward(x));
    const values = split(this.tovalues.forward(x));
    let dot = queries.bmm(keys.transpose(1, 2)).div(s ** 0.5);
    dot = dot.masked_fill(nn.triu(nn.ones(t, t), 1), -Infinity);
    const out = nn.functional.softmax(dot, { dim: 2 }).bmm(values).view(b, h, t, s);
    return this.unifyheads.forward(out.transpose(1, 2).reshape(b, t, k));
  }
}

class Block extends nn.Module {
  attention;
  norm1;
  norm2;
  ff1;
  ff2;
  constructor(k: number, heads: number) {
    super();
    this.attention = new SelfAttention(k, heads);
    this.norm1 = new nn.LayerNorm(k);
    this.norm2 = new nn.LayerNorm(k);
    this.ff1 = new nn.Linear(k, 4 * k);
    this.ff2 = new nn.Linear(4 * k, k);
  }
  override forward(x: nn.Tensor) {
    x = x.add(this.attention.forward(this.norm1.forward(x)));
    return x.add(this.ff2.forward(nn.functional.relu(this.ff1.forward(this.norm2.forward(x)))));
  }
}

class Characters extends nn.Module {
  tokens;
  places;
  block0;
  block1;
  out;
  constructor(vocab: number, k: number, heads: number, length: number) {
    super();
    this.tokens = new nn.Embedding(vocab, k);
    this.places = new nn.Embedding(length, k);
    this.block0 = new Block(k, heads);
    this.block1 = new Block(k, heads);
    this.out = new nn.Linear(k, vocab);
  }
  override forward(ids: TensorBase) {
    const x = this.tokens.forward(ids).add(this.places.forward(nn.arange(ids.dims[1] as number)));
    return this.out.forward(this.block1.forward(this.block0.forward(x)));
  }
}

describe('training against torch', () => {
  const runs = readJson('autograd/training.json');

  /** 20 losses within 1e-4 of torch's: both round every sum of a step, and 20 steps carry the differences on. */
  function expectLosses(got: number[], want: number[]): void {
    expect(got.length).toBe(want.length);
    got.forEach((loss, i) => expect(Math.abs(loss / (want[i] as number) - 1)).toBeLessThan(1e-4));
  }

  it('a classifier with parameter groups, clipping and a schedule', () => {
    const { shapes, losses } = runs.classifier;
    const model = new Classifier(10, 16, 2, 6, 2);
    expect(Object.fromEntries(Object.entries(model.shapes()).map(([name, { dims }]) => [name, dims]))).toEqual(shapes);
    model.load_state_dict(drawState(3, shapes, 0.2));
    const decayed = model.parameters().filter(({ ndim }) => ndim > 1);
    const others = model.parameters().filter(({ ndim }) => ndim <= 1);
    const groups = [{ params: decayed }, { params: others, weight_decay: 0 }];
    const optimizer = new nn.optim.AdamW(groups, { lr: 3e-3, weight_decay: 0.1 });
    const schedule = nn.optim.get_linear_schedule_with_warmup(optimizer, { num_warmup_steps: 4, num_training_steps: 30 });
    const lehmer = new Lehmer(5);
    model.train();
    const got = losses.map(() => {
      const ids = lehmer.whole([8, 6], 10);
      const targets = Array.from({ length: 8 }, (_, i) => Number((ids.data[i * 6] as number) > (ids.data[i * 6 + 1] as number)));
      optimizer.zero_grad();
      const loss = nn.functional.cross_entropy(model.forward(ids), new Tensor('int32', targets, [8]));
      loss.backward();
      nn.utils.clip_grad_norm_(model.parameters(), 1);
      optimizer.step();
      schedule.step();
      return loss.item();
    });
    expectLosses(got, losses);
  });

  it('a character model written out', () => {
    const { shapes, losses } = runs.characters;
    const model = new Characters(9, 16, 2, 12);
    model.load_state_dict(drawState(3, shapes, 0.2));
    const optimizer = new nn.optim.Adam(model.parameters(), { lr: 1e-2 });
    const criterion = new nn.CrossEntropyLoss();
    const lehmer = new Lehmer(5);
    model.train();
    const got = losses.map(() => {
      const ids = lehmer.whole([4, 13], 9);
      optimizer.zero_grad();
      const logits = model.forward(ids.slice(null, [0, 12]));
      const loss = criterion.forward(logits.transpose(1, 2), ids.slice(null, [1, 13]));
      loss.backward();
      optimizer.step();
      return loss.item();
    });
    expectLosses(got, losses);
  });
});

describe('the tape', () => {
  it('adds up gradients of leaves, and frees the graph unless asked not to', () => {
    const x = nn.tensor([1, 2, 3], { requires_grad: true });
    const loss = x.mul(x).sum();
    expect([loss.requires_grad, loss.is_leaf, x.is_leaf, x.grad]).toEqual([true, false, true, null]);
    loss.backward(null, { retain_graph: true });
    expect(x.grad?.tolist()).toEqual([2, 4, 6]);
    loss.backward();
    expect(x.grad?.tolist()).toEqual([4, 8, 12]);
    expectError(() => loss.backward(), 'StateError', /an earlier backward\(\) used up/);
    expectError(() => loss.mul(2).backward(), 'StateError', /an earlier backward\(\) used up/);
    x.grad = null as nn.Tensor | null;
    expect(x.grad).toBeNull();
    x.mul(nn.ones(2, 3)).backward(
      nn.tensor([
        [1, 2, 3],
        [0, 0, 1],
      ]),
    );
    expect(x.grad?.tolist()).toEqual([1, 2, 4]);
  });

  it('keeps the gradient of a result that is asked for', () => {
    const x = nn.tensor([1, 2, 3], { requires_grad: true });
    const [kept, other] = [x.mul(2), x.mul(3)];
    kept.retain_grad();
    expect(kept.grad).toBe(null);
    const loss = kept.mul(kept).add(other).sum();
    loss.backward(null, { retain_graph: true });
    expect([kept.grad?.tolist(), other.grad, x.grad?.tolist()]).toEqual([[4, 8, 12], null, [11, 19, 27]]);
    loss.backward(); // added to, as in torch, and kept after the graph
    expect([kept.grad?.tolist(), x.grad?.tolist()]).toEqual([
      [8, 16, 24],
      [22, 38, 54],
    ]);
    x.retain_grad(); // a leaf keeps its own
    expectError(() => nn.ones(2).retain_grad(), 'StateError', /retain_grad: expected a tensor that requires a gradient/);
  });

  it('refuses what has no graph, several numbers, other shapes', () => {
    const x = nn.tensor([1, 2], { requires_grad: true });
    expectError(() => nn.tensor(1).backward(), 'StateError', /no graph/);
    expectError(() => x.detach().sum().backward(), 'StateError', /no graph/);
    expectError(() => x.mul(2).backward(), 'InputError', /one number, or a gradient beside it, found dims \[2\]/);
    expectError(() => x.mul(2).backward(nn.ones(3)), 'InputError', /gradient of shape \[2\], found \[3\]/);
    expectError(() => x.mul(2).backward(nn.ones(2), { retain: true } as any), 'InputError', /unknown option 'retain'/);
    expectError(() => x.mul(2).requires_grad_(false), 'StateError', /detach/);
    expectError(() => (x.grad = nn.ones(3)), 'InputError', /grad of shape \[2\]/);
    expectError(() => x.copy_(nn.ones(3)), 'InputError', /shape \[2\], found \[3\]/);
    expectError(() => new nn.optim.SGD([nn.ones(2)]), 'InputError', /expected a parameter or a tensor with requires_grad/);
    expectError(() => new nn.optim.SGD([]), 'InputError', /expected parameters/);
    expectError(() => new nn.optim.SGD([x], { betas: [0, 1] } as any), 'InputError', /unknown option 'betas'/);
    expectError(() => new nn.optim.SGD([x, x]), 'InputError', /expected each parameter once/);
    expectError(
      () => nn.optim.get_cosine_schedule_with_warmup(new nn.optim.SGD([x]), {} as any),
      'InputError',
      /num_training_steps/,
    );
    expectError(
      () => nn.functional.cross_entropy(nn.ones(2, 3), nn.tensor([0, 3])),
      'InputError',
      /below 3.* found 3.* at index 1/,
    );
    expectError(
      () => nn.functional.cross_entropy(nn.ones(2, 3), nn.tensor([0])),
      'InputError',
      /target of shape \[2\], or as the input, found \[1\]/,
    );
    expectError(() => nn.functional.mse_loss(nn.ones(2), nn.ones(3)), 'InputError', /target of shape \[2\]/);
    expectError(
      () => nn.functional.mse_loss(nn.ones(2), nn.ones(2), { reduction: 'all' } as any),
      'InputError',
      /'mean', 'sum', 'none', found 'all'/,
    );
    expectError(() => nn.no_grad(async () => 1), 'InputError', /async/);
    expectError(() => nn.tensor([[1], [1, 2]]), 'InputError', /equal lengths/);
    expectError(() => nn.cat([nn.ones(2, 3), nn.ones(2, 2)]), 'InputError', /like the first \[2, 3\], found \[2, 2\]/);
    expectError(() => nn.ones(2).transpose(0, 1), 'InputError', /dim in -1 .. 0, found 1/);
    expectError(() => nn.ones(2, 3).view(4, -1), 'InputError', /dims of 6 numbers/);
  });

  it('lets NaN flow', () => {
    const x = nn.tensor([NaN, 1], { requires_grad: true });
    x.mul(x).sum().backward();
    expect(x.grad?.tolist()).toEqual([NaN, 2]);
  });

  it('records nothing of a module until its parameters are asked for, and nothing in no_grad', () => {
    const linear = new nn.Linear(2, 2);
    const x = nn.ones(1, 2);
    expect(linear.forward(x).requires_grad).toBe(false);
    expect(linear.weight?.requires_grad).toBe(true);
    expect(linear.forward(x).requires_grad).toBe(true);
    expect(nn.no_grad(() => linear.forward(x)).requires_grad).toBe(false);
    expect(() =>
      nn.no_grad(() => {
        throw new Error('own');
      }),
    ).toThrow('own');
    expect(linear.forward(x).requires_grad).toBe(true);
    linear.requires_grad_(false);
    linear.train();
    expect(linear.forward(x).requires_grad).toBe(false);
    expect(linear.parameters()[0]?.requires_grad).toBe(false);
  });

  it('gives parameters that are alive, tied ones once', () => {
    const model = new nn.LanguageModel({ vocab_size: 5, d_model: 4, nhead: 2, num_layers: 1, dim_feedforward: 8 });
    expect(model.parameters().length).toBe(Object.keys(model.state_dict()).length - 1);
    expect(model.parameters()[0]).toBe(model.get_parameter('embedding.weight'));
    const weight = model.get_parameter('embedding.weight');
    expect([weight instanceof nn.Parameter, weight.dims, weight.data]).toEqual([
      true,
      [5, 4],
      model.state_dict()['embedding.weight']?.data,
    ]);
    weight.copy_(nn.zeros(5, 4));
    expect(weight.data.every((value) => value === 0)).toBe(true);
    expect(model.state_dict()['head.weight']?.data).toEqual(weight.data);
    model
      .forward(new Tensor('int32', [1, 2], [1, 2]))
      .sum()
      .backward();
    expect(weight.grad?.dims).toEqual([5, 4]);
    model.zero_grad();
    expect(weight.grad).toBeNull();
    expectError(() => model.get_parameter('weight'), 'InputError', /unknown parameter 'weight'/);
  });

  it('refuses a backward pass after an optimizer changed what it reads', () => {
    const linear = new nn.Linear(2, 2);
    const optimizer = new nn.optim.SGD(linear.parameters(), { lr: 0.1 });
    const loss = linear.forward(nn.tensor([[1, 2]], { requires_grad: true })).sum();
    loss.backward(null, { retain_graph: true });
    optimizer.step();
    expectError(() => loss.backward(), 'StateError', /changed after its forward pass/);
  });
});

describe('train mode', () => {
  it('drops with a seed, and only there', () => {
    const dropout = new nn.Dropout(0.25);
    const x = nn.ones(100, 40);
    expect([dropout.training, dropout.forward(x).data]).toEqual([false, x.data]);
    nn.manual_seed(3);
    const dropped = dropout.train().forward(x);
    const zeros = dropped.data.filter((value) => value === 0).length;
    expect(Math.abs(zeros - 1000)).toBeLessThan(5 * Math.sqrt(4000 * 0.25 * 0.75));
    expect(dropped.data.every((value) => value === 0 || value === Math.fround(4 / 3))).toBe(true);
    expect(dropout.forward(x).data).not.toEqual(dropped.data);
    nn.manual_seed(3);
    expect(dropout.forward(x).data).toEqual(dropped.data);
    expect(dropout.eval().forward(x).data).toEqual(x.data);
    const leaf = nn.ones(5).requires_grad_();
    const out = nn.functional.dropout(leaf, { p: 0.5 });
    out.sum().backward();
    expect(leaf.grad?.data).toEqual(out.data);
    expect(nn.functional.dropout(leaf, { training: false }).data).toEqual(leaf.data);
    expectError(() => new nn.Dropout(1.5), 'InputError', /from 0 to 1/);
  });

  it('reaches every part of a model, and drops in transformers', () => {
    class Model extends nn.Module {
      parts = [new nn.Linear(8, 8), new nn.Sequential(new nn.Dropout(0.5))];
      layer = new nn.TransformerEncoderLayer(8, 2, { dim_feedforward: 8 });
    }
    const model = new Model();
    expect(model.train()).toBe(model);
    expect([model.training, ...model.parts.map(({ training }) => training), model.layer.training]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    const x = nn.randn(1, 3, 8, { seed: 1 });
    expect(model.layer.forward(x).data).not.toEqual(model.layer.forward(x).data);
    model.eval();
    expect(model.parts[1]?.training).toBe(false);
    expect(model.layer.forward(x).data).toEqual(model.layer.forward(x).data);
  });

  it('runs classes of the caller one after another in a Sequential', () => {
    class Twice extends nn.Module {
      inner = new nn.Linear(4, 4);
      override forward(x: TensorBase) {
        return this.inner.forward(this.inner.forward(x));
      }
    }
    const net = new nn.Sequential(new Twice(), new nn.Sequential(new Twice(), new nn.Dropout(0.5)), new nn.Linear(4, 2));
    const names = ['0.inner.weight', '0.inner.bias', '1.0.inner.weight', '1.0.inner.bias', '2.weight', '2.bias'];
    expect(Object.keys(net.state_dict())).toEqual(names);
    expect(net.named_parameters().map(([name]) => name)).toEqual(names);
    const x = nn.randn(3, 4, { seed: 1 });
    const plain = net.forward(x).data;
    expect(net.train().forward(x).data).not.toEqual(plain);
    expect(net.eval().forward(x).data).toEqual(plain);
    net.forward(x).sum().backward();
    expect(net.get_parameter('1.0.inner.weight').grad?.dims).toEqual([4, 4]);
    net.load_state_dict(net.state_dict());
    expect(nn.summary(net, [3, 4]).total_params).toBe(net.num_parameters());
    expectError(() => net.reset_parameters(1), 'InputError', /classes of your own/);
  });

  it('is left as it is by a summary, which runs in evaluation mode', () => {
    const norm = new nn.BatchNorm1d(4);
    const net = new nn.Sequential(new nn.Linear(4, 4), norm, new nn.Dropout(0.5)).train();
    norm.eval();
    net.get_parameter('0.weight').requires_grad_(false);
    const before = net.state_dict();
    const { total_params, trainable_params } = nn.summary(net, [3, 4]);
    expect([total_params, trainable_params, net.num_parameters({ only_trainable: true })]).toEqual([28, 12, 12]);
    expect(String(nn.summary(net, [3, 4]))).toMatch(/Trainable params: 12\nNon-trainable params: 16\n/);
    expect(net.state_dict()).toEqual(before);
    expect([net.training, norm.training]).toEqual([true, false]);
  });

  it('draws other numbers at each step in a part that trains alone', () => {
    const dropout = new nn.Dropout(0.5);
    const net = new nn.Sequential(new nn.Identity(), dropout);
    dropout.train();
    expect([net.training, dropout.training]).toEqual([false, true]);
    const x = nn.ones(100);
    expect(net.forward(x).data).not.toEqual(net.forward(x).data);
  });

  it('draws tensors from the seed', () => {
    nn.manual_seed(1);
    const [uniform, normal] = [nn.rand(3, 400), nn.randn([1200])];
    nn.manual_seed(1);
    expect(nn.rand([3, 400]).data).toEqual(uniform.data);
    expect(uniform.dims).toEqual([3, 400]);
    expect(Math.abs(uniform.mean().item() - 0.5)).toBeLessThan(5 / Math.sqrt(12 * 1200));
    expect(Math.abs(normal.std().item() - 1)).toBeLessThan(5 / Math.sqrt(2 * 1200));
    expect(nn.randn(2, { seed: 5 }).data).toEqual(nn.randn(2, { seed: 5 }).data);
    expect(nn.arange(1, 4).tolist()).toEqual([1, 2, 3]);
    expect(nn.tril(nn.ones(2, 3)).tolist()).toEqual([
      [1, 0, 0],
      [1, 1, 0],
    ]);
    expect(nn.eye(2).tolist()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(nn.full([2], 3).argmax().item()).toBe(0);
  });
});

describe('optimizers', () => {
  const start = () => nn.tensor([1, -2, 3], { requires_grad: true });
  const stepOf = (optimizer: nn.optim.Optimizer<any>, x: nn.Tensor) => {
    optimizer.zero_grad();
    x.mul(x).sum().backward();
    optimizer.step();
  };

  it('go on from a saved state to the same bits', () => {
    const [x, y] = [start(), start()];
    const first = new nn.optim.AdamW([x], { lr: 0.1, betas: [0.8, 0.99] });
    for (let i = 0; i < 3; ++i) stepOf(first, x);
    const saved = first.state_dict();
    const at = x.data.slice();
    for (let i = 0; i < 3; ++i) stepOf(first, x);
    y.copy_(new Tensor('float32', at, [3]));
    const second = new nn.optim.AdamW([y]);
    second.load_state_dict(saved);
    for (let i = 0; i < 3; ++i) stepOf(second, y);
    expect(y.data).toEqual(x.data);
    expectError(() => second.load_state_dict({ ...saved, state: [] }), 'InputError', /the state of 1 parameters/);
  });

  it('read their groups at each step', () => {
    const [x, y] = [start(), start()];
    const optimizer = new nn.optim.SGD([{ params: [x] }, { params: [y], lr: 0 }], { lr: 0.25 });
    x.add(y).sum().backward();
    optimizer.step();
    expect([x.tolist(), y.tolist()]).toEqual([
      [0.75, -2.25, 2.75],
      [1, -2, 3],
    ]);
    (optimizer.param_groups[1] as { lr: number }).lr = 1;
    optimizer.step();
    expect(y.tolist()).toEqual([0, -3, 2]);
    expect(nn.utils.clip_grad_norm_([x, y], 1)).toBeCloseTo(Math.sqrt(6), 6);
    expect(x.grad?.data[0]).toBeCloseTo(1 / Math.sqrt(6), 5);
  });

  it('follow schedules', () => {
    const optimizer = new nn.optim.SGD([start()], { lr: 2 });
    const rates = (schedule: nn.optim.LambdaLR) =>
      Array.from({ length: 6 }, () => (schedule.step(), schedule.get_last_lr()[0] as number));
    const all = { num_warmup_steps: 2, num_training_steps: 6 };
    const linear = nn.optim.get_linear_schedule_with_warmup(optimizer, all);
    expect(linear.get_last_lr()).toEqual([0]);
    expect(rates(linear)).toEqual([1, 2, 1.5, 1, 0.5, 0]);
  });
});

describe('memory', () => {
  it('does not grow in 1,000 steps of one synchronous loop', () => {
    const model = new nn.Sequential(new nn.Linear(32, 64), new nn.ReLU(), new nn.Dropout(0.1), new nn.Linear(64, 4));
    const optimizer = new nn.optim.Adam(model.parameters());
    const x = nn.randn(16, 32, { seed: 1 });
    const targets = new Tensor(
      'int32',
      Array.from({ length: 16 }, (_, i) => i % 4),
      [16],
    );
    model.train();
    const step = () => {
      optimizer.zero_grad();
      const logits = model.forward(x);
      nn.functional.cross_entropy(logits, targets).add(logits.mul(logits).mean().mul(0.01)).backward();
      optimizer.step();
    };
    for (let i = 0; i < 50; ++i) step();
    const held = () => (memories.at(-1) as WebAssembly.Memory).buffer.byteLength;
    const before = held();
    for (let i = 0; i < 1000; ++i) step();
    expect(held()).toBe(before);
  });
});
