// The weights of a model on their way into a packed file.
import { ModelFormatError } from '../core/errors.js';
import { concat } from '../core/texts.js';
import { toBlocks } from '../source/gguf_writer.js';
import { headerBytes, kPrefixBytes, parseHeader, toFloats, type TensorInfo } from '../source/safetensors.js';
import type { Planned } from './pack_plan.js';

export type Write = (chunk: Uint8Array) => void | Promise<void>;

/** Bytes of rows that are converted at once. */
const kPortionBytes = 1 << 18;

/** The rows of each head with its two halves in turns, as llama.cpp rotates neighbours. */
function takeTurns(values: Float32Array, head: number, shape: readonly number[]): Float32Array {
  const width = shape.length < 2 ? 1 : (shape[1] as number);
  const out = new Float32Array(values.length);
  for (let row = 0; row * width < values.length; ++row) {
    const at = row % head;
    const from = row - at + (at % 2) * (head / 2) + (at >> 1);
    out.set(values.subarray(from * width, (from + 1) * width), row * width);
  }
  return out;
}

/** Converts a tensor's bytes as they arrive, some rows at a time. */
class TensorStream {
  private readonly parts: Uint8Array[] = [];
  private held = 0;
  private row = 0;
  private next = 0; // in planned.rows
  private readonly rowBytes: number;

  constructor(
    private readonly info: TensorInfo,
    private readonly planned: Planned,
    private readonly write: Write,
  ) {
    const { shape, begin, end } = info;
    // What is converted at once, at least: a row, a head, or a whole vector.
    this.rowBytes =
      planned.columns || shape.length < 2 ? end - begin : ((end - begin) / (shape[0] as number)) * (planned.head ?? 1);
  }

  async push(bytes: Uint8Array): Promise<void> {
    this.parts.push(bytes.slice());
    this.held += bytes.length;
    if (this.held >= Math.max(kPortionBytes, this.rowBytes)) await this.convert();
  }

  async convert(): Promise<void> {
    if (this.held === 0 || this.rowBytes === 0) return;
    const bytes = concat(Uint8Array, this.parts);
    const count = Math.floor(bytes.length / this.rowBytes);
    const rest = bytes.slice(count * this.rowBytes);
    this.parts.splice(0, this.parts.length, ...(rest.length > 0 ? [rest] : []));
    this.held = rest.length;
    const { dtype, shape, name } = this.info;
    const values = toFloats({ name, dtype, shape, bytes: bytes.subarray(0, count * this.rowBytes) });
    const { head = 1, add, type, round } = this.planned;
    const kept = this.select(head > 1 ? takeTurns(values, head, shape) : values, count);
    if (add !== undefined) for (let i = 0; i < kept.length; ++i) kept[i] = (kept[i] as number) + add;
    await this.write(round ? await round(kept) : toBlocks(kept, type, this.planned.shape.at(-1) ?? 1));
    this.row += count;
  }

  private select(values: Float32Array, count: number): Float32Array {
    const { rows, columns } = this.planned;
    const kept = rows && this.info.shape.length === 1 ? rows : columns;
    if (kept) return Float32Array.from(kept, (id) => values[id] as number);
    if (!rows) return values;
    const width = values.length / count;
    let size = 0;
    for (; this.next < rows.length && (rows[this.next] as number) < this.row + count; ++this.next, size += width) {
      const from = ((rows[this.next] as number) - this.row) * width;
      values.copyWithin(size, from, from + width);
    }
    return values.subarray(0, size);
  }
}

/** Takes the weight files as they stream in, and passes what the plan keeps on. */
export class Passage {
  private file = '';
  private fileBytes = 0;
  private taken = 0;
  private header: Uint8Array | undefined = new Uint8Array(0);
  private tensors: TensorInfo[] = [];
  private dataBegin = 0;
  private current = 0;
  private stream: TensorStream | undefined;
  /** Bytes that were read of all weight files. */
  read = 0;

  constructor(
    private readonly planOf: (file: string, name: string) => Planned | undefined,
    private readonly write: Write,
    private readonly endTensor: () => void | Promise<void>,
  ) {}

  begin(file: string, bytes: number): void {
    this.close();
    [this.file, this.fileBytes, this.taken, this.header, this.tensors, this.current] = [file, bytes, 0, new Uint8Array(0), [], 0];
    this.stream = undefined;
  }

  close(): void {
    if (this.file === '') return;
    if (this.header) headerBytes(this.header.subarray(0, kPrefixBytes), this.taken, this.file);
    if (this.taken !== this.fileBytes) {
      throw new ModelFormatError(`${this.file}: expected ${this.fileBytes} bytes, found ${this.taken} (cut off)`);
    }
  }

  async push(chunk: Uint8Array): Promise<void> {
    const at = this.taken;
    this.taken += chunk.length;
    this.read += chunk.length;
    let [bytes, begin] = [chunk, at];
    if (this.header) {
      const whole = concat(Uint8Array, [this.header, chunk]).slice();
      this.header = whole;
      if (whole.length < Math.min(kPrefixBytes, this.fileBytes)) return;
      const end = kPrefixBytes + headerBytes(whole.subarray(0, kPrefixBytes), this.fileBytes, this.file);
      if (whole.length < end) return;
      this.tensors = parseHeader(whole.subarray(kPrefixBytes, end), this.fileBytes, this.file);
      [this.header, this.dataBegin] = [undefined, end];
      [bytes, begin] = [whole.subarray(end), end];
    }
    let position = begin - this.dataBegin;
    for (;;) {
      const tensor = this.tensors[this.current];
      if (!tensor) return;
      if (position === tensor.begin && !this.stream) {
        const planned = this.planOf(this.file, tensor.name);
        if (planned) this.stream = new TensorStream(tensor, planned, this.write);
      }
      const part = bytes.subarray(0, tensor.end - position);
      if (part.length > 0) await this.stream?.push(part);
      bytes = bytes.subarray(part.length);
      position += part.length;
      if (position < tensor.end) return;
      if (this.stream) {
        await this.stream.convert();
        await this.endTensor();
      }
      this.stream = undefined;
      ++this.current;
    }
  }
}
