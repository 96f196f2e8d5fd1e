// The page's end of the index worker.
import type { Answer, Call, IndexCalls } from './protocol.js';

export type IndexClient = IndexCalls & { end(): void };

export function startIndexWorker(): IndexClient {
  const worker = new Worker(new URL('./index_worker.ts', import.meta.url), { type: 'module' });
  const waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
    const settle = waiting.get(data.id);
    waiting.delete(data.id);
    if ('error' in data) settle?.reject(Object.assign(new Error(data.error.message), { name: data.error.name }));
    else settle?.resolve(data.result as never);
  });
  worker.addEventListener('error', ({ message }) => {
    for (const { reject } of waiting.values()) reject(new Error(message || "the index's worker could not start"));
    waiting.clear();
  });
  const call =
    (name: Call['name']) =>
    (...args: unknown[]) =>
      new Promise<never>((resolve, reject) => {
        waiting.set(++lastId, { resolve, reject });
        worker.postMessage({ id: lastId, name, args } satisfies Call);
      });
  return {
    chunk: call('chunk'),
    arrange: call('arrange'),
    keep: call('keep'),
    restore: call('restore'),
    forget: call('forget'),
    search: call('search'),
    end: () => worker.terminate(),
  };
}
