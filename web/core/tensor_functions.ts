// Functions of tensors with transformers.js's names. They are apart from Tensor, so that a page loads those it names. They know nothing of
// gradients: for those, nn has functions of its own.
import { describe, InputError } from './errors.js';
import { softmax as softmaxOf } from './scores.js';
import { Tensor, type TensorType } from './tensor.js';

const product = (dims: readonly number[]) => dims.reduce((size, dim) => size * dim, 1);
const sizeOf = ({ dims }: { dims: readonly number[] }) => dims;

/**
 * Joins tensors along a dimension. Their other dimensions must be equal.
 *
 *     cat([ones([1, 2]), zeros([1, 2])]).dims; // [2, 2]
 */
export function cat<T extends TensorType>(tensors: readonly Tensor<T>[], dim = 0): Tensor<T> {
  const [first] = tensors;
  if (!first) throw new InputError('cat: expected tensors, found none');
  const at = dim < 0 ? dim + first.dims.length : dim;
  const others = (dims: readonly number[]) => `${dims.map((size, i) => (i === at ? '*' : size))}`;
  for (const { dims } of tensors) {
    if (others(dims) !== others(first.dims) || at >= dims.length) {
      throw new InputError(`cat: expected dims like [${first.dims}] but for dimension ${dim}, found [${dims}]`);
    }
  }
  const sizes = tensors.map(({ dims }) => product(dims.slice(at)));
  const dims = first.dims.map((size, i) => (i === at ? tensors.reduce((sum, each) => sum + (each.dims[at] as number), 0) : size));
  const data: unknown[] = [];
  for (let i = 0; i < product(first.dims.slice(0, at)); ++i) {
    tensors.forEach((each, j) => {
      const size = sizes[j] as number;
      for (let k = i * size; k < (i + 1) * size; ++k) data.push(each.data[k]);
    });
  }
  return new Tensor(first.type, data as number[], dims);
}

/**
 * Joins tensors of one shape along a new dimension.
 *
 *     stack([ones([2]), zeros([2])]).dims; // [2, 2]
 */
export const stack = <T extends TensorType>(tensors: readonly Tensor<T>[], dim = 0): Tensor<T> =>
  cat(
    tensors.map(({ type, data, dims }) => {
      const at = dim < 0 ? dim + dims.length + 1 : dim;
      return new Tensor(type, data, [...dims.slice(0, at), 1, ...dims.slice(at)]);
    }),
    dim,
  );

/**
 * The mean of the token vectors that are not masked: `[batch, seq, dim]` and `[batch, seq]` give `[batch, dim]`.
 *
 *     const { last_hidden_state } = await model(inputs);
 *     const vectors = mean_pooling(last_hidden_state, inputs.attention_mask);
 */
