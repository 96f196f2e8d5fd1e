// Emscripten's glue code evaluates `buffer instanceof SharedArrayBuffer`, a name that pages without cross-origin isolation do not have.
// tools/bundle.mjs injects this instead.
const Shared = globalThis.SharedArrayBuffer ?? class {};
export { Shared as SharedArrayBuffer };
