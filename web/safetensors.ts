// safetensors files: 8 bytes for the length of a JSON header, the header, then the tensors' bytes.
import { ModelFormatError } from './errors.js';

/** A tensor of doubles. */
export interface Doubles {
  shape: readonly number[];
  data: Float64Array;
}

/** Tensors of doubles as a file; little-endian, as the format has it. */
export function writeSafetensors(tensors: Readonly<Record<string, Doubles>>): Uint8Array {
  let at = 0;
  const header = Object.entries(tensors).map(([name, { shape, data }]) => {
    const data_offsets = [at, (at += 8 * data.length)];
    return [name, { dtype: 'F64', shape, data_offsets }];
  });
  const text = JSON.stringify(Object.fromEntries(header));
  const json = new TextEncoder().encode(text + ' '.repeat((8 - (new TextEncoder().encode(text).length % 8)) % 8));
  const file = new Uint8Array(8 + json.length + at);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(json.length), true);
  file.set(json, 8);
  let place = 8 + json.length;
  for (const { data } of Object.values(tensors)) {
    for (const value of data) {
      view.setFloat64(place, value, true);
      place += 8;
    }
  }
  return file;
}

function readHeader(file: string, bytes: Uint8Array): { header: Record<string, unknown>; begin: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length < 8 ? -1 : Number(view.getBigUint64(0, true));
  if (!(length >= 0 && 8 + length <= bytes.length)) {
    throw new ModelFormatError(`${file}: expected a safetensors header, found ${bytes.length} bytes that do not hold one`);
  }
  try {
    const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + length)));
    if (typeof header === 'object' && header !== null) return { header: header as Record<string, unknown>, begin: 8 + length };
  } catch (cause) {
    throw new ModelFormatError(`${file}: its header: ${(cause as Error).message}`, { cause });
  }
  throw new ModelFormatError(`${file}: its header: expected an object of tensors`);
}

/** The tensor of that name and shape, F64 or F32; finite. */
export function readTensor(file: string, bytes: Uint8Array, name: string, shape: readonly number[]): Float64Array {
  const { header, begin } = readHeader(file, bytes);
  const entry = (Object.hasOwn(header, name) ? header[name] : undefined) as
    { dtype?: unknown; shape?: unknown; data_offsets?: unknown } | undefined;
  const size = entry?.dtype === 'F64' ? 8 : entry?.dtype === 'F32' ? 4 : 0;
  const count = shape.reduce((product, dim) => product * dim, 1);
  const [first, last] = (Array.isArray(entry?.data_offsets) ? entry.data_offsets : []) as [unknown, unknown];
  const fits =
    size > 0 &&
    JSON.stringify(entry?.shape) === JSON.stringify(shape) &&
    Number.isInteger(first) &&
    (first as number) >= 0 &&
    last === (first as number) + size * count &&
    begin + (last as number) <= bytes.length;
  if (!fits) {
    throw new ModelFormatError(
      `${file}: tensor '${name}': expected F64 or F32 [${shape}] inside the file, found ${JSON.stringify(entry)}`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + begin + (first as number), size * count);
  const data = Float64Array.from({ length: count }, (_, i) =>
    size === 8 ? view.getFloat64(8 * i, true) : view.getFloat32(4 * i, true),
  );
  const bad = data.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new ModelFormatError(`${file}: tensor '${name}': expected finite numbers, found ${data[bad]} at ${bad}`);
  return data;
}
