// Node's worker of a Trainer, used instead of workers.ts.
import { Worker } from 'worker_threads';
import { script } from '../host/inline_train_files.js';
import { evaluatedWorker, handleOf, ownWorker } from '../host/workers_node.js';

/** See host/workers.ts. */
declare const __WATTN_INLINE__: boolean;

export const startTrainer = () =>
  handleOf(() =>
    __WATTN_INLINE__
      ? evaluatedWorker(script)
      : ownWorker(
          'wattn-train-worker.mjs',
          () => new Worker(new URL('./wattn-train-worker.mjs', import.meta.url), { execArgv: [] }),
        ),
  );
