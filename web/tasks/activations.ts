// torch.nn's activations without arguments, of one score: what a cross-encoder's files may name. A module that trains (dropout of RReLU) runs
// as in evaluation, except that torch makes RReLU anew, in training: it draws random numbers and is not here.
import { exp, sigmoid } from '../core/scores.js';

const softplus = (x: number) => (x > 20 ? x : Math.log1p(Math.exp(x)));
const tanh = Math.tanh;
const clamp = (x: number, low: number, high: number) => Math.min(Math.max(x, low), high);
const elu = (x: number) => (x > 0 ? x : Math.expm1(x));
/** Beyond so much, nothing or all is left (Hardshrink, Softshrink). */
const kShrink = 0.5;

/** The error function by a series of positive terms, which converges everywhere and loses no digits. */
function erf(x: number): number {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  let term = size;
  let sum = size;
  for (let n = 1; term > sum * 1e-17; ++n) sum += term *= (2 * size * size) / (2 * n + 1);
  return (Math.sign(x) * 2 * exp(-size * size) * sum) / Math.sqrt(Math.PI);
}

/** Softmax and its kin are over the labels, of which there is one. */
export const kActivations: Readonly<Record<string, (logit: number) => number>> = {
  Identity: (x) => x,
  Sigmoid: sigmoid,
  Tanh: tanh,
  ReLU: (x) => Math.max(x, 0),
  ReLU6: (x) => clamp(x, 0, 6),
  LeakyReLU: (x) => (x > 0 ? x : 0.01 * x),
  PReLU: (x) => (x > 0 ? x : 0.25 * x),
  ELU: elu,
  CELU: elu,
  SELU: (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
  GELU: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  SiLU: (x) => x * sigmoid(x),
  Mish: (x) => x * tanh(softplus(x)),
  Hardtanh: (x) => clamp(x, -1, 1),
  Hardsigmoid: (x) => clamp(x + 3, 0, 6) / 6,
  Hardswish: (x) => (x * clamp(x + 3, 0, 6)) / 6,
  Hardshrink: (x) => (Math.abs(x) > kShrink ? x : 0),
  Softshrink: (x) => (Math.abs(x) > kShrink ? x - Math.sign(x) * kShrink : 0),
  Tanhshrink: (x) => x - tanh(x),
  LogSigmoid: (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
  Softplus: softplus,
  Softsign: (x) => x / (1 + Math.abs(x)),
  Softmax: () => 1,
  Softmin: () => 1,
  LogSoftmax: () => 0,
};
