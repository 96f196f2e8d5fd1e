// The Emscripten glue asks `buffer instanceof SharedArrayBuffer`, a name that pages without cross-origin isolation do not have.
// tools/bundle.mjs puts this in its place.
const Shared = globalThis.SharedArrayBuffer ?? class {};
export { Shared as SharedArrayBuffer };
