// Incremental decoding. Most tokens add the same text wherever they are, which is returned as it is. Other tokens' texts depend on their
// neighbours (a character whose bytes span several tokens, spaces that are cleaned up). For them every step decodes the last tokens again and
// returns only the new text.
import type { Piece } from '../host/seam.js';
import type { DecodeStream, TokenIds } from './types.js';

const kMostHeld = 64; // tokens; more than any character or contraction needs

export interface StreamParts {
  decode(ids: readonly number[]): string;
  /** Validates pushed ids. */
  ids(pushed: number | bigint | TokenIds): Iterable<number>;
  /** Whether decoding may remove spaces that it returned before. */
  cleans: boolean;
  /** What a token adds, see `Pieces.of`; undefined where other tokens clean it up. */
  pieceOf?: ((id: number, isFirst: boolean) => Piece) | undefined;
}

export function makeDecodeStream({ decode, ids: toIds, cleans, pieceOf }: StreamParts): DecodeStream {
  let context: readonly number[] = []; // tokens whose text was returned; they affect the text of the next ones
  let pending: number[] = [];
  let given = 0; // characters already returned of the text of context and pending
  let isFirst = true; // of the next token: none before it had text

  /** The length of the prefix that later tokens cannot change. */
  const settled = (text: string): number => {
    let whole = text.length;
    while (text[whole - 1] === '\ufffd') --whole; // possibly an incomplete character
    return cleans ? Math.min(whole, Math.max(text.search(/\s\S*$/), 0)) : whole;
  };

  /** A token that stands for all before it, where the next ones' text depends on no more than whether there is one. */
  const standIn = (id: number): boolean => {
    const text = pieceOf?.(id, true);
    if (!text || text.endsWith('\ufffd')) return false;
    context = [id];
    given = text.length;
    return true;
  };

  const advance = (end: boolean): string => {
    const text = decode([...context, ...pending]);
    const until = end || pending.length >= kMostHeld ? text.length : settled(text);
    const fresh = text.slice(given, until);
    given = Math.max(given, until);
    if (until < text.length) return fresh;
    const stays = !isFirst && context.length === 1 && !text.endsWith('\ufffd') && standIn(context[0] as number);
    if (!stays) {
      // Restart with the shortest context; tokens without text cannot serve as context.
      const rest = decode(pending);
      isFirst &&= rest === '';
      context = rest === '' ? [...context, ...pending].slice(-kMostHeld) : pending;
      given = rest === '' ? decode(context).length : rest.length;
    }
    pending = [];
    return fresh;
  };

  /** Takes a token, and gives its text if that depends on no other. */
  const take = (id: number): string => {
    const piece = pending.length > 0 ? undefined : pieceOf?.(id, isFirst);
    if (piece === null) return '';
    // A first token without text is held: what comes after it is not the first.
    const isAlone = piece !== undefined && !piece.endsWith('\ufffd') && !(isFirst && context.length > 0);
    const standsIn = isAlone && context.length !== 1 && standIn(id);
    if (isAlone && !(isFirst && !standsIn)) {
      isFirst = false;
      return piece;
    }
    pending.push(id);
    return '';
  };

  return {
    push(ids): string {
      let text = '';
      if (typeof ids === 'number' && (ids | 0) === ids && ids >= 0) text = take(ids);
      else for (const id of toIds(ids)) text += take(id);
      return pending.length > 0 ? text + advance(false) : text;
    },
    end() {
      const rest = pending.length === 0 ? '' : advance(true);
      [context, pending, given, isFirst] = [[], [], 0, true];
      return rest;
    },
  };
}
