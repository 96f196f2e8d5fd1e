// The adapters of a loaded model: loading, choosing, merging. Loaded with the first adapter. Each engine holds the adapters that its
// model has; the caller's holds which one is active too, and every call names the one that it uses.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { allInOrder } from '../core/signal.js';
import { concat } from '../core/texts.js';
import type { AdaptedBase } from '../source/adapted_base.js';
import { loadFrom } from '../source/load_from.js';
import { readFields, readJson, readOptional, readRequired, type NamedBytes, type Progress } from '../source/model_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import { checkAdapter, kAdapterConfig, kAdapterWeights, readAdapter } from '../source/peft.js';
import type { ModelSource } from '../source/source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import type { AdaptedEngine, AdapterChange, Adapters, HeldAdapter, HostEngine } from './adapter_types.js';
import type { LoadOptions } from './types.js';

const kDefault = 'default';
const kLabels = 'config.json';
/** What PEFT's kinds of tasks are here. */
const kTasks: Record<string, string | undefined> = {
  SEQ_CLS: "'text-classification'",
  TOKEN_CLS: "'token-classification'",
  CAUSAL_LM: "'text-generation'",
  SEQ_2_SEQ_LM: "'text2text-generation'",
  QUESTION_ANS: "'question-answering'",
  FEATURE_EXTRACTION: "'feature-extraction', and for 'text-classification' with a classifier.json beside it",
};

const rare = new WeakSet<object>();
/** Whether the error is of an adapter that a model with all that is rare may load. */
export const mayBeRare = (error: unknown): boolean => rare.has(error as object);

/** What an adapter is for here, by its adapter_config.json. */
export const taskOf = (files: readonly NamedBytes[]) => kTasks[readJson(files, kAdapterConfig)?.['task_type'] as string];

const adaptersOf = (engine: { adapters?: Adapters }): Adapters =>
  (engine.adapters ??= { held: new Map(), active: false, last: false });

function checkName(where: string, engine: { adapters?: Adapters }, name: unknown): asserts name is string {
  const names = [...(engine.adapters?.held.keys() ?? [])];
  if (typeof name === 'string' && names.includes(name)) return;
  const known =
    names.length > 0 ? `one of the adapters ${names.map((each) => `'${each}'`).join(', ')}` : 'an adapter: none was loaded';
  throw new InputError(`${where}: expected ${known}, found ${describe(name)}`);
}

/** The model's config.json with the labels of an adapter: of its own config.json, else the model's if they are as many as `labels`. */
function filesWith(engine: HostEngine, files: readonly NamedBytes[], labels: number): readonly NamedBytes[] {
  const base = readFields(engine.files, kLabels);
  const own = readJson(files, kLabels);
  const fits = labels === 0 || labels === Object.keys((base['id2label'] ?? {}) as object).length;
  const { id2label, label2id, problem_type } = own ?? (fits ? base : { problem_type: base['problem_type'] });
  const config = new TextEncoder().encode(JSON.stringify({ ...base, id2label, label2id, problem_type }));
  return engine.files.map((file): NamedBytes => (file[0] === kLabels ? [kLabels, config] : file));
}

/** Changes the adapters of a model in this thread. */
export function adapt(engine: HostEngine, change: AdapterChange): void {
  const { held } = adaptersOf(engine);
  const { action, name } = change;
  if (action === 'load') {
    const tensors = readAdapter(change.files);
    const sizes = Int32Array.from(tensors.flatMap(({ rows, columns, rank, parts }) => [rows, columns, rank, parts]));
    const values = concat(
      Float32Array,
      tensors.flatMap((tensor) => tensor.values),
    );
    const each = tensors.map((tensor) => tensor.name);
    const { adapter: number, labels } = engine.call((handle) => handle.add_adapter(each, sizes, values));
    held.set(name, { number, files: filesWith(engine, change.files, labels) });
  } else {
    const { number, files } = held.get(name) as HeldAdapter;
    held.delete(name);
    if (action === 'merge') {
      for (const other of held.values()) engine.call((handle) => handle.delete_adapter((other as HeldAdapter).number));
      held.clear();
      engine.call((handle) => handle.merge_adapter(number));
      engine.files = files;
    } else {
      engine.call((handle) => handle.delete_adapter(number));
    }
  }
  engine.measure();
  engine.prefixes = undefined; // until the next call
}

/** The engine with one of its adapters, or with none: every call of it sets the adapter, so that calls with others can run in turn. */
export function using<E extends object>(engine: E, name: string | false): E {
  const own = engine as unknown as HostEngine;
  if (name !== false) checkName("option 'adapter'", own, name);
  const held = name === false ? undefined : own.adapters?.held.get(name);
  const call: HostEngine['call'] = (run) => {
    own.call((handle) => handle.use_adapter(held?.number ?? 0));
    try {
      return own.call(run);
    } finally {
      if (own.isOpen) own.call((handle) => handle.use_adapter(0));
    }
  };
  const changed = { call, files: held?.files ?? own.files, whole: own, gpu: undefined };
  return Object.create(own, Object.fromEntries(Object.entries(changed).map(([key, value]) => [key, { value }]))) as unknown as E;
}

