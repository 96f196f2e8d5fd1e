// pytorch_model.bin, as torch.save writes it since 1.6: a zip whose entries are stored, not compressed. `data.pkl` describes the tensors
// (pickle.ts), each `data/KEY` is a storage. The file is passed on in the layout of safetensors, tensor by tensor in the order of the storages, so
// that everything after this file reads one format.
//
// The zip's directory is at its end. The end and data.pkl are read by requests of their own, then the file is streamed once from its beginning.
// A source that cannot read parts (a server without range requests) is first read whole. A storage whose tensors overlap or are not contiguous is
// held while they are copied, so memory is bounded by the largest of those. CRCs are not compared: torch may leave them out.
//
// Zip: PKWARE's APPNOTE.TXT 4.3 and 4.5.3 (ZIP64). torch: caffe2/serialize/inline_container.cc, torch/serialization.py.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { elementsOf, readStateDict, type TorchStorage, type TorchTensor } from './pickle.js';
import { Cursor, openParts, type PartedFile } from './parted_file.js';
import type { OpenFile } from './source.js';

const kLocalBytes = 30;
const kEntryBytes = 46;
const kEndBytes = 22;
const kEnd64Bytes = 56;
const kLocatorBytes = 20;
/** What is read from the end at first: the end records with the longest comment, and the directory of most models. */
const kTailBytes = 1 << 17;
/** Limit of the directory and of data.pkl, that of all small files (model_files.ts). */
const kMostSmallBytes = 1 << 27;
/** Limit of a field of 16 bits. */
const kMostField = 0xffff;
const kChunkBytes = 1 << 18;
/** Tensors may share bytes, or repeat them by strides of 0. All together may have this many times the bytes of the file. */
const kMostShared = 16;

interface Entry {
  name: string;
  /** Where its local header begins. */
  offset: number;
  bytes: number;
  /** Where the next entry or the directory begins. */
  limit: number;
}

interface PlacedTensor extends TorchTensor {
  name: string;
}

interface PlacedStorage {
  storage: TorchStorage;
  entry: Entry;
  tensors: PlacedTensor[];
}

const isContiguous = ({ shape, strides }: TorchTensor) => {
  let expected = 1;
  for (let i = shape.length; i-- > 0;) {
    const dim = shape[i] as number;
    if (dim !== 1 && strides[i] !== expected) return false;
    expected *= dim;
  }
  return true;
};

const bytesOf = ({ storage, shape }: TorchTensor) => elementsOf(shape) * storage.itemBytes;

/** Whether the tensors can be passed on while their storage streams past. They are sorted by their offsets. */
function areInOrder(tensors: readonly TorchTensor[]): boolean {
  let end = 0;
  for (const tensor of tensors) {
    if (tensor.offset < end || !isContiguous(tensor)) return false;
    end = tensor.offset + elementsOf(tensor.shape);
  }
  return true;
}

/** A tensor's elements in the order of its indices, in chunks. The last index is the fastest. */
function* gathered(tensor: TorchTensor, bytes: Uint8Array): Generator<Uint8Array> {
  const { storage, offset, shape, strides } = tensor;
  const size = storage.itemBytes;
  const left = bytesOf(tensor);
  if (isContiguous(tensor)) return void (yield bytes.subarray(offset * size, offset * size + left));
  const out = new Uint8Array(Math.min(left, kChunkBytes)); // a multiple of an element's bytes
  const index = shape.map(() => 0);
  let from = offset;
  let filled = 0;
  for (let done = 0; done < left; done += size) {
    for (let i = 0; i < size; ++i) out[filled + i] = bytes[from * size + i] as number;
    filled += size;
    if (filled === out.length || done + size === left) {
      yield out.subarray(0, filled);
      filled = 0;
    }
    for (let d = shape.length; d-- > 0;) {
      const stride = strides[d] as number;
      from += stride;
      if (++(index[d] as number) < (shape[d] as number)) break;
      from -= (shape[d] as number) * stride;
      index[d] = 0;
    }
  }
}

class TorchFile {
  private entries = new Map<string, Entry>();
  /** The folder that holds everything, with its slash. */
  private folder = '';

  constructor(
    private readonly file: string,
    private readonly place: string,
    private readonly parts: PartedFile,
  ) {}

  private wrong(expected: string, found: string): ModelFormatError {
    return new ModelFormatError(`${this.file}: expected ${expected}, found ${found}`);
  }

