// An index in a store of values such as Cloudflare's KV. It has no way to make a value only if there is none, and shows a write elsewhere only after
// a while. All files are one value: a reader sees them as they were at one moment. One program writes at a time.
import { ModelFormatError, StateError } from '../core/errors.js';
import { concat } from '../core/texts.js';
import { every, reason, type SegmentStore } from './stores.js';
import type { KeyValueLike } from './types.js';

const kNewsMs = 60_000; // KV itself keeps what was read for that long

type Files = Map<string, Uint8Array>;

/** A value: its files after so many writes. */
interface Value {
  writes: number;
  files: Files;
}

/** uint32 length of the list, the list as JSON (the number of writes; [name, bytes] each), the bytes of the files. */
function pack({ writes, files }: Value): Uint8Array {
  const all = [...files].map(([name, bytes]) => [name, bytes.length]);
  const list = new TextEncoder().encode(JSON.stringify([writes, ...all]));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, list.length, true);
  return concat(Uint8Array, [length, list, ...files.values()]);
}

function unpack(key: string, packed: Uint8Array): Value {
  try {
    let at = 4 + new DataView(packed.buffer, packed.byteOffset).getUint32(0, true);
    const [writes, ...list] = JSON.parse(new TextDecoder().decode(packed.subarray(4, at))) as [number, ...[string, number][]];
    const files: Files = new Map();
    for (const [name, length] of list) files.set(String(name), packed.slice(at, (at += length)));
    if (at !== packed.length) throw new RangeError(`expected ${at} bytes, found ${packed.length}`);
    return { writes, files };
  } catch (cause) {
    throw new ModelFormatError(`Index: the value of ${key} in KV is damaged`, { cause });
  }
}

export function kvStore(key: string, values: KeyValueLike): SegmentStore {
  /** As it was last read, and what was changed since. */
  let value: Value | undefined;
  /** The newest that was written from here, and when: for a while, KV may still give what was there before. */
  let newest: Value = { writes: -1, files: new Map() };
  let writtenAt = -Infinity;
  let isWriting = false;
  let isChanged = false;
  async function read(): Promise<Value> {
    const packed = await values.get(key, 'arrayBuffer');
    const found = packed ? unpack(key, new Uint8Array(packed)) : { writes: 0, files: new Map<string, Uint8Array>() };
    const isOld = Date.now() - writtenAt < kNewsMs && found.writes < newest.writes;
    const { writes, files } = isOld ? newest : found;
    return (value = { writes, files: new Map(files) });
  }
  const known = async () => (value ?? (await read())).files;
  async function write(): Promise<void> {
    if (!isChanged) return;
    const { writes, files } = value!;
    const next = { writes: writes + 1, files };
    try {
      await (files.size > 0 ? values.put(key, pack(next)) : values.delete(key));
    } catch (cause) {
      throw new StateError(`Index: ${key} cannot be stored in KV (${reason(cause)}); stored data is unchanged`, { cause });
    }
    newest = next;
    writtenAt = Date.now();
    isChanged = false;
  }
  async function change(by: (files: Files) => void): Promise<void> {
    by(await known());
    isChanged = true;
    if (!isWriting) await write();
  }
  return {
    kind: 'KV',
    list: async () => [...(isWriting ? await known() : (await read()).files).keys()],
    read: async (name) => (await known()).get(name)?.slice(),
    async add(name, bytes) {
      if ((await known()).has(name)) return false;
      await change((all) => all.set(name, bytes.slice()));
      return true;
    },
    patch: (name, bytes) => change((all) => all.set(name, bytes.slice())),
    remove: (name) => change((all) => all.delete(name)),
    /** What a write changes is stored at its end, in one piece. */
    async alone(run) {
      await read();
      isWriting = true;
      try {
        const result = await run();
        await write();
        return result;
      } finally {
        isWriting = isChanged = false;
        value = undefined;
      }
    },
    hasNews: every(kNewsMs),
    leave: async () => {},
    close: () => {},
  };
}

/** Keys that begin with a prefix. */
export async function kvNames(prefix: string, values: KeyValueLike): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await values.list({ prefix, ...(cursor && { cursor }) });
    names.push(...page.keys.map(({ name }) => name));
    cursor = page.list_complete ? undefined : page.cursor;
    if (!cursor) return names;
  }
}
