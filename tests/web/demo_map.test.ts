// The demo page's own arithmetic: principal components for the map of pieces, against the covariance in double precision.
import { principalPlane, project } from '../../demo/src/search/pca.js';

const kRows = 200;
const kDim = 12;

/** Numbers from -1 to 1, always the same. */
function makeRandom(state = 12345): () => number {
  return () => {
    state = (state * 48271) % 0x7fffffff;
    return (2 * state) / 0x7fffffff - 1;
  };
}

/** Rows that differ much along two slanted directions, and a little along all. */
function makeRows(): Float32Array {
  const random = makeRandom();
  return Float32Array.from({ length: kRows }, random).reduce(
    (rows, _, row) => {
      const [along, across] = [5 * random(), 2 * random()];
      for (let k = 0; k < kDim; ++k) rows[row * kDim + k] = 1 + along * (k % 3) + across * ((k + 1) % 2) + 0.3 * random();
      return rows;
    },
    new Float32Array(kRows * kDim),
  );
}

function covarianceOf(rows: Float32Array, mean: Float64Array): number[][] {
  return Array.from({ length: kDim }, (_, a) =>
    Array.from({ length: kDim }, (__, b) => {
      let sum = 0;
      for (let row = 0; row < kRows; ++row) {
        sum += (rows[row * kDim + a]! - mean[a]!) * (rows[row * kDim + b]! - mean[b]!);
      }
      return sum;
    }),
  );
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, x, i) => sum + x * b[i]!, 0);

describe('principalPlane', () => {
  const rows = makeRows();
  const { mean, axes, shares } = principalPlane(rows, kDim);
  const covariance = covarianceOf(rows, mean);
  const trace = covariance.reduce((sum, row, i) => sum + row[i]!, 0);

  it('gives the two largest eigenvectors of the covariance', () => {
    expect(dot(axes[0], axes[1])).toBeCloseTo(0, 8);
    const spreads = axes.map((axis) => {
      const turned = covariance.map((row) => dot(row, axis));
      const spread = dot(turned, axis);
      // C v = s v. Rounds end when 1 - cosine is below 1e-10, so an angle of at most 2e-5 is left.
      turned.forEach((x, k) => expect(Math.abs(x - spread * axis[k]!)).toBeLessThan(2e-5 * trace));
      return spread;
    });
    expect(spreads[0]).toBeGreaterThan(spreads[1]!);
    // What is left after both is less than either: no third direction was passed over.
    expect(trace - spreads[0]! - spreads[1]!).toBeLessThan(spreads[1]!);
    shares.forEach((share, i) => expect(share).toBeCloseTo(spreads[i]! / trace, 6));
  });

  it('projects rows on them', () => {
    const points = project(rows, kDim, { mean, axes, shares });
    expect(points.length).toBe(2 * kRows);
    const row = Array.from(rows.slice(3 * kDim, 4 * kDim), (x, k) => x - mean[k]!);
    expect(points[6]).toBeCloseTo(dot(row, axes[0]), 4);
    expect(points[7]).toBeCloseTo(dot(row, axes[1]), 4);
  });

  it('takes rows that are all the same, and one row', () => {
    for (const same of [new Float32Array(3 * kDim).fill(0.5), new Float32Array(kDim).fill(2)]) {
      const plane = principalPlane(same, kDim);
      expect(plane.shares).toEqual([0, 0]);
      expect([...project(same, kDim, plane)].every((x) => x === 0)).toBe(true);
    }
  });
});
