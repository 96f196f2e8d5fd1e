// Writes files like torch.save, and files that it would never write, for tests.
import { openTorchFile } from '../../web/source/torch_file.js';
import type { OpenFile } from '../../web/source/source.js';
import type { Tensors } from './safetensors.js';

const utf8 = new TextEncoder();

/** Little-endian. */
function number(value: number | bigint, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * i)) & 255n));
}

export interface ZipEntry {
  name: string;
  bytes: Uint8Array;
  /** Fields of the directory that differ from the truth. */
  method?: number;
  flags?: number;
  size?: number;
  packed?: number;
  offset?: number;
}

interface ZipOptions {
  zip64?: boolean;
  /** Bytes between a local header and its data, as torch aligns. */
  padding?: number;
  comment?: string;
  /** The number of entries that the end claims. */
  count?: number;
  /** Where the end claims that the directory begins, and its length. */
  begin?: number | bigint;
  length?: number | bigint;
}

/** A zip of stored entries, with descriptors behind them as torch's. */
export function zip(entries: readonly ZipEntry[], options: ZipOptions = {}): Uint8Array {
  const { zip64 = true, padding = 5, comment = '' } = options;
  const out: number[] = [];
  const directory: number[] = [];
  for (const entry of entries) {
    const name = utf8.encode(entry.name);
    const offset = entry.offset ?? out.length;
    const { method = 0, flags = 0x808 } = entry;
    out.push(...number(0x04034b50, 4), ...number(0, 2), ...number(flags, 2), ...number(method, 2), ...Array(16).fill(0));
    out.push(...number(name.length, 2), ...number(padding, 2), ...name, ...Array(padding).fill(0x5a));
    for (const byte of entry.bytes) out.push(byte);
    out.push(...number(0x08074b50, 4), ...Array(20).fill(0));
    const [size, packed] = [entry.size ?? entry.bytes.length, entry.packed ?? entry.size ?? entry.bytes.length];
    const extra = zip64 ? [...number(1, 2), ...number(24, 2), ...number(size, 8), ...number(packed, 8), ...number(offset, 8)] : [];
    const field = (value: number) => (zip64 ? number(0xffffffff, 4) : number(value, 4));
    directory.push(...number(0x02014b50, 4), ...Array(4).fill(0), ...number(flags, 2), ...number(method, 2), ...Array(8).fill(0));
    directory.push(...field(packed), ...field(size), ...number(name.length, 2), ...number(extra.length, 2), ...Array(10).fill(0));
    directory.push(...field(offset), ...name, ...extra);
  }
  const begin = options.begin ?? out.length;
  const length = options.length ?? directory.length;
  const count = options.count ?? entries.length;
  out.push(...directory);
  if (zip64) {
    const at = out.length;
    out.push(...number(0x06064b50, 4), ...number(44, 8), ...Array(12).fill(0), ...number(count, 8), ...number(count, 8));
    out.push(
      ...number(length, 8),
      ...number(begin, 8),
      ...number(0x07064b50, 4),
      ...number(0, 4),
      ...number(at, 8),
      ...number(1, 4),
    );
  }
  const [many, long, far] = zip64 ? [0xffff, 0xffffffff, 0xffffffff] : [count, length, begin];
  out.push(
    ...number(0x06054b50, 4),
    ...number(0, 4),
    ...number(many, 2),
    ...number(many, 2),
    ...number(long, 4),
    ...number(far, 4),
  );
  out.push(...number(comment.length, 2), ...utf8.encode(comment));
  return Uint8Array.from(out);
}

export const text = (value: string) => {
  const bytes = utf8.encode(value);
  return [0x58, ...number(bytes.length, 4), ...bytes];
};
const latin = (value: string) => [...value].map((char) => char.charCodeAt(0));

/** Pieces of pickles. */
export const p = {
  begin: [0x80, 2],
  global: (module: string, name: string) => latin(`c${module}\n${name}\n`),
  int: (value: number | bigint) => [0x8a, 8, ...number(BigInt.asUintN(64, BigInt(value)), 8)],
  tuple: (...items: number[][]) => [...latin('('), ...items.flat(), ...latin('t')],
  dict: (...pairs: number[][]) => [...latin('}('), ...pairs.flat(), ...latin('u')],
  none: latin('N'),
  no: [0x89],
  call: (callee: number[], args: number[]) => [...callee, ...args, ...latin('R')],
  hooks: [...latin('ccollections\nOrderedDict\n'), ...latin(')R')],
  end: latin('.'),
};

