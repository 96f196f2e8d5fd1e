// Memory of a WebAssembly instance as plain exports use it: the host writes texts and ids to a room, and copies answers before its next
// call. Nothing else keeps views of memory.
import type { Instance } from './wasm_loader.js';

/** The room that is kept. Longer texts get one of their size for the call. */
const kRoomBytes = 1 << 16;

const kNoBytes = new Uint8Array();
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Writes texts end to end, and their lengths in bytes. Returns the bytes of all, or -1 if they do not fit. */
function encodeAll(texts: readonly string[], to: Uint8Array, lengths: number[]): number {
  let used = 0;
  for (let i = 0; i < texts.length; ++i) {
    const text = texts[i] as string;
    const { read, written } = encoder.encodeInto(text, used === 0 ? to : to.subarray(used));
    if (read < text.length) return -1;
    used += lengths[i] = written;
  }
  return used;
}

/** An argument, or a part of one (Arguments of bindings/wire.h): its kind, a count, and a number or values. */
export type Part = readonly [kind: number, count: number, values?: number | Uint8Array | Int32Array | Float32Array];

export class Room {
  // Views of the memory are kept. Growing it detaches its buffer, which empties them; a shared one only becomes longer.
  bytes = kNoBytes;
  words = new Int32Array();
  private doubles = new Float64Array();
  // The room's address and size, and its bytes.
  private address = 0;
  private size = 0;
  private page = kNoBytes;
  private readonly memory: WebAssembly.Memory;
  private readonly isShared: boolean;
  /** Makes the room this large and returns its address. */
  private readonly open: (bytes: number) => number;

  constructor({ memory, exports }: Instance<unknown>) {
    this.memory = memory;
    // Not an instanceof: the buffer may be of another realm.
    this.isShared = Object.prototype.toString.call(memory.buffer) === '[object SharedArrayBuffer]';
    this.open = exports['make_room'] as (bytes: number) => number;
  }

  /** Makes sure that the views reach to an address. */
  reach(end: number): void {
    if (end <= this.bytes.length) return;
    this.bytes = new Uint8Array(this.memory.buffer);
    this.words = new Int32Array(this.memory.buffer);
    this.doubles = new Float64Array(this.memory.buffer);
    this.page = this.bytes.subarray(this.address, this.address + this.size);
  }

  /** Before each call, which also notices that another call has grown the memory. With 0, after one, it frees a large room. */
  make(wanted: number): void {
    if (wanted > this.size || this.size > kRoomBytes) {
      this.size = 0;
      this.address = this.open((wanted = Math.max(wanted, kRoomBytes))) >>> 0; // addresses come back signed
      this.size = wanted;
      this.bytes = kNoBytes; // page is another one now
    }
    this.reach(this.address + this.size);
  }

  /** Writes texts and their lengths in bytes to the room. Returns the bytes of all. Engines refuse to encode into shared memory. */
  writeTexts(texts: readonly string[]): number {
    let units = 0;
    for (const text of texts) units += text.length;
    const forLengths = 4 * texts.length + 4;
    const lengths = new Array<number>(texts.length);
    // Most texts have few characters beyond ASCII; the others are written again, with all the bytes that they may take.
    let used = -1;
    if (!this.isShared) {
      this.make(3 * units + forLengths <= kRoomBytes ? 3 * units + forLengths : units + (units >> 3) + forLengths);
      used = encodeAll(texts, this.page.subarray(0, this.size - forLengths), lengths);
    }
    if (used < 0) {
      const to = new Uint8Array(3 * units); // unwritten pages cost no memory
      used = encodeAll(texts, to, lengths);
      this.make(used + forLengths);
      this.bytes.set(to.subarray(0, used), this.address);
    }
    let at = (this.address + used + 3) >>> 2;
    for (const length of lengths) this.words[at++] = length;
    return used;
  }

  /** Writes arguments of a call. */
  writeParts(parts: readonly Part[]): void {
    let most = 0;
    for (const [, , values] of parts) most += 24 + (typeof values === 'object' ? values.byteLength : 0);
    this.make(most);
    let at = this.address;
    for (const [kind, count, values] of parts) {
      this.words[at >>> 2] = kind;
      this.words[(at >>> 2) + 1] = count;
      at += 8;
      if (values === undefined) continue;
      if (typeof values === 'number') {
        this.doubles[at >>> 3] = values;
        at += 8;
        continue;
      }
      if (values instanceof Int32Array) this.words.set(values, at >>> 2);
      else this.bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
      at += 8 * Math.ceil(values.byteLength / 8);
    }
  }

  writeIds(ids: ArrayLike<number>): void {
    this.make(4 * ids.length);
    let at = this.address >>> 2;
    if (!Array.isArray(ids) && ArrayBuffer.isView(ids)) this.words.set(ids as Int32Array, at);
    else for (let i = 0; i < ids.length; ++i) this.words[at++] = ids[i] as number;
  }

  /** Numbers of 32 bits, copied. */
  numbers(address: number, count: number): Int32Array {
    this.reach(address + 4 * count);
    return this.words.slice(address >>> 2, (address >>> 2) + count);
  }

  string(begin: number, length: number): string {
    const end = begin + length;
    this.reach(end);
    return decoder.decode(this.isShared ? this.bytes.slice(begin, end) : this.bytes.subarray(begin, end));
  }
}
