import { describe, InputError } from './errors.js';

interface TensorData {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  int8: Int8Array;
  uint8: Uint8Array;
  bool: Uint8Array;
}

export type TensorType = keyof TensorData;

/** Tags of the typed arrays, the same in every realm; instanceof fails between a page and a frame, or in test runners. */
const kTags: Record<TensorType, string> = {
  float32: 'Float32Array',
  int32: 'Int32Array',
  int64: 'BigInt64Array',
  int8: 'Int8Array',
  uint8: 'Uint8Array',
  bool: 'Uint8Array',
};

function toData(type: TensorType, values: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>): TensorData[TensorType] {
  const numbers = values as ArrayLike<number>;
  switch (type) {
    case 'float32':
      return Float32Array.from(numbers, Number);
    case 'int32':
      return Int32Array.from(numbers, Number);
    case 'int64':
      return BigInt64Array.from(Array.from(values as ArrayLike<number | bigint | boolean>, BigInt));
    case 'int8':
      return Int8Array.from(numbers, Number);
    case 'uint8':
      return Uint8Array.from(numbers, Number);
    case 'bool':
      return Uint8Array.from(numbers, (value) => (value ? 1 : 0));
  }
}

const product = (dims: readonly number[]) => dims.reduce((size, dim) => size * dim, 1);

// tensor[0] is handled by the prototype's prototype, so that access to fields costs nothing extra.
class Rows {}
Object.setPrototypeOf(
  Rows.prototype,
  new Proxy(Object.prototype, {
    get(target, key, receiver) {
      const row = typeof key === 'string' && /^\d+$/.test(key) ? Number(key) : -1;
      if (row < 0) return Reflect.get(target, key, receiver);
      const tensor = receiver as Tensor;
      return row < (tensor.dims?.[0] ?? 0) ? tensor.get(row) : undefined;
    },
  }),
);

/** Row-major numbers with a shape. `tensor[i]` and iteration give slices along the first dimension, as `get(i)` does. */
export class Tensor<T extends TensorType = TensorType> extends Rows {
  static {
    Object.defineProperty(this, 'name', { value: 'Tensor' }); // also when minified
  }

  readonly type: T;
  /** All values, row-major. */
  readonly data: TensorData[T];
  readonly dims: readonly number[];
  [row: number]: Tensor<T>;

  /** data: used without a copy if it is a typed array of this type, otherwise converted. Its length must be the product of dims. */
  constructor(type: T, data: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>, dims: readonly number[]) {
    super();
    const tag = Object.hasOwn(kTags, type) ? kTags[type] : undefined;
    if (tag === undefined)
      throw new InputError(`Tensor: expected a type of ${Object.keys(kTags).join(', ')}, found ${describe(type)}`);
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
    const fits = Object.prototype.toString.call(data) === `[object ${tag}]`;
    this.type = type;
    this.data = (fits ? data : toData(type, data)) as TensorData[T];
    this.dims = [...dims];
  }

  /** Number of values. */
  get size(): number {
    return this.data.length;
  }

  /** The i-th slice along the first dimension; it shares memory with this tensor. */
  get(i: number): Tensor<T> {
    const [count, ...rest] = this.dims;
    if (count === undefined || !Number.isInteger(i) || i < -count || i >= count) {
      throw new InputError(`Tensor: index ${i} is out of range for dims [${this.dims}]`);
    }
    const size = product(rest);
    const begin = (i < 0 ? i + count : i) * size;
    return new Tensor(this.type, this.data.subarray(begin, begin + size), rest);
  }

  *[Symbol.iterator](): Generator<Tensor<T>, void, undefined> {
    for (let i = 0; i < (this.dims[0] ?? 0); ++i) yield this.get(i);
  }

  /** The value of a tensor with one value. */
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

  /** The same values in another shape; one of dims may be -1. */
  reshape(...dims: number[]): Tensor<T> {
    const known = product(dims.filter((dim) => dim !== -1));
    const size = dims.filter((dim) => dim === -1).length === 1 && known > 0 ? this.size / known : -1;
    return new Tensor(
      this.type,
      this.data,
      dims.map((dim) => (dim === -1 ? size : dim)),
    );
  }

  /** A copy as another type; floats are truncated towards zero. */
  to<U extends TensorType>(type: U): Tensor<U> {
    const whole = type === 'int64' && this.type === 'float32';
    const values = whole ? Array.from(this.data as Float32Array, (value) => Math.trunc(value)) : this.data;
    return new Tensor(type, toData(type, values as ArrayLike<number>), this.dims);
  }

  /**
   * A copy of a part: for each dimension `null` (all of it), `[begin, end]`, or an index, which removes the dimension.
   * Negative numbers count from the end.
   */
  slice(...ranges: (number | readonly [number, number] | null)[]): Tensor<T> {
    if (ranges.length > this.dims.length) {
      throw new InputError(`Tensor: ${ranges.length} ranges for dims [${this.dims}]`);
    }
    const bounds = this.dims.map((dim, i) => toBounds(ranges[i] ?? null, dim));
    const sizes = bounds.map(([begin, end]) => end - begin);
    const out = this.data.slice(0, product(sizes)) as TensorData[T];
    let at = 0;
    const copy = (level: number, base: number): void => {
      const [begin, end] = bounds[level] ?? [0, 1];
      if (level >= this.dims.length - 1) {
        out.set(this.data.subarray(base + begin, base + end) as never, at);
        at += end - begin;
        return;
      }
      const stride = product(this.dims.slice(level + 1));
      for (let i = begin; i < end; ++i) copy(level + 1, base + i * stride);
    };
    copy(0, 0);
    const dims = sizes.filter((_, i) => typeof ranges[i] !== 'number');
    return new Tensor(this.type, out, dims);
  }
}

function toBounds(range: number | readonly [number, number] | null, dim: number): [number, number] {
  if (range === null) return [0, dim];
  const clamp = (value: number) => Math.min(dim, Math.max(0, value < 0 ? value + dim : value));
  if (typeof range !== 'number') return [clamp(range[0]), Math.max(clamp(range[0]), clamp(range[1]))];
  const at = range < 0 ? range + dim : range;
  if (!Number.isInteger(at) || at < 0 || at >= dim)
    throw new InputError(`Tensor: index ${range} is out of range for a dimension of ${dim}`);
  return [at, at + 1];
}
