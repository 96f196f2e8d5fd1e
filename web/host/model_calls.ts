// Answers of a model's calls from memory (bindings/plain_answer.h), and texts of `embed` to it: for a short text, Embind's values take
// a tenth of the time of the model's pass.
import { ownCopy } from '../core/options.js';
import { Room } from './room.js';
import type { Answer, SeamModel } from './seam.js';
import { withTextCalls } from './text_calls.js';
import type { Instance } from './wasm_loader.js';

/** Numbers are addresses, counts and indices; addresses come back signed. */
interface Exports {
  model_embed(model: number, bytes: number, texts: number, firstText: number, steps: number): number;
  model_clear_answer(model: number): void;
}

/** What bindings/model.h and its kin register: calls that return the address of an answer, of which the small WebAssembly lacks some. */
const kCalls = ['run', 'predict', 'generate', 'forward', 'find_spans', 'token_vectors', 'sparse_vectors'] as const;
type Handle = Omit<SeamModel, 'encode' | 'decode' | 'ids_to_tokens' | 'embed' | (typeof kCalls)[number]> &
  Record<(typeof kCalls)[number], ((...args: unknown[]) => number) | undefined> & {
    self(): number;
    set_embed_options(options: unknown): Answer;
  };

/** Reads the values of a field, by its PlainAnswer::Kind. */
type Read = (room: Room, address: number, size: number) => unknown;
const kRead: readonly Read[] = [
  (_room, _address, size) => size,
  (_room, _address, size) => size !== 0,
  (room, address, size) => room.string(address, size),
  (room, address, size) => new Float32Array(room.numbers(address, size).buffer),
  (room, address, size) => room.numbers(address, size),
  (room, address, size) => (room.reach(address + size), room.bytes.slice(address, address + size)),
];

/** Bytes of a PlainAnswer::Field. */
const kFieldBytes = 16;
const kLongestName = 32;

/** A handle of a model with the calls that SeamModel has beside Embind's. */
export function withModelCalls(instance: Instance<unknown>, made: unknown): SeamModel {
  const handle = made as Handle;
  const { model_embed, model_clear_answer } = instance.exports as unknown as Exports;
  const room = new Room(instance);
  const self = handle.self() >>> 0;

  const names = new Map<number, string>();
  const nameAt = (address: number): string => {
    let name = names.get(address);
    if (name === undefined) {
      room.reach(address + kLongestName);
      name = room.string(address, room.bytes.indexOf(0, address) - address);
      names.set(address, name);
    }
    return name;
  };

  const read = <A extends Answer>(address: number): A => {
    const out: Record<string, unknown> = { code: 0, message: '' };
    room.reach((address >>> 0) + 8);
    let at = (room.words[address >>> 2] as number) >>> 0;
    const end = at + kFieldBytes * (room.words[(address >>> 2) + 1] as number);
    room.reach(end);
    for (; at < end; at += kFieldBytes) {
      const [nameAddress, kind, data, size] = room.words.subarray(at >>> 2, (at >>> 2) + 4) as unknown as [
        number,
        number,
        number,
        number,
      ];
      const name = nameAt(nameAddress >>> 0);
      const value = (kRead[kind % kRead.length] as Read)(room, data >>> 0, size);
      if (kind < kRead.length) out[name] = value;
      else if (Object.hasOwn(out, name)) (out[name] as unknown[]).push(value);
      else out[name] = [value];
    }
    model_clear_answer(self);
    return out as unknown as A;
  };

  const calls: Record<string, unknown> = {};
  for (const name of kCalls) {
    const call = handle[name];
    // Embind looks for each option that C++ knows: in the object alone.
    const own = (each: unknown) => (ArrayBuffer.isView(each) ? each : ownCopy(each));
    if (call) calls[name] = (...args: unknown[]) => read(call.apply(handle, args.map(own)));
  }

  /** The options that were set last: reading them takes several microseconds. */
  let set = '';
  const embed: SeamModel['embed'] = (texts, options, firstText, steps) => {
    const wanted = JSON.stringify(options);
    if (wanted !== set) {
      const answer = handle.set_embed_options(ownCopy(options));
      if (answer.code !== 0) return answer as ReturnType<SeamModel['embed']>;
      set = wanted;
    }
    const bytes = room.writeTexts(texts);
    const answer = model_embed(self, bytes, texts.length, firstText, steps);
    room.make(0);
    return read(answer);
  };
  return withTextCalls(instance, Object.assign(handle, calls, { embed }) as unknown as SeamModel, room);
}
