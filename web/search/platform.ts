// Stores of a page: the origin's private files, or IndexedDB. For Node, platform_node.ts takes this file's place.
import { InputError, StateError } from '../core/errors.js';
import { folderOf, indexOf } from './names.js';
import { isOwn } from './segment_log.js';
import { guarded, memoryStore, type SegmentStore } from './stores.js';

const kFolder = 'wattn';

type Kept = Pick<SegmentStore, 'list' | 'read' | 'add' | 'patch' | 'remove' | 'leave'>;

const locksOf = () => globalThis.navigator?.locks as LockManager | undefined;

/** The storing itself, with what keeps tabs from writing at once and tells them of each other's writes. */
function shared(kind: string, name: string, kept: Kept): SegmentStore {
  const address = `wattn index ${kind} ${name}`;
  const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel(address) : undefined;
  let news = false;
  channel?.addEventListener('message', () => (news = true));
  const locks = locksOf();
  const tell = (file: string) => channel?.postMessage(file);
  return {
    kind,
    list: kept.list,
    read: kept.read,
    async add(file, bytes) {
      const isNew = await kept.add(file, bytes);
      if (isNew) tell(file);
      return isNew;
    },
    patch: kept.patch,
    async remove(file) {
      await kept.remove(file);
      tell(file);
    },
    alone: async (run, signal) => (locks ? await locks.request(address, { signal }, run) : run()),
    hasNews() {
      const had = news || !channel;
      news = false;
      return had;
    },
    leave: kept.leave,
    close: () => channel?.close(),
  };
}

/** Undefined for what is not there. */
const missing = (error: unknown) => {
  if ((error as { name?: unknown })?.name === 'NotFoundError') return undefined;
  throw error;
};

const allFolders = async (create: boolean) => {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(kFolder, { create }).catch(missing);
};

async function privateFiles(name: string): Promise<Kept> {
  // It knows no way to make a file that must not be there. So the lock is what keeps two tabs from the same name: where there are private files,
  // there are locks, which end with their tab.
  if (!locksOf()) throw new InputError('navigator.locks is missing');
  const all = (create: boolean) => allFolders(create);
  const folder = async (create: boolean) => (await all(create))?.getDirectoryHandle(folderOf(name), { create }).catch(missing);
  await folder(false);
  const file = async (of: string) => (await folder(false))?.getFileHandle(of).catch(missing);
  const bytesOf = async (of: string) => {
    const found = await (await file(of))?.getFile().catch(missing);
    return found && new Uint8Array(await found.arrayBuffer());
  };
  const write = async (handle: FileSystemFileHandle, bytes: Uint8Array) => {
    const writable = await handle.createWritable();
    try {
      await writable.write(bytes as Uint8Array<ArrayBuffer>);
      await writable.close(); // only now the file has the bytes
    } catch (error) {
      await writable.abort().catch(() => {}); // else it keeps the file from all others
      throw error;
    }
  };
  return {
    async list() {
      const names: string[] = [];
      for await (const each of (await folder(false))?.keys() ?? []) names.push(each);
      return names;
    },
    read: bytesOf,
    async add(of, bytes) {
      if (await file(of)) return false;
      const within = (await folder(true))!;
      const handle = await within.getFileHandle(of, { create: true }); // empty, until the bytes take its place
      try {
        await write(handle, bytes);
      } catch (error) {
        await within.removeEntry(of).catch(() => {});
        throw error;
      }
      return true;
    },
    patch: async (of, bytes) => write(await (await folder(true))!.getFileHandle(of), bytes),
    remove: async (of) => void (await (await folder(false))?.removeEntry(of).catch(missing)),
    async leave() {
      await (await all(false))?.removeEntry(folderOf(name)).catch(() => {}); // only if it is empty
    },
  };
}

const kStore = 'segments';
/** In IndexedDB: that the index of this name is kept in private files, so that it is not begun anew when they cannot be read for once. */
const kElsewhere = 'opfs';

const openDatabase = () =>
  new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open('wattn-index', 1);
    request.onupgradeneeded = () => void request.result.createObjectStore(kStore);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });

/** act: what to ask for. A change is on the disk once this is done. */
async function ask<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await openDatabase();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(kStore, mode, { durability: 'strict' });
      const request = act(transaction.objectStore(kStore));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error!); // a full disk, for one
    });
  } finally {
    database.close();
  }
}

const allOf = (name: string) => IDBKeyRange.bound([name], [name, []]);

