// Where in a document a part of it is: the headings above it, as a path.
import type { IndexDocument } from './types.js';

/** A heading, and where it begins in the document's text. */
export interface Heading {
  start: number;
  /** 1 to 6. */
  level: number;
  title: string;
}

/** A fence of code, or a heading with number signs, as Markdown has them. */
const kLine = /^ {0,3}(?:(`{3,}|~{3,})|(#{1,6})[ \t]+(\S[^\n]{0,1000}))/gm;

/** Headings of Markdown in a text before some place and at it. */
function markdownHeadings(text: string, end: number): Heading[] {
  const out: Heading[] = [];
  let fence: string | undefined;
  kLine.lastIndex = 0;
  for (let found = kLine.exec(text); found && found.index <= end; found = kLine.exec(text)) {
    const [, mark, signs, title] = found;
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    } else if (fence === undefined) {
      out.push({ start: found.index, level: signs!.length, title: title!.replace(/\s+#+\s*$/, '').trim() });
    }
  }
  return out;
}

const isHeading = (value: unknown): value is Heading => {
  const { start, level, title } = Object(value) as Heading;
  return Number.isInteger(start) && Number.isInteger(level) && level >= 1 && level <= 6 && typeof title === 'string';
};

/** The titles of the headings over a place, the outermost first: those of the document's field `headings`, or else of the Markdown in its text. */
export function headingsAt(document: IndexDocument, place: number): string[] {
  const given = Object.hasOwn(document, 'headings') ? document['headings'] : undefined;
  const all = Array.isArray(given) && given.every(isHeading) ? given : markdownHeadings(document.text, place);
  const path: Heading[] = [];
  for (const heading of all) {
    if (heading.start > place) break;
    while (path.length > 0 && path.at(-1)!.level >= heading.level) path.pop();
    path.push(heading);
  }
  return path.map(({ title }) => title);
}
