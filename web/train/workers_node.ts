// Node's worker of a Trainer, used instead of workers.ts.
import { Worker } from 'worker_threads';
import { handleOf, ownWorker } from '../host/workers_node.js';

export const startTrainer = () =>
  handleOf(() =>
    ownWorker('wattn-train-worker.mjs', () => new Worker(new URL('./wattn-train-worker.mjs', import.meta.url), { execArgv: [] })),
  );
