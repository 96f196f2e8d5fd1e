// What an adapter changes in a checkpoint, and how its stored tensors are read.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { isFloat, toFloats, type StoredTensor } from './safetensors.js';

export const kAdapterWeights = 'adapter_model.safetensors';

/** What else an adapter has for a tensor: AdapterTensor::Part in src/models/adapter.h. */
export const kParts = { table: 1, magnitude: 2, factor: 4, more: 8, inputs: 16, rows: 32, base: 64, alone: 128 };

/** What an adapter has for one tensor of the checkpoint; see src/models/adapter.h. */
export interface AdapterTensor {
  name: string;
  /** The tensor's; 0 rows: a vector. */
  rows: number;
  columns: number;
  /** 0: values are the whole tensor. */
  rank: number;
  /** Which of kParts it has. */
  parts: number;
  /** Whether values are a whole matrix. */
  isWhole?: boolean;
  /** The tensor `[rows, columns]`, or lora_A `[rank, columns]` and lora_B `[rows, rank]` times alpha / r; then the parts. */
  values: Float32Array[];
}

/** The tensors that a module has, by their names in it. */
export type Tensors = Map<string, StoredTensor>;

export const whereOf = (tensor: StoredTensor) => `${kAdapterWeights}: tensor '${tensor.name}'`;
export const shapeOf = (tensor: StoredTensor) => `[${tensor.shape.join(', ')}]`;

export function floatsOf(tensor: StoredTensor): Float32Array {
  if (!isFloat(tensor.dtype))
    throw new UnsupportedError(`${whereOf(tensor)}: expected F32, F16, BF16 or F64, found ${tensor.dtype}`);
  const values = toFloats(tensor);
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new ModelFormatError(`${whereOf(tensor)}: expected finite numbers, found ${values[bad]} at index ${bad}`);
  return values;
}

/** A vector of so many numbers. */
export function vectorOf(tensor: StoredTensor, size: number): Float32Array {
  if (tensor.shape.reduce((product, dim) => product * dim, 1) === size) return floatsOf(tensor);
  throw new ModelFormatError(`${whereOf(tensor)}: expected ${size} numbers, found ${shapeOf(tensor)}`);
}

export const scaled = (values: Float32Array, scale: number) => values.map((value) => value * scale);

/** The transpose of [rows, columns]. */
export function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(values.length);
  for (let i = 0; i < rows; ++i) for (let j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j] as number;
  return out;
}
