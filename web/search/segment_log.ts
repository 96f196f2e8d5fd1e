// The segments of an index in a store: which of them count, how a write is added to them, and how small ones become one.
//
// A segment is named INDEX-FROM-TO-VERSION: the numbers of the writes that it holds. One that holds others' writes takes their place. Who adds a
// write claims its number by making a file that must not be there, so two writers never have the same one, whatever became of their lock. A number
// is free again once its write is part of a larger segment. So the writer looks once more, and if another segment holds that number, writes
// again with the next one. To write twice is harmless: it says what documents are, not what changes.
//
// Reading several segments that overlap is harmless for the same reason.
import { ModelFormatError, StateError } from '../core/errors.js';
import type { Contents } from './contents.js';
import { beginHead, kHeadNames, readHead, removeHead, writeHead, type FoundHead, type Head } from './head.js';
import { Damage, decodeSegment, encodeSegment, toHex, type DecodedSegment, type Segment } from './segments.js';
import { kLockName, type SegmentStore } from './stores.js';
import { pause } from '../core/signal.js';

export interface SegmentName {
  index: string;
  from: number;
  to: number;
  version: number;
}

/** A segment that counts, and what is known of it. */
interface Kept extends SegmentName {
  bytes: number;
  /** Documents when it was written. */
  documents: number;
  deleted: string[];
  /** SHA-256 of its last write. */
  tip: string;
  /** Whether this very file was read or written here, not only its parts. */
  isSeen: boolean;
}

const kDigits = 8;
const kTries = 50;
const kClaimMs = 2000;
const kPollMs = 50;

const digits = (n: number) => String(n).padStart(kDigits, '0');
export const textOf = ({ index, from, to, version }: SegmentName) => `${index}-${digits(from)}-${digits(to)}-${digits(version)}`;

export function parseName(text: string): SegmentName | undefined {
  const parts = /^([0-9a-f]{16})-(\d{8,10})-(\d{8,10})-(\d{8,10})$/.exec(text);
  if (!parts) return undefined;
  const name = { index: parts[1]!, from: Number(parts[2]), to: Number(parts[3]), version: Number(parts[4]) };
  return name.from <= name.to ? name : undefined;
}

const isHead = (text: string) => (kHeadNames as readonly string[]).includes(text);

/** What a writer that ended early leaves: a file from which another was to be made, or a lock that it took away. */
export function isLeftOver(text: string): boolean {
  const [, name = '', end = ''] = /^(writer\.lock|[^.]*)\.(.*)$/.exec(text) ?? [];
  return (isHead(name) || name === kLockName || parseName(name) !== undefined) && /^(\d+|[0-9a-f]{32}(\.part)?)$/.test(end);
}

/** Whether a file is of an index. */
export const isOwn = (text: string): boolean =>
  isHead(text) || text === kLockName || parseName(text) !== undefined || isLeftOver(text);

export function newIndex(): string {
  return toHex(globalThis.crypto.getRandomValues(new Uint8Array(8)));
}

const namesOf = (files: readonly string[]) => files.flatMap((file) => parseName(file) ?? []);

/** The fewest segments of an index that hold its writes from the first on without a gap. */
export function chainOf(names: readonly SegmentName[], index: string): SegmentName[] {
  const own = names.filter((name) => name.index === index);
  const chain: SegmentName[] = [];
  for (let next = 0; ; next = chain.at(-1)!.to + 1) {
    const fits = own.filter(({ from, to }) => from <= next && to >= next);
    fits.sort((a, b) => b.to - a.to || b.version - a.version || a.from - b.from);
    if (!fits[0]) return chain;
    chain.push(fits[0]);
  }
}

/** The index with the most writes, where no head says which one counts. */
function longest(names: readonly SegmentName[]): string | undefined {
  let best: { index: string; end: number } | undefined;
  for (const index of new Set(names.map((name) => name.index))) {
    const end = chainOf(names, index).at(-1)?.to ?? -1;
    if (end >= 0 && (!best || end > best.end)) best = { index, end };
  }
  return best?.index;
}

/** Whether a segment holds all writes of another one, or the same later. */
export function covers(larger: SegmentName, name: SegmentName): boolean {
  if (larger.index !== name.index || larger.from > name.from || larger.to < name.to) return false;
  return larger.from < name.from || larger.to > name.to || larger.version > name.version;
}

const kMany = 8;
const kSmallBytes = 1 << 16;
const kMostBytes = 32 << 20;

/**
 * Which segments should become one: [begin, end), or none. The newest ones do when they are many, with those before them that are no larger than
 * they together. So each byte is written again a few times at most. Others do when most of their documents are gone.
 */
