// The page's side of a contender's worker.
import type { Answer, Calls, Contender, Facts, Sizes } from './contender_worker.js';

export interface Running {
  facts: Facts;
  /** From the start of the worker to the first vector. */
  firstVectorMs: number;
  warmUp(texts: string[]): Promise<void>;
  embed(texts: string[]): Promise<Answer>;
  sizes(): Promise<Sizes>;
  stop(): void;
}

/** A fresh worker, the library, the model and one vector. The signal ends the worker at once, whatever it does. */
export async function startContender(contender: Contender, text: string, signal: AbortSignal): Promise<Running> {
  signal.throwIfAborted();
  const start = performance.now();
  const worker = new Worker(new URL('./contender_worker.ts', import.meta.url), { type: 'module' });
  const stop = () => worker.terminate();
  const call = <T>(name: keyof Calls, argument?: unknown) =>
    new Promise<T>((resolve, reject) => {
      const onAbort = () => {
        stop();
        reject(signal.reason as Error);
      };
      const finish = (act: () => void) => {
        signal.removeEventListener('abort', onAbort);
        act();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      worker.onmessage = ({ data }: MessageEvent<{ result: T; error?: string }>) =>
        finish(() => (data.error === undefined ? resolve(data.result) : reject(new Error(data.error))));
      worker.onerror = (event) => finish(() => reject(new Error(event.message || 'The worker script did not load.')));
      worker.postMessage([name, argument]);
    });
  try {
    const facts = await call<Facts>('load', contender);
    await call<Answer>('embed', [text]);
    return {
      facts,
      firstVectorMs: performance.now() - start,
      warmUp: (texts) => call('warmUp', texts),
      embed: (texts) => call('embed', texts),
      sizes: () => call('sizes'),
      stop,
    };
  } catch (error) {
    stop();
    throw error;
  }
}
