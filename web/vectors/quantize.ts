// Embeddings in fewer bits, as sentence_transformers.quantize_embeddings (util/quantization.py, 6.2.0) makes them.
import { describe, InputError } from '../core/errors.js';
import { checkOptions } from '../core/options.js';
import { Tensor } from '../core/tensor.js';
import type { QuantizeOptions } from './types.js';
import type { OutputPrecision } from '../core/types.js';

export const kPrecisions = ['float32', 'int8', 'uint8', 'binary', 'ubinary'] as const;

/** Least and most of each component, [2][dim]. */
function rangesOf({ data, dims }: Tensor<'float32'>): Float32Array[] {
  const [rows, dim] = dims as [number, number];
  const least = new Float32Array(dim).fill(Infinity);
  const most = new Float32Array(dim).fill(-Infinity);
  for (let i = 0; i < rows * dim; ++i) {
    const [j, x] = [i % dim, data[i] as number];
    least[j] = Math.min(least[j] as number, x);
    most[j] = Math.max(most[j] as number, x);
  }
  return [least, most];
}

function checkFloats(where: string, value: unknown): asserts value is Tensor<'float32'> {
  const { type, dims } = (value ?? {}) as Partial<Tensor>;
  if (type === 'float32' && dims?.length === 2) return;
  throw new InputError(`${where}: expected a float32 Tensor [rows, dim], found ${dims ? `${type} [${dims}]` : describe(value)}`);
}

function toRanges(embeddings: Tensor<'float32'>, precision: string, options: QuantizeOptions): Float32Array[] {
  const [rows, dim] = embeddings.dims as [number, number];
  if (options.ranges) {
    const ranges = Array.from(options.ranges, (row) => Float32Array.from(row));
    if (ranges.length === 2 && ranges.every((row) => row.length === dim)) return ranges;
    throw new InputError(
      `quantize_embeddings: option 'ranges': expected least and most of ${dim} components, found ${describe(options.ranges)}`,
    );
  }
  const calibration = options.calibration_embeddings ?? embeddings;
  checkFloats("quantize_embeddings: option 'calibration_embeddings'", calibration);
  if (calibration.dims[1] !== dim) {
    throw new InputError(
      `quantize_embeddings: option 'calibration_embeddings': expected ${dim} components, found ${calibration.dims[1]}`,
    );
  }
  if (calibration === embeddings && rows === 1) {
    throw new InputError(
      `precision '${precision}': expected ranges, calibration_embeddings or several embeddings to find them, found one embedding`,
    );
  }
  return rangesOf(calibration);
}

function toBytes({ data, dims }: Tensor<'float32'>, [least, most]: Float32Array[]): Uint8Array {
  const dim = dims[1] as number;
  // Each step rounded to f32, as numpy does.
  const steps = (least as Float32Array).map((low, j) => Math.fround(Math.fround((most as Float32Array)[j]! - low) / 255) || 1);
  return Uint8Array.from(data, (x, i) => {
    const j = i % dim;
    const q = Math.floor(Math.fround(Math.fround(x - least![j]!) / steps[j]!));
    return Math.max(0, Math.min(255, q));
  });
}

/** One bit a component, 1 for above 0, the first in the highest bit; a last byte that is not full ends in zeros. */
function toBits({ data, dims: [rows, dim] }: Tensor<'float32'>): Uint8Array {
  const bytes = Math.ceil(dim! / 8);
  const out = new Uint8Array(rows! * bytes);
  data.forEach((x, i) => {
    if (x > 0) out[Math.floor(i / dim!) * bytes + ((i % dim!) >> 3)]! |= 0x80 >> ((i % dim!) & 7);
  });
  return out;
}

/**
 * Embeddings `[rows, dim]` in fewer bits. `'int8'`, `'uint8'`: 256 steps between the least and the most of each component, found in
 * `calibration_embeddings` or, if there are none, in the embeddings themselves. `'binary'`, `'ubinary'`: one bit a component, eight a
 * byte, `[rows, dim / 8]` (of `'binary'` the bytes less 128). The values are Python's.
 */
export function quantize_embeddings(
  embeddings: Tensor<'float32'>,
  precision: OutputPrecision,
  options: QuantizeOptions = {},
): Tensor<'float32' | 'int8' | 'uint8'> {
  checkFloats('quantize_embeddings', embeddings);
  checkOptions('quantize_embeddings', options, { ranges: 'any', calibration_embeddings: 'any' });
  if (!kPrecisions.includes(precision)) {
    throw new InputError(
      `precision: expected one of ${kPrecisions.map((name) => `'${name}'`).join(', ')}, found ${describe(precision)}`,
    );
  }
  if (precision === 'float32') return embeddings;
  const bits = precision.endsWith('binary');
  const [rows, dim] = embeddings.dims as [number, number];
  const bytes = bits ? toBits(embeddings) : toBytes(embeddings, toRanges(embeddings, precision, options ?? {}));
  const dims = [rows, bits ? Math.ceil(dim / 8) : dim];
  if (precision.startsWith('u')) return new Tensor('uint8', bytes, dims);
  return new Tensor(
    'int8',
    Int8Array.from(bytes, (byte) => byte - 128),
    dims,
  );
}
