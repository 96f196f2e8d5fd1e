// What jsdom leaves out of the globals, where Jest runs the CommonJS file in it; tools/bundle.mjs puts this in their place there.
export { Blob } from 'node:buffer';
export { TextDecoder, TextEncoder } from 'node:util';
