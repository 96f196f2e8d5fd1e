// Incremental decoding. A token's text can depend on its neighbours (a leading space, a character whose bytes span several tokens), so
// every step decodes the last tokens again and returns only the new text.
import type { DecodeStream, TokenIds } from './types.js';

const kMostHeld = 64; // tokens; more than any character or contraction needs

/** toIds: validates pushed ids. cleans: whether decoding may remove spaces that it returned before. */
export function makeDecodeStream(
  decode: (ids: readonly number[]) => string,
  toIds: (ids: number | bigint | TokenIds) => Iterable<number>,
  cleans: boolean,
): DecodeStream {
  let context: number[] = []; // tokens whose text was returned; they affect the text of the next ones
  let pending: number[] = [];
  let given = 0; // characters already returned of the text of context and pending

  /** The length of the prefix that later tokens cannot change. */
  const settled = (text: string): number => {
    let whole = text.length;
    while (text[whole - 1] === '\ufffd') --whole; // possibly an incomplete character
    return cleans ? Math.min(whole, Math.max(text.search(/\s\S*$/), 0)) : whole;
  };

  const advance = (end: boolean): string => {
    const text = decode([...context, ...pending]);
    const until = end || pending.length >= kMostHeld ? text.length : settled(text);
    const fresh = text.slice(given, until);
    given = Math.max(given, until);
    if (until < text.length) return fresh;
    // Restart with the shortest context; tokens without text cannot serve as context.
    const rest = decode(pending);
    context = rest === '' ? [...context, ...pending].slice(-kMostHeld) : pending;
    given = rest === '' ? decode(context).length : rest.length;
    pending = [];
    return fresh;
  };

  return {
    push(ids): string {
      for (const id of toIds(ids)) pending.push(id);
      return advance(false);
    },
    end() {
      const rest = pending.length === 0 ? '' : advance(true);
      [context, pending, given] = [[], [], 0];
      return rest;
    },
  };
}
