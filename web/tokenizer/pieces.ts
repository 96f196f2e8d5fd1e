// Decoded tokens, kept as strings: joining them takes a third of the time of decoding a short text in WebAssembly.
import type { Piece } from '../host/seam.js';
import { DecodeFlags } from '../host/wire.js';

/**
 * Places of tokens: twice as many as soon as one falls on another's, up to more than any vocabulary of today needs; then it replaces the other. A
 * token that is kept takes some 30 bytes, and a place 12.
 */
const kFewestPlaces = 1 << 15;
const kMostPlaces = 1 << 18;
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
  private keys = new Int32Array(kFewestPlaces).fill(-1);
  private texts: Piece[] = new Array<Piece>(kFewestPlaces);

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
    const { length } = ids;
    if (length > kMostTokens) return undefined;
    const flags = skipSpecialTokens ? kSkipping : 0;
    let { keys, texts } = this;
    let own = flags | this.first;
    let text = '';
    let fetches = 0;
    for (let i = 0; i < length; ++i) {
      const id = ids[i] as number;
      if (keys[placeIn(keys, id, own)] !== 4 * id + own) {
        if (id >= kMostId || ++fetches > kMostFetches) return undefined;
        this.fetch(ids, i, own);
        ({ keys, texts } = this);
      }
      const piece = texts[placeIn(keys, id, own)];
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
    const place = placeIn(this.keys, id, own);
    if (this.keys[place] === 4 * id + own) return this.texts[place];
    if (id >= kMostId) return undefined;
    this.fetch([id], 0, own);
    return this.texts[placeIn(this.keys, id, own)];
  }

  /** Asks for the token at `begin`, and for those after it and near it that are not here, unless it is the first of its text. */
  private fetch(ids: ArrayLike<number>, begin: number, flags: number): void {
    const end = flags & kFirst ? begin + 1 : Math.min(ids.length, begin + kFetched);
    const wanted = new Set<number>();
    for (let i = begin; i < end; ++i) {
      const id = ids[i] as number;
      if (id < kMostId && this.keys[placeIn(this.keys, id, flags)] !== 4 * id + flags) wanted.add(id);
    }
    const near = (ids[begin] as number) & -kNeighbours;
    for (let id = near; !(flags & kFirst) && id < near + kNeighbours; ++id) {
      if (this.keys[placeIn(this.keys, id, flags)] === -1) wanted.add(id);
    }
    const list = [...wanted];
    const pieces = this.ask(list, flags);
    // Backwards: of those with one place the first stays, which is read next.
    for (let i = list.length - 1; i >= 0; --i) {
      this.keep(list[i] as number, flags, pieces[i]);
    }
  }

  private keep(id: number, flags: number, piece: Piece): void {
    const key = 4 * id + flags;
    let place = placeIn(this.keys, id, flags);
    while (this.keys[place] !== -1 && this.keys[place] !== key && this.keys.length < kMostPlaces) {
      this.enlarge();
      place = placeIn(this.keys, id, flags);
    }
    this.keys[place] = key;
    this.texts[place] = piece;
  }

  private enlarge(): void {
    const { keys, texts } = this;
    this.keys = new Int32Array(2 * keys.length).fill(-1);
    this.texts = new Array<Piece>(2 * keys.length);
    keys.forEach((key, from) => {
      if (key < 0) return;
      const place = placeIn(this.keys, key >> 2, key & 3);
      this.keys[place] = key;
      this.texts[place] = texts[from];
    });
  }
}

const placeIn = (keys: Int32Array, id: number, flags: number): number => (id ^ (flags << 16)) & (keys.length - 1);
