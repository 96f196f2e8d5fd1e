// The form in which an index is stored: segments, each the documents that came or went in one write, or in several that became one. Applied in
// order they make the index. An exported file holds segments one after another.
//
//     8 bytes  'wattnidx'
//     uint32   version, little endian like all numbers
//     uint32   bytes of the head
//     32 bytes SHA-256 of the 16 bytes before it and of the head (so of 'wattnidx' and 3, whatever a damaged file begins with)
//     head     JSON of SegmentHead, with a SHA-256 for each block of the rest
//     body     a line of JSON for each document, then one for each deleted id, then the rows of all documents in order as VectorRows stores them, then
//              their words (stored_words.ts), if the head says so
//
// Earlier versions are still read. Version 2 has no words. Version 1 has one SHA-256, of all that follows its first 56 bytes. It is 'wattnidx', the version,
// the bytes of its JSON and of its vectors, 0, the SHA-256, one JSON of { model, documents, deleted }, vectors.
import { ModelFormatError, UnsupportedError } from '../core/errors.js';
import { isShallow } from '../core/json.js';
import { Breather } from '../core/signal.js';
import { concat } from '../core/texts.js';
import { sha256Of } from '../source/sha256.js';
import {
  isModel,
  isObject,
  isStored,
  isWhole,
  rowsOf,
  storedRowBytes,
  type StoredDocument,
  type VectorModel,
} from './stored_documents.js';
import { StoredWords } from './stored_words.js';

export interface Segment {
  /** Undefined: words alone. */
  model?: VectorModel | undefined;
  /** The language that words are stemmed in; `'none'`: they are not. Undefined: none was chosen. */
  language?: string | undefined;
  documents: StoredDocument[];
  deleted: string[];
  vectors: Uint8Array;
  /** What was read of the documents' words. Undefined: nothing. */
  words?: StoredWords | undefined;
}

/** A segment's place among the others: its name, and the writes it follows and ends with, each known by a SHA-256. Empty: of version 1, or none. */
export interface SegmentPlace {
  name: string;
  before: string;
  /** The last write it holds, if it holds several. For one write it is the segment's own SHA-256. */
  tip?: string | undefined;
}

/** One of the segments of an exported file. */
export interface SegmentPart {
  part: number;
  parts: number;
}

interface SegmentHead extends Partial<SegmentPlace>, Partial<SegmentPart> {
  model?: VectorModel | undefined;
  language?: string | undefined;
  /** How many. */
  documents: number;
  deleted: number;
  /** Bytes of the lines, of the vectors, and of the words. */
  lines: number;
  vectors: number;
  words?: number;
  blocks: string[];
}

/** A segment, and what it says about itself. */
export interface DecodedSegment extends Segment, Partial<SegmentPlace>, Partial<SegmentPart> {
  /** Empty: of version 1. */
  tip: string;
  version: number;
  /** Where the next one begins. */
  end: number;
}

const kMagic = new TextEncoder().encode('wattnidx');
const kVersion = 3;
const kWordless = 2;
const kFixedBytes = 16;
const kHeadAt = kFixedBytes + 32;
const kOldHeadBytes = 56;
const kBlockBytes = 1 << 20;
const kNewline = 10;
const [kOpening, kClosing] = ['[', ']'].map((bracket) => new TextEncoder().encode(bracket)) as [Uint8Array, Uint8Array];
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
export const fromHex = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

async function hashesOf(body: Uint8Array, breather: Breather): Promise<string[]> {
  const blocks: string[] = [];
  for (let at = 0; at < body.length; at += kBlockBytes) {
    blocks.push(await sha256Of(body.subarray(at, at + kBlockBytes)));
    await breather.breathe(undefined);
  }
  return blocks;
}

/** The lines of documents and deleted ids. Each step may take a while with 10 MB. */
async function linesOf({ documents, deleted }: Segment, breather: Breather): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const encoder = new TextEncoder();
  let lines: string[] = [];
  let chars = 0;
  for (const each of [...documents, ...deleted]) {
    const line = JSON.stringify(each);
    lines.push(line, '\n');
    chars += line.length;
    if (chars < kBlockBytes) continue;
    parts.push(encoder.encode(lines.join('')));
    [lines, chars] = [[], 0];
    await breather.breathe(undefined);
  }
  parts.push(encoder.encode(lines.join('')));
  return concat(Uint8Array, parts);
}

