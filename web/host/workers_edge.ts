// Used instead of workers.ts on the edge, which starts no workers.
import { UnsupportedError } from '../core/errors.js';
import type { WorkerHandle, Workers } from './worker_port.js';

export function handleOf(_make: () => unknown): WorkerHandle {
  throw new UnsupportedError("worker: there are no workers on the edge: load the model without the option 'worker'");
}

export const workers: Workers = {
  none: 'there are no workers on the edge',
  start: () => handleOf(() => undefined),
  threads: () => ({ cores: 1, obstacle: 'there are no threads on the edge' }),
};
