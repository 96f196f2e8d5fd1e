// The scripts of workers as files. Exactly this form, `new Worker(new URL(...))`: bundlers know it, and bring the files along.
import type { WorkerKind } from './worker_port.js';

/** Set by tools/bundle.mjs: whether this is in a worker's script. One that names itself is a circle, on which Turbopack never ends. */
declare const __WATTN_IN_WORKER__: boolean;

export const makeWorker = (kind: WorkerKind): Worker =>
  kind === 'thread' || __WATTN_IN_WORKER__
    ? new Worker(new URL('./thread.js', import.meta.url), { type: 'module' })
    : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
