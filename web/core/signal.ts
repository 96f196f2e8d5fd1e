// Waiting that can be given up, and breaks for the event loop.
import { AbortError } from './errors.js';
import type { AbortSignalLike } from './types.js';

export function abortError(signal: AbortSignalLike): AbortError {
  const reason = signal.reason as { message?: unknown } | undefined;
  const said = typeof reason?.message === 'string' && reason.message !== '' ? `: ${reason.message}` : '';
  return new AbortError(`aborted by the caller's signal${said}`, { cause: reason });
}

export function throwIfAborted(signal: AbortSignalLike | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

/** promise, or an AbortError at once when the signal fires first (promise then goes on unheard). */
export function abortable<T>(promise: Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(abortError(signal));
    if (signal.aborted) {
      promise.catch(() => {});
      return onAbort();
    }
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

export const pause = (ms: number, signal: AbortSignalLike | undefined): Promise<void> =>
  abortable(new Promise((resolve) => setTimeout(resolve, ms)), signal);

/** A task of its own under the caller's signal: stop() ends what it started, released() lets go of the caller's signal. */
export class TaskScope {
  private readonly controller = new AbortController();
  private readonly onAbort = () => this.controller.abort(this.outer?.reason);

  constructor(private readonly outer: AbortSignalLike | undefined) {
    if (outer?.aborted) this.onAbort();
    outer?.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends every request that still runs, and lets go of the caller's signal. */
  close(): void {
    this.outer?.removeEventListener('abort', this.onAbort);
    this.controller.abort();
  }
}

const kLongestBusyMs = 40;

/** Gives the event loop a turn when the last one was long ago, so that pages stay alive and signals are seen. */
export class Breather {
  private last = performance.now();

  async breathe(signal: AbortSignalLike | undefined): Promise<void> {
    if (performance.now() - this.last > kLongestBusyMs) {
      await new Promise((resolve) => setTimeout(resolve));
      this.last = performance.now();
    }
    throwIfAborted(signal);
  }
}

/** Cuts long work into crossings that take about `ms` each, so that a page stays responsive and a signal is noticed. */
export class Pace {
  private readonly breather = new Breather();
  private begun = false;

  /** count: items of the next crossing, between least and most; it follows the time that the last one took. */
  constructor(
    private readonly ms: number,
    public count: number,
    private readonly least: number,
    private readonly most: number,
  ) {}

  /** Before each crossing; between two of them the event loop may have a turn. */
  async wait(signal: AbortSignalLike | undefined): Promise<void> {
    throwIfAborted(signal);
    if (this.begun) await this.breather.breathe(signal);
    this.begun = true;
  }

  /** items(result): how many items the crossing took; 0 leaves the count as it is. */
  run<T>(crossing: () => T, items: (result: T) => number): T {
    const start = performance.now();
    const result = crossing();
    const done = items(result);
    const each = Math.max(performance.now() - start, 1e-3) / done;
    if (done > 0) this.count = Math.max(this.least, Math.min(this.most, Math.round(this.ms / each)));
    return result;
  }
}
