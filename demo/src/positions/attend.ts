// Attention over words that are drawn at random (the same word, the same vector), with one way or another to tell positions.
import { nn, Tensor, type TensorBase } from 'wattn/nn';

export const kKinds = [
  ['none', 'None'],
  ['sinusoidal', 'Sinusoidal'],
  ['learned', 'Learned'],
  ['rotary', 'Rotary'],
  ['alibi', 'ALiBi'],
] as const;

export type Kind = (typeof kKinds)[number][0];

export const kWhat: Record<Kind, string> = {
  none: 'Attention alone sees a set of words.',
  sinusoidal: 'Sines and cosines of its position are added to each word.',
  learned: 'A vector for its position is added to each word, from a learned table. Here the table is random.',
  rotary: 'Queries and keys are rotated by their positions, so that only distances count (a relative encoding).',
  alibi: 'The farther apart two words are, the lower their score (a relative encoding).',
};

const kDim = 32;
const kWords = 64;
const kSize = 0.5; // of a component: larger ones make softmax so sharp that each word sees only itself

const { functional, positional } = nn;

/** [words, dim]: vectors that depend on nothing but the word. */
export function vectorsOf(words: readonly string[]): TensorBase<'float32'> {
  const known = [...new Set(words.map((word) => word.toLowerCase()))];
  return rowsOf(
    words.map((word) => known.indexOf(word.toLowerCase()) % kWords),
    7,
  );
}

/** Rows of a random table, [ids, dim]. */
function rowsOf(ids: readonly number[], seed: number): TensorBase<'float32'> {
  nn.manual_seed(seed);
  const table = new nn.Embedding(kWords, kDim);
  return functional.mul(table.forward(new Tensor('int32', ids, [ids.length])), new Tensor('float32', [kSize], [1]));
}

/** Output [seq, dim] and weights [seq, seq] of attention of x to itself. Positions are those of the order that x has now. */
export function attend(x: TensorBase, kind: Kind): [output: TensorBase<'float32'>, weights: TensorBase<'float32'>] {
  const [seq, dim] = x.dims as [number, number];
  const run = (queries: TensorBase, keys: TensorBase, values: TensorBase, attn_mask?: TensorBase) =>
    functional.scaled_dot_product_attention(queries, keys, values, { need_weights: true, ...(attn_mask && { attn_mask }) });
  if (kind === 'sinusoidal' || kind === 'learned') {
    const places = Array.from({ length: seq }, (_, i) => i);
    const placed = functional.add(x, kind === 'learned' ? rowsOf(places, 11) : positional.sinusoidal({ length: seq, dim }));
    return run(placed, placed, placed);
  }
  if (kind === 'rotary') {
    const turned = positional.rotary(x);
    return run(turned, turned, x);
  }
  if (kind === 'alibi') return run(x, x, x, positional.alibi_bias(1, { queries: seq }).reshape(seq, seq));
  return run(x, x, x);
}

export interface Moved {
  /** Weights of the words as they were written, and of those in the other order, [seq, seq] each. */
  before: TensorBase<'float32'>;
  after: TensorBase<'float32'>;
  /** Largest |f(P x) - P f(x)|: how much the words' vectors change when only their order does. */
  change: number;
}

/** order[i]: which word stands at place i. */
export function move(words: readonly string[], order: readonly number[], kind: Kind): Moved {
  const x = vectorsOf(words);
  const moved = nn.permute(x, order);
  const [output, before] = attend(x, kind);
  const [outputAfter, after] = attend(moved, kind);
  const expected = nn.permute(output, order).data;
  const change = outputAfter.data.reduce((most, value, i) => Math.max(most, Math.abs(value - (expected[i] as number))), 0);
  return { before, after, change };
}
