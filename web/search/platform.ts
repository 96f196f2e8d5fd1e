// Stores of a page: the origin's private files, or IndexedDB. For Node, platform_node.ts takes this file's place.
import { InputError } from '../core/errors.js';
import { memoryStore, type SegmentStore } from './stores.js';

const kFolder = 'wattn';

type Kept = Pick<SegmentStore, 'list' | 'read' | 'write' | 'remove'>;

/** The storing itself, with what keeps tabs from writing at once and tells them of each other's writes. */
function shared(kind: string, name: string, kept: Kept): SegmentStore {
  const address = `wattn index ${kind} ${name}`;
  const channel = typeof BroadcastChannel === 'function' ? new BroadcastChannel(address) : undefined;
  let news = false;
  channel?.addEventListener('message', () => (news = true));
  const locks = globalThis.navigator?.locks as LockManager | undefined;
  return {
    kind,
    list: kept.list,
    read: kept.read,
    async write(segment, bytes) {
      await kept.write(segment, bytes);
      channel?.postMessage(segment);
    },
    async remove(segment) {
      await kept.remove(segment);
      channel?.postMessage(segment);
    },
    alone: async (run, signal) => (locks ? await locks.request(address, { signal }, run) : run()),
    hasNews() {
      const had = news;
      news = false;
      return had;
    },
    close: () => channel?.close(),
  };
}

const isMissing = (error: unknown) => (error as { name?: unknown })?.name === 'NotFoundError';

async function privateFiles(name: string): Promise<Kept> {
  const root = await navigator.storage.getDirectory();
  const folder = () =>
    root
      .getDirectoryHandle(kFolder, { create: true })
      .then((all) => all.getDirectoryHandle(encodeURIComponent(name), { create: true }));
  await folder();
  return {
    async list() {
      const names: string[] = [];
      for await (const each of (await folder()).keys()) if (!each.includes('.')) names.push(each); // Chromium writes to NAME.crswap first
      return names;
    },
    async read(segment) {
      try {
        const file = await (await (await folder()).getFileHandle(segment)).getFile();
        return new Uint8Array(await file.arrayBuffer());
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async write(segment, bytes) {
      const within = await folder();
      const handle = await within.getFileHandle(segment, { create: true });
      try {
        const writable = await handle.createWritable();
        await writable.write(bytes as Uint8Array<ArrayBuffer>);
        await writable.close(); // only now the file has the bytes
      } catch (error) {
        await within.removeEntry(segment).catch(() => {});
        throw error;
      }
    },
    remove: async (segment) =>
      (await folder()).removeEntry(segment).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      }),
  };
}

const kStore = 'segments';

const openDatabase = () =>
  new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open('wattn-index', 1);
    request.onupgradeneeded = () => void request.result.createObjectStore(kStore);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });

async function ask<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await openDatabase();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(kStore, mode);
      const request = act(transaction.objectStore(kStore));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error!); // a full disk, for one
    });
  } finally {
    database.close();
  }
}

/** Keys are [index, segment]. */
async function database(name: string): Promise<Kept> {
  await ask('readonly', (store) => store.count());
  return {
    list: async () =>
      (await ask('readonly', (store) => store.getAllKeys(IDBKeyRange.bound([name], [name, []])))).map(
        (key) => (key as string[])[1]!,
      ),
    read: (segment) => ask<Uint8Array | undefined>('readonly', (store) => store.get([name, segment])),
    write: async (segment, bytes) => void (await ask('readwrite', (store) => store.put(bytes, [name, segment]))),
    remove: async (segment) => void (await ask('readwrite', (store) => store.delete([name, segment]))),
  };
}

const kKinds: Record<string, (name: string) => Promise<Kept>> = { opfs: privateFiles, indexeddb: database };

const canWriteFiles = () =>
  typeof FileSystemFileHandle === 'function' && 'createWritable' in FileSystemFileHandle.prototype && 'storage' in navigator;

/** The store of an index. kind: see `IndexOptions.store`. */
export async function openStore(name: string, kind: string | undefined): Promise<SegmentStore> {
  if (kind === 'memory') return memoryStore();
  if (kind !== undefined && !Object.hasOwn(kKinds, kind)) {
    throw new InputError(`Index: option 'store': expected 'opfs', 'indexeddb' or 'memory', found '${kind}'`);
  }
  let cause: unknown;
  for (const each of kind ? [kind] : canWriteFiles() ? ['opfs', 'indexeddb'] : ['indexeddb']) {
    try {
      return shared(each, name, await kKinds[each]!(name));
    } catch (error) {
      cause ??= error;
    }
  }
  const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  throw new InputError(`Index: '${name}' cannot be kept: this page may not store data (${why}); use store: 'memory'`, { cause });
}
