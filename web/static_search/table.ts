// The table that makes vectors of queries: a row of numbers for each piece of words. A text's vector is the sum of its pieces' rows, at unit length.
import { ModelFormatError } from '../core/errors.js';
import { ByteReader, ByteWriter } from './bytes.js';
import { Pieces } from './pieces.js';

export class Table {
  private known: Pieces | undefined;

  private constructor(
    private readonly names: readonly string[],
    readonly dims: number,
    /** [pieces] what a step of a row is worth. */
    private readonly scales: Float32Array,
    /** [pieces, dims] in steps. */
    private readonly steps: Int8Array,
  ) {}

  /** rows: [pieces, dims]. They are rounded to 127 steps each way. */
  static of(pieces: readonly string[], dims: number, rows: Float32Array): Table {
    const scales = new Float32Array(pieces.length);
    const steps = new Int8Array(rows.length);
    for (let piece = 0; piece < pieces.length; ++piece) {
      const row = rows.subarray(piece * dims, (piece + 1) * dims);
      const most = row.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
      scales[piece] = most / 127;
      if (most > 0) row.forEach((value, j) => (steps[piece * dims + j] = Math.round((127 * value) / most)));
    }
    return new Table(pieces, dims, scales, steps);
  }

  static read(bytes: Uint8Array, file: string): Table {
    const reader = new ByteReader(bytes, file);
    const dims = reader.number();
    const pieces = reader.text().split('\n');
    const scales = new Float32Array(reader.raw(4 * pieces.length).slice().buffer);
    const steps = new Int8Array(reader.raw(pieces.length * dims).slice().buffer);
    if (!reader.isAtEnd) throw new ModelFormatError(`static index: ${file} has more bytes than its table`);
    return new Table(pieces, dims, scales, steps);
  }

  /** Made for the first query: while a box is loading, the hits of words come first. */
  get pieces(): Pieces {
    return (this.known ??= new Pieces(this.names));
  }

  write(): Uint8Array {
    const bytes = (array: Float32Array | Int8Array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    return new ByteWriter().number(this.dims).text(this.names.join('\n')).raw(bytes(this.scales)).raw(bytes(this.steps)).done();
  }

  /** The vector of a text at unit length; zeros if the table knows none of its words. */
  embed(text: string): Float32Array {
    const { dims, scales, steps } = this;
    const out = new Float32Array(dims);
    for (const id of this.pieces.idsOf(text)) {
      for (let j = 0; j < dims; ++j) out[j]! += scales[id]! * steps[id * dims + j]!;
    }
    const length = Math.sqrt(out.reduce((sum, value) => sum + value * value, 0));
    return length > 0 ? out.map((value) => value / length) : out;
  }
}
