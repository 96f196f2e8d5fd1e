// Quantized tensors whose rows lie one after the other: a byte for each value (FP8, int8), or packed codes (MLX, compressed-tensors).
// MLX: mlx/backend/cpu/quantized.cpp. FP8: transformers/integrations/finegrained_fp8.py. compressed-tensors: its compressors/pack_quantized and
// naive_quantized.
import { UnsupportedError } from '../core/errors.js';
import { checkShape, checkType, companion, groupsOf, integersOf, matrixOf, numbersOf, prefixOf, shapeOf, unpack, wrong, type Decode, type Files, type Layout, type Settings } from './quantized_layouts.js'; // prettier-ignore
import { toFloats, type StoredTensor, type TensorInfo } from './safetensors.js';

/** The values of the 256 codes of 8-bit floats: a sign, an exponent, and a mantissa of so many bits. */
const eights = (mantissa: number, bias: number, special: (magnitude: number) => number | undefined) =>
  Float32Array.from({ length: 256 }, (_, code) => {
    const magnitude = code & 127;
    const exponent = magnitude >> mantissa;
    const fraction = (magnitude & ((1 << mantissa) - 1)) / (1 << mantissa);
    const value = special(magnitude) ?? (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias));
    return code & 128 ? -value : value;
  });

/** The values of all bytes of a type. E4M3 has no infinity, and one NaN of each sign. */
const kByteValues: Record<string, () => Float32Array> = {
  F8_E4M3: () => eights(3, 7, (magnitude) => (magnitude === 127 ? NaN : undefined)),
  F8_E5M2: () => eights(2, 15, (magnitude) => (magnitude < 124 ? undefined : magnitude === 124 ? Infinity : NaN)),
  I8: () => Float32Array.from({ length: 256 }, (_, code) => (code << 24) >> 24),
};

/** How many rows or columns share a scale. */
function stepOf(size: number, scales: number, block: number | undefined): number | undefined {
  if (block && Math.ceil(size / block) === scales) return block;
  return scales > 0 && size % scales === 0 ? size / scales : undefined;
}

interface Grid {
  rowStep: number;
  columnStep: number;
  perRow: number;
}

/** Which scale a value has: one for the tensor, for each row, or for blocks. */
function gridOf(files: Files, scale: TensorInfo, [rows, columns]: readonly [number, number], { block, groupSize }: Settings): Grid {
  const [down, perRow] = scale.shape.length > 1 ? (scale.shape as [number, number]) : [scale.shape[0] ?? 1, 1];
  const rowStep = stepOf(rows, down, block?.[0]);
  const columnStep = stepOf(columns, perRow, block?.[1] ?? groupSize);
  if (scale.shape.length <= 2 && rowStep && columnStep) return { rowStep, columnStep, perRow };
  throw wrong(files, scale, `a scale for the whole, or for each row or block, of [${rows}, ${columns}]`, `shape ${shapeOf(scale)}`);
}

/** Each byte is a value: FP8, and int8 of compressed-tensors. */
export const bytesLayout: Layout = async (tensor, files, settings) => {
  const { name, dtype } = tensor;
  const scale = files.find(`${name}_scale_inv`) ?? files.find(`${name}_scale`);
  const values = kByteValues[dtype]?.();
  if (!values) {
    if (scale) checkType(files, tensor, ...Object.keys(kByteValues));
    return undefined;
  }
  if (!scale) throw wrong(files, tensor, `the tensor '${name}_scale_inv' or '${name}_scale' beside it`, 'none');
  const shape = matrixOf(files, tensor);
  const { rowStep, columnStep, perRow } = gridOf(files, scale, shape, settings);
  const [, columns] = shape;
  const zero = files.find(`${name}_zero_point`);
  if (zero) {
    checkType(files, zero, 'I8');
    checkShape(files, zero, ...scale.shape);
  }
  const decoder = ([scales, zeros]: StoredTensor[]): Decode => {
    const numbers = numbersOf(files, scales as StoredTensor, true);
    const offsets = zeros && toFloats(zeros);
    return (bytes, first, count, out) => {
      for (let row = 0; row < count; ++row) {
        const group = Math.floor((first + row) / rowStep) * perRow;
        for (let begin = 0, i = group; begin < columns; begin += columnStep, ++i) {
          const factor = numbers[i] as number;
          const offset = offsets?.[i] ?? 0;
          const end = row * columns + Math.min(columns, begin + columnStep);
          for (let at = row * columns + begin; at < end; ++at)
            out[at] = ((values[bytes[at] as number] as number) - offset) * factor;
        }
      }
    };
  };
  return { name, shape, columns, rowBytes: columns, companions: [scale, ...(zero ? [zero] : [])], decoder };
};

/** Rows of codes along the columns, a scale and a zero or minimum for each group: `(code - zero) * scale + bias`. */
function packedRows(
  columns: number,
  bits: number,
  groupOf: (column: number) => number,
  groups: number,
  tables: { scales: Float32Array; zeros?: Float32Array | number; biases?: Float32Array },
): Decode {
  const { scales, zeros = 0, biases } = tables;
  const codes = new Uint8Array(columns);
  const group = Uint32Array.from(codes, (_, column) => groupOf(column));
  const rowBytes = Math.ceil((columns * bits) / 32) * 4;
  return (bytes, first, count, out) => {
    for (let row = 0; row < count; ++row) {
      unpack(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), bits, columns, codes);
      const begin = (first + row) * groups;
      for (let i = 0; i < columns; ++i) {
        const at = begin + (group[i] as number);
        const zero = typeof zeros === 'number' ? zeros : (zeros[at] as number);
        const product = ((codes[i] as number) - zero) * (scales[at] as number);
        out[row * columns + i] = biases ? Math.fround(product) + (biases[at] as number) : product;
      }
    }
  };
}

