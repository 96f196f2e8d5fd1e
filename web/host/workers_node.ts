// Node's worker threads, used instead of workers.ts.
import { availableParallelism } from 'node:os';
// webpack knows this name of the module, and not node:worker_threads.
import { parentPort, Worker, type Transferable } from 'worker_threads';
import { leadsToFile, ownFile } from '../source/package_files_node.js';
import { scripts } from './inline_files.js';
import type { WorkerHandle, WorkerKind, WorkerPort, Workers } from './worker_port.js';

/** See workers.ts. */
declare const __WATTN_IN_WORKER__: boolean;
declare const __WATTN_INLINE__: boolean;

/**
 * A worker whose script `literal` names in the form that bundlers recognise, or, where nothing was copied for that form, found by its name. What was
 * copied is seen by another file: to ask for the script itself would make a bundler copy it twice.
 */
export function ownWorker(file: string, literal: () => Worker): Worker {
  if (leadsToFile(() => new URL('./wattn-search.wasm', import.meta.url))) return literal();
  return Reflect.construct(Worker, [ownFile(file), { execArgv: [] }]) as Worker; // in no form that bundlers recognise
}

/** A worker whose script is in this one, which may be in a single executable: no file is asked for. */
export const evaluatedWorker = (script: string) => Reflect.construct(Worker, [script, { eval: true, execArgv: [] }]) as Worker;

// Options of the process, such as --input-type, must not apply to the worker. Bundlers include the files of this form.
const makeWorker = (kind: WorkerKind) =>
  __WATTN_INLINE__
    ? evaluatedWorker(scripts[kind])
    : kind === 'thread' || __WATTN_IN_WORKER__
      ? ownWorker('wattn-thread.mjs', () => new Worker(new URL('./wattn-thread.mjs', import.meta.url), { execArgv: [] }))
      : ownWorker('wattn-worker.mjs', () => new Worker(new URL('./wattn-worker.mjs', import.meta.url), { execArgv: [] }));

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
