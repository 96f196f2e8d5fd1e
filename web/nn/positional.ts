// Positional encodings: tables to add, biases and factors for scores, rotations.
import { checkOptions } from '../core/options.js';
import { callFunction, type Tensor as NnTensor } from './tensor.js';
import type { Tensor } from '../core/tensor.js';

type F32 = NnTensor;
interface Lengths {
  queries: number;
  /** Default: `queries`. */
  keys?: number;
  /** Keys before the first query, as in decoding with a cache. */
  past?: number;
}
const kLengths = ['queries', 'keys', 'past'];
interface T5 {
  bidirectional?: boolean;
  num_buckets?: number;
  max_distance?: number;
}
const kT5 = [...kLengths, 'bidirectional', 'num_buckets', 'max_distance'];

/**
 * `[length, dim]`. `'vaswani'` (arXiv 1706.03762): `sin(p / 10000^(2i/d))` in column 2i and its cosine in column 2i + 1. `'notes'`: for
 * even column i, `sin(p / 10000^(2i/d))` in column i and `cos(p / 10000^(2(i+1)/d))` in column i + 1.
 */
export const sinusoidal = (options: { length: number; dim: number; form?: 'vaswani' | 'notes'; base?: number }): F32 =>
  callFunction('sinusoidal', {}, options, ['length', 'dim', 'form', 'base']).output;
/** The key's position minus the query's, for each pair: `[queries, keys]`. */
export const relative_offsets = (options: Lengths): F32 => callFunction('relative_offsets', {}, options, kLengths).output;
/** One number for each offset from `table [2r - 1]` (or `[2r - 1, heads]`), to add to or multiply with the scores; arXiv 1803.02155. */
export const relative_bias = (table: Tensor, options: Lengths): F32 =>
  callFunction('relative_bias', { table }, options, kLengths).output;
/** The second term of `q (k + p)`: `[..., queries, d]`, table `[2r - 1, d]` -> `[..., queries, keys]`, not scaled; arXiv 1803.02155. */
export const relative_scores = (query: Tensor, table: Tensor, options: { keys?: number; past?: number } = {}): F32 =>
  callFunction('relative_scores', { query, table }, options, ['keys', 'past']).output;
/** T5's bucket of each offset: `[queries, keys]`; arXiv 1910.10683. */
export const t5_buckets = (options: Lengths & T5): F32 => callFunction('t5_buckets', {}, options, kT5).output;
/** `table [num_buckets, heads]` -> `[heads, queries, keys]`, to add to the scores. */
export const t5_bias = (table: Tensor, options: Lengths & T5): F32 => callFunction('t5_bias', { table }, options, kT5).output;
/** ALiBi's slope of each head; arXiv 2108.12409. */
export const alibi_slopes = (heads: number): F32 => callFunction('alibi_slopes', {}, { heads }, ['heads']).output;
/** `-slope |key - query|`: `[heads, queries, keys]`, to add to the scores. */
export const alibi_bias = (heads: number, options: Lengths): F32 => {
  checkOptions('nn.alibi_bias', options, kLengths);
  return callFunction('alibi_bias', {}, { ...options, heads }, ['heads', ...kLengths]).output;
};
/**
 * Rotates pairs of components of `[..., seq, d]` by position * base^(-2i/d); arXiv 2104.09864. Pairs are (i, i + d/2), or (2i, 2i + 1)
 * with `interleaved`. `first`: position of the first row.
 */
export const rotary = (input: Tensor, options: { base?: number; interleaved?: boolean; first?: number } = {}): F32 =>
  callFunction('rotary', { input }, options, ['base', 'interleaved', 'first']).output;
