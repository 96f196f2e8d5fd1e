// How quantized tensors lie in safetensors: what a layout says, and the checks and conversions that layouts share. Values are computed in f32, in the
// order of the methods' own code.
import { ModelFormatError } from '../core/errors.js';
import { toFloats, type StoredTensor, type TensorInfo } from './safetensors.js';

/** Values of rows `first` to `first + count`, into out: [count, columns]. bytes: of these rows, or of the whole tensor (`whole`). */
export type Decode = (bytes: Uint8Array, first: number, count: number, out: Float32Array) => void;

/** A matrix that is made of several tensors. */
export interface QuantizedTensor {
  /** The name and shape that it has in files which are not quantized. */
  name: string;
  shape: readonly [rows: number, columns: number];
  /** A row of what is decoded at once, and its bytes in the main tensor; rows of `shape`, unless blocks go beyond them. */
  columns: number;
  rowBytes: number;
  /** Every row needs the whole main tensor. */
  whole?: boolean;
  /** The tensors that are read before it. */
  companions: TensorInfo[];
  decoder(companions: StoredTensor[]): Decode;
}

/** What a method may ask of the files. */
export interface Files {
  /** A tensor by its name, in whichever file. */
  find(name: string): TensorInfo | undefined;
  read(tensor: TensorInfo): Promise<StoredTensor>;
  /** 'FILE: tensor NAME', for messages. */
  where(tensor: TensorInfo): string;
}

/** Settings of a method. */
export interface Settings {
  bits?: number;
  groupSize?: number;
  /** FP8's rows and columns that share a scale. */
  block?: readonly [number, number];
  /** GPTQ's first format: a zero point is stored less 1. */
  zeroLess1?: boolean;
  /** MLX: settings of single layers. */
  layers?: Record<string, unknown>;
}

/** undefined: the tensor is not quantized. */
export type Layout = (tensor: TensorInfo, files: Files, settings: Settings) => Promise<QuantizedTensor | undefined>;

export const wrong = (files: Files, tensor: TensorInfo, expected: string, found: unknown) =>
  new ModelFormatError(`${files.where(tensor)}: expected ${expected}, found ${found}`);

export const shapeOf = ({ shape }: TensorInfo) => `[${shape.join(', ')}]`;

export function companion(files: Files, tensor: TensorInfo, name: string): TensorInfo {
  const found = files.find(name);
  if (!found) throw wrong(files, tensor, `the tensor '${name}' beside it`, 'none');
  return found;
}

export function checkShape(files: Files, tensor: TensorInfo, ...expected: number[]): void {
  if (tensor.shape.length === expected.length && tensor.shape.every((size, i) => size === expected[i])) return;
  throw wrong(files, tensor, `shape [${expected.join(', ')}]`, shapeOf(tensor));
}

export function checkType(files: Files, tensor: TensorInfo, ...expected: string[]): void {
  if (!expected.includes(tensor.dtype)) throw wrong(files, tensor, expected.join(' or '), tensor.dtype);
}

/** The two dimensions of a matrix that is not empty. */
export function matrixOf(files: Files, tensor: TensorInfo): [number, number] {
  const { shape } = tensor;
  if (shape.length !== 2 || shape.includes(0)) throw wrong(files, tensor, 'a matrix', `shape ${shapeOf(tensor)}`);
  return shape as [number, number];
}

const kScaleTypes = ['F32', 'F16', 'BF16', 'F64'];

/** The finite numbers of a tensor of scales. exponents: U8 are exponents of 2, too. */
export function numbersOf(files: Files, stored: StoredTensor, exponents = false): Float32Array {
  const tensor = stored as unknown as TensorInfo;
  const isExponents = exponents && (stored.dtype === 'U8' || stored.dtype === 'F8_E8M0');
  if (!isExponents) checkType(files, tensor, ...kScaleTypes);
  const values = isExponents
    ? Float32Array.from(stored.bytes, (byte) => (byte === 255 ? NaN : 2 ** (byte - 127)))
    : toFloats(stored);
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw wrong(files, tensor, 'finite numbers', `${values[bad]} at ${bad}`);
  return values;
}

/** Unsigned numbers of 2 to 8 bits, one after the other from the lowest bit of each byte on. */
export function unpack(bytes: Uint8Array, bits: number, count: number, out: Uint8Array): void {
  if (bits === 8) return out.set(bytes.subarray(0, count));
  const mask = (1 << bits) - 1;
  for (let i = 0, bit = 0; i < count; ++i, bit += bits) {
    const at = bit >> 3;
    out[i] = (((bytes[at] as number) | ((bytes[at + 1] ?? 0) << 8)) >> (bit & 7)) & mask;
  }
}

/** The parameter that a scale belongs to, less its ending, such as 'layer.0.' of 'layer.0.weight'. */
export const prefixOf = (name: string, ending: string) => name.slice(0, name.length - ending.length);

export const integersOf = (files: Files, stored: StoredTensor): number[] => {
  checkType(files, stored as unknown as TensorInfo, 'I32', 'I64');
  return Array.from(toFloats(stored));
};

/** The group of each column. An index below 0 counts from the end, as in Python. */
export function groupsOf(files: Files, stored: StoredTensor, groups: number): Int32Array {
  const index = Int32Array.from(integersOf(files, stored), (group) => (group < 0 ? group + groups : group));
  const bad = index.findIndex((group) => group < 0 || group >= groups);
  if (bad < 0) return index;
  throw wrong(files, stored as unknown as TensorInfo, `groups below ${groups}`, `${index[bad]} at ${bad}`);
}
