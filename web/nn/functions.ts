// Functions of the torch namespace that are no methods: making tensors, joining them.
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { Tensor as Plain } from '../core/tensor.js';
import { checkDim, TensorBase } from '../core/tensor_base.js';
import { nextSeed } from './seed.js';
import { callFunction, Tensor } from './tensor.js';

/** Options of functions that create tensors. */
export interface MakeOptions {
  /** `true`: `backward()` computes a gradient for it. Default `false`. */
  requires_grad?: boolean;
}
/** Options of functions that create random tensors. */
export interface RandomOptions extends MakeOptions {
  /** Seed of the random numbers. Default: the next one after `nn.manual_seed`. */
  seed?: number;
}
/** `zeros(2, 3)`, `zeros([2, 3])`, and options after them. */
type Size<Options> = [...sizes: number[]] | [...sizes: number[], options: Options] | [sizes: readonly number[], options?: Options];

function read<Options extends object>(
  where: string,
  given: readonly unknown[],
  known: readonly string[],
): { dims: number[]; options: Options } {
  const last = given.at(-1);
  const isGiven = last !== null && typeof last === 'object' && !Array.isArray(last);
  const options = readOptions(where, isGiven ? last : undefined, known) as Options;
  const dims = (isGiven ? given.slice(0, -1) : given).flat();
  if (!dims.every((dim) => Number.isInteger(dim) && (dim as number) >= 0)) {
    throw new InputError(`${where}: expected sizes to be whole numbers, found ${describe(dims)}`);
  }
  return { dims: dims as number[], options };
}

const made = (tensor: Tensor, { requires_grad = false }: MakeOptions): Tensor => (requires_grad ? tensor.requires_grad_() : tensor);

const filled = (where: string, value: number, size: readonly unknown[]): Tensor => {
  const { dims, options } = read<MakeOptions>(where, size, ['requires_grad']);
  const count = dims.reduce((product, dim) => product * dim, 1);
  return made(new Tensor('float32', new Float32Array(count).fill(value), dims), options);
};

/**
 * Creates a tensor from a number, nested arrays or another tensor, which is copied.
 *
 * @example
 * nn.tensor([[1, 2], [3, 4]]).sum().item(); // => 10
 */
export function tensor(data: unknown, options: MakeOptions = {}): Tensor {
  options = readOptions('nn.tensor', options, { requires_grad: 'boolean' });
  if (data instanceof TensorBase)
    return made(new Tensor('float32', Float32Array.from(data.data as ArrayLike<number>, Number), data.dims), options);
  const dims: number[] = [];
  for (let level: any = data; typeof level === 'object' && level !== null && 'length' in level; level = level[0])
    dims.push(level.length);
  const values: number[] = [];
  const visit = (value: any, depth: number): void => {
    if (depth === dims.length) {
      if (typeof value !== 'number' && typeof value !== 'boolean' && typeof value !== 'bigint') {
        throw new InputError(`nn.tensor: expected numbers in nested arrays of equal lengths, found ${describe(value)}`);
      }
      values.push(Number(value));
      return;
    }
    if (value?.length !== dims[depth]) {
      throw new InputError(
        `nn.tensor: expected nested arrays of equal lengths, found ${describe(value)} for ${dims[depth]} values`,
      );
    }
    for (const each of value) visit(each, depth + 1);
  };
  visit(data, 0);
  return made(new Tensor('float32', values, dims), options);
}

/**
 * A tensor of zeros: `zeros(2, 3)` or `zeros([2, 3])`.
 *
 * @example
 * nn.zeros(2, 2).tolist(); // => [[0, 0], [0, 0]]
 */
export const zeros = (...size: Size<MakeOptions>): Tensor => filled('nn.zeros', 0, size);
/**
 * A tensor of ones: `ones(2, 3)` or `ones([2, 3])`.
 *
 * @example
 * nn.ones(2, 2).tolist(); // => [[1, 1], [1, 1]]
 */
export const ones = (...size: Size<MakeOptions>): Tensor => filled('nn.ones', 1, size);
/**
 * A tensor filled with one value.
 *
 * @example
 * nn.full([2], 7).tolist(); // => [7, 7]
 */
export const full = (size: readonly number[], value: number, options: MakeOptions = {}): Tensor =>
  filled('nn.full', value, [size, options]);
/**
 * A tensor of zeros in the shape of another tensor.
 *
 * @example
 * nn.zeros_like(nn.ones(2)).tolist(); // => [0, 0]
 */
