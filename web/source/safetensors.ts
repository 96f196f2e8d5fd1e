// safetensors files, read and written: https://github.com/huggingface/safetensors (README, "Format").
import { halfToFloat } from '../core/half.js';
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { readOptions } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import { TensorBase, type TensorType } from '../core/tensor_base.js';

/** Bytes before the header: its length, a little-endian number. */
export const kPrefixBytes = 8;
const kMostHeaderBytes = 100_000_000; // the format's own limit

/** Bytes of a value. */
export const kItemBytes: Record<string, number> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
};

export interface TensorInfo {
  name: string;
  dtype: string;
  shape: number[];
  /** Bytes of the data after the header: from `begin` up to `end`. */
  begin: number;
  end: number;
}

/** The length of the header, from the first 8 bytes of a file of `fileBytes` bytes. The rules are those of src/io/safetensors.h. */
export function headerBytes(prefix: Uint8Array, fileBytes: number, file: string): number {
  const wrong = (what: string) => new ModelFormatError(`${file}: expected ${what}`);
  if (prefix.length < kPrefixBytes || fileBytes < kPrefixBytes) {
    throw wrong(`a safetensors file, found only ${fileBytes} bytes`);
  }
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
  const largest = Math.min(kMostHeaderBytes, fileBytes - kPrefixBytes);
  if (length >= 2n && length <= BigInt(largest)) return Number(length);
  const text = String.fromCharCode(...prefix.subarray(0, kPrefixBytes)); // not before: a length of 60 begins like HTML
  if (text.startsWith('<')) throw wrong('a safetensors file, found HTML or XML (a web page in place of the file?)');
  if (text === 'version ') throw wrong('a safetensors file, found a Git LFS pointer (the file itself was not fetched)');
  throw wrong(`a header length from 2 to ${largest}, found ${length} (not a safetensors file, or cut off)`);
}

const areSizes = (list: unknown): list is number[] =>
  Array.isArray(list) && list.every((each) => Number.isSafeInteger(each) && each >= 0);

function parseTensor(where: string, name: string, entry: unknown, sizes: Record<string, number>): TensorInfo {
  const { dtype, shape, data_offsets } = (entry ?? {}) as Record<string, unknown>;
  const wrong = (field: string, expected: string, found: unknown) =>
    new ModelFormatError(`${where}: ${name}.${field}: expected ${expected}, found ${describe(found)}`);
  if (typeof dtype !== 'string') throw wrong('dtype', 'a string', dtype);
  if (!Object.hasOwn(sizes, dtype)) {
    const known = Object.keys(sizes).join(', ');
    throw new UnsupportedError(`${where}: ${name}.dtype: expected one of ${known}, found ${describe(dtype)}`);
  }
  if (!areSizes(shape)) throw wrong('shape', 'an array of dimensions of 0 or more', shape);
  if (!areSizes(data_offsets) || data_offsets.length !== 2)
    throw wrong('data_offsets', 'an array of two byte offsets', data_offsets);
  const [begin, end] = data_offsets as [number, number];
  const itemBytes = sizes[dtype] as number;
  const count = shape.reduce((product, dim) => product * dim, 1);
  if (end - begin !== count * itemBytes) {
    const elements = `${count} elements of ${itemBytes} bytes for shape [${shape.join(', ')}]`;
    throw new ModelFormatError(`${where}: ${name}.data_offsets: expected ${elements}, found ${end - begin} bytes`);
  }
  return { name, dtype, shape, begin, end };
}

/** The tensors of a header in file order. sizes: bytes of a value of each type. */
export function headerTensors(header: Uint8Array, file: string, sizes = kItemBytes): TensorInfo[] {
  const where = `${file} (header)`;
  let root: unknown;
  try {
    root = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(header)));
  } catch (cause) {
    throw new ModelFormatError(`${where}: expected JSON, found text that does not parse (${header.length} bytes)`, { cause });
  }
  if (root === null || typeof root !== 'object' || Array.isArray(root)) {
    throw new ModelFormatError(`${where}: expected an object of tensors, found ${describe(root)}`);
  }
  return Object.entries(root)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => parseTensor(where, name, entry, sizes))
    .sort((a, b) => a.begin - b.begin || a.end - b.end); // an empty tensor before the one that starts at the same byte
}

/**
 * The tensors of a header in file order, in a file of `fileBytes` bytes. They must cover the data exactly, without gaps or overlaps. Of
 * a repeated name the last entry counts, so bytes that only an earlier one names are a gap.
 */
export function parseHeader(header: Uint8Array, fileBytes: number, file: string, sizes = kItemBytes): TensorInfo[] {
  const tensors = headerTensors(header, file, sizes);
  let expected = 0;
  for (const { name, begin, end } of tensors) {
    if (begin !== expected) {
      const what = begin > expected ? 'a gap' : 'an overlap';
      throw new ModelFormatError(`${file}: tensor '${name}': expected its bytes to begin at ${expected}, found ${begin} (${what})`);
    }
    expected = end;
  }
  const dataBytes = fileBytes - kPrefixBytes - header.length;
  if (expected !== dataBytes) {
    const what = dataBytes < expected ? 'cut off' : 'bytes left over';
    throw new ModelFormatError(
      `${file}: expected ${expected} bytes of tensors according to the header, found ${dataBytes} (${what})`,
    );
  }
  return tensors;
}

export interface StoredTensor extends Omit<TensorInfo, 'begin' | 'end'> {
  /** Part of the file, without a copy. */
  bytes: Uint8Array;
}

