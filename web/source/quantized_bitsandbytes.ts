// Weights of bitsandbytes: bitsandbytes/functional.py and backends/default/ops.py.
import { parseJson } from '../core/json.js';
import { checkShape, companion, matrixOf, numbersOf, prefixOf, wrong, type Decode, type Files, type Layout, type QuantizedTensor } from './quantized_layouts.js'; // prettier-ignore
import type { StoredTensor, TensorInfo } from './safetensors.js';

/** int8: a scale for each row. */
function eightBits(tensor: TensorInfo, files: Files): QuantizedTensor {
  const { name } = tensor;
  const scale = companion(files, tensor, `${prefixOf(name, 'weight')}SCB`);
  const shape = matrixOf(files, tensor);
  const [rows, columns] = shape;
  checkShape(files, scale, rows);
  const k127th = Math.fround(7.874015718698502e-3);
  const decoder = ([scales]: StoredTensor[]): Decode => {
    const numbers = numbersOf(files, scales as StoredTensor);
    return (bytes, first, count, out) => {
      for (let row = 0, at = 0; row < count; ++row) {
        const scale = numbers[first + row] as number;
        for (const end = at + columns; at < end; ++at) {
          out[at] = Math.fround((((bytes[at] as number) << 24) >> 24) * scale) * k127th;
        }
      }
    };
  };
  return { name, shape, columns, rowBytes: columns, companions: [scale], decoder };
}

/** 4 bits may be stored as any type. */
export const bitsandbytesLayout: Layout = async (tensor, files) => {
  const { name, dtype } = tensor;
  const states = ['nf4', 'fp4'].map((type) => `${name}.quant_state.bitsandbytes__${type}`);
  const state = files.find(states[0] as string) ?? files.find(states[1] as string);
  if (state) return fourBits(tensor, files, state);
  if (!/(^|[._])weight$/.test(name)) return undefined;
  if (dtype === 'I8') return eightBits(tensor, files);
  if (dtype === 'U8') throw wrong(files, tensor, `the tensor '${states[0]}' (or fp4) beside it`, 'none');
  return undefined;
};

/** Codes of a table, the first in the high half of a byte, in blocks that may go beyond rows. The scales may be codes of a table themselves. */
async function fourBits(tensor: TensorInfo, files: Files, state: TensorInfo): Promise<QuantizedTensor> {
  const { name } = tensor;
  const text = new TextDecoder().decode((await files.read(state)).bytes);
  let fields: Record<string, unknown> | undefined;
  try {
    fields = Object(parseJson(text)) as Record<string, unknown>;
  } catch {
    // said below
  }
  const { shape, blocksize, nested_blocksize = 256, nested_offset = 0 } = fields ?? {};
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
  const isRight = Array.isArray(shape) && shape.length === 2 && shape.every(isCount) && isCount(blocksize) && blocksize % 2 === 0;
  if (!isRight || !isCount(nested_blocksize) || typeof nested_offset !== 'number' || !Number.isFinite(nested_offset))
    throw wrong(files, state, 'JSON with the shape and blocksize of a matrix', text.slice(0, 120));
  const count = (shape[0] as number) * (shape[1] as number);
  const bytes = Math.ceil(count / 2);
  if (tensor.end - tensor.begin !== bytes)
    throw wrong(files, tensor, `${bytes} bytes for shape [${shape.join(', ')}]`, tensor.end - tensor.begin);
  const blocks = Math.ceil(count / blocksize);
  const sized = (part: string, ...sizes: number[]) => {
    const found = companion(files, tensor, `${name}.${part}`);
    checkShape(files, found, ...sizes);
    return found;
  };
  const absmax = sized('absmax', blocks);
  const isNested = absmax.dtype === 'U8';
  const nested = isNested ? [sized('nested_absmax', Math.ceil(blocks / nested_blocksize)), sized('nested_quant_map', 256)] : [];
  const decoder = ([map, largest, outer, outerMap]: StoredTensor[]): Decode => {
    const codes = numbersOf(files, map as StoredTensor);
    const scales = isNested ? new Float32Array(blocks) : numbersOf(files, largest as StoredTensor);
    if (isNested) {
      const factors = numbersOf(files, outer as StoredTensor);
      const values = numbersOf(files, outerMap as StoredTensor);
      const offset = Math.fround(nested_offset);
      (largest as StoredTensor).bytes.forEach((code, i) => {
        scales[i] = Math.fround((values[code] as number) * (factors[Math.floor(i / nested_blocksize)] as number)) + offset;
      });
    }
    return (packed, first, many, out) => {
      for (let block = 0, at = 0; block < many; ++block) {
        const scale = scales[first + block] as number;
        for (const end = Math.min(at + blocksize, out.length); at < end; ++at) {
          const byte = packed[at >> 1] as number;
          out[at] = (codes[at & 1 ? byte & 15 : byte >> 4] as number) * scale;
        }
      }
    };
  };
  const companions = [sized('quant_map', 16), absmax, ...nested];
  return { name, shape: shape as [number, number], columns: blocksize, rowBytes: blocksize / 2, companions, decoder };
}
