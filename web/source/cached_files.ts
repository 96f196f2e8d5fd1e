// What the cache of downloads has: listed and deleted.
import { InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { isWeights, storeOf } from './cache.js';
import { fileKey, isWhole, kPieceBytes, readEntry, type Entry } from './cache_entries.js';
import { hubSource } from './fetch_source.js';
import type { PieceStore } from './source.js';
import type { CachedFile, SourceOptions } from './types.js';

type CacheOptions = Pick<SourceOptions, 'cache_dir' | 'revision'>;

async function entriesOf(
  where: string,
  model: string | undefined,
  options: CacheOptions,
): Promise<{ store: PieceStore; keys: string[]; found: [string, Entry][] }> {
  options = readOptions(where, options, { cache_dir: 'string', revision: 'string' });
  const store = storeOf(options);
  const unavailable = (cause?: unknown) =>
    new InputError('cache: not available (env.useCache is false, or this page may not store data)', { cause });
  if (!store) throw unavailable();
  const prefix = model === undefined ? '' : hubSource(model, options, {}).place('x').slice(0, -1); // the folder of any file
  const keys = (await store.keys().catch((cause: unknown) => Promise.reject(unavailable(cause)))).filter((key) =>
    key.startsWith(prefix),
  );
  const entries = await Promise.all(keys.map(async (key) => [key, await readEntry(store, key)] as const));
  return { store, keys, found: entries.filter((pair): pair is [string, Entry] => pair[1] !== undefined) };
}

/** Manages the cache of downloads from the Hub. Options: `cache_dir` and `revision`, as for loading. */
export const cache = {
  /** Lists all cached files, or those of a Hub id. */
  async list(model?: string, options: CacheOptions = {}): Promise<CachedFile[]> {
    const { found } = await entriesOf('cache.list', model, options);
    return found
      .filter(([, entry]) => !entry.missing && (entry.accepted || !entry.copy))
      .map(([key, entry]) => ({
        model: entry.model,
        file: entry.file,
        url: fileKey(key),
        ...(entry.copy && { dtype: entry.copy.dtype }),
        bytes: entry.size ?? entry.pieces.length * kPieceBytes,
        complete: isWhole(entry) && entry.accepted === true,
      }));
  },

  /** Whether a Hub id can be loaded offline: its weights are cached, no file is incomplete, and an earlier load accepted them. */
  async has(model: string, options: CacheOptions = {}): Promise<boolean> {
    options = readOptions('cache.has', options, { cache_dir: 'string', revision: 'string' });
    const files = await cache.list(model, options);
    return files.every(({ complete }) => complete) && files.some(({ file }) => isWeights(file));
  },

  /** Deletes all cached files, or those of a Hub id. Returns how many there were. */
  async delete(model?: string, options: CacheOptions = {}): Promise<number> {
    const { store, keys, found } = await entriesOf('cache.delete', model, options);
    for (const key of keys) await store.delete(key); // also those whose entry cannot be read
    // A copy that was completed meanwhile (held_copy.ts); one that comes later finds its file gone.
    for (const key of (await entriesOf('cache.delete', model, options)).keys) await store.delete(key);
    if (model === undefined) await store.clear();
    return found.filter(([, entry]) => !entry.missing).length;
  },
};
