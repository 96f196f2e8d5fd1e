// Logistic regression and calibration, in WebAssembly (src/learn), in steps of about 10 ms.
import type { NnHost } from '../../host/nn_types.js';
import type { Breathe, Data, Layer, Tick } from './network.js';
import type { Judged } from './report.js';

export interface LogisticOptions {
  max_iterations: number;
  /** Bound on each component of the gradient of the mean loss. */
  tolerance: number;
}

const made = <T>(handle: T) => ({ code: 0, message: '', handle });

/** Examples, of which any number of fits can be made. */
export class Logistic {
  private readonly handle;

  constructor(
    private readonly host: NnHost,
    private readonly data: Data,
    private readonly options: LogisticOptions,
  ) {
    this.handle = host.call((seam) => made(new seam.Logistic())).handle;
    host.call(() => this.handle.make(Float32Array.from(data.vectors), data.labels, data.num_labels));
  }

  /** weights: of the examples; those with weight 0 are held out. start: parameters of another fit. Returns the parameters. */
  async fit(weights: Float64Array, C: number, start: Float64Array | null, tick: Tick): Promise<Float64Array> {
    const { max_iterations, tolerance } = this.options;
    this.host.call(() => this.handle.begin(weights, C, start));
    for (let goesOn = true; goesOn;) {
      const { more, iterations, loss } = this.host.call(() => this.handle.step(tolerance));
      goesOn = more && iterations < max_iterations;
      await tick(Math.min(iterations, max_iterations), max_iterations, loss);
    }
    return this.host.call(() => this.handle.parameters()).parameters;
  }

  /** The logits of all examples by the last fit: [count, labels]. */
  async logits(breathe: Breathe): Promise<Float32Array> {
    const { labels, num_labels } = this.data;
    const out = new Float32Array(labels.length * num_labels);
    for (let at = 0; at < out.length;) {
      const { logits } = this.host.call(() => this.handle.logits(at / num_labels));
      out.set(logits, at);
      at += logits.length;
      await breathe();
    }
    return out;
  }

  toLayer(parameters: Float64Array): Layer {
    const { dim, num_labels } = this.data;
    const weight = new Float64Array(num_labels * dim);
    for (let j = 0; j < num_labels; ++j) {
      for (let k = 0; k < dim; ++k) weight[j * dim + k] = parameters[k * num_labels + j] as number;
    }
    return { weight, bias: parameters.slice(dim * num_labels) };
  }
}

/** The temperature by which logits are divided, and the mean loss then. */
export async function calibrate(host: NnHost, { logits, labels }: Judged, breathe: Breathe) {
  const { handle } = host.call((seam) => made(new seam.Calibration()));
  try {
    host.call(() => handle.make(logits, labels));
    for (;;) {
      const { more, temperature, loss } = host.call(() => handle.step());
      if (!more) return { temperature, loss };
      await breathe();
    }
  } finally {
    if (host.isOpen) handle.delete();
  }
}
