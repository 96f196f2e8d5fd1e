// Reading quantized safetensors without a model, for tests.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesSource } from '../../web/source/bytes_source.js';
import { openQuantized } from '../../web/source/quantized.js';
import { readSafetensors } from '../../web/source/safetensors.js';
import type { OpenFile } from '../../web/source/source.js';
import { goldens, type Files } from './support.js';
import { openBytes } from './torch_zip.js';

export const kIndex = 'model.safetensors.index.json';

export function quantizedFiles(name: string): Files {
  const folder = join(goldens, 'quantized', name);
  const names = readdirSync(folder).map((file) => [file, join(folder, file)] as const);
  const all = [...names, ['tokenizer.json', join(goldens, 'quantized/tokenizer.json')] as const];
  const files: Files = new Map(all.map(([file, path]) => [file, new Uint8Array(readFileSync(path))]));
  return files.set('tokenizer_config.json', new TextEncoder().encode('{"tokenizer_class":"PreTrainedTokenizerFast"}'));
}

/** A file's bytes. Where it is converted: its size and the positions in the original are right. */
async function bytesOf(name: string, { chunks: read, size, origin }: OpenFile): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let last = 0;
  for await (const chunk of read()) {
    chunks.push(chunk.slice());
    const at = origin?.position() ?? last;
    if (at < last) throw new RangeError(`position ${at} after ${last}`);
    last = at;
  }
  const bytes = new Uint8Array(Buffer.concat(chunks));
  if (origin && (bytes.length !== size || origin.position() !== origin.size))
    throw new RangeError(`${name}: size ${size}, found ${bytes.length}`);
  return bytes;
}

/** A file's tensors. An error that names a converted file is a fault; a file that needs no conversion is opened as it is, damage included. */
async function tensorsOf(name: string, open: OpenFile) {
  return readSafetensors(await bytesOf(name, open), open.origin ? 'converted' : 'given');
}

/** The tensors of a repository in plain numbers, and its configuration. step: bytes of a chunk. parts: whether parts can be read. */
export async function plainTensors(files: Files, step = 1 << 16, parts = true) {
  const { signal } = new AbortController();
  const bytes = bytesSource([...files]);
  const open = (name: string) => {
    const found = files.get(name);
    return found && openBytes(found, step, parts);
  };
  const source = { ...bytes, name: 'org/quantized', open: async (name: string) => open(name) };
  const single = open('model.safetensors');
  const small = [...files].filter(([name]) => name === 'config.json' || name === kIndex);
  const opened = await openQuantized(
    source,
    { files: small, single: single && { name: 'model.safetensors', open: single } },
    signal,
  );
  const shards = [...files.keys()].filter((name) => /-of-/.test(name));
  const all = single
    ? [await tensorsOf('model.safetensors', opened.single!.open)]
    : await Promise.all(shards.map(async (name) => tensorsOf(name, (await (opened.from ?? source).open(name, signal))!)));
  const tensors = new Map(all.flat().map((tensor) => [tensor.name, tensor]));
  const config = JSON.parse(new TextDecoder().decode(opened.files.find(([name]) => name === 'config.json')![1]));
  return { tensors, config };
}
