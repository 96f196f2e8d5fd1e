// Node's worker threads, used instead of workers.ts.
import { availableParallelism } from 'node:os';
import { parentPort, Worker, type Transferable } from 'node:worker_threads';
import type { WorkerHandle, WorkerKind, WorkerPort, Workers } from './worker_port.js';

/** See workers.ts. */
declare const __WATTN_IN_WORKER__: boolean;

// Options of the process, such as --input-type, must not apply to the worker.
const makeWorker = (kind: WorkerKind) =>
  kind === 'thread' || __WATTN_IN_WORKER__
    ? new Worker(new URL('./node_thread.js', import.meta.url), { execArgv: [] })
    : new Worker(new URL('./node_worker.js', import.meta.url), { execArgv: [] });

/** The starter's side of a worker that `make` makes. */
export function handleOf(make: () => Worker): WorkerHandle {
  const worker = make();
  const keepAlive = (keep: boolean) => (keep ? worker.ref() : worker.unref());
  keepAlive(false);
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer as Transferable[]),
    onMessage(listener) {
      worker.on('message', listener);
      keepAlive(false); // a listener keeps the process alive
    },
    onError(listener) {
      worker.on('error', listener);
      worker.on('messageerror', listener);
      worker.on('exit', (code) => listener(new Error(`it ended with exit code ${code}`))); // also after end()
    },
    keepAlive,
    end: () => void worker.terminate(),
  };
}

export const workers: Workers = {
  start: (kind) => handleOf(() => makeWorker(kind)),
  threads: () => ({ cores: availableParallelism(), obstacle: undefined }),
};

/** Called inside a worker: its side. */
export const ownPort = (): WorkerPort => ({
  post: (message, transfer = []) => parentPort?.postMessage(message, transfer as Transferable[]),
  onMessage: (listener) => parentPort?.on('message', listener),
});
