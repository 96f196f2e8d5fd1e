// The platform of a page. Bundles for Node use platform_node.ts instead.
import type { Platform, PieceStore } from './source.js';
import { urlSource } from './fetch_source.js';
import { UnsupportedError } from '../core/errors.js';

/** A global that a sandboxed frame may not even read; undefined there. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The browser's Cache API. A part of a file is stored under the file's URL with the part as query. */
function browserStore(name: string): PieceStore {
  const urlOf = (key: string, part: string) => `${key}?wattn=${part}`;
  const keyOf = ({ url }: Request) => url.replace(/\?wattn=.*/, '');
  const requests = async () => (await caches.open(name)).keys();
  const locks = readable(() => globalThis.navigator?.locks);
  return {
    async get(key, part) {
      const found = await (await caches.open(name)).match(urlOf(key, part));
      return found && new Uint8Array(await found.arrayBuffer());
    },
    put: async (key, part, bytes) =>
      (await caches.open(name)).put(urlOf(key, part), new Response(bytes as Uint8Array<ArrayBuffer>)),
    async delete(key) {
      const store = await caches.open(name);
      for (const request of await store.keys()) if (keyOf(request) === key) await store.delete(request);
    },
    keys: async () => [...new Set((await requests()).map(keyOf))],
    clear: async () => void (await caches.delete(name)),
    tryLock: (key) =>
      new Promise((resolve, reject) => {
        if (!locks) return resolve(() => {});
        const hold = (lock: unknown) => (lock ? new Promise<void>((release) => resolve(release)) : resolve(undefined));
        return locks.request(`${name} ${key}`, { ifAvailable: true }, hold).catch(reject);
      }),
  };
}

export const platform: Platform = {
  openPlace(place, local, access) {
    const base = platform.base();
    if (base === undefined) throw new UnsupportedError(`'${place}' is relative to a page, and there is no page: pass a URL`);
    return urlSource(new URL(place, base), place, local, access);
  },
  ownFile(file, url) {
    try {
      return url();
    } catch (cause) {
      throw new UnsupportedError(`cannot locate ${file} from this script's URL; name a model and set env.wasm`, { cause });
    }
  },
  installed: (file) => readable(() => import.meta.resolve(file)), // by the page's import map
  store: (name = 'wattn') => (typeof readable(() => globalThis.caches) === 'object' ? browserStore(name) : undefined),
  base: () => globalThis.document?.baseURI ?? globalThis.location?.href,
};