  private async view(begin: number, end: number): Promise<{ bytes: Uint8Array; view: DataView }> {
    const bytes = await this.parts.read(begin, end);
    return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
  }

  /** A number of 64 bits, of which 53 can be used. */
  private large(view: DataView, at: number): number {
    const value = view.getBigUint64(at, true);
    if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    throw this.wrong('offsets and sizes of at most 53 bits', String(value));
  }

  /** Why a file without a zip's end is none. */
  private async noZip(): Promise<Error> {
    const first = await this.parts.read(0, Math.min(64, this.parts.size));
    const text = String.fromCharCode(...first);
    if (/^(\xef\xbb\xbf)?\s*</.test(text)) return this.wrong(`a zip of torch.save from ${this.place}`, 'HTML or XML');
    if (text.startsWith('version '))
      return this.wrong('a zip of torch.save', 'a Git LFS pointer (the file itself was not fetched)');
    // LONG1 of torch's magic number, 0x1950a86a20f9469cfc6c.
    if (text.startsWith('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19')) {
      const how = 'load it with torch and save it again, or use the safetensors';
      return new UnsupportedError(`${this.file}: expected a zip of torch.save, found the format from before torch 1.6 (${how})`);
    }
    return this.wrong('a zip of torch.save', `${this.parts.size} bytes without a zip's end (cut off, or another format)`);
  }

  private checkSmall(what: string, bytes: number): void {
    if (bytes > kMostSmallBytes) throw this.wrong(`${what} of at most ${kMostSmallBytes} bytes`, String(bytes));
  }

  /** Where the directory is and how many entries it has. */
  private async findDirectory(): Promise<{ begin: number; end: number; count: number }> {
    const { size } = this.parts;
    const first = Math.max(0, size - kEndBytes - kMostField);
    const { view, bytes } = await this.view(first, size);
    let at = bytes.length - kEndBytes;
    while (at >= 0 && !(view.getUint32(at, true) === 0x06054b50 && at + kEndBytes + view.getUint16(at + 20, true) === bytes.length))
      --at;
    if (at < 0) throw await this.noZip();
    const locator = at - kLocatorBytes;
    if (locator >= 0 && view.getUint32(locator, true) === 0x07064b50)
      return this.findDirectory64(first + locator, this.large(view, locator + 8));
    const count = view.getUint16(at + 10, true);
    const length = view.getUint32(at + 12, true);
    const begin = view.getUint32(at + 16, true);
    return { begin, end: this.directoryEnd(begin, length, first + at), count };
  }

  private async findDirectory64(before: number, at: number): Promise<{ begin: number; end: number; count: number }> {
    if (at + kEnd64Bytes > before) throw this.wrong(`the end of the zip before ${before}`, `it at ${at}`);
    const { view } = await this.view(at, at + kEnd64Bytes);
    if (view.getUint32(0, true) !== 0x06064b50) throw this.wrong(`the end of a ZIP64 at ${at}`, 'other bytes');
    const begin = this.large(view, 48);
    return { begin, end: this.directoryEnd(begin, this.large(view, 40), at), count: this.large(view, 32) };
  }

  private directoryEnd(begin: number, length: number, before: number): number {
    this.checkSmall('a directory', length);
    if (begin + length > before) throw this.wrong(`the directory of the zip before ${before}`, `${length} bytes at ${begin}`);
    return begin + length;
  }

  /** An entry of the directory, and where the next one begins. */
  private entryAt(view: DataView, bytes: Uint8Array, at: number): { entry: Entry; next: number } {
    if (at + kEntryBytes > bytes.length || view.getUint32(at, true) !== 0x02014b50) {
      throw this.wrong('an entry in the directory of the zip', `other bytes at ${at} of ${bytes.length}`);
    }
    const nameBytes = view.getUint16(at + 28, true);
    const extraBegin = at + kEntryBytes + nameBytes;
    const extraEnd = extraBegin + view.getUint16(at + 30, true);
    const next = extraEnd + view.getUint16(at + 32, true);
    if (next > bytes.length) throw this.wrong(`an entry of ${next - at} bytes in the directory`, `${bytes.length - at}`);
    const name = new TextDecoder().decode(bytes.subarray(at + kEntryBytes, extraBegin));
    let extra = this.extra64(view, extraBegin, extraEnd);
    const field = (from: number) => {
      const value = view.getUint32(from, true);
      if (value !== 0xffffffff || extra === undefined) return value;
      if (extra.at + 8 > extra.end) throw this.wrong(`sizes of 64 bits for '${name}'`, 'too few');
      extra = { ...extra, at: extra.at + 8 };
      return this.large(view, extra.at - 8);
    };
    if (/^[^/]+\/(constants\.pkl$|code\/)/.test(name)) {
      throw new UnsupportedError(`${this.file}: expected a state dict of torch.save, found a TorchScript archive (torch.jit.save)`);
    }
    const [size, packed, offset] = [field(at + 24), field(at + 20), field(at + 42)] as const;
    const method = view.getUint16(at + 10, true);
    if (method !== 0 || packed !== size || (view.getUint16(at + 8, true) & 1) !== 0) {
      const found = `method ${method}, ${packed} bytes for ${size}`;
      throw new UnsupportedError(
        `${this.file}: '${name}': expected bytes that are neither compressed nor encrypted, found ${found}`,
      );
    }
    return { entry: { name, offset, bytes: size, limit: 0 }, next };
  }

