// One token's attention as one picture: the words in a row, and arcs from one of them to what it looks at.
import { escaped } from '../ui/picture.js';
import type { Link } from './evidence.js';
import type { Inside } from './use_inside.js';

const kSize = 20; // px of letters
const kLetter = 0.62; // widths of a letter, of kSize, in a monospaced font
const kGap = 18;
const kLeast = 0.02; // of a weight that gets an arc

export function poster(inside: Inside, link: Link): string {
  const { tokens } = inside;
  const seq = tokens.length;
  const weights =
    inside.attentions[link.layer]?.[link.head]?.subarray(link.from * seq, (link.from + 1) * seq) ?? new Float32Array();
  const widths = tokens.map((token) => [...token].length * kSize * kLetter);
  const lefts = widths.map((_, i) => 40 + widths.slice(0, i).reduce((sum, width) => sum + width + kGap, 0));
  const middle = (i: number) => (lefts[i] as number) + (widths[i] as number) / 2;
  const width = (lefts.at(-1) ?? 0) + (widths.at(-1) ?? 0) + 40;
  const reach = Math.max(...tokens.map((_, i) => ((weights[i] ?? 0) >= kLeast ? Math.abs(middle(i) - middle(link.from)) : 0)));
  const base = 90 + reach / 2;
  const arcs = tokens.map((_, i) => {
    const weight = weights[i] ?? 0;
    if (i === link.from || weight < kLeast) return '';
    const radius = Math.abs(middle(i) - middle(link.from)) / 2;
    const sweep = middle(link.from) < middle(i) ? 1 : 0;
    const colour = i === link.to ? '#f97316' : '#6d5ef0';
    return `<path d="M${middle(link.from)} ${base}A${radius} ${radius} 0 0 ${sweep} ${middle(i)} ${base}" fill="none" stroke="${colour}" stroke-width="${1 + 12 * weight}" stroke-opacity="${0.25 + 0.75 * Math.sqrt(weight)}"/>`;
  });
  const words = tokens.map((token, i) => {
    const weight = weights[i] ?? 0;
    const share = weight < kLeast ? '' : `<text x="${middle(i)}" y="${base + 56}" text-anchor="middle" font-size="13" fill="#5b5b72">${Math.round(100 * weight)} %</text>`; // prettier-ignore
    return `<text x="${middle(i)}" y="${base + 28}" text-anchor="middle" font-weight="${i === link.from || i === link.to ? 700 : 400}">${escaped(token)}</text>${share}`;
  });
  const [asker, target] = [tokens[link.from] ?? '', tokens[link.to] ?? ''];
  const title = `“${asker}” looks at “${target}” with ${Math.round(100 * link.weight)} % of its attention; other tokens give it ${Math.round(100 * link.average)} %`;
  const note = `layer ${link.layer + 1}, head ${link.head + 1} · computed in the browser with wattn`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(base + 90)}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="${kSize}" fill="#1d1b2e"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/><text x="40" y="44" font-family="system-ui, sans-serif" font-weight="700">${escaped(title)}</text><text x="40" y="${base + 78}" font-family="system-ui, sans-serif" font-size="12" fill="#5b5b72">${note}</text>${arcs.join('')}${words.join('')}</svg>`;
}