export async function encodeSegment(
  segment: Segment,
  place: SegmentPlace | SegmentPart,
): Promise<{ bytes: Uint8Array; tip: string }> {
  const breather = new Breather();
  const lines = await linesOf(segment, breather);
  const words = segment.words?.bytes;
  const body = concat(Uint8Array, [lines, segment.vectors, words ?? new Uint8Array()]);
  const head: SegmentHead = {
    ...place,
    ...(segment.model && { model: segment.model }),
    ...(segment.language !== undefined && { language: segment.language }),
    documents: segment.documents.length,
    deleted: segment.deleted.length,
    lines: lines.length,
    vectors: segment.vectors.length,
    ...(words && { words: words.length }),
    blocks: await hashesOf(body, breather),
  };
  const json = new TextEncoder().encode(JSON.stringify(head));
  const hash = await hashOfHead(json);
  const bytes = concat(Uint8Array, [beginning(json.length), fromHex(hash), json, body]);
  return { bytes, tip: ('tip' in place && place.tip) || hash };
}

function beginning(headBytes: number, version = kVersion): Uint8Array {
  const out = new Uint8Array(kFixedBytes);
  const view = new DataView(out.buffer);
  out.set(kMagic);
  view.setUint32(8, version, true);
  view.setUint32(12, headBytes, true);
  return out;
}

const hashOfHead = (json: Uint8Array, version = kVersion) => sha256Of(concat(Uint8Array, [beginning(json.length, version), json]));

/** Why bytes are no segment. */
export class Damage extends Error {
  constructor(
    message: string,
    /** Bytes that end before the segment does, as they would if its write did not end: how many there are. */
    readonly cutAt?: number,
  ) {
    super(message);
  }
}

const cut = (bytes: Uint8Array) => new Damage(bytes.length === 0 ? 'it is empty' : 'it ends early', bytes.length);

/** A hash protects from damage, not from malice: what a file says is checked before it is used. */
function checked(segment: Segment): Segment {
  const { model, documents, deleted, vectors } = segment;
  const fits =
    isModel(model) &&
    Array.isArray(documents) &&
    documents.every(isStored) &&
    Array.isArray(deleted) &&
    deleted.every((id) => typeof id === 'string');
  const rows = fits ? documents.reduce((sum, each) => sum + rowsOf(each), 0) : 0;
  if (!fits || vectors.length !== rows * storedRowBytes(model)) throw new Damage('its contents are inconsistent');
  return segment;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Damage('its JSON is invalid');
  }
}

function isHead(value: unknown): value is SegmentHead {
  if (!isObject(value)) return false;
  const { name, before, tip, part, parts, model, documents, deleted, lines, vectors, words = 0, blocks } = value as SegmentHead;
  return (
    [documents, deleted, lines, vectors, words, part ?? 0, parts ?? 0].every(isWhole) &&
    [name, before, tip].every((text) => text === undefined || typeof text === 'string') &&
    isModel(model) &&
    Array.isArray(blocks) &&
    blocks.length === Math.ceil((lines + vectors + words) / kBlockBytes) &&
    blocks.every((block) => typeof block === 'string')
  );
}

/** The head of the segment at the beginning of some bytes, and where its body begins. */
async function readHead(
  bytes: Uint8Array,
  view: DataView,
): Promise<{ head: SegmentHead; tip: string; begin: number; version: number }> {
  if (bytes.length < kHeadAt) throw cut(bytes);
  const begin = kHeadAt + view.getUint32(12, true);
  if (bytes.length < begin) throw cut(bytes);
  const json = bytes.subarray(kHeadAt, begin);
  const said = toHex(bytes.subarray(kFixedBytes, kHeadAt));
  let version = kVersion;
  if ((await hashOfHead(json)) !== said) {
    version = kWordless;
    if ((await hashOfHead(json, version)) !== said) throw new Damage('its SHA-256 does not match (head)');
  }
  const head = parsed(json);
  if (!isHead(head)) throw new Damage('its head is invalid');
  return { head, tip: head.tip || said, begin, version };
}