/** The tensors of a whole file, in file order. */
export function readSafetensors(whole: Uint8Array, file: string): StoredTensor[] {
  const begin = kPrefixBytes + headerBytes(whole, whole.length, file);
  return parseHeader(whole.subarray(kPrefixBytes, begin), whole.length, file).map(({ begin: from, end: to, ...tensor }) => ({
    ...tensor,
    bytes: whole.subarray(begin + from, begin + to),
  }));
}

let halves: Float32Array | undefined; // of all 65536 bit patterns

// Engines are little-endian, as the format is. A copy is aligned.
const copyOf = (bytes: Uint8Array) => new Uint8Array(bytes).buffer;

const kToFloats: Record<string, (bytes: Uint8Array) => Float32Array> = {
  F32: (bytes) => new Float32Array(copyOf(bytes)),
  F64: (bytes) => new Float32Array(new Float64Array(copyOf(bytes))),
  F16: (bytes) => {
    const bits = new Uint16Array(copyOf(bytes));
    const table = (halves ??= Float32Array.from({ length: 65536 }, (_, half) => halfToFloat(half)));
    const out = new Float32Array(bits.length);
    for (let i = 0; i < bits.length; ++i) out[i] = table[bits[i] as number] as number;
    return out;
  },
  // Static embeddings have them; other integers are not weights.
  I8: (bytes) => new Float32Array(new Int8Array(copyOf(bytes))),
  I32: (bytes) => new Float32Array(new Int32Array(copyOf(bytes))),
  I64: (bytes) => Float32Array.from(new BigInt64Array(copyOf(bytes)), Number),
  BF16: (bytes) => {
    const bits = new Uint16Array(copyOf(bytes));
    const out = new Uint32Array(bits.length);
    for (let i = 0; i < bits.length; ++i) out[i] = (bits[i] as number) << 16;
    return new Float32Array(out.buffer);
  },
};

export const isFloat = (dtype: string): boolean => /F/.test(dtype);
/** The values of a tensor of F32, F64, F16, BF16, I8, I32 or I64; a copy. */
export const toFloats = ({ dtype, bytes }: StoredTensor): Float32Array =>
  (kToFloats[dtype] as (bytes: Uint8Array) => Float32Array)(bytes);

function toTensor(stored: StoredTensor): Tensor {
  const { dtype, shape, bytes } = stored;
  switch (dtype) {
    case 'I64':
      return new Tensor('int64', new BigInt64Array(copyOf(bytes)), shape);
    case 'I32':
      return new Tensor('int32', new Int32Array(copyOf(bytes)), shape);
    case 'I16':
      return new Tensor('int32', new Int32Array(new Int16Array(copyOf(bytes))), shape);
    case 'I8':
      return new Tensor('int8', new Int8Array(copyOf(bytes)), shape);
    case 'U8':
      return new Tensor('uint8', new Uint8Array(bytes), shape);
    case 'BOOL':
      return new Tensor('bool', new Uint8Array(bytes), shape);
    default:
      return new Tensor('float32', toFloats(stored), shape);
  }
}

/** load_safetensors for a file with this name in messages. */
export function loadTensors(bytes: Uint8Array | ArrayBuffer, file: string): Record<string, Tensor> {
  const whole = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  return Object.fromEntries(readSafetensors(whole, file).map((stored) => [stored.name, toTensor(stored)]));
}

/**
 * Reads the tensors of a safetensors file by name, in file order, as copies. F64, F16 and BF16 become float32, I16 becomes int32. Throws a
 * `ModelFormatError` if the file is truncated, or if its tensors overlap or leave gaps, and an `UnsupportedError` for another type.
 *
 *     const state = nn.load_safetensors(await file.arrayBuffer());
 *     model.load_state_dict(state);
 *
 * @example
 * const net = new nn.Linear(4, 2);
 * net.load_state_dict(nn.load_safetensors(nn.save_safetensors(net.state_dict())));
 */
export const load_safetensors = (bytes: Uint8Array | ArrayBuffer): Record<string, Tensor> => loadTensors(bytes, 'safetensors');

/**
 * Writes tensors (a state dict) as the bytes of a safetensors file.
 *
 * @example
 * const bytes = nn.save_safetensors(new nn.Linear(4, 2).state_dict());
 */
export function save_safetensors(
  tensors: Record<string, TensorBase>,
  options: { metadata?: Record<string, string> } = {},
): Uint8Array {
  options = readOptions('nn.save_safetensors', options, ['metadata']);
  const { metadata } = options ?? {};
  const kTypes: Record<TensorType, string> = { float32: 'F32', int32: 'I32', int64: 'I64', int8: 'I8', uint8: 'U8', bool: 'BOOL' };
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  const entries = Object.entries(tensors);
  for (const [name, tensor] of entries) {
    if (!(tensor instanceof TensorBase))
      throw new InputError(`nn.save_safetensors: expected a Tensor as '${name}', found ${describe(tensor)}`);
    const begin = end;
    end += tensor.data.byteLength;
    header[name] = { dtype: kTypes[tensor.type as TensorType], shape: tensor.dims, data_offsets: [begin, end] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(text.length / 8) * 8; // aligns the data
  const out = new Uint8Array(8 + padded + end).fill(0x20, 8, 8 + padded);
  new DataView(out.buffer).setBigUint64(0, BigInt(padded), true);
  out.set(text, 8);
  let at = 8 + padded;
  for (const [, { data }] of entries) {
    out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at); // engines are little-endian
    at += data.byteLength;
  }
  return out;
}
