// Derivatives of any metric, by differences of forward passes.
import type { ForwardOptions } from '../../engine/types.js';
import type { Model } from '../../tasks/embed_types.js';
import { kEmbeddings, measureAll, type NamedMetric, type OneText } from './measure.js';

const kStep = 0.005; // of a derivative, relative to the vector: with 0.05, models whose norms divide by little were wrong by half

/**
 * Weights of central differences for offsets 1, 2, ..: exact for polynomials up to degree 8 (Fornberg 1988,
 * doi:10.1090/S0025-5718-1988-0935077-0).
 */
const kStencil = [4 / 5, -1 / 5, 4 / 105, -1 / 280];

/** What is differentiated. */
export interface Differentiated {
  width: number;
  /** Floats of the largest output of a copy. */
  perRow: number;
  metric: NamedMetric;
  options: ForwardOptions;
}

/**
 * For each token the derivative of the metric at the embeddings `at` when its embedding moves along its direction: [seq]. 0 where a direction is 0. at, along:
 * [seq, width].
 */
export type Slopes = (at: Float32Array, along: Float32Array) => Promise<Float64Array>;

const norm = (row: Float32Array) => Math.hypot(...row);

export function differences(model: Model, text: OneText, { width, perRow, metric, options }: Differentiated): Slopes {
  return async (at, along) => {
    const places: { token: number; weight: number }[] = [];
    const changes: { values: Float32Array }[] = [];
    for (let token = 0; token < text.seq; ++token) {
      const [begin, end] = [token * width, (token + 1) * width];
      const [size, far] = [norm(at.subarray(begin, end)), norm(along.subarray(begin, end))];
      if (far === 0 || text.mask[token] === 0) continue;
      const step = kStep * Math.min(1, Math.max(1e-6, size / far));
      kStencil.forEach((weight, i) => {
        for (const sign of [1, -1]) {
          const values = at.slice();
          for (let k = begin; k < end; ++k) values[k]! += sign * (i + 1) * step * (along[k] as number);
          places.push({ token, weight: (sign * weight) / step });
          changes.push({ values });
        }
      });
    }
    const found = await measureAll(model, text, { tap: kEmbeddings, changes, width, perRow }, metric, options);
    const out = new Float64Array(text.seq);
    places.forEach(({ token, weight }, i) => (out[token]! += weight * (found[i] as number)));
    return out;
  };
}
