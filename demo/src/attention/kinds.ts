// What a head mostly looks at, in this text: a short name for each, from its weights alone.
import { isFar, isWord, linkOf, linksOf, type Link, type Looks } from './evidence.js';
import type { Inside } from './use_inside.js';

export type Kind = 'itself' | 'before' | 'after' | 'ends' | 'marks' | 'words' | 'all';

/** What stands in the legend, in the order of it. */
export const kKinds: Record<Kind, string> = {
  words: 'other words',
  before: 'the token before',
  after: 'the token after',
  itself: 'itself',
  marks: 'punctuation',
  ends: 'first and last token',
  all: 'everything equally',
};

const kAlike = 0.9; // of the largest entropy: more is "everything alike"

/** weights: [seq * seq], of one head. Rows of the first and last token are left out: they are no words. */
export function kindOf(inside: Inside, weights: Float32Array): Kind {
  const seq = inside.tokens.length;
  const words = inside.tokens.map((_, i) => isWord(inside, i));
  const rows = words.flatMap((word, i) => (word ? [i] : []));
  const shares: Record<Exclude<Kind, 'all'>, number> = { words: 0, before: 0, after: 0, itself: 0, marks: 0, ends: 0 };
  let entropy = 0;
  for (const i of rows) {
    for (let k = 0; k < seq; ++k) {
      const weight = weights[i * seq + k] ?? 0;
      const [start, end] = inside.spans[k] ?? [0, 0];
      const kind =
        k === i
          ? 'itself'
          : end === start
            ? 'ends'
            : !words[k]
              ? 'marks'
              : k === i - 1
                ? 'before'
                : k === i + 1
                  ? 'after'
                  : 'words';
      shares[kind] += weight / rows.length;
      if (weight > 0) entropy -= (weight * Math.log(weight)) / rows.length;
    }
  }
  if (rows.length === 0 || entropy > kAlike * Math.log(seq)) return 'all';
  return (Object.entries(shares) as [Kind, number][]).reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}

const kFollowed = /^(?:[^\p{L}]*)(it|he|she|they|him|her|them|this|that)$/iu;

/** The word to follow at first: a pronoun if there is one, because it looks for what it stands for. */
export function firstToken(inside: Pick<Looks, 'tokens' | 'spans'>): number {
  const words = inside.tokens.map((_, i) => i).filter((i) => isWord(inside, i));
  return [...words].reverse().find((i) => kFollowed.test(inside.tokens[i] ?? '')) ?? words.at(-1) ?? 0;
}

/** The link of a token to look at first: the one over a distance with the largest contrast. It need not be one that may be claimed. */
export function linkToTell(inside: Looks, from = firstToken(inside)): Link | undefined {
  const links = linksOf(inside, from);
  return links.find(isFar) ?? links[0];
}

/** Where one token looks most in one head. */
export function linkIn(inside: Inside, layer: number, head: number, from: number): Link {
  const seq = inside.tokens.length;
  const row = inside.attentions[layer]?.[head]?.subarray(from * seq, (from + 1) * seq) ?? new Float32Array();
  const to = row.reduce((best, weight, i) => (weight > (row[best] ?? 0) ? i : best), 0);
  return linkOf(inside.attentions, seq, layer, head, from, to);
}
