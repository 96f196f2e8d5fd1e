// A safetensors file with quantized tensors, passed on as one of plain numbers, so that everything after this file reads one format.
//
// The file is streamed once, tensor by tensor; scales and the like, which lie elsewhere in it or in another shard, are read by requests of their own
// before. Memory is bounded by some rows of a matrix and its scales; of GPTQ and AWQ, by a packed matrix. A source that cannot read parts is first read whole.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { Cursor, openParts, type PartedFile } from './parted_file.js';
import type { Files, Layout, QuantizedTensor, Settings } from './quantized_layouts.js';
import { headerBytes, kItemBytes, kPrefixBytes, parseHeader, type StoredTensor, type TensorInfo } from './safetensors.js';
import type { OpenFile } from './source.js';

/** Bytes of a value of the types that only quantized files have. */
const kMoreItemBytes: Record<string, number> = { F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1, U16: 2, U32: 4, U64: 8 };
/** What is read of a file at once: the headers of most. */
const kFirstBytes = 1 << 17;
/** Parts that lie so near to each other are read by one request, of at most so many bytes. */
const kMostGap = 1 << 16;
const kMostGroup = 1 << 22;
/** How many groups of parts can grow while parts are assigned. */
const kOpenGroups = 4;
/** Small tensors are requested by so many at once. */
const kAtOnce = 8;
/** Values that are passed on at once. */
const kChunkValues = 1 << 16;

interface ReadFile {
  name: string;
  parts: PartedFile;
  /** Where its tensors begin. */
  begin: number;
  tensors: Placed[];
}

interface Placed extends TensorInfo {
  file: ReadFile;
}

interface Group {
  file: ReadFile;
  begin: number;
  end: number;
  /** How many reads are still to come. */
  left: number;
  bytes?: Promise<Uint8Array> | undefined;
}

/** Reads tensors in a known order, those that are neighbours together. */
class Companions {
  private readonly groups = new Map<Placed, Group>();

  constructor(uses: readonly Placed[]) {
    let open: Group[] = [];
    for (const use of uses) {
      const { file, begin, end } = use;
      const fits = (group: Group) => {
        const bytes = Math.max(group.end, end) - Math.min(group.begin, begin);
        return group.file === file && bytes <= kMostGroup && bytes - (group.end - group.begin) <= end - begin + kMostGap;
      };
      const near = this.groups.get(use) ?? open.find(fits);
      const group = near ?? { file, begin, end, left: 0 };
      group.begin = Math.min(group.begin, begin);
      group.end = Math.max(group.end, end);
      ++group.left;
      this.groups.set(use, group);
      if (!near) open = [group, ...open].slice(0, kOpenGroups);
    }
  }

  async read(tensor: Placed): Promise<StoredTensor> {
    const group = this.groups.get(tensor) as Group;
    const { parts, begin } = group.file;
    const bytes = await (group.bytes ??= parts.read(begin + group.begin, begin + group.end));
    if (--group.left === 0) group.bytes = undefined;
    const { name, dtype, shape } = tensor;
    return { name, dtype, shape, bytes: bytes.subarray(tensor.begin - group.begin, tensor.end - group.begin) };
  }
}

/** A method: how its matrices lie, which tensors only belong to others, and which of these say what shape a matrix has. */
export interface Method {
  layout: Layout;
  settings: Settings;
  isCompanion(name: string, has: (name: string) => boolean): boolean;
  isEarly?(name: string): boolean;
}

interface Passed {
  tensor: Placed;
  quantized: QuantizedTensor | undefined;
}

/** The safetensors of a model. */
export class QuantizedFiles implements Files {
  private readonly files = new Map<string, ReadFile>();
  private readonly tensors = new Map<string, Placed>();
  private readonly early = new Map<Placed, Promise<StoredTensor>>();

  constructor(private readonly method: Method) {}

  find(name: string): TensorInfo | undefined {
    return this.tensors.get(name);
  }

  where(tensor: TensorInfo): string {
    const file = this.tensors.get(tensor.name)?.file.name;
    return `${file}: tensor '${tensor.name}'`;
  }

  read(tensor: TensorInfo): Promise<StoredTensor> {
    const placed = tensor as Placed;
    return this.early.get(placed) ?? new Companions([placed]).read(placed);
  }

  /** Reads the header of a file. Its tensors may belong to those of other files. isStreamed: from this opening. */
  async add(name: string, open: OpenFile, isStreamed: boolean): Promise<void> {
    const file = await readHeader(name, open);
    this.files.set(name, file);
    if (!isStreamed) await file.parts.close();
    for (const tensor of file.tensors) {
      const other = this.tensors.get(tensor.name);
      if (other) throw new ModelFormatError(`${name}: tensor '${tensor.name}' is repeated; it is in ${other.file.name}, too`);
      this.tensors.set(tensor.name, tensor);
    }
  }

  /** Small tensors that are needed before any matrix is read, by few requests. */
  private async readEarly({ tensors }: ReadFile): Promise<void> {
    const wanted = tensors.filter(({ name, begin, end }) => this.method.isEarly?.(name) && end - begin <= kMostGap);
    const companions = new Companions(wanted);
    for (let at = 0; at < wanted.length; at += kAtOnce) {
      const some = wanted.slice(at, at + kAtOnce);
      for (const tensor of some) this.early.set(tensor, companions.read(tensor));
      await Promise.all(some.map((tensor) => this.early.get(tensor)));
    }
  }

