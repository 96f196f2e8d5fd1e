// The WebAssembly of nn: loaded once, then every call is synchronous.
import { InputError, StateError, describe } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import type { NnHost, OutputsAnswer, SeamOptions, SeamTensor, SeamTensors } from './nn_types.js';
import { Tensor } from '../core/tensor.js';
import type { Env } from '../core/types.js';

let host: NnHost | undefined;
let waiting: Promise<void> | undefined;

/**
 * Loads the WebAssembly of `nn`; everything else in `nn` is synchronous. Call it once, before anything else; later calls do nothing.
 * `wasm`: where `wattn-nn.wasm` is if it is not beside this script (`{ url | binary | module }`, as in `env.wasm`).
 */
export async function ready(options: { wasm?: Env['wasm'] } = {}): Promise<void> {
  checkOptions('nn.ready', options, ['wasm']);
  if (host && !host.isBroken) return;
  waiting ??= import('./nn_host.js')
    .then(({ freshHost }) => freshHost('nn', options.wasm))
    .then((made) => void (host = made))
    .finally(() => (waiting = undefined));
  return waiting;
}

export function currentHost(): NnHost {
  if (!host) throw new StateError('nn: not ready yet: call `await nn.ready()` first, once');
  if (host.isBroken) throw new StateError('nn: an earlier call failed inside WebAssembly: call `await nn.ready()` again');
  return host;
}

/** Options as callers pass them; undefined and null mean "not given". */
export type OptionValues = Record<string, unknown>;

export function toOptions(where: string, options: OptionValues): SeamOptions {
  const out: SeamOptions = [];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (typeof value === 'boolean') out.push([name, Number(value)]);
    else if (typeof value === 'number' || typeof value === 'string') out.push([name, value]);
    else if (Array.isArray(value) && value.every((each) => typeof each === 'number')) out.push([name, [...value]]);
    else throw new InputError(`${where}: option '${name}': expected a number, a string or numbers, found ${describe(value)}`);
  }
  return out;
}

/** A tensor of any type as f32. */
export function toSeam(where: string, name: string, tensor: unknown): SeamTensor {
  if (!(tensor instanceof Tensor)) throw new InputError(`${where}: expected a Tensor as '${name}', found ${describe(tensor)}`);
  const data =
    tensor.type === 'float32' ? (tensor.data as Float32Array) : Float32Array.from(tensor.data as ArrayLike<number>, Number);
  return { dims: Int32Array.from(tensor.dims), data };
}

export const fromSeam = ({ dims, data }: SeamTensor) => new Tensor('float32', data, [...dims]);

export type MaybeTensor = Tensor | null | undefined;
export type TensorsByName = Record<string, MaybeTensor>;

export function toTensors(where: string, tensors: TensorsByName): SeamTensors {
  return Object.entries(tensors)
    .filter(([, tensor]) => tensor !== undefined && tensor !== null)
    .map(([name, tensor]) => ({ name, ...toSeam(where, name, tensor) }));
}

/** The output, and attention weights if they were requested. */
export interface Outputs {
  output: Tensor<'float32'>;
  weights: Tensor<'float32'> | undefined;
}
export function fromAnswer({ output, weights }: OutputsAnswer): Outputs {
  return { output: fromSeam(output), weights: weights && fromSeam(weights) };
}

/** Calls a function of src/nn/call.cpp. Of options, only the known names are allowed; those with a tensor as value join the tensors. */
export function callFunction(name: string, tensors: TensorsByName, options?: object, known: readonly string[] = []): Outputs {
  const where = `nn.${name}`;
  checkOptions(where, options, known);
  const all: [string, unknown][] = Object.entries({ ...options, ...tensors });
  const isTensor = ([key, value]: [string, unknown]) => key in tensors || value instanceof Tensor;
  const given = toTensors(where, Object.fromEntries(all.filter(isTensor)) as TensorsByName);
  const scalars = toOptions(where, Object.fromEntries(all.filter((entry) => !isTensor(entry))));
  return fromAnswer(currentHost().call((seam) => seam.call_function(name, given, scalars)));
}

/**
 * A mask in the form that is added to the scores: a float mask as it is, a bool mask as 0 and -infinity. trueAttends: whether true
 * means "may be attended to", as in torch's scaled_dot_product_attention, or "is masked out", as in torch's modules.
 */
export function toMask(mask: MaybeTensor, trueAttends: boolean): Tensor | undefined {
  if (mask === undefined || mask === null) return undefined;
  if (!(mask instanceof Tensor)) throw new InputError(`nn: expected a Tensor as mask, found ${describe(mask)}`);
  if (mask.type !== 'bool') return mask;
  const out = Float32Array.from(mask.data as Uint8Array, (value) => ((value !== 0) === trueAttends ? 0 : -Infinity));
  return new Tensor('float32', out, mask.dims);
}
