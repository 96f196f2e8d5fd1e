// Decoding as tokens come. A token's text can depend on its neighbours (a space before it or not, bytes of one character in several
// tokens), so every step decodes the last tokens anew and gives what is new.
import type { DecodeStream, TokenIds } from './types.js';

const kMostHeld = 64; // tokens; more than any character or contraction needs

/** toIds: checks what was pushed. cleans: whether decoding takes spaces out again that were there before. */
export function makeDecodeStream(
  decode: (ids: readonly number[]) => string,
  toIds: (ids: number | bigint | TokenIds) => Iterable<number>,
  cleans: boolean,
): DecodeStream {
  let context: number[] = []; // their text was given; what follows is read beside them
  let pending: number[] = [];
  let given = 0; // characters of the text of context and pending

  /** The length of the part of a text that no later token changes. */
  const settled = (text: string): number => {
    const whole = text.replace(/\ufffd+$/, '').length; // maybe the beginning of a character
    return cleans ? Math.min(whole, Math.max(text.search(/\s\S*$/), 0)) : whole;
  };

  const advance = (end: boolean): string => {
    const text = decode([...context, ...pending]);
    const until = end || pending.length >= kMostHeld ? text.length : settled(text);
    const fresh = text.slice(given, until);
    given = Math.max(given, until);
    if (until < text.length) return fresh;
    // Begin anew with the least that still says where we are: tokens without any text do not.
    const rest = decode(pending);
    context = rest === '' ? [...context, ...pending].slice(-kMostHeld) : pending;
    given = rest === '' ? decode(context).length : rest.length;
    pending = [];
    return fresh;
  };

  return {
    push(ids): string {
      pending.push(...toIds(ids));
      return advance(false);
    },
    end() {
      const rest = pending.length === 0 ? '' : advance(true);
      [context, pending, given] = [[], [], 0];
      return rest;
    },
  };
}
