// The worker of a Trainer.
import { serveEngine } from '../engine/serve_engine.js';
import { ownPort } from '../host/workers.js';
import { loadTask } from '../tasks/tasks.js';
import { trainTask } from '../train/train_task.js';

serveEngine(ownPort(), async (name) => (name === 'train' ? trainTask : loadTask(name)));
