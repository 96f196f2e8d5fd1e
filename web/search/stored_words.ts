// The words of a segment's documents, as they were read when it was written. An index that is opened takes them, and need not read its texts again:
//
//     4 uint32  bytes of the texts, then how many terms, words and words of titles they are, little endian like all numbers
//     texts     UTF-8, divided by line feeds, which no word has: the manner (`Analyser.manner`); terms; words with their stems; words of titles
//     numbers   LEB128. For each document how many words it has. For each word the place of its stem among the terms. For each word of titles how many
//               documents have it, and their first rows. For each term how many documents hold it and how many bytes its places take, and then these,
//               each with how often it occurs there
//
// Rows count from the segment's first. Rows and places are stored as differences to the one before. A place is twice its row, and 1 more if it is a
// part of a document that has several.
import { concat } from '../core/texts.js';

const kHeadBytes = 16;
const kMost = 2 ** 31;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Numbers that are written one after another. Of those with a sign the lowest bit is the sign. */
class Numbers {
  private bytes = new Uint8Array(1024);
  private size = 0;

  put(value: number): void {
    if (this.size + 5 > this.bytes.length) this.enlarge();
    for (; value >= 0x80; value >>>= 7) this.bytes[this.size++] = (value & 0x7f) | 0x80;
    this.bytes[this.size++] = value;
  }

