// Exact search over vectors (web/search/vector_rows.ts), compared with loops in double precision.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VectorRows, type RowPrecision } from '../../web/search/vector_rows.js';
import { expectError, root } from './support.js';

const file = () => readFileSync(join(root, 'build/wasm-simd/wattn-search.wasm'));
const precisions: RowPrecision[] = ['float32', 'int8', 'binary'];
const dims = [1, 15, 16, 17, 384, 768];

// The sources know no URL of the file, which only the bundled scripts have beside them.
const open = (dim: number, precision: RowPrecision) => VectorRows.open(dim, precision, { wasm: { binary: file() } });

/** Numbers of about a normal distribution, the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
  return () => uniform() + uniform() + uniform() + uniform() - 2;
}

/** n vectors of unit length. */
function units(n: number, dim: number, seed: number): Float32Array {
  const next = randomNumbers(seed);
  const out = Float32Array.from({ length: n * dim }, next);
  for (let i = 0; i < n; ++i) {
    const row = out.subarray(i * dim, (i + 1) * dim);
    const norm = Math.hypot(...row) || 1;
    row.forEach((x, j) => (row[j] = x / norm));
  }
  return out;
}

/** The rows as numbers, from their stored form. */
function numbersOf(rows: VectorRows, first = 0, count = rows.count - first): Float32Array[] {
  const bytes = rows.stored(first, count);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: count }, (_, i) => {
    const at = i * rows.rowBytes;
    if (rows.precision === 'float32') return Float32Array.from({ length: rows.dim }, (_, j) => view.getFloat32(at + 4 * j, true));
    const scale = view.getFloat32(at, true);
    return Float32Array.from({ length: rows.dim }, (_, j) => Math.fround(scale * view.getInt8(at + 4 + j)));
  });
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, j) => sum + x * (b[j] as number), 0);

/** A row of each precision from a vector: what is stored. */
function storedForm(vector: Float32Array, precision: RowPrecision): Uint8Array {
  if (precision === 'float32') return new Uint8Array(vector.slice().buffer);
  const bytes = new Uint8Array(4 + vector.length);
  const most = vector.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
  const scale = Math.fround(most / 127);
  new DataView(bytes.buffer).setFloat32(0, scale, true);
  const evenly = (x: number) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
  vector.forEach((x, j) => (bytes[4 + j] = scale === 0 ? 0 : evenly(Math.fround(x * Math.fround(1 / scale)))));
  return bytes;
}

/** Jest's own comparison of long arrays takes seconds. */
function expectBytes(found: Uint8Array, ...expected: Uint8Array[]): void {
  const all = Buffer.concat(expected);
  expect(found.length).toBe(all.length);
  expect(Buffer.compare(found, all)).toBe(0);
}

