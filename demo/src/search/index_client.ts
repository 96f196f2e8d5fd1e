// The page's end of an index worker.
import type { Answer, BuildCalls, Call, SearchCalls } from './protocol.js';

export type IndexClient = BuildCalls & SearchCalls & { end(): void };

export function startIndexWorker(): IndexClient {
  const worker = new Worker(new URL('./index_worker.ts', import.meta.url), { type: 'module' });
  const waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  const rejectAll = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
    const settle = waiting.get(data.id);
    waiting.delete(data.id);
    if ('error' in data) settle?.reject(Object.assign(new Error(data.error.message), { name: data.error.name }));
    else settle?.resolve(data.result as never);
  });
  worker.addEventListener('error', ({ message }) => rejectAll(new Error(message || 'the index worker could not start')));
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
    finish: call('finish'),
    keep: call('keep'),
    restore: call('restore'),
    forget: call('forget'),
    search: call('search'),
    end() {
      worker.terminate();
      rejectAll(new Error('the index worker was ended'));
    },
  };
}
