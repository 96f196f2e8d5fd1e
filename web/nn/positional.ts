// Positional encodings: tables to add, biases and factors for scores, rotations.
import { callFunction } from '../host/nn_seam.js';
import type { Tensor } from '../core/tensor.js';

type F32 = Tensor<'float32'>;
interface Lengths {
  queries: number;
  /** Default: `queries`. */
  keys?: number;
  /** Keys before the first query, as in decoding with a cache. */
  past?: number;
}
interface T5 {
  bidirectional?: boolean;
  num_buckets?: number;
  max_distance?: number;
}

/**
 * `[length, dim]`. `'vaswani'` (arXiv 1706.03762): `sin(p / 10000^(2i/d))` in column 2i and its cosine in column 2i + 1. `'notes'`: for
 * even column i, `sin(p / 10000^(2i/d))` in column i and `cos(p / 10000^(2(i+1)/d))` in column i + 1.
 */
export const sinusoidal = (options: { length: number; dim: number; form?: 'vaswani' | 'notes'; base?: number }): F32 =>
  callFunction('sinusoidal', {}, options).output;
/** Key - query for each pair: `[queries, keys]`. */
export const relative_offsets = (options: Lengths): F32 => callFunction('relative_offsets', {}, { ...options }).output;
/** One number for each offset from `table [2r - 1]` (or `[2r - 1, heads]`), to add to the scores or multiply them with; arXiv 1803.02155. */
export const relative_bias = (table: Tensor, options: Lengths): F32 =>
  callFunction('relative_bias', { table }, { ...options }).output;
/** The second part of `q (k + pi)`: `[..., queries, d]`, table `[2r - 1, d]` -> `[..., queries, keys]`, not scaled; arXiv 1803.02155. */
export const relative_scores = (query: Tensor, table: Tensor, options: { keys?: number; past?: number } = {}): F32 =>
  callFunction('relative_scores', { query, table }, options).output;
/** T5's bucket of each offset: `[queries, keys]`; arXiv 1910.10683. */
export const t5_buckets = (options: Lengths & T5): F32 => callFunction('t5_buckets', {}, { ...options }).output;
/** `table [num_buckets, heads]` -> `[heads, queries, keys]`, to add to the scores. */
export const t5_bias = (table: Tensor, options: Lengths & T5): F32 => callFunction('t5_bias', { table }, { ...options }).output;
/** ALiBi's slope of each head; arXiv 2108.12409. */
export const alibi_slopes = (heads: number): F32 => callFunction('alibi_slopes', {}, { heads }).output;
/** `-slope |key - query|`: `[heads, queries, keys]`, to add to the scores. */
export const alibi_bias = (heads: number, options: Lengths): F32 => callFunction('alibi_bias', {}, { heads, ...options }).output;
/**
 * Turns pairs of `[..., seq, d]` by position * base^(-2i/d); arXiv 2104.09864. Pairs are (i, i + d/2), or (2i, 2i + 1) where
 * `interleaved`. `first`: position of the first row.
 */
export const rotary = (input: Tensor, options: { base?: number; interleaved?: boolean; first?: number } = {}): F32 =>
  callFunction('rotary', { input }, options).output;
