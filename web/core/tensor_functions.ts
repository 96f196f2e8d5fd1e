// Functions of tensors with transformers.js's names. They are apart from Tensor, so that a page loads those it names. They know nothing of
// gradients: for those, nn has functions of its own. Where Tensor has a method, the function calls it.
import { describe, InputError } from './errors.js';
import { makeRandom } from './random.js';
import { softmax as softmaxOf } from './scores.js';
import { reduce, Tensor } from './tensor.js';
import { checkDim, newData, product, unsqueezed, type TensorBase, type TensorType } from './tensor_base.js';

/** A tensor of nn as one with methods; memory is shared. */
const plain = <T extends TensorType>({ type, data, dims }: TensorBase<T>): Tensor<T> => new Tensor(type, data, dims);

/**
 * Joins tensors along a dimension. Their other dimensions must be equal.
 *
 *     cat([ones([1, 2]), zeros([1, 2])]).dims; // [2, 2]
 *
 * @example
 * const a = ones([1, 2]);
 * cat([a, zeros([1, 2])]).tolist(); // => [[1, 1], [0, 0]]
 */
export function cat<T extends TensorType>(tensors: readonly TensorBase<T>[], dim = 0): Tensor<T> {
  const [first] = tensors;
  if (!first) throw new InputError('cat: expected tensors, found none');
  const at = checkDim('cat', dim, first.dims.length);
  const others = (dims: readonly number[]) => `${dims.map((size, i) => (i === at ? '*' : size))}`;
  for (const { type, dims } of tensors) {
    if (others(dims) !== others(first.dims) || at >= dims.length || type !== first.type) {
      const like = `${first.type} dims like [${first.dims}] but for dimension ${dim}`;
      throw new InputError(`cat: expected ${like}, found ${type} [${dims}]`);
    }
  }
  const sizes = tensors.map(({ dims }) => product(dims.slice(at)));
  const dims = first.dims.map((size, i) => (i === at ? tensors.reduce((sum, each) => sum + (each.dims[at] as number), 0) : size));
  const data = newData(first.type, product(dims));
  let to = 0;
  for (let i = 0; i < product(first.dims.slice(0, at)); ++i) {
    tensors.forEach((each, j) => {
      const size = sizes[j] as number;
      data.set(each.data.subarray(i * size, (i + 1) * size) as never, to);
      to += size;
    });
  }
  return new Tensor(first.type, data, dims);
}

/**
 * Stacks tensors of the same shape along a new dimension.
 *
 *     stack([ones([2]), zeros([2])]).dims; // [2, 2]
 *
 * @example
 * stack([ones([2]), zeros([2])]).tolist(); // => [[1, 1], [0, 0]]
 */
export const stack = <T extends TensorType>(tensors: readonly TensorBase<T>[], dim = 0): Tensor<T> =>
  cat(
    tensors.map(({ type, data, dims }) => new Tensor(type, data, unsqueezed(dims, dim))),
    dim,
  );

/**
 * The mean of the unmasked token vectors: from `[batch, seq, dim]` and `[batch, seq]` to `[batch, dim]`.
 *
 *     const { last_hidden_state } = await model(inputs);
 *     const vectors = mean_pooling(last_hidden_state, inputs.attention_mask);
 *
 * @example
 * const states = new Tensor('float32', [1, 2, 3, 4, 9, 9], [1, 3, 2]);
 * const mask = new Tensor('int32', [1, 1, 0], [1, 3]);
 * mean_pooling(states, mask).tolist(); // => [[2, 3]]
 */
export function mean_pooling(last_hidden_state: TensorBase, attention_mask: TensorBase): Tensor<'float32'> {
  const [batch = 0, seq = 0, dim = 0] = last_hidden_state.dims;
  if (last_hidden_state.dims.length !== 3) {
    throw new InputError(`mean_pooling: last_hidden_state: expected dims [batch, seq, dim], found [${last_hidden_state.dims}]`);
  }
  if (`${attention_mask.dims}` !== `${[batch, seq]}`) {
    throw new InputError(`mean_pooling: attention_mask: expected dims [${batch},${seq}], found [${attention_mask.dims}]`);
  }
  const out = new Float32Array(batch * dim);
  for (let row = 0; row < batch; ++row) {
    const sums = new Float64Array(dim);
    let count = 0;
    for (let token = row * seq; token < (row + 1) * seq; ++token) {
      const weight = Number(attention_mask.data[token]);
      count += weight;
      if (weight) sums.forEach((sum, i) => (sums[i] = sum + weight * Number(last_hidden_state.data[token * dim + i])));
    }
    out.set(sums.map((sum) => sum / (count || 1)), row * dim); // prettier-ignore
  }
  return new Tensor('float32', out, [batch, dim]);
}

/**
 * Normalises the last dimensions, whose sizes are `normalized_shape`, to mean 0 and variance 1.
 *
 *     layer_norm(vectors, [vectors.dims[1]]).slice(null, [0, 256]); // a Matryoshka vector
 *
 * @example
 * layer_norm(new Tensor('float32', [1, 2, 3, 6], [1, 4]), [4]).tolist(); // => [[-1.069, -0.5345, 0, 1.6036]]
 */
