// The public Tensor: numbers with transformers.js's methods. They know nothing of gradients, which nn.Tensor has.
import { describe, InputError } from './errors.js';
import {
  checkDim,
  flattened,
  newData,
  product,
  rowOf,
  squeezed,
  TensorBase,
  toBounds,
  toData,
  unsqueezed,
  type Range,
  type TensorData,
  type TensorType,
} from './tensor_base.js';

/** One number of a tensor: a bigint for int64. */
type Value<T extends TensorType> = T extends 'int64' ? bigint : number;
/** The second operand of arithmetic: a number, or a tensor, which is broadcast. */
type Operand = number | bigint | TensorBase;
/** Sums of small whole numbers need more than their bits. */
type Summed<T extends TensorType> = T extends 'int8' | 'uint8' | 'bool' ? 'int32' : T;

const strides = (dims: readonly number[]) => dims.map((_, i) => product(dims.slice(i + 1)));

/** The numbers at base + the sum of index * step over the dimensions, in the order of dims. */
function gather<T extends TensorType>({ type, data }: TensorBase<T>, dims: readonly number[], steps: readonly number[], base = 0) {
  const out = newData(type, product(dims));
  let at = 0;
  const copy = (level: number, from: number) => {
    const size = dims[level] as number;
    if (level === dims.length) out[at++] = data[from] as number;
    else if (level === dims.length - 1 && steps[level] === 1) {
      out.set(data.subarray(from, from + size) as never, at);
      at += size;
    } else for (let i = 0; i < size; ++i) copy(level + 1, from + i * (steps[level] as number));
  };
  if (out.length > 0) copy(0, base);
  return new Tensor<T>(type, out, dims);
}

/** A copy with these dims: dimensions of size 1, and new ones before the first, are repeated. */
function expand<T extends TensorType>(where: string, tensor: TensorBase<T>, dims: readonly number[]): Tensor<T> {
  const added = dims.length - tensor.dims.length;
  const own = strides(tensor.dims);
  const froms = dims.map((_, i) => tensor.dims[i - added] ?? 1);
  if (added < 0 || froms.some((from, i) => from !== 1 && from !== dims[i]))
    throw new InputError(`${where}: dims [${tensor.dims}] do not fit dims [${dims}]`);
  return gather(
    tensor,
    dims,
    froms.map((from, i) => (from === 1 ? 0 : (own[i - added] as number))),
  );
}

/** A copy with room for what another operand is broadcast to. */
function roomFor<T extends TensorType>(where: string, tensor: Tensor<T>, other: Operand): Tensor<T> {
  if (!(other instanceof TensorBase)) return tensor.clone();
  const count = Math.max(tensor.dims.length, other.dims.length);
  const dims = Array.from({ length: count }, (_, i) => {
    const [a, b] = [tensor, other].map(({ dims }) => dims[dims.length - count + i] ?? 1);
    return (a === 1 ? b : a) as number;
  });
  return expand(where, tensor, dims);
}

/** A number as tensors of a type compute with it. */
function toValue(where: string, type: TensorType, value: unknown): any {
  if (typeof value !== 'number' && typeof value !== 'bigint')
    throw new InputError(`${where}: expected a number or a Tensor, found ${describe(value)}`);
  if (type === 'float32') return Number(value);
  if (typeof value === 'number' && !Number.isInteger(value))
    throw new InputError(`${where}: expected a whole number for ${type}, found ${value}; convert with to('float32')`);
  return type === 'int64' ? BigInt(value) : Number(value);
}

/** Writes `f(number, other number)` over a tensor's numbers, or to another of its size. as: the type of the other numbers. */
function combine<T extends Tensor>(
  where: string,
  { data, dims, type }: Tensor,
  other: Operand,
  f: (a: any, b: any) => unknown,
  out: T,
  as: TensorType = type,
): T {
  const many = other instanceof TensorBase ? expand(where, other, dims).data : undefined;
  const one = many ? 0 : toValue(where, as, other);
  const to = out.data as any;
  for (let i = 0; i < data.length; ++i) {
    const value = f(data[i], many ? toValue(where, as, many[i]) : one);
    to[i] = out.type === 'bool' ? !!value : value;
  }
  return out;
}

function compare(where: string, tensor: Tensor, other: Operand, f: (a: any, b: any) => boolean): Tensor<'bool'> {
  const room = roomFor(where, tensor, other);
  return combine(where, room, other, f, new Tensor('bool', newData('bool', room.size), room.dims), 'float32');
}

