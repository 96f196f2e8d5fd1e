// Rounds the rows of a matrix W to blocks of q4 so that what its layer gives changes least. H is the sum of x x^T over the inputs x that
// the layer read; a row w becomes a q with a small (w - q)^T H (w - q). First as GPTQ does it (Frantar et al. 2022, arXiv:2210.17323):
// columns in their order, and each one's error fed to those that follow. Then by coordinates: each scale and each code becomes the best one
// beside the others as they are, which never makes that sum larger.
import { floatToHalf, halfToFloat } from '../core/half.js';
import { kBlock, q4Blocks, q4Code, q4Scale } from '../source/gguf_writer.js';

/** What is added to the diagonal of H, as a part of its mean, as inputs that the texts hardly have may come later. */
const kDamping = 0.01;
/** How often all coordinates are set. */
const kSweeps = 2;

/** R, upper triangular, with R R^T = H: takes the place of H's upper half. h: [n, n] */
function factorize(h: Float64Array, n: number): void {
  for (let j = n - 1; j >= 0; --j) {
    const rowJ = h.subarray(j * n, (j + 1) * n);
    for (let i = j; i >= 0; --i) {
      const rowI = h.subarray(i * n, (i + 1) * n);
      let left = rowI[j] as number;
      for (let k = j + 1; k < n; ++k) left -= (rowI[k] as number) * (rowJ[k] as number);
      rowI[j] = i === j ? Math.sqrt(left) : left / (rowJ[j] as number);
    }
  }
}

/** The inverse of an upper triangular matrix. r: [n, n] */
function invert(r: Float64Array, n: number): Float32Array {
  const out = new Float32Array(n * n);
  const row = new Float64Array(n);
  for (let i = n - 1; i >= 0; --i) {
    row.fill(0);
    row[i] = 1;
    for (let k = i + 1; k < n; ++k) add(-(r[i * n + k] as number), out.subarray(k * n, (k + 1) * n), row, k);
    const pivot = r[i * n + i] as number;
    for (let j = i; j < n; ++j) out[i * n + j] = (row[j] as number) / pivot;
  }
  return out;
}

/** to += by * from, from column `first` on. */
function add(by: number, from: Float32Array, to: Float64Array, first = 0): void {
  for (let j = first; j < to.length; ++j) to[j] = (to[j] as number) + by * (from[j] as number);
}

const asHalf = (value: number) => halfToFloat(floatToHalf(value));

/** A row on its way. */
interface Row {
  values: Float32Array; // [n]
  codes: Int8Array; // [n]
  scales: Float64Array; // [n / 32]
}

export class Rounding {
  private readonly h: Float32Array; // [n, n]
  private inverse: Float32Array | undefined; // [n, n] U, upper triangular, with U^T U the inverse of H

  /** sums: [n, n] of x x^T, which become ours; empty: no input was seen, and all count alike. */
  constructor(
    sums: Float32Array,
    private readonly n: number,
  ) {
    this.h = sums.length > 0 ? sums : new Float32Array(n * n);
    let mean = 0;
    for (let i = 0; i < n; ++i) mean += this.at(i) / n;
    for (let i = 0; i < n; ++i) this.h[i * (n + 1)] = this.at(i) + (mean > 0 ? kDamping * mean : 1);
  }

  /** The blocks of rows. values: [rows, n] */
  blocks(values: Float32Array): Uint8Array {
    const { n } = this;
    const codes = new Int8Array(values.length);
    const scales = new Float64Array(values.length / kBlock);
    for (let from = 0; from < values.length; from += n) {
      const part = <A extends Float32Array | Int8Array | Float64Array>(all: A, size: number) =>
        all.subarray(from / size, (from + n) / size) as A;
      const row = { values: part(values, 1), codes: part(codes, 1), scales: part(scales, kBlock) };
      this.feedForward(row);
      this.refine(row);
    }
    return q4Blocks(Uint16Array.from(scales, floatToHalf), codes);
  }

  /** An element of H's diagonal. */
  private at(i: number): number {
    return this.h[i * (this.n + 1)] as number;
  }

  private makeInverse(): Float32Array {
    const r = Float64Array.from(this.h);
    factorize(r, this.n);
    return invert(r, this.n);
  }

  /** GPTQ, with the scale of each block fitted when the block is reached. */
  private feedForward({ values, codes, scales }: Row): void {
    const { n } = this;
    const inverse = (this.inverse ??= this.makeInverse());
    const left = Float64Array.from(values);
    const block = new Float32Array(kBlock);
    const weights = new Float32Array(kBlock);
    let scale = 0;
    for (let i = 0; i < n; ++i) {
      if (i % kBlock === 0) {
        for (let k = 0; k < kBlock; ++k) {
          block[k] = left[i + k] as number;
          weights[k] = 1 / (inverse[(i + k) * (n + 1)] as number) ** 2;
        }
        scales[i / kBlock] = scale = asHalf(q4Scale(block, 0, weights));
      }
      const along = inverse.subarray(i * n, (i + 1) * n);
      const value = left[i] as number;
      const code = (codes[i] = q4Code(value, scale));
      add((code * scale - value) / (along[i] as number), along, left, i + 1);
    }
  }

  /** Sets scales and codes one by one, each to the best beside the others. */
  private refine(row: Row): void {
    const { n, h } = this;
    const { values, codes, scales } = row;
    const slope = new Float64Array(n); // H (w - q)
    for (let i = 0; i < n; ++i) {
      const error = (values[i] as number) - (codes[i] as number) * (scales[Math.floor(i / kBlock)] as number);
      add(error, h.subarray(i * n, (i + 1) * n), slope);
    }
    for (let sweep = 0; sweep < kSweeps; ++sweep) {
      for (let block = 0; block < scales.length; ++block) {
        this.refineScale(row, block, slope);
        this.refineCodes(row, block, slope);
      }
    }
  }

  private refineScale({ codes, scales }: Row, block: number, slope: Float64Array): void {
    const { n, h } = this;
    const [first, end] = [block * kBlock, (block + 1) * kBlock];
    let [along, squares] = [0, 0];
    for (let i = first; i < end; ++i) {
      const code = codes[i] as number;
      along += code * (slope[i] as number);
      for (let j = first; j < end; ++j) squares += code * (h[i * n + j] as number) * (codes[j] as number);
    }
    const before = scales[block] as number;
    const after = squares > 0 ? asHalf(before + along / squares) : before;
    if (after === before || after === 0) return;
    scales[block] = after;
    for (let i = first; i < end; ++i) add((before - after) * (codes[i] as number), h.subarray(i * n, (i + 1) * n), slope);
  }

  private refineCodes({ codes, scales }: Row, block: number, slope: Float64Array): void {
    const { n, h } = this;
    const scale = scales[block] as number;
    for (let i = block * kBlock; i < (block + 1) * kBlock; ++i) {
      const before = codes[i] as number;
      const after = q4Code(before * scale + (slope[i] as number) / this.at(i), scale);
      if (after === before) continue;
      codes[i] = after;
      add((before - after) * scale, h.subarray(i * n, (i + 1) * n), slope);
    }
  }
}