export function layer_norm(input: TensorBase, normalized_shape: readonly number[], { eps = 1e-5 } = {}): Tensor<'float32'> {
  const size = product(normalized_shape);
  if (`${input.dims.slice(-normalized_shape.length)}` !== `${normalized_shape}`) {
    throw new InputError(`layer_norm: expected a shape at the end of [${input.dims}], found [${normalized_shape}]`);
  }
  const out = Float32Array.from(input.data as Float32Array, Number);
  for (let begin = 0; begin < out.length; begin += size) {
    const row = out.subarray(begin, begin + size);
    const mean = row.reduce((sum, value) => sum + value, 0) / size;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / size;
    row.forEach((value, i) => (row[i] = (value - mean) / Math.sqrt(variance + eps)));
  }
  return new Tensor('float32', out, input.dims);
}

/**
 * The k largest values of the last dimension and their indices, largest first. Default: all.
 *
 *     const [values, indices] = await topk(logits, 5);
 *
 * @example
 * const [values, indices] = await topk(new Tensor('float32', [3, 9, 5], [3]), 2);
 * [values.tolist(), indices.tolist().map(Number)]; // => [[9, 5], [1, 2]]
 */
export async function topk<T extends TensorType>(
  input: TensorBase<T>,
  k?: number,
): Promise<[values: Tensor<T>, indices: Tensor<'int64'>]> {
  const size = input.dims.at(-1) ?? 1;
  const count = Math.min(k ?? size, size);
  const values: unknown[] = [];
  const indices: number[] = [];
  for (let begin = 0; begin < input.size; begin += size) {
    const order = Array.from({ length: size }, (_, i) => i);
    order.sort((a, b) => Number(input.data[begin + b]) - Number(input.data[begin + a]) || a - b);
    for (const i of order.slice(0, count)) {
      values.push(input.data[begin + i]);
      indices.push(i);
    }
  }
  const dims = [...input.dims.slice(0, -1), count];
  return [new Tensor(input.type, values as number[], dims), new Tensor('int64', indices, dims)];
}

/**
 * Matrix product of `[.., n, k]` and `[k, m]`, or of two batches, `[.., n, k]` and `[.., k, m]`.
 *
 *     const scores = await matmul(queries, permute(documents, [1, 0]));
 *
 * @example
 * const a = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
 * (await matmul(a, a)).tolist(); // => [[7, 10], [15, 22]]
 */
export async function matmul(a: TensorBase, b: TensorBase): Promise<Tensor<'float32'>> {
  const [n = 0, k = 0] = a.dims.slice(-2);
  const [rows, m = 0] = b.dims.slice(-2);
  const many = b.dims.length > 2;
  if (a.dims.length < 2 || b.dims.length < 2 || rows !== k || (many && `${b.dims.slice(0, -2)}` !== `${a.dims.slice(0, -2)}`)) {
    throw new InputError(`matmul: expected dims [.., n, k] and [k, m], found [${a.dims}] and [${b.dims}]`);
  }
  const dims = [...a.dims.slice(0, -1), m];
  const out = Float32Array.from({ length: product(dims) }, (_, at) => {
    const row = Math.floor(at / m);
    const base = many ? Math.floor(row / n) * k * m : 0;
    let sum = 0;
    for (let i = 0; i < k; ++i) sum += Number(a.data[row * k + i]) * Number(b.data[base + i * m + (at % m)]);
    return sum;
  });
  return new Tensor('float32', out, dims);
}

/**
 * A tensor filled with one value: int64 for a bigint, bool for a boolean, otherwise float32. `full([2, 2], 0.5)`
 *
 * @example
 * full([2, 2], 7).tolist(); // => [[7, 7], [7, 7]]
 */
export function full(size: readonly number[], fill_value: number | bigint | boolean): Tensor {
  const types: Record<string, TensorType> = { number: 'float32', bigint: 'int64', boolean: 'bool' };
  const type = types[typeof fill_value];
  if (!type) throw new InputError(`full: expected a number, a bigint or a boolean, found ${describe(fill_value)}`);
  return new Tensor(type, new Array<number>(product(size)).fill(Number(fill_value)), size);
}
/**
 * `full` in the shape of another tensor. `full_like(ids, 0n)`
 *
 * @example
 * full_like(ones([3]), 0.5).tolist(); // => [0.5, 0.5, 0.5]
 */
export const full_like = ({ dims }: TensorBase, fill_value: number | bigint | boolean): Tensor => full(dims, fill_value);
/**
 * A tensor of int64 ones, such as an attention mask. `ones([1, 8])`
 *
 * @example
 * ones([2, 2]).tolist(); // => [[1, 1], [1, 1]]
 */
export const ones = (size: readonly number[]): Tensor<'int64'> => full(size, 1n) as Tensor<'int64'>;
/**
 * `ones` in the shape of another tensor. `ones_like(input_ids)`
 *
 * @example
 * ones_like(zeros([3])).tolist(); // => [1, 1, 1]
 */
