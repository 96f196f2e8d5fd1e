// The platform of Node, used instead of platform.ts: models in directories, and wattn's own files from disk.
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InputError, NetworkError } from '../core/errors.js';
import { nearby } from './fetch_source.js';
import { fs, fsSync, paths } from './files_node.js';
import { hubToken, pythonCopy } from './hub_settings_node.js';
import { insideModel } from './inside.js';
import { codeOf, isStale, tryLockFile } from './lock_file.js';
import { builtin, fromInstalled, installed, ownFile } from './package_files_node.js';
import type { ModelSource, PieceStore, Platform } from './source.js';
import { syncPath } from './sync_path.js';

const kChunkBytes = 1 << 20;

function pathOf(place: string): string {
  if (!/^file:/i.test(place)) return paths.resolve(place);
  try {
    return fileURLToPath(place);
  } catch (cause) {
    throw new InputError(`model: '${place}' is not a file URL with a path`, { cause });
  }
}

function cannotRead(file: string, path: string, cause: unknown): InputError {
  return new InputError(`${file}: cannot read ${path}: ${codeOf(cause)}`, { cause });
}

/** Reads the next chunk while the caller uses the current one. Two buffers alternate: allocating costs more than reading. */
async function* fileChunks(file: string, path: string, begin: number, end: number): AsyncGenerator<Uint8Array> {
  let handle: FileHandle | undefined;
  let next: Promise<Uint8Array | undefined> | undefined;
  let buffer = new Uint8Array(Math.min(kChunkBytes, end - begin));
  let other = new Uint8Array(buffer.length);
  async function read(from: FileHandle, at: number): Promise<Uint8Array | undefined> {
    const into = buffer;
    [buffer, other] = [other, buffer];
    if (at >= end) return undefined;
    const { bytesRead } = await from.read(into, 0, Math.min(kChunkBytes, end - at), at);
    return bytesRead > 0 ? into.subarray(0, bytesRead) : undefined;
  }
  try {
    handle = await fs.open(path);
    let at = begin;
    next = read(handle, at);
    for (let chunk = await next; chunk; chunk = await next) {
      at += chunk.length;
      next = read(handle, at);
      next.catch(() => {}); // if nobody awaits it
      yield chunk;
    }
  } catch (cause) {
    throw codeOf(cause).startsWith('E') ? cannotRead(file, path, cause) : cause;
  } finally {
    await next?.catch(() => {});
    await handle?.close().catch(() => {}); // all that was wanted has been read
  }
}

