// nn.Tensor: the tensors of nn, which remember where they came from, and how they cross to WebAssembly.
import { describe, InputError, StateError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { Tensor as Plain } from '../core/tensor.js';
import {
  checkDim,
  flattened,
  rowOf,
  squeezed,
  TensorBase,
  toBounds,
  unsqueezed,
  type Range,
  type TensorType,
} from '../core/tensor_base.js';
import { currentHost, toOptions, type OptionValues } from '../host/nn_seam.js';
import type { NnHost, OutputsAnswer, SeamParameter, SeamTensor, SeamTensors } from '../host/nn_types.js';

export type MaybeTensor = TensorBase | null | undefined;
export type TensorsByName = Record<string, MaybeTensor>;
/** A tensor, or a number that is broadcast. */
export type Operand = TensorBase | number;
type Shape = readonly number[];
/** `x.view(2, 3)` or `x.view([2, 3])`. */
type Numbers = number[] | [readonly number[]];

/** The numbers of `f(1, 2)` or `f([1, 2])`. */
export const spread = (numbers: Numbers): number[] => [...(Array.isArray(numbers[0]) ? numbers[0] : (numbers as number[]))];

const kDone = { code: 0, message: '' };

// Graphs in WebAssembly whose tensors became garbage, and parameters likewise.
const graphs = new FinalizationRegistry<{ host: NnHost; graph: number }>(({ host, graph }) => {
  if (!host.isBroken) host.call((seam) => (seam.release_graph(graph), kDone));
});
const leaves = new FinalizationRegistry<{ host: NnHost; leaf: SeamParameter }>(({ host, leaf }) => {
  if (!host.isBroken) leaf.delete();
});

/** A parameter in WebAssembly, and its shape. */
export interface Leaf {
  host: NnHost;
  handle: SeamParameter;
  dims: Shape;
}

/**
 * A tensor with automatic differentiation, like torch's. Functions of tensors that require a gradient record a graph, and `backward()` adds gradients to
 * `grad` of the graph's leaves.
 *
 * @example
 * const x = nn.tensor([1, 2], { requires_grad: true });
 * x.mul(x).sum().backward();
 * x.grad.tolist(); // => [2, 4]
 */
export class Tensor extends TensorBase<'float32'> {
  static {
    Object.defineProperty(this, 'name', { value: 'Tensor' });
  }
  #graph: number | undefined;
  #leaf: Leaf | undefined;

  /** @internal The result of a call. */
  static of({ dims, data, graph }: SeamTensor): Tensor {
    const out = new Tensor('float32', data, [...dims]);
    if (graph === undefined) return out;
    out.#graph = graph;
    graphs.register(out, { host: currentHost(), graph });
    return out;
  }

  /** @internal The form that crosses to WebAssembly. */
  static seam(tensor: TensorBase): SeamTensor {
    if (tensor instanceof Tensor && tensor.#leaf) {
      return { dims: Int32Array.of(0), data: new Float32Array(), parameter: tensor.#leaf.handle };
    }
    const { type, data } = tensor;
    const out: SeamTensor = {
      dims: Int32Array.from(tensor.dims),
      data: type === 'float32' ? (data as Float32Array) : Float32Array.from(data as ArrayLike<number>, Number),
    };
    if (tensor instanceof Tensor && tensor.#graph !== undefined) out.graph = tensor.#graph;
    return out;
  }

  /** @internal The parameter in WebAssembly that this tensor is. */
  static leaf(where: string, tensor: unknown): Leaf {
    if (tensor instanceof Tensor && tensor.#leaf) return tensor.#leaf;
    const found = tensor instanceof Tensor ? 'a tensor that does not' : describe(tensor);
    throw new InputError(`${where}: expected a parameter or a tensor with requires_grad, found ${found}`);
  }

  /** @internal Makes this tensor the parameter: its numbers are read from there from now on. */
  protected live(leaf: Leaf): void {
    this.#leaf = leaf;
    const { host, handle, dims } = leaf;
    leaves.register(this, { host, leaf: handle });
    let version = -1;
    let values: Float32Array;
    const get = () => {
      if (host.call(() => ({ ...kDone, version: handle.version() })).version !== version) {
        values = host.call(() => handle.value()).tensor.data;
        version = handle.version();
      }
      return values;
    };
    const set = (data: ArrayLike<number>) => this.copy_(new Plain('float32', data, dims));
    Object.defineProperty(this, 'data', { get, set, enumerable: true });
    Object.defineProperty(this, 'dims', { value: dims, enumerable: true });
  }

  /** The same as `dims`, under torch's name. */
  get shape(): Shape {
    return this.dims;
  }
  /** Number of dimensions. */
  get ndim(): number {
    return this.dims.length;
  }
  /** Number of values. */
  numel(): number {
    return this.size;
  }

  // ------------------------------------------------------------------------------------------------------------ gradients

  /** Whether operations on this tensor are recorded for `backward()`. */
  get requires_grad(): boolean {
    return this.#graph !== undefined || (this.#leaf?.handle.requires_grad() ?? false);
  }
  set requires_grad(yes: boolean) {
    this.requires_grad_(yes);
  }
  /** Sets `requires_grad`, and returns this tensor. */
  requires_grad_(requires_grad = true): this {
    if (this.#graph !== undefined) {
      if (requires_grad) return this;
      throw new StateError('nn.Tensor: requires_grad of a result cannot be changed; detach() it instead');
    }
    if (!this.#leaf && requires_grad) {
      const host = currentHost();
      const seam = Tensor.seam(this);
      const { handle } = host.call(({ Parameter }) => ({ ...kDone, handle: new Parameter() }));
      host.call(() => handle.make(seam));
      this.live({ host, handle, dims: this.dims });
    }
    const { handle } = this.#leaf ?? {};
    handle?.set_requires_grad(requires_grad);
    return this;
  }

  /** Whether the tensor is not the result of a recorded operation. */
  get is_leaf(): boolean {
    return this.#graph === undefined;
  }

  /**
   * The sum of the gradients since the last `zero_grad()`; null if there is none yet. Results have one only after `retain_grad()`, summed over all
   * backward passes.
   */
  get grad(): Tensor | null {
    const graph = this.#graph;
    if (graph !== undefined) {
      const { grad } = currentHost().call((to) => to.retained_grad(graph));
      return grad ? new Tensor('float32', grad, this.dims) : null;
    }
    const leaf = this.#leaf;
    const tensor = leaf?.host.call(() => leaf.handle.grad()).tensor;
    return tensor ? Tensor.of(tensor) : null;
  }
  set grad(value: TensorBase | null) {
    const { host, handle } = Tensor.leaf('nn.Tensor.grad', this);
    const given = value && toSeam('nn.Tensor.grad', 'grad', value);
    host.call(() => handle.set_grad(given));
  }

  /**
   * Computes gradients and adds them to `grad` of all leaves. The tensor must have one value, unless you pass `gradient`. Frees the graph unless
   * `retain_graph` is set.
   * @throws StateError if there is no graph, or an earlier `backward()` freed it
   */
  backward(gradient?: TensorBase | null, options: { retain_graph?: boolean } = {}): void {
    options = readOptions('backward', options, { retain_graph: 'boolean' });
    const given = gradient === undefined || gradient === null ? null : toSeam('backward', 'gradient', gradient);
    if (!given && this.size !== 1) {
      throw new InputError(`backward: expected a tensor of one number, or a gradient beside it, found dims [${this.dims}]`);
    }
    const seam = Tensor.seam(this);
    currentHost().call((to) => to.backward(seam, given, options?.retain_graph ?? false));
  }

  /**
   * Makes this result keep its gradient in `grad`, like a leaf, from the next `backward()` on.
   *
   * ```js const hidden = layer.forward(x); hidden.retain_grad(); hidden.sum().backward(); hidden.grad; // ones ```
   *
   * @throws StateError if the tensor does not require a gradient
   */
  retain_grad(): void {
    const graph = this.#graph;
    if (graph !== undefined) currentHost().call((to) => (to.retain_grad(graph), kDone));
    else if (!this.requires_grad) throw new StateError('retain_grad: expected a tensor that requires a gradient');
  }

  /** The same values without a graph. */
  detach(): Tensor {
    return new Tensor('float32', this.#leaf ? this.data.slice() : this.data, this.dims);
  }
  /** A copy. Gradients pass through it. */
  clone(): Tensor {
    return this.mul(1);
  }
  /** Overwrites a leaf's values. This is not recorded. */
  copy_(values: TensorBase): this {
    const given = toSeam('copy_', 'values', values);
    if (String(given.parameter ? values.dims : [...given.dims]) !== String(this.dims)) {
      throw new InputError(`copy_: expected values of shape [${this.dims}], found [${values.dims}]`);
    }
    if (this.#graph !== undefined) throw new StateError('copy_: a result with a graph cannot be overwritten; detach() it first');
    const { host, handle } = this.#leaf ?? {};
    if (host && handle) host.call(() => handle.set(given));
    else this.data.set(values.data as Float32Array);
    return this;
  }

  // ----------------------------------------------------------------------------------------------------------- arithmetic

  /** Adds a number, or a tensor, which is broadcast. */
  add(other: Operand): Tensor {
    return callFunction('add', { input: this, other: operand(other) }).output;
  }
  /** Subtracts a number, or a tensor, which is broadcast. */
  sub(other: Operand): Tensor {
    return callFunction('sub', { input: this, other: operand(other) }).output;
  }
  /** Multiplies by a number, or by a tensor, which is broadcast. */
  mul(other: Operand): Tensor {
    if (typeof other === 'number') return callFunction('scaled', { input: this }, { factor: other }, ['factor']).output;
    return callFunction('mul', { input: this, other }).output;
  }
  /** Divides by a number, or by a tensor, which is broadcast. */
  div(other: Operand): Tensor {
    return callFunction('div', { input: this, other: operand(other) }).output;
  }
  /** Negates each value. */
  neg(): Tensor {
    return this.mul(-1);
  }
  /** Raises each value to a power. */
  pow(exponent: number): Tensor {
    return callFunction('pow', { input: this }, { exponent }, ['exponent']).output;
  }
  /** e to the power of each value. */
  exp(): Tensor {
    return unary(this, 'exp');
  }
  /** The natural logarithm of each value. */
  log(): Tensor {
    return unary(this, 'log');
  }
  /** The square root of each value. */
  sqrt(): Tensor {
    return unary(this, 'sqrt');
  }
  /** The absolute value of each value. */
  abs(): Tensor {
    return unary(this, 'abs');
  }
  /** The sine of each value. */
  sin(): Tensor {
    return unary(this, 'sin');
  }
  /** The cosine of each value. */
  cos(): Tensor {
    return unary(this, 'cos');
  }
  /** `max(0, x)` of each value. */
  relu(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'relu' }, ['kind']).output;
  }
  /** The hyperbolic tangent of each value. */
  tanh(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'tanh' }, ['kind']).output;
  }
  /** `1 / (1 + exp(-x))` of each value. */
  sigmoid(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'sigmoid' }, ['kind']).output;
  }
  /** Limits each value to the range from `min` to `max`. */
  clamp(options: { min?: number; max?: number }): Tensor {
    return callFunction('clamp', { input: this }, options, ['min', 'max']).output;
  }
  /** Replaces values by `value` where `mask`, which is broadcast, is true. */
  masked_fill(mask: TensorBase, value: number): Tensor {
    return callFunction('masked_fill', { input: this, mask }, { value }, ['value']).output;
  }
  /** Matrix product: `[..., m, k]` times `[..., k, n]`. */
  matmul(other: TensorBase): Tensor {
    return callFunction('matmul', { input: this, other }).output;
  }
  /** Batched matrix product: `[batch, n, m]`, `[batch, m, p]` -> `[batch, n, p]`. */
  bmm(other: TensorBase): Tensor {
    return callFunction('bmm', { input: this, other }).output;
  }
  /** `exp(x) / sum(exp(x))` along a dimension. */
  softmax(dim = -1): Tensor {
    return callFunction('softmax', { input: this }, { dim }, ['dim']).output;
  }
  /** The logarithm of `softmax`, computed in a numerically stable way. */
  log_softmax(dim = -1): Tensor {
    return callFunction('log_softmax', { input: this }, { dim }, ['dim']).output;
  }

  // ----------------------------------------------------------------------------------------------------------- reductions

  /** The sum over `dim`: one dimension, several, or all (default). */
  sum(dim?: number | Shape | null, options: { keepdim?: boolean } = {}): Tensor {
    return reduce('sum', this, dim, options).output;
  }
  /** The mean over `dim`: one dimension, several, or all (default). `keepdim` keeps them, with size 1. */
  mean(dim?: number | Shape | null, options: { keepdim?: boolean } = {}): Tensor {
    return reduce('mean', this, dim, options).output;
  }
  /** The variance, divided by n - `correction` (default 1), as in torch. */
  var(dim?: number | Shape | null, options: { keepdim?: boolean; correction?: number } = {}): Tensor {
    options = readOptions('nn.var', options, ['keepdim', 'correction']);
    const { correction = 1, keepdim = false } = options ?? {};
    const apart = this.sub(reduce('mean', this, dim, { keepdim: true }).output);
    const squares = reduce('sum', apart.mul(apart), dim, { keepdim }).output;
    const count = this.size / Math.max(squares.size, 1);
    return squares.div(count - correction);
  }
  /** The standard deviation over `dim`: one dimension, several, or all (default). `correction` (default 1) is subtracted from the count. */
  std(dim?: number | Shape | null, options: { keepdim?: boolean; correction?: number } = {}): Tensor {
    return this.var(dim, options).sqrt();
  }
  /** The largest value, or `[values, indices]` along `dim`. */
  max(): Tensor;
  max(dim: number, options?: { keepdim?: boolean }): [values: Tensor, indices: Plain<'int32'>];
  max(dim?: number, options: { keepdim?: boolean } = {}): Tensor | [Tensor, Plain<'int32'>] {
    return largest('max', this, dim, options);
  }
  /** The smallest value. */
  min(): Tensor;
  /** The smallest values along a dimension, and their indices. */
  min(dim: number, options?: { keepdim?: boolean }): [values: Tensor, indices: Plain<'int32'>];
  min(dim?: number, options: { keepdim?: boolean } = {}): Tensor | [Tensor, Plain<'int32'>] {
    return largest('min', this, dim, options);
  }
  /** The index of the largest value along `dim` (default: of all values). */
  argmax(dim?: number, options: { keepdim?: boolean } = {}): Plain<'int32'> {
    if (dim !== undefined) return this.max(dim, options)[1];
    return new Plain('int32', this.detach().reshape(-1).max(0)[1].data, []);
  }

  // --------------------------------------------------------------------------------------------------------------- shapes

  /** The same values in another shape; one size may be -1. */
  reshape(...dims: Numbers): Tensor {
    return callFunction('reshape', { input: this }, { shape: spread(dims) }, ['shape']).output;
  }
  /** The same as `reshape`. */
  view(...dims: Numbers): Tensor {
    return this.reshape(...dims);
  }
  /** Merges the dimensions from `start_dim` to `end_dim` into one. */
  flatten(start_dim = 0, end_dim = -1): Tensor {
    return this.reshape(flattened(this.dims, start_dim, end_dim));
  }
  /** Reorders the dimensions. */
  permute(...dims: Numbers): Tensor {
    return callFunction('permute', { input: this }, { dims: spread(dims) }, ['dims']).output;
  }
  /** Swaps two dimensions. */
  transpose(dim0: number, dim1: number): Tensor {
    const order = this.dims.map((_, i) => i);
    const [a, b] = [checkDim('transpose', dim0, this.ndim), checkDim('transpose', dim1, this.ndim)];
    [order[a], order[b]] = [b, a];
    return this.permute(order);
  }
  /** The transpose of a matrix. */
  get T(): Tensor {
    return this.permute(this.dims.map((_, i) => this.ndim - 1 - i));
  }
  /** Adds a dimension of size 1. */
  unsqueeze(dim: number): Tensor {
    return this.reshape(unsqueezed(this.dims, dim));
  }
  /** Removes dimension `dim` if its size is 1; by default all dimensions of size 1. */
  squeeze(dim?: number): Tensor {
    return this.reshape(squeezed(this.dims, dim));
  }
  /** Expands dimensions of size 1 by repetition; -1 keeps a size. */
  expand(...size: Numbers): Tensor {
    return callFunction('expand', { input: this }, { size: spread(size) }, ['size']).output;
  }
  /** A part, like `x[a, b:c]` in Python. For each dimension: an index, which removes the dimension, `[begin, end]`, `[begin, end, step]`, or null for all. */
  slice(...ranges: Range[]): Tensor {
    const bounds = toBounds(this.dims, ranges);
    const [begin, end, step] = [0, 1, 2].map((part) => bounds.map((each) => each[part] as number));
    const out = callFunction('slice', { input: this }, { begin, end, step }, ['begin', 'end', 'step']).output;
    if (!ranges.some((range) => typeof range === 'number')) return out;
    return out.reshape(out.dims.filter((_, i) => typeof ranges[i] !== 'number'));
  }
  /** The part of dimension `dim` that begins at `start` and has `length` entries. */
  narrow(dim: number, start: number, length: number): Tensor {
    const at = checkDim('narrow', dim, this.ndim);
    return this.slice(...this.dims.map((_, i) => (i === at ? ([start, start + length] as const) : null)));
  }
  /** The i-th slice along the first dimension. It shares memory with this tensor, unless the tensor requires a gradient. */
  override get(i: number): Tensor {
    const [data, dims] = rowOf(this, i);
    return this.requires_grad ? this.slice(i) : new Tensor('float32', data, dims);
  }
  /** A copy converted to another type, without a graph; floats are truncated towards zero. */
  to<T extends TensorType>(type: T): Plain<T> {
    return new Plain('float32', this.data, this.dims).to(type);
  }
  /** Splits into parts of `size` along `dim`; the last may be smaller. */
  split(size: number, dim = 0): Tensor[] {
    const at = checkDim('split', dim, this.ndim);
    if (!(Number.isInteger(size) && size > 0))
      throw new InputError(`split: expected a size of at least 1, found ${describe(size)}`);
    const count = this.dims[at] as number;
    return Array.from({ length: Math.max(1, Math.ceil(count / size)) }, (_, i) =>
      this.narrow(at, i * size, Math.min(size, count - i * size)),
    );
  }
  /** Splits into `chunks` parts along `dim`. */
  chunk(chunks: number, dim = 0): Tensor[] {
    return this.split(Math.ceil((this.dims[checkDim('chunk', dim, this.ndim)] as number) / chunks), dim);
  }
  /** Selects entries of `dim` by `index`, in its order. */
  index_select(dim: number, index: TensorBase): Tensor {
    return callFunction('index_select', { input: this, index }, { dim }, ['dim']).output;
  }
}

