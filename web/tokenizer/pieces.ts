// Decoded tokens, kept as strings: joining them takes a third of the time of decoding a short text in WebAssembly.
import type { Piece } from '../host/seam.js';
import { DecodeFlags } from '../host/wire.js';

/** Tokens that are kept: what falls on another's place replaces it. With the longest texts they are some 4 MB, of ASCII 1 to 2. */
const kPlaces = 1 << 15;
/** Larger ids have no place in a key of 31 bits, and longer texts may be too long for a string. */
const kMostId = 1 << 28;
const kMostTokens = 1 << 20;

/** clean_up_tokenization() in C++: marks that lose the space before them, in this order. */
const kMayNeedCleanUp = / (?:[.?!,']|n')/;
const kMarks = ['.', '?', '!', ',', "' ", "n't", "'m", "'s", "'ve", "'re"];
const cleanUp = (text: string) =>
  kMarks.reduce((cleaned, mark) => cleaned.replaceAll(` ${mark}`, mark === "' " ? "'" : mark), text);

const { skip_special_tokens: kSkipping, first_of_texts: kFirst } = DecodeFlags;

/** Texts of more tokens that are not here, one after the other, are left to WebAssembly. */
const kMostFetches = 8;
const kFetched = 256;
/** Neighbours that come along, where their places are free: ids that are near each other are about as frequent. */
const kNeighbours = 64;

export class Pieces {
  private readonly keys = new Int32Array(kPlaces).fill(-1);
  private readonly texts: Piece[] = new Array<Piece>(kPlaces);

  private readonly first: number;

  /** ask: calls decode_pieces of text_calls.ts. firstAlike: a text's first token is like others. */
  constructor(
    private readonly ask: (ids: readonly number[], flags: number) => Piece[],
    firstAlike: boolean,
  ) {
    this.first = firstAlike ? 0 : kFirst;
  }

  /** The text of ids, or undefined where only WebAssembly knows it. */
  join(ids: ArrayLike<number>, skipSpecialTokens: boolean, cleanUpSpaces: boolean): string | undefined {
    const { keys, texts } = this;
    const { length } = ids;
    if (length > kMostTokens) return undefined;
    const flags = skipSpecialTokens ? kSkipping : 0;
    let own = flags | this.first;
    let text = '';
    let fetches = 0;
    for (let i = 0; i < length; ++i) {
      const id = ids[i] as number;
      const place = placeOf(id, own);
      if (keys[place] !== 4 * id + own) {
        if (id >= kMostId || ++fetches > kMostFetches) return undefined;
        this.fetch(ids, i, own);
      }
      const piece = texts[place];
      if (piece === undefined) return undefined;
      if (piece === null) continue;
      text += piece;
      own = flags;
    }
    return cleanUpSpaces && kMayNeedCleanUp.test(text) ? cleanUp(text) : text;
  }

  /** What one token adds to a text: see `decode_pieces` of seam.ts. */
  of(id: number, isFirst: boolean, skipSpecialTokens: boolean): Piece {
    const own = (skipSpecialTokens ? kSkipping : 0) | (isFirst ? this.first : 0);
    const place = placeOf(id, own);
    if (this.keys[place] !== 4 * id + own) {
      if (id >= kMostId) return undefined;
      this.fetch([id], 0, own);
    }
    return this.texts[place];
  }

  /** Asks for the token at `begin`, and for those after it and near it that are not here, unless it is the first of its text. */
  private fetch(ids: ArrayLike<number>, begin: number, flags: number): void {
    const end = flags & kFirst ? begin + 1 : Math.min(ids.length, begin + kFetched);
    const wanted = new Set<number>();
    for (let i = begin; i < end; ++i) {
      const id = ids[i] as number;
      if (id < kMostId && this.keys[placeOf(id, flags)] !== 4 * id + flags) wanted.add(id);
    }
    const near = (ids[begin] as number) & -kNeighbours;
    for (let id = near; !(flags & kFirst) && id < near + kNeighbours; ++id) {
      if (this.keys[placeOf(id, flags)] === -1) wanted.add(id);
    }
    const list = [...wanted];
    const pieces = this.ask(list, flags);
    // Backwards: of those with one place the first stays, which is read next.
    for (let i = list.length - 1; i >= 0; --i) {
      const id = list[i] as number;
      const place = placeOf(id, flags);
      this.keys[place] = 4 * id + flags;
      this.texts[place] = pieces[i];
    }
  }
}

const placeOf = (id: number, flags: number): number => (id ^ (flags << 13)) & (kPlaces - 1);