function setDims<T extends Tensor>(tensor: T, dims: readonly number[]): T {
  (tensor as { dims: readonly number[] }).dims = dims;
  return tensor;
}

function notZero(where: string, divisor: unknown): void {
  if (divisor === 0n) throw new InputError(`${where}: expected a divisor for int64, found 0`);
}

function onlyFloats(where: string, { type }: Tensor): void {
  if (type !== 'float32') throw new InputError(`${where}: expected a float32 Tensor, found ${type}; use to('float32')`);
}

/**
 * One number for each list along a dimension, or for the list of all numbers with dims `[]`.
 * @internal
 */
export function reduce<T extends TensorType>(
  where: string,
  tensor: TensorBase,
  dim: number | null | undefined,
  keepdim: boolean | undefined,
  type: T,
  f: (list: Float32Array) => number,
): Tensor<T> {
  const { dims } = tensor;
  const all = dim === undefined || dim === null;
  const at = all ? 0 : checkDim(where, dim, dims.length);
  const kept = dims.filter((_, i) => !all && i !== at);
  const size = all ? tensor.size : (dims[at] ?? 1);
  const steps = strides(dims);
  const last = all || at === dims.length - 1;
  const step = steps[at] ?? 1;
  const { data } = last ? tensor : gather(tensor, [...kept, size], [...steps.filter((_, i) => i !== at), step]);
  const out = Array.from({ length: product(kept) }, (_, i) => f(data.subarray(i * size, (i + 1) * size) as Float32Array));
  return new Tensor(type, out, keepdim ? dims.map((count, i) => (all || i === at ? 1 : count)) : kept);
}

function sumOf(list: ArrayLike<any>): any {
  let sum = typeof list[0] === 'bigint' ? 0n : 0;
  for (let i = 0; i < list.length; ++i) sum += list[i];
  return sum;
}

/** Where the largest (sign 1) or smallest (-1) number is: the first of several. A NaN is larger and smaller than every number. */
function extreme(where: string, list: ArrayLike<number>, sign: 1 | -1): number {
  if (list.length === 0) throw new InputError(`${where}: expected at least one number, found none`);
  let at = 0;
  for (let i = 1; i < list.length; ++i) {
    const [best, value] = [list[at] as number, list[i] as number];
    if (best === best && (value !== value || (sign > 0 ? value > best : value < best))) at = i;
  }
  return at;
}

function normOf(list: ArrayLike<unknown>, p: number): number {
  const sizes = Array.from(list, (value) => Math.abs(Number(value)));
  if (Math.abs(p) === Infinity) return sizes[extreme('norm', sizes, p > 0 ? 1 : -1)] as number;
  return p === 0 ? sizes.filter((size) => size !== 0).length : sumOf(sizes.map((size) => size ** p)) ** (1 / p);
}

/**
 * Numbers in row-major order with a shape, and the methods of transformers.js's tensors. `tensor[i]` and iteration return copies of slices along the
 * first dimension; for one dimension, its numbers. Negative dimensions count from the end. Methods return new tensors; methods whose names end with `_`
 * change this tensor and return it. Arithmetic keeps the type: integers stay integers.
 *
 *     const states = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
 *     states.mean(0).tolist(); // [2, 3]
 *     states.normalize(2, -1).mul(10)[0].tolist();
 *
 * @example
 * const x = new Tensor('float32', [1, 2, 3, 4], [2, 2]);
 * x.mul(2).sum(1).tolist(); // => [6, 14]
 */
export class Tensor<T extends TensorType = TensorType> extends TensorBase<T> {
  static {
    Object.defineProperty(this, 'name', { value: 'Tensor' }); // also when minified
  }
  [row: number]: Tensor<T>;

  get(i: number): Tensor<T> {
    return new Tensor(this.type, ...rowOf(this, i));
  }

  /** Iterates over the first dimension: the rows of a matrix, each a Tensor. For one dimension: its numbers. */
  override *[Symbol.iterator](): Generator<any, void, undefined> {
    if (this.dims.length < 2) yield* this.data;
    else yield* super[Symbol.iterator]();
  }

  /** `'cpu'`: the numbers are in memory that JavaScript can read. */
  get location(): 'cpu' {
    return 'cpu';
  }
  /** Does nothing: tensors need no release. For compatibility with transformers.js. */
  dispose(): void {}

