// A query as people type it: words, "phrases", -exclusions and field:words. Whatever a text is, reading it never fails: what is no operator is text.
import type { Analyser } from './words.js';

/** What a query asks of a document beside its words. */
export interface Condition {
  /** The words, which must follow one another. */
  words: string;
  /** The field that they are looked for in; undefined: text and title. */
  field: string | undefined;
  /** Whether documents with them are left out. */
  isExcluded: boolean;
  /** Whether they stood in quotes: then they are compared as they are written, without stems. */
  isQuoted: boolean;
}

/** A query as it was read. */
export interface Query {
  /** The words to look for, without operators: the query itself if it has none. */
  text: string;
  conditions: readonly Condition[];
  /** Whether there are words beside the conditions. */
  hasMore: boolean;
}

/** What reads queries needs to know. */
export interface QuerySetting {
  /** Whether documents have a text field of this name. */
  isField: (name: string) => boolean;
  /** Whether a text has words. */
  hasWords: (text: string) => boolean;
}

/** A longer text, or one with several lines, is not typed into a search box. */
const kMostTyped = 256;
/** Pairs of quotes: what opens, and what may close. */
const kQuotes: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['\u201e', '\u201c\u201d"'],
  ['\u201c', '\u201d"'],
  ['\u201d', '\u201d'],
  ['\u00ab', '\u00bb'],
  ['\u00bb', '\u00ab'],
  ['\u300c', '\u300d'],
];
const kSpace = /\s/;
/** What may stand between a closing quote and the next word. */
const kAfter = /^(?:$|[\s,;.:!?)\]}\u2026\u3002\uff0c])/;
const kLetterFirst = /^\p{L}/u;
const kName = /^([^\s\d:"\u201e\u201c\u201d\u00ab\u00bb\u300c][^\s:"\u201e\u201c\u201d\u00ab\u00bb\u300c]{0,63}):/u;

/** Whether a text may have operators, unless the caller says so: it fits into a search box. */
export const isTyped = (text: string): boolean => text.length <= kMostTyped && !/[\n\r\u2028\u2029]/.test(text);

/** The quoted text at a place, and where what follows it begins. */
function quotedAt(text: string, at: number): { words: string; end: number } | undefined {
  const closing = kQuotes.find(([opens]) => text[at] === opens)?.[1];
  if (closing === undefined) return undefined;
  for (let end = at + 1; end < text.length; ++end) {
    if (closing.includes(text[end]!) && kAfter.test(text.slice(end + 1, end + 2)))
      return { words: text.slice(at + 1, end), end: end + 1 };
  }
  return undefined;
}

/** Reads a query. Operators begin words: after a space, or first. */
export function readQuery(text: string, { isField, hasWords }: QuerySetting): Query {
  const conditions: Condition[] = [];
  let plain = '';
  let rest = '';
  let taken = 0; // up to here the text is in `plain` or in a condition
  let at = 0;
  while (at < text.length) {
    while (at < text.length && kSpace.test(text[at]!)) ++at;
    const begin = at;
    const isExcluded = text[at] === '-';
    if (isExcluded) ++at;
    else if (text[at] === '(' || text[at] === '[') ++at;
    let found = quotedAt(text, at);
    let field: string | undefined;
    if (!found) {
      const name = kName.exec(text.slice(at, at + 80))?.[1];
      const after = name === undefined ? at : at + name.length + 1;
      if (name !== undefined && isField(name)) {
        field = name;
        found = quotedAt(text, after);
      }
      const isQuoted = found !== undefined;
      let end = at;
      while (end < text.length && !kSpace.test(text[end]!)) ++end;
      if (!isQuoted && (field !== undefined || isExcluded))
        found = { words: text.slice(field === undefined ? at : after, end), end };
      if (!found) {
        at = end;
        continue;
      }
      // An option of a command (-v) and a number (-5) exclude nothing, and an address has a field's name only by chance.
      const isWord =
        field === undefined ? kLetterFirst.test(found.words) && [...found.words].length > 1 : !found.words.startsWith('//');
      if (!hasWords(found.words) || (!isQuoted && !isWord)) {
        at = isQuoted ? found.end : end;
        continue;
      }
      conditions.push({ words: found.words, field, isExcluded, isQuoted });
    } else {
      if (!hasWords(found.words)) {
        at = found.end;
        continue;
      }
      conditions.push({ words: found.words, field, isExcluded, isQuoted: true });
    }
    // What the title must have is found by words and by meaning, too; other fields have neither.
    const isSearched = !isExcluded && (field === undefined || field === 'title' || field === 'text');
    plain += `${text.slice(taken, begin)} ${isSearched ? found.words : ''} `;
    rest += `${text.slice(taken, begin)} `;
    taken = at = found.end;
  }
  if (conditions.length === 0) return { text, conditions, hasMore: true };
  return {
    text: `${plain}${text.slice(taken)}`.replace(/\s+/g, ' ').trim(),
    conditions,
    hasMore: hasWords(rest + text.slice(taken)),
  };
}

/** Where these terms follow one another in a text, in steps. Some words at a time are read. */
export function* placesOf(analyser: Analyser, text: string, terms: readonly string[]): Generator<undefined, number[], undefined> {
  const places: number[] = [];
  const last: { term: string; start: number }[] = [];
  for (const words of analyser.batches(text)) {
    for (const { term, start } of words) {
      last.push({ term, start });
      if (last.length > terms.length) last.shift();
      if (last.length === terms.length && term === terms.at(-1) && last.every((each, i) => each.term === terms[i]))
        places.push(last[0]!.start);
    }
    yield;
  }
  return places;
}
