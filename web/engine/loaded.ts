// What every loaded model has, whatever it does.
import { disposable } from '../core/disposable.js';
import type { AnyEngine } from './engine.js';

const kAdapterMethods = [
  'load_adapter',
  'set_adapter',
  'enable_adapters',
  'disable_adapters',
  'active_adapters',
  'delete_adapter',
  'merge_and_unload',
] as const;

const engines = new WeakMap<object, AnyEngine>();
/** The engine of what asLoaded made; undefined for anything else. */
export const engineOf = (loaded: object): AnyEngine | undefined => engines.get(loaded);

const companions = new WeakMap<AnyEngine, Set<{ dispose(): void }>>();
/** Disposes of `other` together with what asLoaded made of the engine. */
export function disposeWith(engine: AnyEngine, other: { dispose(): void }): void {
  companions.set(engine, (companions.get(engine) ?? new Set()).add(other));
}

/** call with the members of `Loaded` and more. */
export function asLoaded<F extends object, M extends object>(engine: AnyEngine, call: F, more: M) {
  const rest: object = { info: () => engine.info, memory: () => engine.memory, warmup: () => engine.warmup() };
  const ofAdapters = kAdapterMethods.map((name) => [
    name,
    async (...args: any[]) => ((await import('./adapters.js'))[name] as (...args: any[]) => unknown)(engine, ...args),
  ]);
  engines.set(call, engine);
  return disposable(Object.assign(call, more, rest, Object.fromEntries(ofAdapters)), () => {
    companions.get(engine)?.forEach((other) => other.dispose());
    engine.dispose();
  });
}