  /** The index of a value in `data`, or -1. `ids.indexOf(tokenizer.sep_token_id)` */
  indexOf(item: number | bigint): number {
    return Array.from(this.data as Float32Array, Number).indexOf(Number(item));
  }

  // --------------------------------------------------------------------------------------------------------------- shapes

  /** The same values in another shape; one dimension may be -1. Shares memory. `tensor.reshape(2, -1)` */
  reshape(...dims: number[]): Tensor<T> {
    const free = dims.indexOf(-1);
    const known = product(dims.filter((_, i) => i !== free));
    return new Tensor(
      this.type,
      this.data,
      dims.map((dim, i) => (i === free && known ? this.size / known : dim)),
    );
  }
  /** The same as `reshape`. `tensor.view(1, -1, 384)` */
  view(...dims: number[]): Tensor<T> {
    return this.reshape(...dims);
  }
  /** Removes dimensions of size 1: all, or only the given ones. Shares memory. `logits.squeeze(0)` */
  squeeze(dim?: number | readonly number[] | null): Tensor<T> {
    return this.reshape(...squeezed(this.dims, dim));
  }
  /** `squeeze` in place. */
  squeeze_(dim?: number | readonly number[] | null): this {
    return setDims(this, squeezed(this.dims, dim));
  }
  /** Inserts a dimension of size 1. Shares memory. `vector.unsqueeze(0)` */
  unsqueeze(dim: number): Tensor<T> {
    return this.reshape(...unsqueezed(this.dims, dim));
  }
  /** `unsqueeze` in place. */
  unsqueeze_(dim: number): this {
    return setDims(this, unsqueezed(this.dims, dim));
  }
  /** A copy with the dimensions from start_dim to end_dim merged into one. `tensor.flatten(1)` */
  flatten(start_dim = 0, end_dim = -1): Tensor<T> {
    return this.clone().flatten_(start_dim, end_dim);
  }
  /** `flatten` in place. */
  flatten_(start_dim = 0, end_dim = -1): this {
    return setDims(this, flattened(this.dims, start_dim, end_dim));
  }

  /** Distance in `data` between neighbours along each dimension. `zeros([2, 3]).stride()` is `[3, 1]`. */
  stride(): number[] {
    return strides(this.dims);
  }

  /** A copy with the dimensions in the given order. `matrix.permute(1, 0)` transposes. */
  permute(...axes: number[]): Tensor<T> {
    const { dims } = this;
    const order = axes.map((axis) => checkDim('permute', axis, dims.length));
    if (axes.length !== dims.length || new Set(order).size !== dims.length)
      throw new InputError(`permute: expected each dimension of [${dims}] once, found [${axes}]`);
    const steps = strides(dims);
    return gather(
      this,
      order.map((axis) => dims[axis] as number),
      order.map((axis) => steps[axis] as number),
    );
  }
  /** The same as `permute`: it takes all dimensions, as in transformers.js, while torch's takes two. `matrix.transpose(1, 0)` */
  transpose(...axes: number[]): Tensor<T> {
    return this.permute(...axes);
  }

  /**
   * A copy of a part. For each dimension: `null` (all of it), `[begin, end]`, `[begin, end, step]`, or an index, which removes the dimension. Negative
   * numbers count from the end. `null` in a pair means the beginning or the end.
   *
   *     states.slice(null, 0); // the first token of each text: [batch, dim]
   */
  slice(...ranges: Range[]): Tensor<T> {
    const bounds = toBounds(this.dims, ranges);
    const steps = strides(this.dims);
    const sizes = bounds.map(([begin, end, step]) => Math.ceil((end - begin) / step));
    const part = gather(
      this,
      sizes,
      bounds.map(([, , step], i) => step * (steps[i] as number)),
      bounds.reduce((sum, [begin], i) => sum + begin * (steps[i] as number), 0),
    );
    return setDims(
      part,
      sizes.filter((_, i) => typeof ranges[i] !== 'number'),
    );
  }

