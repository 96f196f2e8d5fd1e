// The segments of an index in a store: which of them count, in which order, and how small ones become one.
//
// A segment is named INDEX-FROM-TO-VERSION: the numbers of the writes that it holds. One that holds others' writes takes their place, so a tab
// that ends between writing it and removing them leaves nothing wrong.
import { ModelFormatError, StateError } from '../core/errors.js';
import { Damage, decodeSegments, type Segment } from './segments.js';
import type { SegmentStore } from './stores.js';

export interface SegmentName {
  index: string;
  from: number;
  to: number;
  version: number;
}

const kDigits = 8;
const kRetries = 5;

const digits = (n: number) => String(n).padStart(kDigits, '0');
export const textOf = ({ index, from, to, version }: SegmentName) => `${index}-${digits(from)}-${digits(to)}-${digits(version)}`;

function parseName(text: string): SegmentName | undefined {
  const parts = /^([0-9a-f]{16})-(\d{8})-(\d{8})-(\d{8})$/.exec(text);
  return parts ? { index: parts[1]!, from: Number(parts[2]), to: Number(parts[3]), version: Number(parts[4]) } : undefined;
}

export function newIndex(): string {
  return Array.from(globalThis.crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The segments that count, from the first write on without a gap, and those that do not. */
export function chainOf(names: readonly string[]): { chain: SegmentName[]; rest: SegmentName[] } {
  const all = names.flatMap((name) => parseName(name) ?? []);
  all.sort((a, b) => a.from - b.from || b.to - a.to || b.version - a.version);
  let best: SegmentName[] = [];
  for (const index of new Set(all.map((name) => name.index))) {
    const chain: SegmentName[] = [];
    let next = 0;
    for (const name of all) {
      if (name.index !== index || name.from !== next) continue;
      chain.push(name);
      next = name.to + 1;
    }
    if (chain.length > 0 && (best.length === 0 || chain.at(-1)!.to > best.at(-1)!.to)) best = chain;
  }
  return { chain: best, rest: all.filter((name) => !best.includes(name)) };
}

/** The segments whose writes another one holds. */
export function coveredBy(segment: SegmentName, names: readonly string[]): string[] {
  return names.filter((text) => {
    const name = parseName(text);
    return name?.index === segment.index && name.from >= segment.from && name.to <= segment.to && text !== textOf(segment);
  });
}

/** A segment that another tab made part of a larger one meanwhile. */
class Gone extends Error {}

/**
 * Reads the segments that follow a write. A damaged one is left out if others hold the same writes, or if it is the last: then its own write did not
 * end.
 */
export async function* readSegments(
  where: string,
  store: SegmentStore,
  since: (chain: readonly SegmentName[]) => number,
): AsyncGenerator<{ name: SegmentName; bytes: number; segment: Segment } | { chain: SegmentName[] }> {
  const damaged = new Set<string>();
  for (let tries = 0; ;) {
    const { chain, rest } = chainOf((await store.list()).filter((name) => !damaged.has(name)));
    const end = chain.at(-1)?.to ?? -1;
    const lost = rest.find(({ index, from }) => index === chain[0]?.index && from > end + 1);
    if (lost) throw new ModelFormatError(`${where}: its write ${end + 1} is missing, and later ones are there`);
    yield { chain };
    const from = since(chain);
    let name: SegmentName | undefined;
    try {
      for (name of chain) {
        if (name.to < from) continue;
        const bytes = await store.read(textOf(name));
        if (!bytes) throw new Gone();
        if (bytes.length === 0) throw new Damage('it is empty');
        for await (const segment of decodeSegments(where, bytes)) yield { name, bytes: bytes.length, segment };
      }
      return;
    } catch (error) {
      if (error instanceof Damage && name) {
        damaged.add(textOf(name));
        const others = chainOf((await store.list()).filter((text) => !damaged.has(text))).chain.at(-1)?.to ?? -1;
        if (others >= name.to || name.to === end) continue;
        throw new ModelFormatError(`${where}: its segment ${textOf(name)} is damaged: ${error.message}`, { cause: error });
      }
      if (!(error instanceof Gone)) throw error;
      if (++tries > kRetries) throw new StateError(`${where}: cannot be read, because it is written all the time`);
    }
  }
}

/** A segment that counts, and what is known of it. */
export interface Kept extends SegmentName {
  bytes: number;
  /** Documents when it was written. */
  documents: number;
  deleted: string[];
}

const kMany = 8;
const kSmallBytes = 1 << 16;
const kMostBytes = 32 << 20;

/**
 * Which segments should become one: [begin, end), or none. The newest ones do when they are many, with those before them that are no larger than
 * they together, so that each byte is written again a few times at most. Others do when most of their documents are gone.
 */
export function toMerge(kept: readonly Kept[], living: (segment: Kept) => number): [number, number] | undefined {
  let sum = 0;
  let begin = kept.length;
  while (begin > 0) {
    const { bytes } = kept[begin - 1]!;
    if (begin < kept.length && (bytes > Math.max(sum, kSmallBytes) || sum + bytes > kMostBytes)) break;
    sum += bytes;
    --begin;
  }
  if (kept.length - begin >= kMany) return [begin, kept.length];
  const hollow = kept.findIndex((segment) => segment.bytes > kSmallBytes && 2 * living(segment) < segment.documents);
  return hollow < 0 ? undefined : [hollow, hollow + 1];
}
