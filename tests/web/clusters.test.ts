import { community_detection, k_means, paraphrase_mining, Tensor } from 'wattn';
import { expectError, readJson } from './support.js';

const { vectors, paraphrases, communities, inertia } = readJson('clusters', 'cases.json');
const tensor = new Tensor('float32', vectors.flat(), [vectors.length, vectors[0].length]);

describe('paraphrase_mining', () => {
  it("finds sentence-transformers' pairs", () => {
    for (const { options, pairs } of paraphrases) {
      const found = paraphrase_mining(tensor, options);
      expect(found.map(({ i, j }) => [i, j])).toEqual(pairs.map(([, i, j]: number[]) => [i, j]));
      found.forEach(({ score }, at) => expect(score).toBeCloseTo(pairs[at][0], 8)); // nine digits are written
    }
    expect(paraphrase_mining([[1, 2]])).toEqual([]);
    expect(paraphrase_mining([])).toEqual([]);
  });
});

describe('community_detection', () => {
  it("finds sentence-transformers' communities", () => {
    for (const { options, communities: expected } of communities) expect(community_detection(vectors, options)).toEqual(expected);
    expect(community_detection([], {})).toEqual([]);
  });
});

describe('k_means', () => {
  it("is as near as scikit-learn's best of twenty", () => {
    for (const [count, expected] of Object.entries<number>(inertia)) {
      const found = k_means(tensor, Number(count), { n_init: 20 });
      expect(found.inertia).toBeLessThanOrEqual(expected * 1.0001 + 1e-9);
      expect(found.centroids.dims).toEqual([Number(count), 5]);
      const distance = (row: number[], centre: ArrayLike<number>) =>
        row.reduce((sum, x, d) => sum + (x - (centre[d] as number)) ** 2, 0);
      vectors.forEach((row: number[], i: number) => {
        const distances = found.centroids.tolist().map((centre: any) => distance(row, centre));
        expect(distances[found.labels[i] as number]).toBeLessThanOrEqual(Math.min(...distances) + 1e-5); // centroids are float32
      });
    }
    expect(k_means(tensor, 6)).toEqual(k_means(tensor, 6));
    const same = [[1, 1], [1, 1], [1, 1]]; // prettier-ignore
    expect(k_means(same, 3).inertia).toBe(0);
  });
});

describe('clusters', () => {
  it('say what is wrong', async () => {
    await expectError(() => k_means(tensor, 61), 'InputError', /from 1 to 60 clusters, found 61/);
    await expectError(() => k_means([[1], [1, 2]], 1), 'InputError', /one length/);
    await expectError(() => community_detection(tensor, { threshold: 'x' } as never), 'InputError', /threshold/);
    await expectError(() => paraphrase_mining(tensor, { top: 1 } as never), 'InputError', /unknown option 'top'/);
  });
});
