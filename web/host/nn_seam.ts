// The WebAssembly of nn: loaded once, then every call is synchronous.
import { InputError, StateError, describe } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { NnHost, SeamOptions } from './nn_types.js';
import type { Env } from '../core/types.js';

let host: NnHost | undefined;
let waiting: Promise<void> | undefined;

/**
 * Loads the WebAssembly of `nn`. Call it once, before anything else in `nn`, which is synchronous; later calls do nothing. `wasm` says where
 * `wattn-nn.wasm` is, if not next to this script (`{ url | binary | module }`, as in `env.wasm`).
 *
 * @example
 * await nn.ready(); // once, before anything else of nn
 */
export async function ready(options: { wasm?: Env['wasm'] } = {}): Promise<void> {
  options = readOptions('nn.ready', options, ['wasm']);
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
