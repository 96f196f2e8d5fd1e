// Numbers and texts as bytes, as the files of a static index have them.
import { ModelFormatError } from '../core/errors.js';

/** Appends numbers in 7 bits a byte (least first; the high bit says that more follow), texts and bytes. */
export class ByteWriter {
  private bytes = new Uint8Array(256);
  private size = 0;

  private room(count: number): void {
    if (this.size + count <= this.bytes.length) return;
    const more = new Uint8Array(Math.max(2 * this.bytes.length, this.size + count));
    more.set(this.bytes.subarray(0, this.size));
    this.bytes = more;
  }

  /** value: a whole number from 0 to 2^31 - 1. */
  number(value: number): this {
    this.room(5);
    for (; value > 127; value >>>= 7) this.bytes[this.size++] = (value & 127) | 128;
    this.bytes[this.size++] = value;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.room(bytes.length);
    this.bytes.set(bytes, this.size);
    this.size += bytes.length;
    return this;
  }

  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.number(bytes.length).raw(bytes);
  }

  get length(): number {
    return this.size;
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.size);
  }
}

/** Reads what a `ByteWriter` wrote. file: its name, for messages. */
export class ByteReader {
  private at = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly file: string,
  ) {}

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  private damaged(): ModelFormatError {
    return new ModelFormatError(`static index: ${this.file} is damaged at byte ${this.at} of ${this.bytes.length}`);
  }

  number(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw this.damaged();
  }

  raw(count: number): Uint8Array {
    const end = this.at + count;
    if (end > this.bytes.length) throw this.damaged();
    const bytes = this.bytes.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** All that is left. */
  rest(): Uint8Array {
    return this.raw(this.bytes.length - this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.raw(this.number()));
  }
}

/** Steps each way from 0 in 4 bits. */
const kSteps = 7;

/** Bytes of a row of so many numbers in 4 bits each. */
export const rowBytes = (dims: number): number => Math.ceil(dims / 2);

/** Rows as whole numbers from -7 to 7, two in a byte, the first one below. A row's length is lost: only directions are kept. */
export function packRows(rows: Float32Array, dims: number): Uint8Array {
  const each = rowBytes(dims);
  const out = new Uint8Array((rows.length / dims) * each);
  for (let row = 0; row * dims < rows.length; ++row) {
    let most = 0;
    for (let j = 0; j < dims; ++j) most = Math.max(most, Math.abs(rows[row * dims + j]!));
    for (let j = 0; j < dims && most > 0; ++j) {
      const step = Math.round((kSteps * rows[row * dims + j]!) / most) & 15;
      out[row * each + (j >> 1)]! |= j & 1 ? step << 4 : step;
    }
  }
  return out;
}

/** The cosine of a row that `packRows` made with a query of unit length. */
export function cosineOf(query: Float32Array, rows: Uint8Array, row: number): number {
  const each = rowBytes(query.length);
  let [dot, squares] = [0, 0];
  for (let j = 0; j < query.length; ++j) {
    const byte = rows[row * each + (j >> 1)]!;
    const value = ((j & 1 ? byte << 24 : byte << 28) as number) >> 28;
    dot += value * query[j]!;
    squares += value * value;
  }
  return squares === 0 ? 0 : dot / Math.sqrt(squares);
}
