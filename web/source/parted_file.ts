// Files of which parts are read before they are streamed once: what describes their tensors lies elsewhere than the tensors.
import { ModelFormatError } from '../core/errors.js';
import type { OpenFile } from './source.js';

/** What a source may send before a part: a piece of the cache. A server without ranges sends all, which is read once instead. */
const kMostSkipped = 1 << 22;

/** The bytes of a file in order, with the position. */
export class Cursor {
  at = 0;
  private chunk: Uint8Array = new Uint8Array();
  private readonly chunks: AsyncIterator<Uint8Array>;

  constructor(
    chunks: AsyncIterable<Uint8Array>,
    private readonly cutOff: (at: number) => ModelFormatError,
  ) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next bytes, at most `most`; undefined at the end. */
  private async next(most: number): Promise<Uint8Array | undefined> {
    while (this.chunk.length === 0) {
      const { done, value } = await this.chunks.next();
      if (done) return undefined;
      this.chunk = value;
    }
    const part = this.chunk.subarray(0, most);
    this.chunk = this.chunk.subarray(part.length);
    this.at += part.length;
    return part;
  }

  async *pass(count: number): AsyncGenerator<Uint8Array> {
    for (const end = this.at + count; this.at < end;) {
      const part = await this.next(end - this.at);
      if (!part) throw this.cutOff(this.at);
      yield part;
    }
  }

  async take(count: number): Promise<Uint8Array> {
    const out = new Uint8Array(count);
    let filled = 0;
    for await (const part of this.pass(count)) {
      out.set(part, filled);
      filled += part.length;
    }
    return out;
  }

  async skipTo(position: number): Promise<void> {
    for await (const _ of this.pass(position - this.at));
  }

  /** Reads the rest, so that a cache has the whole file. */
  async end(): Promise<void> {
    while (await this.next(Infinity));
  }

  async close(): Promise<void> {
    await this.chunks.return?.();
  }
}

/** A file of a known size, of which parts can be read and which can then be streamed. */
export interface PartedFile {
  size: number;
  read(begin: number, end: number): Promise<Uint8Array>;
  chunks(): AsyncIterable<Uint8Array>;
  /** In place of chunks(): ends what was opened. Parts can be read still. */
  close(): Promise<void>;
}

/** Reads a file whole. stays: parts are read while it streams and afterwards. */
async function hold(open: OpenFile, stays: boolean): Promise<PartedFile> {
  const pieces: Uint8Array[] = [];
  const begins: number[] = [];
  let size = 0;
  for await (const chunk of open.chunks()) {
    begins.push(size);
    pieces.push(chunk.slice());
    size += chunk.length;
  }
  const read = async (begin: number, end: number) => {
    const out = new Uint8Array(end - begin);
    pieces.forEach((piece, i) => {
      const at = begins[i] as number;
      const part = piece.subarray(Math.max(0, begin - at), Math.max(0, end - at));
      out.set(part, part.length > 0 ? Math.max(0, at - begin) : 0);
    });
    return out;
  };
  async function* chunks() {
    if (stays) return void (yield* pieces);
    for (let piece = pieces.shift(); piece; piece = pieces.shift()) yield piece;
  }
  return { size, read, chunks, close: async () => {} };
}

/** These bytes of a file; undefined if it cannot be read in parts. fails: an error is thrown. */
async function readPart(open: OpenFile, begin: number, end: number, fails = false): Promise<Uint8Array | undefined> {
  const out = new Uint8Array(end - begin);
  try {
    const part = await open.part?.(begin, end);
    if (!part || end === begin) return part && out;
    let at = part.from - begin; // of the next chunk in the part
    for await (const chunk of part.chunks()) {
      if (part.from > begin || part.from < begin - kMostSkipped) break;
      const bytes = chunk.subarray(Math.max(0, -at), Math.max(0, out.length - at));
      if (bytes.length > 0) out.set(bytes, Math.max(0, at));
      at += chunk.length;
      if (at >= out.length) return out;
    }
  } catch (error) {
    if (fails) throw error; // otherwise chunks() says what is wrong
  }
  return undefined;
}

/** kept: the bytes that are read at once and kept: where the file is described. stays: parts are read while it streams, too. */
export async function openParts(
  file: string,
  open: OpenFile,
  kept: (size: number) => readonly [begin: number, end: number],
  stays = false,
): Promise<PartedFile> {
  const { size } = open;
  const [begin, end] = kept(size ?? 0);
  const first = size === undefined ? undefined : await readPart(open, begin, end);
  if (size === undefined || !first) return hold(open, stays);
  let isStreamed = false; // so that it cannot be held any more
  let held: PartedFile | undefined; // once a part could not be read: chunks() mends what is damaged in a cache
  const read = async (from: number, to: number) => {
    if (from >= begin && to <= end) return first.subarray(from - begin, to - begin);
    const bytes = held ? undefined : await readPart(open, from, to, isStreamed);
    if (bytes) return bytes;
    if (isStreamed && !held) throw new ModelFormatError(`${file}: expected the bytes from ${from} to ${to}, found others`);
    held ??= await hold(open, stays);
    if (held.size === size) return held.read(from, to);
    throw new ModelFormatError(`${file}: expected ${size} bytes, found ${held.size} (cut off)`);
  };
  const chunks = () => {
    isStreamed = true;
    return (held ?? open).chunks();
  };
  const close = async () => {
    if (held) return;
    isStreamed = true;
    const rest = open.chunks()[Symbol.asyncIterator]();
    await rest.next(); // a generator that has not begun ends without closing anything
    await rest.return?.();
  };
  return { size, read, chunks, close };
}
