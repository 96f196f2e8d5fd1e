// Abortable waiting, and breaks for the event loop.
import { AbortError } from './errors.js';
import type { AbortSignalLike } from './types.js';

export function abortError(signal: AbortSignalLike): AbortError {
  const reason = signal.reason as { message?: unknown } | undefined;
  const why = typeof reason?.message === 'string' && reason.message !== '' ? `: ${reason.message}` : '';
  return new AbortError(`aborted by the caller's signal${why}`, { cause: reason });
}

export function throwIfAborted(signal: AbortSignalLike | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

const listeners = new WeakMap<AbortSignalLike, { all: Set<() => void>; tell: () => void }>();

/** Calls `then` when the signal fires. Returns how to stop that. Each signal gets one listener: Node warns of more than ten. */
export function onAbort(signal: AbortSignalLike, then: () => void): () => void {
  let own = listeners.get(signal);
  if (!own) {
    const all = new Set<() => void>();
    own = { all, tell: () => [...all].forEach((one) => one()) };
    listeners.set(signal, own);
    signal.addEventListener('abort', own.tell, { once: true });
  }
  const { all, tell } = own;
  all.add(then);
  return () => {
    if (!all.delete(then) || all.size > 0) return;
    listeners.delete(signal);
    signal.removeEventListener('abort', tell);
  };
}

/** The promise, or an AbortError if the signal fires first; the promise's result is then ignored. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    const end = () => reject(abortError(signal));
    if (signal.aborted) {
      promise.catch(() => {});
      return end();
    }
    promise.then(resolve, reject).finally(onAbort(signal, end));
  });
}

/** As `Promise.all`, but of several that fail the first in the list tells why, not the first in time. */
export async function allInOrder<T extends readonly unknown[] | []>(work: T): Promise<{ -readonly [i in keyof T]: Awaited<T[i]> }> {
  const all = work.map((one) => Promise.resolve(one));
  for (const one of all) one.catch(() => {}); // those after the first to fail are not awaited
  const results = [];
  for (const one of all) results.push(await one);
  return results as { -readonly [i in keyof T]: Awaited<T[i]> };
}

export function pause(ms: number, signal: AbortSignalLike | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return abortable(over, signal).finally(() => clearTimeout(timer));
}

/** A scope for requests: its signal fires with the caller's signal, and when the scope is closed. */
export class TaskScope {
  private readonly controller = new AbortController();
  private readonly stop: (() => void) | undefined;

  constructor(outer: AbortSignalLike | undefined) {
    const end = () => this.controller.abort(outer?.reason);
    if (outer?.aborted) end();
    else this.stop = outer && onAbort(outer, end);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Aborts all requests in flight and removes the listener on the caller's signal. */
  close(): void {
    this.stop?.();
    this.controller.abort();
  }
}

const kLongestBusyMs = 25;

/** Yields to the event loop if the last yield was long ago, so that pages stay responsive and signals are noticed. */
export class Breather {
  private last = performance.now();

  /** ms: of work between two breaks. */
  constructor(private readonly ms = kLongestBusyMs) {}

  async breathe(signal: AbortSignalLike | undefined): Promise<void> {
    if (performance.now() - this.last > this.ms) {
      await new Promise((resolve) => setTimeout(resolve));
      this.last = performance.now();
    }
    throwIfAborted(signal);
  }
}

/** Splits long work into calls of about `ms` each, so that pages stay responsive and signals are noticed. */
export class Pace {
  private readonly breather = new Breather();
  private begun = false;

  /** count: items of the next call, between least and most, adapted to the time of the last call. */
  constructor(
    private readonly ms: number,
    public count: number,
    private readonly least: number,
    private readonly most: number,
  ) {}

  /** To be awaited before each call; yields to the event loop between calls. */
  async wait(signal: AbortSignalLike | undefined): Promise<void> {
    throwIfAborted(signal);
    if (this.begun) await this.breather.breathe(signal);
    this.begun = true;
  }

  /** items(result): how many items the call processed; 0 leaves the count unchanged. */
  run<T>(call: () => T, items: (result: T) => number): T {
    const start = performance.now();
    const result = call();
    const done = items(result);
    const each = Math.max(performance.now() - start, 1e-3) / done;
    if (done > 0) this.count = Math.max(this.least, Math.min(this.most, Math.round(this.ms / each)));
    return result;
  }
}
