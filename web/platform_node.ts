// Node's way: models in directories, and wattn's own files read from disk.
import { open, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InputError, NetworkError } from './errors.js';
import type { ModelSource } from './model_source.js';
import type { Platform } from './platform.js';

const kChunkBytes = 1 << 20;

const codeOf = (error: unknown) => String((error as { code?: unknown })?.code ?? error);

function pathOf(place: string): string {
  if (!/^file:/i.test(place)) return resolve(place);
  try {
    return fileURLToPath(place);
  } catch (cause) {
    throw new InputError(`model: '${place}' is no file URL of a path`, { cause });
  }
}

function cannotRead(file: string, path: string, cause: unknown): InputError {
  return new InputError(`${file}: cannot read ${path}: ${codeOf(cause)}`, { cause });
}

async function* fileChunks(file: string, path: string): AsyncGenerator<Uint8Array> {
  let handle;
  try {
    handle = await open(path);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(new Uint8Array(kChunkBytes), 0, kChunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (cause) {
    throw codeOf(cause).startsWith('E') ? cannotRead(file, path, cause) : cause;
  } finally {
    await handle?.close();
  }
}

function directorySource(directory: string, name: string): ModelSource {
  const place = (file: string) => join(directory, ...file.split('/'));

  async function size(file: string): Promise<number | undefined> {
    try {
      const found = await stat(place(file));
      if (found.isFile()) return found.size;
      throw new InputError(`${file}: expected a file, found a directory at ${place(file)}`);
    } catch (cause) {
      if (codeOf(cause) !== 'ENOENT' && codeOf(cause) !== 'ENOTDIR') {
        throw cause instanceof InputError ? cause : cannotRead(file, place(file), cause);
      }
    }
    const isDirectory = await stat(directory).then(
      (found) => found.isDirectory(),
      () => undefined,
    );
    if (isDirectory) return undefined;
    throw new InputError(
      `model '${name}': expected a directory at ${directory}, found ${isDirectory === undefined ? 'nothing' : 'a file'}`,
    );
  }

  return {
    name,
    phase: 'read',
    async open(file) {
      const bytes = await size(file);
      return bytes === undefined ? undefined : { size: bytes, chunks: () => fileChunks(file, place(file)) };
    },
    size,
    place,
  };
}

export const nodePlatform: Platform = {
  openPlace: (place) => directorySource(pathOf(place), place),
  async readFileUrl(url) {
    try {
      return await readFile(url);
    } catch (cause) {
      throw new NetworkError(`wasm: cannot read ${fileURLToPath(url)}: ${codeOf(cause)}`, url.href, undefined, { cause });
    }
  },
  base: () => pathToFileURL(`${process.cwd()}/`).href,
};