  /** Where the ZIP64 sizes are among the extra fields. */
  private extra64(view: DataView, begin: number, end: number): { at: number; end: number } | undefined {
    for (let at = begin; at + 4 <= end;) {
      const next = at + 4 + view.getUint16(at + 2, true);
      if (view.getUint16(at, true) === 1) return { at: at + 4, end: Math.min(next, end) };
      at = next;
    }
    return undefined;
  }

  private async readDirectory(): Promise<void> {
    const { begin, end, count } = await this.findDirectory();
    const { view, bytes } = await this.view(begin, end);
    const entries: Entry[] = [];
    for (let at = 0; at < bytes.length;) {
      const { entry, next } = this.entryAt(view, bytes, at);
      entries.push(entry);
      at = next;
    }
    if (entries.length !== count) throw this.wrong(`${count} entries in the directory`, String(entries.length));
    entries.sort((a, b) => a.offset - b.offset);
    entries.forEach((entry, i) => {
      entry.limit = entries[i + 1]?.offset ?? begin;
      if (entry.offset + kLocalBytes + entry.bytes > entry.limit) {
        throw this.wrong(`'${entry.name}' to end before ${entry.limit}`, `${entry.bytes} bytes at ${entry.offset} (an overlap)`);
      }
    });
    this.entries = new Map(entries.map((entry) => [entry.name, entry]));
    if (this.entries.size !== count) throw this.wrong('each name once in the directory', 'one that occurs twice');
  }

  /** The bytes before an entry's data, from its local header. */
  private localBytes(entry: Entry, header: Uint8Array): number {
    const view = new DataView(header.buffer, header.byteOffset, header.length);
    const name = view.getUint16(26, true);
    const bytes = kLocalBytes + name + view.getUint16(28, true);
    const isRight = view.getUint32(0, true) === 0x04034b50 && view.getUint16(8, true) === 0;
    if (isRight && entry.offset + bytes + entry.bytes <= entry.limit) return bytes;
    throw this.wrong(`'${entry.name}' with ${entry.bytes} bytes at ${entry.offset}`, 'another entry');
  }

  private async readEntry(entry: Entry): Promise<Uint8Array> {
    this.checkSmall(`'${entry.name}'`, entry.bytes);
    const before = this.localBytes(entry, await this.parts.read(entry.offset, entry.offset + kLocalBytes));
    const begin = entry.offset + before;
    return this.parts.read(begin, begin + entry.bytes);
  }

