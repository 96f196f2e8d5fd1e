// The pickles of torch.save (protocol 2): a closed list of opcodes and of names. Nothing is run and nothing is looked up. What comes out is
// dicts, lists, tuples, numbers, texts and descriptions of tensors. Opcodes: Python's Lib/pickletools.py. Names: torch/_utils.py.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';

/** The numbers of one or several tensors, a file of its own in the archive. */
export interface TorchStorage {
  key: string;
  /** As safetensors spells it. */
  dtype: string;
  itemBytes: number;
  elements: number;
}

/** A view of a storage. All numbers count elements. */
export interface TorchTensor {
  storage: TorchStorage;
  offset: number;
  shape: number[];
  strides: number[];
}

/** torch's limit of the dimensions of a tensor. */
const kMostDims = 64;

/** torch's storage classes: safetensors' name of the type, and bytes of an element. */
const kStorages: Record<string, readonly [dtype: string, itemBytes: number]> = {
  DoubleStorage: ['F64', 8],
  FloatStorage: ['F32', 4],
  HalfStorage: ['F16', 2],
  BFloat16Storage: ['BF16', 2],
  LongStorage: ['I64', 8],
  IntStorage: ['I32', 4],
  ShortStorage: ['I16', 2],
  CharStorage: ['I8', 1],
  ByteStorage: ['U8', 1],
  BoolStorage: ['BOOL', 1],
};

class Name {
  constructor(readonly text: string) {}
}
class List {
  readonly items: Value[] = [];
}
class Dict {
  readonly items = new Map<Value, Value>();
}
class Storage {
  constructor(readonly storage: TorchStorage) {}
}
class Tensor {
  constructor(readonly tensor: TorchTensor) {}
}
/** An array is a tuple. */
type Value = null | boolean | number | string | readonly Value[] | Name | List | Dict | Storage | Tensor;

const kNames = new Set([
  'collections.OrderedDict',
  'torch._utils._rebuild_tensor',
  'torch._utils._rebuild_tensor_v2',
  'torch._utils._rebuild_parameter',
  ...Object.keys(kStorages).map((name) => `torch.${name}`),
]);

