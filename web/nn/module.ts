// nn.Module: parameters by name, children, and the modules whose forward runs in WebAssembly.
import { readOptions } from '../core/options.js';
import { InputError, describe } from '../core/errors.js';
import { currentHost, toOptions, type OptionValues } from '../host/nn_seam.js';
import type { NnHost, SeamCache, SeamNnModule, SeamRow, SeamTensor } from '../host/nn_types.js';
import { TensorBase } from '../core/tensor_base.js';
import { nextSeed } from './seed.js';
import { fromAnswer, Parameter, Tensor as NnTensor, toSeam, toTensors, type Outputs, type TensorsByName } from './tensor.js';

/** Tensors by name, such as `'layers.0.linear1.weight'`. */
export type StateDict = Record<string, TensorBase<'float32'>>;
const fromSeam = (tensor: SeamTensor) => NnTensor.of(tensor);

/** One `forward` call of a module, as recorded by `nn.trace`. */
export interface TraceRow extends Omit<SeamRow, 'input' | 'output' | 'kernel' | 'tensor' | 'weights' | 'module'> {
  /** Whether the module already has an earlier row. */
  is_recursive: boolean;
  /** Shape of the input. */
  input: number[];
  /** Shape of the output. */
  output: number[];
  /** Shape of the weight; empty if there is none. */
  kernel: number[];
  /** The output, if outputs are recorded. */
  tensor?: TensorBase<'float32'> | undefined;
  /** Attention weights, if outputs are recorded and `need_weights` is set. */
  weights?: TensorBase<'float32'> | undefined;
}

/** While a trace runs, forwards add their rows here. */
let tracing: { rows: TraceRow[]; depth: number; keep: boolean; seen: Set<unknown> } | undefined;

/** Whether this module, or its number in WebAssembly, has a row already. */
function isRecursive(seen: Set<unknown>, module: unknown): boolean {
  if (seen.has(module)) return true;
  seen.add(module);
  return false;
}

interface StateEntry {
  name: string;
  dims: number[];
  buffer: boolean;
  /** `requires_grad_(false)` was called. */
  frozen: boolean;
  /** Equal where parameters are tied. */
  identity: unknown;
}

