// The methods of transformers.js's tensors. The expected numbers are torch's (tests/goldens/tensors), except where transformers.js differs.
import { nn, Tensor, type TensorType } from 'wattn';
import * as wattn from 'wattn';
import { expectError, readJson } from './support.js';

interface Stored {
  type: TensorType;
  dims: number[];
  data: (number | string)[];
}
const golden = readJson('tensors/expected.json') as {
  inputs: Record<string, Stored>;
  cases: [input: string, method: string, args: any[], out: Stored][];
  pairs: [Stored, Stored, Record<string, Stored>][];
};
const decoded = ({ type, dims, data }: Stored) => new Tensor(type, data.map(Number), dims);
/** The arguments; JSON has no infinity. */
const given = (args: any[]) => args.map((arg) => (arg === 'Infinity' ? Infinity : arg));
const matrix = () => new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]);

function expectStored(where: string, got: Tensor, want: Stored): void {
  expect([where, got.type, got.dims, got.data.length]).toEqual([where, want.type, want.dims, want.data.length]);
  want.data.map(Number).forEach((number, i) => {
    const value = Number(got.data[i]);
    const near = Object.is(value, number) || value === number || Math.abs(value - number) <= 2e-6 * Math.max(1, Math.abs(number));
    if (!near) throw new Error(`${where}: [${i}]: expected ${number}, found ${value}`);
  });
}

beforeAll(() => nn.ready());

