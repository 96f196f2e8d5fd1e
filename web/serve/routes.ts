// What all routes share: how they are called, and how they read a request.
import type { IncomingHttpHeaders } from 'node:http';
import { readOptions, type Rules } from '../core/options.js';
import { describe } from '../core/errors.js';
import type { Answer } from './batches.js';
import { HttpError, otherModel, wrongRequest, type Dialect } from './http_error.js';
import type { Served, ServedTask } from './models.js';

export interface RouteSettings {
  served: Served;
  /** Whether texts that are too long are cut where a request does not say it. */
  autoTruncate: boolean;
  /** Texts of a request, at most. */
  clientBatch: number;
  /** Requests at a time, at most. */
  concurrent: number;
  /** Tokens of a call of the model, at most. */
  batchTokens: number;
  workers: number;
  pooling: string | undefined;
  version: string;
  /** When the server began, in seconds. */
  created: number;
}

/** The response of a route: JSON, or, given to `stream`, events until the promise ends. undefined: it was taken, and there is nothing to say. */
export type Reply = string | undefined | { stream: (send: (event: string) => void) => Promise<void> };

export interface Route {
  method: 'GET' | 'POST';
  dialect: Dialect;
  /** Throws if the head of a request is wrong. */
  check?(headers: IncomingHttpHeaders): void;
  run(body: unknown, signal: AbortSignal): Promise<Reply> | Reply;
}

/** The members of a request's body that are set. */
export function readBody<T>(dialect: Dialect, path: string, body: unknown, rules: Rules): T {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw wrongRequest(dialect, `${path}: expected a JSON object, found ${describe(body)}`);
  const own = readOptions(path, body, rules) as object;
  return Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null)) as T;
}

/** The served model as one for this task, or the error that names both. */
export function servedAs<Task extends ServedTask>(
  dialect: Dialect,
  path: string,
  served: Served,
  task: Task,
): Extract<Served, { task: Task }> {
  if (served.task === task) return served as Extract<Served, { task: Task }>;
  throw otherModel(
    dialect,
    `${path}: expected a model served for ${task} (--task), found '${served.name}', served for ${served.task}`,
  );
}

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === 'string');

/** One text or several, at most as many as a request may have. */
export function readInputs(dialect: Dialect, name: string, value: unknown, { clientBatch }: RouteSettings): string[] {
  const texts = typeof value === 'string' ? [value] : value;
  if (Array.isArray(value) && value.flat().some((each) => typeof each === 'number'))
    throw wrongRequest(dialect, `${name}: expected texts, found token ids, which are those of another tokenizer than the model's`, name); // prettier-ignore
  if (!isTexts(texts) || texts.length === 0)
    throw wrongRequest(dialect, `${name}: expected a text or a list of texts, found ${Array.isArray(value) && value.length === 0 ? 'an empty list' : describe(value)}`, name); // prettier-ignore
  return limited(dialect, name, texts, clientBatch);
}

export function limited<T>(dialect: Dialect, name: string, list: T[], clientBatch: number): T[] {
  if (list.length <= clientBatch) return list;
  const message = `${name}: expected at most ${clientBatch} texts (--max-client-batch-size), found ${list.length}`;
  throw new HttpError(dialect === 'tei' ? 413 : 400, message, { param: name });
}

/** Throws if a text was cut that must not be. */
export function checkWhole(dialect: Dialect, name: string, answers: readonly Answer<unknown>[], truncate: boolean): void {
  const cut = truncate ? -1 : answers.findIndex(({ truncated }) => truncated);
  if (cut < 0) return;
  const most = (answers[cut] as Answer<unknown>).tokens;
  const where = answers.length > 1 ? `${name}[${cut}]` : name;
  const remedy = dialect === 'tei' ? '"truncate": true or --auto-truncate' : '--auto-truncate';
  throw new HttpError(
    dialect === 'tei' ? 413 : 400,
    `${where}: expected at most ${most} tokens, found more (${remedy} cuts texts)`,
    {
      param: name,
      code: 'context_length_exceeded',
    },
  );
}

export const tokensOf = (answers: readonly Answer<unknown>[]): number => answers.reduce((sum, { tokens }) => sum + tokens, 0);

/** A short decimal that reads back as the same float32. */
function shortened(value: number): number {
  for (const scale of [1e7, 1e8, 1e9, 1e10]) {
    const rounded = Math.round(value * scale) / scale;
    if (Math.fround(rounded) === value) return rounded;
  }
  return value;
}

/** JSON of float32 numbers: by a loop, in a quarter of the time that JSON.stringify takes. */
export function jsonOf(values: Float32Array): string {
  let text = '';
  for (let i = 0; i < values.length; ++i) {
    const value = values[i] as number;
    text += `${i > 0 ? ',' : ''}${Number.isFinite(value) ? shortened(value) : null}`;
  }
  return `[${text}]`;
}
