// Where each part of the picture is. Units: px of the screen while the whole is seen; nearer, everything is that much larger.
import { isVector, kWhole, parentOf, part, type Part, type Sizes } from './parts.js';

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Layout {
  width: number;
  height: number;
  sizes: Sizes;
  /** Top of the first row, and the height of each. */
  top: number;
  row: number;
}

const kHead = 40; // px: titles of columns and of what is in them
const kFoot = 6;
/** Where a layer's columns begin and end, as shares of its width. */
const kParts = { heads: [0.03, 0.53], mixes: [0.56, 0.65], ffn: [0.69, 0.81], outs: [0.85, 0.97] } as const;
/** The same without the numbers between attention and output. */
const kFewParts = { heads: [0.03, 0.78], mixes: [0, 0], ffn: [0, 0], outs: [0.83, 0.97] } as const;
/** Shares of a head's width. The tokens that are looked at are on the left, those that look on the right. */
export const kHeadParts = { key: [0.02, 0.11], value: [0.12, 0.21], lines: [0.24, 0.74], query: [0.77, 0.87], context: [0.89, 0.99] } as const; // prettier-ignore
const kPad = 0.1; // of a row, above and below a vector

export function layoutOf(width: number, height: number, sizes: Sizes): Layout {
  const rows = Math.max(1, sizes.tokens, sizes.guesses);
  return { width, height, sizes, top: kHead, row: (height - kHead - kFoot) / rows };
}

interface Columns {
  tokens: Rect;
  vectors: Rect;
  layer(i: number): Rect;
  output: Rect;
}

function columnsOf({ width, height, sizes: { layers } }: Layout): Columns {
  const [tokens, output] = [Math.min(110, Math.max(50, width * 0.12)), Math.min(190, Math.max(74, width * 0.17))];
  const vectors = Math.min(90, (width - tokens - output) / (2 * layers + 1));
  const each = (width - tokens - output - vectors) / layers;
  const at = (x: number, w: number): Rect => ({ x, y: 0, w, h: height });
  return {
    tokens: at(0, tokens),
    vectors: at(tokens, vectors),
    layer: (i) => at(tokens + vectors + i * each, each),
    output: at(width - output, output),
  };
}

const within = ({ x, y, w, h }: Rect, [from, to]: readonly [number, number]): Rect => ({ x: x + from * w, y, w: (to - from) * w, h }); // prettier-ignore

/** One row of a column; tight: without the space above and below. */
function rowIn({ top, row }: Layout, { x, w }: Rect, i: number, tight = false): Rect {
  const pad = tight ? row * kPad : 0;
  return { x, y: top + i * row + pad, w, h: row - 2 * pad };
}

/** The grid of a vector: a few more columns than rows, and no empty cells where that can be. */
export function gridOf(count: number): { columns: number; rows: number } {
  const wanted = Math.max(1, Math.round(Math.sqrt(count * 1.3)));
  const even = [0, 1, 2, 3, 4, 5].map((more) => wanted + more).find((columns) => count % columns === 0);
  const columns = even ?? wanted;
  return { columns, rows: Math.ceil(count / columns) };
}

export function cellOf(rect: Rect, count: number, cell: number): Rect {
  const { columns, rows } = gridOf(count);
  const [w, h] = [rect.w / columns, rect.h / rows];
  return { x: rect.x + (cell % columns) * w, y: rect.y + Math.floor(cell / columns) * h, w, h };
}

