// The worker of a Trainer.
import { serveEngine } from '../engine/serve_engine.js';
import { useTasks } from '../engine/task.js';
import { fullFiles } from '../host/wasm_files.js';
import { useWasm, type WasmFiles } from '../host/wasm_loader.js';
import type { SeamModule } from '../host/seam.js';
import { ownPort } from '../host/workers.js';
import { loadTask } from '../tasks/tasks.js';
import { trainTask } from '../train/train_task.js';

useWasm(fullFiles as WasmFiles<SeamModule>);
useTasks(async (name) => (name === 'train' ? trainTask : loadTask(name)));
serveEngine(ownPort());
