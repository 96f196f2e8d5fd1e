// Rows of vectors in WebAssembly memory of their own, and the nearest of them to a query.
import { describe, InputError, OutOfMemoryError, StateError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { abortable } from '../core/signal.js';
import type { AbortSignalLike, Env } from '../core/types.js';
import type { SearchSeam } from '../host/search_host.js';
import type { Instance } from '../host/wasm_loader.js';

/**
 * How rows are stored. `float32`: as they are. `int8`: 127 steps each way with a scale for each row; all rows are compared with the query in
 * whole numbers, and the best again with the query in floats. `binary`: the same, but all rows are first compared by their signs.
 */
export type RowPrecision = 'float32' | 'int8' | 'binary';

export interface VectorRowsOptions {
  /** Ends `open()` with an `AbortError`. */
  signal?: AbortSignalLike;
  /** Where `wattn-search.wasm` is if not beside this script (`{ url | binary | module }`, as in `env.wasm`). Needed once. */
  wasm?: Env['wasm'];
}

const kPrecisions: readonly RowPrecision[] = ['float32', 'int8', 'binary']; // in the order of src/search/vector_rows.h
const kMostDims = 65536;
const kMostComponent = 1e15; // larger ones could sum to infinity
const kPage = 65536;
const kMostBytes = kPage * 65536;
/** Rows that are enough for engines to optimise the loops over them. */
const kWarmRows = 1 << 14;
/** Rows cross in pieces of about this many bytes. */
const kPieceBytes = 1 << 18;

const roundUp = (bytes: number) => Math.ceil(bytes / 16) * 16;

function checkCount(where: string, what: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return;
  throw new InputError(`${where}: ${what}: expected a whole number from ${least} to ${most}, found ${describe(value)}`);
}

function checkFloats(where: string, values: unknown): asserts values is Float32Array {
  if (Object.prototype.toString.call(values) === '[object Float32Array]') return;
  throw new InputError(`${where}: expected a Float32Array, found ${describe(values)}`);
}

function checkRows(where: string, rows: unknown, count: number): asserts rows is Int32Array {
  if (Object.prototype.toString.call(rows) !== '[object Int32Array]') {
    throw new InputError(`${where}: expected an Int32Array of rows, found ${describe(rows)}`);
  }
  const wrong = (rows as Int32Array).findIndex((row) => row < 0 || row >= count);
  if (wrong < 0) return;
  throw new InputError(
    `${where}: expected rows from 0 to ${count - 1}, found ${(rows as Int32Array)[wrong]} at index ${wrong} (there are ${count} rows)`,
  );
}

/** The first component that is not a number, or is too large. */
const firstWrong = (values: Float32Array) => values.findIndex((x) => !(Math.abs(x) <= kMostComponent));
const wrongNumber = (where: string, place: string, found: number | undefined) =>
  new InputError(`${where}: expected finite numbers up to ${kMostComponent} in magnitude, found ${found} ${place}`);

/** Rows of vectors of unit length in WebAssembly memory of their own, and the nearest of them to a query. Rows are never moved. */
export class VectorRows {
  private rows = 0;
  private inside: Instance<SearchSeam> | undefined;
  private readonly blockRows: number;
  private readonly blockBytes: number;
  private readonly base: number;
  /** Bytes of a row in its stored form: float32: 4 dim; int8 and binary: 4 (the scale, a float) + dim int8, little endian. */
  readonly rowBytes: number;

  private constructor(
    instance: Instance<SearchSeam>,
    readonly dim: number,
    readonly precision: RowPrecision,
  ) {
    const { seam } = instance;
    this.inside = instance;
    this.base = seam.base;
    seam.make(kPrecisions.indexOf(precision), dim, seam.base);
    this.blockRows = seam.block_rows();
    this.blockBytes = seam.block_bytes();
    this.rowBytes = precision === 'float32' ? 4 * dim : 4 + dim;
  }

  /** No rows yet. Loads the WebAssembly, once for all. */
  static async open(dim: number, precision: RowPrecision, options: VectorRowsOptions = {}): Promise<VectorRows> {
    options = readOptions('VectorRows.open', options, { signal: 'signal', wasm: 'any' });
    checkCount('VectorRows.open', 'dim', dim, 1, kMostDims);
    if (!kPrecisions.includes(precision)) {
      const known = kPrecisions.map((name) => `'${name}'`).join(', ');
      throw new InputError(`VectorRows.open: precision: expected one of ${known}, found ${describe(precision)}`);
    }
    const { signal, wasm } = options ?? {};
    const made = import('../host/search_host.js').then(({ searchInstance }) => searchInstance(wasm ?? undefined));
    return new VectorRows(await abortable(made, signal ?? undefined), dim, precision);
  }

  /** How many rows there are. */
  get count(): number {
    return this.rows;
  }

  /** Bytes of the memory that holds them. */
  get bytes(): number {
    return this.inside?.memory.buffer.byteLength ?? 0;
  }

  /** Adds vectors, `[n, dim]`; returns the first one's row. All are added, or, after an error, none. */
  append(vectors: Float32Array): number {
    checkFloats('VectorRows.append', vectors);
    const n = vectors.length / this.dim;
    if (!Number.isInteger(n)) {
      throw new InputError(`VectorRows.append: expected vectors of ${this.dim} components, found ${vectors.length} numbers`);
    }
    const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
    return this.add(bytes, n, 'put', () => {
      const at = firstWrong(vectors);
      const place = `at component ${at % this.dim} of vector ${Math.floor(at / this.dim)}`;
      return wrongNumber('VectorRows.append', place, vectors[at]);
    });
  }

  /** Adds rows in their stored form, as `stored()` returns them. All are added, or, after an error, none. */
  appendStored(bytes: Uint8Array): number {
    if (Object.prototype.toString.call(bytes) !== '[object Uint8Array]') {
      throw new InputError(`VectorRows.appendStored: expected a Uint8Array, found ${describe(bytes)}`);
    }
    const n = bytes.length / this.rowBytes;
    if (!Number.isInteger(n)) {
      throw new InputError(`VectorRows.appendStored: expected rows of ${this.rowBytes} bytes, found ${bytes.length} bytes`);
    }
    return this.add(bytes, n, 'put_stored', (row) => {
      return new InputError(
        `VectorRows.appendStored: row ${row} or one soon after it has an invalid number: the bytes are damaged`,
      );
    });
  }

  /** A copy of rows in their stored form. */
  stored(first: number, count: number): Uint8Array {
    const { seam, memory } = this.open();
    checkCount('VectorRows.stored', 'first', first, 0, this.rows);
    checkCount('VectorRows.stored', 'count', count, 0, this.rows - first);
    const out = new Uint8Array(count * this.rowBytes);
    const [room] = this.room(this.rows, Math.min(out.length, this.piece * this.rowBytes));
    for (let done = 0; done < count;) {
      const n = Math.min(this.piece, count - done);
      seam.get_stored(first + done, room, n);
      out.set(new Uint8Array(memory.buffer, room, n * this.rowBytes), done * this.rowBytes);
      done += n;
    }
    return out;
  }

  /**
   * The k best rows, best first; equal scores keep the order of rows. Fewer if there are fewer. allowed: a byte for each row, 0 for rows that
   * are never returned (deleted, or filtered).
   */
  search(query: Float32Array, k: number, allowed?: Uint8Array): { rows: Int32Array; scores: Float32Array } {
    const { seam, memory } = this.open();
    this.checkQuery('VectorRows.search', query);
    checkCount('VectorRows.search', 'k', k, 1, 2 ** 31 - 1);
    const tag = Object.prototype.toString.call(allowed);
    if (allowed !== undefined && (tag !== '[object Uint8Array]' || allowed.length !== this.rows)) {
      const found = tag === '[object Uint8Array]' ? `${allowed.length} bytes` : describe(allowed);
      throw new InputError(
        `VectorRows.search: allowed: expected a Uint8Array with a byte for each of ${this.rows} rows, found ${found}`,
      );
    }
    const most = Math.min(k, this.rows);
    const candidates = seam.num_candidates(this.rows, most);
    const [at, ranked, filter] = this.room(this.rows, seam.query_bytes(), 8 * candidates, allowed?.length ?? 0);
    new Float32Array(memory.buffer, at, this.dim).set(query);
    if (allowed) new Uint8Array(memory.buffer, filter, allowed.length).set(allowed);
    const found = seam.search(at, this.rows, most, allowed ? filter : 0, ranked);
    const numbers = new Float32Array(memory.buffer, ranked, 2 * found);
    const places = new Int32Array(memory.buffer, ranked, 2 * found);
    const rows = new Int32Array(found);
    const scores = new Float32Array(found);
    for (let i = 0; i < found; ++i) {
      scores[i] = numbers[2 * i] as number;
      rows[i] = places[2 * i + 1] as number;
    }
    return { rows, scores };
  }

  /** A look at some rows. Engines optimise code once it has run for some time, and meanwhile go on: the first search need not wait for that. */
  warm(): void {
    const { seam, memory } = this.open();
    const rows = Math.min(this.rows, kWarmRows);
    if (rows === 0) return;
    const [at, ranked] = this.room(this.rows, seam.query_bytes(), 8 * seam.num_candidates(rows, 1)) as [number, number];
    new Float32Array(memory.buffer, at, this.dim).fill(0);
    seam.search(at, rows, 1, 0, ranked);
  }

  /** The dot products of the query with these rows, as stored: the numbers that search() returns for them. */
  scores(query: Float32Array, rows: Int32Array): Float32Array {
    const { seam, memory } = this.open();
    this.checkQuery('VectorRows.scores', query);
    checkRows('VectorRows.scores', rows, this.rows);
    const [at, wanted, out] = this.room(this.rows, seam.query_bytes(), rows.byteLength, rows.byteLength);
    new Float32Array(memory.buffer, at, this.dim).set(query);
    new Int32Array(memory.buffer, wanted, rows.length).set(rows);
    seam.scores(at, wanted, rows.length, out);
    return new Float32Array(memory.buffer, out, rows.length).slice();
  }

  /** Keeps these rows, each once, in this order, as rows 0, 1, ...; the others are forgotten, and later rows take their memory. */
  compact(keep: Int32Array): void {
    const { seam } = this.open();
    checkRows('VectorRows.compact', keep, this.rows);
    const isSource = new Uint8Array(this.rows);
    keep.forEach((row, to) => {
      if (isSource[row]) throw new InputError(`VectorRows.compact: expected each row once, found ${row} again at index ${to}`);
      isSource[row] = 1;
    });
    // Row keep[to] goes to row `to`, whose own row goes elsewhere, and so on. Such a chain of copies begins at a row that goes nowhere.
    this.room(this.rows + 1);
    const isDone = new Uint8Array(keep.length);
    const follow = (start: number, last: number) => {
      for (let to = start; to < keep.length && !isDone[to]; to = keep[to] as number) {
        isDone[to] = 1;
        const from = keep[to] === start ? last : (keep[to] as number);
        if (from !== to) seam.copy(to, from);
      }
    };
    for (let to = 0; to < keep.length; ++to) if (!isSource[to]) follow(to, to);
    for (let to = 0; to < keep.length; ++to) {
      if (isDone[to] || keep[to] === to) continue;
      seam.copy(this.rows, to); // a circle: its first row waits behind the last one
      follow(to, this.rows);
    }
    this.rows = keep.length;
  }

  /** Releases the memory. */
  dispose(): void {
    this.inside = undefined;
    this.rows = 0;
  }

  private open(): Instance<SearchSeam> {
    if (!this.inside) throw new StateError('these VectorRows were disposed');
    return this.inside;
  }

  /** Rows in a piece. */
  private get piece(): number {
    return Math.max(1, Math.floor(kPieceBytes / (4 * this.dim)));
  }

  private add(bytes: Uint8Array, n: number, put: 'put' | 'put_stored', wrong: (row: number) => InputError): number {
    const { seam, memory } = this.open();
    const first = this.rows;
    if (n === 0) return first;
    const each = bytes.length / n;
    const [room] = this.room(first + n, Math.min(n, this.piece) * each);
    for (let done = 0; done < n;) {
      const count = Math.min(this.piece, n - done);
      new Uint8Array(memory.buffer, room, count * each).set(bytes.subarray(done * each, (done + count) * each));
      if (!seam[put](first + done, room, count)) throw wrong(done);
      done += count;
    }
    this.rows = first + n;
    return first;
  }

  private checkQuery(where: string, query: unknown): asserts query is Float32Array {
    checkFloats(where, query);
    if (query.length !== this.dim) {
      throw new InputError(`${where}: expected a query of ${this.dim} components, found ${query.length}`);
    }
    const at = firstWrong(query);
    if (at >= 0) throw wrongNumber(where, `at component ${at} of the query`, query[at]);
  }

  /** Makes room for so many rows and for `parts` behind their blocks, which last until the next call. Returns where the parts are. */
  private room(rows: number, ...parts: number[]): number[] {
    const { memory } = this.open();
    let end = this.base + Math.ceil(rows / this.blockRows) * this.blockBytes;
    const places = parts.map((bytes) => {
      const place = end;
      end += roundUp(bytes);
      return place;
    });
    const held = memory.buffer.byteLength;
    if (end <= held) return places;
    // A sixteenth more than it had, so that many small additions do not grow it each; binary rows have an eighth for signs already.
    for (const wanted of [Math.max(end, Math.min(held + held / 16, kMostBytes)), end]) {
      try {
        memory.grow(Math.ceil((wanted - held) / kPage));
        return places;
      } catch (cause) {
        if (wanted > end) continue;
        throw new OutOfMemoryError(
          `VectorRows: out of memory: ${rows} rows of ${this.dim} components need ${end} bytes, found room for ${held}`,
          { cause },
        );
      }
    }
    return places;
  }
}
