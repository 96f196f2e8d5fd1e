// Pages and their parts: what a heading leads, divided between paragraphs, else sentences, else words.

/** What a heading leads, until the next one. */
export interface PageSection {
  /** The id of the heading, which addresses have after '#'; '' at the beginning of a page. */
  fragment: string;
  /** The headings above, outermost first, its own last; without the page's title. */
  headings: string[];
  text: string;
}

/** A page of a site. */
export interface SitePage {
  /** Relative to the site's folder. */
  url: string;
  title: string;
  sections: PageSection[];
  /** What its score is multiplied with, from 0 to 2. Default 1. */
  weight?: number;
}

/** A part of a page, which is found as a whole. heading: its own, '' where the part before has the same one. */
export interface PageRow extends PageSection {
  heading: string;
}

/** What a part holds at most and, if there is more, at least: characters, where one of an unspaced script is three. */
const kMost = 900;
const kLeast = 200;

const kWide = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;
const sizeOf = (text: string): number => text.length + 2 * (text.match(kWide)?.length ?? 0);

/** The pieces of a text between which it may be cut, the most natural first: they join to the text. */
const kCuts: readonly ((text: string) => string[])[] = [
  (text) => text.match(/[^]+?(?:\n\s*\n|$)/g) ?? [text],
  (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [text],
  (text) => Array.from(new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text), ({ segment }) => segment),
  (text) => text.match(/\s*\S+\s*/g) ?? [text],
  (text) => text.match(/[^]{1,250}(?![\udc00-\udfff])/g) ?? [text],
];

function cutText(text: string, depth = 0): string[] {
  if (sizeOf(text) <= kMost || depth === kCuts.length) return [text];
  const out: string[] = [];
  let part = '';
  for (const piece of kCuts[depth]!(text).flatMap((each) => cutText(each, depth + 1))) {
    if (part !== '' && sizeOf(part) + sizeOf(piece) > kMost) {
      out.push(part);
      part = '';
    }
    part += piece;
  }
  if (part !== '') out.push(part);
  const [last, before] = [out.at(-1)!, out.at(-2)];
  if (before !== undefined && sizeOf(last) < kLeast && sizeOf(before) + sizeOf(last) <= kMost + kLeast)
    out.splice(-2, 2, before + last);
  return out;
}

/** The parts of a page. A section that is short goes on with the next one. */
export function cutPage({ sections, title }: SitePage): PageRow[] {
  const out: PageRow[] = [];
  for (const { fragment, headings, text } of sections) {
    const heading = headings.at(-1) ?? '';
    const last = out.at(-1);
    if (last && sizeOf(last.text) < kLeast && sizeOf(last.text) + sizeOf(heading) + sizeOf(text) <= kMost) {
      last.text = `${last.text}\n\n${heading}\n${text}`.trim();
      continue;
    }
    cutText(text.trim()).forEach((part, i) => out.push({ fragment, headings, heading: i === 0 ? heading : '', text: part.trim() }));
  }
  if (out.length === 0) out.push({ fragment: '', headings: [], heading: '', text: title });
  return out;
}
