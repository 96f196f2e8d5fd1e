// The store of Node, used instead of platform.ts: a folder for each index, a file for each segment.
import { InputError } from '../core/errors.js';
import { pause } from '../core/signal.js';
import { fs, paths } from '../source/files_node.js';
import { codeOf, tryLockFile } from '../source/lock_file.js';
import { syncPath } from '../source/sync_path.js';
import { folderOf, indexOf } from './names.js';
import { isOwn } from './segment_log.js';
import { guarded, kLockName, memoryStore, type SegmentStore } from './stores.js';

const kPollMs = 20;

function rootOf(kind: string): string {
  if (kind !== 'opfs' && kind !== 'indexeddb') return paths.resolve(kind);
  throw new InputError(`Index: option 'store': expected a folder's path or 'memory', found '${kind}', which only pages have`);
}

/** Undefined for a file that is not there. */
const missing = (error: unknown) => {
  if (codeOf(error) === 'ENOENT') return undefined;
  throw error;
};

/** Makes a folder, and makes it stay. */
async function makeFolder(folder: string): Promise<void> {
  const first = await fs.mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; ; made = paths.dirname(made)) {
    await syncPath(paths.dirname(made));
    if (made === first || made === paths.dirname(made)) return;
  }
}

async function writeNew(path: string, bytes: Uint8Array): Promise<number> {
  const file = await fs.open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
    return (await file.stat()).ino;
  } finally {
    await file.close();
  }
}

/** Errors of `link` that are not about hard links. All others say that there are none here (FAT, some network folders, Android). */
const kNotOfLinks = ['EEXIST', 'ENOENT', 'ENOSPC', 'EDQUOT', 'EIO', 'EROFS'];

/** Writes under the very name, which must not be there. A reader knows by its length whether it is whole. */
async function addInPlace(path: string, bytes: Uint8Array): Promise<boolean> {
  let own: number;
  try {
    own = await writeNew(path, bytes);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    await fs.rm(path, { force: true }).catch(() => {});
    throw error;
  }
  return (await fs.stat(path).catch(missing))?.ino === own; // else another writer took it for one that was not ended
}

function folderStore(folder: string): SegmentStore {
  const at = (name: string) => paths.join(folder, name);
  return {
    kind: folder,
    list: async () => (await fs.readdir(folder).catch(missing)) ?? [],
    read: (name) => fs.readFile(at(name)).catch(missing),
    async add(name, bytes) {
      const aside = at(`${name}.${globalThis.crypto.randomUUID().replace(/-/g, '')}.part`);
      let isNew = true;
      try {
        await writeNew(aside, bytes);
        await fs.link(aside, at(name)); // fails if there is one
      } catch (error) {
        const code = codeOf(error);
        isNew = code !== 'EEXIST' && code !== 'ENOENT'; // ENOENT: swept by one who took this lock for a stale one
        if (isNew && (error as { syscall?: unknown }).syscall === 'link' && !kNotOfLinks.includes(code)) {
          isNew = await addInPlace(at(name), bytes);
        } else if (isNew) throw error;
      } finally {
        await fs.rm(aside, { force: true }).catch(() => {});
      }
      if (isNew) await syncPath(folder);
      return isNew;
    },
    async patch(name, bytes) {
      const file = await fs.open(at(name), 'r+');
      try {
        await file.write(bytes, 0, bytes.length, 0);
        await file.truncate(bytes.length); // one that was damaged may be longer
        await file.sync();
      } finally {
        await file.close();
      }
    },
    remove: (name) => fs.rm(at(name), { force: true }),
    async alone(run, signal) {
      let release: (() => void) | undefined;
      for (;;) {
        await makeFolder(folder);
        release = await tryLockFile(at(kLockName)).catch(missing); // another may have removed the empty folder
        if (release) break;
        await pause(kPollMs * (0.5 + Math.random()), signal);
      }
      try {
        return await run();
      } finally {
        release();
      }
    },
    hasNews: () => true, // asking for the list costs less than following the folder
    leave: () => fs.rmdir(folder).catch(() => {}), // only if it is empty
    close: () => {},
  };
}

/** The store of an index. kind: see `IndexOptions.store`. Makes nothing before something is written. */
export async function openStore(name: string, kind = '.'): Promise<SegmentStore> {
  if (kind === 'memory') return memoryStore();
  const folder = paths.join(rootOf(kind), folderOf(name));
  let files: string[];
  try {
    files = (await fs.readdir(folder).catch(missing)) ?? [];
  } catch (cause) {
    throw new InputError(`Index: '${name}' cannot be kept in ${folder}: ${codeOf(cause)}`, { cause });
  }
  const others = files.filter((file) => !file.startsWith('.'));
  if (others.length > 0 && !files.some(isOwn)) {
    throw new InputError(
      `Index: '${name}' cannot be kept in ${folder}: expected a folder of an index, found one with '${others[0]}'`,
    );
  }
  return guarded(name, folderStore(folder));
}

/** The names of the indexes that are kept somewhere. */
export async function listIndexes(kind = '.'): Promise<{ name: string; store: string }[]> {
  if (kind === 'memory') return [];
  const root = rootOf(kind);
  const found: { name: string; store: string }[] = [];
  for (const entry of (await fs.readdir(root, { withFileTypes: true }).catch(missing)) ?? []) {
    const name = entry.isDirectory() ? indexOf(entry.name) : undefined;
    if (name === undefined) continue;
    const folder = paths.join(root, entry.name);
    const files = await fs.readdir(folder).catch(() => []); // not ours to read
    if (files.some(isOwn)) found.push({ name, store: folder });
  }
  return found;
}
