// Worker threads of Node.
import { availableParallelism } from 'node:os';
import { Worker, type Transferable } from 'node:worker_threads';
import type { Workers } from './workers.js';

export const nodeWorkers: Workers = {
  start(kind) {
    const file = kind === 'thread' ? './node_thread.js' : './node_worker.js';
    // Options of the process, such as --input-type, are not meant for our file.
    const worker = new Worker(new URL(file, import.meta.url), { execArgv: [] });
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
