// Titles and texts of Markdown and HTML, as a reader sees them. They take time in proportion to the file, whatever it has.
import { extname } from 'node:path';
import { Parser, Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import type { Heading } from '../search/headings.js';
import type { IndexDocument } from '../search/types.js';

const kTexts = ['.txt', '.text'];
export const kMarkdown = ['.md', '.markdown', '.mdx'];
export const kHtml = ['.html', '.htm', '.xhtml'];
/** Ends of the names of files that are read. */
export const kKnown = [...kTexts, ...kMarkdown, ...kHtml];

// What a reader does not see, and what begins on a line of its own.
const kHidden = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'nav']);
const kLines = new Set(
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
const kParagraphs = /^(p|h[1-6]|ul|ol|table|pre|section|article|blockquote)$/;
/** Tags inside each other that the parser is told of: it looks through all of them at each tag. Browsers stop at 512. */
const kDeepest = 256;

/** Tags that are nested more deeply: open ones by name. They begin lines and hide text like others, and end with the one they are in. */
class Deep {
  private open = new Map<string, number>();
  hidden = 0;

  begin(name: string): void {
    this.open.set(name, (this.open.get(name) ?? 0) + 1);
    if (kHidden.has(name)) ++this.hidden;
  }

  /** Whether it was one of these. */
  end(name: string): boolean {
    const count = this.open.get(name) ?? 0;
    if (count === 0) return false;
    this.open.set(name, count - 1);
    if (kHidden.has(name)) --this.hidden;
    return true;
  }

  endAll(): void {
    this.open.clear();
    this.hidden = 0;
  }
}

/** A heading without its place. */
interface Titled {
  level: number;
  title: string;
}

export function readHtml(html: string): { title: string; text: string; headings: Titled[] } {
  const headings: Titled[] = [];
  let heading: { level: number; from: number } | undefined;
  let [title, text, hidden, isTitle, depth, isDeep] = ['', '', 0, false, 0, false];
  const deep = new Deep();
  const isSeen = () => hidden + deep.hidden === 0;
  const beginLine = (name: string) => {
    if (isSeen() && kLines.has(name)) text += kParagraphs.test(name) ? '\n\n' : '\n';
  };
  const endLine = (name: string) => {
    if (isSeen() && kLines.has(name) && name !== 'br') text += '\n';
  };
  const nameAt = (start: number, end: number) => html.slice(start, end).toLowerCase();
  const limited = (parser: TokenizerCallbacks): TokenizerCallbacks => ({
    onattribdata: (start, end) => void (isDeep || parser.onattribdata(start, end)),
    onattribentity: (code) => void (isDeep || parser.onattribentity(code)),
    onattribend: (quote, end) => void (isDeep || parser.onattribend(quote, end)),
    onattribname: (start, end) => void (isDeep || parser.onattribname(start, end)),
    oncdata: (...at) => parser.oncdata(...at),
    oncomment: (...at) => parser.oncomment(...at),
    ondeclaration: (...at) => parser.ondeclaration(...at),
    onend: () => parser.onend(),
    onprocessinginstruction: (...at) => parser.onprocessinginstruction(...at),
    ontext: (...at) => parser.ontext(...at),
    ontextentity: (...at) => parser.ontextentity(...at),
    isInForeignContext: () => parser.isInForeignContext?.() ?? false,
    onopentagname(start, end) {
      const name = nameAt(start, end);
      isDeep = depth >= kDeepest && name !== 'br' && name !== 'hr';
      if (!isDeep) return parser.onopentagname(start, end);
      deep.begin(name);
      beginLine(name);
    },
    onopentagend: (end) => void (isDeep || parser.onopentagend(end)),
    onselfclosingtag: (end) => void (isDeep || parser.onselfclosingtag(end)),
    onclosetag(start, end) {
      const name = nameAt(start, end);
      if (deep.end(name)) endLine(name);
      else parser.onclosetag(start, end);
    },
  });
  const Limited = class extends Tokenizer {
    constructor(options: ConstructorParameters<typeof Tokenizer>[0], parser: TokenizerCallbacks) {
      super(options, limited(parser));
    }
  };
  const parser = new Parser(
    {
      onopentag(name) {
        ++depth;
        if (name === 'title') isTitle = true;
        if (kHidden.has(name)) ++hidden;
        beginLine(name);
        if (/^h[1-6]$/.test(name) && isSeen()) heading = { level: Number(name[1]), from: text.length };
      },
      ontext(data) {
        if (isTitle) title += data;
        else if (isSeen()) text += data.replace(/\s+/g, ' ');
      },
      onclosetag(name) {
        if (--depth < kDeepest) deep.endAll();
        if (name === 'title') isTitle = false;
        if (kHidden.has(name)) --hidden;
        if (heading && /^h[1-6]$/.test(name)) {
          headings.push({ level: heading.level, title: text.slice(heading.from).trim() });
          heading = undefined;
        }
        endLine(name);
      },
    },
    { Tokenizer: Limited },
  );
  parser.write(html);
  parser.end();
  return { title, text: withoutBlanks(text), headings };
}

/** Lines without spaces around them, and at most one empty line between two. */
function withoutBlanks(text: string): string {
  const lines = text.split('\n').map((line) => {
    let [start, end] = [0, line.length];
    while (line[start] === ' ') ++start;
    while (end > start && line[end - 1] === ' ') --end;
    return line.slice(start, end);
  });
  return lines.join('\n').replace(/\n{3,}/g, '\n\n');
}

/** A value of front matter without the quotes around it. */
function unquoted(value: string): string {
  const text = value.trim();
  const from = /^["']/.test(text) ? 1 : 0;
  return text.slice(from, /["']$/.test(text) ? -1 : undefined).trim();
}

/** A heading without the number signs that may end it. */
function withoutSigns(heading: string): string {
  let end = heading.trimEnd().length;
  while (end > 1 && heading[end - 1] === '#') --end;
  return heading.slice(0, end).trimEnd();
}

/** Without its front matter, whose title counts, as does the first heading. No expression here looks twice at the same characters. */
export function readMarkdown(markdown: string): { title: string; text: string } {
  const [front = ''] = /^---\r?\n[^]*?\n---\r?\n/.exec(markdown) ?? [];
  const text = markdown.slice(front.length);
  const [, named = ''] = /^title:(.*)$/m.exec(front) ?? [];
  const [, heading = ''] = /^#[ \t]+(\S.*)$/m.exec(text) ?? [];
  return { title: unquoted(named) || withoutSigns(heading), text };
}

/** Where headings begin in a text: each at the beginning of a line, after the one before it. */
function placed(headings: readonly Titled[], text: string): Heading[] {
  const out: Heading[] = [];
  let at = 0;
  for (const { level, title } of headings) {
    const [line = ''] = withoutBlanks(title).split('\n');
    if (line === '') continue;
    let start = text.indexOf(line, at);
    while (start > 0 && text[start - 1] !== '\n') start = text.indexOf(line, start + 1);
    if (start < 0) continue;
    out.push({ start, level, title: title.replace(/\s+/g, ' ').trim() });
    at = start + line.length;
  }
  return out;
}

/** A longer title is a part of the text: an index reads titles with every part of it. */
const kLongestTitle = 1000;

/** A file's document; undefined where it has no words. */
export function toDocument(id: string, content: string): IndexDocument | undefined {
  const type = extname(id).toLowerCase();
  const read: { title: string; text: string; headings?: Titled[] } = kHtml.includes(type)
    ? readHtml(content)
    : kMarkdown.includes(type)
      ? readMarkdown(content)
      : { title: '', text: content };
  const title = read.title.replace(/\s+/g, ' ').trim();
  const isLong = title.length > kLongestTitle;
  const text = `${isLong ? `${title}\n\n` : ''}${read.text}`.trim();
  if (text === '' && title === '') return undefined;
  const headings = placed(read.headings ?? [], text);
  return { id, text, ...(title !== '' && !isLong && { title }), ...(headings.length > 0 && { headings }) };
}