/** What a path leads to, for messages. */
function kindOf(found: Stats): string {
  if (found.isFile()) return 'a file';
  if (found.isDirectory()) return 'a directory';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

function directorySource(directory: string, name: string): ModelSource {
  const place = (file: string) => paths.join(directory, ...insideModel(file).split('/'));

  async function size(file: string): Promise<number | undefined> {
    try {
      const found = await fs.stat(place(file));
      if (found.isFile()) return found.size;
      throw new InputError(`${file}: expected a file, found ${kindOf(found)} at ${place(file)}`);
    } catch (cause) {
      if (codeOf(cause) !== 'ENOENT' && codeOf(cause) !== 'ENOTDIR') {
        throw cause instanceof InputError ? cause : cannotRead(file, place(file), cause);
      }
    }
    const kind = await fs.stat(directory).then(kindOf, () => 'nothing');
    if (kind === 'a directory') return undefined;
    throw new InputError(`model '${name}': expected a directory at ${directory}, found ${kind}`);
  }

  return {
    name,
    phase: 'read',
    async open(file) {
      const bytes = await size(file);
      if (bytes === undefined) return undefined;
      const path = place(file);
      const chunks = (begin: number, end: number) => () => fileChunks(file, path, begin, end);
      return { size: bytes, part: async (begin, end) => ({ from: begin, chunks: chunks(begin, end) }), chunks: chunks(0, bytes) };
    },
    size,
    place,
    others: (id) => nearby(id).map((path) => directorySource(paths.join(directory, path), paths.join(directory, path))),
  };
}

function defaultCacheFolder(): string {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (process.platform === 'win32' && LOCALAPPDATA) return paths.join(LOCALAPPDATA, 'wattn');
  if (process.platform === 'darwin') return paths.join(homedir(), 'Library', 'Caches', 'wattn');
  return paths.join(XDG_CACHE_HOME || paths.join(homedir(), '.cache'), 'wattn');
}

const nodeCrypto = () => builtin('node:crypto') as typeof import('node:crypto'); // loaded lazily: it takes 5 ms

/** A part that is being written, or whose writer ended while it was. */
const kUnfinished = /\.\d+\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A folder for each file, named by the hash of its URL. It contains the file's parts and `url`. */
function folderStore(root: string): PieceStore {
  const { createHash, randomUUID } = nodeCrypto();
  const folderOf = (key: string) => paths.join(root, createHash('sha256').update(key).digest('hex').slice(0, 32));
  const readPart = (folder: string, part: string) =>
    fs.readFile(paths.join(folder, part)).catch((cause) => {
      if (codeOf(cause) === 'ENOENT') return undefined;
      throw cause;
    });
  /** Files that were put and not yet synced. */
  const unsettled = new Set<string>();
  async function put(folder: string, part: string, bytes: Uint8Array): Promise<void> {
    const made = paths.join(folder, `${part}.${process.pid}.${randomUUID()}`);
    try {
      await fs.writeFile(made, bytes);
      await fs.rename(made, paths.join(folder, part)); // atomic, whoever else writes
      unsettled.add(paths.join(folder, part));
    } catch (error) {
      await fs.rm(made, { force: true }).catch(() => {}); // the disk is full: what it took is given back
      await fs.rmdir(folder).catch(() => {}); // if nothing else is in it
      throw error;
    }
    // What others wrote at the same time goes as well: then they keep nothing.
    const left = (await fs.readdir(folder)).filter((name) => name.startsWith(`${part}.`) && kUnfinished.test(name));
    await Promise.all(left.map((name) => fs.rm(paths.join(folder, name), { force: true })));
  }
  /** The folder of a key, with its `url`: without one, nobody would know whose the parts are. */
  async function makeFolder(key: string): Promise<string> {
    const folder = folderOf(key);
    const url = new TextEncoder().encode(key);
    if (!(await readPart(folder, 'url'))?.equals(url)) {
      await fs.mkdir(folder, { recursive: true });
      await put(folder, 'url', url);
    }
    return folder;
  }
  return {
    async get(key, part) {
      const bytes = await readPart(folderOf(key), part);
      return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    },
    put: async (key, part, bytes) => put(await makeFolder(key), part, bytes),
    delete: (key) => fs.rm(folderOf(key), { recursive: true, force: true }),
    async clear() {
      for (const name of await fs.readdir(root).catch(() => [])) {
        const path = paths.join(root, name);
        const isOurs = /^[0-9a-f]{32}$/.test(name) || (/^[0-9a-f]{32}\.lock$/.test(name) && (await isStale(path)));
        if (isOurs) await fs.rm(path, { recursive: true, force: true });
      }
    },
    async keys() {
      const folders = await fs.readdir(root).catch(() => []);
      const urls = await Promise.all(folders.map((name) => readPart(paths.join(root, name), 'url').catch(() => undefined)));
      return urls.flatMap((url) => (url ? [url.toString()] : []));
    },
    async tryLock(key) {
      await fs.mkdir(root, { recursive: true });
      return tryLockFile(`${folderOf(key)}.lock`);
    },
    async settle() {
      const written = [...unsettled];
      unsettled.clear();
      await Promise.all(written.map((path) => syncPath(path, 'r+')));
      await Promise.all([root, ...new Set(written.map((path) => paths.dirname(path)))].map((folder) => syncPath(folder)));
    },
  };
}

export const platform: Platform = {
  openPlace: (place) => directorySource(pathOf(place), place),
  async readFileUrl(url) {
    try {
      return await fs.readFile(url);
    } catch (cause) {
      throw new NetworkError(`wasm: cannot read ${fileURLToPath(url)}: ${codeOf(cause)}`, url.href, undefined, { cause });
    }
  },
  hubToken,
  pythonCopy(id, revision, hub, offline) {
    const copy = pythonCopy(id, revision);
    if (!copy) return undefined;
    const { commit, folder, isAbsent } = copy;
    const files = directorySource(folder, id);
    const ask = (signal: AbortSignal) =>
      hub.head('config.json', signal).then(
        (head) => head?.commit,
        (error) => ((offline ||= error?.status === undefined) ? commit : null), // no network: what Python has, as Python does
      );
    let current: string | Promise<string | null | undefined> | undefined = offline || revision === commit ? commit : undefined; // a commit never changes
    return async (file, signal) => {
      current ??= ask(signal as AbortSignal); // one request for all files
      if ((await current) !== commit) return undefined;
      return (await files.open(file, signal as AbortSignal)) ?? (offline || isAbsent(file) ? null : undefined);
    };
  },
  folderHint: (name) =>
    fsSync.statSync(name, { throwIfNoEntry: false })?.isDirectory()
      ? `; there is a folder of this name, too: write './${name}' to load it`
      : '',
  ownFile,
  installed,
  // An optional peer dependency, named so that bundlers do not try to resolve it.
  jinja: () => fromInstalled(['@huggingface', 'jinja'].join('/')),
  store: (folder) => folderStore(folder ?? defaultCacheFolder()),
  async writeFiles(folder, files) {
    try {
      await fs.mkdir(pathOf(folder), { recursive: true });
      for (const [name, bytes] of files) await fs.writeFile(paths.join(pathOf(folder), insideModel(name)), bytes);
    } catch (cause) {
      throw new InputError(`save_pretrained: cannot write into ${folder}: ${codeOf(cause)}`, { cause });
    }
  },
  sha256() {
    const hash = nodeCrypto().createHash('sha256');
    return { update: (chunk) => void hash.update(chunk), hex: () => hash.digest('hex') };
  },
  base: () => pathToFileURL(`${process.cwd()}/`).href,
};
