// Loads a model on this thread or in workers. What only workers need is loaded with the first of them.
import { describe, InputError } from '../core/errors.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { LoadedHead } from '../host/seam.js';
import type { ModelSpecifier } from '../source/types.js';
import { Engine, kLoadRules, type AnyEngine } from './engine.js';
import type { LoadOptions } from './types.js';

const kRules: Rules = { ...kLoadRules, worker: 'any', adapter: 'any', adapters: 'any' };
const kMostWorkers = 64;

function toCount(where: string, worker: unknown): number {
  if (worker === undefined || worker === null || worker === false) return 0;
  if (worker === true) return 1;
  if (Number.isInteger(worker) && (worker as number) >= 1 && (worker as number) <= kMostWorkers) return worker as number;
  throw new InputError(
    `${where}: option 'worker': expected true, false or a number from 1 to ${kMostWorkers}, found ${describe(worker)}`,
  );
}

/** The engine that the options ask for. idsOnly: it reads no texts, so that it needs no tokenizer. */
export async function loadEngine(
  where: string,
  model: ModelSpecifier | undefined | null,
  options: LoadOptions = {},
  head: LoadedHead = 'none',
  idsOnly = false,
): Promise<AnyEngine> {
  checkOptions(where, options, kRules);
  const { worker, adapter, adapters, ...rest } = options;
  const count = toCount(where, worker);
  const adapts = !!(adapter ?? adapters);
  const engine = await (count === 0
    ? Engine.load(where, model, rest, head, undefined, undefined, adapts, idsOnly)
    : (await import('./remote_engine.js')).RemoteEngine.load(where, model, count, rest, head, undefined, adapts, idsOnly));
  if (adapts) await (await import('./adapters.js')).loadAdapters(where, engine, options);
  return engine;
}