/**
 * A tensor that belongs to a module: `module.parameters()` lists it, and optimizers update it.
 *
 * @example
 * const weight = new nn.Parameter(nn.zeros(2, 2));
 * weight.requires_grad; // => true
 */
export class Parameter extends Tensor {
  static {
    Object.defineProperty(this, 'name', { value: 'Parameter' });
  }

  constructor(data: TensorBase, options?: { requires_grad?: boolean });
  /** @internal */
  constructor(leaf: Leaf);
  constructor(from: TensorBase | Leaf, options: { requires_grad?: boolean } = {}) {
    options = readOptions('nn.Parameter', options, { requires_grad: 'boolean' });
    const given = from instanceof TensorBase;
    if (!given && !('handle' in Object(from))) throw new InputError(`nn.Parameter: expected a Tensor, found ${describe(from)}`);
    super(
      'float32',
      given ? (Tensor.seam(from instanceof Tensor ? from.detach() : from).data.slice() as Float32Array) : [],
      given ? from.dims : [0],
    );
    if (given) this.requires_grad_().requires_grad_(options?.requires_grad ?? true);
    else this.live(from);
  }
}

const operand = (other: Operand): TensorBase => (typeof other === 'number' ? new Plain('float32', [other], []) : other);
const unary = (input: Tensor, kind: string) => callFunction('unary', { input }, { kind }, ['kind']).output;

