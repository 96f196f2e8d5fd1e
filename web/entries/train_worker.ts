// The worker of a Trainer.
import { serveEngine } from '../engine/serve_engine.js';
import { useTasks } from '../engine/task.js';
import { useWasm } from '../host/wasm_loader.js';
import { ownPort } from '../host/workers.js';
import { loadTask } from '../tasks/tasks.js';
import { trainFiles } from '../train/train_files.js';
import { trainTask } from '../train/train_task.js';

useWasm(trainFiles);
useTasks(async (name) => (name === 'train' ? trainTask : loadTask(name)));
serveEngine(ownPort());
