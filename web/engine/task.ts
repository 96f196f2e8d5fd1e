// The parts of a task: one side checks arguments and shapes results for the caller, the other runs beside the engine, maybe in a worker.
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import type { ChatTemplates } from '../tokenizer/types.js';
import type { Accelerator } from '../gpu/accelerator.js';
import type { LoadedHead, SeamModel, SeamPredictOptions } from '../host/seam.js';
import type { AbortSignalLike } from '../core/types.js';
import type { NamedBytes } from '../source/model_files.js';
import type { ModelSpecifier } from '../source/types.js';
import type { EmbedOptions, MemoryInfo, ModelInfo, ModelOptions, PrefixInfo, TaskTextOptions } from './types.js';

/** New tokens of a prompt and the text that they complete, from tasks that generate. Either may be empty. */
export interface Piece {
  piece: string;
  prompt: number;
  tokens: number[];
  /** The tokens are those of the prompt itself: the first piece. */
  begins: boolean;
  /** With top_logprobs: a GeneratedLogprob for each of these tokens. */
  logprobs: readonly object[] | undefined;
}
export type OnPiece = (piece: Piece) => void;

/** The part of an Engine that tasks use. */
export interface TaskEngine {
  readonly files: readonly NamedBytes[];
  /** The templates that the pipeline's tokenizer has now. undefined: those of the files. */
  chatTemplates?: () => ChatTemplates | null;
  /** Whether calls can still be made: it was not disposed, and none failed inside WebAssembly. */
  readonly isOpen: boolean;
  /** The engine itself, where this one stands for it with an adapter in use. */
  readonly whole?: TaskEngine;
  prefixes?: PrefixInfo | undefined;
  readonly memory: MemoryInfo;
  /** With the option `device`, of a model that a GPU may run. */
  readonly gpu?: Accelerator | undefined;
  call<A extends { code: number; message: string }>(run: (handle: SeamModel) => A): A;
}

export interface Context {
  /** Index of the first item in the caller's list, for messages: a call may be split into jobs. */
  first: number;
  signal: AbortSignalLike | undefined;
  onPiece?: OnPiece | undefined;
}

/** One validated call. Items and options are plain data, as they may be sent to workers. */
export interface Call<Item, Options, Result> {
  items: Item[];
  options: Options;
  signal: AbortSignalLike | undefined;
  onPiece?: OnPiece | undefined;
  /** The results of a call that ended early on purpose, or none where `finish` has them; other errors are thrown again. */
  stopped?(error: unknown): Result[];
  finish(results: Result[]): unknown;
}

export type EmbedWith<E> = (engine: E, texts: string[], options: EmbedOptions) => Promise<unknown>;
export interface Opened<E> {
  engine: E;
  call?: ((...args: unknown[]) => Promise<unknown>) | undefined;
}

export interface Task<Item = any, Options = any, Result = any> {
  head: LoadedHead;
  /** What a model without this head does in its place, for the error of loading one. */
  instead?: string;
  /** Loads the model where a head is not all that may answer. load: with this head, by default the task's. call: in place of prepare and run. */
  open?<E>(
    load: (head?: LoadedHead) => Promise<E>,
    model: ModelSpecifier | null | undefined,
    options: ModelOptions,
    embed: EmbedWith<E>,
  ): Promise<Opened<E>>;
  /** engine: for its files only; it may be in a worker. */
  prepare(
    args: readonly unknown[],
    engine: Pick<TaskEngine, 'files' | 'chatTemplates'>,
  ): Call<Item, Options, Result> | Promise<Call<Item, Options, Result>>;
  /** One result per item. */
  run(engine: TaskEngine, items: readonly Item[], options: Options, context: Context): Promise<Result[]>;
  /** Further members of the pipeline. */
  extend?(pipe: (...args: unknown[]) => Promise<unknown>, engine: RunningEngine): object;
}

