/**
 * Counts tokens and does nothing else: 21 kB of code in addition to the WebAssembly of `wattn/tokenizer`.
 *
 * @module
 */
export {
  AbortError,
  IncompleteError,
  InputError,
  ModelFormatError,
  NetworkError,
  OutOfMemoryError,
  StateError,
  UnsupportedError,
  WattnError,
} from '../core/errors.js';
export { env } from '../core/env.js';
export { loadCounter, type TokenCounter } from '../tokenizer/counter.js';
export type { CountOptions } from '../tokenizer/types.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
