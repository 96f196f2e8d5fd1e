// What may be said of heads: a link counts only as far as it is stronger than the average of its column, and if the answer depends on the head.
import type { Inside } from './use_inside.js';

/** The share of a token's attention, above what other tokens give or above another sentence's, that is worth a claim. */
export const kContrast = 0.1;

/** In one sentence alone: standard deviations above the average. Heads that look at one word from everywhere do so by 0.7 here and 0.5 there. */
export const kDeviations = 2;

export interface Link {
  layer: number;
  head: number;
  /** The token that looks, and the one that it looks at. */
  from: number;
  to: number;
  weight: number;
  /** What other tokens give `to` in this head, on average. */
  average: number;
  /** The standard deviation of that. */
  spread: number;
}

/** What is read of a sentence here. */
export type Looks = Pick<Inside, 'tokens' | 'spans' | 'attentions'>;

export const contrastOf = ({ weight, average }: Link): number => weight - average;

/** Whether a token stands for letters of the text: not [CLS], not a full stop. */
export function isWord({ tokens, spans }: Pick<Looks, 'tokens' | 'spans'>, i: number): boolean {
  const [start, end] = spans[i] ?? [0, 0];
  return end > start && /\p{L}|\p{N}/u.test(tokens[i] ?? '');
}

/** One head's link. No token of a decoder looks at a later one, so those do not count for the average. */
export function linkOf(attentions: Looks['attentions'], seq: number, layer: number, head: number, from: number, to: number): Link {
  const weights = attentions[layer]?.[head] ?? new Float32Array();
  const isCausal = seq > 1 && weights[seq - 1] === 0 && weights[1] === 0;
  const others: number[] = [];
  for (let row = 0; row < seq; ++row) if (row !== from && !(isCausal && row < to)) others.push(weights[row * seq + to] ?? 0);
  const average = others.reduce((sum, weight) => sum + weight, 0) / Math.max(1, others.length);
  const spread = Math.sqrt(others.reduce((sum, weight) => sum + (weight - average) ** 2, 0) / Math.max(1, others.length));
  return { layer, head, from, to, weight: weights[from * seq + to] ?? 0, average, spread };
}

/** Whether a link stands out of what other tokens give the same word. */
export const isAbove = (link: Link): boolean => contrastOf(link) >= Math.max(kContrast, kDeviations * link.spread);

/** Heads that look at a neighbour know places; a link over a distance says more. */
export const isFar = ({ from, to }: Pick<Link, 'from' | 'to'>) => Math.abs(to - from) > 1;

/** How heads link two different words, by contrast, the largest first; of each pair, its best head. from: that token alone. */
export function linksOf(inside: Looks, from?: number): Link[] {
  const seq = inside.tokens.length;
  const words = inside.tokens.map((_, i) => i).filter((i) => isWord(inside, i));
  const best = new Map<number, Link>();
  inside.attentions.forEach((heads, layer) =>
    heads.forEach((_, head) => {
      for (const row of from === undefined ? words : [from])
        for (const to of words) {
          if (row === to) continue;
          const link = linkOf(inside.attentions, seq, layer, head, row, to);
          const known = best.get(row * seq + to);
          if (!known || isBetter(link, known)) best.set(row * seq + to, link);
        }
    }),
  );
  return [...best.values()].sort((a, b) => (isBetter(a, b) ? -1 : 1));
}

/** Links that stand out come first, then the larger contrast. */
function isBetter(a: Link, b: Link): boolean {
  return isAbove(a) === isAbove(b) ? contrastOf(a) > contrastOf(b) : isAbove(a);
}

/** Links that may be claimed. effects: [layers][heads][tokens], what a token's vector loses without a head (1 - cosine). */
export const claimsOf = (links: readonly Link[], effects: readonly (readonly Float32Array[])[]): Link[] =>
  links.filter((link) => isAbove(link) && isNeeded(link, effects));

/** Whether a token's vector needs this head more than the average head. */
export function isNeeded({ layer, head, from }: Link, effects: readonly (readonly Float32Array[])[]): boolean {
  const all = effects.flat().map((row) => row[from] ?? 0);
  return (effects[layer]?.[head]?.[from] ?? 0) > all.reduce((sum, effect) => sum + effect, 0) / all.length;
}

/** The other sentence, and what patching says. */
export interface Pair {
  tokens: string[];
  attentions: Float32Array[][];
  /** [layers][heads]: how far one head of the other sentence, taken over, moves the followed token's vector to that of the other, 0 to 1. */
  shares: number[][];
  /** Cosine of the two vectors of the followed token. */
  near: number;
}

/** One head on one word, in both sentences. */
export interface Difference {
  ours: Link;
  theirs: Link;
  share: number;
}

/** What a head must move, more than twice an even share of all heads. */
export const leastShare = ({ shares }: Pair): number => 2 / shares.flat().length;

/** The difference of contrasts. */
export const changeOf = ({ ours, theirs }: Difference): number => contrastOf(ours) - contrastOf(theirs);

/** Whether a difference of attention may be called a reason: large enough, and patching agrees. */
export const tells = (difference: Difference, pair: Pair): boolean =>
  Math.max(contrastOf(difference.ours), contrastOf(difference.theirs)) >= kContrast &&
  Math.abs(changeOf(difference)) >= kContrast &&
  difference.share > leastShare(pair);

/** Every head on every word that both sentences share and that is no neighbour of the followed token: the largest difference first. */
export function differencesOf(inside: Looks, pair: Pair, from: number): Difference[] {
  const seq = inside.tokens.length;
  const words = inside.tokens
    .map((_, i) => i)
    .filter((to) => isWord(inside, to) && isFar({ from, to }) && inside.tokens[to] === pair.tokens[to]);
  return inside.attentions
    .flatMap((heads, layer) =>
      heads.flatMap((_, head) =>
        words.map((to) => ({
          ours: linkOf(inside.attentions, seq, layer, head, from, to),
          theirs: linkOf(pair.attentions, seq, layer, head, from, to),
          share: pair.shares[layer]?.[head] ?? 0,
        })),
      ),
    )
    .sort((a, b) => Math.abs(changeOf(b)) - Math.abs(changeOf(a)));
}

/** The difference to show, and whether it tells the sentences apart. */
export function verdictOf(inside: Looks, pair: Pair, from: number): { shown: Difference; isTold: boolean } | undefined {
  const all = differencesOf(inside, pair, from);
  const told = all.find((difference) => tells(difference, pair));
  const shown = told ?? all[0];
  return shown && { shown, isTold: told !== undefined };
}