export function mean_pooling(last_hidden_state: Tensor, attention_mask: Tensor): Tensor<'float32'> {
  const [batch = 0, seq = 0, dim = 0] = last_hidden_state.dims;
  if (last_hidden_state.dims.length !== 3) {
    throw new InputError(`mean_pooling: last_hidden_state: expected dims [batch, seq, dim], found [${last_hidden_state.dims}]`);
  }
  if (`${sizeOf(attention_mask)}` !== `${[batch, seq]}`) {
    throw new InputError(`mean_pooling: attention_mask: expected dims [${batch},${seq}], found [${sizeOf(attention_mask)}]`);
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
 * Normalises the last dimensions, whose sizes are normalized_shape, to mean 0 and variance 1.
 *
 *     layer_norm(vectors, [vectors.dims[1]]).slice(null, [0, 256]); // a Matryoshka vector
 */
export function layer_norm(input: Tensor, normalized_shape: readonly number[], { eps = 1e-5 } = {}): Tensor<'float32'> {
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
 * The k largest values of the last dimension and their indices, largest first; default: all.
 *
 *     const [values, indices] = await topk(logits, 5);
 */
export async function topk<T extends TensorType>(
  input: Tensor<T>,
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
 * The product of matrices, `[.., n, k]` and `[k, m]`, or as many of them, `[.., k, m]`.
 *
 *     const scores = await matmul(queries, permute(documents, [1, 0]));
 */
export async function matmul(a: Tensor, b: Tensor): Promise<Tensor<'float32'>> {
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

/** A tensor of one value: int64 for a bigint, bool for a boolean, else float32. `full([2, 2], 0.5)` */
export function full(size: readonly number[], fill_value: number | bigint | boolean): Tensor {
  const types: Record<string, TensorType> = { number: 'float32', bigint: 'int64', boolean: 'bool' };
  const type = types[typeof fill_value];
  if (!type) throw new InputError(`full: expected a number, a bigint or a boolean, found ${describe(fill_value)}`);
  return new Tensor(type, new Array<number>(product(size)).fill(Number(fill_value)), size);
}
/** As `full`, in the shape of a tensor. `full_like(ids, 0n)` */
export const full_like = ({ dims }: Tensor, fill_value: number | bigint | boolean): Tensor => full(dims, fill_value);
/** int64 ones, as a mask of ids. `ones([1, 8])` */
export const ones = (size: readonly number[]): Tensor<'int64'> => full(size, 1n) as Tensor<'int64'>;
/** `ones_like(input_ids)` */
export const ones_like = ({ dims }: Tensor): Tensor<'int64'> => ones(dims);
/** int64 zeros. `zeros([1, 8])` */
export const zeros = (size: readonly number[]): Tensor<'int64'> => full(size, 0n) as Tensor<'int64'>;
/** `zeros_like(input_ids)` */
export const zeros_like = ({ dims }: Tensor): Tensor<'int64'> => zeros(dims);
/** Numbers from 0 to 1. `rand([2, 3])` */
export const rand = (size: readonly number[]): Tensor<'float32'> =>
  new Tensor('float32', Float32Array.from({ length: product(size) }, Math.random), size);
/** Normally distributed numbers. `randn([2, 3])` */
export const randn = (size: readonly number[]): Tensor<'float32'> =>
  new Tensor(
    'float32',
    Float32Array.from(
      { length: product(size) },
      () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random()),
    ),
    size,
  );

/** The lists of values along a dimension (default: one of all values), and the dims of a result with one value for each. */
function along(where: string, { data, dims }: Tensor, dim: number | null | undefined, keepdim: boolean) {
  const whole = dim === undefined || dim === null;
  const at = whole ? 0 : dim < 0 ? dim + dims.length : dim;
  const sizes = whole ? [data.length] : dims;
  const count = sizes[at];
  if (count === undefined) throw new InputError(`${where}: expected a dimension of [${dims}], found ${describe(dim)}`);
  const inner = product(sizes.slice(at + 1));
  const lists = Array.from({ length: data.length / (count || 1) }, (_, i) => {
    const begin = Math.floor(i / inner) * count * inner + (i % inner);
    return Array.from({ length: count }, (_, j) => Number(data[begin + j * inner]));
  });
  const kept = dims.map((size, i) => (whole || i === at ? 1 : size));
  return { lists, dims: keepdim ? kept : whole ? [] : dims.filter((_, i) => i !== at) };
}
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The mean along a dimension, or of all values with dims `[]`. keepdim: the dimension stays, with size 1.
 *
 *     mean(vectors, 0); // the centre
 */
export function mean(input: Tensor, dim?: number | null, keepdim = false): Tensor<'float32'> {
  const { lists, dims } = along('mean', input, dim, keepdim);
  return new Tensor('float32', lists.map(meanOf), dims);
}

/**
 * The standard deviation and the mean. correction: subtracted from the number of values.
 *
 *     const [std, mean] = std_mean(vectors, 0);
 */
export function std_mean(
  input: Tensor,
  dim: number | null = null,
  correction = 1,
  keepdim = false,
): [std: Tensor<'float32'>, mean: Tensor<'float32'>] {
  const { lists, dims } = along('std_mean', input, dim, keepdim);
  const means = lists.map(meanOf);
  const deviations = lists.map((values, i) => {
    const squares = values.reduce((sum, value) => sum + (value - (means[i] as number)) ** 2, 0);
    return Math.sqrt(squares / (values.length - correction));
  });
  return [new Tensor('float32', deviations, dims), new Tensor('float32', means, dims)];
}

/**
 * A copy with the dimensions in this order.
 *
 *     permute(matrix, [1, 0]); // transposed
 */
export function permute<T extends TensorType>(tensor: Tensor<T>, axes: readonly number[]): Tensor<T> {
  const order = axes.map((axis) => (axis < 0 ? axis + tensor.dims.length : axis));
  if (`${[...order].sort()}` !== `${tensor.dims.map((_, i) => i)}`) {
    throw new InputError(`permute: expected each dimension of [${tensor.dims}] once, found [${axes}]`);
  }
  const dims = order.map((axis) => tensor.dims[axis] as number);
  const steps = order.map((axis) => product(tensor.dims.slice(axis + 1)));
  const data = Array.from({ length: tensor.size }, (_, i) => {
    let [at, left] = [0, i];
    for (let level = dims.length - 1; level >= 0; --level) {
      const size = dims[level] as number;
      at += (left % size) * (steps[level] as number);
      left = Math.floor(left / size);
    }
    return tensor.data[at];
  });
  return new Tensor(tensor.type, data as number[], dims);
}

/**
 * A part of a tensor: from starts to ends along these axes.
 *
 *     await slice(tensor, [0], [2], [1]); // the first two columns
 */
export async function slice<T extends TensorType>(
  data: Tensor<T>,
  starts: readonly number[],
  ends: readonly number[],
  axes: readonly number[] = starts.map((_, i) => i),
): Promise<Tensor<T>> {
  const ranges = data.dims.map((_, i): [number, number] | null => {
    const at = axes.findIndex((axis) => (axis < 0 ? axis + data.dims.length : axis) === i);
    return at < 0 ? null : [starts[at] as number, ends[at] as number];
  });
  return data.slice(...ranges);
}

/** Probabilities from logits. `softmax([1, 2, 3])` */
export const softmax = (logits: ArrayLike<number>): number[] => Array.from(softmaxOf(Float32Array.from(logits)));
/** Their logarithms. `log_softmax([1, 2, 3])` */
export const log_softmax = (logits: ArrayLike<number>): number[] => softmax(logits).map(Math.log);
