// Globals that jsdom lacks when Jest runs the CommonJS bundle in it. tools/bundle.mjs injects them there.
export { Blob } from 'node:buffer';
export { TextDecoder, TextEncoder } from 'node:util';
