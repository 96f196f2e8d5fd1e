// A whole index as one file.
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { concat } from '../core/texts.js';
import { isSameModel } from './embedder.js';
import { Damage, decodeSegments, encodeSegment, type DecodedSegment, type Segment } from './segments.js';
import { rowsOf, storedRowBytes, type VectorModel } from './stored_documents.js';
import type { StoredContents } from './stored_contents.js';
import { VectorRows } from './vector_rows.js';

const kExportDocuments = 4096;
const never = new AbortController().signal;

export async function exported(kept: StoredContents): Promise<Uint8Array> {
  return kept.alone(async () => {
    await kept.refresh(false);
    const entries = [...kept.contents.documents.values()];
    const parts: Uint8Array[] = [];
    const count = Math.max(1, Math.ceil(entries.length / kExportDocuments));
    for (let part = 0; part < count; ++part) {
      const some = entries.slice(part * kExportDocuments, (part + 1) * kExportDocuments);
      parts.push((await encodeSegment(await kept.contents.segment(some), { part, parts: count })).bytes);
    }
    return concat(Uint8Array, parts);
  });
}

/** Returns how many documents the file had. */
export async function imported(kept: StoredContents, file: Uint8Array | ArrayBuffer): Promise<number> {
  const where = 'Index.import_file';
  const bytes = ArrayBuffer.isView(file)
    ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength)
    : file instanceof ArrayBuffer
      ? new Uint8Array(file)
      : undefined;
  if (!bytes || bytes.length === 0) throw new InputError(`${where}: expected the bytes of an index, found ${describe(file)}`);
  const segments: DecodedSegment[] = [];
  try {
    for await (const segment of decodeSegments(where, bytes)) segments.push(segment);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    throw new ModelFormatError(`${where}: the file is damaged: segment ${segments.length} of it: ${error.message}`, {
      cause: error,
    });
  }
  return kept.exclusive(async () => {
    for (const { model } of segments) {
      if (model) await kept.fits(model);
      const own = kept.contents.model;
      if (model && own && !isSameModel(model, own)) {
        throw new InputError(`Index: '${kept.name}' has vectors of ${own.name}, and this file has vectors of ${model.name}`);
      }
    }
    let count = 0;
    if (kept.contents.language === undefined) await kept.choose(segments.at(-1)?.language);
    for (const segment of segments) {
      await kept.write(() => converted(kept, segment));
      count += segment.documents.length;
    }
    return count;
  }, never);
}

/** A segment of another index with vectors as this one keeps them. */
async function converted(kept: StoredContents, stored: Segment): Promise<Segment> {
  const { contents } = kept;
  const segment = { ...stored, language: contents.language };
  const { model } = segment;
  if (!contents.model || (model && model.precision === contents.model.precision)) return segment;
  const documents = segment.documents;
  const rows = documents.reduce((sum, each) => sum + rowsOf(each), 0);
  const to = await VectorRows.open(contents.model.dim, contents.model.precision);
  try {
    if (model) to.append(floatsOf(segment.vectors, model));
    else to.append(new Float32Array(rows * contents.model.dim));
    const stale = !model;
    return {
      ...segment,
      model: contents.model,
      documents: stale ? documents.map((each) => ({ ...each, stale })) : documents,
      vectors: to.stored(0, rows),
    };
  } finally {
    to.dispose();
  }
}

/** Stored rows as numbers. */
export function floatsOf(bytes: Uint8Array, model: VectorModel): Float32Array {
  const { dim, precision } = model;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const step = storedRowBytes(model);
  const out = new Float32Array((bytes.length / step) * dim);
  for (let row = 0, at = 0; at < bytes.length; ++row, at += step) {
    const scale = precision === 'float32' ? 1 : view.getFloat32(at, true);
    for (let i = 0; i < dim; ++i) {
      out[row * dim + i] = precision === 'float32' ? view.getFloat32(at + 4 * i, true) : scale * view.getInt8(at + 4 + i);
    }
  }
  return out;
}
