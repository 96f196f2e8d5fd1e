// Texts and ids by the plain exports of bindings/tokenizer.cpp: for a short text, Embind's values take many times as long as tokenizing.
import type { Answer, SeamEncodeOptions, TextCalls } from './seam.js';
import type { Instance } from './wasm_loader.js';

/** Numbers are addresses, counts and flags; addresses come back signed. */
interface Exports {
  text_room(bytes: number): number;
  text_encode(
    tokenizer: number,
    bytes: number,
    texts: number,
    pairs: number,
    flags: number,
    maxLength: number,
    overlap: number,
  ): number;
  text_decode(tokenizer: number, ids: number, flags: number): number;
  text_tokens(tokenizer: number, ids: number): number;
}

/** The optional arrays of an EncodeAnswer, as in FlatEncodings::Wanted. */
export const kArrays = { type_ids: 1, offsets: 2, special_tokens_mask: 4, word_ids: 8, sequence_ids: 16, per_encoding: 32 };
const kAllArrays = 63;

const kStrategies: readonly unknown[] = ['longest_first', 'only_first', 'only_second'];

/** The room that is kept. Longer texts get one of their size for the call. */
const kRoomBytes = 1 << 16;
const kLongest = 2 ** 31 - 1;

// Words of 32 bits in TextAnswer: the code, the text, then the arrays, each an address and a count.
const kText = 1;
const kIds = 3;
const [kTypeIds, kOffsets, kMask, kWordIds, kSequenceIds, kLengths, kUntruncated, kUnknown, kTextIndex, kTokens] = [
  5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
] as const;

const kNone = new Int32Array();
const kNoBytes = new Uint8Array();
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The flags of to_encode_options() in C++, with the arrays. */
export function toFlags(options: SeamEncodeOptions): number {
  return (
    (options.add_special_tokens === false ? 0 : 1) |
    (options.split_special_tokens ? 2 : 0) |
    (options.truncation_side === 'left' ? 4 : 0) |
    (options.return_overflowing ? 8 : 0) |
    (options.return_tokens ? 16 : 0) |
    (options.max_length == null ? 0 : 32) |
    (Math.max(0, kStrategies.indexOf(options.strategy)) << 6) |
    ((options.arrays ?? kAllArrays) << 8)
  );
}