export const ones_like = ({ dims }: TensorBase): Tensor<'int64'> => ones(dims);
/**
 * A tensor of int64 zeros. `zeros([1, 8])`
 *
 * @example
 * zeros([2, 2]).tolist(); // => [[0, 0], [0, 0]]
 */
export const zeros = (size: readonly number[]): Tensor<'int64'> => full(size, 0n) as Tensor<'int64'>;
/**
 * `zeros` in the shape of another tensor. `zeros_like(input_ids)`
 *
 * @example
 * zeros_like(ones([3])).tolist(); // => [0, 0, 0]
 */
export const zeros_like = ({ dims }: TensorBase): Tensor<'int64'> => zeros(dims);
let draw = Math.random;
/**
 * The random number generator of `rand` and `randn`.
 *
 *     random.seed(42); // rand and randn now give the same numbers everywhere
 */
export const random = {
  /** Sets the seed. The same seed gives the same numbers; without one, they differ in every run. */
  seed: (seed?: number): void => void (draw = seed === undefined ? Math.random : makeRandom(seed)),
  /** A random number from 0 to 1. */
  random: (): number => draw(),
  /** A normally distributed random number. */
  gauss: (mu = 0, sigma = 1): number => mu + sigma * Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw()),
};
/**
 * Random numbers from 0 to 1. `rand([2, 3])`
 *
 * @example
 * rand([2, 3]).dims; // => [2, 3]
 */
export const rand = (size: readonly number[]): Tensor<'float32'> =>
  new Tensor('float32', Float32Array.from({ length: product(size) }, random.random), size);
/**
 * Normally distributed random numbers. `randn([2, 3])`
 *
 * @example
 * randn([2, 3]).dims; // => [2, 3]
 */
export const randn = (size: readonly number[]): Tensor<'float32'> =>
  new Tensor(
    'float32',
    Float32Array.from({ length: product(size) }, () => random.gauss()),
    size,
  );

/**
 * The mean along a dimension, or of all values, with dims `[]`. `keepdim` keeps the dimension, with size 1.
 *
 *     mean(vectors, 0); // the centre
 *
 * @example
 * mean(new Tensor('float32', [1, 2, 3, 4], [2, 2]), 1).tolist(); // => [1.5, 3.5]
 */
export const mean = (input: TensorBase, dim?: number | null, keepdim = false): Tensor<'float32'> => plain(input).mean(dim, keepdim);

/**
 * The standard deviation and the mean. `correction` is subtracted from the number of values.
 *
 *     const [std, mean] = std_mean(vectors, 0);
 *
 * @example
 * std_mean(new Tensor('float32', [1, 2, 3, 4], [4])).map((each) => each.item()); // => [1.291, 2.5]
 */
export function std_mean(
  input: TensorBase,
  dim: number | null = null,
  correction = 1,
  keepdim = false,
): [std: Tensor<'float32'>, mean: Tensor<'float32'>] {
  const deviation = (list: Float32Array) => {
    const values = Array.from(list, Number);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - correction));
  };
  return [reduce('std_mean', input, dim, keepdim, 'float32', deviation), plain(input).mean(dim, keepdim)];
}

/**
 * A copy with the dimensions in the given order.
 *
 *     permute(matrix, [1, 0]); // transposed
 *
 * @example
 * permute(new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]), [1, 0]).tolist(); // => [[1, 4], [2, 5], [3, 6]]
 */
export const permute = <T extends TensorType>(tensor: TensorBase<T>, axes: readonly number[]): Tensor<T> =>
  plain(tensor).permute(...axes);

/**
 * A part of a tensor: from `starts` to `ends` along these axes. Default for the steps: 1.
 *
 *     await slice(tensor, [0], [2], [1]); // the first two columns
 *
 * @example
 * const x = new Tensor('float32', [1, 2, 3, 4, 5, 6], [2, 3]);
 * (await slice(x, [0, 1], [2, 3], [0, 1])).tolist(); // => [[2, 3], [5, 6]]
 */
export async function slice<T extends TensorType>(
  data: TensorBase<T>,
  starts: readonly number[],
  ends: readonly number[],
  axes: readonly number[] = starts.map((_, i) => i),
  steps: readonly number[] = [],
): Promise<Tensor<T>> {
  const given = axes.map((axis) => checkDim('slice', axis, data.dims.length));
  const ranges = data.dims.map((_, i): [number, number, number] | null => {
    const at = given.indexOf(i);
    return at < 0 ? null : [starts[at] as number, ends[at] as number, steps[at] ?? 1];
  });
  return plain(data).slice(...ranges);
}

/**
 * Converts logits to probabilities. `softmax([1, 2, 3])`
 *
 * @example
 * softmax([1, 2, 3]); // => [0.09, 0.2447, 0.6652]
 */
export const softmax = (logits: ArrayLike<number>): number[] => Array.from(softmaxOf(Float32Array.from(logits)));
/**
 * Converts logits to log-probabilities. `log_softmax([1, 2, 3])`
 *
 * @example
 * log_softmax([1, 2, 3]); // => [-2.4076, -1.4076, -0.4076]
 */
export const log_softmax = (logits: ArrayLike<number>): number[] => softmax(logits).map(Math.log);