  /** Repeats the tensor along each dimension; additional numbers add dimensions in front. `tensor.repeat(2, 1)` */
  repeat(...repeats: number[]): Tensor<T> {
    const added = repeats.length - this.dims.length;
    if (added < 0) throw new InputError(`repeat: expected a number for each dimension of [${this.dims}], found [${repeats}]`);
    const dims = [...new Array<number>(added).fill(1), ...this.dims];
    const apart = this.reshape(...dims.flatMap((size) => [1, size]));
    const out = expand(
      'repeat',
      apart,
      dims.flatMap((size, i) => [repeats[i] as number, size]),
    );
    return setDims(
      out,
      dims.map((size, i) => size * (repeats[i] as number)),
    );
  }
  /** The same as `repeat`, but missing numbers stand for leading dimensions, which are not repeated. `tensor.tile(2)` */
  tile(...repeats: number[]): Tensor<T> {
    return this.repeat(...new Array<number>(Math.max(0, this.dims.length - repeats.length)).fill(1), ...repeats);
  }

  /** A copy that shares no memory. */
  clone(): Tensor<T> {
    return new Tensor(this.type, newData(this.type, this.data), this.dims);
  }

  /** A copy converted to another type; floats are truncated towards zero. `mask.to('float32')` */
  to<U extends TensorType>(type: U): Tensor<U> {
    const whole = type === 'int64' && this.type === 'float32';
    const values = whole ? Array.from(this.data as Float32Array, (value) => Math.trunc(value)) : this.data;
    return new Tensor(type, toData(type, values as ArrayLike<number>), this.dims);
  }

  // ----------------------------------------------------------------------------------------------------------- arithmetic

  /** Applies a function to each value. `tensor.map(Math.sqrt)` */
  map(callback: (value: Value<T>, index: number, data: TensorData[T]) => Value<T>): Tensor<T> {
    return this.clone().map_(callback);
  }
  /** `map` in place. */
  map_(callback: (value: Value<T>, index: number, data: TensorData[T]) => Value<T>): this {
    const data = this.data as any;
    for (let i = 0; i < data.length; ++i) data[i] = callback(data[i], i, data);
    return this;
  }

  /** Adds a number, or a tensor, which is broadcast. `tensor.add(1)` */
  add(other: Operand): Tensor<T> {
    return roomFor('add', this, other).add_(other);
  }
  /** `add` in place. */
  add_(other: Operand): this {
    return combine('add', this, other, (a, b) => a + b, this);
  }
  /** Subtracts a number, or a tensor, which is broadcast. `tensor.sub(tensor.mean(0))` */
  sub(other: Operand): Tensor<T> {
    return roomFor('sub', this, other).sub_(other);
  }
  /** `sub` in place. */
  sub_(other: Operand): this {
    return combine('sub', this, other, (a, b) => a - b, this);
  }
  /** Multiplies by a number, or by a tensor, which is broadcast. `similarities.mul(100)` */
  mul(other: Operand): Tensor<T> {
    return roomFor('mul', this, other).mul_(other);
  }
  /** `mul` in place. */
  mul_(other: Operand): this {
    return combine('mul', this, other, (a, b) => a * b, this);
  }
  /** Divides by a number, or by a tensor, which is broadcast; integer types drop the remainder. `tensor.div(2)` */
  div(other: Operand): Tensor<T> {
    return roomFor('div', this, other).div_(other);
  }
  /** `div` in place. */
  div_(other: Operand): this {
    const divide = (a: any, b: any) => {
      notZero('div', b);
      return a / b;
    };
    return combine('div', this, other, divide, this);
  }
  /** The remainder of a division, with the sign of the divisor. `ids.remainder(8)` */
  remainder(other: Operand): Tensor<T> {
    return roomFor('remainder', this, other).remainder_(other);
  }
  /** `remainder` in place. */
  remainder_(other: Operand): this {
    const rest = (a: any, b: any) => {
      notZero('remainder', b);
      const left = a % b;
      return left && left < 0 !== b < 0 ? left + b : left;
    };
    return combine('remainder', this, other, rest, this);
  }
  /** Negates each value. */
  neg(): Tensor<T> {
    return this.clone().neg_();
  }
  /** `neg` in place. */
  neg_(): this {
    return this.map_((value) => -value as Value<T>);
  }
  /** Limits each value to the range from `min` to `max`. `tensor.clamp(0, 1)` */
  clamp(min: number, max: number): Tensor<T> {
    return this.clone().clamp_(min, max);
  }
  /** `clamp` in place. */
  clamp_(min: number, max: number): this {
    const [least, most] = [min, max].map((value) => toValue('clamp', this.type, value));
    return this.map_((value) => {
      const raised = value < least ? least : value;
      return raised > most ? most : raised;
    });
  }
  /** Rounds each value to the nearest integer; ties round up, as with `Math.round`. */
  round(): Tensor<T> {
    return this.clone().round_();
  }
  /** `round` in place. */
  round_(): this {
    return this.type === 'float32' ? this.map_((value) => Math.round(value as number) as Value<T>) : this;
  }
  /** `1 / (1 + exp(-x))` of each value, in float32: probabilities of independent labels. `logits.sigmoid()` */
  sigmoid(): Tensor<'float32'> {
    return this.to('float32').sigmoid_();
  }
  /** `sigmoid` in place; the type must be float32. */
  sigmoid_(): this {
    onlyFloats('sigmoid_', this);
    return this.map_((value) => (1 / (1 + Math.exp(-Number(value)))) as Value<T>);
  }
  /** `exp(x) / sum(exp(x))` along a dimension, in float32: probabilities. `logits.softmax(-1)` */
  softmax(dim = -1): Tensor<'float32'> {
    const floats = this.to('float32');
    if (floats.size === 0) return floats;
    const out = floats.sub_(floats.max(dim, true)).map_(Math.exp);
    return out.div_(out.sum(dim, true));
  }