/** count: of the numbers of a vector, for one of its cells. */
export function rectOf(layout: Layout, one: Part, count = 0): Rect {
  if (one.cell !== undefined) return cellOf(rectOf(layout, { kind: one.kind, at: one.at }), count, one.cell);
  const { kind, at } = one;
  const [layer = 0, head = 0, token = 0] = at;
  const columns = columnsOf(layout);
  const parts = layout.sizes.hasInner ? kParts : kFewParts;
  const inLayer = (name: keyof typeof kParts) => within(columns.layer(layer), parts[name]);
  const headRect = () => {
    const all = inLayer('heads');
    const w = all.w / layout.sizes.heads;
    return { x: all.x + head * w, y: layout.top, w, h: layout.height - layout.top - kFoot };
  };
  const below = (rect: Rect): Rect => ({ ...rect, y: layout.top, h: layout.height - layout.top - kFoot });
  switch (kind) {
    case 'whole':
      return { x: 0, y: 0, w: layout.width, h: layout.height };
    case 'tokens':
      return columns.tokens;
    case 'vectors':
      return columns.vectors;
    case 'layer':
      return columns.layer(layer);
    case 'output':
      return columns.output;
    case 'heads':
    case 'mixes':
    case 'ffn':
    case 'outs':
      return below(inLayer(kind));
    case 'head':
      return headRect();
    case 'token':
      return rowIn(layout, columns.tokens, layer);
    case 'vector':
      return rowIn(layout, within(columns.vectors, [0.1, 0.9]), layer, true);
    case 'row':
      return rowIn(layout, headRect(), token);
    case 'link':
      return rowIn(layout, within(headRect(), kHeadParts.lines), at[3] as number, true);
    case 'query':
    case 'key':
    case 'value':
    case 'context':
      return rowIn(layout, within(headRect(), kHeadParts[kind]), token, true);
    case 'mix':
      return rowIn(layout, inLayer('mixes'), head, true);
    case 'inner':
      return rowIn(layout, inLayer('ffn'), head, true);
    case 'out':
      return rowIn(layout, inLayer('outs'), head, true);
    case 'guess':
      return rowIn(layout, columns.output, layer);
    case 'sentence': {
      const rect = within(columns.output, [0.12, 0.92]);
      return { ...rect, y: layout.height * 0.3, h: layout.height * 0.4 };
    }
  }
}

const holds = ({ x, y, w, h }: Rect, at: { x: number; y: number }) => at.x >= x && at.x < x + w && at.y >= y && at.y < y + h;

/** The smallest part at a place. scale: px of the screen for each unit, across and down; a part of less than `least` px is not meant. */
export function partAt(
  layout: Layout,
  at: { x: number; y: number },
  {
    scale,
    least,
    children,
    count,
  }: { scale: readonly [number, number]; least: number; children: (one: Part) => Part[]; count: (one: Part) => number },
): Part {
  const isSeen = ({ w, h }: Rect) => w * scale[0] >= least && h * scale[1] >= least;
  let found = kWhole;
  for (;;) {
    const inside: Part | undefined = inner(found).find((one) => {
      const rect = rectOf(layout, one);
      return holds(rect, at) && isSeen(rect);
    });
    if (!inside) break;
    found = inside;
  }
  if (!isVector(found)) return found;
  const total = count(found);
  const rect = rectOf(layout, found);
  const { columns, rows } = gridOf(total);
  const cell = Math.floor(((at.y - rect.y) / rect.h) * rows) * columns + Math.floor(((at.x - rect.x) / rect.w) * columns);
  return cell < total && isSeen(cellOf(rect, total, cell)) ? { ...found, cell } : found;

  /** What is drawn inside a part: of a row also the key and value of its own token, which stand to the left. */
  function inner(one: Part): Part[] {
    const all = children(one);
    if (one.kind !== 'row') return one.kind === 'token' || one.kind === 'link' ? [] : all;
    const [layer = 0, head = 0, token = 0] = one.at;
    return [
      part('key', layer, head, token),
      part('value', layer, head, token),
      ...all.filter(({ kind, at: [, , , to] }) => kind !== 'link' || to === token),
    ];
  }
}

/** What else should be in sight with a part: numbers are seen among their neighbours, vectors in their row, and words at the left edge beside all. */
export function viewOf(layout: Layout, one: Part, count: number): Rect {
  const rect = rectOf(layout, one, count);
  const { kind, cell } = one;
  if (cell !== undefined) return grown(rect, 5, 5);
  if (kind === 'whole' || kind === 'tokens') return rect;
  if (kind === 'token') return grown(rect, 2.5, 4);
  if (kind === 'guess') return grown(rect, 1.5, 5);
  if (isVector(one)) return besideWords(layout, grown(rect, 1.2, 1.5));
  if (kind === 'row') return besideWords(layout, grown(rect, 1, 3));
  if (kind === 'link') {
    const [from, to] = [rectOf(layout, parentOf(one) as Part), rect];
    const y = Math.min(from.y, to.y);
    return besideWords(layout, grown({ ...from, y, h: Math.max(from.y + from.h, to.y + to.h) - y }, 1, 1.4));
  }
  return besideWords(layout, { ...rect, y: 0, h: layout.height });
}

/** With room at the left for the words, which stay at the edge. */
function besideWords(layout: Layout, { x, y, w, h }: Rect): Rect {
  const words = columnsOf(layout).tokens.w;
  const margin = (w * words) / (layout.width - words);
  return { x: x - margin, y, w: w + margin, h };
}

function grown({ x, y, w, h }: Rect, wide: number, high: number): Rect {
  return { x: x - ((wide - 1) * w) / 2, y: y - ((high - 1) * h) / 2, w: wide * w, h: high * h };
}
