import { describe, InputError } from './errors.js';

export function checkTexts(where: string, texts: unknown): asserts texts is string | readonly string[] {
  if (typeof texts === 'string') return;
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected a string or an array of strings, found ${describe(texts)}`);
  const bad = texts.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new InputError(`${where}: expected a string at index ${bad}, found ${describe(texts[bad])}`);
}

/** Texts on their way through the seam: joined, in UTF-16 units, with their lengths. */
export interface JoinedTexts {
  text: Uint16Array;
  lengths: Int32Array;
}

/** A typed array, which is copied in one go: of a string every unit would cross by itself. */
export function joinTexts(texts: readonly string[]): JoinedTexts {
  const lengths = Int32Array.from(texts, (text) => text.length);
  const units = new Uint16Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const text of texts) for (let i = 0; i < text.length; ++i) units[at++] = text.charCodeAt(i);
  return { text: units, lengths };
}
