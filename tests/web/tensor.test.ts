import { InputError, Tensor } from 'wattn';
import { failure } from './support.js';

const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => i);

describe('Tensor', () => {
  const tensor = new Tensor('float32', numbers(24), [2, 3, 4]);

  it('has type, data, dims and size', () => {
    expect([tensor.type, tensor.dims, tensor.size]).toEqual(['float32', [2, 3, 4], 24]);
    expect(tensor.data).toEqual(numbers(24));
  });

  it('keeps a typed array of its type and converts others', () => {
    const data = numbers(3);
    expect(new Tensor('float32', data, [3]).data).toBe(data);
    expect(new Tensor('int32', [1, 2], [2]).data).toEqual(Int32Array.of(1, 2));
    expect(new Tensor('int64', [1, 2], [2]).data).toEqual(BigInt64Array.of(1n, 2n));
    expect(new Tensor('int32', BigInt64Array.of(1n, 2n), [2]).data).toEqual(Int32Array.of(1, 2));
    expect(new Tensor('bool', [0, 7, 0], [3]).data).toEqual(Uint8Array.of(0, 1, 0));
    expect(new Tensor('uint8', [255], [1]).data).toEqual(Uint8Array.of(255));
  });

  it('gives nested lists', () => {
    expect(new Tensor('float32', numbers(6), [2, 3]).tolist()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(new Tensor('float32', [7], []).tolist()).toBe(7);
    expect(new Tensor('float32', [], [0, 3]).tolist()).toEqual([]);
    expect(new Tensor('float32', [], [2, 0]).tolist()).toEqual([[], []]);
    expect(new Tensor('int64', [5], [1]).tolist()).toEqual([5n]);
    expect(tensor.tolist()[1][2][3]).toBe(23);
  });

  it('is indexed and iterated along its first dimension', () => {
    expect(tensor[1]?.tolist()).toEqual(tensor.get(1).tolist());
    expect(tensor[1]?.dims).toEqual([3, 4]);
    expect(tensor[1]?.[2]?.[3]?.item()).toBe(23);
    expect(tensor[2]).toBeUndefined();
    expect([...tensor].map((part) => part.data[0])).toEqual([0, 12]);
    expect(tensor.get(-1).data[0]).toBe(12);
    expect(tensor.get(1).data.buffer).toBe(tensor.data.buffer);
    const [first] = tensor;
    expect(first?.dims).toEqual([3, 4]);
  });

  it('slices like nested arrays', () => {
    expect(tensor.slice(1).tolist()).toEqual(tensor.tolist()[1]);
    expect(tensor.slice(null, [0, 2], 3).tolist()).toEqual([
      [3, 7],
      [15, 19],
    ]);
    expect(tensor.slice(null, null, [1, 3]).dims).toEqual([2, 3, 2]);
    expect(tensor.slice([-1, 2], null, [-1, 4]).tolist()).toEqual([[[15], [19], [23]]]);
    expect(tensor.slice([1, 1]).dims).toEqual([0, 3, 4]);
    expect(tensor.slice(0).data.buffer).not.toBe(tensor.data.buffer);
  });

  it('changes shape and type', () => {
    expect(tensor.reshape(6, -1).dims).toEqual([6, 4]);
    expect(new Tensor('float32', [1.5, -1.5], [2]).to('int64').tolist()).toEqual([1n, -1n]);
    expect(new Tensor('int64', [3n], [1]).to('float32').tolist()).toEqual([3]);
  });

  it('refuses what does not fit, by name', async () => {
    const wrong: [() => unknown, RegExp][] = [
      [() => new Tensor('float32', [1, 2, 3], [2, 2]), /expected 4 numbers for dims \[2,2\], found 3/],
      [() => new Tensor('float16' as any, [1], [1]), /expected a type of float32, .*found 'float16'/],
      [() => new Tensor('float32', [1], [1.5]), /dims to be whole numbers/],
      [() => new Tensor('float32', [1], 1 as any), /dims to be whole numbers, found 1/],
      [() => new Tensor('float32', 'text' as any, [4]), /expected data to be an array/],
      [() => tensor.get(2), /index 2 is out of range for dims \[2,3,4\]/],
      [() => tensor.item(), /item\(\): expected one value/],
      [() => tensor.slice(5), /index 5 is out of range for a dimension of 2/],
      [() => tensor.slice(0, 0, 0, 0), /4 ranges for dims/],
      [() => tensor.reshape(5, -1), /whole numbers/],
    ];
    for (const [work, message] of wrong) {
      const error = await failure(work);
      expect(error).toBeInstanceOf(InputError);
      expect(error.message).toMatch(message);
    }
  });
});
