// The form in which an index is stored: segments, each the documents that came or went in one write. Applied in order they make the index. One
// file holds them one after another.
//
//     8 bytes  'wattnidx'
//     uint32   version, little endian like all numbers
//     uint32   bytes of JSON
//     uint32   bytes of vectors
//     uint32   0
//     32 bytes SHA-256 of the rest
//     JSON     SegmentHead
//     vectors  the rows of all documents in order, in the stored form of VectorRows
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { Breather } from '../core/signal.js';
import { Sha256 } from '../source/sha256.js';
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

interface SegmentHead {
  /** Undefined: words alone. */
  model?: VectorModel | undefined;
  documents: StoredDocument[];
  deleted: string[];
}

export interface Segment extends SegmentHead {
  vectors: Uint8Array;
}

const kMagic = new TextEncoder().encode('wattnidx');
const kVersion = 1;
const kHeadBytes = 24 + 32;

async function digest(bytes: Uint8Array): Promise<Uint8Array> {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle) return new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
  const hash = new Sha256(); // a page that is not served securely
  hash.update(bytes);
  return Uint8Array.from(hash.hex().match(/../g)!, (pair) => parseInt(pair, 16));
}

export async function encodeSegment({ vectors, ...head }: Segment): Promise<Uint8Array> {
  const breather = new Breather();
  const text = JSON.stringify(head);
  await breather.breathe(undefined); // each step may take a while with 10 MB
  const json = new TextEncoder().encode(text);
  await breather.breathe(undefined);
  const out = new Uint8Array(kHeadBytes + json.length + vectors.length);
  const view = new DataView(out.buffer);
  out.set(kMagic);
  view.setUint32(8, kVersion, true);
  view.setUint32(12, json.length, true);
  view.setUint32(16, vectors.length, true);
  out.set(json, kHeadBytes);
  out.set(vectors, kHeadBytes + json.length);
  out.set(await digest(out.subarray(kHeadBytes)), 24);
  return out;
}

/** Why bytes are no segments: a write that did not end, or other damage. */
export class Damage extends Error {}

const isWhole = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

/** The rows of a stored document. */
export const rowsOf = ({ chunks }: StoredDocument): number => chunks.length / 2;

export function storedRowBytes(model: Pick<VectorModel, 'dim' | 'precision'> | undefined): number {
  return model === undefined ? 0 : model.precision === 'float32' ? 4 * model.dim : 4 + model.dim;
}

/** A hash protects from damage, not from malice: what a file says is checked before it is used. */
function checkHead(head: SegmentHead, vectors: number): void {
  const { model, documents, deleted } = head;
  const fits =
    Array.isArray(documents) &&
    documents.every(({ document, chunks } = {} as StoredDocument) => {
      const { id, text, title } = (document ?? {}) as Partial<IndexDocument>;
      if (typeof id !== 'string' || typeof text !== 'string' || (title !== undefined && typeof title !== 'string')) return false;
      return (
        Array.isArray(chunks) &&
        chunks.length % 2 === 0 &&
        chunks.every((at, i) => isWhole(at) && at <= text.length && (i % 2 === 0 || chunks[i - 1]! <= at))
      );
    }) &&
    Array.isArray(deleted) &&
    deleted.every((id) => typeof id === 'string') &&
    (model === undefined ||
      (typeof model.name === 'string' &&
        isWhole(model.dim) &&
        model.dim > 0 &&
        ['float32', 'int8', 'binary'].includes(model.precision) &&
        Array.isArray(model.probe) &&
        model.probe.every((x) => Math.abs(x) <= 127)));
  const rows = fits ? documents.reduce((sum, each) => sum + rowsOf(each), 0) : 0;
  if (!fits || vectors !== rows * storedRowBytes(model)) throw new Damage('its contents do not fit together');
}

/** The segments in a file. where: its name, for messages. A `Damage` says that the bytes from its place on are not right. */
export async function* decodeSegments(where: string, bytes: Uint8Array): AsyncGenerator<Segment> {
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const begin = rest.subarray(0, kMagic.length);
    if (!begin.every((byte, i) => byte === kMagic[i])) {
      if (at > 0) throw new Damage('a segment does not begin as one');
      throw new ModelFormatError(`${where}: expected an index of wattn, found another file`);
    }
    if (rest.length < kHeadBytes) throw new Damage('it ends early');
    const view = new DataView(rest.buffer, rest.byteOffset);
    const version = view.getUint32(8, true);
    if (version !== kVersion) {
      throw new UnsupportedError(
        `${where}: expected version ${kVersion} of the format, found ${version}: another version of wattn wrote it`,
      );
    }
    const [json, vectors] = [view.getUint32(12, true), view.getUint32(16, true)];
    const end = kHeadBytes + json + vectors;
    if (rest.length < end) throw new Damage('it ends early');
    const body = rest.subarray(kHeadBytes, end);
    const hash = await digest(body);
    if (!hash.every((byte, i) => byte === rest[24 + i])) throw new Damage('its SHA-256 is another one');
    let head: SegmentHead;
    try {
      head = JSON.parse(new TextDecoder('utf-8', { ignoreBOM: true }).decode(body.subarray(0, json))) as SegmentHead;
    } catch {
      throw new Damage('its JSON is none');
    }
    checkHead(head, vectors);
    yield { ...head, vectors: body.subarray(json) };
    at += end;
  }
}