/** What the lines say whose bytes are all sound. sound: whether those of a range are. */
function* readLines(lines: Uint8Array, sound: (begin: number, end: number) => boolean): Generator<unknown> {
  for (let begin = 0; begin < lines.length;) {
    const newline = lines.indexOf(kNewline, begin);
    const end = newline < 0 ? lines.length : newline + 1;
    if (sound(begin, end)) yield parsed(lines.subarray(begin, end));
    begin = end;
  }
}

/** The lines of about a block from a place on, and where the next begins. To parse them as one text takes a third less time. */
function readSomeLines(lines: Uint8Array, begin: number): [unknown[], number] {
  let newline = lines.lastIndexOf(kNewline, begin + kBlockBytes);
  if (newline < begin) newline = lines.indexOf(kNewline, begin);
  const end = newline < 0 ? lines.length : newline;
  const comma = ','.charCodeAt(0);
  const joined = lines.slice(begin, end);
  for (let at = joined.indexOf(kNewline); at >= 0; at = joined.indexOf(kNewline, at + 1)) joined[at] = comma;
  return [parsed(concat(Uint8Array, [kOpening, joined, kClosing])) as unknown[], end + 1];
}

function wordsIn(bytes: Uint8Array, documents: readonly StoredDocument[]): StoredWords {
  const rows = documents.reduce((sum, each) => sum + rowsOf(each), 0);
  const words = StoredWords.read(bytes, documents.length, rows);
  if (!words) throw new Damage('its words are invalid');
  return words;
}

async function decodeNow(bytes: Uint8Array, view: DataView, breather: Breather): Promise<DecodedSegment> {
  const { head, tip, begin, version } = await readHead(bytes, view);
  if (version !== view.getUint32(8, true)) throw new Damage('its version does not match');
  const vectorsEnd = head.lines + head.vectors;
  const end = begin + vectorsEnd + (head.words ?? 0);
  if (bytes.length < end) throw cut(bytes);
  const body = bytes.subarray(begin, end);
  for (let i = 0; i < head.blocks.length; ++i) {
    const block = body.subarray(i * kBlockBytes, (i + 1) * kBlockBytes);
    if ((await sha256Of(block)) !== head.blocks[i]) throw new Damage(`its SHA-256 does not match (block ${i})`);
    await breather.breathe(undefined);
  }
  const all: unknown[] = [];
  const lines = body.subarray(0, head.lines);
  for (let at = 0; at < lines.length;) {
    const [values, next] = readSomeLines(lines, at);
    for (const value of values) all.push(value);
    at = next;
    await breather.breathe(undefined);
  }
  if (all.length !== head.documents + head.deleted) throw new Damage('its documents do not match its head');
  const { name, before, part, parts, model, language } = head;
  const segment = checked({
    model,
    documents: all.slice(0, head.documents) as StoredDocument[],
    deleted: all.slice(head.documents) as string[],
    vectors: body.subarray(head.lines, vectorsEnd),
  });
  const words = head.words ? wordsIn(body.slice(vectorsEnd), segment.documents) : undefined;
  return { ...segment, ...(typeof language === 'string' && { language }), words, name, before, part, parts, tip, version, end };
}

async function decodeOld(bytes: Uint8Array, view: DataView): Promise<DecodedSegment> {
  if (bytes.length < kOldHeadBytes) throw cut(bytes);
  const [json, vectors] = [view.getUint32(12, true), view.getUint32(16, true)];
  const end = kOldHeadBytes + json + vectors;
  if (bytes.length < end) throw cut(bytes);
  const body = bytes.subarray(kOldHeadBytes, end);
  const hash = toHex(bytes.subarray(24, kOldHeadBytes));
  if (view.getUint32(20, true) !== 0 || (await sha256Of(body)) !== hash) throw new Damage('its SHA-256 does not match');
  const head = parsed(body.subarray(0, json));
  const { model, documents, deleted } = (isObject(head) ? head : {}) as Segment;
  return { ...checked({ model, documents, deleted, vectors: body.subarray(json) }), tip: '', version: 1, end };
}

