// Turns the flat arrays from WebAssembly into a tokenizer's result: rows, padded or not, as Tensors or arrays.
import { env } from '../core/env.js';
import { InputError } from '../core/errors.js';
import type { EncodeAnswer, SeamEncodeOptions } from '../host/seam.js';
import { Tensor } from '../core/tensor.js';
import type { Encoding, EncodingLookUps, TokenizeOptions } from './types.js';

/** The request of one tokenizer call. */
export interface Wanted {
  texts: readonly string[];
  pairs: readonly string[] | undefined;
  /** The length that rows are padded to: a number, 'longest', or undefined for no padding. */
  padTo: number | 'longest' | undefined;
  seam: SeamEncodeOptions;
}

interface Layout {
  left: boolean;
  type_ids: boolean;
  /** The id of padding. */
  pad: number;
  /** Whether the arrays of a single text come without the outer array. */
  flat: boolean;
  /** The offsets of an answer, in the units that the caller wants. */
  offsets: (answer: EncodeAnswer) => Int32Array;
}

export interface Row {
  begin: number; // in the flat arrays
  length: number;
  width: number; // with padding
}

export function toRows(lengths: Int32Array, padTo: Wanted['padTo']): Row[] {
  const longest = padTo === 'longest' ? lengths.reduce((most, length) => Math.max(most, length), 0) : (padTo ?? 0);
  const rows: Row[] = [];
  let begin = 0;
  for (const length of lengths) {
    rows.push({ begin, length, width: Math.max(length, longest) });
    begin += length;
  }
  return rows;
}

/** Writes the values of one row, leaving room for padding. per: numbers per token. */
function fillRow(out: Int32Array, flat: ArrayLike<number>, row: Row, left: boolean, per: number): void {
  const shift = left ? row.width - row.length : 0;
  for (let i = 0; i < row.length * per; ++i) out[shift * per + i] = flat[row.begin * per + i] as number;
}

/** 32 bits hold every id; transformers.js has 64. */
function idTensor(ids: Int32Array, dims: number[]): Tensor {
  const tensor = new Tensor('int32', ids, dims);
  return env.compat ? tensor.to('int64') : tensor;
}

type Lay = (flat: ArrayLike<number> | 'ones', pad: number, per?: number) => unknown;

function layAsTensor(rows: readonly Row[], left: boolean): Lay {
  const width = rows[0]?.width ?? 0;
  const other = rows.findIndex((row) => row.width !== width);
  if (other >= 0) {
    throw new InputError(
      `tokenizer: expected rows of one length for a Tensor, found ${width} and ${rows[other]?.width} tokens: ` +
        'set padding: true (and truncation: true), or return_tensor: false',
    );
  }
  const padded = rows.some((row) => row.length < width);
  return (flat, pad, per = 1) => {
    const dims = per === 1 ? [rows.length, width] : [rows.length, width, per];
    if (!padded && flat instanceof Int32Array) return idTensor(flat, dims);
    const size = width * per;
    const out = new Int32Array(rows.length * size).fill(pad);
    rows.forEach((row, i) => {
      const part = out.subarray(i * size, (i + 1) * size);
      if (flat === 'ones') part.fill(1, left ? width - row.length : 0, left ? width : row.length);
      else fillRow(part, flat, row, left, per);
    });
    return idTensor(out, dims);
  };
}

/** As a plain array. The loop is several times faster than the typed array's iterator. */
export function toList(flat: ArrayLike<number>): number[] {
  const list = new Array<number>(flat.length);
  for (let i = 0; i < list.length; ++i) list[i] = flat[i] as number;
  return list;
}

function toRow(flat: ArrayLike<number> | 'ones', row: Row, left: boolean, pad: number): number[] {
  const shift = left ? row.width - row.length : 0;
  const list = new Array<number>(row.width);
  if (row.width > row.length) list.fill(pad);
  if (flat === 'ones') return list.fill(1, shift, shift + row.length);
  for (let i = 0; i < row.length; ++i) list[shift + i] = flat[row.begin + i] as number;
  return list;
}

function toPairs(flat: ArrayLike<number>, row: Row, left: boolean): number[][] {
  const shift = left ? row.width - row.length : 0;
  return Array.from({ length: row.width }, (_, i) => {
    const at = 2 * (row.begin + i - shift);
    return i < shift || i - shift >= row.length ? [0, 0] : [flat[at] as number, flat[at + 1] as number];
  });
}

function layAsArrays(rows: readonly Row[], left: boolean, flatten: boolean): Lay {
  return (flat, pad, per = 1) => {
    const lists = rows.map((row) => (per === 1 ? toRow(flat, row, left, pad) : toPairs(flat as ArrayLike<number>, row, left)));
    return flatten ? lists[0] : lists;
  };
}

/** What a call says of its rows. */
export interface Facts {
  truncated: boolean[];
  unknown: number[];
}

export function factsOf({ lengths, untruncated, unknown }: EncodeAnswer): Facts {
  const truncated = new Array<boolean>(lengths.length);
  for (let i = 0; i < lengths.length; ++i) truncated[i] = (untruncated[i] as number) > (lengths[i] as number);
  return { truncated, unknown: toList(unknown) };
}

/** Sets the arrays of a call on its result. */
export function layOut(
  answer: EncodeAnswer,
  wanted: Wanted,
  options: TokenizeOptions,
  { left, type_ids, pad, flat, offsets }: Layout,
  result: object,
): Omit<Encoding<unknown, unknown, unknown>, keyof Facts | keyof EncodingLookUps> {
  const out = result as Omit<Encoding<unknown, unknown, unknown>, keyof Facts | keyof EncodingLookUps>;
  const rows = toRows(answer.lengths, wanted.padTo);
  const tensor = options.return_tensor ?? true;
  const lay = tensor ? layAsTensor(rows, left) : layAsArrays(rows, left, flat);
  out.input_ids = lay(answer.ids, pad);
  if (options.return_attention_mask ?? true) out.attention_mask = lay('ones', 0);
  if (options.return_token_type_ids ?? type_ids) out.token_type_ids = lay(answer.type_ids, 0);
  if (options.return_offsets_mapping) {
    out.offset_mapping = lay(offsets(answer), 0, 2);
  }
  if (options.return_special_tokens_mask) out.special_tokens_mask = lay(answer.special_tokens_mask, 1);
  if (options.return_overflowing_tokens) {
    out.overflow_to_sample_mapping = tensor ? idTensor(answer.text, [rows.length]) : toList(answer.text);
  }
  return out;
}
