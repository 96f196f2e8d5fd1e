// Quantised embeddings, as by sentence_transformers.quantize_embeddings (util/quantization.py, 6.2.0).
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { kPrecisions } from '../core/precisions.js';
import { Tensor } from '../core/tensor.js';
import type { QuantizeOptions } from './types.js';
import type { OutputPrecision } from '../core/types.js';

/** Minimum and maximum of each component, [2][dim]. */
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
      `quantize_embeddings: option 'ranges': expected minimum and maximum of ${dim} components, found ${describe(options.ranges)}`,
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
      `precision '${precision}': expected ranges, calibration_embeddings or several embeddings, found one embedding`,
    );
  }
  return rangesOf(calibration);
}

function toBytes({ data, dims }: Tensor<'float32'>, [least, most]: Float32Array[]): Uint8Array {
  const dim = dims[1] as number;
  // Rounded to f32 at each step, as in numpy.
  const steps = (least as Float32Array).map((low, j) => Math.fround(Math.fround((most as Float32Array)[j]! - low) / 255) || 1);
  return Uint8Array.from(data, (x, i) => {
    const j = i % dim;
    const q = Math.floor(Math.fround(Math.fround(x - least![j]!) / steps[j]!));
    return Math.max(0, Math.min(255, q));
  });
}

/** One bit per component, 1 if above 0, the first in the highest bit. The last byte is padded with zeros. */
function toBits({ data, dims: [rows, dim] }: Tensor<'float32'>): Uint8Array {
  const bytes = Math.ceil(dim! / 8);
  const out = new Uint8Array(rows! * bytes);
  data.forEach((x, i) => {
    if (x > 0) out[Math.floor(i / dim!) * bytes + ((i % dim!) >> 3)]! |= 0x80 >> ((i % dim!) & 7);
  });
  return out;
}

/**
 * Quantises embeddings `[rows, dim]`. `'int8'`, `'uint8'`: 256 steps between minimum and maximum of each component, taken from `calibration_embeddings`,
 * or else from the embeddings themselves. `'binary'`, `'ubinary'`: one bit per component, eight per byte, `[rows, dim / 8]` (for `'binary'`, the bytes
 * minus 128). Values match sentence-transformers'.
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * quantize_embeddings(await embed(['a boat', 'fresh bread']), 'binary').dims; // => [2, 48]
 */
export function quantize_embeddings(
  embeddings: Tensor<'float32'>,
  precision: OutputPrecision,
  options: QuantizeOptions = {},
): Tensor<'float32' | 'int8' | 'uint8'> {
  checkFloats('quantize_embeddings', embeddings);
  options = readOptions('quantize_embeddings', options, { ranges: 'any', calibration_embeddings: 'any' });
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
