/**
 * torch.optim: optimizers with parameter groups, schedules of the learning rate, clipping.
 *
 * @module
 */
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions } from '../core/options.js';
import { currentHost, toOptions } from '../host/nn_seam.js';
import type { NnHost, SeamOptimizer, SeamTensor } from '../host/nn_types.js';
import { Tensor, type Leaf } from './tensor.js';

const gone = new FinalizationRegistry<{ host: NnHost; handle: SeamOptimizer }>(({ host, handle }) => {
  if (!host.isBroken) handle.delete();
});

/** Options of SGD. */
export interface SGDOptions {
  /** Learning rate. Default 0.001. */
  lr?: number;
  /** Fraction of the previous step that is added to the next one. Default 0. */
  momentum?: number;
  /** Dampening of the momentum: fraction of the gradient that it leaves out. Default 0. */
  dampening?: number;
  /** Weight decay: this factor times the parameter is added to its gradient. Default 0. */
  weight_decay?: number;
  /** Uses Nesterov momentum. Default `false`. */
  nesterov?: boolean;
}
/** Options of Adam and AdamW. */
export interface AdamOptions {
  /** Learning rate. Default 0.001. */
  lr?: number;
  /** Decay rates of two running averages: the gradient's, and its square's. Default [0.9, 0.999]. */
  betas?: readonly [number, number];
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** Weight decay. Default 0; for AdamW 0.01. */
  weight_decay?: number;
}
/** Parameters with their own options. Options that are not set default to the optimizer's. */
export type Group<Options> = Options & {
  /** The parameters of the group. */
  params: readonly Tensor[];
};
/** A group's options, which may be changed between steps. */
export type ParamGroup<Options> = Options & {
  /** The parameters of the group. */
  params: readonly Tensor[];
  /** The learning rate, which schedules change. */
  lr: number;
};

/** The result of an optimizer's `state_dict()`. */
export interface OptimizerState {
  /** For each parameter: its number of steps, then the tensors kept between steps. */
  state: Tensor[][];
  /** The options of each group. */
  param_groups: object[];
}

/**
 * Base class of optimizers.
 *
 * @example
 * const optimizer = new nn.optim.SGD([new nn.Parameter(nn.ones(2))], { lr: 0.1 }); // all optimizers have what follows
 * optimizer.zero_grad();
 */
export abstract class Optimizer<Options extends { lr?: number } = { lr?: number }> {
  /** Groups of parameters with their options, which may be changed between steps. */
  readonly param_groups: ParamGroup<Options>[] = [];
  readonly #kind: string;
  readonly #known: readonly string[];
  readonly #defaults: Options & { lr: number };
  readonly #host: NnHost;
  readonly #handle: SeamOptimizer;

