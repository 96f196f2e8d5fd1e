/**
 * Positional encodings: tables to add, biases and factors for scores, rotations.
 *
 * @module
 */
import { readOptions } from '../core/options.js';
import { callFunction, type Tensor as NnTensor } from './tensor.js';
import type { TensorBase } from '../core/tensor_base.js';

type F32 = NnTensor;
interface Lengths {
  queries: number;
  /** Default: `queries`. */
  keys?: number;
  /** Number of keys before the first query, as in decoding with a cache. */
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
 * A table of sinusoidal positions, `[length, dim]`. `'vaswani'` (arXiv 1706.03762): `sin(p / 10000^(2i/d))` in column 2i and its cosine in column 2i +
 * 1. `'notes'`: for even column i, `sin(p / 10000^(2i/d))` in column i and `cos(p / 10000^(2(i+1)/d))` in column i + 1.
 *
 * @example
 * nn.positional.sinusoidal({ length: 2, dim: 4 }).tolist(); // => [[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 0.9999]]
 */
export const sinusoidal = (options: { length: number; dim: number; form?: 'vaswani' | 'notes'; base?: number }): F32 =>
  callFunction('sinusoidal', {}, options, ['length', 'dim', 'form', 'base']).output;
/**
 * The key's position minus the query's for each pair: `[queries, keys]`.
 *
 * @example
 * nn.positional.relative_offsets({ queries: 3 }).tolist(); // => [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]
 */
export const relative_offsets = (options: Lengths): F32 => callFunction('relative_offsets', {}, options, kLengths).output;
/**
 * One value per offset from `table [2r - 1]` (or `[2r - 1, heads]`), to add to the scores or multiply with them; arXiv 1803.02155.
 *
 * @example
 * const table = nn.tensor([0, 1, 2, 3, 4]); // of the offsets -2 to 2
 * nn.positional.relative_bias(table, { queries: 3 }).tolist(); // => [[2, 3, 4], [1, 2, 3], [0, 1, 2]]
 */
export const relative_bias = (table: TensorBase, options: Lengths): F32 =>
  callFunction('relative_bias', { table }, options, kLengths).output;
/**
 * The position term of `q (k + p)`: `[..., queries, d]`, table `[2r - 1, d]` -> `[..., queries, keys]`, not scaled; arXiv 1803.02155.
 *
 * @example
 * nn.positional.relative_scores(nn.ones(3, 4), nn.ones(5, 4)).shape; // => [3, 3]
 */
export const relative_scores = (query: TensorBase, table: TensorBase, options: { keys?: number; past?: number } = {}): F32 =>
  callFunction('relative_scores', { query, table }, options, ['keys', 'past']).output;
/**
 * T5's bucket of each offset: `[queries, keys]`; arXiv 1910.10683.
 *
 * @example
 * nn.positional.t5_buckets({ queries: 1, keys: 4 }).tolist(); // => [[0, 17, 18, 19]]
 */
export const t5_buckets = (options: Lengths & T5): F32 => callFunction('t5_buckets', {}, options, kT5).output;
/**
 * T5's position bias, to add to the scores: `table [num_buckets, heads]` -> `[heads, queries, keys]`.
 *
 * @example
 * nn.positional.t5_bias(nn.ones(32, 2), { queries: 3 }).shape; // => [2, 3, 3]
 */
export const t5_bias = (table: TensorBase, options: Lengths & T5): F32 => callFunction('t5_bias', { table }, options, kT5).output;
/**
 * ALiBi's slope of each head; arXiv 2108.12409.
 *
 * @example
 * nn.positional.alibi_slopes(4).tolist(); // => [0.25, 0.0625, 0.0156, 0.0039]
 */
export const alibi_slopes = (heads: number): F32 => callFunction('alibi_slopes', {}, { heads }, ['heads']).output;
/**
 * ALiBi's bias, to add to the scores: `-slope |key - query|`, `[heads, queries, keys]`.
 *
 * @example
 * nn.positional.alibi_bias(2, { queries: 2 }).shape; // => [2, 2, 2]
 */
export const alibi_bias = (heads: number, options: Lengths): F32 => {
  options = readOptions('nn.alibi_bias', options, kLengths);
  return callFunction('alibi_bias', {}, { ...options, heads }, ['heads', ...kLengths]).output;
};
/**
 * Rotates pairs of components of `[..., seq, d]` by position * base^(-2i/d); arXiv 2104.09864. Pairs are (i, i + d/2), or (2i, 2i + 1) with
 * `interleaved`. `first` is the position of the first row.
 *
 * @example
 * nn.positional.rotary(nn.ones(1, 3, 4)).shape; // => [1, 3, 4]
 */
export const rotary = (input: TensorBase, options: { base?: number; interleaved?: boolean; first?: number } = {}): F32 =>
  callFunction('rotary', { input }, options, ['base', 'interleaved', 'first']).output;
