// What a segment stores: its documents, and the model that made their vectors. Says whether something that was read is that.
import type { IndexDocument, IndexPrecision } from './types.js';

/** The model that made vectors, and how to know it again: the vector of one sentence, in bytes from -127 to 127. */
export interface VectorModel {
  name: string;
  dim: number;
  precision: IndexPrecision;
  probe: number[];
}

export interface StoredDocument {
  document: IndexDocument;
  /** Places of its parts, two numbers each. */
  chunks: number[];
  /** Its vectors are of another model, and count for nothing. */
  stale?: boolean | undefined;
}

/** The rows of a stored document. */
export const rowsOf = ({ chunks }: StoredDocument): number => chunks.length / 2;

export function storedRowBytes(model: Pick<VectorModel, 'dim' | 'precision'> | undefined): number {
  return model === undefined ? 0 : model.precision === 'float32' ? 4 * model.dim : 4 + model.dim;
}

export const isWhole = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

export function isModel(model: VectorModel | undefined): boolean {
  if (model === undefined) return true;
  return (
    isObject(model) &&
    typeof model.name === 'string' &&
    isWhole(model.dim) &&
    model.dim > 0 &&
    ['float32', 'int8', 'binary'].includes(model.precision) &&
    Array.isArray(model.probe) &&
    model.probe.every((x) => typeof x === 'number' && Math.abs(x) <= 127)
  );
}

export function isStored(value: unknown): value is StoredDocument {
  const { document, chunks } = (isObject(value) ? value : {}) as Partial<StoredDocument>;
  const { id, text, title } = (isObject(document) ? document : {}) as Partial<IndexDocument>;
  if (typeof id !== 'string' || typeof text !== 'string' || (title !== undefined && typeof title !== 'string')) return false;
  return (
    Array.isArray(chunks) &&
    chunks.length % 2 === 0 &&
    chunks.every((at, i) => isWhole(at) && at <= text.length && (i % 2 === 0 || chunks[i - 1]! <= at))
  );
}
