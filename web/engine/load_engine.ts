// Loads a model on this thread or in workers. What only workers need is loaded with the first of them.
import { env } from '../core/env.js';
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import type { LoadedHead } from '../host/seam.js';
import type { ModelSpecifier } from '../source/types.js';
import { Engine, kDtypes, kLoadRules, type AnyEngine } from './engine.js';
import type { LoadOptions, ModelOptions } from './types.js';

const kRules: Rules = { ...kLoadRules, worker: 'any', adapter: 'any', adapters: 'any' };
/** Whether each name, and the data type, is one of ours. */
const areOwn = (options: object) =>
  Object.entries(options).every(
    ([name, value]) => Object.hasOwn(kRules, name) && (name !== 'dtype' || !value || kDtypes.includes(value)),
  );
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
  given: ModelOptions | null = {},
  head: LoadedHead = 'none',
  idsOnly = false,
): Promise<AnyEngine> {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const own = isObject ? ownCopy(given) : given;
  const theirs = isObject && !areOwn(own as ModelOptions);
  const named = theirs ? (await import('./transformers_js.js')).toLoadOptions(where, own as ModelOptions) : own;
  const { weights_at, ...known } = ownCopy((named ?? {}) as LoadOptions & { weights_at?: object });
  const options = readOptions(where, isObject ? known : (given as typeof known), kRules);
  const { numThreads: threads, proxy } = env.backends.onnx.wasm;
  const { worker = proxy, adapter, adapters, ...set } = options;
  const rest = { ...(threads && { threads }), ...set, ...(weights_at && { weights_at }) };
  const count = toCount(where, worker);
  const adapts = !!(adapter ?? adapters);
  const ofAdapters = () => import('./adapters.js');
  const engine = await (
    count === 0
      ? Engine.load(where, model, rest, head, undefined, undefined, adapts, idsOnly)
      : (await import('./remote_engine.js')).RemoteEngine.load(where, model, count, rest, head, undefined, adapts, idsOnly)
  ).catch(async (error) => {
    if (model && error instanceof ModelFormatError) error.message += await (await ofAdapters()).hintOf(model, rest).catch(() => '');
    throw error;
  });
  if (adapts) await (await ofAdapters()).loadAdapters(where, engine, options);
  return engine;
}
