// Texts and ids by the plain exports of bindings/tokenizer.cpp: for a short text, Embind's values take many times as long as tokenizing.
import { Room } from './room.js';
import type { Answer, SeamEncodeOptions, SeamModel, SeamTokenizerHandle, SeamTrainingHandle, TextCalls } from './seam.js';
import { DecodeFlags, EncodedArrays, EncodeFlags, kTruncationStrategyWords } from './wire.js';
import { withCalls } from './wire_calls.js';
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

const kLongest = 2 ** 31 - 1;

// Words of 32 bits in FlatAnswer: the code, the text, then the arrays, each an address and a count.
const kText = 1;
const kIds = 3;
const [kTypeIds, kOffsets, kMask, kWordIds, kSequenceIds, kLengths, kUntruncated, kUnknown, kTextIndex, kTokens] = [
  5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
] as const;

const kNone = new Int32Array();

const flag = (is: boolean, bit: number): number => (is ? bit : 0);

/** EncodeFlags. */
function toFlags(options: SeamEncodeOptions): number {
  const strategy = kTruncationStrategyWords.indexOf(options.strategy ?? 'longest_first');
  return (
    flag(options.add_special_tokens !== false, EncodeFlags.add_special_tokens) |
    flag(options.split_special_tokens === true, EncodeFlags.split_special_tokens) |
    flag(options.truncation_side === 'left', EncodeFlags.truncates_left) |
    flag(options.return_overflowing === true, EncodeFlags.return_overflowing) |
    flag(options.return_tokens === true, EncodeFlags.return_tokens) |
    flag(options.max_length != null, EncodeFlags.has_max_length) |
    (strategy * EncodeFlags.strategy) |
    ((options.arrays ?? EncodedArrays.all) * EncodeFlags.arrays)
  );
}

/** Bytes of UTF-8 for a unit of UTF-16; a character beyond 16 bits has four, and two units. */
const bytesOfUnit = (unit: number): number => (unit < 0x80 ? 1 : unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3);

/** The calls for texts of a tokenizer in C++, whose address stays what it was at first. */
function textCalls(instance: Instance, room: Room, addressOf: () => number): TextCalls {
  const { text_encode, text_decode, text_pieces, text_tokens } = instance.exports as unknown as Exports;
  let own = 0;
  const tokenizer = () => (own ||= addressOf() >>> 0);

  /** Word `at` of an answer, which is an address or a count. */
  const word = (at: number): number => (room.words[at] as number) >>> 0;
  const numbers = (at: number, each = 1): Int32Array => room.numbers(word(at), each * word(at + 1));
  const text = (at: number): string => room.string(word(at + kText), word(at + kText + 1));
  const tokens = <T = string>(at: number, without?: (length: number) => T): (string | T)[] => {
    // Cut out of one string, as each call of a TextDecoder takes longer than most tokens.
    const all = text(at);
    const isLossless = !all.includes('\ufffd');
    let begin = word(at + kText);
    let unit = 0;
    return Array.from(numbers(at + kTokens), (length) => {
      if (length < 0) return without!(length);
      if (!isLossless) return room.string((begin += length) - length, length);
      const from = unit;
      for (let left = length; left > 0; left -= bytesOfUnit(all.charCodeAt(unit++)));
      return all.slice(from, unit);
    });
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
    const { max_length = 0, overlap = 0, arrays = EncodedArrays.all, return_tokens } = options;
    const ints = (array: number, at: number, each?: number) => (arrays & array ? numbers(at, each) : kNone);
    return answer(
      text_encode(tokenizer(), used, texts.length, pairs?.length ?? 0, toFlags(options), Math.min(max_length, kLongest), overlap),
      (at) => ({
        code: 0,
        message: '',
        ids: numbers(at + kIds),
        type_ids: ints(EncodedArrays.type_ids, at + kTypeIds),
        offsets: ints(EncodedArrays.offsets, at + kOffsets, 2),
        special_tokens_mask: ints(EncodedArrays.special_tokens_mask, at + kMask),
        word_ids: ints(EncodedArrays.word_ids, at + kWordIds),
        sequence_ids: ints(EncodedArrays.sequence_ids, at + kSequenceIds),
        lengths: ints(EncodedArrays.per_encoding, at + kLengths),
        untruncated: ints(EncodedArrays.per_encoding, at + kUntruncated),
        unknown: new Float32Array(ints(EncodedArrays.per_encoding, at + kUnknown).buffer),
        text: ints(EncodedArrays.per_encoding, at + kTextIndex),
        tokens: return_tokens ? tokens(at) : undefined,
      }),
    );
  };

  return {
    encode,
    decode(ids: ArrayLike<number>, skipSpecialTokens: boolean, cleanUpSpaces: boolean) {
      room.writeIds(ids);
      const address = text_decode(
        tokenizer(),
        ids.length,
        flag(skipSpecialTokens, DecodeFlags.skip_special_tokens) | flag(cleanUpSpaces, DecodeFlags.clean_up_spaces),
      );
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
  };
}

/** A new handle of C++ at the address that `make` gives. */
const made = (make: (() => number) | undefined) => make!() >>> 0;

export function modelHandle(instance: Instance): SeamModel {
  const { seam } = instance;
  const [room, address] = [new Room(instance), made(seam.make_model)];
  const texts = textCalls(instance, room, () => seam.model_tokenizer!(address));
  return Object.assign(withCalls<SeamModel>(instance, room, address, 'Model'), texts);
}

export function tokenizerHandle(instance: Instance): SeamTokenizerHandle {
  const { seam } = instance;
  const [room, address] = [new Room(instance), made(seam.make_tokenizer)];
  const texts = textCalls(instance, room, () => seam.tokenizer_of(address));
  return Object.assign(withCalls<SeamTokenizerHandle>(instance, room, address, 'Tokenizer'), texts);
}

export const trainingHandle = (instance: Instance): SeamTrainingHandle =>
  withCalls<SeamTrainingHandle>(instance, new Room(instance), made(instance.seam.make_training), 'Training');
