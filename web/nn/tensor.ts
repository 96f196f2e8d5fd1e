// nn.Tensor: the tensors of nn, which remember where they came from, and how they cross to WebAssembly.
import { describe, InputError, StateError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import { Tensor as Values } from '../core/tensor.js';
import { currentHost, toOptions, type OptionValues } from '../host/nn_seam.js';
import type { NnHost, OutputsAnswer, SeamParameter, SeamTensor, SeamTensors } from '../host/nn_types.js';

export type MaybeTensor = Values | null | undefined;
export type TensorsByName = Record<string, MaybeTensor>;
/** A tensor, or a number that is broadcast. */
export type Operand = Values | number;
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
 * Numbers that remember how they were computed, as torch's tensors: functions of tensors that require a gradient give tensors with a
 * graph, and `backward()` adds the gradients to `grad` of the tensors it began with.
 */
export class Tensor extends Values<'float32'> {
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
  static seam(tensor: Values): SeamTensor {
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
    const set = (data: ArrayLike<number>) => this.copy_(new Values('float32', data, dims));
    Object.defineProperty(this, 'data', { get, set, enumerable: true });
    Object.defineProperty(this, 'dims', { value: dims, enumerable: true });
  }

  /** `dims`, as torch calls it. */
  get shape(): Shape {
    return this.dims;
  }
  /** The number of dimensions. */
  get ndim(): number {
    return this.dims.length;
  }
  numel(): number {
    return this.size;
  }

  // ------------------------------------------------------------------------------------------------------------ gradients

  /** Whether functions of this tensor are recorded. */
  get requires_grad(): boolean {
    return this.#graph !== undefined || (this.#leaf?.handle.requires_grad() ?? false);
  }
  set requires_grad(yes: boolean) {
    this.requires_grad_(yes);
  }
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

  /** Whether it is no result: a parameter, or without a gradient. */
  get is_leaf(): boolean {
    return this.#graph === undefined;
  }

  /**
   * The sum of the gradients since the last `zero_grad()`; null: none yet. Of a result only after `retain_grad()`, and then of all backward
   * passes.
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
  set grad(value: Values | null) {
    const { host, handle } = Tensor.leaf('nn.Tensor.grad', this);
    const given = value && toSeam('nn.Tensor.grad', 'grad', value);
    host.call(() => handle.set_grad(given));
  }

  /**
   * Adds the gradients of this tensor, of one number or times `gradient`, to `grad` of all leaves that it came from. Frees the graph
   * unless `retain_graph`.
   * @throws StateError without a graph, or if an earlier backward() freed it
   */
  backward(gradient?: Values | null, options: { retain_graph?: boolean } = {}): void {
    checkOptions('backward', options, { retain_graph: 'boolean' });
    const given = gradient === undefined || gradient === null ? null : toSeam('backward', 'gradient', gradient);
    if (!given && this.size !== 1) {
      throw new InputError(`backward: expected a tensor of one number, or a gradient beside it, found dims [${this.dims}]`);
    }
    const seam = Tensor.seam(this);
    currentHost().call((to) => to.backward(seam, given, options?.retain_graph ?? false));
  }

  /**
   * Has this result keep its gradient in `grad`, as leaves do, from the next `backward()` on.
   *
   * ```js
   * const hidden = layer.forward(x);
   * hidden.retain_grad();
   * hidden.sum().backward();
   * hidden.grad; // ones
   * ```
   *
   * @throws StateError if nothing that it came from requires a gradient
   */
  retain_grad(): void {
    const graph = this.#graph;
    if (graph !== undefined) currentHost().call((to) => (to.retain_grad(graph), kDone));
    else if (!this.requires_grad) throw new StateError('retain_grad: expected a tensor that requires a gradient');
  }

  /** The same numbers without a graph. */
  detach(): Tensor {
    return new Tensor('float32', this.#leaf ? this.data.slice() : this.data, this.dims);
  }
  clone(): Tensor {
    return this.mul(1);
  }
  /** Overwrites a leaf's numbers; nothing is recorded. */
  copy_(values: Values): this {
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

  add(other: Operand): Tensor {
    return callFunction('add', { input: this, other: operand(other) }).output;
  }
  sub(other: Operand): Tensor {
    return callFunction('sub', { input: this, other: operand(other) }).output;
  }
  mul(other: Operand): Tensor {
    if (typeof other === 'number') return callFunction('scaled', { input: this }, { factor: other }, ['factor']).output;
    return callFunction('mul', { input: this, other }).output;
  }
  div(other: Operand): Tensor {
    return callFunction('div', { input: this, other: operand(other) }).output;
  }
  neg(): Tensor {
    return this.mul(-1);
  }
  pow(exponent: number): Tensor {
    return callFunction('pow', { input: this }, { exponent }, ['exponent']).output;
  }
  exp(): Tensor {
    return unary(this, 'exp');
  }
  log(): Tensor {
    return unary(this, 'log');
  }
  sqrt(): Tensor {
    return unary(this, 'sqrt');
  }
  abs(): Tensor {
    return unary(this, 'abs');
  }
  sin(): Tensor {
    return unary(this, 'sin');
  }
  cos(): Tensor {
    return unary(this, 'cos');
  }
  relu(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'relu' }, ['kind']).output;
  }
  tanh(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'tanh' }, ['kind']).output;
  }
  sigmoid(): Tensor {
    return callFunction('activate', { input: this }, { kind: 'sigmoid' }, ['kind']).output;
  }
  clamp(options: { min?: number; max?: number }): Tensor {
    return callFunction('clamp', { input: this }, options, ['min', 'max']).output;
  }
  /** `value` where `mask`, which is broadcast, is true. */
  masked_fill(mask: Values, value: number): Tensor {
    return callFunction('masked_fill', { input: this, mask }, { value }, ['value']).output;
  }
  /** `[..., m, k]` times `[..., k, n]`. */
  matmul(other: Values): Tensor {
    return callFunction('matmul', { input: this, other }).output;
  }
  bmm(other: Values): Tensor {
    return callFunction('bmm', { input: this, other }).output;
  }
  softmax(dim = -1): Tensor {
    return callFunction('softmax', { input: this }, { dim }, ['dim']).output;
  }
  log_softmax(dim = -1): Tensor {
    return callFunction('log_softmax', { input: this }, { dim }, ['dim']).output;
  }

  // ----------------------------------------------------------------------------------------------------------- reductions

  /** Over `dim` (one, several, or all by default). */
  sum(dim?: number | Shape | null, options: { keepdim?: boolean } = {}): Tensor {
    return reduce('sum', this, dim, options).output;
  }
  mean(dim?: number | Shape | null, options: { keepdim?: boolean } = {}): Tensor {
    return reduce('mean', this, dim, options).output;
  }
  /** Divided by n - `correction` (default 1), as in torch. */
  var(dim?: number | Shape | null, options: { keepdim?: boolean; correction?: number } = {}): Tensor {
    checkOptions('nn.var', options, ['keepdim', 'correction']);
    const { correction = 1, keepdim = false } = options ?? {};
    const apart = this.sub(reduce('mean', this, dim, { keepdim: true }).output);
    const squares = reduce('sum', apart.mul(apart), dim, { keepdim }).output;
    const count = this.size / Math.max(squares.size, 1);
    return squares.div(count - correction);
  }
  std(dim?: number | Shape | null, options: { keepdim?: boolean; correction?: number } = {}): Tensor {
    return this.var(dim, options).sqrt();
  }
  /** The largest number, or along `dim` `[values, indices]`. */
  max(): Tensor;
  max(dim: number, options?: { keepdim?: boolean }): [values: Tensor, indices: Values<'int32'>];
  max(dim?: number, options: { keepdim?: boolean } = {}): Tensor | [Tensor, Values<'int32'>] {
    return largest('max', this, dim, options);
  }
  min(): Tensor;
  min(dim: number, options?: { keepdim?: boolean }): [values: Tensor, indices: Values<'int32'>];
  min(dim?: number, options: { keepdim?: boolean } = {}): Tensor | [Tensor, Values<'int32'>] {
    return largest('min', this, dim, options);
  }
  /** The index of the largest number along `dim` (default: of all). */
  argmax(dim?: number, options: { keepdim?: boolean } = {}): Values<'int32'> {
    if (dim !== undefined) return this.max(dim, options)[1];
    return new Values('int32', this.detach().reshape(-1).max(0)[1].data, []);
  }

  // --------------------------------------------------------------------------------------------------------------- shapes

  override reshape(...dims: Numbers): Tensor {
    return callFunction('reshape', { input: this }, { shape: spread(dims) }, ['shape']).output;
  }
  view(...dims: Numbers): Tensor {
    return this.reshape(...dims);
  }
  flatten(start_dim = 0, end_dim = -1): Tensor {
    const [begin, end] = [checkDim('flatten', start_dim, this.ndim), checkDim('flatten', end_dim, this.ndim)];
    if (this.ndim === 0) return this.reshape(1);
    return this.reshape([...this.dims.slice(0, begin), -1, ...this.dims.slice(end + 1)]);
  }
  permute(...dims: Numbers): Tensor {
    return callFunction('permute', { input: this }, { dims: spread(dims) }, ['dims']).output;
  }
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
  unsqueeze(dim: number): Tensor {
    const at = checkDim('unsqueeze', dim, this.ndim + 1);
    return this.reshape([...this.dims.slice(0, at), 1, ...this.dims.slice(at)]);
  }
  /** Without dimension `dim` if it is 1; by default without all that are 1. */
  squeeze(dim?: number): Tensor {
    const at = dim === undefined ? undefined : checkDim('squeeze', dim, this.ndim);
    return this.reshape(this.dims.filter((size, i) => size !== 1 || (at !== undefined && i !== at)));
  }
  /** Repeats dimensions of size 1; -1 keeps one. */
  expand(...size: Numbers): Tensor {
    return callFunction('expand', { input: this }, { size: spread(size) }, ['size']).output;
  }
  /** As `x[a, b:c]` in Python: an index, which removes the dimension, `[begin, end]`, `[begin, end, step]`, or null for all. */
  override slice(...ranges: (number | readonly [number, number] | readonly [number, number, number] | null)[]): Tensor {
    if (ranges.length > this.ndim) throw new InputError(`Tensor: ${ranges.length} ranges for dims [${this.dims}]`);
    const bounds = this.dims.map((size, i): [number, number, number] => {
      const range = ranges[i] ?? null;
      if (range === null) return [0, size, 1];
      if (typeof range === 'number') {
        const at = range < 0 ? range + size : range;
        if (Number.isInteger(at) && at >= 0 && at < size) return [at, at + 1, 1];
        throw new InputError(`Tensor: index ${range} is out of range for a dimension of ${size}`);
      }
      const clip = (value: number) => Math.min(size, Math.max(0, value < 0 ? value + size : value));
      return [clip(range[0]), Math.max(clip(range[0]), clip(range[1])), range[2] ?? 1];
    });
    const [begin, end, step] = [0, 1, 2].map((part) => bounds.map((each) => each[part] as number));
    const out = callFunction('slice', { input: this }, { begin, end, step }, ['begin', 'end', 'step']).output;
    if (!ranges.some((range) => typeof range === 'number')) return out;
    return out.reshape(out.dims.filter((_, i) => typeof ranges[i] !== 'number'));
  }
  /** `count` numbers of dimension `dim` from `start` on. */
  narrow(dim: number, start: number, length: number): Tensor {
    const at = checkDim('narrow', dim, this.ndim);
    return this.slice(...this.dims.map((_, i) => (i === at ? ([start, start + length] as const) : null)));
  }
  override get(i: number): Tensor {
    if (!Number.isInteger(i) || i < -(this.dims[0] ?? 0) || i >= (this.dims[0] ?? 0)) {
      throw new InputError(`Tensor: index ${i} is out of range for dims [${this.dims}]`);
    }
    if (this.requires_grad) return this.slice(i);
    const plain = super.get(i);
    return new Tensor('float32', plain.data, plain.dims);
  }
  /** `size` parts along `dim`, the last may be shorter. */
  split(size: number, dim = 0): Tensor[] {
    const at = checkDim('split', dim, this.ndim);
    if (!(Number.isInteger(size) && size > 0))
      throw new InputError(`split: expected a size of at least 1, found ${describe(size)}`);
    const count = this.dims[at] as number;
    return Array.from({ length: Math.max(1, Math.ceil(count / size)) }, (_, i) =>
      this.narrow(at, i * size, Math.min(size, count - i * size)),
    );
  }
  /** In `chunks` parts along `dim`. */
  chunk(chunks: number, dim = 0): Tensor[] {
    return this.split(Math.ceil((this.dims[checkDim('chunk', dim, this.ndim)] as number) / chunks), dim);
  }
  index_select(dim: number, index: Values): Tensor {
    return callFunction('index_select', { input: this, index }, { dim }, ['dim']).output;
  }
}

