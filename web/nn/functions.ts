// Functions of the torch namespace that are no methods: making tensors, joining them.
import { describe, InputError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import { Tensor as Values } from '../core/tensor.js';
import { nextSeed } from './seed.js';
import { callFunction, checkDim, Tensor } from './tensor.js';

export interface MakeOptions {
  requires_grad?: boolean;
}
export interface RandomOptions extends MakeOptions {
  /** Default: the next seed after `nn.manual_seed`. */
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
  const options = last !== null && typeof last === 'object' && !Array.isArray(last) ? last : undefined;
  checkOptions(where, options, known);
  const dims = (options ? given.slice(0, -1) : given).flat();
  if (!dims.every((dim) => Number.isInteger(dim) && (dim as number) >= 0)) {
    throw new InputError(`${where}: expected sizes to be whole numbers, found ${describe(dims)}`);
  }
  return { dims: dims as number[], options: { ...options } as Options };
}

const made = (tensor: Tensor, { requires_grad = false }: MakeOptions): Tensor => (requires_grad ? tensor.requires_grad_() : tensor);

const filled = (where: string, value: number, size: readonly unknown[]): Tensor => {
  const { dims, options } = read<MakeOptions>(where, size, ['requires_grad']);
  const count = dims.reduce((product, dim) => product * dim, 1);
  return made(new Tensor('float32', new Float32Array(count).fill(value), dims), options);
};

/** A tensor from a number, nested arrays or another tensor; a copy. */
export function tensor(data: unknown, options: MakeOptions = {}): Tensor {
  checkOptions('nn.tensor', options, { requires_grad: 'boolean' });
  if (data instanceof Values)
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

export const zeros = (...size: Size<MakeOptions>): Tensor => filled('nn.zeros', 0, size);
export const ones = (...size: Size<MakeOptions>): Tensor => filled('nn.ones', 1, size);
export const full = (size: readonly number[], value: number, options: MakeOptions = {}): Tensor =>
  filled('nn.full', value, [size, options]);
export const zeros_like = (like: Values): Tensor => zeros(like.dims);
export const ones_like = (like: Values): Tensor => ones(like.dims);
/** The identity matrix. */
export const eye = (n: number): Tensor =>
  new Tensor(
    'float32',
    Float32Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0)),
    [n, n],
  );

/** `arange(end)`, `arange(start, end)`, `arange(start, end, step)`. */
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
/** Uniform in [0, 1), from SplitMix64: the same numbers everywhere, not torch's. */
export const rand = (...size: Size<RandomOptions>): Tensor => random('nn.rand', false, size);
/** Normal, with mean 0 and variance 1. */
export const randn = (...size: Size<RandomOptions>): Tensor => random('nn.randn', true, size);

/** One after another along `dim`. */
export function cat(tensors: readonly Values[], dim = 0): Tensor {
  if (!Array.isArray(tensors)) throw new InputError(`nn.cat: expected an array of tensors, found ${describe(tensors)}`);
  return callFunction('cat', Object.fromEntries(tensors.map((each, i) => [`tensor ${i}`, each])), { dim }, ['dim']).output;
}
/** Beside each other along a new dimension. */
export function stack(tensors: readonly Values[], dim = 0): Tensor {
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
  return input.masked_fill(new Values('bool', mask, [rows, columns]), 0);
};
/** The lower triangle of matrices, zeros above it. */
export const tril = (input: Tensor, diagonal = 0): Tensor => triangle(input, (column, row) => column <= row + diagonal);
/** The upper triangle of matrices, zeros below it. */
export const triu = (input: Tensor, diagonal = 0): Tensor => triangle(input, (column, row) => column >= row + diagonal);
