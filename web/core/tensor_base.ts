// What Tensor (core/tensor.ts) and nn.Tensor (nn/tensor.ts) share: the numbers, their shape, and the rules for dimensions. Arithmetic is each one's own.
import { describe, InputError } from './errors.js';

/** The typed array for each data type. */
export interface TensorData {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  int8: Int8Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

/** The data types of a Tensor. */
export type TensorType = keyof TensorData;

const kArrays = {
  float32: Float32Array,
  int32: Int32Array,
  int64: BigInt64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

/** A typed array of a type: of so many zeros, or a copy of one of this type. */
export function newData<T extends TensorType>(type: T, from: number | TensorData[T]): TensorData[T] {
  const Array = kArrays[type] as unknown as new (from: number | TensorData[T]) => TensorData[T];
  return new Array(from);
}

/** The numbers as the typed array of a type. */
export function toData<T extends TensorType>(
  type: T,
  values: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>,
): TensorData[T] {
  const convert = type === 'int64' ? BigInt : type === 'bool' ? (value: unknown) => (value ? 1 : 0) : Number;
  const { from } = kArrays[type] as unknown as { from(values: unknown, convert: unknown): TensorData[T] };
  return from.call(kArrays[type], values, convert);
}

/** How many values dims hold. */
export const product = (dims: readonly number[]) => dims.reduce((size, dim) => size * dim, 1);

/** The i-th part along the first dimension, with numbers of its own: IndexedDB and postMessage would copy a view with the whole batch. */
function partOf<T extends TensorType>(tensor: TensorBase<T>, i: number): TensorBase<T> {
  const part = tensor.get(i) as { data: TensorData[T] } & TensorBase<T>;
  if (part.data.byteLength < part.data.buffer.byteLength) part.data = part.data.slice() as TensorData[T];
  return part;
}

// tensor[0] is handled by the prototype's prototype, so that access to fields costs nothing extra.
class Rows {}
Object.setPrototypeOf(
  Rows.prototype,
  new Proxy(Object.prototype, {
    get(target, key, receiver) {
      if (typeof key !== 'string' || !/^-?\d+$/.test(key)) return Reflect.get(target, key, receiver);
      const { dims: [count = 0] = [] } = receiver as TensorBase;
      return Number(key) < count && Number(key) >= -count ? partOf(receiver as TensorBase, Number(key)) : undefined;
    },
  }),
);

/**
 * Base class of `Tensor` and `nn.Tensor`: numbers in row-major order with a shape. Functions that only read numbers accept either. `tensor[i]` and
 * iteration return copies of slices along the first dimension.
 */
export abstract class TensorBase<T extends TensorType = TensorType> extends Rows {
  /** The data type, such as `'float32'`. */
  readonly type: T;
  /** All values in row-major order. */
  readonly data: TensorData[T];
  /** Sizes of the dimensions: `[2, 3]` for two rows of three. */
  readonly dims: readonly number[];
  [row: number]: TensorBase<T>;

  /** `data` is used without a copy if it is a typed array of this type, otherwise converted. Its length must be the product of `dims`. */
  constructor(type: T, data: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>, dims: readonly number[]) {
    super();
    if (!Object.hasOwn(kArrays, type))
      throw new InputError(`Tensor: expected a type of ${Object.keys(kArrays).join(', ')}, found ${describe(type)}`);
    if (!Array.isArray(dims) || !dims.every((dim) => Number.isInteger(dim) && dim >= 0)) {
      throw new InputError(
        `Tensor: expected dims to be whole numbers, found ${Array.isArray(dims) ? `[${dims}]` : describe(dims)}`,
      );
    }
    if (data === null || typeof data !== 'object' || typeof data.length !== 'number') {
      throw new InputError(`Tensor: expected data to be an array, found ${describe(data)}`);
    }
    if (data.length !== product(dims)) {
      throw new InputError(`Tensor: expected ${product(dims)} numbers for dims [${dims}], found ${data.length}`);
    }
    // The tag is the same in every realm; instanceof fails between a page and a frame, or in test runners. It takes ten times as long.
    const fits = data instanceof kArrays[type] || Object.prototype.toString.call(data) === `[object ${kArrays[type].name}]`;
    this.type = type;
    this.data = (fits ? data : toData(type, data)) as TensorData[T];
    this.dims = [...dims];
  }

  /** Number of values. */
  get size(): number {
    return this.data.length;
  }

  /** The i-th slice along the first dimension. It shares memory with this tensor; `tensor[i]` is a copy. */
  abstract get(i: number): TensorBase<T>;

  /** Iterates over the first dimension: the rows of a matrix, each a Tensor. */
  *[Symbol.iterator](): Generator<TensorBase<T>, void, undefined> {
    for (let i = 0; i < (this.dims[0] ?? 0); ++i) yield partOf(this, i);
  }

  /** The value of a tensor with exactly one value. */
  item(): T extends 'int64' ? bigint : number {
    if (this.size !== 1) throw new InputError(`Tensor: item(): expected one value, found dims [${this.dims}]`);
    return this.data[0] as T extends 'int64' ? bigint : number;
  }

  /** Nested arrays, one level per dimension; bigint for int64. */
  tolist<Nested = any>(): Nested {
    const values = Array.from(this.data as ArrayLike<unknown>);
    const nest = (level: number, begin: number): unknown => {
      const dim = this.dims[level];
      if (dim === undefined) return values[begin];
      const size = product(this.dims.slice(level + 1));
      if (level === this.dims.length - 1) return values.slice(begin, begin + dim);
      return Array.from({ length: dim }, (_, i) => nest(level + 1, begin + i * size));
    };
    return nest(0, 0) as Nested;
  }
}

/** The numbers of `get(i)`, not copied, and their dims. */
export function rowOf<T extends TensorType>(
  { data, dims }: TensorBase<T>,
  i: number,
): [data: TensorData[T], dims: readonly number[]] {
  const [count, ...rest] = dims;
  if (count === undefined || !Number.isInteger(i) || i < -count || i >= count) {
    throw new InputError(`Tensor: index ${i} is out of range for dims [${dims}]`);
  }
  const size = product(rest);
  const begin = (i < 0 ? i + count : i) * size;
  return [data.subarray(begin, begin + size) as TensorData[T], rest];
}

/** A dimension, which may count from the end, as a number from 0 on. Of a scalar, 0 and -1 are dimensions. */
export function checkDim(where: string, dim: number, ndim: number): number {
  if (ndim === 0 && (dim === 0 || dim === -1)) return 0;
  if (Number.isInteger(dim) && dim >= -ndim && dim < ndim) return dim < 0 ? dim + ndim : dim;
  throw new InputError(`${where}: expected dim in ${-ndim} .. ${ndim - 1}, found ${describe(dim)}`);
}

/** Dims without those of size 1: all of them, or only these. */
export function squeezed(dims: readonly number[], dim?: number | readonly number[] | null): number[] {
  const given = dim === undefined || dim === null ? undefined : [dim].flat().map((at) => checkDim('squeeze', at, dims.length));
  return dims.filter((size, i) => size !== 1 || (given && !given.includes(i)));
}

/** Dims with one of size 1 more. */
export function unsqueezed(dims: readonly number[], dim: number): number[] {
  const at = checkDim('unsqueeze', dim, dims.length + 1);
  return [...dims.slice(0, at), 1, ...dims.slice(at)];
}

/** Dims with those from start_dim to end_dim as one. */
export function flattened(dims: readonly number[], start_dim = 0, end_dim = -1): number[] {
  const [begin, end] = [checkDim('flatten', start_dim, dims.length), checkDim('flatten', end_dim, dims.length)];
  if (begin > end) throw new InputError(`flatten: expected start_dim up to end_dim, found ${start_dim} and ${end_dim}`);
  return [...dims.slice(0, begin), product(dims.slice(begin, end + 1)), ...dims.slice(end + 1)];
}

/** A range of one dimension: an index, which removes the dimension, `[begin, end]`, `[begin, end, step]`, or null for all of it. */
export type Range = number | readonly [begin: number | null, end: number | null, step?: number] | null;

/** What ranges mean for dims: begin, end and step of each. Negative numbers count from the end. */
export function toBounds(dims: readonly number[], ranges: readonly (Range | undefined)[]): [number, number, number][] {
  if (ranges.length > dims.length) throw new InputError(`Tensor: ${ranges.length} ranges for dims [${dims}]`);
  return dims.map((dim, i) => {
    const range = ranges[i] ?? [null, null];
    if (typeof range === 'number') {
      const at = range < 0 ? range + dim : range;
      if (Number.isInteger(at) && at >= 0 && at < dim) return [at, at + 1, 1];
      throw new InputError(`Tensor: index ${range} is out of range for a dimension of ${dim}`);
    }
    const [from, to, step = 1] = range;
    const clamp = (value: number) => Math.min(dim, Math.max(0, value < 0 ? value + dim : value));
    const begin = clamp(from ?? 0);
    return [begin, Math.max(begin, clamp(to ?? dim)), step];
  });
}
