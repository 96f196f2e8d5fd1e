// Empty, except in wattn/inline: there tools/bundle.mjs replaces this file by one with the .wasm files (gzipped, in base64) and the worker
// scripts.
export const models = '';
export const nn = '';
export const search = '';
export const constraints = '';
export const scripts = { engine: '', thread: '' };
