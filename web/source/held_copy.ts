// Copies of cached weights as the engine has them with dtype: 'q8': the matrices in 8 bits (type W8 of src/io/gguf_blocks.h), all else as published.
// One is made after a load, from the cached file, which then goes. Loaded with the first of them.
import { InputError, ModelFormatError, NetworkError } from '../core/errors.js';
import { Breather } from '../core/signal.js';
import { warnOnce } from '../core/warn.js';
import { copyKey, isWhole, kPieceBytes, readEntry, readPiece, writeEntry, Writer, type Entry } from './cache_entries.js';
import { kNativeBlock, sizeOf, toBlocks } from './gguf_writer.js';
import { headerBytes, isFloat, kPrefixBytes, parseHeader, toFloats, type TensorInfo } from './safetensors.js';
import type { OpenFile, PieceStore } from './open_file.js';

/** Changes with what a copy has in it: others are made anew. */
const kFormat = 1;
/** A copy is made if it has at most this share of the file's bytes. */
const kWorthwhile = 0.75;
/** Bytes of rows that are converted at once, and milliseconds between two breaks: the model is in use meanwhile. */
const kPortionBytes = 1 << 17;
const kBusyMs = 4;

/** How the engine has a tensor: HeldBlocks of src/io/weight_loader.h. */
const [kGroups, kRows, kRepeats] = [1, 2, 3];

/** A copy that could not be used. cache.ts reads the field `copy`. */
export class CopyError extends ModelFormatError {
  constructor(
    message: string,
    readonly copy: { file: string; damaged: boolean },
  ) {
    super(message);
  }
}

/** What the server says of a file; undefined: nothing. */
type Head = () => Promise<{ size: number | undefined; etag: string } | undefined>;

/**
 * The copy of a file, by the file's key; undefined: it is that of another file, or of another version of wattn. head: given if the file may have changed on
 * the server.
 */
export async function openCopy(
  store: PieceStore,
  file: string,
  key: string,
  entry: Entry,
  offline: boolean,
  head: Head | undefined,
): Promise<OpenFile | undefined> {
  const published = await readEntry(store, key);
  const isOther = published && isWhole(published) && published.etag !== entry.etag;
  if (entry.copy?.format !== kFormat || isOther) return undefined;
  if (head) {
    try {
      if ((await head())?.etag !== entry.etag) return undefined;
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
    }
  }
  async function* chunks() {
    for (let i = 0; i < entry.pieces.length; ++i) {
      const piece = await readPiece(store, copyKey(key), entry, i);
      if (!piece && offline) throw new InputError(`${file}: the cached copy is damaged, and the network is forbidden`);
      if (!piece) throw new CopyError(`${file}: the cached copy is damaged`, { file, damaged: true });
      yield piece;
    }
  }
  return {
    size: entry.size,
    chunks,
    keep(held) {
      if (held.length > 0) return;
      throw new CopyError(`${file}: the cached copy has quantized weights, and this call needs the original ones`, {
        file,
        damaged: false,
      });
    },
  };
}

/** Forgets a damaged copy. */
export async function dropCopy(store: PieceStore, key: string, { file, damaged }: CopyError['copy']): Promise<void> {
  if (!damaged) return;
  warnOnce(`${file}: the cached copy was damaged; the file is downloaded again (${key})`);
  await store.delete(copyKey(key)).catch(() => {});
}

/** Deletes a file of which there is a copy, if no other load has used it. */
async function dropPublished(store: PieceStore, key: string, copy: Entry): Promise<void> {
  const entry = await readEntry(store, key);
  if (entry?.only === copy.copy?.dtype && entry?.etag === copy.etag) await store.delete(key);
}

/** A file that the engine has taken, and how it has its tensors, as SeamModel.finish() says. */
export interface Taken {
  key: string;
  held: Uint8Array;
}

/** What comes after a load: copies of these files, and the end of those that were published under `used` keys. It never fails: then all stays as it is. */
export async function settleCopies(store: PieceStore, taken: readonly Taken[], used: readonly string[]): Promise<void> {
  for (const key of used) {
    const copy = await readEntry(store, copyKey(key));
    if (copy) await dropPublished(store, key, copy).catch(() => {});
  }
  for (const { key, held } of taken) await makeCopy(store, key, held).catch(() => {});
}

/** What a copy has of a file. */
interface Plan {
  header: Uint8Array;
  bytes: number;
  /** Bytes before the first tensor of the file. */
  begin: number;
  tensors: { info: TensorInfo; kind: number }[];
}

const isBlocks = (kind: number) => kind === kGroups || kind === kRows;

/** The beginning of a cached file: its header, at least. */
async function readHeader(store: PieceStore, key: string, entry: Entry): Promise<Uint8Array | undefined> {
  let bytes = new Uint8Array(0);
  for (let i = 0; i < entry.pieces.length; ++i) {
    const piece = await readPiece(store, key, entry, i);
    if (!piece) return undefined;
    const longer = new Uint8Array(bytes.length + piece.length);
    longer.set(bytes);
    longer.set(piece, bytes.length);
    bytes = longer;
    const end = kPrefixBytes + headerBytes(bytes.subarray(0, kPrefixBytes), entry.size as number, entry.file);
    if (bytes.length >= end) return bytes.subarray(0, end);
  }
  return undefined;
}