/** The parameters, tied ones once. */
function distinct(entries: readonly StateEntry[]): StateEntry[] {
  const seen = new Set<unknown>();
  return entries.filter(({ buffer, identity }) => {
    if (buffer || seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}

// Frees the WebAssembly memory of modules that became garbage.
const garbage = new FinalizationRegistry<() => void>((free) => free());

/**
 * Base class of modules. Your own classes extend it, keep submodules and parameters as fields, and define `forward`.
 *
 * @example
 * class Double extends nn.Module {
 *   forward(x) {
 *     return x.mul(2);
 *   }
 * }
 * new Double().forward(nn.ones(2)).tolist(); // => [2, 2]
 */
export class Module {
  static {
    Object.defineProperty(this, 'name', { value: 'Module' });
  }

  /** The class name, as shown in summaries. */
  get type(): string {
    return this.constructor.name;
  }

  /** Computes the output. Override it in your own modules, and call it as `module.forward(input)`. */
  forward(..._inputs: any[]): any {
    throw new InputError(`nn.${this.type}: this class has no forward`);
  }

  /** Direct submodules with their names: fields that are modules or arrays of modules. */
  named_children(): [name: string, module: Module][] {
    return Object.entries(this).flatMap(([name, value]): [string, Module][] => {
      if (value instanceof Module) return [[name, value]];
      if (!Array.isArray(value)) return [];
      return value.flatMap((each, i): [string, Module][] => (each instanceof Module ? [[`${name}.${i}`, each]] : []));
    });
  }

  /** Its own parameters: fields that are `nn.Parameter`s. */
  private own_parameters(): [name: string, parameter: Parameter][] {
    return Object.entries(this).filter((field): field is [string, Parameter] => field[1] instanceof Parameter);
  }

  /** Whether the module is in training mode, where dropout is active and batch norm uses the batch's statistics. Modules start in evaluation mode. */
  get training(): boolean {
    return this.in_training;
  }
  private in_training = false;

  /** Sets training mode for this module and its submodules. From now on their parameters require gradients. */
  train(mode = true): this {
    mode = readOptions(`nn.${this.type}.train`, { mode }, { mode: 'boolean' }).mode;
    this.in_training = mode;
    for (const [, child] of this.named_children()) child.train(mode);
    return this;
  }
  /** Sets evaluation mode: dropout is off, and norms use their running statistics. The same as `train(false)`. */
  eval(): this {
    return this.train(false);
  }

  /** Copies of all parameters and buffers, under PyTorch's names. */
  state_dict(): StateDict {
    const out: StateDict = {};
    for (const [name, parameter] of this.own_parameters()) out[name] = parameter.detach();
    for (const [prefix, child] of this.named_children()) {
      for (const [name, tensor] of Object.entries(child.state_dict())) out[`${prefix}.${name}`] = tensor;
    }
    return out;
  }

  /** @internal Parameters and buffers without their values. */
  entries(): StateEntry[] {
    const own = this.own_parameters().map(([name, parameter]) => ({
      name,
      dims: [...parameter.dims],
      buffer: false,
      frozen: !parameter.requires_grad,
      identity: parameter,
    }));
    const of_parts = this.named_children().flatMap(([prefix, child]) =>
      child.entries().map((entry) => ({ ...entry, name: `${prefix}.${entry.name}` })),
    );
    return [...own, ...of_parts];
  }

  /** @internal Parameters by name, tied ones under each. */
  own_and_parts(): [name: string, parameter: Parameter][] {
    const of_parts = this.named_children().flatMap(([prefix, child]) =>
      child.own_and_parts().map(([name, parameter]): [string, Parameter] => [`${prefix}.${name}`, parameter]),
    );
    return [...this.own_parameters(), ...of_parts];
  }

  /** Names and shapes of all parameters and buffers. */
  shapes(): Record<string, { dims: number[]; buffer: boolean }> {
    return Object.fromEntries(this.entries().map(({ name, dims, buffer }) => [name, { dims, buffer }]));
  }

  /**
   * Parameters with their names, without buffers, like torch's `named_parameters()`. A tied parameter appears only under its first name. They are not
   * copies, and require gradients from now on (unless `requires_grad_(false)` was called).
   */
  named_parameters(): [name: string, parameter: Parameter][] {
    const all = new Map(this.own_and_parts());
    return distinct(this.entries()).map(({ name }) => [name, all.get(name) as Parameter]);
  }

  /** All parameters, including those of submodules. A shared parameter appears once. */
  parameters(): Parameter[] {
    return this.named_parameters().map(([, parameter]) => parameter);
  }

  /** The parameter with this name, such as `'layers.0.weight'`. */
  get_parameter(name: string): Parameter {
    const found = this.own_and_parts().find(([each]) => each === name);
    if (!found) throw new InputError(`nn.${this.type}.get_parameter: unknown parameter '${name}'`);
    return found[1];
  }

  /** Sets whether all parameters require gradients; `false` freezes the module. */
  requires_grad_(requires_grad = true): this {
    for (const parameter of this.parameters()) parameter.requires_grad_(requires_grad);
    return this;
  }

  /** Sets the gradients of all parameters to null. */
  zero_grad(): void {
    for (const parameter of this.parameters()) parameter.grad = null;
  }

  /** Number of values in all parameters, or only in those that are not frozen. Tied parameters count once. */
  num_parameters(options: { only_trainable?: boolean } = {}): number {
    options = readOptions(`nn.${this.type}.num_parameters`, options, { only_trainable: 'boolean' });
    const counted = distinct(this.entries()).filter(({ frozen }) => !(options?.only_trainable && frozen));
    return counted.reduce((sum, { dims }) => sum + dims.reduce((size, dim) => size * dim, 1), 0);
  }

  /** @internal Evaluation mode for this module and its parts, and back to the modes before. */
  pause(): void {
    this.paused = this.in_training;
    this.in_training = false;
    for (const [, child] of this.named_children()) child.pause();
  }
  private paused = false;
  /** @internal */
  resume(): void {
    this.in_training = this.paused;
    for (const [, child] of this.named_children()) child.resume();
  }

  /** Sets parameters and buffers by PyTorch's names. With `strict` (default), a missing or unknown name is an error, and nothing is changed. */
  load_state_dict(state: Record<string, TensorBase>, options: { strict?: boolean } = {}): void {
    const where = `nn.${this.type}.load_state_dict`;
    options = readOptions(where, options, { strict: 'boolean' });
    const strict = options?.strict ?? true;
    if (state === null || typeof state !== 'object') {
      throw new InputError(`${where}: expected an object of tensors, found ${describe(state)}`);
    }
    const shapes = this.shapes();
    for (const [name, { dims }] of Object.entries(shapes)) {
      const tensor = Object.hasOwn(state, name) ? state[name] : undefined;
      if (tensor === undefined) {
        if (strict) throw new InputError(`${where}: '${name}' [${dims}] is missing`);
        continue;
      }
      const found = toSeam(where, name, tensor).dims;
      if (String(found) !== String(dims)) throw new InputError(`${where}: expected '${name}' of shape [${dims}], found [${found}]`);
    }
    const unknown = Object.keys(state).find((name) => !Object.hasOwn(shapes, name));
    if (strict && unknown !== undefined) throw new InputError(`${where}: unknown parameter '${unknown}'`);
    for (const [name, tensor] of Object.entries(state)) if (Object.hasOwn(shapes, name)) this.setParameter(name, tensor);
  }

  /** @internal */
  setParameter(name: string, tensor: TensorBase): void {
    const own = this.own_parameters().find(([each]) => each === name);
    if (own) return void own[1].copy_(tensor);
    for (const [prefix, child] of this.named_children()) {
      if (name.startsWith(`${prefix}.`)) return child.setParameter(name.slice(prefix.length + 1), tensor);
    }
  }

  /** Frees the memory now. Otherwise it is freed when the module is garbage-collected. */
  dispose(): void {
    for (const [, child] of this.named_children()) child.dispose();
  }
}

/**
 * Keys and values of earlier tokens. Pass the same cache to each `forward` call, with one new token at a time.
 *
 * @example
 * const attention = new nn.SelfAttention({ k: 8, heads: 2, causal: true });
 * const cache = new nn.KeyValueCache();
 * for (let i = 0; i < 3; ++i) attention.forward(nn.ones(1, 1, 8), { cache });
 * cache.length; // => 3
 */
export class KeyValueCache {
  /** @internal */
  readonly handle: SeamCache;

  constructor() {
    this.handle = currentHost().call((seam) => ({ code: 0, message: '', cache: new seam.Cache() })).cache;
    const { handle } = this;
    garbage.register(this, () => handle.delete());
  }

  /** Number of tokens in the cache. */
  get length(): number {
    return this.handle.length();
  }
}

export interface ForwardCall {
  tensors: TensorsByName;
  options?: OptionValues;
  cache?: KeyValueCache | null | undefined;
}

const kEmpty: SeamTensor = { dims: Int32Array.of(0), data: new Float32Array() };

/** A module that is implemented in WebAssembly. */
export class Native extends Module {
  private readonly host: NnHost;
  private inside: SeamNnModule | undefined;
  private readonly kind: string;
  private list: [name: string, parameter: Parameter][] | undefined;

  /** @internal */
  constructor(kind: string, options: OptionValues, parts: readonly Module[] = []) {
    super();
    const where = `nn.${kind}`;
    this.host = currentHost();
    this.kind = kind;
    const given = toOptions(where, { seed: parts.length > 0 ? undefined : nextSeed(), ...options });
    const handles = parts.map((part, i) => {
      if (part instanceof Native) return part.handle;
      throw new InputError(`${where}: expected a module of nn as part ${i}, found ${describe(part)}`);
    });
    const handle = this.host.call((seam) => ({ code: 0, message: '', made: new seam.Module() })).made;
    try {
      this.host.call(() => handle.make(kind, given, handles));
    } catch (error) {
      if (!this.host.isBroken) handle.delete();
      throw error;
    }
    this.inside = handle;
    const { host } = this;
    garbage.register(this, () => !host.isBroken && handle.delete(), this);
    // These fields are not parts of the model.
    for (const field of ['host', 'inside', 'kind', 'list']) Object.defineProperty(this, field, { enumerable: false });
  }

  override get type(): string {
    return this.kind;
  }

  private get handle(): SeamNnModule {
    if (!this.inside) throw new InputError(`nn.${this.kind}: this module was disposed`);
    return this.inside;
  }

  /** @internal */
  protected run({ tensors, options = {}, cache }: ForwardCall): Outputs {
    const where = `nn.${this.kind}`;
    const given = toTensors(where, tensors);
    const scalars = toOptions(where, options);
    const { handle } = this;
    const seed = handle.draws() ? nextSeed() : 0;
    if (!tracing) return fromAnswer(this.host.call(() => handle.forward(given, scalars, cache?.handle ?? null, seed)));
    const { rows, depth, keep, seen } = tracing;
    const answer = this.host.call(() => handle.trace(given, scalars, cache?.handle ?? null, seed, keep));
    for (const { input, output, kernel, tensor, weights, module, ...row } of answer.rows) {
      rows.push({
        ...row,
        depth: row.depth + depth,
        is_recursive: isRecursive(seen, module),
        input: [...input],
        output: [...output],
        kernel: [...kernel],
        tensor: tensor && fromSeam(tensor),
        weights: weights && fromSeam(weights),
      });
    }
    return fromAnswer(answer);
  }

  override named_children(): [name: string, module: Module][] {
    return [];
  }

  override get training(): boolean {
    return this.handle.training();
  }
  override train(mode = true): this {
    mode = readOptions(`nn.${this.kind}.train`, { mode }, { mode: 'boolean' }).mode;
    this.handle.train(mode);
    return this;
  }

  /** @internal */
  override own_and_parts(): [name: string, parameter: Parameter][] {
    if (this.list) return this.list;
    const { handle, host } = this;
    const { parameters } = host.call(() => handle.parameters());
    const seen = new Map<unknown, Parameter>();
    this.list = this.entries().flatMap(({ name, dims, buffer, identity }, i): [string, Parameter][] => {
      const one = parameters[i];
      if (!one || buffer || seen.has(identity)) one?.delete();
      if (!one || buffer) return [];
      if (!seen.has(identity)) one.track();
      const parameter = seen.get(identity) ?? new Parameter({ host, handle: one, dims });
      seen.set(identity, parameter);
      return [[name, parameter]];
    });
    return this.list;
  }
  /** @internal */
  override pause(): void {
    this.handle.pause();
  }
  /** @internal */
  override resume(): void {
    this.handle.resume();
  }
  /** @internal Whether its forward runs in JS. */
  get is_composed(): boolean {
    return false;
  }

  /** The parameter `weight`; undefined if the module has none. */
  get weight(): Parameter | undefined {
    return this.own_and_parts().find(([name]) => name === 'weight')?.[1];
  }
  /** The parameter `bias`; undefined if the module has none. */
  get bias(): Parameter | undefined {
    return this.own_and_parts().find(([name]) => name === 'bias')?.[1];
  }

  override state_dict(): StateDict {
    const { handle } = this;
    const { names, tensors } = this.host.call(() => handle.state(true));
    return Object.fromEntries(names.map((name, i) => [name, fromSeam((tensors[i] ?? kEmpty) as SeamTensor)]));
  }

  /** @internal */
  override entries(): StateEntry[] {
    const { handle } = this;
    const { names, tensors, buffers, frozen, identities } = this.host.call(() => handle.state(false));
    return names.map((name, i) => ({
      name,
      dims: [...(tensors[i] as Int32Array)],
      buffer: buffers[i] === 1,
      frozen: frozen[i] === 1,
      identity: identities[i] as number,
    }));
  }

  /** @internal */
  override setParameter(name: string, tensor: TensorBase): void {
    const { handle } = this;
    const value = toSeam(`nn.${this.kind}.load_state_dict`, name, tensor);
    this.host.call(() => handle.load(name, value));
  }

  /** Reinitialises all parameters from torch's distributions, using SplitMix64 with this seed: the same numbers everywhere. */
  reset_parameters(seed: number): this {
    const { handle } = this;
    this.host.call(() => handle.draw(seed));
    return this;
  }

  /** @internal */
  protected generateIds(ids: Int32Array, source: TensorBase | null, options: OptionValues): Int32Array {
    const where = `nn.${this.kind}`;
    const from = source && toSeam(where, 'source', source);
    const scalars = toOptions(where, options);
    const { handle } = this;
    return this.host.call(() => handle.generate(ids, from, scalars)).ids;
  }

  override dispose(): void {
    const { inside } = this;
    this.inside = undefined;
    garbage.unregister(this);
    if (!this.host.isBroken) inside?.delete();
  }
}

/** Calls `run` and collects a row for every forward inside it. */
export function collect<T>(keep: boolean, run: () => T): { result: T; rows: TraceRow[] } {
  const outer = tracing;
  const rows: TraceRow[] = [];
  tracing = { rows, depth: 0, keep, seen: new Set() };
  try {
    return { result: run(), rows };
  } finally {
    tracing = outer;
  }
}

/** Records the forward of a user's class as one row above those of its parts. */
export function traced<T>(module: Module, input: TensorBase, run: () => T): T {
  if (!tracing || (module instanceof Native && !module.is_composed)) return run();
  const { rows } = tracing;
  const row: TraceRow = {
    name: module.type,
    type: module.type,
    depth: tracing.depth,
    input: [...input.dims],
    output: [],
    kernel: [],
    parameters: module.num_parameters(),
    own_parameters: 0,
    mult_adds: 0,
    macs: 0,
    is_leaf: module.named_children().length === 0,
    is_recursive: isRecursive(tracing.seen, module),
  };
  const inside = rows.push(row);
  tracing.depth += 1;
  const result = run();
  tracing.depth -= 1;
  row.macs = rows.slice(inside).reduce((sum, { depth, macs }) => sum + (depth === row.depth + 1 ? macs : 0), 0);
  const output = Array.isArray(result) ? result[0] : result;
  if (output instanceof TensorBase) {
    row.output = [...output.dims];
    if (tracing.keep) row.tensor = output as TensorBase<'float32'>;
  }
  return result;
}
