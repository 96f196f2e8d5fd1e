// Whether a text is in a language that a model has not learned.

const kMostUnknown = 0.15; // of a text's tokens
const kMostPieces = 2.1; // of a word on average: English has 1.2
const kLeastWords = 3;
/** Whether a text looks as if the model had not learned its language. unknown: the share of tokens that the vocabulary lacks. */
export function isForeign(text: string, tokens: number, unknown: number): boolean {
  const words = text.match(/[\p{L}\p{M}\p{N}'’-]+/gu)?.length ?? 0;
  return words > 0 && (unknown > kMostUnknown || (words >= kLeastWords && tokens / words > kMostPieces));
}