function toMerge(kept: readonly Kept[], living: (segment: Kept) => number): [number, number] | undefined {
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

/** What a reader learns: the index is another one, some segments became one, or documents came and went. */
export type LogEvent = { begins: true } | { joined: { from: number; to: number } } | { segment: DecodedSegment; at: number };

/** What lies in the store at one moment. */
interface Listing {
  files: string[];
  names: SegmentName[];
  head: Head | undefined;
  index: string | undefined;
  chain: SegmentName[];
}

export class SegmentLog {
  private readonly kept: Kept[] = [];
  private id: string | undefined;
  private head: Head | undefined;
  private files: string[] = [];
  /** The files when all of them had been read, as a text. Whatever another writer does changes their names. */
  private known: string | undefined;

  /** where: for messages. */
  constructor(
    private readonly where: string,
    private readonly store: SegmentStore,
  ) {}

  /** Bytes of what counts. */
  get bytes(): number {
    return this.kept.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private get end(): number {
    return (this.kept.at(-1)?.to ?? -1) + 1;
  }

  private wrong(what: string, cause?: unknown): ModelFormatError {
    return new ModelFormatError(`${this.where}: ${what}; Index.check reports details, Index.repair keeps what is intact`, {
      cause,
    });
  }

  private async readHead(): Promise<FoundHead | undefined> {
    try {
      return await readHead(this.where, this.store);
    } catch (error) {
      if (error instanceof Damage) throw this.wrong(`its head is damaged: ${error.message}`, error);
      throw error;
    }
  }

  /** damaged: files that do not count. */
  private async list(damaged: ReadonlySet<string>): Promise<Listing> {
    // The head first: what is written after it was read may be there, what was written before must.
    const head = (await this.readHead())?.head;
    const files = await this.store.list();
    const names = namesOf(files).filter((name) => !damaged.has(textOf(name)));
    const index = head ? (head.deleted ? undefined : head.index) : longest(names);
    return { files, names, head, index, chain: index === undefined ? [] : chainOf(names, index) };
  }

  /** Why what lies there is not whole; undefined: it is, as far as names tell. */
  private faultOf({ names, head, index, chain }: Listing): string | undefined {
    if (index === undefined) return head || names.length === 0 ? undefined : 'its write 0 is missing, and others are there';
    const end = (chain.at(-1)?.to ?? -1) + 1;
    const later = names.find((name) => name.index === index && name.from > end);
    if (later) return `its write ${end} is missing, and segment ${textOf(later)} is there`;
    if (head && head.writes > end) return `its write ${end} is missing, and its head says that there are ${head.writes}`;
    const foreign = names.find((name) => name.index !== index);
    return foreign && `segment ${textOf(foreign)} belongs to another index`;
  }

  /**
   * Reads what was written since the last time. A damaged segment is no matter if others hold the same writes. The last one does not count if its
   * write did not end: it is cut, and no head says that it was stored (empty, where there is no head).
   */
  async *read(): AsyncGenerator<LogEvent> {
    if (this.known !== undefined && this.known === String(await this.store.list())) return;
    this.known = undefined;
    const damaged = new Set<string>();
    let last = '';
    for (let tries = 0; ; ++tries) {
      const listing = await this.list(damaged);
      const state = JSON.stringify([listing.files, listing.head]);
      const isSame = state === last; // else files came and went while they were listed
      last = state;
      const fault = this.faultOf(listing);
      if (fault && isSame) throw this.wrong(fault);
      if (!fault) {
        try {
          yield* this.follow(listing);
          if (damaged.size === 0) this.known = String(listing.files);
          return;
        } catch (error) {
          if (error instanceof Gone) {
            if (isSame && tries > kTries) throw new StateError(`${this.where}: cannot be read, because writers keep changing it`);
          } else if (error instanceof DamagedSegment) {
            if (isSame || !this.isLoss(listing, error)) damaged.add(textOf(error.segment));
            if (isSame && this.isLoss(listing, error)) throw this.wrong(error.message, error.cause);
          } else {
            throw error;
          }
        }
      }
      if (tries > 2 * kTries) throw new StateError(`${this.where}: cannot be read, because writers keep changing it`);
    }
  }

  /** Whether leaving a damaged segment out leaves anything out that was stored. */
  private isLoss({ names, head, chain }: Listing, { segment: name, damage }: DamagedSegment): boolean {
    const rest = chainOf(
      names.filter((each) => textOf(each) !== textOf(name)),
      name.index,
    );
    const end = chain.at(-1)!.to;
    if ((rest.at(-1)?.to ?? -1) >= end) return false;
    const restEnd = (rest.at(-1)?.to ?? -1) + 1;
    const isUnfinished = head ? damage.cutAt !== undefined && name.to >= head.writes : damage.cutAt === 0;
    return !isUnfinished || name.to !== end || restEnd !== name.from;
  }

  /** Takes in what a listing has and this log has not. */
  private async *follow({ files, head, index, chain }: Listing): AsyncGenerator<LogEvent> {
    const adopted = index !== undefined && index === this.id ? this.adopted(chain) : undefined;
    if (adopted) {
      for (const joined of adopted.joined) yield { joined };
      this.kept.splice(0, this.kept.length, ...adopted.kept);
    } else if (this.id !== undefined || this.kept.length > 0) {
      yield { begins: true };
      this.kept.length = 0;
    }
    this.id = index;
    this.head = head;
    this.files = files;
    for (const name of chain) {
      if (name.to < this.end) continue;
      const { segment, bytes } = await this.segment(name);
      if (segment.version > 1 && !head) throw new DamagedSegment(name, new Damage('the head of its index is missing'));
      yield { segment, at: name.to };
      const { deleted, documents, tip } = segment;
      this.kept.push({ ...name, bytes, documents: documents.length, deleted, tip, isSeen: true });
    }
    const newest = head && !head.deleted && this.kept.find(({ to }) => to === head.writes - 1);
    if (newest && newest.tip && head.tip && newest.tip !== head.tip)
      throw new DamagedSegment(newest, new Damage('its head names another write'));
  }

  private async segment(name: SegmentName): Promise<{ segment: DecodedSegment; bytes: number }> {
    const text = textOf(name);
    const bytes = await this.store.read(text);
    if (!bytes) throw new Gone();
    try {
      const segment = await decodeSegment(`${this.where}: segment ${text}`, bytes);
      const before = this.kept.at(-1);
      if (segment.version > 1 && segment.name !== text) throw new Damage(`it says that it is ${segment.name ?? 'part of a file'}`);
      if (segment.before && before?.tip && before.to === name.from - 1 && segment.before !== before.tip)
        throw new Damage('it does not follow the write before it');
      return { segment, bytes: bytes.length };
    } catch (error) {
      if (error instanceof Damage) throw new DamagedSegment(name, error);
      throw error;
    }
  }

  /** The segments that are known, under the names that they have now. Undefined: they were cut otherwise, and must be read again. */
  private adopted(chain: readonly SegmentName[]): { kept: Kept[]; joined: { from: number; to: number }[] } | undefined {
    const kept: Kept[] = [];
    const joined: { from: number; to: number }[] = [];
    let at = 0;
    for (const name of chain) {
      if (at === this.kept.length) break;
      const begin = at;
      while (at < this.kept.length && this.kept[at]!.to < name.to) ++at;
      const last = this.kept[at++];
      if (!last || last.to !== name.to || this.kept[begin]!.from !== name.from) return undefined;
      const parts = this.kept.slice(begin, at);
      const sum = (value: (part: Kept) => number) => parts.reduce((all, part) => all + value(part), 0);
      kept.push({
        ...name,
        bytes: sum(({ bytes }) => bytes),
        documents: sum(({ documents }) => documents),
        deleted: parts.flatMap(({ deleted }) => deleted),
        tip: last.tip,
        isSeen: parts.length === 1 && last.isSeen && last.version === name.version,
      });
      if (parts.length > 1) joined.push({ from: name.from, to: name.to });
    }
    return at === this.kept.length ? { kept, joined } : undefined;
  }

  /** Adds a write. Undefined: another writer was faster, so what it wrote has to be read first. Called after `read`, while no one else writes. */
  async append(segment: Segment): Promise<number | undefined> {
    await this.sweep();
    if (!(await this.begin())) return undefined;
    const number = this.end;
    const name = { index: this.id!, from: number, to: number, version: 0 };
    const text = textOf(name);
    const { bytes, tip } = await encodeSegment(segment, { name: text, before: this.kept.at(-1)?.tip ?? '' });
    if (!(await this.store.add(text, bytes))) {
      await this.clearClaim(text);
      return undefined;
    }
    const names = namesOf(await this.store.list());
    if (names.some((each) => covers(each, name)) || !names.some((each) => textOf(each) === text)) {
      await this.store.remove(text);
      return undefined;
    }
    if (!(await this.setHead({ index: name.index, deleted: false, writes: number + 1, tip }))) return undefined;
    const { documents, deleted } = segment;
    this.kept.push({ ...name, bytes: bytes.length, documents: documents.length, deleted, tip, isSeen: true });
    return number;
  }

  /** Makes the head, if there is none: of a new index, or of one that an earlier version began. False: another writer did. */
  private async begin(): Promise<boolean> {
    if (this.head && !this.head.deleted) return true;
    if (this.head) await this.destroy(); // another ended before it was done
    const head = { index: this.id ?? newIndex(), deleted: false, writes: this.end, tip: this.kept.at(-1)?.tip ?? '' };
    if (!(await beginHead(this.store, head))) {
      if (!(await this.readHead())) await removeHead(this.store, undefined); // its write did not end
      return false;
    }
    this.head = head;
    this.id = head.index;
    return true;
  }

  /** Says what the newest write is. False: the index is deleted, or another one. */
  private async setHead(head: Head): Promise<boolean> {
    const found = await this.readHead();
    if (!found || found.head.deleted || found.head.index !== head.index) return false;
    if (found.head.writes < head.writes) await writeHead(this.store, found, head);
    this.head = head;
    return true;
  }

  /** A number that is taken. If nothing whole comes of it, its writer has ended, and the number is free again. */
  private async clearClaim(text: string): Promise<void> {
    for (const begin = performance.now(); ; await pause(kPollMs, undefined)) {
      const bytes = await this.store.read(text);
      if (!bytes) return;
      try {
        await decodeSegment(this.where, bytes);
        return;
      } catch (error) {
        if (!(error instanceof Damage) || error.cutAt === undefined) return; // reading says what it is
      }
      if (performance.now() - begin < kClaimMs) continue;
      await this.store.remove(text);
      return;
    }
  }

  /** Removes what writers that ended early left, and segments whose writes are in one that was seen whole. */
  private async sweep(): Promise<void> {
    const seen = this.kept.filter(({ isSeen }) => isSeen);
    const isOver = (file: string) => {
      const name = parseName(file);
      return name ? seen.some((larger) => covers(larger, name)) : isLeftOver(file);
    };
    this.known = undefined;
    for (const file of this.files.filter(isOver).sort()) await this.store.remove(file);
    this.files = [];
  }

  /** Makes one segment of several, if that is time. */
  async merge(contents: Contents): Promise<void> {
    const { kept } = this;
    const range = toMerge(kept, ({ to }) => contents.livingIn(to));
    if (!range) return;
    const old = kept.slice(...range);
    const [from, { to, tip }] = [old[0]!.from, old.at(-1)!];
    const entries = contents.writtenIn(from, to);
    const deleted = from === 0 ? [] : [...new Set(old.flatMap((segment) => segment.deleted))];
    const files = await this.store.list();
    const alike = namesOf(files).filter((name) => name.index === this.id && name.from === from && name.to === to);
    const version = 1 + Math.max(...[...old, ...alike].map((segment) => segment.version));
    const name = { index: this.id!, from, to, version };
    const before = range[0] === 0 ? '' : kept[range[0] - 1]!.tip;
    const words = this.store.forgets ? undefined : await contents.storedWords(entries);
    const segment = { ...(await contents.segment(entries, deleted)), words };
    const { bytes } = await encodeSegment(segment, { name: textOf(name), before, tip });
    if (!(await this.store.add(textOf(name), bytes))) return; // another one did
    contents.join(from, to);
    kept.splice(range[0], old.length, { ...name, bytes: bytes.length, documents: entries.length, deleted, tip, isSeen: true });
    // From the first on: what is free again may be claimed only when all before it is gone.
    const covered = namesOf(files).filter((each) => covers(name, each));
    for (const each of covered.map(textOf).sort()) await this.store.remove(each);
  }

  /** Removes all files. Called while no one else writes. */
  async destroy(): Promise<void> {
    this.known = undefined;
    let found: FoundHead | undefined;
    try {
      found = await readHead(this.where, this.store);
    } catch (error) {
      if (!(error instanceof Damage)) throw error; // damage goes with the rest
    }
    if (found && !found.head.deleted) {
      await writeHead(this.store, found, { ...found.head, deleted: true });
      found = await readHead(this.where, this.store);
    }
    // The first write first: without it, the others are an index no longer.
    const own = (await this.store.list()).filter((file) => isOwn(file) && !isHead(file) && file !== kLockName);
    for (const file of own.sort()) await this.store.remove(file);
    await removeHead(this.store, found);
    this.kept.length = 0;
    this.id = this.head = undefined;
  }
}

/** A segment that another tab made part of a larger one meanwhile. */
class Gone extends Error {}

class DamagedSegment extends Error {
  constructor(
    readonly segment: SegmentName,
    readonly damage: Damage,
  ) {
    super(`segment ${textOf(segment)} is damaged: ${damage.message}`, { cause: damage });
  }
}
