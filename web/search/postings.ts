// Where each term of an index occurs: lists that grow, each made of what segments store when somebody first asks for it.
import type { PlacedWords } from './join_words.js';

/** Where a term occurs, and how often: one place for each document, and one for each part of documents that have several. */
export interface Postings {
  /** Living documents among them. */
  living: number;
  count: number;
  /** The first row of a document; or, as a negative number, `~row` of a part. */
  places: Int32Array;
  times: Uint16Array;
  /** Where the newest document is in `places`. */
  newest: number;
}

const enlarged = <T extends Int32Array | Uint16Array>(array: T): T => {
  const out = new (array.constructor as new (length: number) => T)(2 * array.length);
  out.set(array);
  return out;
};

export function push(list: Postings, place: number, times: number): void {
  if (list.count === list.places.length) {
    list.places = enlarged(list.places);
    list.times = enlarged(list.times);
  }
  list.places[list.count] = place;
  list.times[list.count++] = Math.min(times, 65535);
}

interface Taken extends PlacedWords {
  slots: Map<string, number>;
}

/** So many of about one size become one: each look for a term asks all. Those of a writer's own segments become one before. */
const kMany = 16;
const kSmallBytes = 1 << 14;

export class TermLists {
  private readonly lists = new Map<string, Postings>();
  private readonly taken: Taken[] = [];

  /** The list of a term that occurs. */
  find(term: string): Postings | undefined {
    let list = this.lists.get(term);
    if (list || !this.taken.some(({ slots }) => slots.has(term))) return list;
    list = this.begin(term);
    for (const each of this.taken) TermLists.pour(each, term, list);
    return list;
  }

  /** A list for a term that has none. */
  begin(term: string): Postings {
    const list = { living: 0, count: 0, places: new Int32Array(2), times: new Uint16Array(2), newest: -1 };
    this.lists.set(term, list);
    return list;
  }

  private static pour({ words, base, slots }: Taken, term: string, list: Postings): void {
    const slot = slots.get(term);
    if (slot === undefined) return;
    list.living += words.holders[slot]!;
    words.visit(slot, (place, times) => push(list, place < 0 ? place - base : place + base, times));
  }

  /** How many documents hold a term. Makes no list. */
  holders(term: string): number {
    const list = this.lists.get(term);
    if (list) return list.living;
    return this.taken.reduce((sum, { words, slots }) => sum + (words.holders[slots.get(term) ?? -1] ?? 0), 0);
  }

  /** Forgets a term that no document holds any more. */
  drop(term: string): void {
    this.lists.delete(term);
    for (const { slots } of this.taken) slots.delete(term);
  }

  /** All terms; some twice. */
  *names(): Generator<string, void, undefined> {
    yield* this.lists.keys();
    for (const { slots } of this.taken) for (const term of slots.keys()) if (!this.lists.has(term)) yield term;
  }

  /** All lists, where no words were taken. */
  all(): ReadonlyMap<string, Postings> {
    return this.lists;
  }

  /** Takes in the terms of rows that no list has. */
  take(placed: Omit<PlacedWords, 'slots'>): void {
    const own = { ...placed, slots: new Map(placed.words.terms.map((term, slot) => [term, slot])) };
    for (const term of own.words.terms) {
      const list = this.lists.get(term);
      if (list) TermLists.pour(own, term, list);
    }
    this.taken.push(own);
  }

  /** What was taken that has any of the rows, if it has all of them. */
  holding(rows: readonly number[]): readonly PlacedWords[] | undefined {
    const found = new Set<PlacedWords>();
    let at = 0;
    for (const row of rows) {
      if (!isIn(this.taken[at], row)) at = this.taken.findIndex((each) => isIn(each, row));
      if (at < 0) return undefined;
      found.add(this.taken[at]!);
    }
    return [...found];
  }

  /** The newest that were taken, if they are many and of about one size, of rows that follow each other. */
  many(): readonly PlacedWords[] {
    const { taken } = this;
    let begin = taken.length;
    for (let bytes = 0; begin > 0; --begin) {
      const { base, rows, words } = taken[begin - 1]!;
      if (begin < taken.length && (base + rows !== taken[begin]!.base || words.bytes.length > Math.max(bytes, kSmallBytes))) break;
      bytes += words.bytes.length;
    }
    return taken.length - begin < kMany ? [] : taken.slice(begin);
  }

  /** Puts one in place of several that have the same words. */
  replace(several: readonly PlacedWords[], one: Omit<PlacedWords, 'slots'>): void {
    const at = this.taken.indexOf(several[0] as Taken);
    const old = this.taken.slice(at, at + several.length);
    const isHeld = (term: string) => old.some(({ slots }) => slots.has(term)); // else it was dropped
    const slots = new Map(one.words.terms.flatMap((term, slot) => (isHeld(term) ? [[term, slot] as const] : [])));
    this.taken.splice(at, several.length, { ...one, slots });
  }
}

const isIn = (taken: Taken | undefined, row: number) => taken !== undefined && row >= taken.base && row < taken.base + taken.rows;