/** A handle with the calls for texts. */
export function withTextCalls<Handle extends { tokenizer(): number }>(
  { memory, exports }: Instance<unknown>,
  handle: Handle,
): Handle & TextCalls {
  const { text_room, text_encode, text_decode, text_tokens } = exports as unknown as Exports;
  // Not an instanceof: the buffer may be of another realm.
  const isShared = Object.prototype.toString.call(memory.buffer) === '[object SharedArrayBuffer]';
  let tokenizer = 0;
  // Views of the memory are kept. Growing it detaches its buffer, which empties them; a shared one only becomes longer.
  let bytes = kNoBytes;
  let words = kNone;
  // The room's address and size, and its bytes.
  let room = 0;
  let size = 0;
  let page = bytes;

  /** Makes sure that the views reach to an address. */
  const reach = (end: number): void => {
    if (end <= bytes.length) return;
    bytes = new Uint8Array(memory.buffer);
    words = new Int32Array(memory.buffer);
    page = bytes.subarray(room, room + size);
  };

  /** Before each call, which also notices that another call has grown the memory. */
  const makeRoom = (wanted: number): void => {
    if (wanted > size || size > kRoomBytes) {
      size = 0;
      room = text_room((wanted = Math.max(wanted, kRoomBytes))) >>> 0;
      size = wanted;
      bytes = kNoBytes; // page is another one now
    }
    reach(room + size);
    tokenizer ||= handle.tokenizer() >>> 0;
  };

  /** Writes texts and their lengths to the room. Returns the bytes of the texts. Engines refuse to encode into shared memory. */
  const writeTexts = (texts: readonly string[]): number => {
    let most = 4 * texts.length + 4;
    for (const text of texts) most += 3 * text.length;
    const isCopied = isShared || most > kRoomBytes;
    if (!isCopied) makeRoom(most);
    const to = isCopied ? new Uint8Array(most) : page; // unwritten pages cost no memory
    let used = 0;
    for (const text of texts) used += encoder.encodeInto(text, used === 0 ? to : to.subarray(used)).written;
    if (isCopied) {
      makeRoom(used + 4 * texts.length + 4);
      bytes.set(to.subarray(0, used), room);
    }
    let at = (room + used + 3) >>> 2;
    for (const text of texts) words[at++] = text.length;
    return used;
  };

  const writeIds = (ids: ArrayLike<number>): void => {
    makeRoom(4 * ids.length);
    let at = room >>> 2;
    for (let i = 0; i < ids.length; ++i) words[at++] = ids[i] as number;
  };

  /** The place of an answer in words. */
  const placeOf = (address: number): number => {
    reach((address >>> 0) + 4 * (kTokens + 2));
    return address >>> 2;
  };

  /** Numbers of 32 bits, copied. */
  const numbers = (at: number, each = 1): Int32Array => {
    const address = (words[at] as number) >>> 0;
    const count = each * (words[at + 1] as number);
    reach(address + 4 * count);
    return words.slice(address >>> 2, (address >>> 2) + count);
  };

  const string = (begin: number, length: number): string => {
    reach(begin + length);
    return decoder.decode(isShared ? bytes.slice(begin, begin + length) : bytes.subarray(begin, begin + length));
  };
  const text = (at: number): string => string((words[at + kText] as number) >>> 0, (words[at + kText + 1] as number) >>> 0);
  const tokens = (at: number): string[] => {
    let begin = (words[at + kText] as number) >>> 0;
    return Array.from(numbers(at + kTokens), (length) => string((begin += length) - length, length));
  };

  /** The answer, or an error in its place. */
  const answer = <A extends Answer>(address: number, read: (at: number) => A): A => {
    const at = placeOf(address);
    const code = words[at] as number;
    return code === 0 ? read(at) : ({ code, message: text(at) } as A);
  };

  const encode: TextCalls['encode'] = (texts, pairs, options) => {
    const used = writeTexts(pairs ? [...texts, ...pairs] : texts);
    const { max_length = 0, overlap = 0, arrays = kAllArrays, return_tokens } = options;
    const ints = (array: number, at: number, each?: number) => (arrays & array ? numbers(at, each) : kNone);
    return answer(
      text_encode(tokenizer, used, texts.length, pairs?.length ?? 0, toFlags(options), Math.min(max_length, kLongest), overlap),
      (at) => ({
        code: 0,
        message: '',
        ids: numbers(at + kIds),
        type_ids: ints(kArrays.type_ids, at + kTypeIds),
        offsets: ints(kArrays.offsets, at + kOffsets, 2),
        special_tokens_mask: ints(kArrays.special_tokens_mask, at + kMask),
        word_ids: ints(kArrays.word_ids, at + kWordIds),
        sequence_ids: ints(kArrays.sequence_ids, at + kSequenceIds),
        lengths: ints(kArrays.per_encoding, at + kLengths),
        untruncated: ints(kArrays.per_encoding, at + kUntruncated),
        unknown: new Float32Array(ints(kArrays.per_encoding, at + kUnknown).buffer),
        text: ints(kArrays.per_encoding, at + kTextIndex),
        tokens: return_tokens ? tokens(at) : undefined,
      }),
    );
  };

  return Object.assign(handle, {
    encode,
    decode(ids: ArrayLike<number>, skipSpecialTokens: boolean, cleanUpSpaces: boolean) {
      writeIds(ids);
      const address = text_decode(tokenizer, ids.length, (skipSpecialTokens ? 1 : 0) | (cleanUpSpaces ? 2 : 0));
      return answer(address, (at) => ({ code: 0, message: '', text: text(at) }));
    },
    ids_to_tokens(ids: ArrayLike<number>) {
      writeIds(ids);
      return answer(text_tokens(tokenizer, ids.length), (at) => ({ code: 0, message: '', tokens: tokens(at) }));
    },
  });
}
