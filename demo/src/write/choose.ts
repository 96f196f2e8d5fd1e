// From logits to a token: temperature, top-k, top-p, and a draw that can be repeated. The order is that of transformers.

export interface Settings {
  /** 0: always the most likely token. */
  temperature: number;
  /** 0: all tokens. */
  top_k: number;
  /** 1: all tokens. */
  top_p: number;
}

export interface Alternative {
  id: number;
  /** At this temperature, before anything is cut. */
  probability: number;
  /** How likely it is to be drawn: 0 for what top-k and top-p cut. */
  share: number;
}

/** All tokens, the most likely first. */
export function alternativesOf(logits: Float32Array, { temperature, top_k, top_p }: Settings): Alternative[] {
  const scale = temperature > 0 ? 1 / temperature : 1;
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = Float64Array.from(logits, (logit) => Math.exp((logit - most) * scale));
  const total = weights.reduce((a, b) => a + b, 0);
  const all = Array.from(weights, (weight, id): Alternative => ({ id, probability: weight / total, share: 0 }));
  all.sort((a, b) => b.probability - a.probability || a.id - b.id);
  const kept = temperature > 0 ? nucleus(top_k > 0 ? all.slice(0, top_k) : all, top_p) : all.slice(0, 1);
  const rest = sumOf(kept);
  for (const one of kept) one.share = one.probability / rest;
  return all;
}

const sumOf = (list: readonly Alternative[]) => list.reduce((sum, { probability }) => sum + probability, 0);

/** The fewest tokens that together have the share `top_p` of the probability of these. */
function nucleus(list: Alternative[], top_p: number): Alternative[] {
  const enough = top_p * sumOf(list);
  let sum = 0;
  const end = list.findIndex(({ probability }) => (sum += probability) >= enough);
  return end < 0 ? list : list.slice(0, end + 1);
}

/** From 0 to 1; the same for the same place of the same draw. */
export function randomAt(seed: number, place: number): number {
  let state = Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(place + 1, 0x85ebca6b);
  for (const shift of [16, 13, 16]) state = Math.imul(state ^ (state >>> shift), 0xc2b2ae35);
  return (state >>> 0) / 2 ** 32;
}

/** Draws by share; random: from 0 to 1. */
export function drawFrom(alternatives: readonly Alternative[], random: number): Alternative {
  let left = random;
  for (const one of alternatives) {
    left -= one.share;
    if (left < 0) return one;
  }
  return alternatives[0] as Alternative;
}
