// Which parts of an index a query's phrases, exclusions and fields let through.
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { titleOf, type Contents, type Entry, type Passing } from './contents.js';
import { placesOf, type Condition } from './query.js';
import { rowsOf } from './stored_documents.js';
import type { IndexDocument } from './types.js';
import { Analyser, fold } from './words.js';

/** Reads words as they are written. */
const asWritten = new Analyser({});

/** The texts of a field: a string, or those of a list. */
function textsOf(document: IndexDocument, field: string): string[] {
  const value = Object.hasOwn(document, field) ? document[field] : undefined;
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string');
}

/** Whether some document has a text field of this name. */
export function hasTextField(documents: Iterable<{ document: IndexDocument }>, field: string): boolean {
  for (const { document } of documents) if (textsOf(document, field).length > 0) return true;
  return false;
}

export const termsOf = (analyser: Analyser, text: string): string[] =>
  [...analyser.batches(text)].flatMap((words) => words.map(({ term }) => term));

export const hasWords = (text: string): boolean => termsOf(asWritten, text).length > 0;

/** How a condition is looked for. */
interface Sought {
  condition: Condition;
  analyser: Analyser;
  terms: readonly string[];
  /** The documents that may have it, by their first rows; undefined: any. */
  among: ReadonlySet<number> | undefined;
  /** Whether all of `among` have it. */
  isSure: boolean;
  /** What a folded text has if it has them, and perhaps if it has not: found sooner than words are read. */
  hint: RegExp | undefined;
}

/** Longer texts are not folded at once. */
const kShort = 65_536;

/** Words in a row. A run without spaces has overlapping pairs, so there is no hint for one. */
function hintOf(terms: readonly string[]): RegExp | undefined {
  if (terms.some((term) => !/^[\p{Script=Latin}\p{N}_.,]+$/u.test(term))) return undefined;
  return new RegExp(terms.map((term) => term.replace(/[.]/g, '\\.')).join('[^\\p{L}\\p{M}\\p{N}_]*'), 'u');
}

function soughtOf(contents: Contents, condition: Condition): Sought {
  const { words } = contents;
  const own = condition.isQuoted ? [] : termsOf(words.analyser, condition.words);
  // Stop words alone are looked for as they are written.
  const analyser = own.length > 0 ? words.analyser : asWritten;
  const terms = own.length > 0 ? own : termsOf(asWritten, condition.words);
  const isIndexed = condition.field === undefined || condition.field === 'title' || condition.field === 'text';
  const indexed = isIndexed ? termsOf(words.analyser, condition.words) : [];
  let among: Set<number> | undefined;
  for (const term of indexed) {
    const holders = words.documentsWith(term);
    among = among ? new Set([...among].filter((first) => holders.has(first))) : holders;
  }
  const isSure = condition.isExcluded && condition.field === undefined && own.length === 1;
  const hint = analyser === asWritten ? hintOf(terms) : undefined;
  return { condition, analyser, terms, among, isSure, hint };
}

/** The rows of a document that a condition lets through, from its first: all, none, or those in which a phrase begins. Takes breaks. */
async function rowsFor(
  { document, chunks }: Entry,
  { condition, analyser, terms, hint }: Sought,
  breathe: () => Promise<void>,
): Promise<boolean | number[]> {
  const { field, isExcluded } = condition;
  const read = async (text: string): Promise<number[]> => {
    if (hint && text.length <= kShort && !hint.test(fold(text))) return [];
    const steps = placesOf(analyser, text, terms);
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await breathe();
    }
  };
  const places = field === undefined || field === 'text' ? await read(document.text) : [];
  let isElsewhere = false;
  const others = field === undefined ? [titleOf(document) ?? ''] : field === 'text' ? [] : textsOf(document, field);
  for (const text of others) isElsewhere ||= (await read(text)).length > 0;
  const has = places.length > 0 || isElsewhere;
  if (isExcluded) return !has;
  if (!has || isElsewhere) return has;
  const rows = Array.from({ length: chunks.length / 2 }, (_, i) => i).filter((i) =>
    places.some((place) => place >= chunks[2 * i]! && place < chunks[2 * i + 1]!),
  );
  return rows.length > 0 ? rows : true;
}

/**
 * Which rows pass all conditions. A document without a phrase does not pass. Of one that has it, the parts in which it begins do. If a document
 * has several phrases in different parts, all these parts pass. isStrict: a phrase that nothing has lets nothing through; else it is no condition.
 * The words of the index must be read.
 */
export async function narrowed(
  contents: Contents,
  conditions: readonly Condition[],
  isStrict: boolean,
  passing: Passing | undefined,
  signal: AbortSignalLike | undefined,
): Promise<Passing> {
  const { owners } = contents;
  const breather = new Breather();
  const breathe = () => breather.breathe(signal);
  let rows = passing?.rows ?? Uint8Array.from(owners, (entry) => (entry ? 1 : 0));
  for (const condition of conditions) {
    const sought = soughtOf(contents, condition);
    const next = new Uint8Array(rows.length);
    let isHeld = false;
    for (let row = 0; row < rows.length && owners === contents.owners;) {
      const entry = owners[row];
      const count = entry ? rowsOf(entry) : 1;
      const before = rows.subarray(row, row + count);
      if (entry && before.includes(1)) {
        const first = entry.first;
        const mayHave = sought.among === undefined || sought.among.has(first);
        const verdict = !mayHave || sought.isSure ? mayHave !== condition.isExcluded : await rowsFor(entry, sought, breathe);
        if (verdict !== false) isHeld = true;
        if (verdict === true) next.set(before, row);
        else if (verdict) {
          for (const i of verdict) next[row + i] = before[i]!;
          if (!next.subarray(row, row + count).includes(1)) next.set(before, row);
        }
        await breathe();
      }
      row += count;
    }
    if (isHeld || isStrict || condition.isExcluded || condition.field !== undefined) rows = next;
  }
  return { owners, rows };
}
