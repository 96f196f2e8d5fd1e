// Worker threads of Node.
import { availableParallelism } from 'node:os';
import { Worker, type Transferable } from 'node:worker_threads';
import type { WorkerKind } from './worker_port.js';
import type { Workers } from './workers.js';

/** See worker_scripts.ts. */
declare const __WATTN_IN_WORKER__: boolean;

// Options of the process, such as --input-type, are not meant for our file.
const makeWorker = (kind: WorkerKind) =>
  kind === 'thread' || __WATTN_IN_WORKER__
    ? new Worker(new URL('./node_thread.js', import.meta.url), { execArgv: [] })
    : new Worker(new URL('./node_worker.js', import.meta.url), { execArgv: [] });

export const nodeWorkers: Workers = {
  start(kind) {
    const worker = makeWorker(kind);
    const keepAlive = (keep: boolean) => (keep ? worker.ref() : worker.unref());
    keepAlive(false);
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer as Transferable[]),
      onMessage(listener) {
        worker.on('message', listener);
        keepAlive(false); // listening keeps it alive
      },
      onError: (listener) => worker.on('error', listener),
      keepAlive,
      end: () => void worker.terminate(),
    };
  },
  threads: () => ({ cores: availableParallelism(), sharedMemory: true }),
};
