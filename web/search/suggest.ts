// What a text in a search box may become: its last word completed, and titles.
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { termsOf } from './conditions.js';
import { titleOf, type Contents } from './contents.js';
import type { IndexSuggestion } from './types.js';

/** Completions whose documents are counted. */
const kMostCounted = 200;

const hasEach = (words: readonly string[], others: readonly string[]) =>
  others.every((other, i) => (i === others.length - 1 ? words.some((word) => word.startsWith(other)) : words.includes(other)));

/** The words of the index must be read. The last word of `text` is the beginning of others; what comes before it stays. */
export async function suggest(
  contents: Contents,
  text: string,
  limit: number,
  signal: AbortSignalLike | undefined,
): Promise<IndexSuggestion[]> {
  const { words, documents, owners } = contents;
  const breather = new Breather();
  const read = await words.analyser.read(text, signal);
  const last = read.at(-1);
  if (!last) return [];
  const isFinished = last.end < text.length;
  const before = (isFinished ? read : read.slice(0, -1)).map(({ term }) => term).filter((term) => words.holders(term) > 0);
  let among: Set<number> | undefined;
  for (const term of before) {
    const holders = words.documentsWith(term);
    among = among ? new Set([...among].filter((first) => holders.has(first))) : holders;
  }
  const out: IndexSuggestion[] = [];
  const typed = read.map(({ word }) => word);
  for (const { document } of documents.values()) {
    const title = titleOf(document);
    if (title !== undefined && hasEach(termsOf(contents.asWritten, title), typed))
      out.push({ text: title, kind: 'title', documents: 1 });
    await breather.breathe(signal);
    if (out.length >= limit) break;
  }
  if (isFinished) return out;
  /** Words by their terms, the shortest one of each. */
  const forms = new Map<string, string>();
  for (const [word, term] of words.vocabulary()) {
    if (!word.startsWith(last.word) || words.holders(term) === 0) continue;
    const known = forms.get(term);
    if (known === undefined || word.length < known.length) forms.set(term, word);
  }
  const frequent = [...forms].sort(([a], [b]) => words.holders(b) - words.holders(a)).slice(0, kMostCounted);
  const counted: { word: string; first: number; count: number }[] = [];
  for (const [term, word] of frequent) {
    const holders = [...words.documentsWith(term)].filter((first) => !among || among.has(first));
    if (holders.length > 0) counted.push({ word, first: holders[0]!, count: holders.length });
    await breather.breathe(signal);
  }
  counted.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1));
  for (const { word, first, count } of counted.slice(0, limit)) {
    // As a document writes it, with its accents.
    const document = owners[first]?.document;
    let written = word;
    for (const source of document ? [document.text, titleOf(document) ?? ''] : []) {
      const found = [...contents.asWritten.batches(source)].flat().find((each) => each.word === word);
      if (!found) continue;
      written = source.slice(found.start, found.end);
      break;
    }
    out.push({ text: text.slice(0, last.start) + written.toLowerCase(), kind: 'word', documents: count });
  }
  const seen = new Set<string>();
  const isNew = ({ text }: IndexSuggestion) => !seen.has(text.toLowerCase()) && seen.add(text.toLowerCase());
  // Words first: they are what was begun.
  return [...out.filter(({ kind }) => kind === 'word'), ...out.filter(({ kind }) => kind === 'title')]
    .filter(isNew)
    .slice(0, limit);
}
