// Draws hits and documents.
import type { IndexDocument, IndexHit } from 'wattn';

/** An element with a class and contents. */
function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  name: string,
  ...contents: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...contents);
  return element;
}

/** A text with highlighted ranges. */
function marked(text: string, places: { start: number; end: number }[]): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const { start, end } of places) {
    parts.push(text.slice(at, start), make('mark', '', text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

const titleOf = ({ title, text }: IndexDocument) => title ?? text.slice(0, 60);

export function hitItem({ document, text, highlights, why }: IndexHit): HTMLLIElement {
  const reasons = make('p', 'why');
  if (why.meaning !== null) {
    const share = Math.max(0, Math.min(1, why.meaning));
    const meter = make('meter', '');
    Object.assign(meter, { min: 0, max: 1, value: share });
    meter.setAttribute('aria-label', 'Closeness of meaning');
    reasons.append(meter, `meaning ${why.meaning.toFixed(2)}`);
  }
  if (why.words) reasons.append(make('span', 'chip', `words ${why.words.toFixed(1)}`));
  return make('li', 'card', make('h3', '', titleOf(document)), make('p', 'text', ...marked(text, highlights)), reasons);
}

export function documentItem(document: IndexDocument, remove: () => void): HTMLLIElement {
  const button = make('button', 'quiet', 'Remove');
  button.type = 'button';
  button.setAttribute('aria-label', `Remove ${titleOf(document)}`);
  button.addEventListener('click', remove);
  return make(
    'li',
    'row',
    make('div', '', make('h3', '', titleOf(document)), make('p', 'text excerpt', document.text.slice(0, 400))),
    button,
  );
}
