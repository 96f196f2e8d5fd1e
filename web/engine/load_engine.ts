// Loads a model on this thread or in workers. What only workers need is loaded with the first of them.
import { env } from '../core/env.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import type { LoadedHead } from '../host/seam.js';
import type { ModelSpecifier } from '../source/types.js';
import { Engine, kDtypes, kLoadRules, type AnyEngine, type LoadRequest } from './engine.js';
import type { LoadOptions, ModelOptions } from './types.js';

const kRules: Rules = { ...kLoadRules, worker: 'any', adapter: 'any', adapters: 'any' };
/** Whether each name, and the data type, is one of ours. */
const areOwn = (options: object) =>
  Object.entries(options).every(([name, value]) => name in kRules && (name !== 'dtype' || !value || kDtypes.includes(value)));
/** The engine that the options ask for. idsOnly: it reads no texts, so that it needs no tokenizer. */
export async function loadEngine(
  where: string,
  model: ModelSpecifier | undefined | null,
  given: ModelOptions | null = {},
  head: LoadedHead = 'none',
  idsOnly = false,
): Promise<AnyEngine> {
  const own = ownCopy(given);
  const theirs = typeof own === 'object' && own && !Array.isArray(own) && !areOwn(own);
  const named = theirs ? ownCopy((await import('./transformers_js.js')).toLoadOptions(where, own)) : own;
  const options = readOptions(where, named, { ...kRules, ...(theirs && { weights_at: 'any', device: 'any' }) });
  const request = { where, options: options as LoadOptions, head, idsOnly };
  const engine = await loadWith({ ...request, model });
  const bytes = typeof model === 'object' && model ? new WeakRef(model) : undefined; // not kept alive for this
  requests.set(engine, () => (bytes && !bytes.deref() ? undefined : { ...request, model: bytes ? bytes.deref() : model }));
  return engine;
}

const requests = new WeakMap<AnyEngine, () => LoadRequest | undefined>();
/** Loads the model of an engine once more. undefined: what it was loaded from is gone. */
export async function reload(engine: AnyEngine, changes: object): Promise<AnyEngine | undefined> {
  const request = requests.get(engine)?.();
  return request && loadWith({ ...request, options: { ...request.options, ...changes } });
}

async function loadWith(request: LoadRequest): Promise<AnyEngine> {
  const { where, model, options } = request;
  const { numThreads: threads, proxy } = env.backends.onnx.wasm;
  const { worker = proxy, adapter, adapters, ...set } = options;
  const rest = { ...(threads && { threads }), ...set };
  const adapts = !!(adapter ?? adapters);
  const wanted = { ...request, options: rest, adaptedHead: adapts };
  try {
    const engine = await (worker === undefined || worker === null || worker === false
      ? Engine.load(wanted)
      : (await import('./remote_engine.js')).RemoteEngine.load(wanted, worker));
    if (adapts) await (await import('./adapters.js')).loadAdapters(where, engine, options);
    return engine;
  } catch (error) {
    const again = model && (await (await import('./adapter_base.js')).baseOf(error, model, rest, adapts));
    if (!again) throw error;
    return loadWith({ ...request, model: again.model, options: { ...options, ...again.options } }).catch((error: unknown) => {
      throw again.withLine(error);
    });
  }
}
