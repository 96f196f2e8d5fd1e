// The head of an index: which index its place holds, and the newest write that was reported. All segments up to it must be there. It is a lower
// bound: a write is stored before the head says so. Two slots are written in turn, so the one before is there if a write of the head does not end.
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
import { concat } from '../core/texts.js';
import { Damage, digest, fromHex, toHex } from './segments.js';

export interface Head {
  /** 16 hexadecimal digits. */
  index: string;
  deleted: boolean;
  /** Number of writes: the newest one has the number before it. */
  writes: number;
  /** SHA-256 of the newest write; empty: no write. */
  tip: string;
}

export const kHeadName = 'head';
export const kSlotBytes = 96;
const kMagic = new TextEncoder().encode('wattnhed');
const kVersion = 1;
const kHashed = 64;

/** A slot's bytes. It belongs at `slotAt(head)`. */
export async function encodeHead({ index, deleted, writes, tip }: Head): Promise<Uint8Array> {
  const out = new Uint8Array(kSlotBytes);
  const view = new DataView(out.buffer);
  out.set(kMagic);
  view.setUint32(8, kVersion, true);
  view.setUint32(12, deleted ? 1 : 0, true);
  out.set(fromHex(index), 16);
  view.setUint32(24, writes, true);
  out.set(fromHex(tip), 32);
  out.set(fromHex(await digest(out.subarray(0, kHashed))), kHashed);
  return out;
}

/** Where in the file it is written. A deletion counts as one more write, so that it leaves the newest slot as it is. */
export const slotAt = ({ writes, deleted }: Head): number => kSlotBytes * ((writes + (deleted ? 1 : 0)) % 2);

/** A whole file. */
export async function beginHead(head: Head): Promise<Uint8Array> {
  const slot = await encodeHead(head);
  const empty = new Uint8Array(kSlotBytes);
  return concat(Uint8Array, slotAt(head) === 0 ? [slot, empty] : [empty, slot]);
}

async function readSlot(where: string, bytes: Uint8Array): Promise<Head | undefined> {
  if (bytes.length < kSlotBytes || (await digest(bytes.subarray(0, kHashed))) !== toHex(bytes.subarray(kHashed))) return undefined;
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

/** The head in a file's bytes, and whether both slots are sound. Undefined: none, or its first write did not end. */
export async function readHead(where: string, bytes: Uint8Array | undefined): Promise<{ head: Head; whole: boolean } | undefined> {
  if (!bytes || bytes.length === 0) return undefined;
  const slots = [bytes.subarray(0, kSlotBytes), bytes.subarray(kSlotBytes, 2 * kSlotBytes)];
  const heads = await Promise.all(slots.map((slot) => readSlot(where, slot)));
  const [newest] = heads.filter((head) => head !== undefined).sort((a, b) => orderOf(b) - orderOf(a));
  if (!newest && bytes.length < 2 * kSlotBytes) return undefined;
  if (!newest) throw new Damage('its SHA-256 is another one');
  const isUnused = (slot: Uint8Array) => slot.length === kSlotBytes && slot.every((byte) => byte === 0);
  const whole = bytes.length === 2 * kSlotBytes && heads.every((head, i) => head !== undefined || isUnused(slots[i]!));
  return { head: newest, whole };
}

const orderOf = ({ writes, deleted }: Head) => 2 * writes + (deleted ? 1 : 0);