  constructor(kind: string, params: readonly Tensor[] | readonly Group<Options>[], options: Options, known: readonly string[]) {
    options = readOptions(`nn.optim.${kind}`, options, known);
    this.#kind = kind;
    this.#known = known;
    this.#defaults = { ...options, lr: options?.lr ?? 1e-3 };
    this.#host = currentHost();
    if (!Array.isArray(params) || params.length === 0) {
      throw new InputError(`nn.optim.${kind}: expected parameters or groups of them, found ${describe(params)}`);
    }
    this.#handle = this.#host.call((seam) => ({ code: 0, message: '', made: new seam.Optimizer() })).made;
    gone.register(this, { host: this.#host, handle: this.#handle });
    this.#host.call(() => this.#handle.make(kind));
    const groups = params[0] instanceof Tensor ? [{ params } as unknown as Group<Options>] : (params as readonly Group<Options>[]);
    for (const group of groups) this.add_param_group(group);
  }

  /** Adds a group of parameters with its own options. */
  add_param_group(group: Group<Options>): void {
    const where = `nn.optim.${this.#kind}`;
    group = readOptions(where, group, [...this.#known, 'params']);
    if (!Array.isArray(group.params)) throw new InputError(`${where}: expected params of a group, found ${describe(group.params)}`);
    const whole = { ...this.#defaults, ...group };
    const options = this.#options(whole);
    const handles = group.params.map((each: Tensor) => Tensor.leaf(where, each).handle);
    this.#host.call(() => this.#handle.add_group(handles, options));
    this.param_groups.push(whole);
  }

  /** Updates all parameters that have a gradient. */
  step(): void {
    const groups = this.param_groups.map((group) => this.#options(group));
    this.#host.call(() => this.#handle.step(groups));
  }

  /** Sets the gradients of all parameters to null, before the next step. */
  zero_grad(): void {
    for (const { params } of this.param_groups) for (const each of params) each.grad = null;
  }

  /** The optimizer's state, and its groups without parameters. */
  state_dict(): OptimizerState {
    const { state } = this.#host.call(() => this.#handle.state());
    const param_groups = this.param_groups.map(({ params: _, ...options }) => options);
    return { state: state.map((tensors) => tensors.map((each) => Tensor.of(each))), param_groups };
  }
  /** Restores a state from `state_dict()`. Throws an `InputError` if it belongs to other parameters. */
  load_state_dict({ state, param_groups }: OptimizerState): void {
    if (!Array.isArray(state) || param_groups?.length !== this.param_groups.length) {
      throw new InputError(`nn.optim.${this.#kind}.load_state_dict: expected a state of ${this.param_groups.length} groups`);
    }
    const seam: SeamTensor[][] = state.map((tensors) => tensors.map((each) => Tensor.seam(each)));
    this.#host.call(() => this.#handle.load(seam));
    param_groups.forEach((options, i) => Object.assign(this.param_groups[i] as object, options));
  }

  #options(group: object) {
    const { params: _, betas, ...rest } = ownCopy(group) as { params?: unknown; betas?: readonly [number, number] };
    const where = `nn.optim.${this.#kind}`;
    if (betas === undefined) return toOptions(where, rest);
    if (!Array.isArray(betas) || betas.length !== 2)
      throw new InputError(`${where}: option 'betas': expected two numbers, found ${describe(betas)}`);
    return toOptions(where, { ...rest, beta1: betas[0], beta2: betas[1] });
  }
}

/**
 * torch.optim.SGD.
 *
 * @example
 * const weight = new nn.Parameter(nn.ones(2));
 * const optimizer = new nn.optim.SGD([weight], { lr: 0.1 });
 * weight.sum().backward();
 * optimizer.step();
 * weight.tolist(); // => [0.9, 0.9]
 */
export class SGD extends Optimizer<SGDOptions> {
  constructor(params: readonly Tensor[] | readonly Group<SGDOptions>[], options: SGDOptions = {}) {
    super('SGD', params, options, ['lr', 'momentum', 'dampening', 'weight_decay', 'nesterov']);
  }
}
const kAdam = ['lr', 'betas', 'eps', 'weight_decay'];
/**
 * torch.optim.Adam; arXiv 1412.6980.
 *
 * @example
 * const weight = new nn.Parameter(nn.ones(2));
 * const optimizer = new nn.optim.Adam([weight], { lr: 0.1 });
 * weight.sum().backward();
 * optimizer.step();
 * weight.tolist(); // => [0.9, 0.9]
 */
export class Adam extends Optimizer<AdamOptions> {
  constructor(params: readonly Tensor[] | readonly Group<AdamOptions>[], options: AdamOptions = {}) {
    super('Adam', params, options, kAdam);
  }
}
/**
 * torch.optim.AdamW, with decoupled weight decay; arXiv 1711.05101.
 *
 * @example
 * const net = new nn.Linear(4, 2);
 * const optimizer = new nn.optim.AdamW(net.parameters(), { lr: 1e-3, weight_decay: 0.01 });
 */
export class AdamW extends Optimizer<AdamOptions> {
  constructor(params: readonly Tensor[] | readonly Group<AdamOptions>[], options: AdamOptions = {}) {
    super('AdamW', params, options, kAdam);
  }
}

/**
 * Sets the learning rate of each group to its initial one times `factor(steps)`. Call `step()` after each step of the optimizer.
 *
 * @example
 * const optimizer = new nn.optim.SGD([new nn.Parameter(nn.ones(2))], { lr: 0.1 });
 * const schedule = new nn.optim.LambdaLR(optimizer, (step) => 0.5 ** step);
 */
export class LambdaLR {
  readonly #first: number[];
  #steps = 0;

  constructor(
    private readonly optimizer: Optimizer<any>,
    private readonly factor: (steps: number) => number,
  ) {
    if (!(optimizer instanceof Optimizer))
      throw new InputError(`nn.optim.LambdaLR: expected an optimizer, found ${describe(optimizer)}`);
    this.#first = optimizer.param_groups.map(({ lr }) => lr);
    this.#set();
  }
  /** Sets the learning rate of the next step. Call it after `optimizer.step()`. */
  step(): void {
    this.#steps += 1;
    this.#set();
  }
  /** The current learning rate of each group. */
  get_last_lr(): number[] {
    return this.optimizer.param_groups.map(({ lr }) => lr);
  }
  /** The scheduler's state: its number of steps. */
  state_dict(): { last_epoch: number } {
    return { last_epoch: this.#steps };
  }
  /** Restores a state from `state_dict()`. */
  load_state_dict({ last_epoch }: { last_epoch: number }): void {
    this.#steps = last_epoch;
    this.#set();
  }
  #set(): void {
    const factor = this.factor(this.#steps);
    this.optimizer.param_groups.forEach((group, i) => (group.lr = (this.#first[i] as number) * factor));
  }
}

/** Options of schedules with a warm-up. */
export interface ScheduleOptions {
  /** Number of steps in which the rate rises from 0. Default 0. */
  num_warmup_steps?: number;
  /** Total number of steps. The rate is 0 after the last one. */
  num_training_steps: number;
}
function schedule(name: string, optimizer: Optimizer<any>, options: Partial<ScheduleOptions>, known: readonly string[]): LambdaLR {
  const where = `nn.optim.get_${name}_schedule`;
  options = readOptions(where, options, Object.fromEntries(known.map((each) => [each, 'count'])));
  const { num_warmup_steps = 0, num_training_steps = 0 } = options ?? {};
  if (known.length > 1 && options?.num_training_steps === undefined)
    throw new InputError(`${where}: option 'num_training_steps' is missing`);
  const host = currentHost();
  return new LambdaLR(
    optimizer,
    (steps) =>
      host.call((seam) => ({
        code: 0,
        message: '',
        factor: seam.schedule_factor(name, steps, num_warmup_steps, num_training_steps),
      })).factor,
  );
}
const kBoth = ['num_warmup_steps', 'num_training_steps'];
/**
 * A constant rate. With `num_warmup_steps`, it first rises from 0.
 *
 * @example
 * const optimizer = new nn.optim.SGD([new nn.Parameter(nn.ones(2))], { lr: 0.1 });
 * const schedule = nn.optim.get_constant_schedule(optimizer);
 */
export const get_constant_schedule = (optimizer: Optimizer<any>, options: { num_warmup_steps?: number } = {}): LambdaLR =>
  schedule('constant', optimizer, options, ['num_warmup_steps']);
/**
 * Rises linearly from 0 during the warm-up, then falls linearly to 0. Named as in transformers.
 *
 * @example
 * const optimizer = new nn.optim.SGD([new nn.Parameter(nn.ones(2))], { lr: 0.1 });
 * const schedule = nn.optim.get_linear_schedule_with_warmup(optimizer, { num_warmup_steps: 5, num_training_steps: 60 });
 * schedule.step(); // after each step of the optimizer
 */
export const get_linear_schedule_with_warmup = (optimizer: Optimizer<any>, options: ScheduleOptions): LambdaLR =>
  schedule('linear', optimizer, options, kBoth);
/**
 * Rises linearly from 0 during the warm-up, then falls to 0 along a half cosine.
 *
 * @example
 * const optimizer = new nn.optim.SGD([new nn.Parameter(nn.ones(2))], { lr: 0.1 });
 * const schedule = nn.optim.get_cosine_schedule_with_warmup(optimizer, { num_warmup_steps: 5, num_training_steps: 60 });
 */
export const get_cosine_schedule_with_warmup = (optimizer: Optimizer<any>, options: ScheduleOptions): LambdaLR =>
  schedule('cosine', optimizer, options, kBoth);

/**
 * Scales all gradients by one factor so that their Euclidean norm is at most `max_norm`.
 * @returns the norm before clipping
 *
 * @example
 * const weight = new nn.Parameter(nn.ones(2));
 * weight.mul(3).sum().backward();
 * nn.utils.clip_grad_norm_([weight], 1); // the norm before, and gradients of the norm 1 from now on
 */
export function clip_grad_norm_(parameters: Tensor | readonly Tensor[], max_norm: number): number {
  const where = 'nn.utils.clip_grad_norm_';
  ({ max_norm } = readOptions(where, { max_norm: max_norm ?? NaN }, { max_norm: '[0,Infinity]' }));
  const leaves: Leaf[] = [parameters].flat().map((each) => Tensor.leaf(where, each));
  return currentHost().call((seam) =>
    seam.clip_grad_norm(
      leaves.map(({ handle }) => handle),
      max_norm,
    ),
  ).norm;
}
/** Utilities, like torch.nn.utils. */
export const utils = {
  /** Scales all gradients by one factor so that their Euclidean norm is at most `max_norm`. Returns the norm before. */
  clip_grad_norm_,
};
