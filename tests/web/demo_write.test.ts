// The demo page's own arithmetic: the tokens that temperature, top-k and top-p keep, and repeatable draws.
import { alternativesOf, drawFrom, randomAt } from '../../demo/src/write/choose.js';

const kLogits = Float32Array.from([0.5, 0.25, 0.125, 0.125], Math.log); // so that the probabilities are these
const kPlain = { temperature: 1, top_k: 0, top_p: 1 };
const rounded = (list: { id: number; probability: number; share: number }[]) =>
  list.map(({ id, probability, share }) => [id, Number(probability.toFixed(4)), Number(share.toFixed(4))]);

it('keeps all tokens at temperature 1', () => {
  expect(rounded(alternativesOf(kLogits, kPlain))).toEqual([[0, 0.5, 0.5], [1, 0.25, 0.25], [2, 0.125, 0.125], [3, 0.125, 0.125]]); // prettier-ignore
});

it('squares the probabilities at temperature 0.5', () => {
  const [first, second] = alternativesOf(kLogits, { ...kPlain, temperature: 0.5 });
  expect(first!.probability / second!.probability).toBeCloseTo(4, 5);
});

it('cuts by top-k, then by top-p, and shares the rest', () => {
  const cut = alternativesOf(kLogits, { ...kPlain, top_k: 3, top_p: 0.8 }).map(({ share }) => Number(share.toFixed(4)));
  expect(cut).toEqual([0.6667, 0.3333, 0, 0]); // 0.5 + 0.25 of 0.875 is above 0.8
  expect(alternativesOf(kLogits, { ...kPlain, temperature: 0 }).map(({ share }) => share)).toEqual([1, 0, 0, 0]);
});

it('draws each token as often as its share says, and the same one again', () => {
  const all = alternativesOf(kLogits, kPlain);
  const counts = [0, 0, 0, 0];
  for (let place = 0; place < 4000; ++place) ++counts[drawFrom(all, randomAt(7, place)).id]!;
  // 4 standard deviations of a binomial count: at most 4 * sqrt(4000 * 0.25).
  all.forEach(({ id, share }) => expect(Math.abs(counts[id]! - 4000 * share)).toBeLessThan(127));
  expect(randomAt(7, 3)).toBe(randomAt(7, 3));
});