function reduce(name: string, input: TensorBase, dim: number | Shape | null | undefined, options: { keepdim?: boolean }): Outputs {
  options = readOptions(`nn.${name}`, options, ['keepdim']);
  const dims = typeof dim === 'number' ? [dim] : (dim ?? undefined);
  return callFunction(name, { input }, { ...options, dim: dims }, ['dim', 'keepdim']);
}

function largest(
  name: string,
  input: Tensor,
  dim: number | undefined,
  options: { keepdim?: boolean },
): Tensor | [Tensor, Plain<'int32'>] {
  const { output, weights } = reduce(name, input, dim, options);
  return weights ? [output, weights.to('int32')] : output;
}

/** A tensor of any type as f32. */
export function toSeam(where: string, name: string, tensor: unknown): SeamTensor {
  if (!(tensor instanceof TensorBase)) throw new InputError(`${where}: expected a Tensor as '${name}', found ${describe(tensor)}`);
  return Tensor.seam(tensor);
}

export function toTensors(where: string, tensors: TensorsByName): SeamTensors {
  return Object.entries(tensors)
    .filter(([, tensor]) => tensor !== undefined && tensor !== null)
    .map(([name, tensor]) => ({ name, ...toSeam(where, name, tensor) }));
}

/** The output, and attention weights if they were requested. */
export interface Outputs {
  output: Tensor;
  weights: Tensor | undefined;
}
export function fromAnswer({ output, weights }: OutputsAnswer): Outputs {
  return { output: Tensor.of(output), weights: weights && Tensor.of(weights) };
}

