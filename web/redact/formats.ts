// The parts of HTML, JSON and CSV that are texts for people. Nothing else is changed, so what was well formed stays so.

/** How `redact` interprets a text. */
export type RedactFormat = 'text' | 'html' | 'json' | 'csv';

export const kFormats: readonly RedactFormat[] = ['text', 'html', 'json', 'csv'];

/** A part of a text without its escapes. */
export interface Part {
  text: string;
  /** What precedes it for a reader: a key, the head of a column, the text of the element before. */
  context: string;
  /** Where it begins in the whole. */
  start: number;
  /** The place in the whole of each UTF-16 unit, and of the end; absent: the part has no escapes. */
  places?: number[];
}

/** The place in the whole of a place in a part. */
export const placeOf = (part: Part, index: number): number => (part.places ? (part.places[index] as number) : part.start + index);

/** The part of the whole from start to end, without what the pattern matches as escapes. */
function unescaped(
  whole: string,
  start: number,
  end: number,
  context: string,
  escape: RegExp,
  decode: (escaped: string) => string,
): Part {
  const raw = whole.slice(start, end);
  let text = '';
  let from = 0;
  const places: number[] = [];
  const copy = (to: number) => {
    for (let i = from; i < to; ++i) places.push(start + i);
    text += raw.slice(from, to);
  };
  for (const { 0: escaped, index } of raw.matchAll(escape)) {
    const decoded = decode(escaped);
    copy(index);
    for (let i = 0; i < decoded.length; ++i) places.push(start + index);
    text += decoded;
    from = index + escaped.length;
  }
  if (from === 0) return { text: raw, context, start };
  copy(raw.length);
  places.push(end);
  return { text, context, start, places };
}

const kNamed: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', commat: '@', period: '.', colon: ':', sol: '/', num: '#', plus: '+', hyphen: '-', lpar: '(', rpar: ')' }; // prettier-ignore
const kReference = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-z]{2,8});/g;

function decodeReference(reference: string): string {
  const name = reference.slice(1, -1);
  if (name[0] !== '#') return kNamed[name] ?? reference;
  const code = /[xX]/.test(name[1] as string) ? parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : reference;
}

