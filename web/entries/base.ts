// What the entries of the package share. Never shipped by itself: it tells the bundler which code belongs in a file that both the
// models' entry and the building blocks' load, so that a page which takes only one of them loads nothing of the other.
export * from '../core/env.js';
export * from '../core/errors.js';
export * from '../source/fetch_source.js';
export * from '../core/options.js';
export * from '../source/platform.js';
export * from '../host/seam_host.js';
export * from '../core/signal.js';
export * from '../core/tensor.js';
export * from '../core/texts.js';
export * from '../host/wasm_loader.js';
