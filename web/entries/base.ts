// The code that all entries share. It is not shipped by itself. It tells the bundler what belongs in the file that both index and nn_entry
// load, so that a page with only one of them loads nothing of the other.
export * from '../core/answers.js';
export * from '../core/callback.js';
export * from '../core/chunk.js';
export * from '../core/env.js';
export * from '../core/errors.js';
export * from '../core/json.js';
export * from '../core/options.js';
export * from '../host/seam_host.js';
export * from '../core/signal.js';
export * from '../core/tensor.js';
export * from '../core/tensor_base.js';
export * from '../core/texts.js';
