// The beginning of a text that has at most so many tokens.
import { InputError } from '../core/errors.js';
import type { Counter } from './chunk.js';

/** The last place up to `place` that divides no character as people see it: a letter with its marks, an emoji of several code points. */
function borderBefore(text: string, place: number): number {
  if (place >= text.length) return text.length;
  if (typeof Intl === 'object' && 'Segmenter' in Intl) return new Intl.Segmenter().segment(text).containing(place)!.index;
  return (text.codePointAt(place - 1) as number) > 0xffff ? place - 1 : place;
}

export function truncateTo(text: string, tokens: number, { offsets, count }: Counter): string {
  const special = count('');
  if (tokens < special) {
    throw new InputError(`truncate_to: argument 'tokens': expected at least the ${special} special tokens, found ${tokens}`);
  }
  const all = offsets.length / 2;
  if (all + special <= tokens) return text;
  for (let kept = tokens - special; kept > 0;) {
    // A token may end within a character, which the next one then begins with.
    const end = borderBefore(text, Math.min(offsets[2 * kept - 1] as number, offsets[2 * kept] as number));
    const prefix = text.slice(0, end);
    const found = count(prefix); // the last word, now shorter, may have more tokens
    if (found <= tokens) return prefix;
    kept -= found - tokens;
  }
  return '';
}