describe.each(precisions)('%s rows', (precision) => {
  it.each(dims)('of %i components are stored as documented', async (dim) => {
    const rows = await open(dim, precision);
    const vectors = units(37, dim, dim);
    vectors.fill(0, 5 * dim, 6 * dim);
    expect(rows.append(vectors.subarray(0, 20 * dim))).toBe(0);
    expect(rows.append(vectors.subarray(20 * dim))).toBe(20);
    expect(rows.append(new Float32Array())).toBe(37);
    expect(rows.count).toBe(37);
    expect(rows.rowBytes).toBe(precision === 'float32' ? 4 * dim : 4 + dim);
    const expected = Array.from({ length: 37 }, (_, i) => storedForm(vectors.slice(i * dim, (i + 1) * dim), precision));
    expectBytes(rows.stored(0, 37), ...expected);
    expectBytes(rows.stored(19, 3), ...expected.slice(19, 22));
    expectBytes(rows.stored(37, 0));
    const copy = await open(dim, precision);
    const bytes = rows.stored(0, 37);
    expect(copy.appendStored(bytes.subarray(0, 30 * rows.rowBytes))).toBe(0);
    expect(copy.appendStored(bytes.subarray(30 * rows.rowBytes))).toBe(30);
    expectBytes(copy.stored(0, 37), bytes);
    const query = units(1, dim, 99);
    expect(copy.search(query, 37)).toEqual(rows.search(query, 37));
    rows.dispose();
    copy.dispose();
  });

  it.each(dims)('of %i components are found by the dot product, best first', async (dim) => {
    const rows = await open(dim, precision);
    const count = 300;
    rows.append(units(count, dim, dim + 1));
    const numbers = numbersOf(rows);
    for (const seed of [1, 2, 3]) {
      const query = units(1, dim, 1000 * seed);
      const exact = numbers.map((row) => dot(query, row));
      // Each score: a product and its sums, dim / 16 + 6 roundings of at most 1, and that of the scale.
      const bound = (dim / 16 + 8) * 2 ** -24;
      const all = rows.scores(
        query,
        Int32Array.from({ length: count }, (_, i) => i),
      );
      all.forEach((score, i) => expect(Math.abs(score - (exact[i] as number))).toBeLessThanOrEqual(bound));
      const order = [...all.keys()].sort((a, b) => (all[b] as number) - (all[a] as number) || a - b);
      for (const k of [1, 10, 299, 300, 5000]) {
        const found = rows.search(query, k);
        const best = order.slice(0, k);
        if (precision === 'float32' || k >= 299) expect([...found.rows]).toEqual(best);
        expect([...found.scores]).toEqual([...found.rows].map((row) => all[row]));
        expect(found.rows.length).toBe(Math.min(k, count));
      }
      // With all rows as candidates (binary) or all but hopeless ones (int8), the best ten are exact.
      expect([...rows.search(query, 10).rows]).toEqual(order.slice(0, 10));
    }
    rows.dispose();
  });

  it('that are not allowed are never returned', async () => {
    const dim = 48;
    const count = 5000; // several blocks
    const rows = await open(dim, precision);
    rows.append(units(count, dim, 5));
    const query = units(1, dim, 6);
    const all = rows.scores(
      query,
      Int32Array.from({ length: count }, (_, i) => i),
    );
    const order = [...all.keys()].sort((a, b) => (all[b] as number) - (all[a] as number) || a - b);
    for (const share of [2, 3, 1000, 4999]) {
      const allowed = Uint8Array.from({ length: count }, (_, i) => (i % share === share - 1 ? 255 : 0));
      const best = order.filter((row) => allowed[row]).slice(0, 7);
      const found = rows.search(query, 7, allowed);
      expect(found.rows.every((row) => allowed[row])).toBe(true);
      if (precision !== 'binary' || share > 4) expect([...found.rows]).toEqual(best);
    }
    expect(rows.search(query, 3, new Uint8Array(count)).rows).toEqual(new Int32Array());
    rows.dispose();
  });

  it('with equal scores keep their order', async () => {
    const dim = 20;
    const rows = await open(dim, precision);
    const vector = units(1, dim, 8);
    const opposite = vector.map((x) => -x);
    // 2000 equal rows between others: more than any search keeps on the way.
    for (let i = 0; i < 3; ++i) rows.append(opposite);
    const many = new Float32Array(2000 * dim);
    for (let i = 0; i < 2000; ++i) many.set(vector, i * dim);
    rows.append(many);
    rows.append(opposite);
    for (const k of [1, 9, 1500]) {
      expect([...rows.search(vector, k).rows]).toEqual(Array.from({ length: k }, (_, i) => 3 + i));
    }
    const last = rows.search(vector, 5000).rows;
    expect([...last.slice(-4)]).toEqual([0, 1, 2, 2003]);
    if (precision === 'binary') return rows.dispose(); // zeros have no signs
    const zero = rows.search(new Float32Array(dim), 4);
    expect([...zero.rows]).toEqual([0, 1, 2, 3]);
    expect([...zero.scores].map(Math.abs)).toEqual([0, 0, 0, 0]);
    rows.dispose();
  });

  it('grow over many blocks without a change, and hold at most a fifth more than the rows', async () => {
    const dim = 384;
    const rows = await open(dim, precision);
    const piece = units(1500, dim, 9);
    const first = new Map<number, Uint8Array>();
    const bytes: number[] = [];
    for (let i = 0; i < 40; ++i) {
      const at = rows.append(piece.subarray((i % 7) * dim, (i % 7) * dim + 1400 * dim));
      first.set(at, rows.stored(at, 3));
      bytes.push(rows.bytes);
    }
    expect(rows.count).toBe(40 * 1400);
    for (const [at, stored] of first) expectBytes(rows.stored(at, 3), stored);
    expect(rows.bytes).toBeLessThanOrEqual(1.2 * rows.count * rows.rowBytes);
    expect(bytes).toEqual([...bytes].sort((a, b) => a - b));
    const query = piece.subarray(1400 * dim - dim, 1400 * dim);
    // It is row 1399 of the first piece, 1398 of the next, and so on.
    const expected = Array.from({ length: 40 }, (_, i) => i * 1400 + 1399 - (i % 7)).sort((a, b) => a - b);
    expect([...rows.search(query, 40).rows]).toEqual(expected);
    rows.dispose();
  });

  it('are compacted to the kept ones, in any order', async () => {
    const dim = 33;
    const count = 1300;
    const vectors = units(count, dim, 11);
    const query = units(1, dim, 12);
    const shuffled = (seed: number) => {
      const next = randomNumbers(seed);
      return Array.from({ length: count }, (_, row) => ({ row, key: next() })).sort((a, b) => a.key - b.key);
    };
    const orders = [
      [],
      [1299],
      Array.from({ length: count }, (_, i) => i),
      Array.from({ length: count }, (_, i) => i).filter((i) => i % 3 !== 1),
      Array.from({ length: count }, (_, i) => count - 1 - i),
      Array.from({ length: count }, (_, i) => (i + count - 1) % count), // one long circle
      shuffled(1).map(({ row }) => row),
      shuffled(2)
        .slice(0, 700)
        .map(({ row }) => row),
    ];
    for (const order of orders) {
      const rows = await open(dim, precision);
      rows.append(vectors);
      const before = rows.stored(0, count);
      const each = (row: number) => before.subarray(row * rows.rowBytes, (row + 1) * rows.rowBytes);
      rows.compact(Int32Array.from(order));
      expect(rows.count).toBe(order.length);
      expectBytes(rows.stored(0, rows.count), ...order.map(each));
      const fresh = await open(dim, precision);
      fresh.appendStored(rows.stored(0, rows.count));
      expect(rows.search(query, 20)).toEqual(fresh.search(query, 20));
      const held = rows.bytes;
      if (order.length === 0)
        for (let i = 0; i < 3; ++i) {
          rows.append(vectors);
          rows.compact(new Int32Array());
        }
      if (order.length === 0) expect(rows.bytes).toBe(held);
      rows.dispose();
      fresh.dispose();
    }
  });

  it('may be none', async () => {
    const rows = await open(3, precision);
    expect(rows.search(new Float32Array(3), 5)).toEqual({ rows: new Int32Array(), scores: new Float32Array() });
    expect(rows.search(new Float32Array(3), 5, new Uint8Array())).toEqual({ rows: new Int32Array(), scores: new Float32Array() });
    expect(rows.scores(new Float32Array(3), new Int32Array())).toEqual(new Float32Array());
    rows.compact(new Int32Array());
    expect(rows.count).toBe(0);
    rows.dispose();
  });

  it('refuse what is no number, and keep what they had', async () => {
    const dim = 5;
    const rows = await open(dim, precision);
    rows.append(units(2, dim, 13));
    const before = rows.stored(0, 2);
    const many = units(40_000, dim, 14); // several pieces
    for (const [bad, name] of [
      [NaN, 'NaN'],
      [Infinity, 'Infinity'],
      [-Infinity, '-Infinity'],
      [2e15, '1999999973982208'],
    ] as const) {
      const vectors = many.slice();
      vectors[39_999 * dim + 3] = bad;
      const message = `expected finite numbers up to 1000000000000000 in magnitude, found ${name} at component 3 of`;
      await expectError(() => rows.append(vectors), 'InputError', new RegExp(`append: ${message} vector 39999`));
      const query = Float32Array.of(1, 0, 0, bad, 0);
      await expectError(() => rows.search(query, 1), 'InputError', new RegExp(`search: ${message} the query`));
      await expectError(() => rows.scores(query, Int32Array.of(0)), 'InputError', new RegExp(`scores: ${message} the query`));
      const damaged = before.slice();
      new DataView(damaged.buffer).setFloat32(rows.rowBytes, bad, true);
      await expectError(() => rows.appendStored(damaged), 'InputError', /appendStored: .* the bytes are damaged/);
    }
    expect(rows.count).toBe(2);
    expectBytes(rows.stored(0, 2), before);
    expect(rows.search(units(1, dim, 15), 9).rows.length).toBe(2);
    rows.dispose();
  });

  it('end in an OutOfMemoryError where memory ends, and go on as before', async () => {
    const { grow } = WebAssembly.Memory.prototype;
    let refused = 0;
    WebAssembly.Memory.prototype.grow = () => {
      ++refused;
      throw new RangeError('could not grow');
    };
    try {
      const dim = 384;
      const rows = await open(dim, precision);
      const vectors = units(1000, dim, 16);
      rows.append(vectors);
      const before = rows.stored(0, 1000);
      const large = new Float32Array(20_000 * dim);
      await expectError(
        () => rows.append(large),
        'OutOfMemoryError',
        /21000 rows of 384 components need \d+ bytes, found room for 4194304/,
      );
      expect(refused).toBe(1);
      expect(rows.count).toBe(1000);
      expectBytes(rows.stored(0, 1000), before);
      expect(rows.search(vectors.subarray(0, dim), 1).rows[0]).toBe(0);
      rows.dispose();
    } finally {
      WebAssembly.Memory.prototype.grow = grow;
    }
  });
});

