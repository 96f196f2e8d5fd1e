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

/** Steps each way from 0. */
const kSteps = 127;

/** Rows as whole numbers of a byte. A row's length is lost: only directions are kept. */
export function packRows(rows: Float32Array, dims: number): Uint8Array {
  const out = new Int8Array(rows.length);
  for (let at = 0; at < rows.length; at += dims) {
    const row = rows.subarray(at, at + dims);
    const most = row.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    if (most > 0) row.forEach((value, j) => (out[at + j] = Math.round((kSteps * value) / most)));
  }
  return new Uint8Array(out.buffer);
}

/** The cosine of a row that `packRows` made with a query of unit length. */
export function cosineOf(query: Float32Array, rows: Uint8Array, row: number): number {
  const steps = new Int8Array(rows.buffer, rows.byteOffset + row * query.length, query.length);
  let [dot, squares] = [0, 0];
  for (let j = 0; j < query.length; ++j) {
    dot += steps[j]! * query[j]!;
    squares += steps[j]! ** 2;
  }
  return squares === 0 ? 0 : dot / Math.sqrt(squares);
}
