// What the demo says of small counts, and which words it names: intervals against scipy, and words that chance alone names.
import { exactInterval, ofAll } from '../../demo/src/ui/interval.js';
import { isSure, resampled } from '../../demo/src/teach/sure_words.js';

describe('an interval of a count', () => {
  // scipy.stats.binomtest(k, n).proportion_ci(method='exact'), of scipy 1.17
  it.each([
    [18, 18, 0.814698, 1],
    [3, 12, 0.054861, 0.571858],
    [10, 12, 0.515862, 0.979137],
    [0, 5, 0, 0.521824],
    [50, 100, 0.398321, 0.601679],
  ])('of %i of %i is exact', (right, of, low, high) => {
    const [from, to] = exactInterval(right, of);
    expect(from).toBeCloseTo(low, 5);
    expect(to).toBeCloseTo(high, 5);
  });

  it('is said in whole percent', () => {
    expect(ofAll(18, 18)).toBe('18 of 18 (81 to 100\u00a0%)');
  });
});

describe('a word that matters', () => {
  it('does so with most choices of examples', () => {
    expect(isSure('will', [0.3, 0.25, 0.35, 0.28])).toBe(true);
    expect(isSure('will', [0.6, -0.2, 0.4, -0.1])).toBe(false);
    expect(isSure('will', [0.001, 0.001, 0.001, 0.001])).toBe(false);
  });

  it('has letters: a mark is never named', () => {
    for (const mark of ['?', '!', '.', '…']) expect(isSure(mark, [0.3, 0.3, 0.3])).toBe(false);
  });

  it('is tried on as many examples of each label as there are', () => {
    const examples = ['a', 'a', 'a', 'b'].map((label, i) => ({ label, i }));
    const drawn = resampled(examples, () => 0.4);
    expect(drawn.map(({ label }) => label)).toEqual(['a', 'a', 'a', 'b']);
    expect(new Set(drawn.map(({ i }) => i)).size).toBe(2);
  });
});
