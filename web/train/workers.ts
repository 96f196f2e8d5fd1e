// The worker of a Trainer. Bundles for Node use workers_node.ts instead. Only who imports Trainer names its script.
import { script } from '../host/inline_train_files.js';
import { blobWorker, handleOf } from '../host/workers.js';

/** See host/workers.ts. */
declare const __WATTN_INLINE__: boolean;

// Bundlers recognise exactly this form and include the file.
export const startTrainer = () =>
  handleOf(() =>
    __WATTN_INLINE__ ? blobWorker(script) : new Worker(new URL('./train_worker.js', import.meta.url), { type: 'module' }),
  );
