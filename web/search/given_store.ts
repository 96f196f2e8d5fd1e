// Stores that a program gives to an index: one of its own, or what a platform binds (R2, a Durable Object's storage, KV).
import { checkAnswer } from '../core/answers.js';
import { describe, InputError, StateError, WattnError } from '../core/errors.js';
import { kvNames, kvStore } from './kv_store.js';
import { folderOf, indexOf } from './names.js';
import { listIndexes, openStore } from './platform.js';
import { isOwn } from './segment_log.js';
import { every, guarded, reason, type SegmentStore } from './stores.js';
import type { DurableStorageLike, GivenStore, IndexStore, KeyValueLike, ObjectBucketLike } from './types.js';

const kPrefix = 'wattn/';
/** How long writes of others may stay unseen: each question is a request, which costs time and maybe money. */
export const kNewsMs = 1000;
/** A Durable Object takes values of 128 KiB. */
const kPartBytes = 120_000;

const has = (store: object, ...names: string[]) => names.every((name) => typeof Reflect.get(store, name) === 'function');

/** An object store that can refuse to replace an object. */
const inBucket = (bucket: ObjectBucketLike): IndexStore => ({
  async list(prefix) {
    const keys: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await bucket.list({ prefix, ...(cursor && { cursor }) });
      keys.push(...page.objects.map(({ key }) => key));
      cursor = page.truncated ? page.cursor : undefined;
      if (!cursor) return keys;
    }
  },
  get: async (key) => (await bucket.get(key))?.arrayBuffer(),
  put: async (key, bytes, isNew) => (await bucket.put(key, bytes, isNew ? { onlyIf: { etagDoesNotMatch: '*' } } : {})) !== null,
  delete: (key) => bucket.delete(key),
});

/** Values are cut into parts; under the key itself is how many. */
function inDurableObject(storage: DurableStorageLike): IndexStore {
  const partOf = (key: string, i: number) => `${kPrefix.replace('/', '-parts/')}${key}/${i}`;
  const parts = (key: string, from: number, to: number) => Array.from({ length: to - from }, (_, i) => partOf(key, from + i));
  const countOf = async (key: string, of: Pick<DurableStorageLike, 'get'>) => Number((await of.get(key)) ?? 0);
  return {
    list: async (prefix) => [...(await storage.list({ prefix })).keys()],
    get: (key) =>
      storage.transaction(async (within) => {
        if ((await within.get(key)) === undefined) return undefined;
        const found = await Promise.all(parts(key, 0, await countOf(key, within)).map((part) => within.get(part)));
        return new Uint8Array(await new Blob(found as Uint8Array<ArrayBuffer>[]).arrayBuffer());
      }),
    put: (key, bytes, isNew) =>
      storage.transaction(async (within) => {
        if (isNew && (await within.get(key)) !== undefined) return false;
        const before = await countOf(key, within);
        const count = Math.ceil(bytes.length / kPartBytes);
        for (let i = 0; i < count; ++i) await within.put(partOf(key, i), bytes.slice(i * kPartBytes, (i + 1) * kPartBytes));
        for (const part of parts(key, count, before)) await within.delete(part);
        await within.put(key, count);
        return true;
      }),
    delete: (key) =>
      storage.transaction(async (within) => {
        for (const part of parts(key, 0, await countOf(key, within))) await within.delete(part);
        await within.delete(key);
      }),
  };
}

/** What a store of the caller's answers, checked. */
function own(store: IndexStore): IndexStore {
  const isKeys = (value: unknown) => Array.isArray(value) && value.every((key) => typeof key === 'string');
  const isBytes = (value: unknown) =>
    value === undefined || value === null || ArrayBuffer.isView(value) || Object.prototype.toString.call(value) === '[object ArrayBuffer]'; // prettier-ignore
  const where = (name: string) => `Index: option 'store': ${name}`;
  return {
    list: async (prefix) => checkAnswer(where('list'), await store.list(prefix), 'an array of keys', isKeys),
    get: async (key) => checkAnswer(where('get'), await store.get(key), 'bytes or undefined', isBytes),
    put: async (key, bytes, isNew) =>
      checkAnswer(where('put'), await store.put(key, bytes, isNew), 'true or false', (value) => typeof value === 'boolean'),
    delete: (key) => store.delete(key),
  };
}

/** A given store by its form. Undefined: KV, which has a form of its own. */
function byForm(store: object): { kind: string; keys: IndexStore | undefined } {
  if (has(store, 'getWithMetadata', 'get', 'put')) return { kind: 'KV', keys: undefined };
  if (has(store, 'createMultipartUpload', 'get', 'put')) return { kind: 'R2', keys: inBucket(store as ObjectBucketLike) };
  if (has(store, 'transaction', 'getAlarm', 'list'))
    return { kind: 'a Durable Object', keys: inDurableObject(store as DurableStorageLike) };
  if (has(store, 'list', 'get', 'put', 'delete')) return { kind: 'the given store', keys: own(store as IndexStore) };
  throw new InputError(`Index: option 'store': expected a string, or an object with list, get, put and delete, found ${describe(store)}`); // prettier-ignore
}

const toBytes = (value: Uint8Array | ArrayBuffer | null | undefined) =>
  value === null || value === undefined ? undefined : new Uint8Array(value as Uint8Array);

/** Each file of an index is the value of a key. `put` decides who was first, so nothing has to keep writers apart. */
function keyStore(name: string, kind: string, keys: IndexStore): SegmentStore {
  const prefix = `${kPrefix}${folderOf(name)}/`;
  return {
    kind,
    list: async () => (await keys.list(prefix)).map((key) => key.slice(prefix.length)),
    read: async (file) => toBytes(await keys.get(prefix + file)),
    add: (file, bytes) => keys.put(prefix + file, bytes, true),
    patch: async (file, bytes) => void (await keys.put(prefix + file, bytes, false)),
    remove: async (file) => void (await keys.delete(prefix + file)),
    alone: (run) => run(),
    hasNews: every(kNewsMs),
    leave: async () => {},
    close: () => {},
  };
}

const isName = (store: unknown): store is string | null | undefined =>
  store === undefined || store === null || typeof store === 'string';

/** The store of an index: where its name says, or the given one. */
export async function openGiven(name: string, store: string | GivenStore | null | undefined): Promise<SegmentStore> {
  if (isName(store)) return openStore(name, store ?? undefined);
  const { kind, keys } = byForm(Object(store));
  const key = `${kPrefix}${folderOf(name)}`;
  return guarded(name, keys ? keyStore(name, kind, keys) : kvStore(key, store as KeyValueLike));
}

/** The names of the indexes in a store. */
export async function listGiven(store: string | GivenStore | null | undefined): Promise<{ name: string; store: string }[]> {
  if (isName(store)) return listIndexes(store ?? undefined);
  const { kind, keys } = byForm(Object(store));
  const all = await (keys ? keys.list(kPrefix) : kvNames(kPrefix, store as KeyValueLike)).catch((cause: unknown) => {
    throw cause instanceof WattnError ? cause : new StateError(`Index.list: cannot list ${kind} (${reason(cause)})`, { cause });
  });
  const paths = all.map((key) => key.slice(kPrefix.length).split('/')).filter(([, file]) => !keys || isOwn(file ?? ''));
  const names = new Set(paths.map(([folder]) => indexOf(folder!)));
  return [...names].flatMap((name) => (name === undefined ? [] : { name, store: kind }));
}