function kindOf(value: Value | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'None';
  if (value instanceof Name) return value.text;
  if (value instanceof List) return 'a list';
  if (value instanceof Dict) return 'a dict';
  if (value instanceof Storage) return 'a storage';
  if (value instanceof Tensor) return 'a tensor';
  return typeof value === 'object' ? 'a tuple' : `a ${typeof value}`;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const areCounts = (value: Value | undefined): value is number[] => Array.isArray(value) && value.every(isCount);

export const elementsOf = (shape: readonly number[]) => shape.reduce((product, dim) => product * dim, 1);

class Unpickler {
  private at = 0;
  private readonly stack: Value[] = [];
  private readonly marks: number[] = [];
  private readonly memo = new Map<number, Value>();
  readonly storages = new Map<string, TorchStorage>();
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly where: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  wrong(expected: string, found: string): ModelFormatError {
    return new ModelFormatError(`${this.where}: byte ${this.at}: expected ${expected}, found ${found}`);
  }

  private refused(expected: string, found: string): UnsupportedError {
    return new UnsupportedError(`${this.where}: byte ${this.at}: expected ${expected}, found ${found}`);
  }

  /** The position of the next `count` bytes, which are read. */
  private take(count: number): number {
    const from = this.at;
    if (count > this.bytes.length - from) throw this.wrong(`${count} more bytes`, `${this.bytes.length - from} (cut off)`);
    this.at += count;
    return from;
  }

  private u8(): number {
    return this.bytes[this.take(1)] as number;
  }

  private u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  private text(count: number): string {
    const from = this.take(count);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.bytes.subarray(from, from + count));
    } catch {
      throw this.wrong('UTF-8', 'other bytes');
    }
  }

  private line(): string {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) throw this.wrong('a line', 'no end of it');
    const text = this.text(end - this.at);
    this.at += 1;
    return text;
  }

  private long(): number {
    const count = this.u8();
    const from = this.take(count);
    let value = 0n;
    for (let i = count; i-- > 0;) value = (value << 8n) | BigInt(this.bytes[from + i] as number);
    const signed = Number(BigInt.asIntN(8 * count, value));
    if (!Number.isSafeInteger(signed)) throw this.wrong('a number of at most 53 bits', `one of ${count} bytes`);
    return signed;
  }

  private pop(): Value {
    if (this.stack.length <= (this.marks.at(-1) ?? 0)) throw this.wrong('a value on the stack', 'none');
    return this.stack.pop() as Value;
  }

  private popTuple(count: number): Value[] {
    const items = Array.from({ length: count }, () => this.pop());
    return items.reverse();
  }

  /** The values above the last mark. */
  private popMarked(): Value[] {
    const mark = this.marks.pop();
    if (mark === undefined) throw this.wrong('a mark', 'none');
    return this.stack.splice(mark);
  }

  private top(): Value | undefined {
    return this.stack.length > (this.marks.at(-1) ?? 0) ? this.stack.at(-1) : undefined;
  }

  private setItems(items: readonly Value[]): void {
    const dict = this.top();
    if (!(dict instanceof Dict) || items.length % 2 !== 0) throw this.wrong('a dict with pairs', kindOf(dict));
    for (let i = 0; i < items.length; i += 2) dict.items.set(items[i] as Value, items[i + 1] as Value);
  }

  private append(items: readonly Value[]): void {
    const list = this.top();
    if (!(list instanceof List)) throw this.wrong('a list', kindOf(list));
    for (const item of items) list.items.push(item);
  }

  /** A storage by its persistent id: ('storage', class, key, device, elements). */
  private persistent(id: Value): Storage {
    const [what, type, key, , elements] = Array.isArray(id) ? (id as readonly Value[]) : [];
    const known = type instanceof Name ? kStorages[type.text.replace('torch.', '')] : undefined;
    if (what !== 'storage' || !known || typeof key !== 'string' || !isCount(elements) || (id as Value[]).length !== 5) {
      throw this.wrong("('storage', class, key, device, elements)", kindOf(id));
    }
    const [dtype, itemBytes] = known;
    const before = this.storages.get(key);
    if (before && (before.dtype !== dtype || before.elements !== elements)) {
      throw this.wrong(`storage '${key}' with ${before.elements} elements of ${before.dtype}`, `${elements} of ${dtype}`);
    }
    const storage = before ?? { key, dtype, itemBytes, elements };
    this.storages.set(key, storage);
    return new Storage(storage);
  }

  private tensor(args: readonly Value[]): Tensor {
    const [storage, offset, shape, strides, , , metadata] = args;
    if (!(storage instanceof Storage)) throw this.wrong('a storage', kindOf(storage));
    if (
      !isCount(offset) ||
      !areCounts(shape) ||
      !areCounts(strides) ||
      shape.length !== strides.length ||
      shape.length > kMostDims
    ) {
      const found = `${kindOf(offset)}, ${kindOf(shape)} and ${kindOf(strides)}`;
      throw this.wrong(
        `an offset, a shape of at most ${kMostDims} dimensions and as many strides, of whole numbers from 0 on`,
        found,
      );
    }
    if (metadata instanceof Dict ? metadata.items.size > 0 : metadata !== undefined && metadata !== null) {
      throw this.refused('a tensor without metadata', kindOf(metadata));
    }
    const { elements } = storage.storage;
    const count = elementsOf(shape);
    const last = shape.reduce((sum, dim, i) => sum + (dim - 1) * (strides[i] as number), offset);
    if (!isCount(count) || (count > 0 && !(last < elements))) {
      const view = `shape [${shape}] with strides [${strides}] at ${offset}`;
      throw this.wrong(`a view of the ${elements} elements of storage '${storage.storage.key}'`, view);
    }
    return new Tensor({ storage: storage.storage, offset, shape, strides });
  }

  private reduce(): Value {
    const args = this.pop();
    const name = this.pop();
    if (!Array.isArray(args) || !(name instanceof Name)) {
      throw this.wrong('a name and its arguments', `${kindOf(name)} and ${kindOf(args)}`);
    }
    const values = args as readonly Value[];
    const count = values.length;
    switch (name.text) {
      case 'collections.OrderedDict':
        if (count === 0) return new Dict();
        break;
      case 'torch._utils._rebuild_tensor':
        if (count === 4) return this.tensor(values);
        break;
      case 'torch._utils._rebuild_tensor_v2':
        if (count === 6 || count === 7) return this.tensor(values);
        break;
      case 'torch._utils._rebuild_parameter':
        if (count === 3 && values[0] instanceof Tensor) return values[0];
    }
    throw this.wrong(`the arguments of ${name.text}`, `${count} that do not fit`);
  }

  private global(): Name {
    const module = this.line();
    const text = `${module}.${this.line()}`;
    if (kNames.has(text)) return new Name(text);
    throw this.refused(`a name of a state dict (${[...kNames].slice(0, 4).join(', ')} or a storage)`, `'${text.slice(0, 200)}'`);
  }

  private keep(index: number): void {
    const value = this.top();
    if (value === undefined) throw this.wrong('a value to remember', 'none');
    this.memo.set(index, value);
  }

  private recall(index: number): Value {
    const value = this.memo.get(index);
    if (value === undefined) throw this.wrong(`a value remembered as ${index}`, 'none');
    return value;
  }

  /** One opcode; what it pushes, or undefined if it pushes nothing. */
  private step(code: number): Value | undefined {
    switch (String.fromCharCode(code)) {
      case '(':
        return void this.marks.push(this.stack.length);
      case ')':
        return [];
      case ']':
        return new List();
      case '}':
        return new Dict();
      case 't':
        return this.popMarked();
      case '\x85':
      case '\x86':
      case '\x87':
        return this.popTuple(code - 0x84);
      case 'N':
        return null;
      case '\x88':
      case '\x89':
        return code === 0x88;
      case 'K':
        return this.u8();
      case 'M':
        return this.view.getUint16(this.take(2), true);
      case 'J':
        return this.view.getInt32(this.take(4), true);
      case '\x8a':
        return this.long();
      case 'G':
        return this.view.getFloat64(this.take(8), false);
      case 'X':
        return this.text(this.u32());
      case 'c':
        return this.global();
      case 'Q':
        return this.persistent(this.pop());
      case 'R':
        return this.reduce();
      case 's':
        return void this.setItems(this.popTuple(2));
      case 'u':
        return void this.setItems(this.popMarked());
      case 'a':
        return void this.append(this.popTuple(1));
      case 'e':
        return void this.append(this.popMarked());
      case 'q':
        return void this.keep(this.u8());
      case 'r':
        return void this.keep(this.u32());
      case 'h':
        return this.recall(this.u8());
      case 'j':
        return this.recall(this.u32());
      case 'b': {
        // The attributes of a dict: state_dict() has _metadata, the versions of its modules.
        const state = this.pop();
        if (state instanceof Dict && this.top() instanceof Dict) return undefined;
        throw this.wrong('a dict and its attributes', `${kindOf(this.top())} and ${kindOf(state)}`);
      }
      default: {
        this.at -= 1;
        const hex = code.toString(16).padStart(2, '0');
        throw this.refused('an opcode of a state dict of torch.save', `0x${hex}`);
      }
    }
  }

  /** The value of the whole pickle. */
  run(): Value {
    const [proto, version] = this.bytes;
    if (proto !== 0x80 || version !== 2) {
      const found = proto === 0x80 && version !== undefined ? `protocol ${version}` : `${this.bytes.length} other bytes`;
      throw this.refused('a pickle of protocol 2', found);
    }
    this.at = 2;
    for (let code = this.u8(); code !== 0x2e; code = this.u8()) {
      const value = this.step(code);
      if (value !== undefined) this.stack.push(value);
    }
    const value = this.pop();
    const left = this.bytes.length - this.at;
    if (this.stack.length > 0 || this.marks.length > 0 || left > 0) {
      throw this.wrong('one value and the end', `${this.stack.length} more values and ${left} more bytes`);
    }
    return value;
  }
}

/** The tensors of a state dict by name. where: the file, for messages. */
export function readStateDict(
  pickle: Uint8Array,
  where: string,
): { tensors: Map<string, TorchTensor>; storages: ReadonlyMap<string, TorchStorage> } {
  const unpickler = new Unpickler(pickle, where);
  const root = unpickler.run();
  const hint = 'save model.state_dict()';
  if (!(root instanceof Dict)) throw new UnsupportedError(`${where}: expected a dict of tensors, found ${kindOf(root)} (${hint})`);
  const tensors = new Map<string, TorchTensor>();
  for (const [name, value] of root.items) {
    if (typeof name !== 'string') throw unpickler.wrong('the name of a tensor', kindOf(name));
    if (!(value instanceof Tensor)) {
      throw new UnsupportedError(
        `${where}: '${name}': expected a tensor, found ${kindOf(value)} (a checkpoint of a training? ${hint})`,
      );
    }
    tensors.set(name, value.tensor);
  }
  return { tensors, storages: unpickler.storages };
}