describe('methods', () => {
  const names = [...new Set(golden.cases.map(([, method]) => method))];
  it.each(names)('%s equals torch', (name) => {
    for (const [input, method, args, want] of golden.cases.filter(([, method]) => method === name)) {
      const tensor = decoded(golden.inputs[input] as Stored);
      const before = tensor.data.slice();
      const where = `${input}.${method}(${JSON.stringify(args)})`;
      expectStored(where, (tensor as any)[method](...given(args)), want);
      expect(tensor.data).toEqual(before);
    }
  });

  it('compute with tensors that are broadcast', () => {
    for (const [a, b, results] of golden.pairs) {
      for (const [method, want] of Object.entries(results)) {
        expectStored(`[${a.dims}].${method}([${b.dims}])`, (decoded(a) as any)[method](decoded(b)), want);
      }
    }
    const moved = matrix()
      .sub(matrix().mean(0))
      .add_(new Tensor('int64', [1n, 2n], [2, 1]));
    expect(moved.tolist()).toEqual([
      [-0.5, -0.5, -0.5],
      [3.5, 3.5, 3.5],
    ]);
    expect(
      matrix()
        .mul(nn.tensor([2, 0, 1]))
        .tolist(),
    ).toEqual([
      [2, 0, 3],
      [8, 0, 6],
    ]);
  });

  it('with _ write over the tensor, and return it', () => {
    const calls: [string, any[]][] = [
      ['add', [1]],
      ['sub', [1]],
      ['mul', [2]],
      ['div', [2]],
      ['remainder', [2]],
      ['neg', []],
      ['clamp', [2, 4]],
      ['round', []],
      ['sigmoid', []],
      ['normalize', [2, -1]],
      ['map', [Math.sqrt]],
      ['flatten', []],
      ['squeeze', [0]],
      ['unsqueeze', [-1]],
    ];
    for (const [name, args] of calls) {
      const tensor = new Tensor('float32', [1.5, -2, 3, 4], [1, 4]);
      const { data } = tensor;
      const apart = (tensor as any)[name](...args);
      expect([name, tensor.dims, [...data]]).toEqual([name, [1, 4], [1.5, -2, 3, 4]]);
      expect((tensor as any)[`${name}_`](...args)).toBe(tensor);
      expect([name, tensor.data === data, tensor.dims, [...tensor.data]]).toEqual([name, true, apart.dims, [...apart.data]]);
    }
  });

  it('share memory or not, as there', () => {
    const tensor = matrix();
    for (const shared of [tensor.view(3, -1), tensor.reshape(6), tensor.unsqueeze(0), tensor.squeeze(), tensor.get(0)]) {
      expect(shared.data.buffer).toBe(tensor.data.buffer);
    }
    const copies = [
      tensor.clone(),
      tensor.flatten(),
      tensor.permute(0, 1),
      tensor.slice(0),
      tensor.to('float32'),
      tensor.add(0),
      tensor.repeat(1, 1),
    ];
    for (const copy of copies) expect(copy.data.buffer).not.toBe(tensor.data.buffer);
  });

  it('keep int64 in bigints, whose sums are exact', () => {
    const ids = new Tensor('int64', [2n ** 62n, 1n, -5n, 7n], [2, 2]);
    expect(ids.sum().item()).toBe(2n ** 62n + 3n);
    expect(ids.add(1).tolist()).toEqual([
      [2n ** 62n + 1n, 2n],
      [-4n, 8n],
    ]);
    expect(ids.mul(2n).max(1).tolist()).toEqual([2n, 14n]);
    expect([ids.indexOf(7), ids.indexOf(7n), ids.indexOf(8)]).toEqual([3, 3, -1]);
    expect(ids.gt(0).tolist()).toEqual([
      [1, 1],
      [0, 1],
    ]);
    expect([typeof ids.argmax().item(), ids.argmax(1).tolist()]).toEqual(['bigint', [0n, 1n]]);
    expect(new Tensor('bool', [1, 1, 0], [3]).sum().item()).toBe(2);
  });

  it('are iterated as there: rows, or numbers', () => {
    expect([...matrix()].map((row) => row.tolist())).toEqual(matrix().tolist());
    expect([...(matrix()[1] as Tensor)]).toEqual([4, 5, 6]);
    expect([...new Tensor('int64', [3n], [1])]).toEqual([3n]);
    expect([matrix()[-1]?.tolist(), matrix()[2], matrix()[-3]]).toEqual([[4, 5, 6], undefined, undefined]);
    expect([matrix().stride(), matrix().location, matrix().dispose()]).toEqual([[3, 1], 'cpu', undefined]);
  });

  it('and functions are one', async () => {
    const tensor = new Tensor('float32', [3, -1, 2, 5, 0.5, 4], [2, 3]);
    const shown = ({ type, dims, data }: Tensor) => [type, dims, [...data]];
    expect(shown(wattn.mean(tensor, 1, true))).toEqual(shown(tensor.mean(1, true)));
    expect(shown(wattn.permute(tensor, [-1, 0]))).toEqual(shown(tensor.permute(-1, 0)));
    expect(shown(await wattn.slice(tensor, [0, 0], [2, 3], [0, 1], [1, 2]))).toEqual(shown(tensor.slice(null, [0, 3, 2])));
    expect(shown(wattn.mean(nn.tensor([[3, 5]]), 1))).toEqual(['float32', [1], [4]]);
    expect(() => wattn.cat([tensor, tensor.to('int32') as any])).toThrow(/expected float32 dims like .*, found int32/);
  });

  it('of nn’s tensors are nn’s own, with gradients', () => {
    const weight = nn.tensor([1, 2], { requires_grad: true });
    weight.mul(3).sum().backward();
    expect(weight.grad?.tolist()).toEqual([3, 3]);
    expect([weight instanceof Tensor, 'mul_' in weight, weight.to('int32').tolist()]).toEqual([false, false, [1, 2]]);
    expect([...nn.tensor([[1, 2]])].map((row) => row instanceof nn.Tensor)).toEqual([true]);
  });

  it('say what does not fit', async () => {
    const ids = new Tensor('int64', [1n, 2n], [2]);
    const wrong: [() => unknown, RegExp][] = [
      [() => matrix().sum(2), /sum: expected dim in -2 \.\. 1, found 2/],
      [() => matrix().mean(0.5), /mean: expected dim/],
      [() => matrix().normalize(2, 5), /norm: expected dim/],
      [() => new Tensor('float32', [], [0]).max(), /max: expected at least one number, found none/],
      [() => new Tensor('float32', [], [2, 0]).argmin(1), /argmin: expected at least one number/],
      [() => matrix().mul('2' as any), /mul: expected a number or a Tensor, found '2'/],
      [() => matrix().gt(undefined as any), /gt: expected a number or a Tensor, found undefined/],
      [() => matrix().add(new Tensor('float32', [1, 2], [2])), /add: dims \[2\] do not fit dims \[2,3\]/],
      [() => matrix().add_(new Tensor('float32', [1, 2], [2, 1, 1])), /add: dims \[2,1,1\] do not fit dims \[2,3\]/],
      [() => ids.mul(0.5), /mul: expected a whole number for int64, found 0.5/],
      [() => ids.to('int32').clamp(0.5, 1), /clamp: expected a whole number for int32/],
      [() => ids.remainder(0n), /remainder: expected a divisor for int64, found 0/],
      [() => ids.div(0), /div: expected a divisor for int64, found 0/],
      [() => ids.sigmoid_(), /sigmoid_: expected a float32 Tensor, found int64/],
      [() => ids.normalize_(2, 0), /normalize_: expected a float32/],
      [() => matrix().norm('nuc' as any), /norm: expected a number or 'fro' as p, found 'nuc'/],
      [() => matrix().transpose(0), /expected each dimension of \[2,3\] once, found \[0\]/],
      [() => matrix().permute(0, -2), /expected each dimension/],
      [() => matrix().repeat(2), /repeat: expected a number for each dimension/],
      [() => matrix().unsqueeze(4), /unsqueeze: expected dim in -3 \.\. 2, found 4/],
      [() => matrix().flatten(1, 0), /flatten: expected start_dim up to end_dim/],
      [() => matrix().view(-1, -1), /whole numbers, found \[6?,?-?/],
    ];
    for (const [work, message] of wrong) await expectError(work, 'InputError', message);
  });
});
