// What every page with a `pipeline` loads at once. Like base.ts it is not shipped by itself: it tells the bundler what belongs in one file.
export * from '../engine/task.js';
export * from '../host/own_files.js';
export * from '../host/wasm_files.js';
export * from '../tasks/pipeline.js';
export * from '../tasks/tasks.js';