/** MLX: codes in U32, scales and biases of each group of a row. */
export const mlxLayout: Layout = async (tensor, files, { bits, groupSize, layers }) => {
  const { name, dtype } = tensor;
  if (!name.endsWith('.weight') || (dtype !== 'U32' && dtype !== 'I32')) return undefined;
  const layer = prefixOf(name, '.weight');
  const own = layers && Object.hasOwn(layers, layer) ? layers[layer] : undefined;
  const settings = (typeof own === 'object' && own !== null ? own : {}) as { bits?: unknown; group_size?: unknown; mode?: unknown };
  const width = settings.bits ?? bits;
  const size = settings.group_size ?? groupSize;
  if ((settings.mode ?? 'affine') !== 'affine')
    throw new UnsupportedError(`${files.where(tensor)}: expected mode 'affine', found '${settings.mode}'`);
  if (typeof width !== 'number' || ![2, 3, 4, 5, 6, 8].includes(width)) throw wrong(files, tensor, '2 to 6 or 8 bits', `${width}`);
  if (typeof size !== 'number' || !(Number.isInteger(size) && size > 0)) throw wrong(files, tensor, 'a group_size', `${size}`);
  const scales = companion(files, tensor, `${layer}.scales`);
  const biases = files.find(`${layer}.biases`) ?? files.find(`${layer}.qbiases`) ?? companion(files, tensor, `${layer}.biases`);
  const [rows, words] = matrixOf(files, tensor);
  const columns = (words * 32) / width;
  if (!Number.isInteger(columns / size))
    throw wrong(files, tensor, `rows of whole groups of ${size} in ${width} bits`, `shape ${shapeOf(tensor)}`);
  const groups = columns / size;
  for (const each of [scales, biases]) checkShape(files, each, rows, groups);
  const decoder = ([factors, minima]: StoredTensor[]) =>
    packedRows(columns, width, (column) => Math.floor(column / size), groups, {
      scales: numbersOf(files, factors as StoredTensor),
      biases: numbersOf(files, minima as StoredTensor),
    });
  return { name, shape: [rows, columns], columns, rowBytes: words * 4, companions: [scales, biases], decoder };
};

/** Codes of `bits` bits that lie in the words of each column one below the other, as [down, across] numbers. */
function unpackDown(bytes: Uint8Array, bits: number, down: number, across: number): Uint8Array {
  const perWord = 32 / bits;
  const out = new Uint8Array(down * across);
  const mask = (1 << bits) - 1;
  for (let i = 0; i < down; ++i) {
    const row = Math.floor(i / perWord) * across * 4;
    const bit = (i % perWord) * bits;
    for (let j = 0; j < across; ++j) out[i * across + j] = ((bytes[row + j * 4 + (bit >> 3)] as number) >> (bit & 7)) & mask;
  }
  return out;
}

/** compressed-tensors: packed integers, or a byte for each value. */
export const compressedLayout: Layout = async (tensor, files, settings) => {
  const { name } = tensor;
  if (!name.endsWith('.weight_packed')) return bytesLayout(tensor, files, settings);
  const { bits = 4 } = settings;
  const layer = prefixOf(name, '_packed');
  const scale = companion(files, tensor, `${layer}_scale`);
  const [rows, words] = matrixOf(files, tensor);
  checkType(files, tensor, 'I32');
  const sizes = integersOf(files, await files.read(companion(files, tensor, `${layer}_shape`)));
  const columns = sizes[1] as number;
  if (sizes.length !== 2 || sizes[0] !== rows || Math.ceil((columns * bits) / 32) !== words)
    throw wrong(files, tensor, `the bits of [${sizes.join(', ')}] in ${bits} bits`, `shape ${shapeOf(tensor)}`);
  const { rowStep, columnStep, perRow } = gridOf(files, scale, [rows, columns], settings);
  if (rowStep !== 1) throw wrong(files, scale, `shape [${rows}, groups]`, shapeOf(scale));
  const order = files.find(`${layer}_g_idx`);
  if (order) checkShape(files, order, columns);
  const zero = files.find(`${layer}_zero_point`);
  if (zero) {
    checkType(files, zero, 'I32');
    checkShape(files, zero, Math.ceil((rows * bits) / 32), perRow);
  }
  const companions = [scale, ...(zero ? [zero] : []), ...(order ? [order] : [])];
  const decoder = ([scales, ...rest]: StoredTensor[]) => {
    const zeros = zero && unpackDown((rest[0] as StoredTensor).bytes, bits, rows, perRow);
    const index = order && groupsOf(files, rest[zero ? 1 : 0] as StoredTensor, perRow);
    return packedRows(columns, bits, (column) => index?.[column] ?? Math.floor(column / columnStep), perRow, {
      scales: numbersOf(files, scales as StoredTensor),
      zeros: zeros ? new Float32Array(zeros) : 1 << (bits - 1),
    });
  };
  return { name: layer, shape: [rows, columns], columns, rowBytes: words * 4, companions, decoder };
};
