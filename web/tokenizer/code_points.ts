// Offsets in code points, as Python counts them.
import type { EncodeAnswer } from '../host/seam.js';
import type { Wanted } from './layout.js';

/** For each UTF-16 offset in a text, the number of code points before it; undefined if they are all equal. */
function codePointPlaces(text: string): Int32Array | undefined {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return undefined;
  const places = new Int32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length;) {
    const units = (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    places.fill(count, at, at + units);
    at += units;
    ++count;
  }
  places[text.length] = count;
  return places;
}

export function toCodePoints(answer: EncodeAnswer, { texts, pairs }: Wanted): Int32Array {
  const firsts = texts.map(codePointPlaces);
  const seconds = pairs?.map(codePointPlaces);
  const out = answer.offsets.slice();
  let token = 0;
  answer.lengths.forEach((length, row) => {
    for (const end = token + length; token < end; ++token) {
      const sequence = answer.sequence_ids[token];
      const places = (sequence === 1 ? seconds : firsts)?.[answer.text[row] as number];
      if (!places || sequence === -1) continue;
      for (const at of [2 * token, 2 * token + 1]) out[at] = places[out[at] as number] as number;
    }
  });
  return out;
}
