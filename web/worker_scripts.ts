// The scripts of workers as files. Exactly this form, `new Worker(new URL(...))`: bundlers know it, and bring the files along.
import type { WorkerKind } from './worker_port.js';

export const makeWorker = (kind: WorkerKind): Worker =>
  kind === 'thread'
    ? new Worker(new URL('./thread.js', import.meta.url), { type: 'module' })
    : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
