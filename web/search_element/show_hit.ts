// A hit as it is shown: title, headings, the passage around the query's words, address.
import type { ShownHit } from './types.js';

/** Characters of a passage, and those before its first word. */
const kPassage = 180;
const kBefore = 50;

const stringIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Where a hit leads. */
export const urlOf = (hit: ShownHit): string =>
  hit.url ?? stringIn(hit.document?.['url']) ?? `#${encodeURIComponent(hit.id ?? '')}`;

export const titleOf = (hit: ShownHit): string => stringIn(hit.title) ?? stringIn(hit.document?.['title']) ?? hit.id ?? urlOf(hit);

/** Where a passage begins: at a word, a little before the place with the most of the query's words. */
function startOf({ text, highlights }: ShownHit): number {
  let [best, most] = [0, 0];
  for (const { start } of highlights) {
    const count = highlights.filter((other) => other.start >= start && other.end <= start + kPassage - kBefore).length;
    if (count > most) [best, most] = [start, count];
  }
  if (best <= kBefore) return 0;
  const space = text.indexOf(' ', best - kBefore);
  return space < 0 || space >= best ? best : space + 1;
}

function passage(hit: ShownHit, document: Document): (Node | string)[] {
  const { text, highlights } = hit;
  const start = startOf(hit);
  let end = Math.min(text.length, start + kPassage);
  if (end < text.length) end = Math.max(text.lastIndexOf(' ', end), start + kPassage / 2);
  const out: (Node | string)[] = start > 0 ? ['\u2026 '] : [];
  let at = start;
  for (const place of highlights) {
    if (place.start < at || place.end > end) continue;
    const mark = document.createElement('mark');
    mark.setAttribute('part', 'mark');
    mark.textContent = text.slice(place.start, place.end);
    out.push(text.slice(at, place.start), mark);
    at = place.end;
  }
  out.push(text.slice(at, end), end < text.length ? ' \u2026' : '');
  return out;
}

/** An address as people read it: without the origin of the page. */
function shownUrl(url: string, document: Document): string {
  try {
    const { origin, host, pathname, hash } = new URL(url, document.baseURI);
    const path = decodeURIComponent(pathname + hash);
    return origin === new URL(document.baseURI).origin ? path : host + path;
  } catch {
    return url;
  }
}

/** An option of the list, which is a link. */
export function showHit(hit: ShownHit, number: number, document: Document): HTMLAnchorElement {
  const link = document.createElement('a');
  const url = urlOf(hit);
  link.href = url;
  link.id = `hit-${number}`;
  link.tabIndex = -1;
  link.className = 'hit';
  link.setAttribute('part', 'hit');
  link.setAttribute('role', 'option');
  link.setAttribute('aria-selected', 'false');
  const line = (name: string, ...content: (Node | string)[]) => {
    const span = document.createElement('span');
    span.className = name;
    span.setAttribute('part', name);
    span.append(...content);
    link.append(span);
  };
  line('title', titleOf(hit));
  if (hit.headings?.length) line('path', hit.headings.join(' \u203a '));
  line('text', ...passage(hit, document));
  line('url', shownUrl(url, document));
  return link;
}