  /** Whether each value is greater than a number, or than a tensor's value, which is broadcast. `logits.gt(0)` */
  gt(other: Operand): Tensor<'bool'> {
    return compare('gt', this, other, (a, b) => a > b);
  }
  /** Whether each value is less than a number, or than a tensor's value, which is broadcast. */
  lt(other: Operand): Tensor<'bool'> {
    return compare('lt', this, other, (a, b) => a < b);
  }

  // ----------------------------------------------------------------------------------------------------------- reductions

  /** The sum along a dimension, or of all values, with dims `[]`. int8, uint8 and bool give int32. `mask.sum(1)` */
  sum(dim?: number | null, keepdim?: boolean): Tensor<Summed<T>> {
    const small = this.type !== 'float32' && this.type !== 'int64';
    return reduce('sum', this, dim, keepdim, (small ? 'int32' : this.type) as Summed<T>, (list) => sumOf(list));
  }
  /** The mean along a dimension, or of all values, with dims `[]`. `keepdim` keeps the dimension, with size 1. `states.mean(1)` */
  mean(dim?: number | null, keepdim?: boolean): Tensor<'float32'> {
    return reduce('mean', this, dim, keepdim, 'float32', (list) => Number(sumOf(list)) / list.length);
  }
  /** The largest value along a dimension, or of all values. `logits.max(-1)` */
  max(dim?: number | null, keepdim?: boolean): Tensor<T> {
    return reduce('max', this, dim, keepdim, this.type, (list) => list[extreme('max', list, 1)] as number);
  }
  /** The smallest value along a dimension, or of all values. */
  min(dim?: number | null, keepdim?: boolean): Tensor<T> {
    return reduce('min', this, dim, keepdim, this.type, (list) => list[extreme('min', list, -1)] as number);
  }
  /** The index of the largest value along a dimension, or in `data`; the first if several are equal. `logits.argmax(-1)` */
  argmax(dim?: number | null, keepdim?: boolean): Tensor<'int64'> {
    return reduce('argmax', this, dim, keepdim, 'int64', (list) => extreme('argmax', list, 1));
  }
  /** The index of the smallest value along a dimension, or in `data`; the first if several are equal. */
  argmin(dim?: number | null, keepdim?: boolean): Tensor<'int64'> {
    return reduce('argmin', this, dim, keepdim, 'int64', (list) => extreme('argmin', list, -1));
  }
  /** The p-norm along a dimension, or of all values; `'fro'` is 2. p may be 0 (counts values that are not 0) or Infinity. `vectors.norm(2, -1)` */
  norm(p: number | 'fro' = 2, dim?: number | null, keepdim?: boolean): Tensor<'float32'> {
    const order = p === 'fro' ? 2 : p;
    if (typeof order !== 'number') throw new InputError(`norm: expected a number or 'fro' as p, found ${describe(p)}`);
    return reduce('norm', this, dim, keepdim, 'float32', (list) => normOf(list, order));
  }
  /** Divides by the p-norm along a dimension, in float32; zeros stay zeros. `vectors.normalize(2, -1)` */
  normalize(p = 2, dim = 1): Tensor<'float32'> {
    return this.to('float32').normalize_(p, dim);
  }
  /** `normalize` in place; the type must be float32. */
  normalize_(p = 2, dim = 1): this {
    onlyFloats('normalize_', this);
    return this.div_(this.norm(p, dim, true).clamp_(1e-12, Infinity));
  }
}
