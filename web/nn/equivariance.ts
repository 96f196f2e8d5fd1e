// Helpers that show how a block's output changes when the tokens of its input are permuted.
import { checkAnswer } from '../core/answers.js';
import { readOptions } from '../core/options.js';
import { InputError } from '../core/errors.js';
import { shuffle } from '../core/random.js';
import { permute_rows } from './functional.js';
import { Tensor } from '../core/tensor.js';
import { TensorBase } from '../core/tensor_base.js';

/**
 * A permutation of 0 .. n - 1 from a seed (SplitMix64, Fisher-Yates).
 *
 * @example
 * nn.permutation(5, 1).length; // => 5
 */
export function permutation(n: number, seed = 0): number[] {
  let state = BigInt(seed);
  const mask = (1n << 64n) - 1n;
  const next = () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  };
  const order = Array.from({ length: n }, (_, i) => i);
  shuffle(order, next);
  return order;
}

const isTensor = (value: unknown) => value instanceof TensorBase;
const isIds = (x: TensorBase) => x.type !== 'float32';

/**
 * Reorders the tokens of `x [..., seq, hidden]`, or of ids `[..., seq]` of any integer type.
 *
 * @example
 * nn.permute(nn.tensor([[1, 2], [3, 4]]), [1, 0]).tolist(); // => [[3, 4], [1, 2]]
 */
export function permute(x: TensorBase, order: readonly number[]): TensorBase {
  if (!isIds(x)) return permute_rows(x, new Tensor('float32', order, [order.length]));
  const moved = Array.from(x.data as ArrayLike<number | bigint>, (_, i) => {
    const begin = i - (i % order.length);
    return x.data[begin + (order[i - begin] as number)];
  });
  return new Tensor(x.type, moved as number[], x.dims);
}

function difference(a: TensorBase, b: TensorBase): number {
  if (String(a.dims) !== String(b.dims)) return NaN;
  return (a.data as Float32Array).reduce((most, value, i) => Math.max(most, Math.abs(value - (b.data[i] as number))), 0);
}

/** The result of `equivariance`: whether a function depends on the order of its tokens. */
export interface EquivarianceReport {
  /** The order in which the tokens were put. */
  order: number[];
  /** Largest |f(P x) - P f(x)|: zero up to rounding if f is equivariant. NaN if the output has no tokens. */
  equivariant: number;
  /** Largest |f(P x) - f(x)|: zero up to rounding if f is invariant. */
  invariant: number;
}

/**
 * Runs `f` on `x` (`[..., seq, hidden]`, or ids `[..., seq]`) and on `x` with its tokens permuted, and compares the outputs.
 *
 * @example
 * const attention = new nn.SelfAttention({ k: 8, heads: 2 });
 * nn.equivariance((x) => attention.forward(x), nn.randn(1, 5, 8, { seed: 1 })).equivariant < 1e-5; // => true
 */
export function equivariance(f: (x: TensorBase) => TensorBase, x: TensorBase, options: { seed?: number } = {}): EquivarianceReport {
  options = readOptions('nn.equivariance', options, { seed: 'index' });
  const at = isIds(x) ? x.dims.length - 1 : x.dims.length - 2; // the dimension of tokens
  const seq = x.dims[at];
  if (seq === undefined) {
    throw new InputError(`nn.equivariance: expected an input [.., seq, hidden] or ids [.., seq], found dims [${x.dims}]`);
  }
  const order = permutation(seq, options?.seed ?? 1);
  const ask = (input: TensorBase) => checkAnswer<TensorBase>('nn.equivariance: f', f(input), 'a Tensor', isTensor);
  const plain = ask(x);
  const moved = ask(permute(x, order));
  const has_tokens = plain.dims.length === at + 2 && plain.dims[at] === seq;
  return {
    order,
    equivariant: has_tokens ? difference(moved, permute(plain, order)) : NaN,
    invariant: difference(moved, plain),
  };
}
