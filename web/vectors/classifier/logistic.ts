// Logistic regression. It minimises the objective of scikit-learn's LogisticRegression: C times the sum of the losses plus half the squared
// weights, without biases. Two labels share one weight vector; more labels have one each.
import { exp } from '../../core/scores.js';
import { minimise } from './lbfgs.js';
import { addScaled, dot, softmaxInPlace, type Data, type Layer, type Tick } from './network.js';

interface LogisticOptions {
  C: number;
  max_iterations: number;
  /** Bound on each component of the gradient of the mean loss. */
  tolerance: number;
}

/** Examples per block: their vectors and one row of weights fit into the L1 cache. */
const kBlock = 8;

/** Loss for two labels, from the log-odds of the second; z is replaced by its gradient. */
function binaryLoss(z: Float64Array, label: number): number {
  const odds = z[0] as number;
  const small = exp(-Math.abs(odds));
  const second = odds >= 0 ? 1 / (1 + small) : small / (1 + small);
  z[0] = second - label;
  return Math.max(odds, 0) - odds * label + Math.log(1 + small);
}

function softmaxLoss(z: Float64Array, label: number): number {
  const own = z[label] as number;
  const loss = softmaxInPlace(z) - own;
  z[label] = (z[label] as number) - 1;
  return loss;
}

export async function trainLogistic(data: Data, { C, max_iterations, tolerance }: LogisticOptions, tick: Tick): Promise<Layer[]> {
  const { vectors, dim, labels, weights, num_labels } = data;
  const outputs = num_labels === 2 ? 1 : num_labels;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const loss = num_labels === 2 ? binaryLoss : softmaxLoss;
  const size = outputs * dim; // weights [outputs, dim], then biases
  const z = new Float64Array(kBlock * outputs); // logits of a block, then their gradients
  const objective = (x: Float64Array, gradient: Float64Array): number => {
    gradient.fill(0);
    let sum = 0;
    for (let begin = 0; begin < labels.length; begin += kBlock) {
      const count = Math.min(kBlock, labels.length - begin);
      for (let j = 0; j < outputs; ++j) {
        for (let i = 0; i < count; ++i)
          z[i * outputs + j] = (x[size + j] as number) + dot(x, j * dim, vectors, (begin + i) * dim, dim);
      }
      for (let i = 0; i < count; ++i) {
        const own = z.subarray(i * outputs, (i + 1) * outputs);
        const weight = (weights[begin + i] as number) / total;
        sum += weight * loss(own, labels[begin + i] as number);
        for (let j = 0; j < outputs; ++j) own[j] = weight * (own[j] as number);
      }
      for (let j = 0; j < outputs; ++j) {
        for (let i = 0; i < count; ++i) {
          const factor = z[i * outputs + j] as number;
          addScaled(gradient, j * dim, vectors, (begin + i) * dim, dim, factor);
          gradient[size + j] = (gradient[size + j] as number) + factor;
        }
      }
    }
    const decay = 1 / (C * total);
    addScaled(gradient, 0, x, 0, size, decay);
    return sum + (decay / 2) * dot(x, 0, x, 0, size);
  };
  const x = new Float64Array(size + outputs);
  await minimise(x, objective, { tolerance, iterations: max_iterations }, (done, value) => tick(done, max_iterations, value));
  if (outputs > 1) return [{ weight: x.slice(0, size), bias: x.slice(size) }];
  // As two logits, of which the first is always 0.
  const weight = new Float64Array(2 * dim);
  weight.set(x.subarray(0, size), dim);
  return [{ weight, bias: Float64Array.of(0, x[size] as number) }];
}
