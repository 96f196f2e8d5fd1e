// The demo's claims about heads: stripes, which attend to one word whatever the other is, are never taken for links.
import {
  claimsOf,
  contrastOf,
  differencesOf,
  isNeeded,
  leastShare,
  linkOf,
  linksOf,
  verdictOf,
  type Looks,
  type Pair,
} from '../../demo/src/attention/evidence.js';
import { isForeign } from '../../demo/src/model/foreign.js';

const words = ['[CLS]', 'the', 'cat', 'sat', 'on', 'the', 'mat', 'because', 'it', 'was', 'tired', '[SEP]'];
const seq = words.length;
const [cat, mat, it_] = [2, 6, 8];
const spans = words.map((word, i): [number, number] => (word.startsWith('[') ? [0, 0] : [i, i + 1]));

/** Rows of attention: `weights` where given, and the rest spread evenly. */
function head(weights: (row: number, column: number) => number | undefined): Float32Array {
  const out = new Float32Array(seq * seq);
  for (let row = 0; row < seq; ++row) {
    const given = words.map((_, column) => weights(row, column));
    const used = given.reduce<number>((sum, weight) => sum + (weight ?? 0), 0);
    const free = given.filter((weight) => weight === undefined).length;
    given.forEach((weight, column) => (out[row * seq + column] = weight ?? (1 - used) / free));
  }
  return out;
}

/** Looks at the cat from everywhere, from "it" most of all: 82 %, but others 70 %. */
const stripe = head((row, column) => (column === cat ? (row === it_ ? 0.78 : 0.7) : undefined));
/** Looks at the cat from "it" alone. */
const reference = head((row, column) => (row === it_ && column === cat ? 0.5 : undefined));
/** The same at the mat. */
const otherReference = head((row, column) => (row === it_ && column === mat ? 0.5 : undefined));

const looks = (...heads: Float32Array[]): Looks => ({ tokens: words, spans, attentions: [heads] });
const pairOf = (shares: number[], ...heads: Float32Array[]): Pair => ({
  tokens: words.map((word, i) => (i === 10 ? 'soft' : word)),
  attentions: [heads],
  shares: [shares],
  near: 0.9,
});
const effects = (...values: number[]) => [values.map((value) => new Float32Array(seq).fill(value))];

describe('a link', () => {
  it('is what a head gives a word above its average', () => {
    const lying = linkOf([[stripe]], seq, 0, 0, it_, cat);
    expect(lying.weight).toBeCloseTo(0.78);
    expect(contrastOf(lying)).toBeCloseTo(0.08);
    expect(contrastOf(linkOf([[reference]], seq, 0, 0, it_, cat))).toBeGreaterThan(0.4);
  });

  it('is not made by a stripe, however strong', () => {
    expect(claimsOf(linksOf(looks(stripe)), effects(1))).toEqual([]);
    const [first] = linksOf(looks(stripe, reference), it_);
    expect([first?.head, first?.to]).toEqual([1, cat]);
  });

  it('is claimed only of a head that the word needs more than the average one', () => {
    const links = linksOf(looks(stripe, reference), it_);
    expect(claimsOf(links, effects(0, 0.1)).map(({ head: one, to }) => [one, to])).toEqual([[1, cat]]);
    expect(claimsOf(links, effects(0.1, 0))).toEqual([]);
    expect(isNeeded(links[0]!, effects(0.1, 0.1))).toBe(false);
  });

  it('of a decoder counts only the tokens that can look there', () => {
    const causal = head((row, column) => (column > row ? 0 : column === cat && row === it_ ? 0.5 : undefined));
    const rows = words.map((_, i) => i).filter((i) => i >= cat && i !== it_);
    const mean = rows.reduce((sum, row) => sum + (causal[row * seq + cat] as number), 0) / rows.length;
    expect(linkOf([[causal]], seq, 0, 0, it_, cat).average).toBeCloseTo(mean);
  });
});

describe('a head that looks at one word by 0.9 here and 0.3 there', () => {
  it('makes no link, even where it gives the word much more than its average', () => {
    const uneven = head((row, column) => (column === cat ? (row === it_ || row % 2 === 1 ? 0.85 : 0.3) : undefined));
    const link = linkOf([[uneven]], seq, 0, 0, it_, cat);
    expect(contrastOf(link)).toBeGreaterThan(0.2);
    expect(claimsOf(linksOf(looks(uneven)), effects(1))).toEqual([]);
  });
});

describe('two sentences', () => {
  it('are told apart by a head that looks elsewhere and carries the difference', () => {
    const verdict = verdictOf(looks(stripe, reference), pairOf([0, 0.9 * 2], stripe, otherReference), it_)!;
    expect([verdict.isTold, verdict.shown.ours.head]).toEqual([true, 1]);
    expect([cat, mat]).toContain(verdict.shown.ours.to);
  });

  it('are not told apart by a stripe that is in both', () => {
    expect(verdictOf(looks(stripe, stripe), pairOf([1.5, 1.5], stripe, stripe), it_)?.isTold).toBe(false);
  });

  it('are not told apart where patching disagrees', () => {
    const pair = pairOf([0.3, 0.3, 0.3], stripe, otherReference, stripe);
    expect(leastShare(pair)).toBeCloseTo(2 / 3);
    const verdict = verdictOf(looks(stripe, reference, stripe), pair, it_)!;
    expect([verdict.isTold, verdict.shown.ours.head]).toEqual([false, 1]);
  });

  it('are compared in the words that they share and that are no neighbours', () => {
    const compared = new Set(differencesOf(looks(reference), pairOf([1], otherReference), it_).map(({ ours }) => ours.to));
    expect([...compared].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('a text in another language', () => {
  it('is seen by tokens that are unknown, or by too many pieces of words', () => {
    expect(isForeign('東京で猫が座った', 9, 0.9)).toBe(true);
    expect(isForeign('Die Katze saß auf der Matte, weil sie müde war.', 26, 0)).toBe(true);
    expect(isForeign('The trophy did not fit in the suitcase.', 13, 0)).toBe(false);
    expect(isForeign('', 2, 0)).toBe(false);
  });
});
