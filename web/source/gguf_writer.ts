// Writes GGUF: the header (https://github.com/ggml-org/ggml, docs/gguf.md), and the blocks of quantized rows (ggml-quants.c).
import { describe, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { floatToHalf, halfToFloat } from '../core/half.js';

const kAlignment = 32;
/** Values of a block. Rows of quantized tensors are whole blocks. */
export const kBlock = 32;

/** Values of a block of wattn's own type W8: a float32 scale and int8. */
export const kNativeBlock = 64;
const kW8 = { type: 1 << 16, blockBytes: 34 };

/** ggml's numbers of the types (W8 is none of them), and bytes of 32 values. native_table: W8 with one scale a row. */
const kTypes = {
  f32: { type: 0, blockBytes: 128 },
  f16: { type: 1, blockBytes: 64 },
  q4: { type: 2, blockBytes: 18 },
  q8: { type: 8, blockBytes: 34 },
  native: kW8,
  native_table: kW8,
};
export type BlockType = keyof typeof kTypes;

/** A value of the metadata. Whole numbers are uint32, `{ f32 }` is a float32. */
export type GgufValue = string | boolean | number | { f32: number } | readonly (string | Uint8Array)[] | readonly boolean[] | Int32Array | Float32Array | Uint8Array; // prettier-ignore

export interface GgufTensor {
  name: string;
  /** Outermost first, as in PyTorch. */
  shape: readonly number[];
  type: BlockType;
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((product, dim) => product * dim, 1);
export const bytesOf = ({ shape, type }: GgufTensor): number => (sizeOf(shape) / kBlock) * kTypes[type].blockBytes;
/** Zeros that follow so many bytes. */
export const padding = (bytes: number): Uint8Array => new Uint8Array((kAlignment - (bytes % kAlignment)) % kAlignment);

class Writer {
  private bytes = new Uint8Array(1 << 16);
  size = 0;

  add(part: Uint8Array): void {
    if (this.size + part.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.size + part.length));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(part, this.size);
    this.size += part.length;
  }
  number(value: number, bytes: 4 | 8): void {
    const view = new DataView(new ArrayBuffer(bytes));
    if (bytes === 4) view.setUint32(0, value, true);
    else view.setBigUint64(0, BigInt(value), true);
    this.add(new Uint8Array(view.buffer));
  }
  text(text: string | Uint8Array): void {
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    this.number(bytes.length, 8);
    this.add(bytes);
  }
  array(type: number, values: ArrayBufferView & { length: number }): void {
    this.number(9, 4);
    this.number(type, 4);
    this.number(values.length, 8);
    this.add(new Uint8Array(values.buffer, values.byteOffset, values.byteLength)); // engines are little-endian
  }
  value(value: GgufValue): void {
    if (typeof value === 'string') {
      this.number(8, 4);
      this.text(value);
    } else if (typeof value === 'boolean') {
      this.number(7, 4);
      this.add(Uint8Array.of(Number(value)));
    } else if (typeof value === 'number') {
      this.number(4, 4);
      this.number(value, 4);
    } else if (value instanceof Uint8Array) this.array(0, value);
    else if (value instanceof Int32Array) this.array(5, value);
    else if (value instanceof Float32Array) this.array(6, value);
    else if ('f32' in value) {
      this.number(6, 4);
      this.add(new Uint8Array(Float32Array.of(value.f32).buffer));
    } else if (value.length > 0 && typeof value[0] === 'boolean')
      this.array(7, Uint8Array.from(value as readonly boolean[], Number));
    else {
      this.number(9, 4);
      this.number(8, 4);
      this.number(value.length, 8);
      for (const text of value as readonly (string | Uint8Array)[]) this.text(text);
    }
  }
  done(): Uint8Array {
    this.add(padding(this.size));
    return this.bytes.slice(0, this.size);
  }
}

/** Values come from a model's configuration, which may have anything in their place. */
function checkValue(key: string, value: unknown): asserts value is GgufValue {
  const isText = (each: unknown) => typeof each === 'string' || each instanceof Uint8Array;
  const isWhole = (each: unknown) => Number.isInteger(each) && Number(each) >= 0 && Number(each) < 2 ** 32;
  const isList = Array.isArray(value) && (value.every(isText) || value.every((each) => typeof each === 'boolean'));
  const isFloat = typeof value === 'object' && value !== null && Number.isFinite((value as { f32?: unknown }).f32);
  if (isText(value) || typeof value === 'boolean' || isWhole(value) || ArrayBuffer.isView(value) || isList || isFloat) return;
  const found = typeof value === 'object' && value !== null && 'f32' in value ? value.f32 : value;
  throw new ModelFormatError(
    `${key} of the packed file: expected a text, a number or a boolean in the model's files, found ${describe(found)}`,
  );
}

/** What comes before the tensors' bytes, which follow in this order, each padded. */
export function ggufHeader(
  metadata: readonly (readonly [key: string, value: GgufValue])[],
  tensors: readonly GgufTensor[],
): Uint8Array {
  const out = new Writer();
  out.add(new TextEncoder().encode('GGUF'));
  out.number(3, 4);
  out.number(tensors.length, 8);
  out.number(metadata.length, 8);
  for (const [key, value] of metadata) {
    checkValue(key, value);
    out.text(key);
    out.value(value);
  }
  let at = 0;
  for (const tensor of tensors) {
    out.text(tensor.name);
    out.number(tensor.shape.length, 4);
    for (const dim of [...tensor.shape].reverse()) out.number(dim, 8);
    out.number(kTypes[tensor.type].type, 4);
    out.number(at, 8);
    at += bytesOf(tensor);
    at += padding(at).length;
  }
  return out.done();
}

/** Blocks of 32: an f16 scale and int8 (ggml's quantize_row_q8_0_ref). */
function toQ8(values: Float32Array): Uint8Array {
  const out = new DataView(new ArrayBuffer((values.length / 32) * 34));
  for (let from = 0, to = 0; from < values.length; from += 32, to += 34) {
    let most = 0;
    for (let i = from; i < from + 32; ++i) most = Math.max(most, Math.abs(values[i] as number));
    const scale = Math.fround(most / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    out.setUint16(to, floatToHalf(scale), true);
    for (let i = 0; i < 32; ++i) {
      const scaled = Math.fround((values[from + i] as number) * inverse);
      out.setInt8(to + 2 + i, Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5));
    }
  }
  return new Uint8Array(out.buffer);
}

const { abs, fround, max, min, round } = Math;

/** Scales that are tried for a block of q4, as parts of the one that puts its largest number at the end of the range. */
const kTriedScales = Array.from({ length: 19 }, (_, i) => 8 / (8 + 0.1 * (i - 9)));

/**
 * The scale of 32 numbers that begin there, of which each becomes a whole number from -8 to 7 times the scale. It has the least sum of squared
 * differences among those tried, each fitted to the whole numbers that it gives (least squares, sum(x q) / sum(q q)). As ggml, it puts the number that is
 * largest without its sign at -8. weights: of the squares, from the first number of the block on; undefined: all alike.
 */
export function q4Scale(values: Float32Array, begin: number, weights?: Float32Array): number {
  let extreme = 0;
  for (let i = begin; i < begin + 32; ++i) if (abs(values[i] as number) > abs(extreme)) extreme = values[i] as number;
  let [best, most] = [0, 0];
  for (const part of kTriedScales) {
    const inverse = -8 / (extreme * part);
    let [along, squares] = [0, 0];
    for (let i = begin; i < begin + 32; ++i) {
      const value = values[i] as number;
      const code = max(-8, min(7, round(value * inverse)));
      const weighted = weights ? code * (weights[i - begin] as number) : code;
      along += value * weighted;
      squares += code * weighted;
    }
    // What is left of sum(x x) after the fit is less by this.
    const explained = (along * along) / squares;
    if (explained > most) [best, most] = [along / squares, explained];
  }
  return best;
}

/** The whole number, -8 to 7, that stands for a value where a block has this scale. */
export const q4Code = (value: number, scale: number): number => (scale === 0 ? 0 : max(-8, min(7, round(value * (1 / scale)))));

/** Blocks of 32: an f16 scale and four bits less 8, the low nibbles first (ggml's block_q4_0). codes: from -8 to 7. */
export function q4Blocks(scales: Uint16Array, codes: Int8Array): Uint8Array {
  const out = new DataView(new ArrayBuffer(scales.length * 18));
  for (let from = 0, to = 0; from < codes.length; from += 32, to += 18) {
    out.setUint16(to, scales[from / 32] as number, true);
    for (let i = 0; i < 16; ++i) {
      out.setUint8(to + 2 + i, ((codes[from + i] as number) + 8) | (((codes[from + i + 16] as number) + 8) << 4));
    }
  }
  return new Uint8Array(out.buffer);
}

function toQ4(values: Float32Array): Uint8Array {
  const scales = Uint16Array.from({ length: values.length / 32 }, (_, block) => floatToHalf(q4Scale(values, 32 * block)));
  const held = Float32Array.from(scales, halfToFloat);
  const codes = Int8Array.from(values, (value, i) => q4Code(value, held[i >> 5] as number));
  return q4Blocks(scales, codes);
}

const kSteps = 12582912; // 1.5 * 2^23
/** To a whole number, ties to even, as the kernels round. */
const rounded = (x: number) => fround(fround(x) + kSteps) - kSteps;

/** The scale of a group of weights that begins there (weight_scale in src/kernels/quant.h, in float32 as there). */
function groupScale(values: Float32Array, begin: number): number {
  let [largest, most] = [0, 0];
  for (let i = begin; i < begin + kNativeBlock; ++i) largest = max(largest, abs(values[i] as number));
  for (let i = begin; i < begin + kNativeBlock; i += 8) {
    for (let j = i; j < i + 4; j += 2) {
      const [a, b, c, d] = [values[j] as number, values[j + 4] as number, values[j + 1] as number, values[j + 5] as number];
      const plus = fround(fround(max(a, 0) + max(b, 0)) + fround(max(c, 0) + max(d, 0)));
      const minus = fround(fround(max(-a, 0) + max(-b, 0)) + fround(max(-c, 0) + max(-d, 0)));
      most = max(most, plus, minus);
    }
  }
  return max(fround(largest / 127), fround(most / 168));
}

/** W8: q8 as the kernels have it. width: of a row of a table, which has one scale (quantize_row in src/ops/embedding.cpp). */
function toNative(values: Float32Array, width: number | undefined): Uint8Array {
  const kBytes = kNativeBlock + 4;
  const out = new Int8Array((values.length / kNativeBlock) * kBytes);
  const scales = new Float32Array(out.buffer); // engines are little-endian
  let scale = 0;
  let factor = 0;
  for (let from = 0, to = 0; from < values.length; from += kNativeBlock, to += kBytes) {
    if (width === undefined) {
      scale = groupScale(values, from);
      factor = fround(1 / scale);
    } else if (from % width === 0) {
      let largest = 0;
      for (let i = from; i < from + width; ++i) largest = max(largest, abs(values[i] as number));
      scale = fround(largest / 127);
      factor = fround(127 / largest);
    }
    if (!Number.isFinite(factor)) factor = 0;
    scales[to / 4] = scale;
    for (let i = 0; i < kNativeBlock; ++i) out[to + 4 + i] = rounded((values[from + i] as number) * factor);
  }
  return new Uint8Array(out.buffer);
}

function toF16(values: Float32Array): Uint8Array {
  const large = values.find((value) => Math.abs(value) >= 65520);
  if (large !== undefined) throw new UnsupportedError(`pack: option 'dtype': 'f16': expected numbers below 65520, found ${large}`);
  return new Uint8Array(Uint16Array.from(values, floatToHalf).buffer);
}

/** Values as a tensor of this type stores them. q8, q4 and W8 take whole blocks. width: of a row. */
export function toBlocks(values: Float32Array, type: BlockType, width: number): Uint8Array {
  if (type === 'f32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  if (type === 'f16') return toF16(values);
  if (type === 'native') return toNative(values, undefined);
  if (type === 'native_table') return toNative(values, width);
  return type === 'q8' ? toQ8(values) : toQ4(values);
}
