// What a text in a search box may become: its last word completed, and titles.
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { titleOf, type Contents } from './contents.js';
import type { IndexSuggestion } from './types.js';

/** Completions whose documents are counted. */
const kMostCounted = 200;

/** Characters of a document that are searched for the way in which it writes a word. */
const kMostRead = 65_536;

/** The first place of a word in a text. */
function writtenIn(contents: Contents, text: string, word: string): string | undefined {
  for (const words of contents.asWritten.batches(text)) {
    const found = words.find((each) => each.word === word);
    if (found) return text.slice(found.start, found.end);
    if ((words.at(-1)?.end ?? 0) > kMostRead) break;
  }
  return undefined;
}

/** The words of the index must be read. The last word of `text` is the beginning of others; what comes before it stays. */
export async function suggest(
  contents: Contents,
  text: string,
  limit: number,
  signal: AbortSignalLike | undefined,
): Promise<IndexSuggestion[]> {
  const { words, owners } = contents;
  const breather = new Breather();
  const read = await words.analyser.read(text, signal);
  const last = read.at(-1);
  if (!last) return [];
  const isFinished = last.end < text.length;
  const before = (isFinished ? read : read.slice(0, -1)).map(({ term }) => term).filter((term) => words.holders(term) > 0);
  const among = words.withAll(before);
  const out: IndexSuggestion[] = [];
  const typed = read.map(({ word }) => word);
  for (const first of words.titled(typed, limit)) {
    const document = owners[first]?.document; // undefined: removed meanwhile
    if (document) out.push({ text: titleOf(document) ?? '', kind: 'title', documents: 1 });
  }
  if (isFinished) return out;
  /** Words by their terms, the shortest one of each. */
  const forms = new Map<string, string>();
  for (const [word, term] of words.beginningWith(last.word)) {
    const known = forms.get(term);
    if (known === undefined || word.length < known.length) forms.set(term, word);
  }
  const frequent = [...forms]
    .map(([term, word]) => ({ term, word, holders: words.holders(term) }))
    .filter(({ holders }) => holders > 0)
    .sort((a, b) => b.holders - a.holders)
    .slice(0, kMostCounted);
  const best: { term: string; word: string; count: number }[] = [];
  for (const { term, word, holders } of frequent) {
    if (best.length === limit && best.at(-1)!.count > holders) break; // no other can be among them
    const count = words.count(term, among);
    if (count === 0) continue;
    best.push({ term, word, count });
    best.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1)).splice(limit);
    await breather.breathe(signal);
  }
  for (const { term, word, count } of best) {
    // As a document writes it, with its accents.
    const first = words.firstWith(term, among);
    const document = first === undefined ? undefined : contents.owners[first]?.document;
    let written = word;
    if (document) written = writtenIn(contents, document.text, word) ?? writtenIn(contents, titleOf(document) ?? '', word) ?? word;
    out.push({ text: text.slice(0, last.start) + written.toLowerCase(), kind: 'word', documents: count });
  }
  const seen = new Set<string>();
  const isNew = ({ text }: IndexSuggestion) => !seen.has(text.toLowerCase()) && seen.add(text.toLowerCase());
  // Words first: they are what was begun.
  return [...out.filter(({ kind }) => kind === 'word'), ...out.filter(({ kind }) => kind === 'title')]
    .filter(isNew)
    .slice(0, limit);
}
