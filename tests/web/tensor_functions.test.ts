// Functions of tensors under transformers.js's names. The expected numbers are those of its version 4.3.1, or follow from their definition.
import * as wattn from 'wattn';
import { Tensor } from 'wattn';
import { expectError } from './support.js';

const matrix = new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]);
const shown = ({ type, dims, data }: Tensor) => [type, dims, Array.from(data as Float32Array, Number)];
const rounded = (tensor: Tensor) => Array.from(tensor.data as Float32Array, (value) => Math.round(value * 1e5) / 1e5);

describe('functions of tensors', () => {
  it('join', () => {
    expect(shown(wattn.cat([matrix, matrix]))).toEqual(['float32', [4, 3], [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]]);
    expect(shown(wattn.cat([matrix, matrix], 1))).toEqual(['float32', [2, 6], [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]]);
    expect(shown(wattn.stack([matrix, matrix]))).toEqual(['float32', [2, 2, 3], [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]]);
    expect(wattn.stack([matrix, matrix], -1).tolist()).toEqual(
      [1, 2, 3, 4, 5, 6]
        .map((x) => [x, x])
        .reduce((rows: any[], pair, i) => (i % 3 ? rows.at(-1).push(pair) : rows.push([pair]), rows), []),
    );
    expect(shown(wattn.cat([new Tensor('int64', [1n], [1]), new Tensor('int64', [2n], [1])]))).toEqual(['int64', [2], [1, 2]]);
  });

  it('reduce', async () => {
    expect(shown(wattn.mean(matrix))).toEqual(['float32', [], [3.5]]);
    expect(shown(wattn.mean(matrix, -1))).toEqual(['float32', [2], [2, 5]]);
    expect(shown(wattn.mean(matrix, 0, true))).toEqual(['float32', [1, 3], [2.5, 3.5, 4.5]]);
    const [std, mean] = wattn.std_mean(matrix, 1);
    expect([shown(std), shown(mean)]).toEqual([
      ['float32', [2], [1, 1]],
      ['float32', [2], [2, 5]],
    ]);
    const [values, indices] = await wattn.topk(matrix, 2);
    expect([shown(values), shown(indices)]).toEqual([
      ['float32', [2, 2], [3, 2, 6, 5]],
      ['int64', [2, 2], [2, 1, 2, 1]],
    ]);
    const states = new Tensor('float32', [1, 2, 3, 4, 100, 100], [1, 3, 2]);
    for (const type of ['int32', 'int64'] as const) {
      expect(shown(wattn.mean_pooling(states, new Tensor(type, [1, 1, 0], [1, 3])))).toEqual(['float32', [1, 2], [2, 3]]);
    }
  });

  it('compute', async () => {
    // torch's: transformers.js adds eps to the deviation, not to the variance.
    expect(rounded(wattn.layer_norm(matrix, [3]))).toEqual([-1.22474, 0, 1.22474, -1.22474, 0, 1.22474]);
    expect(shown(wattn.permute(matrix, [1, 0]))).toEqual(['float32', [3, 2], [1, 4, 2, 5, 3, 6]]);
    const turned = wattn.permute(
      new Tensor(
        'int32',
        Array.from({ length: 24 }, (_, i) => i),
        [2, 3, 4],
      ),
      [2, 0, 1],
    );
    expect([turned.dims, turned.tolist()[1]]).toEqual([
      [4, 2, 3],
      [
        [1, 5, 9],
        [13, 17, 21],
      ],
    ]);
    expect(shown(await wattn.matmul(matrix, wattn.permute(matrix, [1, 0])))).toEqual(['float32', [2, 2], [14, 32, 32, 77]]);
    const many = await wattn.matmul(
      wattn.stack([matrix, matrix]),
      wattn.stack([wattn.permute(matrix, [1, 0]), new Tensor('float32', [1, 0, 0, 0, 0, 0], [3, 2])]),
    );
    expect(many.tolist()).toEqual([
      [
        [14, 32],
        [32, 77],
      ],
      [
        [1, 0],
        [4, 0],
      ],
    ]);
    expect(shown(await wattn.slice(matrix, [1], [3], [1]))).toEqual(['float32', [2, 2], [2, 3, 5, 6]]);
    expect(wattn.softmax([0, 0])).toEqual([0.5, 0.5]);
    expect(wattn.log_softmax([0, 0])[0]).toBeCloseTo(-Math.LN2, 12);
    expect(wattn.dot([1, 2], [3, 4])).toBe(11);
  });

  it('make tensors', () => {
    expect([wattn.ones([2]), wattn.zeros_like(matrix), wattn.full([1], 3), wattn.full_like(matrix, true)].map(shown)).toEqual([
      ['int64', [2], [1, 1]],
      ['int64', [2, 3], [0, 0, 0, 0, 0, 0]],
      ['float32', [1], [3]],
      ['bool', [2, 3], [1, 1, 1, 1, 1, 1]],
    ]);
    expect(wattn.rand([2, 3]).dims).toEqual([2, 3]);
    const [first, second] = [0, 0].map(() => (wattn.random.seed(7), [...wattn.rand([2]), ...wattn.randn([2])]));
    wattn.random.seed();
    expect([first, first!.length]).toEqual([second, 4]);
    expect(wattn.random.random()).toBeLessThan(1);
    expect(Array.from(wattn.randn([50]).data).every(Number.isFinite)).toBe(true);
  });

  it('say what does not fit', async () => {
    await expectError(() => wattn.cat([]), 'InputError', /expected tensors, found none/);
    await expectError(() => wattn.cat([matrix, wattn.permute(matrix, [1, 0])]), 'InputError', /expected float32 dims like \[2,3\]/);
    await expectError(() => wattn.mean(matrix, 2), 'InputError', /mean: expected dim in -2 \.\. 1, found 2/);
    await expectError(() => wattn.permute(matrix, [0, 0]), 'InputError', /each dimension/);
    await expectError(wattn.matmul(matrix, matrix), 'InputError', /found \[2,3\] and \[2,3\]/);
    await expectError(() => wattn.mean_pooling(matrix, matrix), 'InputError', /last_hidden_state/);
    await expectError(() => wattn.layer_norm(matrix, [2]), 'InputError', /found \[2\]/);
  });
});
