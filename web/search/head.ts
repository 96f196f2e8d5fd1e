// The head of an index: which index its place holds, and the newest write that was reported. All segments up to it must be there. It is a lower
// bound: a write is stored before the head says so. There are two files, and the older one is written, so the other is there if that does not end.
//
//     8 bytes  'wattnhed'
//     uint32   version
//     uint32   0; 1: the index is deleted, and its segments are being removed
//     8 bytes  the index, as in the names of its segments
//     uint32   number of writes
//     uint32   0
//     32 bytes SHA-256 of the newest write, see `SegmentPlace`; zeros: no write
//     32 bytes SHA-256 of the 64 bytes before it
import { UnsupportedError } from '../core/errors.js';
import { sha256Of } from '../source/sha256.js';
import { Damage, fromHex, toHex } from './segments.js';
import type { SegmentStore } from './stores.js';

export interface Head {
  /** 16 hexadecimal digits. */
  index: string;
  deleted: boolean;
  /** Number of writes: the newest one has the number before it. */
  writes: number;
  /** SHA-256 of the newest write; empty: no write. */
  tip: string;
}

export const kHeadNames = ['head-0', 'head-1'] as const;
const kMagic = new TextEncoder().encode('wattnhed');
const kVersion = 1;
const kBytes = 96;
const kHashed = 64;

export async function encodeHead({ index, deleted, writes, tip }: Head): Promise<Uint8Array> {
  const out = new Uint8Array(kBytes);
  const view = new DataView(out.buffer);
  out.set(kMagic);
  view.setUint32(8, kVersion, true);
  view.setUint32(12, deleted ? 1 : 0, true);
  out.set(fromHex(index), 16);
  view.setUint32(24, writes, true);
  out.set(fromHex(tip), 32);
  out.set(fromHex(await sha256Of(out.subarray(0, kHashed))), kHashed);
  return out;
}

async function decodeHead(where: string, bytes: Uint8Array): Promise<Head | undefined> {
  if (bytes.length !== kBytes || (await sha256Of(bytes.subarray(0, kHashed))) !== toHex(bytes.subarray(kHashed))) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const version = view.getUint32(8, true);
  if (version > kVersion) {
    throw new UnsupportedError(
      `${where}: expected version ${kVersion} of its head, found ${version}: a later version of wattn wrote it`,
    );
  }
  const tip = toHex(bytes.subarray(32, kHashed));
  return {
    index: toHex(bytes.subarray(16, 24)),
    deleted: view.getUint32(12, true) !== 0,
    writes: view.getUint32(24, true),
    tip: /^0+$/.test(tip) ? '' : tip,
  };
}

const orderOf = (head: Head | undefined) => (head ? 2 * head.writes + (head.deleted ? 1 : 0) : -1);

export interface FoundHead {
  head: Head;
  /** The file that is to be written next, and whether it is there. */
  older: string;
  hasOlder: boolean;
  /** A file that is there and says nothing. */
  wrong: string | undefined;
}

/** The head in a store. where: for messages. Undefined: none, or its first write did not end. A `Damage`: neither file is sound. */
export async function readHead(where: string, store: Pick<SegmentStore, 'read'>): Promise<FoundHead | undefined> {
  const files = await Promise.all(kHeadNames.map((name) => store.read(name)));
  const heads = await Promise.all(files.map((bytes) => bytes && decodeHead(where, bytes)));
  const newest = orderOf(heads[0]) >= orderOf(heads[1]) ? 0 : 1;
  const head = heads[newest];
  if (!head) {
    if (files.every((bytes) => bytes === undefined || bytes.length < kBytes)) return undefined;
    throw new Damage('its SHA-256 does not match');
  }
  const wrong = kHeadNames.find((_, i) => files[i] && !heads[i]);
  return { head, older: kHeadNames[1 - newest]!, hasOlder: files[1 - newest] !== undefined, wrong };
}

/** Puts a head in the place of the older one. */
export async function writeHead(store: SegmentStore, { older, hasOlder }: FoundHead, head: Head): Promise<void> {
  const bytes = await encodeHead(head);
  if (hasOlder) await store.patch(older, bytes);
  else await store.add(older, bytes); // if another writer was faster, its head is as good
}

/** Makes the first head. False: there is one. */
export const beginHead = async (store: SegmentStore, head: Head): Promise<boolean> =>
  store.add(kHeadNames[0], await encodeHead(head));

/** Removes the head, the older file first: it must not be the one that counts. */
export async function removeHead(store: SegmentStore, found: FoundHead | undefined): Promise<void> {
  const first = found?.older ?? kHeadNames[0];
  await store.remove(first);
  for (const name of kHeadNames) if (name !== first) await store.remove(name);
}
