// What a call of a tokenizer asks for: its options checked, its texts and ids as arrays.
import { describe, InputError } from '../core/errors.js';
import type { Rules } from '../core/options.js';
import type { Tensor } from '../core/tensor.js';
import { readTexts } from '../core/texts.js';
import { EncodedArrays } from '../host/wire.js';
import type { TokenizerConfig } from './config.js';
import { kCountRules } from './count_rules.js';
import type { Wanted } from './layout.js';
import type { TokenizeOptions } from './types.js';

export const kSides = ['left', 'right'] as const;
const kStrategies = ['longest_first', 'only_first', 'only_second'] as const;
const kPaddings = [false, true, 'longest', 'max_length'];
const kTruncations = [false, true, ...kStrategies];

export const kEncodeRules: Rules = {
  text_pair: 'any',
  truncation: 'any',
  max_length: 'count',
  add_special_tokens: 'boolean',
  split_special_tokens: 'boolean',
};

/** `worker`: batches.ts says what it may be. */
export const kBatchRules: Rules = { ...kEncodeRules, worker: 'any', signal: 'signal' };

export const kTokenizeRules: Rules = {
  ...kEncodeRules,
  padding: 'any',
  padding_side: kSides,
  return_offsets_mapping: 'boolean',
  offsets: ['utf16', 'codepoint'],
  return_special_tokens_mask: 'boolean',
  return_token_type_ids: 'boolean',
  return_attention_mask: 'boolean',
  return_overflowing_tokens: 'boolean',
  overlap: 'index',
  return_tensor: 'boolean',
};

export const kChunkRules: Rules = { ...kCountRules, max_tokens: 'count', overlap: 'index' };

export const kDecodeRules: Rules = { skip_special_tokens: 'boolean', clean_up_tokenization_spaces: 'boolean' };

export function oneOf(name: string, value: unknown, known: readonly unknown[]): void {
  if (value === undefined || value === null || known.includes(value)) return;
  const shown = known.map((each) => (typeof each === 'string' ? `'${each}'` : String(each))).join(', ');
  throw new InputError(`tokenizer: option '${name}': expected ${shown}, found ${describe(value)}`);
}

/** The truncation and padding that Python would apply. Where Python only warns, this throws an InputError. */
function toLengths(
  options: TokenizeOptions,
  limit: number,
): { padTo: Wanted['padTo']; max_length?: number; strategy?: (typeof kStrategies)[number] } {
  oneOf('padding', options.padding, kPaddings);
  oneOf('truncation', options.truncation, kTruncations);
  const padding = options.padding ?? false;
  const given = options.max_length ?? undefined;
  const truncation = options.truncation ?? (given !== undefined && padding === false);
  if (given !== undefined && truncation === false && padding !== 'max_length') {
    throw new InputError("tokenizer: option 'max_length' has no effect here: set truncation: true or padding: 'max_length'");
  }
  const length = given ?? limit;
  if ((truncation !== false || padding === 'max_length') && !Number.isFinite(length)) {
    throw new InputError(
      "tokenizer: option 'max_length': expected a number, because this tokenizer's files define no limit; found none",
    );
  }
  const padTo = padding === 'max_length' ? length : padding === false ? undefined : 'longest';
  if (truncation === false) return { padTo, max_length: undefined, strategy: undefined };
  return { padTo, max_length: length, strategy: truncation === true ? 'longest_first' : truncation };
}

function toPairs(texts: readonly string[], isOne: boolean, pair: unknown): readonly string[] | undefined {
  if (pair === undefined || pair === null || (pair === '' && isOne)) return undefined;
  const list = readTexts("tokenizer: option 'text_pair'", pair);
  if ((typeof pair === 'string') !== isOne || list.length !== texts.length) {
    const wanted = isOne ? 'a string' : `an array of ${texts.length} strings`;
    const found = typeof pair === 'string' ? 'a string' : `an array of ${list.length}`;
    throw new InputError(`tokenizer: option 'text_pair': expected ${wanted} like the first argument, found ${found}`);
  }
  return list;
}

