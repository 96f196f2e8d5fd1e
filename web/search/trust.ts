// How well a model reads a text.

const kWord = /[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu;
/** Pieces of a word in a language that the vocabulary was made for: 1.1 to 1.4 of real questions in English, 1.9 to 3 of other languages. */
const kUsualPieces = 1.4;

/**
 * How far a query's vector can be trusted: less where its tokens are unknown, or its words are cut into many pieces. The exponents were chosen on SNLI's and STS-B's dev sets and
 * XQuAD in German and Russian.
 */
export function trustIn(text: string, tokens: number, unknown: number): number {
  if (tokens <= 0) return 0;
  const pieces = tokens / (text.match(kWord)?.length ?? 1);
  return Math.max(0, 1 - unknown / tokens) ** 2 * Math.min(1, kUsualPieces / pieces) ** 3;
}