/** Calls a function of src/nn/call.cpp. Of options, only the known names are allowed; those with a tensor as value join the tensors. */
export function callFunction(name: string, tensors: TensorsByName, options?: object, known: readonly string[] = []): Outputs {
  const where = `nn.${name}`;
  options = readOptions(where, options, known);
  const all: [string, unknown][] = Object.entries({ ...options, ...tensors });
  const isTensor = ([key, value]: [string, unknown]) => key in tensors || value instanceof TensorBase;
  const given = toTensors(where, Object.fromEntries(all.filter(isTensor)) as TensorsByName);
  const scalars = toOptions(where, Object.fromEntries(all.filter((entry) => !isTensor(entry))) as OptionValues);
  return fromAnswer(currentHost().call((seam) => seam.call_function(name, given, scalars)));
}

/**
 * A mask in the form that is added to the scores: a float mask as it is, a bool mask as 0 and -infinity. trueAttends: whether true
 * means "may be attended to", as in torch's scaled_dot_product_attention, or "is masked out", as in torch's modules.
 */
export function toMask(mask: MaybeTensor, trueAttends: boolean): TensorBase | undefined {
  if (mask === undefined || mask === null) return undefined;
  if (!(mask instanceof TensorBase)) throw new InputError(`nn: expected a Tensor as mask, found ${describe(mask)}`);
  if (mask.type !== 'bool') return mask;
  const out = Float32Array.from(mask.data as Uint8Array, (value) => ((value !== 0) === trueAttends ? 0 : -Infinity));
  return new Plain('float32', out, mask.dims);
}

/**
 * Runs a function without recording a graph, for example for evaluation. Returns the function's result.
 *
 * @example
 * const x = nn.tensor([1, 2], { requires_grad: true });
 * nn.no_grad(() => x.mul(2)).requires_grad; // => false
 */
export function no_grad<T>(run: () => T): T {
  const host = currentHost();
  const set = (enabled: boolean) => host.call((seam) => ({ ...kDone, before: seam.set_grad_enabled(enabled) })).before;
  const before = set(false);
  try {
    const out = run();
    if (typeof (out as { then?: unknown } | null | undefined)?.then === 'function') {
      throw new InputError('nn.no_grad: expected a function that is not async: it would be recorded');
    }
    return out;
  } finally {
    if (!host.isBroken) set(before);
  }
}
