// Long work that can be awaited, watched and ended.
import { onAbort, throwIfAborted } from './signal.js';
import type { AbortSignalLike } from './types.js';

/** Passes on a report. Who awaits it waits for the loop that watches, if there is one. */
export type ReportTo<Report> = (report: Report) => Promise<void>;

/**
 * Work in progress. `await` it for the result, or use `for await` to receive the newest report each time. Leaving the loop early cancels the work.
 * Errors reach both.
 */
export class Progress<Report, Result = void> implements AsyncIterable<Report>, PromiseLike<Result> {
  private readonly controller = new AbortController();
  private readonly work: Promise<Result>;
  private newest: { report: Report } | undefined;
  private wake: (() => void) | undefined;
  private isLooping = false;
  private goOn: (() => void) | undefined;
  private isOver = false;
  private isWatched = false;
  private reports: AsyncGenerator<Report, void> | undefined;

  constructor(run: (report: ReportTo<Report>, signal: AbortSignal) => Promise<Result>, outer?: AbortSignalLike) {
    const { controller } = this;
    const stop = outer && onAbort(outer, () => controller.abort(outer.reason));
    const report = (report: Report) => {
      this.newest = { report };
      this.wake?.();
      return new Promise<void>((resolve) => (this.isLooping ? (this.goOn = resolve) : resolve()));
    };
    this.work = (async () => {
      try {
        throwIfAborted(outer);
        return await run(report, controller.signal);
      } finally {
        stop?.();
        this.isOver = true;
        this.wake?.();
      }
    })();
    // A failure that nobody looks at is reported by the engine, as that of any promise. One that comes at once is older than an `await` of it.
    this.work.catch((error: unknown) => setTimeout(() => void (this.isWatched || Promise.reject(error))));
  }

  then<A = Result, B = never>(
    fulfilled?: ((result: Result) => A | PromiseLike<A>) | null,
    rejected?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isWatched = true;
    return this.work.then(fulfilled, rejected);
  }

  /** The same as a promise's `catch`. */
  catch<B = never>(rejected?: ((error: any) => B | PromiseLike<B>) | null): Promise<Result | B> {
    return this.then(undefined, rejected);
  }

  /** The same as a promise's `finally`. */
  finally(run?: (() => void) | null): Promise<Result> {
    return this.then().finally(run);
  }

  /** Cancels the work with an `AbortError`. Finished parts remain. */
  cancel(): void {
    this.controller.abort(new Error('cancelled'));
  }

  /** The next report, for `for await`. */
  next(): Promise<IteratorResult<Report, void>> {
    return (this.reports ??= this[Symbol.asyncIterator]()).next();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Report, void> {
    this.isWatched = this.isLooping = true;
    let ended = false;
    try {
      for (;;) {
        if (this.newest) {
          const { report } = this.newest;
          this.newest = undefined;
          yield report;
          this.goOn?.();
        } else if (this.isOver) {
          ended = true;
          break;
        } else {
          await new Promise<void>((resolve) => (this.wake = resolve));
          this.wake = undefined;
        }
      }
    } finally {
      this.isLooping = false;
      if (!ended) {
        this.cancel();
        this.goOn?.();
        await this.work.catch(() => {});
      }
    }
    await this.work; // throws what it failed with
  }
}
