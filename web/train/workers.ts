// The worker of a Trainer. Bundles for Node use workers_node.ts instead. Only who imports Trainer names its script.
import { handleOf } from '../host/workers.js';

// Bundlers recognise exactly this form and include the file.
export const startTrainer = () => handleOf(() => new Worker(new URL('./train_worker.js', import.meta.url), { type: 'module' }));
