// Texts and ids by the plain exports of bindings/tokenizer.cpp: for a short text, Embind's values take many times as long as tokenizing.
import { Room } from './room.js';
import type { Answer, SeamEncodeOptions, TextCalls } from './seam.js';
import type { Instance } from './wasm_loader.js';

/** Numbers are addresses, counts and flags; addresses come back signed. */
interface Exports {
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
  text_pieces(tokenizer: number, ids: number, flags: number): number;
}

/** The optional arrays of an EncodeAnswer, as in FlatEncodings::Wanted. */
export const kArrays = { type_ids: 1, offsets: 2, special_tokens_mask: 4, word_ids: 8, sequence_ids: 16, per_encoding: 32 };
const kAllArrays = 63;

const kStrategies: readonly unknown[] = ['longest_first', 'only_first', 'only_second'];

const kLongest = 2 ** 31 - 1;

// Words of 32 bits in TextAnswer: the code, the text, then the arrays, each an address and a count.
const kText = 1;
const kIds = 3;
const [kTypeIds, kOffsets, kMask, kWordIds, kSequenceIds, kLengths, kUntruncated, kUnknown, kTextIndex, kTokens] = [
  5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
] as const;

const kNone = new Int32Array();

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
  instance: Instance<unknown>,
  handle: Handle,
  room = new Room(instance),
): Handle & TextCalls {
  const { text_encode, text_decode, text_tokens, text_pieces } = instance.exports as unknown as Exports;
  let own = 0;
  const tokenizer = () => (own ||= handle.tokenizer() >>> 0);

  /** Word `at` of an answer, which is an address or a count. */
  const word = (at: number): number => (room.words[at] as number) >>> 0;
  const numbers = (at: number, each = 1): Int32Array => room.numbers(word(at), each * word(at + 1));
  const text = (at: number): string => room.string(word(at + kText), word(at + kText + 1));
  const tokens = <T = string>(at: number, without?: (length: number) => T): (string | T)[] => {
    let begin = word(at + kText);
    return Array.from(numbers(at + kTokens), (length) =>
      length < 0 ? without!(length) : room.string((begin += length) - length, length),
    );
  };

  /** The answer, or an error in its place. */
  const answer = <A extends Answer>(address: number, read: (at: number) => A): A => {
    room.reach((address >>> 0) + 4 * (kTokens + 2));
    const at = address >>> 2;
    const code = word(at);
    return code === 0 ? read(at) : ({ code, message: text(at) } as A);
  };

  const encode: TextCalls['encode'] = (texts, pairs, options) => {
    const used = room.writeTexts(pairs ? [...texts, ...pairs] : texts);
    const { max_length = 0, overlap = 0, arrays = kAllArrays, return_tokens } = options;
    const ints = (array: number, at: number, each?: number) => (arrays & array ? numbers(at, each) : kNone);
    return answer(
      text_encode(tokenizer(), used, texts.length, pairs?.length ?? 0, toFlags(options), Math.min(max_length, kLongest), overlap),
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
      room.writeIds(ids);
      const address = text_decode(tokenizer(), ids.length, (skipSpecialTokens ? 1 : 0) | (cleanUpSpaces ? 2 : 0));
      return answer(address, (at) => ({ code: 0, message: '', text: text(at) }));
    },
    decode_pieces(ids: ArrayLike<number>, flags: number) {
      room.writeIds(ids);
      const without = (length: number) => (length === -1 ? null : undefined);
      return answer(text_pieces(tokenizer(), ids.length, flags), (at) => ({ code: 0, message: '', pieces: tokens(at, without) }));
    },
    ids_to_tokens(ids: ArrayLike<number>) {
      room.writeIds(ids);
      return answer(text_tokens(tokenizer(), ids.length), (at) => ({ code: 0, message: '', tokens: tokens(at) }));
    },
  });
}
