/**
 * Tokenizers only, with a small WebAssembly file without models. `wattn` also exports them.
 *
 * @module
 */
export * from './common.js';
export { AutoTokenizer } from '../tokenizer/tokenizer.js';
export type * from '../core/types.js';
export type * from '../source/types.js';
export type * from '../tokenizer/types.js';