/** Keys are [index, file]. */
async function database(name: string): Promise<Kept> {
  await ask('readonly', (store) => store.count());
  const read = async (file: string) => {
    const bytes: unknown = await ask('readonly', (store) => store.get([name, file]));
    return bytes === undefined ? undefined : new Uint8Array(bytes as Uint8Array);
  };
  return {
    list: async () => (await ask('readonly', (store) => store.getAllKeys(allOf(name)))).map((key) => String((key as string[])[1])),
    read,
    async add(file, bytes) {
      try {
        await ask('readwrite', (store) => store.add(bytes, [name, file]));
        return true;
      } catch (error) {
        if ((error as { name?: unknown })?.name === 'ConstraintError') return false;
        throw error;
      }
    },
    patch: async (file, bytes) => void (await ask('readwrite', (store) => store.put(bytes, [name, file]))),
    remove: async (file) => void (await ask('readwrite', (store) => store.delete([name, file]))),
    leave: async () => {},
  };
}

const kKinds: Record<string, (name: string) => Promise<Kept>> = { opfs: privateFiles, indexeddb: database };

const canWriteFiles = () =>
  typeof FileSystemFileHandle === 'function' && 'createWritable' in FileSystemFileHandle.prototype && 'storage' in navigator;

const hasIndex = async (kept: Kept) => (await kept.list()).some(isOwn);

/** Where an index is that nobody says the place of: where it was begun, else private files if they can be written. */
async function findStore(name: string): Promise<[string, Kept]> {
  if (!canWriteFiles()) return ['indexeddb', await database(name)];
  let files: Kept | undefined;
  let cause: unknown;
  try {
    files = await privateFiles(name);
    if (await hasIndex(files)) return ['opfs', remembering(name, files)];
  } catch (error) {
    [cause, files] = [error, undefined];
  }
  let rows: Kept;
  try {
    rows = await database(name);
    if (await hasIndex(rows)) return ['indexeddb', rows];
    if (!files && (await rows.list()).includes(kElsewhere)) {
      throw new StateError(`Index: '${name}' is in the origin private file system, which cannot be read now (${said(cause)})`, {
        cause,
      });
    }
  } catch (error) {
    if (error instanceof StateError) throw error;
    if (!files) throw cause ?? error;
    return ['opfs', files];
  }
  return files ? ['opfs', remembering(name, files)] : ['indexeddb', rows];
}

/** Private files that leave a word in IndexedDB when the first file is made. A page without IndexedDB does without. */
function remembering(name: string, files: Kept): Kept {
  let isSaid = false;
  return {
    ...files,
    async add(file, bytes) {
      if (!isSaid) await ask('readwrite', (store) => store.put(new Uint8Array(), [name, kElsewhere])).catch(() => {});
      isSaid = true;
      return files.add(file, bytes);
    },
    async leave() {
      await ask('readwrite', (store) => store.delete([name, kElsewhere])).catch(() => {});
      isSaid = false;
      await files.leave();
    },
  };
}

const said = (cause: unknown) => (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause));

function checkKind(kind: string | undefined): void {
  if (kind === undefined || kind === 'memory' || Object.hasOwn(kKinds, kind)) return;
  throw new InputError(`Index: option 'store': expected 'opfs', 'indexeddb' or 'memory', found '${kind}'`);
}

/** The store of an index. kind: see `IndexOptions.store`. */
export async function openStore(name: string, kind: string | undefined): Promise<SegmentStore> {
  checkKind(kind);
  if (kind === 'memory') return memoryStore();
  try {
    const [found, kept] = kind ? ([kind, await kKinds[kind]!(name)] as const) : await findStore(name);
    return guarded(name, shared(found, name, kept));
  } catch (cause) {
    if (cause instanceof StateError) throw cause;
    throw new InputError(`Index: '${name}' cannot be kept: this page may not store data (${said(cause)}); use store: 'memory'`, {
      cause,
    });
  }
}

/** The names of the indexes that are kept somewhere. kind: default all. */
export async function listIndexes(kind: string | undefined): Promise<{ name: string; store: string }[]> {
  checkKind(kind);
  const found: { name: string; store: string }[] = [];
  if (kind === 'opfs' || (kind === undefined && canWriteFiles())) {
    const all = await allFolders(false).catch((error: unknown) => {
      if (kind) throw error;
      return undefined; // private mode
    });
    for await (const folder of all?.keys() ?? []) {
      const name = indexOf(folder);
      if (name !== undefined && (await hasIndex(await privateFiles(name)))) found.push({ name, store: 'opfs' });
    }
  }
  if (kind === 'indexeddb' || kind === undefined) {
    const keys = await ask('readonly', (store) => store.getAllKeys());
    const own = keys.filter((key) => isOwn(String((key as string[])[1])));
    for (const name of new Set(own.map((key) => (key as string[])[0]!))) found.push({ name, store: 'indexeddb' });
  }
  return found;
}