  private async plan(file: ReadFile): Promise<Passed[]> {
    const { layout, settings, isCompanion } = this.method;
    const passed: Passed[] = [];
    for (const tensor of file.tensors) {
      const { name, dtype } = tensor;
      if (isCompanion(name, (other) => this.tensors.has(other))) continue;
      const quantized = await layout(tensor, this, settings);
      if (!quantized && Object.hasOwn(kMoreItemBytes, dtype)) {
        throw new UnsupportedError(
          `${this.where(tensor)}: expected a type of plain numbers, or a tensor of scales beside it, found ${dtype}`,
        );
      }
      passed.push({ tensor, quantized });
    }
    return passed;
  }

  /** A file whose header was added, in plain numbers. open: the file, if it is to be streamed from there. */
  async present(name: string, open?: OpenFile): Promise<OpenFile> {
    const file = this.files.get(name) as ReadFile;
    await this.readEarly(file);
    const passed = await this.plan(file);
    const { header, dataBytes } = plainHeader(passed, name);
    const { size } = file.parts;
    const cutOff = (at: number) => new ModelFormatError(`${name}: expected ${size} bytes, found ${at} (cut off)`);
    const cursor = new Cursor((open ?? file.parts).chunks(), cutOff);
    const { begin } = file;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        yield header;
        const uses = passed.map(({ quantized }) => (quantized?.companions ?? []) as Placed[]);
        const companions = new Companions(uses.flat());
        const readFor = (i: number) => {
          const reading = Promise.all((uses[i] ?? []).map((use) => companions.read(use)));
          reading.catch(() => {}); // it is awaited later
          return reading;
        };
        let next = readFor(0);
        for (const [i, { tensor, quantized }] of passed.entries()) {
          await cursor.skipTo(begin + tensor.begin);
          const stored = await next;
          next = readFor(i + 1);
          const bytes = tensor.end - tensor.begin;
          if (quantized) yield* plainNumbers(cursor, bytes, quantized, stored);
          else yield* cursor.pass(bytes);
        }
        await cursor.end();
        if (cursor.at !== size) throw cutOff(cursor.at);
      } finally {
        await cursor.close();
      }
    }
    return { size: header.length + dataBytes, chunks, origin: { size, position: () => cursor.at } };
  }
}

async function readHeader(name: string, open: OpenFile): Promise<ReadFile> {
  const parts = await openParts(name, open, (size) => [0, Math.min(size, kFirstBytes)], true);
  const prefix = await parts.read(0, Math.min(kPrefixBytes, parts.size));
  const begin = kPrefixBytes + headerBytes(prefix, parts.size, name);
  const header = await parts.read(kPrefixBytes, begin);
  const file: ReadFile = { name, parts, begin, tensors: [] };
  file.tensors = parseHeader(header, parts.size, name, { ...kItemBytes, ...kMoreItemBytes }).map((tensor) => ({ ...tensor, file }));
  return file;
}

/** The header of the file in plain numbers. */
function plainHeader(passed: readonly Passed[], file: string): { header: Uint8Array; dataBytes: number } {
  const entries = Object.create(null) as Record<string, unknown>;
  let end = 0;
  for (const { tensor, quantized } of passed) {
    const begin = end;
    const { name, shape } = quantized ?? tensor;
    end += quantized ? 4 * quantized.shape[0] * quantized.shape[1] : tensor.end - tensor.begin;
    if (entries[name]) throw new ModelFormatError(`${file}: tensor '${name}' is there twice, quantized and in plain numbers`);
    entries[name] = { dtype: quantized ? 'F32' : tensor.dtype, shape, data_offsets: [begin, end] };
  }
  const text = new TextEncoder().encode(JSON.stringify(entries));
  const header = new Uint8Array(8 + 8 * Math.ceil(text.length / 8)).fill(0x20, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(header.length - 8), true);
  header.set(text, 8);
  return { header, dataBytes: end };
}

async function* plainNumbers(
  cursor: Cursor,
  bytes: number,
  tensor: QuantizedTensor,
  stored: StoredTensor[],
): AsyncGenerator<Uint8Array> {
  const { shape, columns, rowBytes, whole } = tensor;
  const values = shape[0] * shape[1];
  const rows = Math.ceil(values / columns);
  const most = Math.max(1, Math.floor(kChunkValues / columns));
  const decode = tensor.decoder(stored);
  const all = whole ? await cursor.take(bytes) : undefined;
  const out = new Float32Array(Math.min(values, most * columns));
  for (let first = 0; first < rows; first += most) {
    const count = Math.min(most, rows - first);
    const packed = all ?? (await cursor.take(Math.min(count * rowBytes, bytes - first * rowBytes)));
    const some = out.subarray(0, Math.min(count * columns, values - first * columns));
    decode(packed, first, count, some);
    yield new Uint8Array(some.buffer, 0, some.byteLength);
  }
}
