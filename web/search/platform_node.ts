// The store of Node, used instead of platform.ts: a folder for each index, a file for each segment.
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InputError } from '../core/errors.js';
import { pause } from '../core/signal.js';
import { codeOf, tryLockFile } from '../source/platform_node.js';
import { memoryStore, type SegmentStore } from './stores.js';

const kPollMs = 50;

/** The store of an index. kind: see `IndexOptions.store`. */
export async function openStore(name: string, kind = '.'): Promise<SegmentStore> {
  if (kind === 'memory') return memoryStore();
  if (kind === 'opfs' || kind === 'indexeddb') {
    throw new InputError(`Index: option 'store': expected a folder's path or 'memory', found '${kind}', which only pages have`);
  }
  const folder = join(resolve(kind), encodeURIComponent(name));
  const missing = (error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  };
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new InputError(`Index: '${name}' cannot be kept in ${folder}: ${codeOf(cause)}`, { cause });
  }
  return {
    kind: folder,
    list: async () => ((await readdir(folder).catch(missing)) ?? []).filter((file) => !file.includes('.')),
    read: (segment) => readFile(join(folder, segment)).catch(missing),
    async write(segment, bytes) {
      const made = join(folder, `${segment}.${process.pid}`);
      try {
        const file = await open(made, 'w');
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(made, join(folder, segment)); // atomic
      } catch (error) {
        await rm(made, { force: true }).catch(() => {});
        throw error;
      }
    },
    remove: (segment) => rm(join(folder, segment), { force: true }),
    async alone(run, signal) {
      await mkdir(folder, { recursive: true });
      let release: (() => void) | undefined;
      while (!(release = await tryLockFile(join(folder, 'writer.lock')))) await pause(kPollMs, signal);
      try {
        return await run();
      } finally {
        release();
      }
    },
    hasNews: () => true, // asking for the list costs less than following the folder
    close: () => {},
  };
}