/** The segment at the beginning of some bytes. where: for messages. A `Damage` says why there is none. */
async function decodeFirst(where: string, bytes: Uint8Array, breather: Breather): Promise<DecodedSegment> {
  const begin = bytes.subarray(0, kMagic.length);
  if (!begin.every((byte, i) => byte === kMagic[i])) throw new Damage('expected an index of wattn, found another file');
  if (bytes.length < kFixedBytes) throw cut(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const version = view.getUint32(8, true);
  if (version === kVersion || version === kWordless) return decodeNow(bytes, view, breather);
  if (version === 1) return decodeOld(bytes, view);
  throw new UnsupportedError(
    `${where}: expected a version up to ${kVersion} of the format, found ${version}: a later version of wattn wrote it, or it is damaged`,
  );
}

/** The one segment in some bytes. */
export async function decodeSegment(where: string, bytes: Uint8Array): Promise<DecodedSegment> {
  if (bytes.length === 0) throw cut(bytes);
  const segment = await decodeFirst(where, bytes, new Breather());
  if (segment.end !== bytes.length) throw new Damage(`it is followed by ${bytes.length - segment.end} bytes`);
  return segment;
}

/** The segments in an exported file. where: its name, for messages. A `Damage` says that the bytes from its place on are not right. */
export async function* decodeSegments(where: string, bytes: Uint8Array): AsyncGenerator<DecodedSegment> {
  const breather = new Breather();
  const isOurs = bytes.length >= kMagic.length && kMagic.every((byte, i) => byte === bytes[i]);
  if (!isOurs) throw new ModelFormatError(`${where}: expected an index of wattn, found another file`);
  let [count, all] = [0, 0];
  for (let at = 0; at < bytes.length; ++count) {
    const segment = await decodeFirst(where, bytes.subarray(at), breather);
    if (count === 0) all = segment.parts ?? 0;
    if (!isShallow(segment.documents)) throw new Damage('its JSON is nested too deep'); // wattn writes none that is
    // Files of version 1 do not say how many they are.
    if ((segment.parts ?? 0) !== all || (all > 0 && segment.part !== count)) throw new Damage('its parts are not in order');
    yield segment;
    at += segment.end;
  }
  if (all > 0 && count !== all) throw new Damage(`it has ${count} of ${all} parts`);
}

/**
 * What is sound in a damaged segment: documents in blocks with the right SHA-256, without vectors if a block of theirs is damaged. Undefined: its head
 * is damaged, and says nothing.
 */
export async function salvageSegment(
  bytes: Uint8Array,
): Promise<{ segment: Segment; documents: number; deleted: number } | undefined> {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const { head, begin } = await readHead(bytes, view);
    const vectorsEnd = head.lines + head.vectors;
    const body = bytes.subarray(begin, begin + vectorsEnd + (head.words ?? 0));
    const right = await Promise.all(
      head.blocks.map(async (block, i) => (await sha256Of(body.subarray(i * kBlockBytes, (i + 1) * kBlockBytes))) === block),
    );
    const sound = (from: number, to: number) => {
      for (let i = Math.floor(from / kBlockBytes); i * kBlockBytes < to; ++i) if (!right[i]) return false;
      return true;
    };
    const segment: Segment = { model: undefined, documents: [], deleted: [], vectors: new Uint8Array() };
    if (typeof head.language === 'string') segment.language = head.language;
    for (const value of readLines(body.subarray(0, head.lines), sound)) {
      if (typeof value === 'string') segment.deleted.push(value);
      else if (isStored(value)) segment.documents.push(value);
    }
    // Where a document's rows are is known only if all lines before it are.
    if (sound(0, vectorsEnd)) Object.assign(segment, { model: head.model, vectors: body.subarray(head.lines, vectorsEnd) });
    return { segment, documents: head.documents, deleted: head.deleted };
  } catch {
    return undefined;
  }
}
