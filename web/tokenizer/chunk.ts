// Splits a text into chunks. The text is tokenized once to estimate where to split. Each chunk is then counted by itself, because tokens
// at the edges of a text can differ from those in the middle of a longer one.
import { InputError } from '../core/errors.js';
import type { Chunk, ChunkOptions } from './types.js';

/** Offsets of the tokens of a text without special tokens (two numbers per token), and the exact count of any text. */
export interface Counter {
  offsets: Int32Array;
  count(text: string): number;
}

const enum Level {
  Word = 1,
  Line,
  Sentence,
  Paragraph,
}

/** A possible split: a chunk ends at `end`, and the next begins at `next`. */
interface Break {
  end: number;
  next: number;
  level: Level;
}

/** Words that are looked at behind a cut. */
const kMostWords = 64;
/** Characters that are read between two pauses. */
const kWindow = 1 << 16;

/** A mark that ends a sentence, with quotes and brackets behind it. */
const kMark = /([.!?\u2026\u3002\uff01\uff1f])["'\u201d\u2019\u00bb)\]\u300d\u300f]*$/;
/** Words in front of a full stop that ends no sentence: initials, numbers of lists and abbreviations that a name or a number follows. */
const kAbbreviated =
  /(?:^|[\s("'\u201e\u201c\u00ab])(?:\p{L}|\d{1,3}|\p{L}\.\s?\p{L}|Mrs?|Ms|Drs?|Prof|St|Sr|Jr|Gen|Col|Rev|Hon|Capt|Lt|Sgt|Inc|Ltd|Co|Corp|vs|cf|al|approx|Fig|Figs|Eq|No|Nos|Vol|pp?|Sec|Art|Abs|Nr|Bd|Hrsg|Hr|Fr|bzw|ca|vgl|sog|evtl|ggf|Sra?|Ud|Mme|Mlle)$/u;

/** Whether the text before a place ends a sentence, whose next one begins at `next`. */
function endsSentence(text: string, end: number, next: number): boolean {
  const before = text.slice(Math.max(0, end - 24), end);
  const mark = kMark.exec(before);
  if (!mark) return false;
  if (/^\p{Ll}/u.test(text.slice(next, next + 2))) return false; // it goes on in small letters: "etc. and", '"Stop!" he said'
  return mark[1] !== '.' || !kAbbreviated.test(before.slice(0, mark.index));
}

function breakAt(text: string, end: number, found: string): Break {
  if (/\S/.test(found)) return { end: end + found.length, next: end + found.length, level: Level.Sentence };
  const sentence = endsSentence(text, end, end + found.length);
  const lines = found.split(/\r\n|[\n\r\u2028]/).length - 1;
  const level =
    lines > 1 || found.includes('\u2029') ? Level.Paragraph : sentence ? Level.Sentence : lines ? Level.Line : Level.Word;
  return { end, next: end + found.length, level };
}

/** A window at a time. What ends with a window may go on behind it, and is read again from its beginning. */
function* findBreaks(text: string): Generator<undefined, Break[]> {
  const breaks: Break[] = [];
  for (let at = 0, width = kWindow; at < text.length;) {
    const window = text.slice(at, at + width);
    let read = window.length;
    for (const { 0: found, index } of window.matchAll(/\s+|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019\uff09]*(?!\s)/g)) {
      if (index + found.length === window.length && at + window.length < text.length) read = index;
      else breaks.push(breakAt(text, at + index, found));
    }
    width = read > 0 ? kWindow : 2 * width;
    at += read;
    yield;
  }
  return breaks;
}

/** Binary search: the first index for which reached(index) is true. */
function firstIndex(length: number, reached: (index: number) => boolean): number {
  let low = 0;
  for (let high = length; low < high;) {
    const middle = (low + high) >> 1;
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface Limits {
  max_tokens: number;
  overlap: number;
  /** Characters of a chunk. */
  most: number;
}

class Cutter {
  private readonly tokens: number;

  constructor(
    private readonly text: string,
    private readonly counter: Counter,
    private readonly options: Limits,
    private readonly room: number,
    private readonly breaks: readonly Break[],
  ) {
    this.tokens = counter.offsets.length / 2;
  }

  private begin(token: number): number {
    return token < this.tokens ? (this.counter.offsets[2 * token] as number) : this.text.length;
  }
  /** The first token that begins at or after an offset. */
  private tokenAt(place: number): number {
    return firstIndex(this.tokens, (token) => this.begin(token) >= place);
  }
  /** A place, or the one before it if a character would be cut in two. */
  private characterEnd(place: number): number {
    return (this.text.codePointAt(place - 1) as number) > 0xffff ? place - 1 : place;
  }
  private skipSpace(place: number): number {
    const space = /\s*/y;
    space.lastIndex = place;
    return place + (space.exec(this.text) as RegExpExecArray)[0].length;
  }

  /** The best break in (least, most]: of the second half the one of the highest level, else the last end of a sentence, else the last of all. */
  private bestBreak(start: number, least: number, most: number): Break | undefined {
    const middle = (start + most) / 2;
    let best: Break | undefined;
    for (let i = firstIndex(this.breaks.length, (at) => (this.breaks[at] as Break).end > most) - 1; i >= 0; --i) {
      const here = this.breaks[i] as Break;
      if (here.end <= least || (best && here.end < middle && best.level >= Level.Sentence)) break;
      if (!best || (here.level > best.level && (here.end >= middle || here.level >= Level.Sentence))) best = here;
    }
    return best;
  }

  /** The best end of a chunk. A sentence that does not fit is cut so that its last part is no mere remainder. */
  private bestEnd(start: number, least: number, most: number): number {
    const best = this.bestBreak(start, least, most);
    if (!best || best.level >= Level.Sentence) return best?.end ?? most;
    const after = firstIndex(this.breaks.length, (at) => (this.breaks[at] as Break).end > best.end);
    let rest = after;
    while (rest < this.breaks.length && (this.breaks[rest] as Break).level < Level.Sentence && rest < after + kMostWords) ++rest;
    const end = this.breaks[rest]?.end ?? this.text.trimEnd().length;
    const isLong = rest > after && end - best.end >= (best.end - start) / 4;
    if (isLong || rest === after + kMostWords) return best.end;
    const half = firstIndex(this.breaks.length, (at) => 2 * (this.breaks[at] as Break).end >= start + end);
    const near = this.breaks[Math.min(half, after - 2)]; // the last break before the best one at most
    return near && near.end > least ? near.end : best.end;
  }

  /** The longest chunk from start on that ends after least; undefined if none fits. */
  private cut(start: number, least: number): Chunk | undefined {
    const { text, counter } = this;
    const first = this.tokenAt(start);
    for (let room = this.room; room > 0;) {
      const last = first + room >= this.tokens;
      const furthest = last ? text.length : this.begin(first + room);
      const most = this.options.most < furthest - start ? this.characterEnd(start + this.options.most) : furthest;
      const isRest = last && most === furthest;
      const end = start + text.slice(start, isRest ? most : this.bestEnd(start, least, most)).trimEnd().length;
      if (end <= least) return undefined;
      const tokens = counter.count(text.slice(start, end));
      if (tokens <= this.options.max_tokens) return { text: text.slice(start, end), start, end, tokens };
      room = Math.min(room - 1, room - (tokens - this.options.max_tokens), this.tokenAt(end) - first - 1);
    }
    return undefined;
  }

  /** A chunk of one character, which must fit. */
  private character(start: number): Chunk {
    const text = String.fromCodePoint(this.text.codePointAt(start) as number);
    const tokens = this.counter.count(text);
    if (tokens <= this.options.max_tokens) return { text, start, end: start + text.length, tokens };
    throw new InputError(
      `chunk: option 'max_tokens': expected at least ${tokens}, which '${text}' at ${start} takes; found ${this.options.max_tokens}`,
    );
  }

  /** The start of the next chunk: at a word within the overlap, or after the chunk. */
  private overlapStart(chunk: Chunk): number {
    const behind = this.skipSpace(chunk.end);
    if (this.options.overlap === 0) return behind;
    const earliest = this.begin(Math.max(this.tokenAt(chunk.end) - this.options.overlap, this.tokenAt(chunk.start) + 1));
    const at = firstIndex(this.breaks.length, (i) => (this.breaks[i] as Break).next >= earliest);
    const next = this.breaks[at]?.next ?? behind;
    return next > chunk.start && next < chunk.end ? next : behind;
  }

  *chunks(): Generator<undefined, Chunk[]> {
    const out: Chunk[] = [];
    const end = this.text.trimEnd().length;
    for (let start = this.skipSpace(0), least = start; least < end;) {
      yield;
      let chunk = this.cut(start, least);
      if (!chunk && start < least) {
        start = least = this.skipSpace(least); // no new text fits after the overlap
        continue;
      }
      chunk ??= this.character(start);
      out.push(chunk);
      least = chunk.end;
      start = this.overlapStart(chunk);
      if (start >= least) least = start;
    }
    return out;
  }
}

/** Chunks, in steps that take little time but for those of the counter. most: characters of a chunk. */
export function* cutInSteps(text: string, counter: Counter, options: ChunkOptions, most = Infinity): Generator<undefined, Chunk[]> {
  const { max_tokens, overlap = 0 } = options;
  const special = counter.count('');
  const room = max_tokens - special;
  if (room < 1) {
    throw new InputError(`chunk: option 'max_tokens': expected more than the ${special} special tokens, found ${max_tokens}`);
  }
  if (overlap >= room)
    throw new InputError(`chunk: option 'overlap': expected less than the ${room} tokens of a chunk, found ${overlap}`);
  return yield* new Cutter(text, counter, { max_tokens, overlap, most }, room, yield* findBreaks(text)).chunks();
}

export function cutText(text: string, counter: Counter, options: ChunkOptions): Chunk[] {
  const steps = cutInSteps(text, counter, options);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
