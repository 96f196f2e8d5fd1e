// In wattn/inline in place of worker_scripts.ts: the scripts as parts of this one.
import { scripts } from './inline_files.js';
import type { WorkerKind } from './worker_port.js';

export function makeWorker(kind: WorkerKind): Worker {
  const url = URL.createObjectURL(new Blob([scripts[kind]], { type: 'text/javascript' }));
  try {
    return new Worker(url, { type: 'module' });
  } finally {
    setTimeout(() => URL.revokeObjectURL(url), 60_000); // once it is read
  }
}
