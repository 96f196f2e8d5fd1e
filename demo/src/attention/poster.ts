// One token's attention as one picture: the words in a row, and arcs from one of them to what it looks at.
import { escaped } from '../ui/picture.js';
import { wordsOf } from '../ui/words.js';
import { linkOf, type Link } from './evidence.js';
import type { Inside } from './use_inside.js';

const kSize = 20; // px of letters
const kLetter = 0.62; // widths of a letter, of kSize, in a monospaced font
const kGap = 18;
const kLeast = 0.02; // of a weight that gets an arc

export function poster(inside: Inside, link: Link): string {
  const seq = inside.tokens.length;
  const all = inside.attentions[link.layer]?.[link.head]?.subarray(link.from * seq, (link.from + 1) * seq) ?? new Float32Array();
  const words = wordsOf(inside);
  const tokens = words.map(({ text }) => text);
  const weights = words.map((word) => word.tokens.reduce((sum, i) => sum + (all[i] ?? 0), 0));
  const [from, to] = [link.from, link.to].map((i) => words.findIndex((word) => word.tokens.includes(i))) as [number, number];
  const widths = tokens.map((token) => [...token].length * kSize * kLetter);
  const lefts = widths.map((_, i) => 40 + widths.slice(0, i).reduce((sum, width) => sum + width + kGap, 0));
  const middle = (i: number) => (lefts[i] as number) + (widths[i] as number) / 2;
  const width = (lefts.at(-1) ?? 0) + (widths.at(-1) ?? 0) + 40;
  const reach = Math.max(...tokens.map((_, i) => ((weights[i] ?? 0) >= kLeast ? Math.abs(middle(i) - middle(from)) : 0)));
  const base = 90 + reach / 2;
  const arcs = tokens.map((_, i) => {
    const weight = weights[i] ?? 0;
    if (i === from || weight < kLeast) return '';
    const radius = Math.abs(middle(i) - middle(from)) / 2;
    const sweep = middle(from) < middle(i) ? 1 : 0;
    const colour = i === to ? '#f97316' : '#6d5ef0';
    return `<path d="M${middle(from)} ${base}A${radius} ${radius} 0 0 ${sweep} ${middle(i)} ${base}" fill="none" stroke="${colour}" stroke-width="${1 + 12 * weight}" stroke-opacity="${0.25 + 0.75 * Math.sqrt(weight)}"/>`;
  });
  const labels = tokens.map((token, i) => {
    const weight = weights[i] ?? 0;
    const share = weight < kLeast ? '' : `<text x="${middle(i)}" y="${base + 56}" text-anchor="middle" font-size="13" fill="#5b5b72">${Math.round(100 * weight)} %</text>`; // prettier-ignore
    return `<text x="${middle(i)}" y="${base + 28}" text-anchor="middle" font-weight="${i === from || i === to ? 700 : 400}">${escaped(token)}</text>${share}`;
  });
  const [asker, target] = [tokens[from] ?? '', tokens[to] ?? ''];
  const { layer, head } = link;
  const average = words[to]?.tokens.reduce((sum, i) => sum + linkOf(inside.attentions, seq, layer, head, link.from, i).average, 0) ?? 0; // prettier-ignore
  const title = `“${asker}” looks at “${target}” with ${Math.round(100 * (weights[to] ?? 0))} % of its attention; other tokens give it ${Math.round(100 * average)} %`;
  const note = `layer ${layer + 1}, head ${head + 1} · computed in the browser with wattn`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(base + 90)}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="${kSize}" fill="#1d1b2e"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/><text x="40" y="44" font-family="system-ui, sans-serif" font-weight="700">${escaped(title)}</text><text x="40" y="${base + 78}" font-family="system-ui, sans-serif" font-size="12" fill="#5b5b72">${note}</text>${arcs.join('')}${labels.join('')}</svg>`;
}