/** The part of an engine, maybe in workers, that the caller's side of a task uses. */
export interface RunningEngine {
  readonly info: ModelInfo;
  readonly files: readonly NamedBytes[];
  chatTemplates?: () => ChatTemplates | null;
  readonly adapters?: { active: string | false };
  run(
    task: string,
    items: readonly unknown[],
    options: unknown,
    signal: AbortSignalLike | undefined,
    onPiece?: OnPiece,
  ): Promise<unknown[]>;
}

export type TaskLoader = (name: string) => Promise<Task>;

let loadTask: TaskLoader | undefined;

/** Registers the tasks, as the engine imports none. */
export function useTasks(load: TaskLoader): void {
  loadTask = load;
}

export async function runTask(
  engine: TaskEngine,
  name: string,
  items: readonly unknown[],
  options: unknown,
  context: Context,
): Promise<unknown[]> {
  const task = await loadTask!(name);
  const own = ownCopy(options);
  return task.run(await adapted(engine, own), items, own, context);
}

/** The engine with the adapter that a call's options name; pipelines and models name the active one. */
export async function adapted<E extends object>(engine: E, options: unknown): Promise<E> {
  const { adapter } = options as { adapter?: string | false | null };
  return adapter === undefined || adapter === null ? engine : (await import('./adapters.js')).using(engine, adapter);
}

/** Options of every task. */
const kTextRules: Rules = {
  adapter: 'any',
  max_length: 'count',
  on_overflow: ['truncate', 'error'],
  split_special_tokens: 'boolean',
  signal: 'signal',
};

export type TextOptions = Omit<TaskTextOptions, 'signal'>;

/** The options of a call that are set, without the signal, which cannot be sent to workers. own: all as they were given, null included. */
export function takeOptions<O extends { signal?: AbortSignalLike | undefined }>(
  where: string,
  given: unknown,
  rules: Rules,
): { options: Omit<O, 'signal'>; signal: AbortSignalLike | undefined; own: O } {
  const own = readOptions(where, given, { ...rules, ...kTextRules }) as O;
  const { signal, ...rest } = own;
  const options = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined && value !== null));
  return { options: ownCopy(options) as Omit<O, 'signal'>, signal: signal ?? undefined, own };
}

/** The value of top_k; null and Infinity mean all. */
export function takeTopK(where: string, options: unknown, fallback: number): number {
  const { top_k, topk } = (options ?? {}) as { top_k?: unknown; topk?: unknown }; // topk: as in transformers.js
  const value = top_k === undefined ? topk : top_k;
  if (value === undefined) return fallback;
  if (value === null || value === Infinity) return Infinity;
  if (Number.isInteger(value) && (value as number) >= 1) return value as number;
  throw new InputError(`${where}: option 'top_k': expected a whole number from 1 on, or null for all, found ${describe(value)}`);
}

/** The text length of an item, for splitting a call into jobs. */
export function sizeOf(item: unknown): number {
  if (typeof item === 'string') return item.length;
  if (typeof item !== 'object' || item === null) return 0;
  if (ArrayBuffer.isView(item)) return (item as Int32Array).length;
  return Object.values(item).reduce((sum: number, value) => sum + sizeOf(value), 0);
}

export function toSeamOptions(options: TextOptions, more: SeamPredictOptions = {}): SeamPredictOptions {
  const { max_length, split_special_tokens } = options;
  return ownCopy({
    ...(max_length !== undefined && { max_length }),
    ...(split_special_tokens !== undefined && { split_special_tokens }),
    ...more,
  });
}

const waiting = new WeakMap<TaskEngine, Promise<unknown>>();

/** Runs after all earlier calls of this engine have ended, because a model has one set of slots. */
export async function alone<T>(engine: TaskEngine, run: () => Promise<T>): Promise<T> {
  const key = engine.whole ?? engine;
  const before = waiting.get(key);
  const own = (async () => {
    await before?.catch(() => {});
    return run();
  })();
  waiting.set(key, own);
  return own;
}