describe('VectorRows', () => {
  it('takes the memory it needs where there is none to spare', async () => {
    const { grow } = WebAssembly.Memory.prototype;
    let refused = 0;
    WebAssembly.Memory.prototype.grow = function (this: WebAssembly.Memory, pages: number) {
      if (pages <= 7) return grow.call(this, pages);
      ++refused;
      throw new RangeError('could not grow');
    };
    try {
      const dim = 384; // a block: 1024 rows in six pages and a sixteenth
      const rows = await open(dim, 'int8');
      const vectors = units(2, dim, 18);
      // Row by row, so that the last block ends anywhere in the last page. Two rows change places by a place behind it.
      for (let i = 0; i < 26 * 1024; ++i) {
        rows.append(vectors.subarray((i % 2) * dim, ((i % 2) + 1) * dim));
        if (i % 1024 < 1023) continue;
        rows.compact(Int32Array.from({ length: rows.count }, (_, row) => (row < 2 ? 1 - row : row)));
      }
      expect(refused).toBeGreaterThan(3);
      expect([...rows.search(vectors.subarray(0, dim), 3).rows]).toEqual([0, 2, 4]);
      expect([...rows.search(vectors.subarray(dim), 3).rows]).toEqual([1, 3, 5]);
      rows.dispose();
    } finally {
      WebAssembly.Memory.prototype.grow = grow;
    }
  });

  it('gives a large component that the sum cannot hold in 32 bits its place', async () => {
    // 65536 components at the largest steps of rows and query.
    const dim = 65536;
    const rows = await open(dim, 'int8');
    const ones = new Float32Array(dim).fill(1);
    rows.append(ones.map((x) => -x));
    rows.append(ones);
    const found = rows.search(ones, 2);
    expect([...found.rows]).toEqual([1, 0]);
    rows.dispose();
  });

  it('checks its arguments', async () => {
    const rows = await open(4, 'int8');
    rows.append(units(3, 4, 17));
    const query = new Float32Array(4);
    const cases: [() => unknown, RegExp][] = [
      [() => rows.append(new Float32Array(7)), /append: expected vectors of 4 components, found 7 numbers/],
      [() => rows.append([1, 2, 3, 4] as any), /append: expected a Float32Array, found an array/],
      [() => rows.append(new Float64Array(4) as any), /append: expected a Float32Array, found an object \(Float64Array\)/],
      [() => rows.appendStored(new Uint8Array(9)), /appendStored: expected rows of 8 bytes, found 9 bytes/],
      [() => rows.appendStored('x' as any), /appendStored: expected a Uint8Array, found 'x'/],
      [() => rows.stored(2, 2), /stored: count: expected a whole number from 0 to 1, found 2/],
      [() => rows.stored(-1, 1), /stored: first: expected a whole number from 0 to 3, found -1/],
      [() => rows.search(new Float32Array(3), 1), /search: expected a query of 4 components, found 3/],
      [() => rows.search(query, 0), /search: k: expected a whole number from 1 to 2147483647, found 0/],
      [
        () => rows.search(query, 1, new Uint8Array(2)),
        /allowed: expected a Uint8Array with a byte for each of 3 rows, found 2 bytes/,
      ],
      [() => rows.search(query, 1, [1] as any), /allowed: .* found an array/],
      [() => rows.scores(query, [0] as any), /scores: expected an Int32Array of rows, found an array/],
      [() => rows.scores(query, Int32Array.of(0, 3)), /scores: expected rows from 0 to 2, found 3 at index 1/],
      [() => rows.compact(Int32Array.of(-1)), /compact: expected rows from 0 to 2, found -1 at index 0/],
      [() => rows.compact(Int32Array.of(2, 0, 2)), /compact: expected each row once, found 2 again at index 2/],
    ];
    for (const [call, message] of cases) await expectError(call, 'InputError', message);
    expect(rows.count).toBe(3);
    await expectError(open(0, 'int8'), 'InputError', /dim: expected a whole number from 1 to 65536, found 0/);
    await expectError(open(4, 'int4' as any), 'InputError', /precision: expected one of 'float32', 'int8', 'binary', found 'int4'/);
    await expectError(VectorRows.open(4, 'int8', { wsm: 1 } as any), 'InputError', /unknown option 'wsm'.*did you mean 'wasm'/);
    await expectError(VectorRows.open(4, 'int8', { signal: AbortSignal.abort() }), 'AbortError');
    rows.dispose();
    expect(rows.bytes).toBe(0);
    expect(rows.count).toBe(0);
    for (const call of [
      () => rows.append(query),
      () => rows.search(query, 1),
      () => rows.stored(0, 0),
      () => rows.compact(new Int32Array()),
    ])
      await expectError(call, 'StateError', /these VectorRows were disposed/);
  });

  it('refuses WebAssembly of another build', async () => {
    const id = (globalThis as any).__WATTN_BUILD_ID__ as string;
    const other = new Uint8Array(file());
    other.set(new TextEncoder().encode('0123456789abcdef'), Buffer.from(other).indexOf(id));
    await expectError(VectorRows.open(4, 'int8', { wasm: { binary: other } }), 'StateError', /is from build 0123456789abcdef/);
    const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
    await expectError(VectorRows.open(4, 'int8', { wasm: { binary: empty } }), 'StateError', /another build|does not start/);
    (await open(4, 'int8')).dispose();
  });
});
