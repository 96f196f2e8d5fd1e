// Calls into WebAssembly as wire.ts declares them: arguments are written to the room, and answers are read from memory (bindings/wire.h).
import { joinTexts } from '../core/texts.js';
import type { WireSeam } from './plain_module.js';
import { Room, type Part } from './room.js';
import { kCalls, type Answer } from './wire.js';
import type { Instance } from './wasm_loader.js';

const encoder = new TextEncoder();
/** The kinds of arguments, as in Arguments of bindings/wire.h. */
const [kNone, kNumber, kBytes, kInts, kFloats, kTexts, kList] = [0, 1, 2, 3, 4, 5, 6] as const;
const kNothing: readonly Part[] = [[kNone, 0]];

const bytes = (values: Uint8Array): Part => [kBytes, values.length, values];
const text = (value: string): Part => bytes(encoder.encode(value));
const ints = (values: ArrayLike<number>): Part => [kInts, values.length, Int32Array.from(values)];
const floats = (values: ArrayLike<number>): Part => [kFloats, values.length, Float32Array.from(values)];
const list = (parts: readonly Part[]): Part[] => [[kList, parts.length], ...parts];

/** How each kind of argument is written: the letters of kCalls. */
const kWrite: Record<string, (value: any) => Part[]> = {
  n: (value: number | boolean) => [[kNumber, 1, Number(value)]],
  s: (value: string) => [text(value)],
  o: (value: object) => [text(JSON.stringify(value))],
  b: (value: Uint8Array) => [bytes(value)],
  i: (values: ArrayLike<number>) => [ints(values)],
  f: (values: ArrayLike<number>) => [floats(values)],
  t(values: readonly string[]) {
    const joined = joinTexts(values);
    return values.length > 0 ? [[kTexts, values.length, joined.lengths], bytes(joined.text)] : [[kTexts, 0]];
  },
  w: (values: readonly string[]) => list(values.map(text)),
  l: (files: readonly (readonly [string, Uint8Array])[]) => list(files.flatMap(([name, file]) => [text(name), bytes(file)])),
  I: (lists: readonly ArrayLike<number>[]) => list(lists.map(ints)),
  F: (lists: readonly ArrayLike<number>[]) => list(lists.map(floats)),
};

/** Reads the values of a field, by its PlainAnswer::Kind. */
type Read = (room: Room, address: number, size: number) => unknown;
const kRead: readonly Read[] = [
  (_room, _address, size) => size,
  (room, address) => new Float64Array(room.numbers(address, 2).buffer)[0],
  (_room, _address, size) => size !== 0,
  (room, address, size) => room.string(address, size),
  (room, address, size) => new Float32Array(room.numbers(address, size).buffer),
  (room, address, size) => room.numbers(address, size),
  (room, address, size) => (room.reach(address + size), room.bytes.slice(address, address + size)),
  (room, address, size) => new Float64Array(room.numbers(address, 2 * size).buffer),
  () => [], // the items of a list follow
];

/** Bytes of a PlainAnswer::Field. */
const kFieldBytes = 16;
const kLongestName = 32;

export interface Released {
  delete(): void;
}

/** A handle of C++ at an address, with its calls as methods. */
export function withCalls<Calls>(
  { seam }: Instance<WireSeam>,
  room: Room,
  address: number,
  kind: keyof typeof kCalls,
): Calls & Released {
  const names = new Map<number, string>();
  const nameAt = (at: number): string => {
    let name = names.get(at);
    if (name === undefined) {
      room.reach(at + kLongestName);
      name = room.string(at, room.bytes.indexOf(0, at) - at);
      names.set(at, name);
    }
    return name;
  };

  const read = (at: number): Answer => {
    const out: Answer & Record<string, unknown> = { code: 0, message: '' };
    room.reach((at >>> 0) + 8);
    let field = (room.words[at >>> 2] as number) >>> 0;
    const end = field + kFieldBytes * (room.words[(at >>> 2) + 1] as number);
    room.reach(end);
    for (; field < end; field += kFieldBytes) {
      const [nameAddress, kind, data, size] = room.words.subarray(field >>> 2, (field >>> 2) + 4) as unknown as [
        number,
        number,
        number,
        number,
      ];
      const name = nameAt(nameAddress >>> 0);
      const value = (kRead[kind % kRead.length] as Read)(room, data >>> 0, size);
      if (kind < kRead.length) out[name] = value;
      else (out[name] as unknown[]).push(value);
    }
    seam.clear_answer(address);
    return out;
  };

  const calls: Record<string, unknown> = { delete: () => seam.release(address) };
  kCalls[kind].split(',').forEach((call, position) => {
    const [name, kinds = ''] = call.split(' ') as [string, string?];
    const writers = Array.from(kinds, (letter) => kWrite[letter] as (value: any) => Part[]);
    calls[name] = (...given: unknown[]) => {
      const parts: Part[] = [];
      writers.forEach((write, i) => parts.push(...(given[i] == null ? kNothing : write(given[i]))));
      room.writeParts(parts);
      const answer = read(seam.call(address, position));
      room.make(0);
      return answer;
    };
  });
  return calls as Calls & Released;
}
