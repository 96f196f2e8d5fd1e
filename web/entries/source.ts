// What loads WebAssembly, and files from a server or a folder, for models and for word vectors (see base.ts).
export * from '../source/fetch_source.js';
export * from '../source/platform.js';
export * from '../host/wasm_loader.js';