/** The optional arrays that layOut needs. */
export function arraysFor(options: TokenizeOptions, config: TokenizerConfig): number {
  return (
    EncodedArrays.per_encoding |
    ((options.return_token_type_ids ?? config.type_ids) ? EncodedArrays.type_ids : 0) |
    (options.return_offsets_mapping ? EncodedArrays.offsets | EncodedArrays.sequence_ids : 0) |
    (options.return_special_tokens_mask ? EncodedArrays.special_tokens_mask : 0)
  );
}

const kMostPaddedIds = 2 ** 27; // a gigabyte in each array of 64-bit ids

export function toWanted(
  texts: unknown,
  options: TokenizeOptions,
  config: TokenizerConfig,
  limit: number,
  arrays: number,
  return_tokens?: boolean,
): Wanted {
  const list = readTexts('tokenizer', texts);
  const { padTo, max_length, strategy } = toLengths(options, limit);
  const overlap = options.overlap ?? undefined;
  if (overlap !== undefined && !options.return_overflowing_tokens) {
    throw new InputError("tokenizer: option 'overlap' has no effect without return_overflowing_tokens: true");
  }
  const count = list.length;
  if (typeof padTo === 'number' && padTo * count > kMostPaddedIds) {
    throw new InputError(
      `tokenizer: option 'max_length': expected ${count} texts padded to it to have at most ${kMostPaddedIds} ids, found ${padTo} ids each`,
    );
  }
  return {
    texts: list,
    pairs: toPairs(list, typeof texts === 'string', options.text_pair),
    padTo,
    seam: {
      max_length,
      strategy,
      add_special_tokens: options.add_special_tokens,
      split_special_tokens: options.split_special_tokens,
      truncation_side: config.truncation_side,
      overlap,
      return_overflowing: options.return_overflowing_tokens,
      return_tokens,
      arrays,
    },
  };
}

/** Validates the ids of one text. */
export function toIds(where: string, ids: unknown): ArrayLike<number> {
  if (Array.isArray(ids) && areIdsOfNumbers(ids)) return ids;
  let list = ids;
  if (list !== null && typeof list === 'object' && 'dims' in list) {
    const { dims, data } = list as Tensor;
    if (dims.length !== 1 && !(dims.length === 2 && dims[0] === 1)) {
      throw new InputError(`${where}: expected the ids of one text, found a Tensor of dims [${dims}]`);
    }
    list = data;
  }
  if (!Array.isArray(list) && !ArrayBuffer.isView(list)) {
    throw new InputError(`${where}: expected an array of token ids, found ${describe(ids)}`);
  }
  const given = list as ArrayLike<number>;
  if (given instanceof Int32Array && areIdsOfInts(given)) return given;
  const { length = 0 } = given; // a DataView has none
  let isBig = false;
  for (let i = 0; i < length; ++i) {
    const id: unknown = given[i];
    if (typeof id === 'bigint') isBig = true;
    const value = (typeof id === 'bigint' ? Number(id) : id) as number;
    if ((value | 0) !== value || value < 0)
      throw new InputError(`${where}: expected a token id at index ${i}, found ${describe(id)}`);
  }
  if (isBig) return Array.from(given, Number);
  return length > 0 ? given : [];
}

// A loop for each kind of array: engines make slow code of one that reads many kinds.
function areIdsOfInts(ids: Int32Array): boolean {
  let all = 0;
  for (let i = 0; i < ids.length; ++i) all |= ids[i] as number;
  return all >= 0;
}
function areIdsOfNumbers(ids: readonly unknown[]): boolean {
  for (let i = 0; i < ids.length; ++i) {
    const id = ids[i];
    if (typeof id !== 'number' || (id | 0) !== id || id < 0) return false;
  }
  return true;
}
