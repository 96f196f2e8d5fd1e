// Quantized tensors whose outputs lie in columns: GPTQ (gptqmodel/nn_modules/qlinear) and AWQ (awq/utils/packing_utils.py).
import { checkShape, checkType, companion, groupsOf, matrixOf, numbersOf, prefixOf, shapeOf, unpack, wrong, type Decode, type Layout } from './quantized_layouts.js'; // prettier-ignore
import type { StoredTensor } from './safetensors.js';

/** A column of words is an output; codes lie along the inputs, in groups with a scale and a zero point for each output. */
export const gptqLayout: Layout = async (tensor, files, { bits = 4, groupSize = -1, zeroLess1 }) => {
  const { name } = tensor;
  if (!name.endsWith('.qweight')) return undefined;
  const layer = prefixOf(name, 'qweight');
  checkType(files, tensor, 'I32', 'U32');
  const perWord = 32 / bits;
  const [words, rows] = matrixOf(files, tensor);
  const columns = words * perWord;
  const [scales, zeros] = [companion(files, tensor, `${layer}scales`), companion(files, tensor, `${layer}qzeros`)];
  const [groups] = matrixOf(files, scales);
  checkShape(files, scales, groups, rows);
  checkType(files, zeros, 'I32', 'U32');
  checkShape(files, zeros, groups, Math.ceil(rows / perWord));
  const order = files.find(`${layer}g_idx`);
  if (order) checkShape(files, order, columns);
  const size = groupSize > 0 ? groupSize : columns;
  if (!order && Math.ceil(columns / size) !== groups)
    throw wrong(files, scales, `${Math.ceil(columns / size)} groups of ${size}`, shapeOf(scales));
  const decoder = ([factors, packedZeros, indices]: StoredTensor[]): Decode => {
    const numbers = numbersOf(files, factors as StoredTensor);
    const index = indices && groupsOf(files, indices, groups);
    const mask = (1 << bits) - 1;
    const offsets = new Uint8Array(groups * perWord * Math.ceil(rows / perWord));
    unpack((packedZeros as StoredTensor).bytes, bits, offsets.length, offsets);
    if (zeroLess1) offsets.forEach((zero, i) => (offsets[i] = (zero + 1) & mask));
    const perGroup = offsets.length / groups;
    return (bytes, first, count, out) => {
      for (let column = 0; column < columns; ++column) {
        const group = index?.[column] ?? Math.floor(column / size);
        const bit = (column % perWord) * bits;
        const from = Math.floor(column / perWord) * rows * 4 + (bit >> 3);
        for (let row = 0; row < count; ++row) {
          const code = ((bytes[from + (first + row) * 4] as number) >> (bit & 7)) & mask;
          const zero = offsets[group * perGroup + first + row] as number;
          out[row * columns + column] = (code - zero) * (numbers[group * rows + first + row] as number);
        }
      }
    };
  };
  const companions = [scales, zeros, ...(order ? [order] : [])];
  return { name: `${layer}weight`, shape: [rows, columns], columns, rowBytes: 0, whole: true, companions, decoder };
};

/** Where the codes of 8 outputs are in a word. */
const kAwqOrder = [0, 4, 1, 5, 2, 6, 3, 7];

/** A row of words is an input; each word has 8 outputs, in an order of its own. */
export const awqLayout: Layout = async (tensor, files, { groupSize = 128 }) => {
  const { name } = tensor;
  if (!name.endsWith('.qweight')) return undefined;
  const layer = prefixOf(name, 'qweight');
  checkType(files, tensor, 'I32', 'U32');
  const [columns, words] = matrixOf(files, tensor);
  const rows = words * 8;
  const [scales, zeros] = [companion(files, tensor, `${layer}scales`), companion(files, tensor, `${layer}qzeros`)];
  const size = groupSize > 0 ? groupSize : columns;
  const groups = Math.ceil(columns / size);
  checkShape(files, scales, groups, rows);
  checkType(files, zeros, 'I32', 'U32');
  checkShape(files, zeros, groups, words);
  const decoder = ([factors, packedZeros]: StoredTensor[]): Decode => {
    const numbers = numbersOf(files, factors as StoredTensor);
    const { bytes: offsets } = packedZeros as StoredTensor;
    const codeAt = (bytes: Uint8Array, row: number, output: number) => {
      const place = kAwqOrder[output & 7] as number;
      return ((bytes[(row * words + (output >> 3)) * 4 + (place >> 1)] as number) >> ((place & 1) * 4)) & 15;
    };
    return (bytes, first, count, out) => {
      for (let column = 0; column < columns; ++column) {
        const group = Math.floor(column / size);
        for (let row = 0; row < count; ++row) {
          const code = codeAt(bytes, column, first + row) - codeAt(offsets, group, first + row);
          out[row * columns + column] = code * (numbers[group * rows + first + row] as number);
        }
      }
    };
  };
  return {
    name: `${layer}weight`,
    shape: [rows, columns],
    columns,
    rowBytes: 0,
    whole: true,
    companions: [scales, zeros],
    decoder,
  };
};
