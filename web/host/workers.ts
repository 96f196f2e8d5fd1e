// How workers are started. The page's way is here; node.ts puts workers_node.ts in its place. Apart from platform.ts, so that
// wattn/tokenizer, which has no workers, does not name their scripts.
import { UnsupportedError } from '../core/errors.js';
import type { WorkerHandle, WorkerKind } from './worker_port.js';
import { makeWorker } from './worker_scripts.js';

export interface Workers {
  /** Starts a worker of ours. */
  start(kind: WorkerKind): WorkerHandle;
  /** Cores to run on, and whether memory can be shared with workers. */
  threads(): { cores: number; sharedMemory: boolean };
}

const pageWorkers: Workers = {
  start(kind) {
    if (typeof Worker !== 'function') throw new UnsupportedError('worker: there are no workers here');
    const worker = makeWorker(kind);
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer as ArrayBuffer[]),
      onMessage: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
      onError: (listener) =>
        worker.addEventListener('error', (event) => {
          event.preventDefault?.();
          listener(new Error(event.message || 'its script could not be loaded'));
        }),
      keepAlive() {},
      end: () => worker.terminate(),
    };
  },
  threads: () => ({
    cores: globalThis.navigator?.hardwareConcurrency ?? 1,
    sharedMemory: globalThis.crossOriginIsolated === true && typeof Worker === 'function',
  }),
};

let current: Workers = pageWorkers;

export const workers = (): Workers => current;

export function useWorkers(own: Workers): void {
  current = own;
}
