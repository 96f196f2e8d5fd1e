// safetensors files, read and written: https://github.com/huggingface/safetensors (README, "Format").
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import { Tensor, type TensorType } from '../core/tensor.js';

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const kBits = new DataView(new ArrayBuffer(4));
function bfloatToFloat(bits: number): number {
  kBits.setUint32(0, bits * 65536);
  return kBits.getFloat32(0);
}

type Read = [bytes: number, type: TensorType, read: (view: DataView, at: number) => number | bigint];
const kReaders: Record<string, Read> = {
  F64: [8, 'float32', (view, at) => view.getFloat64(at, true)],
  F32: [4, 'float32', (view, at) => view.getFloat32(at, true)],
  F16: [2, 'float32', (view, at) => halfToFloat(view.getUint16(at, true))],
  BF16: [2, 'float32', (view, at) => bfloatToFloat(view.getUint16(at, true))],
  I64: [8, 'int64', (view, at) => view.getBigInt64(at, true)],
  I32: [4, 'int32', (view, at) => view.getInt32(at, true)],
  I8: [1, 'int8', (view, at) => view.getInt8(at)],
  U8: [1, 'uint8', (view, at) => view.getUint8(at)],
  BOOL: [1, 'bool', (view, at) => view.getUint8(at)],
};

function parseHeader(bytes: Uint8Array): { entries: [string, Entry][]; begin: number } {
  const wrong = (what: string) => new ModelFormatError(`safetensors: ${what}`);
  if (bytes.length < 8) throw wrong(`expected 8 bytes of header length, found ${bytes.length} bytes`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (length > bytes.length - 8) throw wrong(`expected a header of ${length} bytes, found ${bytes.length - 8}`);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + length)));
  } catch (cause) {
    throw new ModelFormatError('safetensors: the header is not JSON', { cause });
  }
  if (header === null || typeof header !== 'object') throw wrong('the header is not a JSON object');
  const entries = Object.entries(header as Record<string, Entry>).filter(([name]) => name !== '__metadata__');
  return { entries, begin: 8 + length };
}

/** The tensors of a safetensors file by name. f64, f16 and bf16 are converted to f32. */
export function load_safetensors(bytes: Uint8Array | ArrayBuffer): Record<string, Tensor> {
  const whole = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  const { entries, begin } = parseHeader(whole);
  const out: [string, Tensor][] = entries.map(([name, entry]) => {
    const reader = Object.hasOwn(kReaders, entry?.dtype) ? kReaders[entry.dtype] : undefined;
    if (!reader) throw new UnsupportedError(`safetensors: '${name}': the type ${describe(entry?.dtype)} is not supported`);
    const { shape, data_offsets } = entry;
    const whole_numbers = (list: unknown): list is number[] =>
      Array.isArray(list) && list.every((each) => Number.isSafeInteger(each) && each >= 0);
    if (!whole_numbers(shape) || !whole_numbers(data_offsets) || data_offsets.length !== 2) {
      throw new ModelFormatError(
        `safetensors: '${name}': expected a shape and two offsets, found ${JSON.stringify(entry)?.slice(0, 80)}`,
      );
    }
    const [size, type, read] = reader;
    const count = shape.reduce((product, dim) => product * dim, 1);
    const [from, to] = data_offsets;
    if (to - from !== count * size || begin + to > whole.length) {
      throw new ModelFormatError(
        `safetensors: '${name}': expected ${count * size} bytes for [${shape}], found ${from} .. ${to} of ${whole.length - begin}`,
      );
    }
    const view = new DataView(whole.buffer, whole.byteOffset + begin + from, to - from);
    const values = Array.from({ length: count }, (_, i) => read(view, i * size));
    return [name, new Tensor(type, values as number[], shape)];
  });
  return Object.fromEntries(out);
}

/** The bytes of a safetensors file with these tensors (a state dict). */
export function save_safetensors(tensors: Record<string, Tensor>, options: { metadata?: Record<string, string> } = {}): Uint8Array {
  checkOptions('nn.save_safetensors', options, ['metadata']);
  const { metadata } = options ?? {};
  const kTypes: Record<TensorType, string> = { float32: 'F32', int32: 'I32', int64: 'I64', int8: 'I8', uint8: 'U8', bool: 'BOOL' };
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  const entries = Object.entries(tensors);
  for (const [name, tensor] of entries) {
    if (!(tensor instanceof Tensor))
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
