import { describe, InputError } from './errors.js';

export function checkTexts(where: string, texts: unknown): asserts texts is string | readonly string[] {
  if (typeof texts === 'string') return;
  if (!Array.isArray(texts)) throw new InputError(`${where}: expected a string or an array of strings, found ${describe(texts)}`);
  const bad = texts.findIndex((text) => typeof text !== 'string');
  if (bad >= 0) throw new InputError(`${where}: expected a string at index ${bad}, found ${describe(texts[bad])}`);
}

/** How texts cross the seam: joined, with their lengths in UTF-16 units. */
export function joinTexts(texts: readonly string[]): { text: string; lengths: Int32Array } {
  return { text: texts.join(''), lengths: Int32Array.from(texts, (text) => text.length) };
}