/** A tensor that belongs to a module: `module.parameters()` lists it, optimizers change it. */
export class Parameter extends Tensor {
  static {
    Object.defineProperty(this, 'name', { value: 'Parameter' });
  }

  constructor(data: Values, options?: { requires_grad?: boolean });
  /** @internal */
  constructor(leaf: Leaf);
  constructor(from: Values | Leaf, options: { requires_grad?: boolean } = {}) {
    checkOptions('nn.Parameter', options, { requires_grad: 'boolean' });
    const given = from instanceof Values;
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

const operand = (other: Operand): Values => (typeof other === 'number' ? new Values('float32', [other], []) : other);
const unary = (input: Tensor, kind: string) => callFunction('unary', { input }, { kind }, ['kind']).output;

export function checkDim(where: string, dim: number, ndim: number): number {
  if (ndim === 0 && (dim === 0 || dim === -1)) return 0;
  if (Number.isInteger(dim) && dim >= -ndim && dim < ndim) return dim < 0 ? dim + ndim : dim;
  throw new InputError(`${where}: expected dim in ${-ndim} .. ${ndim - 1}, found ${describe(dim)}`);
}

function reduce(name: string, input: Values, dim: number | Shape | null | undefined, options: { keepdim?: boolean }): Outputs {
  checkOptions(`nn.${name}`, options, ['keepdim']);
  const dims = typeof dim === 'number' ? [dim] : (dim ?? undefined);
  return callFunction(name, { input }, { ...options, dim: dims }, ['dim', 'keepdim']);
}

function largest(
  name: string,
  input: Tensor,
  dim: number | undefined,
  options: { keepdim?: boolean },
): Tensor | [Tensor, Values<'int32'>] {
  const { output, weights } = reduce(name, input, dim, options);
  return weights ? [output, weights.to('int32')] : output;
}

/** A tensor of any type as f32. */
export function toSeam(where: string, name: string, tensor: unknown): SeamTensor {
  if (!(tensor instanceof Values)) throw new InputError(`${where}: expected a Tensor as '${name}', found ${describe(tensor)}`);
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
  checkOptions(where, options, known);
  const all: [string, unknown][] = Object.entries({ ...options, ...tensors });
  const isTensor = ([key, value]: [string, unknown]) => key in tensors || value instanceof Values;
  const given = toTensors(where, Object.fromEntries(all.filter(isTensor)) as TensorsByName);
  const scalars = toOptions(where, Object.fromEntries(all.filter((entry) => !isTensor(entry))) as OptionValues);
  return fromAnswer(currentHost().call((seam) => seam.call_function(name, given, scalars)));
}

/**
 * A mask in the form that is added to the scores: a float mask as it is, a bool mask as 0 and -infinity. trueAttends: whether true
 * means "may be attended to", as in torch's scaled_dot_product_attention, or "is masked out", as in torch's modules.
 */
export function toMask(mask: MaybeTensor, trueAttends: boolean): Values | undefined {
  if (mask === undefined || mask === null) return undefined;
  if (!(mask instanceof Values)) throw new InputError(`nn: expected a Tensor as mask, found ${describe(mask)}`);
  if (mask.type !== 'bool') return mask;
  const out = Float32Array.from(mask.data as Uint8Array, (value) => ((value !== 0) === trueAttends ? 0 : -Infinity));
  return new Values('float32', out, mask.dims);
}

/** Runs a function whose results have no graph, as evaluation needs none. Returns what it returns. */
export function no_grad<T>(run: () => T): T {
  const host = currentHost();
  const set = (enabled: boolean) => host.call((seam) => ({ ...kDone, before: seam.set_grad_enabled(enabled) })).before;
  const before = set(false);
  try {
    const out = run();
    if (typeof (out as { then?: unknown } | null | undefined)?.then === 'function') {
      throw new InputError('nn.no_grad: expected a function that is not async: what runs later would be recorded');
    }
    return out;
  } finally {
    if (!host.isBroken) set(before);
  }
}
