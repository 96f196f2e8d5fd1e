// Node's worker of a Trainer, used instead of workers.ts.
import { Worker } from 'node:worker_threads';
import { handleOf } from '../host/workers_node.js';

// Options of the process, such as --input-type, must not apply to the worker.
export const startTrainer = () => handleOf(() => new Worker(new URL('./node_train_worker.js', import.meta.url), { execArgv: [] }));
