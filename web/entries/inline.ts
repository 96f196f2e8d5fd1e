// wattn/inline: the whole library with its WebAssembly inside and in one piece, without import(): for a service worker, a bundle that has to
// be one file, a place that serves no .wasm. tools/bundle.mjs puts wasm_files_inline.ts in the place of wasm_files.ts.
export * from './index.js';
