import { describe, InputError } from './errors.js';

export function checkTexts(where: string, texts: unknown): asserts texts is string | readonly string[] {
  if (typeof texts === 'string') return;
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected a string or an array of strings, found ${describe(texts)}`);
  const bad = texts.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new InputError(`${where}: expected a string at index ${bad}, found ${describe(texts[bad])}`);
}

/** Texts as they cross to WebAssembly: joined, in UTF-8 (lone surrogates become U+FFFD), with their lengths in UTF-16 units. */
export interface JoinedTexts {
  text: Uint8Array;
  lengths: Int32Array;
}

/** A typed array is copied at once, and engines write UTF-8 several times faster than a loop reads UTF-16 units. */
export function joinTexts(texts: readonly string[]): JoinedTexts {
  const encoder = new TextEncoder();
  const lengths = new Int32Array(texts.length);
  let units = 0;
  texts.forEach((text, i) => (units += lengths[i] = text.length));
  const bytes = new Uint8Array(3 * units); // upper bound; unwritten pages cost no memory
  let size = 0;
  for (const text of texts) size += encoder.encodeInto(text, bytes.subarray(size)).written;
  return { text: bytes.subarray(0, size), lengths };
}
