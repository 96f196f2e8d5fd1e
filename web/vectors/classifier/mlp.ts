// A multilayer perceptron with one hidden ReLU layer, trained by Adam (arXiv 1412.6980) on shuffled batches.
import { makeRandom, shuffle } from '../../core/random.js';
import { addScaled, applyLayer, softmaxInPlace, type Data, type Layer, type Tick } from './network.js';

interface MlpOptions {
  hidden_size: number;
  epochs: number;
  learning_rate: number;
  weight_decay: number;
  seed: number;
}

const kBatch = 32;
const [kBeta1, kBeta2, kEpsilon] = [0.9, 0.999, 1e-8];

/** Parameters with their gradient and Adam's two moments. */
class Parameters {
  readonly gradient: Float64Array;
  private readonly mean: Float64Array;
  private readonly square: Float64Array;

  constructor(readonly values: Float64Array) {
    [this.gradient, this.mean, this.square] = [0, 1, 2].map(() => new Float64Array(values.length)) as [
      Float64Array,
      Float64Array,
      Float64Array,
    ];
  }

  /** rate: includes Adam's bias correction. */
  step(rate: number, decay: number): void {
    const { values, gradient, mean, square } = this;
    for (let i = 0; i < values.length; ++i) {
      const slope = (gradient[i] as number) + decay * (values[i] as number);
      const m = (mean[i] = kBeta1 * (mean[i] as number) + (1 - kBeta1) * slope);
      const v = (square[i] = kBeta2 * (square[i] as number) + (1 - kBeta2) * slope * slope);
      values[i] = (values[i] as number) - (rate * m) / (Math.sqrt(v) + kEpsilon);
    }
    gradient.fill(0);
  }
}

function glorot(inputs: number, outputs: number, random: () => number): Layer {
  const bound = Math.sqrt(6 / (inputs + outputs));
  return {
    weight: Float64Array.from({ length: inputs * outputs }, () => bound * (2 * random() - 1)),
    bias: new Float64Array(outputs),
  };
}

/** weights: of the examples; those with weight 0 are held out. */
export async function trainMlp(data: Data, weights: Float64Array, options: MlpOptions, tick: Tick): Promise<Layer[]> {
  const { vectors, dim, labels, num_labels } = data;
  const { hidden_size, epochs, learning_rate, weight_decay } = options;
  const random = makeRandom(options.seed);
  const [inner, outer] = [glorot(dim, hidden_size, random), glorot(hidden_size, num_labels, random)];
  const all = [inner.weight, inner.bias, outer.weight, outer.bias].map((values) => new Parameters(values));
  const [innerWeight, innerBias, outerWeight, outerBias] = all as [Parameters, Parameters, Parameters, Parameters];
  const hidden = new Float64Array(hidden_size);
  const z = new Float64Array(num_labels);
  const back = new Float64Array(hidden_size);
  const learn = (i: number, size: number): number => {
    applyLayer(inner, vectors, i * dim, hidden);
    for (let j = 0; j < hidden_size; ++j) hidden[j] = Math.max(0, hidden[j] as number);
    applyLayer(outer, hidden, 0, z);
    const label = labels[i] as number;
    const own = z[label] as number;
    const weight = weights[i] as number;
    const loss = weight * (softmaxInPlace(z) - own);
    z[label] = (z[label] as number) - 1;
    back.fill(0);
    for (let j = 0; j < num_labels; ++j) {
      const factor = (weight * (z[j] as number)) / size;
      addScaled(outerWeight.gradient, j * hidden_size, hidden, 0, hidden_size, factor);
      outerBias.gradient[j] = (outerBias.gradient[j] as number) + factor;
      addScaled(back, 0, outer.weight, j * hidden_size, hidden_size, factor);
    }
    for (let j = 0; j < hidden_size; ++j) {
      if ((hidden[j] as number) <= 0) continue;
      addScaled(innerWeight.gradient, j * dim, vectors, i * dim, dim, back[j] as number);
      innerBias.gradient[j] = (innerBias.gradient[j] as number) + (back[j] as number);
    }
    return loss;
  };
  const order = Int32Array.from(labels, (_, i) => i).filter((i) => (weights[i] as number) > 0);
  let [first, second] = [1, 1];
  for (let epoch = 0; epoch < epochs; ++epoch) {
    shuffle(order, random);
    let loss = 0;
    for (let begin = 0; begin < order.length; begin += kBatch) {
      const batch = order.subarray(begin, begin + kBatch);
      for (const i of batch) loss += learn(i, batch.length);
      [first, second] = [first * kBeta1, second * kBeta2];
      const rate = (learning_rate * Math.sqrt(1 - second)) / (1 - first);
      innerWeight.step(rate, weight_decay);
      outerWeight.step(rate, weight_decay);
      innerBias.step(rate, 0);
      outerBias.step(rate, 0);
      await tick(epoch, epochs, loss / (begin + batch.length));
    }
  }
  return [inner, outer];
}
