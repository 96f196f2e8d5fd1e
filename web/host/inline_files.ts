// Empty, except in wattn/inline: tools/bundle.mjs writes a file in its place with the .wasm files, gzipped and in base64, and the scripts
// of workers.
export const models = '';
export const nn = '';
export const scripts = { engine: '', thread: '' };