  private async readTensors(): Promise<PlacedStorage[]> {
    await this.readDirectory();
    const pickles = [...this.entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
    const [name] = pickles;
    if (name === undefined || pickles.length > 1) {
      throw this.wrong("one 'data.pkl' in the zip", `${pickles.length} (a zip that torch.save did not write)`);
    }
    this.folder = name.slice(0, -'data.pkl'.length);
    const { tensors, storages } = readStateDict(await this.readEntry(this.entries.get(name) as Entry), `${this.file} (data.pkl)`);
    const placed = new Map<string, PlacedStorage>();
    for (const storage of storages.values()) {
      const path = `${this.folder}data/${storage.key}`;
      const entry = this.entries.get(path);
      const bytes = storage.elements * storage.itemBytes;
      if (entry?.bytes !== bytes) throw this.wrong(`'${path}' with ${bytes} bytes`, entry ? `${entry.bytes}` : 'none');
      placed.set(storage.key, { storage, entry, tensors: [] });
    }
    for (const [tensor, view] of tensors) placed.get(view.storage.key)?.tensors.push({ name: tensor, ...view });
    const all = [...placed.values()].sort((a, b) => a.entry.offset - b.entry.offset);
    for (const each of all) each.tensors.sort((a, b) => a.offset - b.offset);
    return all;
  }

  /** The header of a safetensors file, and the bytes of its tensors. */
  private header(storages: readonly PlacedStorage[]): { header: Uint8Array; dataBytes: number } {
    const entries = Object.create(null) as Record<string, unknown>;
    let end = 0;
    for (const tensor of storages.flatMap(({ tensors }) => tensors)) {
      const begin = end;
      end += bytesOf(tensor);
      if (tensor.name === '__metadata__') throw this.wrong('names of tensors', `'${tensor.name}'`);
      entries[tensor.name] = { dtype: tensor.storage.dtype, shape: tensor.shape, data_offsets: [begin, end] };
    }
    if (end > kMostShared * this.parts.size) {
      throw this.wrong(
        `at most ${kMostShared} times the file's ${this.parts.size} bytes of tensors`,
        `${end} (views that repeat bytes)`,
      );
    }
    const text = new TextEncoder().encode(JSON.stringify(entries));
    const header = new Uint8Array(8 + 8 * Math.ceil(text.length / 8)).fill(0x20, 8);
    new DataView(header.buffer).setBigUint64(0, BigInt(header.length - 8), true);
    header.set(text, 8);
    return { header, dataBytes: end };
  }

  private async checkOrder(cursor: Cursor, bytes: number): Promise<void> {
    const order = bytes <= 16 ? new TextDecoder().decode(await cursor.take(bytes)) : `${bytes} bytes`;
    if (order === 'little') return;
    throw new UnsupportedError(`${this.file}: byteorder: expected 'little', found '${order}' (saved on a big-endian machine)`);
  }

  private async *tensorBytes(cursor: Cursor, { storage, entry, tensors }: PlacedStorage): AsyncGenerator<Uint8Array> {
    const begin = cursor.at;
    const filled = tensors.filter(({ shape }) => elementsOf(shape) > 0); // an empty one may begin anywhere
    if (areInOrder(filled)) {
      for (const tensor of filled) {
        await cursor.skipTo(begin + tensor.offset * storage.itemBytes);
        yield* cursor.pass(bytesOf(tensor));
      }
    } else {
      const bytes = await cursor.take(entry.bytes);
      for (const tensor of filled) yield* gathered(tensor, bytes);
    }
  }

  /** The file in the layout of safetensors. */
  async open(): Promise<OpenFile> {
    const storages = await this.readTensors();
    const { header, dataBytes } = this.header(storages);
    const order = this.entries.get(`${this.folder}byteorder`);
    const stops: { entry: Entry; placed?: PlacedStorage }[] = storages.map((placed) => ({ entry: placed.entry, placed }));
    if (order) stops.push({ entry: order });
    stops.sort((a, b) => a.entry.offset - b.entry.offset);
    const { size } = this.parts;
    const cutOff = (at: number) => this.wrong(`${size} bytes`, `${at} (cut off)`);
    const cursor = new Cursor(this.parts.chunks(), cutOff);
    const visit = (...of: Parameters<TorchFile['tensorBytes']>) => this.tensorBytes(...of);
    const start = async (entry: Entry) => {
      await cursor.skipTo(entry.offset);
      await cursor.skipTo(entry.offset + this.localBytes(entry, await cursor.take(kLocalBytes)));
    };
    const checkOrder = (entry: Entry) => this.checkOrder(cursor, entry.bytes);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        yield header;
        for (const { entry, placed } of stops) {
          await start(entry);
          if (placed) yield* visit(cursor, placed);
          else await checkOrder(entry);
        }
        await cursor.end();
        if (cursor.at < size) throw cutOff(cursor.at);
      } finally {
        await cursor.close();
      }
    }
    return { size: header.length + dataBytes, chunks, origin: { size, position: () => cursor.at } };
  }
}

/** A file of torch.save in the layout of safetensors. place: where it is, for messages. */
export async function openTorchFile(file: string, place: string, open: OpenFile): Promise<OpenFile> {
  const parts = await openParts(file, open, (size) => [Math.max(0, size - kTailBytes), size]);
  return new TorchFile(file, place, parts).open();
}