/** undefined: no copy, as the engine has the file's tensors as they are, or in forms that no copy has. */
function planCopy(beginning: Uint8Array, entry: Entry, held: Uint8Array): Plan | undefined {
  const all = parseHeader(beginning.subarray(kPrefixBytes), entry.size as number, entry.file);
  if (all.length !== held.length) return undefined;
  const tensors = all.map((info, i) => {
    const { dtype, shape } = info;
    const fits = shape.length === 2 && (shape[1] as number) % kNativeBlock === 0 && isFloat(dtype) && sizeOf(shape) > 0;
    const kind = held[i] as number;
    return { info, kind: kind === kRepeats || (isBlocks(kind) && fits) ? kind : 0 };
  });
  const json: Record<string, unknown> = { __metadata__: { wattn: 'q8' } };
  let end = 0;
  for (const { info, kind } of tensors) {
    if (kind === kRepeats) continue;
    const begin = end;
    end += isBlocks(kind) ? (sizeOf(info.shape) / kNativeBlock) * (kNativeBlock + 4) : info.end - info.begin;
    json[info.name] = { dtype: isBlocks(kind) ? 'W8' : info.dtype, shape: info.shape, data_offsets: [begin, end] };
  }
  const text = new TextEncoder().encode(JSON.stringify(json));
  const header = new Uint8Array(kPrefixBytes + Math.ceil(text.length / 8) * 8).fill(32);
  new DataView(header.buffer).setBigUint64(0, BigInt(header.length - kPrefixBytes), true);
  header.set(text, kPrefixBytes);
  const bytes = header.length + end;
  return bytes <= kWorthwhile * (entry.size as number) ? { header, bytes, begin: beginning.length, tensors } : undefined;
}

/** Passes on the bytes of a file as its copy has them. */
async function convert(
  { tensors, begin }: Plan,
  pieces: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<void> {
  const breather = new Breather(kBusyMs);
  let number = 0;
  let at = -begin; // in the data after the header
  let kept = new Uint8Array(0); // of a row
  for await (const piece of pieces) {
    let rest = piece.subarray(Math.min(piece.length, Math.max(0, -at)));
    at += piece.length - rest.length;
    while (rest.length > 0) {
      const { info, kind } = tensors[number] as Plan['tensors'][0];
      if (at === info.end) {
        ++number;
        continue;
      }
      const rowBytes = (info.end - info.begin) / Math.max(1, info.shape[0] ?? 1);
      const wanted = isBlocks(kind) ? Math.max(1, Math.floor(kPortionBytes / rowBytes)) * rowBytes - kept.length : kPortionBytes;
      const part = rest.subarray(0, Math.min(wanted, info.end - at));
      rest = rest.subarray(part.length);
      at += part.length;
      if (kind === 0) await write(part);
      else if (isBlocks(kind)) {
        const bytes = new Uint8Array(kept.length + part.length);
        bytes.set(kept);
        bytes.set(part, kept.length);
        const whole = bytes.length - (bytes.length % rowBytes);
        kept = bytes.slice(whole);
        const values = toFloats({ ...info, bytes: bytes.subarray(0, whole) });
        if (whole > 0) await write(toBlocks(values, kind === kRows ? 'native_table' : 'native', info.shape[1] as number));
      }
      await breather.breathe(undefined);
    }
  }
}

async function makeCopy(store: PieceStore, key: string, held: Uint8Array): Promise<void> {
  const dtype = 'q8';
  const isPublished = (entry: Entry | undefined): entry is Entry => !!entry && isWhole(entry) && entry.accepted === true;
  const entry = await readEntry(store, key);
  if (!isPublished(entry) || entry.only !== dtype || !held.some((kind) => isBlocks(kind))) return;
  const beginning = await readHeader(store, key, entry);
  const plan = beginning && planCopy(beginning, entry, held);
  if (!plan) return;
  const own = copyKey(key);
  const lock = async () => (store.tryLock ? store.tryLock(own) : () => {});
  const release = (await lock()) ?? (await lock()); // the first attempt may only have removed that of a process that is gone
  if (!release) return; // another tab or process makes it
  try {
    const { model, file, etag } = entry;
    const made: Entry = { model, file, etag, pieces: [], copy: { dtype, format: kFormat } };
    const writer = new Writer(store, own, made);
    async function* pieces() {
      for (let i = 0; i < (entry as Entry).pieces.length; ++i) {
        const piece = await readPiece(store, key, entry as Entry, i);
        if (!piece) return; // it was deleted, or is damaged
        yield piece;
      }
    }
    let written = 0;
    const write = (bytes: Uint8Array) => {
      written += bytes.length;
      return writer.write(bytes);
    };
    await write(plan.header);
    await convert(plan, pieces(), write);
    if (written < plan.bytes) return await store.delete(own);
    await writer.end();
    const there = await readEntry(store, own);
    const now = await readEntry(store, key);
    const isRight = there?.size === plan.bytes && there.pieces.length === Math.ceil(plan.bytes / kPieceBytes);
    if (!isRight || !isPublished(now) || now.pieces.join() !== entry.pieces.join()) return await store.delete(own);
    await store.settle?.();
    await writeEntry(store, own, { ...made, accepted: true });
    await store.settle?.();
    if (!(await readEntry(store, key))) return await store.delete(own); // cache.delete() came meanwhile
    await dropPublished(store, key, made);
  } catch (error) {
    await store.delete(own).catch(() => {});
    throw error;
  } finally {
    release();
  }
}
