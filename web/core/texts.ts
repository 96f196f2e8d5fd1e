import { describe, InputError } from './errors.js';

export function checkTexts(where: string, texts: unknown): asserts texts is string | readonly string[] {
  if (typeof texts === 'string') return;
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected a string or an array of strings, found ${describe(texts)}`);
  const bad = texts.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new InputError(`${where}: expected a string at index ${bad}, found ${describe(texts[bad])}`);
}

/** Texts on their way through the seam: joined, in UTF-8 (a lone surrogate as U+FFFD), with their lengths in UTF-16 units. */
export interface JoinedTexts {
  text: Uint8Array;
  lengths: Int32Array;
}

/** A typed array, which is copied in one go. UTF-8, because engines write it several times quicker than a loop reads units. */
export function joinTexts(texts: readonly string[]): JoinedTexts {
  const encoder = new TextEncoder();
  const lengths = new Int32Array(texts.length);
  let units = 0;
  texts.forEach((text, i) => (units += lengths[i] = text.length));
  const bytes = new Uint8Array(3 * units); // at most; what is not written costs no memory
  let size = 0;
  for (const text of texts) size += encoder.encodeInto(text, bytes.subarray(size)).written;
  return { text: bytes.subarray(0, size), lengths };
}