async function change(engine: AdaptedEngine, request: AdapterChange): Promise<void> {
  await engine.adapt(request);
  const adapters = adaptersOf(engine);
  const { held } = adapters;
  if (request.action === 'load') {
    if (!held.has(request.name)) held.set(request.name, undefined);
    if (held.size === 1 + (adapters.own ?? 0)) adapters.active = adapters.last = request.name;
    return;
  }
  if (request.action === 'merge') held.clear();
  held.delete(request.name);
  if (!held.has(adapters.active as string)) adapters.active = adapters.last = false;
}

/** adapter_model.safetensors, or adapter_model.bin of older versions of PEFT in that layout. */
export async function readWeights(source: ModelSource, progress: Progress, signal: AbortSignal): Promise<NamedBytes> {
  const [weights] = await readOptional(source, kAdapterWeights, progress, signal);
  if (weights) return weights;
  const { readTorchFor } = await import('../source/torch_weights.js');
  return [kAdapterWeights, await readTorchFor(source, kAdapterWeights, progress, signal)];
}

/**
 * Loads an adapter of PEFT and names it. The first one is active from then on. An `InputError` if the name is taken; a
 * `ModelFormatError` if the adapter does not fit the model, which stays as it was.
 */
export async function load_adapter(
  engine: AdaptedEngine,
  source: ModelSpecifier,
  name: string = kDefault,
  options: SourceOptions = {},
): Promise<void> {
  options = readOptions('load_adapter', options, kSourceRules);
  if (typeof name !== 'string' || name === '') throw new InputError(`load_adapter: expected a name, found ${describe(name)}`);
  if (engine.adapters?.held.has(name)) throw new InputError(`load_adapter: expected a name that is not in use, found '${name}'`);
  await loadFrom(openModel(source, options ?? {}), options ?? {}, async (from, progress, signal) => {
    const files = await allInOrder([readRequired(from, kAdapterConfig, progress, signal), readWeights(from, progress, signal)]);
    const labels = await readOptional(from, kLabels, progress, signal);
    await checkAdapter([...files, ...labels]);
    await change(engine, { action: 'load', name, files: [...files, ...labels] }).catch((error: unknown) => {
      if (error instanceof UnsupportedError) rare.add(error);
      const task = taskOf(files);
      if (error instanceof ModelFormatError && task) error.message += `; by its task_type, this adapter is for ${task}`;
      throw error;
    });
  });
}

/** Makes an adapter active: calls use it unless they name another. null: none, as by disable_adapters(). */
export async function set_adapter(engine: AdaptedEngine, name: string | null): Promise<void> {
  if (name !== null) checkName('set_adapter', engine, name);
  const adapters = adaptersOf(engine);
  adapters.active = name ?? false;
  if (name !== null) adapters.last = name;
}

/** Calls use the model without adapters, unless they name one. */
export const disable_adapters = (engine: AdaptedEngine): Promise<void> => set_adapter(engine, null);

/** Makes the adapter that was active before disable_adapters() active again. */
export async function enable_adapters(engine: AdaptedEngine): Promise<void> {
  const adapters = adaptersOf(engine);
  adapters.active = adapters.last;
}

/** The names of the active adapters: one or none. */
export async function active_adapters(engine: AdaptedEngine): Promise<string[]> {
  const active = engine.adapters?.active ?? false;
  return active === false ? [] : [active];
}

/** Releases an adapter. */
export async function delete_adapter(engine: AdaptedEngine, name: string): Promise<void> {
  checkName('delete_adapter', engine, name);
  await change(engine, { action: 'delete', name });
}

/** Makes the active adapter part of the model's weights and releases all adapters. */
export async function merge_and_unload(engine: AdaptedEngine): Promise<void> {
  const name: unknown = engine.adapters?.active;
  checkName('merge_and_unload', engine, name);
  await change(engine, { action: 'merge', name });
}

/** Loads the adapters of a load's options; disposes of the model if one fails. */
export async function loadAdapters(where: string, engine: AdaptedEngine, options: LoadOptions): Promise<void> {
  const {
    adapter,
    adapters,
    revision: _revision,
    adapted_base: base,
    ...rest
  } = options as LoadOptions & { adapted_base?: AdaptedBase };
  try {
    if (adapter && adapters) throw new InputError(`${where}: expected one of the options 'adapter' and 'adapters', found both`);
    const sources = adapter ? { [kDefault]: adapter } : ((adapters ?? {}) as Record<string, ModelSpecifier>);
    if (typeof sources !== 'object' || Object.keys(sources).length === 0) {
      throw new InputError(`${where}: option 'adapters': expected { name: source, .. }, found ${describe(adapters)}`);
    }
    const known = Object.entries(rest).filter(([key]) => key in kSourceRules && key !== 'progress_callback');
    for (const [name, source] of Object.entries(sources)) {
      await load_adapter(engine, source, name, { ...Object.fromEntries(known), revision: base?.revision } as SourceOptions);
    }
  } catch (error) {
    engine.dispose();
    throw error;
  }
}