  putSigned(value: number): void {
    this.put(((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** Bytes, after how many they are. */
  putAll(bytes: Uint8Array): void {
    this.put(bytes.length);
    while (this.size + bytes.length > this.bytes.length) this.enlarge();
    this.bytes.set(bytes, this.size);
    this.size += bytes.length;
  }

  clear(): void {
    this.size = 0;
  }

  private enlarge(): void {
    const more = new Uint8Array(2 * this.bytes.length);
    more.set(this.bytes);
    this.bytes = more;
  }

  taken(): Uint8Array {
    return this.bytes.subarray(0, this.size);
  }
}

/** The same, read. Beyond the end there is nothing but -1. */
class Reader {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
  ) {}

  next(): number {
    const first = this.bytes[this.at]!;
    if (first < 0x80) {
      ++this.at;
      return first;
    }
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) return -1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return -1;
  }

  nextSigned(): number {
    const value = this.next();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }
}

/** Writes the words of documents: their parts in the order of the calls' names. */
export class WordsWriter {
  private readonly texts: string[];
  private readonly counts = [0, 0, 0];
  private readonly documents = new Numbers();
  private readonly words = new Numbers();
  private readonly titles = new Numbers();
  private readonly terms = new Numbers();
  private readonly places = new Numbers();

  constructor(manner: string) {
    this.texts = [manner];
  }

  document(length: number): void {
    this.documents.put(length);
  }

  /** Its place among the terms. places: as `Bm25` has them, of rows that count from the segment's first. */
  term(term: string, holders: number, places: ArrayLike<number>, times: ArrayLike<number>): number {
    this.texts.push(term);
    let last = 0;
    this.places.clear();
    for (let i = 0; i < places.length; ++i) {
      const place = places[i]!;
      const code = place < 0 ? 2 * ~place + 1 : 2 * place;
      this.places.putSigned(code - last);
      this.places.put(times[i]!);
      last = code;
    }
    this.terms.put(holders);
    this.terms.putAll(this.places.taken());
    return this.counts[0]!++;
  }

  /** All words come after all terms. */
  word(word: string, term: number): void {
    this.texts.push(word);
    this.words.put(term);
    ++this.counts[1]!;
  }

  /** All words of titles come last. */
  title(word: string, rows: readonly number[]): void {
    this.texts.push(word);
    this.titles.put(rows.length);
    rows.forEach((row, i) => this.titles.putSigned(row - (i > 0 ? rows[i - 1]! : 0)));
    ++this.counts[2]!;
  }

  bytes(): Uint8Array {
    const texts = new TextEncoder().encode(this.texts.join('\n'));
    const head = new DataView(new ArrayBuffer(kHeadBytes));
    [texts.length, ...this.counts].forEach((count, i) => head.setUint32(4 * i, count, true));
    const numbers = [this.documents, this.words, this.titles, this.terms].map((each) => each.taken());
    return concat(Uint8Array, [new Uint8Array(head.buffer), texts, ...numbers]);
  }
}

/** Stored words. What a term's places are is read when somebody asks for the term. */
export class StoredWords {
  private constructor(
    /** As they are stored. */
    readonly bytes: Uint8Array,
    readonly manner: string,
    /** [documents] how many words each has. */
    readonly lengths: readonly number[],
    readonly terms: readonly string[],
    /** Words, and the place of each one's stem among the terms. */
    readonly words: readonly string[],
    readonly stems: readonly number[],
    /** Words of titles, and the first rows of the documents. */
    readonly titles: readonly string[],
    readonly titled: readonly (readonly number[])[],
    /** [terms] how many documents hold each. */
    readonly holders: readonly number[],
    /** [terms] where each one's places begin and end in the bytes. */
    private readonly begins: Uint32Array,
    private readonly ends: Uint32Array,
    private readonly rows: number,
  ) {}

  /** What the bytes say of so many documents, which have so many rows. Undefined: they are none. */
  static read(bytes: Uint8Array, documents: number, rows: number): StoredWords | undefined {
    if (bytes.length < kHeadBytes) return undefined;
    const head = new DataView(bytes.buffer, bytes.byteOffset, kHeadBytes);
    const [size, terms, words, titles] = [0, 4, 8, 12].map((at) => head.getUint32(at, true)) as [number, number, number, number];
    if (kHeadBytes + size > bytes.length) return undefined;
    const texts = decoder.decode(bytes.subarray(kHeadBytes, kHeadBytes + size)).split('\n');
    if (texts.length !== 1 + terms + words + titles) return undefined;
    const reader = new Reader(bytes, kHeadBytes + size);
    let isSound = true;
    const number = (most: number) => {
      const value = reader.next();
      if (value < 0 || value >= most) isSound = false;
      return value;
    };
    const lengths = Array.from({ length: documents }, () => number(kMost));
    const stems = Array.from({ length: words }, () => number(terms));
    const titled: number[][] = [];
    for (let i = 0; i < titles && isSound; ++i) {
      const own: number[] = [];
      for (let left = number(rows + 1), row = 0; left > 0 && isSound; --left) {
        own.push((row += reader.nextSigned()));
        if (!(row >= 0 && row < rows)) isSound = false;
      }
      titled.push(own);
    }
    const holders: number[] = [];
    const [begins, ends] = [new Uint32Array(terms), new Uint32Array(terms)];
    for (let i = 0; i < terms && isSound; ++i) {
      holders.push(number(rows + 1));
      const size = number(kMost);
      begins[i] = reader.at;
      reader.at += Math.max(size, 0);
      ends[i] = reader.at;
    }
    if (!isSound || reader.at !== bytes.length) return undefined;
    const [ofWords, ofTitles] = [1 + terms, 1 + terms + words];
    return new StoredWords(
      bytes,
      texts[0]!,
      lengths,
      texts.slice(1, ofWords),
      texts.slice(ofWords, ofTitles),
      stems,
      texts.slice(ofTitles),
      titled,
      holders,
      begins,
      ends,
      rows,
    );
  }

  /** The places of a term, up to one that no row has: only a file that somebody made for it has such a place. */
  visit(term: number, see: (place: number, times: number) => void): void {
    const reader = new Reader(this.bytes, this.begins[term]!);
    const end = this.ends[term]!;
    let code = 0;
    while (reader.at < end) {
      code += reader.nextSigned();
      if (!(code >= 0 && code < 2 * this.rows)) return;
      see(code % 2 === 1 ? ~(code >> 1) : code >> 1, reader.next());
    }
  }
}
