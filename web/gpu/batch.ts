// What a batch brings to a device.
import type { DeviceBatchAnswer } from '../host/seam.js';
import { kQueries } from './shaders/attention.js';

/** Sequences that lie end to end. */
export interface Sequences {
  ids: Int32Array; // [tokens]
  typeIds: Int32Array; // [tokens]
  starts: Int32Array; // [sequences + 1]
  skip: Int32Array; // [sequences]
  /** Where they go on, with a cache. */
  slots?: { numbers: ArrayLike<number>; firsts: ArrayLike<number> } | undefined; // [sequences]: the slots, and the positions of the first tokens
}

/** A run of the windows [begin, end). */
export function windowsOf({ ids, type_ids, starts, skip }: DeviceBatchAnswer, begin: number, end: number): Sequences {
  const from = starts[begin]!;
  const to = starts[end]!;
  return {
    ids: ids.subarray(from, to),
    typeIds: type_ids.subarray(from, to),
    starts: starts.subarray(begin, end + 1).map((start) => start - from),
    skip: skip.subarray(begin, end),
  };
}

/** Some tokens of a slot, from a position on. */
export interface Piece {
  slot: number;
  position: number;
  ids: ArrayLike<number>;
}

export function sequencesOf(pieces: readonly Piece[]): Sequences {
  const starts = Int32Array.of(0, ...pieces.map(({ ids }) => ids.length));
  for (let i = 1; i < starts.length; ++i) starts[i]! += starts[i - 1]!;
  const ids = new Int32Array(starts[pieces.length]!);
  pieces.forEach((piece, i) => ids.set(piece.ids, starts[i]));
  const slots = { numbers: pieces.map(({ slot }) => slot), firsts: pieces.map(({ position }) => position) };
  return { ids, typeIds: new Int32Array(ids.length), starts, skip: new Int32Array(pieces.length), slots };
}

/** The positions of tokens, in several forms. padding: as IdsOf::kAfterPadding of src/ops/op.h. */
export function positionsOf({ ids, starts, slots }: Sequences, padding?: number): Uint32Array {
  const out = new Uint32Array(ids.length);
  for (let i = 0; i + 1 < starts.length; ++i) {
    let last = padding ?? (slots?.firsts[i] ?? 0) - 1;
    for (let t = starts[i]!; t < starts[i + 1]!; ++t) out[t] = ids[t] === padding ? padding! : ++last;
  }
  return out;
}

/** For each workgroup of attention(): two vectors of 4. length: tokens of a slot. */
export function blocksOf({ starts, slots }: Sequences, length: number): Uint32Array {
  const out: number[] = [];
  for (let i = 0; i + 1 < starts.length; ++i) {
    const [begin, end] = [starts[i]!, starts[i + 1]!];
    const [key, position] = slots ? [slots.numbers[i]! * length, slots.firsts[i]!] : [begin, 0];
    for (let query = begin; query < end; query += kQueries) out.push(begin, end, query, 0, key, position, 0, 0);
  }
  return Uint32Array.from(out);
}

/** For each token the row of its sequence's first key, and its position. */
export function placesOf(sequences: Sequences, length: number): Uint32Array {
  const { starts, slots } = sequences;
  const out = new Uint32Array(2 * sequences.ids.length);
  positionsOf(sequences).forEach((position, t) => (out[2 * t + 1] = position));
  for (let i = 0; i + 1 < starts.length; ++i)
    for (let t = starts[i]!; t < starts[i + 1]!; ++t) out[2 * t] = slots!.numbers[i]! * length;
  return out;
}
