// What the entries of the package share. Never shipped by itself: it tells the bundler which code belongs in a file that both the
// models' entry and the building blocks' load, so that a page which takes only one of them loads nothing of the other.
export * from './env.js';
export * from './errors.js';
export * from './fetch_source.js';
export * from './options.js';
export * from './platform.js';
export * from './seam_host.js';
export * from './signal.js';
export * from './tensor.js';
export * from './texts.js';
export * from './wasm_loader.js';
