// What a task is made of: the caller's side checks and shapes, the engine's side (maybe in a worker) runs.
import { describe, InputError } from '../core/errors.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { HeadKind, SeamEngineHandle, SeamPredictOptions } from '../host/seam.js';
import type { AbortSignalLike } from '../core/types.js';

/** Text of a prompt as it comes, of tasks that generate. */
export interface Piece {
  piece: string;
  prompt: number;
}
export type OnPiece = (piece: Piece) => void;

/** What a task uses of an Engine. */
export interface TaskEngine {
  readonly files: readonly [name: string, bytes: Uint8Array][];
  call<A extends { code: number; message: string }>(run: (handle: SeamEngineHandle) => A): A;
}

export interface Context {
  /** Number of the first item in the caller's list, for messages: a call may be cut into several. */
  first: number;
  signal: AbortSignalLike | undefined;
  onPiece?: OnPiece | undefined;
}

/** One call, checked. Items and options cross to workers: plain data. */
export interface Call<Item, Options, Result> {
  items: Item[];
  options: Options;
  signal: AbortSignalLike | undefined;
  onPiece?: OnPiece | undefined;
  finish(results: Result[]): unknown;
}

export interface Task<Item = any, Options = any, Result = any> {
  head: HeadKind;
  /** engine: for what its files say; it may be in a worker. */
  prepare(
    args: readonly unknown[],
    engine: Pick<TaskEngine, 'files'>,
  ): Call<Item, Options, Result> | Promise<Call<Item, Options, Result>>;
  /** One result an item. */
  run(engine: TaskEngine, items: readonly Item[], options: Options, context: Context): Promise<Result[]>;
  /** What its pipeline has beside the call. */
  extend?(pipe: (...args: unknown[]) => Promise<unknown>): object;
}

let loadTask: ((name: string) => Promise<Task>) | undefined;

/** Says which tasks there are; entries call it once, so that an engine knows no task by itself. */
export function useTasks(load: (name: string) => Promise<Task>): void {
  loadTask = load;
}

export async function runTask(
  engine: TaskEngine,
  name: string,
  items: readonly unknown[],
  options: unknown,
  context: Context,
): Promise<unknown[]> {
  return (await loadTask!(name)).run(engine, items, options, context);
}

/** Options of every task. */
export const kTextRules: Rules = {
  max_length: 'count',
  on_overflow: ['truncate', 'error'],
  split_special_tokens: 'boolean',
  signal: 'signal',
};

export interface TextOptions {
  max_length?: number | undefined;
  on_overflow?: 'truncate' | 'error' | undefined;
  split_special_tokens?: boolean | undefined;
}

/** Checks the options of a call: those without the signal, which does not cross to workers, and the signal. */
export function takeOptions<O extends { signal?: AbortSignalLike | undefined }>(
  where: string,
  options: unknown,
  rules: Rules,
): { options: Omit<O, 'signal'>; signal: AbortSignalLike | undefined } {
  checkOptions(where, options, { ...rules, ...kTextRules });
  const { signal, ...rest } = (options ?? {}) as O;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined && value !== null));
  return { options: given as Omit<O, 'signal'>, signal: signal ?? undefined };
}

/** top_k: null, like Infinity, asks for all. */
export function takeTopK(where: string, options: unknown, fallback: number): number {
  const value = (options as { top_k?: unknown } | null | undefined)?.top_k;
  if (value === undefined) return fallback;
  if (value === null || value === Infinity) return Infinity;
  if (Number.isInteger(value) && (value as number) >= 1) return value as number;
  throw new InputError(`${where}: option 'top_k': expected a whole number from 1 on, or null for all, found ${describe(value)}`);
}

/** Text lengths of an item, for cutting a call into jobs. */
export function sizeOf(item: unknown): number {
  if (typeof item === 'string') return item.length;
  if (typeof item !== 'object' || item === null) return 0;
  if (ArrayBuffer.isView(item)) return (item as Int32Array).length;
  return Object.values(item).reduce((sum: number, value) => sum + sizeOf(value), 0);
}

export function toSeamOptions(options: TextOptions, more: SeamPredictOptions = {}): SeamPredictOptions {
  const { max_length, split_special_tokens } = options;
  return {
    ...(max_length !== undefined && { max_length }),
    ...(split_special_tokens !== undefined && { split_special_tokens }),
    ...more,
  };
}