export const zeros_like = (like: TensorBase): Tensor => zeros(like.dims);
/**
 * A tensor of ones in the shape of another tensor.
 *
 * @example
 * nn.ones_like(nn.zeros(2)).tolist(); // => [1, 1]
 */
export const ones_like = (like: TensorBase): Tensor => ones(like.dims);
/**
 * The identity matrix.
 *
 * @example
 * nn.eye(2).tolist(); // => [[1, 0], [0, 1]]
 */
export const eye = (n: number): Tensor =>
  new Tensor(
    'float32',
    Float32Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0)),
    [n, n],
  );

/**
 * Evenly spaced numbers: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.
 *
 * @example
 * nn.arange(0, 6, 2).tolist(); // => [0, 2, 4]
 */
export function arange(first: number, end?: number, step = 1): Tensor {
  const [from, to] = end === undefined ? [0, first] : [first, end];
  const length = Math.ceil((to - from) / step);
  if (!(length >= 0 && Number.isFinite(length)))
    throw new InputError(`nn.arange: expected a step from ${from} to ${to}, found ${step}`);
  return new Tensor(
    'float32',
    Float32Array.from({ length }, (_, i) => from + i * step),
    [length],
  );
}

const random = (where: string, normal: boolean, size: readonly unknown[]): Tensor => {
  const { dims, options } = read<RandomOptions>(where, size, ['requires_grad', 'seed']);
  const seed = options.seed ?? nextSeed();
  return made(callFunction('random', {}, { size: dims, normal, seed }, ['size', 'normal', 'seed']).output, options);
};
/**
 * Uniform random numbers in [0, 1), from SplitMix64: the same on every machine, but not torch's.
 *
 * @example
 * nn.rand(2, 3, { seed: 1 }).shape; // => [2, 3]
 */
export const rand = (...size: Size<RandomOptions>): Tensor => random('nn.rand', false, size);
/**
 * Normally distributed random numbers, with mean 0 and variance 1.
 *
 * @example
 * nn.randn(2, 3, { seed: 1 }).shape; // => [2, 3]
 */
export const randn = (...size: Size<RandomOptions>): Tensor => random('nn.randn', true, size);

/**
 * Concatenates tensors along `dim`.
 *
 * @example
 * nn.cat([nn.ones(1, 2), nn.zeros(1, 2)]).tolist(); // => [[1, 1], [0, 0]]
 */
export function cat(tensors: readonly TensorBase[], dim = 0): Tensor {
  if (!Array.isArray(tensors)) throw new InputError(`nn.cat: expected an array of tensors, found ${describe(tensors)}`);
  return callFunction('cat', Object.fromEntries(tensors.map((each, i) => [`tensor ${i}`, each])), { dim }, ['dim']).output;
}
/**
 * Stacks tensors along a new dimension.
 *
 * @example
 * nn.stack([nn.ones(2), nn.zeros(2)]).tolist(); // => [[1, 1], [0, 0]]
 */
export function stack(tensors: readonly TensorBase[], dim = 0): Tensor {
  if (!Array.isArray(tensors)) throw new InputError(`nn.stack: expected an array of tensors, found ${describe(tensors)}`);
  const at = checkDim('nn.stack', dim, (tensors[0]?.dims.length ?? 0) + 1);
  const parts = tensors.map(
    (each) =>
      callFunction('reshape', { input: each }, { shape: [...each.dims.slice(0, at), 1, ...each.dims.slice(at)] }, ['shape']).output,
  );
  return cat(parts, at);
}

const triangle = (input: Tensor, keep: (column: number, row: number) => boolean): Tensor => {
  const [rows = 1, columns = 1] = input.dims.slice(-2);
  const mask = Uint8Array.from({ length: rows * columns }, (_, i) => Number(!keep(i % columns, Math.floor(i / columns))));
  return input.masked_fill(new Plain('bool', mask, [rows, columns]), 0);
};
/**
 * The lower triangle of matrices, with zeros above.
 *
 * @example
 * nn.tril(nn.ones(2, 2)).tolist(); // => [[1, 0], [1, 1]]
 */
export const tril = (input: Tensor, diagonal = 0): Tensor => triangle(input, (column, row) => column <= row + diagonal);
/**
 * The upper triangle of matrices, with zeros below.
 *
 * @example
 * nn.triu(nn.ones(2, 2)).tolist(); // => [[1, 1], [0, 1]]
 */
export const triu = (input: Tensor, diagonal = 0): Tensor => triangle(input, (column, row) => column >= row + diagonal);
