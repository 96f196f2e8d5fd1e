// Models in memory: Files from a picker, or bytes by name.
import { describe, InputError } from '../core/errors.js';
import type { ModelSource, OpenFile } from './source.js';
import type { BlobLike, FileBytes } from '../core/types.js';

const kChunkBytes = 1 << 20;

function cleanName(name: string): string {
  return name.replace(/\\/g, '/').replace(/^(\.?\/)+/, '');
}

/** Length of the directory prefix that all names share. File pickers prepend the picked directory. */
function commonDirectory(names: readonly string[]): number {
  const first = names[0] ?? '';
  let end = first.lastIndexOf('/') + 1;
  while (end > 0 && !names.every((name) => name.startsWith(first.slice(0, end)))) {
    end = first.lastIndexOf('/', end - 2) + 1;
  }
  return end;
}

async function* blobChunks(name: string, blob: BlobLike): AsyncGenerator<Uint8Array> {
  const failed = (cause: unknown) => new InputError(`model['${name}']: cannot be read: ${cause}`, { cause });
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    reader = blob.stream().getReader() as ReadableStreamDefaultReader<Uint8Array>;
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => Promise.reject(failed(cause)));
      if (done) return;
      yield value;
    }
  } catch (cause) {
    throw reader ? cause : failed(cause);
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

async function* byteChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += kChunkBytes) yield bytes.subarray(at, at + kChunkBytes);
}

/** A file whose bytes are known. */
export const openView = (view: Uint8Array): OpenFile => ({
  size: view.length,
  part: async (begin, end) => ({ from: begin, chunks: () => byteChunks(view.subarray(begin, end)) }),
  chunks: () => byteChunks(view),
});

function openBytes(name: string, bytes: FileBytes): OpenFile {
  if (ArrayBuffer.isView(bytes)) {
    return openView(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
  const tag = Object.prototype.toString.call(bytes);
  if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]') {
    return openView(new Uint8Array(bytes as ArrayBuffer));
  }
  const blob = bytes as BlobLike;
  if (typeof blob?.stream === 'function' && typeof blob.size === 'number') {
    const part = async (begin: number, end: number) =>
      blob.slice && { from: begin, chunks: () => blobChunks(name, blob.slice?.(begin, end)) };
    return { size: blob.size, part, chunks: () => blobChunks(name, blob) };
  }
  throw new InputError(`model['${name}']: expected a Uint8Array, an ArrayBuffer, a Blob or a File, found ${describe(bytes)}`);
}

export function bytesSource(entries: readonly (readonly [string, FileBytes])[]): ModelSource {
  if (entries.length === 0) throw new InputError('model: expected files, found an empty list');
  const names = entries.map(([name]) => cleanName(name));
  const strip = commonDirectory(names);
  const files = new Map(entries.map(([name, bytes], i) => [(names[i] as string).slice(strip), openBytes(name, bytes)]));
  const known = [...files.keys()];
  const shown = known.length <= 20 ? known.join(', ') : `${known.slice(0, 20).join(', ')} and ${known.length - 20} more`;
  return {
    name: `${entries.length} files`,
    phase: 'read',
    open: async (file) => files.get(file),
    size: async (file) => files.get(file)?.size,
    place: () => `the given files (${shown})`,
  };
}