const kShown = new Set('alt title placeholder aria-label aria-description aria-valuetext aria-placeholder label value content summary abbr'.split(' ')); // prettier-ignore
const kHidden = /^<(script|style|template|noscript)[\s/>]/i;
const kAttribute = /([^\s"'<>/=]{1,64})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=`]+))/g;

/** The end of a tag: quoted values may have `>`. */
function tagEnd(whole: string, start: number): number {
  let quote = '';
  for (let i = start + 1; i < whole.length; ++i) {
    const char = whole[i] as string;
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '>') return i + 1;
    else if ((char === '"' || char === "'") && whole[i - 1] === '=') quote = char;
  }
  return whole.length;
}

function* htmlParts(whole: string): Generator<Part> {
  let context = '';
  const shown = (start: number, end: number) => unescaped(whole, start, end, context, kReference, decodeReference);
  for (let at = 0; at < whole.length;) {
    if (whole[at] !== '<' || !/[a-zA-Z/!?]/.test(whole[at + 1] ?? '')) {
      let next = at + 1;
      while (next < whole.length && !(whole[next] === '<' && /[a-zA-Z/!?]/.test(whole[next + 1] ?? ''))) ++next;
      const part = shown(at, next);
      yield part;
      context = `${context} ${part.text}`.slice(-64);
      at = next;
      continue;
    }
    if (whole.startsWith('<!--', at)) {
      const end = whole.indexOf('-->', at + 4);
      at = end < 0 ? whole.length : end + 3;
      continue;
    }
    const end = tagEnd(whole, at);
    const tag = whole.slice(at, end);
    for (const match of tag.matchAll(kAttribute)) {
      const name = (match[1] as string).toLowerCase();
      const value = match[2] ?? match[3] ?? match[4] ?? '';
      if (!kShown.has(name) && !(name === 'href' && /^(?:mailto|tel|sms):/i.test(value))) continue;
      const quoted = match[4] === undefined ? 1 : 0;
      const start = at + match.index + match[0].length - quoted - value.length;
      yield shown(start, start + value.length);
    }
    const hidden = kHidden.exec(tag)?.[1];
    at = end;
    if (hidden && !tag.endsWith('/>')) {
      const close = new RegExp(`</${hidden}[\\s/>]`, 'gi');
      close.lastIndex = end;
      at = close.exec(whole)?.index ?? whole.length;
    }
  }
}

const kJsonEscape = /\\(?:u[0-9a-fA-F]{4}|[^u])/g;
const kJsonChars: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const decodeJson = (escaped: string): string =>
  escaped[1] === 'u' ? String.fromCharCode(parseInt(escaped.slice(2), 16)) : (kJsonChars[escaped[1] as string] ?? (escaped[1] as string)); // prettier-ignore

/** String values; names of members are their context. Reads JSON Lines, too. */
function* jsonParts(whole: string): Generator<Part> {
  let key = '';
  for (let at = whole.indexOf('"'); at >= 0;) {
    let end = at + 1;
    while (end < whole.length && whole[end] !== '"') end += whole[end] === '\\' ? 2 : 1;
    end = Math.min(end, whole.length);
    let next = end + 1;
    while (/[\t\n\r ]/.test(whole[next] ?? '')) ++next;
    const part = unescaped(whole, at + 1, end, key, kJsonEscape, decodeJson);
    if (whole[next] === ':') key = `${part.text.slice(0, 48)}: `;
    else yield part;
    at = whole.indexOf('"', end + 1);
  }
}

/** The character that most often stands outside quotes in the first line. */
function delimiterOf(whole: string): string {
  const counts = new Map([',', ';', '\t', '|'].map((each) => [each, 0]));
  let quoted = false;
  for (const char of whole) {
    if (char === '"') quoted = !quoted;
    else if (char === '\n' && !quoted) break;
    else if (!quoted && counts.has(char)) counts.set(char, (counts.get(char) as number) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] as string;
}

/** Cells (RFC 4180; the delimiter is found out). The heads of columns are the cells' context. */
function* csvParts(whole: string): Generator<Part> {
  const delimiter = delimiterOf(whole);
  const heads: string[] = [];
  let [row, column] = [0, 0];
  for (let at = 0; at < whole.length;) {
    const quoted = whole[at] === '"';
    let end = at + (quoted ? 1 : 0);
    if (quoted) while (end < whole.length && !(whole[end] === '"' && whole[end + 1] !== '"')) end += whole[end] === '"' ? 2 : 1;
    else while (end < whole.length && whole[end] !== delimiter && whole[end] !== '\n' && whole[end] !== '\r') ++end;
    end = Math.min(end, whole.length);
    const part = unescaped(whole, at + (quoted ? 1 : 0), end, row > 0 ? (heads[column] ?? '') : '', /""/g, () => '"');
    if (row === 0) heads.push(/[\d@]/.test(part.text) ? '' : `${part.text.slice(0, 48)}: `);
    yield part;
    at = end + (quoted ? 1 : 0);
    while (at < whole.length && whole[at] !== delimiter && whole[at] !== '\n') ++at;
    if (whole[at] === delimiter) ++column;
    else [row, column] = [row + 1, 0];
    ++at;
  }
}

/** The parts of a text in which something may be redacted, in their order. */
export function partsOf(whole: string, format: RedactFormat): Part[] {
  if (format === 'html') return [...htmlParts(whole)].sort((a, b) => a.start - b.start);
  if (format === 'json') return [...jsonParts(whole)];
  return format === 'csv' ? [...csvParts(whole)] : [{ text: whole, context: '', start: 0 }];
}
