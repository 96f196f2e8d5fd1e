/**
 * Only `Trainer`, which fine-tunes a loaded model.
 *
 * @module
 */
import { useTasks } from '../engine/task.js';
import { fullFiles, wasmFiles } from '../host/wasm_files.js';
import { useWasm } from '../host/wasm_loader.js';
import { loadTask } from '../tasks/tasks.js';

useWasm(wasmFiles, fullFiles);
useTasks(loadTask);

export * from './common.js';
export { Trainer } from '../train/trainer.js';
export type * from '../train/types.js';