export interface View {
  key?: string;
  type?: string;
  elements: number;
  offset?: number;
  shape: (number | bigint)[];
  strides: (number | bigint)[];
}

export const storage = ({ key = '0', type = 'FloatStorage', elements }: Pick<View, 'key' | 'type' | 'elements'>) => [
  ...p.tuple(text('storage'), p.global('torch', type), text(key), text('cpu'), p.int(elements)),
  0x51,
];

/** A call of _rebuild_tensor_v2. */
export const tensor = (view: View) =>
  p.call(
    p.global('torch._utils', '_rebuild_tensor_v2'),
    p.tuple(
      storage(view),
      p.int(view.offset ?? 0),
      p.tuple(...view.shape.map(p.int)),
      p.tuple(...view.strides.map(p.int)),
      p.no,
      p.hooks,
    ),
  );

export const stateDict = (tensors: Record<string, number[]>) =>
  Uint8Array.from([...p.begin, ...p.dict(...Object.entries(tensors).flatMap(([name, value]) => [text(name), value])), ...p.end]);

/** A file with this data.pkl and these storages: their bytes, or how many. */
export function torchFile(
  pickle: Uint8Array | number[],
  storages: Record<string, number | Uint8Array> = {},
  options: ZipOptions = {},
): Uint8Array {
  const entries = Object.entries(storages).map(([key, content]) => ({
    name: `m/data/${key}`,
    bytes: typeof content === 'number' ? Uint8Array.from({ length: content }, (_, i) => i) : content,
  }));
  const order = { name: 'm/byteorder', bytes: utf8.encode('little') };
  return zip([{ name: 'm/data.pkl', bytes: Uint8Array.from(pickle) }, order, ...entries], options);
}

const kTypes: Record<string, readonly [type: string, bytes: number]> = {
  F32: ['FloatStorage', 4],
  F16: ['HalfStorage', 2],
  BF16: ['BFloat16Storage', 2],
  I64: ['LongStorage', 8],
};

/** The file of torch.save for these tensors. same: further names of tensors, which share their storage. */
export function torchOf(tensors: Tensors, same: Record<string, string> = {}): Uint8Array {
  const state: Record<string, number[]> = {};
  const storages: Record<string, Uint8Array> = {};
  [...tensors].forEach(([name, { dtype, shape, bytes }], i) => {
    const [type, size] = kTypes[dtype] as readonly [string, number];
    const strides = shape.map((_, d) => shape.slice(d + 1).reduce((product, dim) => product * dim, 1));
    storages[`k${i}`] = bytes;
    state[name] = tensor({ key: `k${i}`, type, elements: bytes.length / size, shape, strides });
  });
  for (const [name, of] of Object.entries(same)) state[name] = state[of] as number[];
  return torchFile(stateDict(state), storages);
}

/** A file in memory. step: bytes of a chunk. parts: whether it can be read in parts. */
export function openBytes(bytes: Uint8Array, step: number, parts: boolean): OpenFile {
  async function* chunks(from = 0) {
    for (let at = from; at < bytes.length; at += step) yield bytes.slice(at, at + step);
  }
  // A part may begin before what was asked for, and end behind it.
  const part = async (begin: number) => {
    const from = begin - (begin % (step + 1));
    return { from, chunks: () => chunks(from) };
  };
  return { size: parts ? bytes.length : undefined, ...(parts && { part }), chunks: () => chunks() };
}

/** The bytes of safetensors that a file of torch.save becomes. */
export async function converted(bytes: Uint8Array, step = 1 << 16, parts = true): Promise<Uint8Array> {
  const open = await openTorchFile('pytorch_model.bin', 'here', openBytes(bytes, step, parts));
  const out: Uint8Array[] = [];
  let last = 0;
  for await (const chunk of open.chunks()) {
    out.push(chunk.slice());
    const at = open.origin?.position() ?? -1;
    if (at < last || at > bytes.length) throw new RangeError(`position ${at} after ${last} of ${bytes.length}`);
    last = at;
  }
  const whole = new Uint8Array(Buffer.concat(out));
  last = open.origin?.position() ?? -1;
  if (open.size !== whole.length || last !== bytes.length)
    throw new RangeError(`size ${open.size}, found ${whole.length} at ${last}`);
  return whole;
}
