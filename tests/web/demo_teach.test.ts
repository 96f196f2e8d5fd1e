// The demo's statements about small counts and errors: intervals against scipy, words found by chance alone, slices and edits.
import {
  confusionsOf,
  editsOf,
  flipsOf,
  foldsOf,
  judge,
  slicesOf,
  wordsOfLabels,
  type Judged,
} from '../../demo/src/teach/judge.js';
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

describe('where a classifier errs', () => {
  const judged: Judged[] = [
    ['Pay it now?', 'ask', 'ask'],
    ['You will not pay', 'tell', 'ask'],
    ['You will pay it on the 3rd', 'tell', 'ask'],
    ['Come', 'ask', 'tell'],
  ].map(([text, label, said]) => ({ text: text!, label: label!, said: said!, score: 0.5, vector: new Float32Array(1) }));

  it('gives each fold some of every label', () => {
    expect(foldsOf(['a', 'a', 'b', 'a', 'b'])).toEqual({ folds: 2, of: [0, 1, 0, 0, 1] });
    expect(foldsOf(Array.from({ length: 20 }, (_, i) => `${i % 2}`)).folds).toBe(5);
  });

  it('judges each example by a classifier that has not seen it', async () => {
    const at = (x: number, y: number, label: string, text: string) => ({ text, label, vector: Float32Array.of(x, y) });
    const examples = [at(1, 0.1, 'a', 'one'), at(0.1, 1, 'a', 'strange'), at(0.9, 0.2, 'a', 'two'), at(0.2, 0.9, 'b', 'three'), at(0.1, 0.8, 'b', 'four'), at(0.3, 1, 'b', 'five'), at(1, 0, 'a', 'six')]; // prettier-ignore
    const embed = (() => Promise.reject(new Error('no text is embedded'))) as never;
    const found = await judge(embed, examples, 10);
    expect(found.map(({ text, label, said }) => [text, label, said])).toEqual(
      examples.map(({ text, label }) => [text, label, text === 'strange' ? 'b' : label]),
    );
  });

  it('does not let a classifier see the example that it judges', async () => {
    const count = 8;
    const examples = Array.from({ length: count }, (_, i) => ({ text: `${i}`, label: 'ab'[i % 2]!, vector: Float32Array.from({ length: count }, (__, k) => Number(k === i)) })); // prettier-ignore
    const found = await judge((() => Promise.reject(new Error('no text is embedded'))) as never, examples, 1000);
    for (const { score } of found) expect(score).toBeLessThan(0.6); // each vector says nothing of the others; one that was seen scores 0.9
  });

  it('counts right answers by slice', () => {
    expect(slicesOf(judged, ' WILL ').map(({ name, right, of }) => [name, right, of])).toEqual([
      ['Label “ask”', 1, 2],
      ['Label “tell”', 0, 2],
      ['Below 4 words', 1, 2],
      ['4 words or more', 0, 2],
      ['Questions', 1, 1],
      ['With a “not”', 0, 1],
      ['With digits', 0, 1],
      ['With “will”', 0, 2],
      ['Without “will”', 1, 2],
    ]);
  });

  it('lists confusions, the most frequent first', () => {
    expect(confusionsOf(judged)).toEqual([
      { label: 'tell', said: 'ask', at: [1, 2] },
      { label: 'ask', said: 'tell', at: [3] },
    ]);
  });

  it('tries words of other labels, one at a time', () => {
    const words = wordsOfLabels(judged, 2);
    expect(words.get('tell')).toEqual(['you', 'will']);
    const edits = editsOf('I can’t, now', ['will', 'now']);
    expect(edits.map(({ text }) => text)).toEqual([
      'can’t, now',
      'I , now',
      'I can’t,',
      'will can’t, now',
      'now can’t, now',
      'I will, now',
      'I now, now',
      'I can’t, will',
    ]);
    expect(edits[1]?.says).toBe('without “can’t”');
    const answers = ['a', 'b', 'a', 'b', 'a', 'a', 'a', 'a'].map((label, i) => ({ label, score: i / 10 }));
    expect(flipsOf(edits, answers, 'a', 5).map(({ says, label }) => [says, label])).toEqual([
      ['without “can’t”', 'b'],
      ['“will” instead of “I”', 'b'],
    ]);
  });
});
