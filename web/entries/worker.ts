// The worker of worker mode.
import { serveEngine } from '../engine/serve_engine.js';
import { useTasks } from '../engine/task.js';
import { fullFiles, wasmFiles } from '../host/wasm_files.js';
import { useWasm } from '../host/wasm_loader.js';
import { ownPort } from '../host/workers.js';
import { loadTask } from '../tasks/tasks.js';

useWasm(wasmFiles, fullFiles);
useTasks(loadTask);
serveEngine(ownPort());
