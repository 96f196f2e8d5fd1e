/**
 * Small text transformers in the browser and in Node, loaded from their original checkpoints.
 *
 * @module
 */
import { useWasm } from '../host/wasm_loader.js';
import { useTasks } from '../engine/task.js';
import { fullFiles, wasmFiles } from '../host/wasm_files.js';
import { loadTask } from '../tasks/tasks.js';

useWasm(wasmFiles, fullFiles);
useTasks(loadTask);

export * from './common.js';
export { pipeline } from '../tasks/pipeline.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
export * from './api.js';
