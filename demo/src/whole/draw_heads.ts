// The heads of a layer: lines from each token to what it looks at. Far away, all heads lie on top of each other, a colour each. Nearer, each has a
// column, and at last keys and values on its left, queries and sums on its right.
import { curve, write, type Pen } from './draw.js';
import { drawVector } from './draw_vector.js';
import { kHeadParts, type Rect } from './layout.js';
import { part } from './parts.js';

/** The least weight that gets a line: in a column of its own, on top of others, and while the picture moves. */
const kLeast = { apart: 0.04, together: 0.1, moving: 0.25 } as const;
const kTogether = 14; // px of a head's width: below, all lie on top of each other
export const kApart = 44; // above, each has its own column
const kRoomForVectors = 60;
const kRoomForShares = 240;

const colourOf = (head: number, heads: number) => `hsl(${Math.round(150 + (230 * head) / heads)} 55% 58%)`; // no orange: that is for what is followed

export function drawHeads(pen: Pen, layer: number): void {
  const block = pen.place(part('heads', layer));
  const { heads } = pen.layout.sizes;
  const share = Math.max(0, Math.min(1, (block.w / heads - kTogether) / (kApart - kTogether)));
  const { context } = pen;
  context.save();
  context.beginPath();
  context.rect(block.x, block.y, block.w, block.h);
  context.clip();
  for (const isFollowed of [false, true])
    for (let head = 0; head < heads; ++head) {
      const own = pen.place(part('head', layer, head));
      const mixed = { ...own, x: own.x * share + block.x * (1 - share), w: own.w * share + block.w * (1 - share) };
      if (pen.isSeen(mixed)) drawLines(pen, layer, head, mixed, share, isFollowed);
    }
  context.restore();
  if (share < 1) return;
  for (let head = 0; head < heads; ++head) {
    const rect = pen.place(part('head', layer, head));
    if (pen.isSeen(rect)) drawHead(pen, layer, head, rect);
  }
}

/** Where lines begin and end in a head. */
function endsOf({ x, w }: Rect, share: number): [number, number] {
  const [left, right] = share === 1 && w >= kRoomForVectors ? kHeadParts.lines : ([0.05, 0.95] as const);
  return [x + left * w, x + right * w];
}

const middlesOf = ({ layout, place }: Pen): number[] =>
  Array.from({ length: layout.sizes.tokens }, (_, i) => {
    const { y, h } = place(part('token', i));
    return y + h / 2;
  });

/** isFollowed: those of the token that is followed, else those of all others. */
function drawLines(pen: Pen, layer: number, head: number, rect: Rect, share: number, isFollowed: boolean): void {
  const { facts, colours, layout, followed, context, moving } = pen;
  const { tokens, heads } = layout.sizes;
  const weights = facts.run.attentions[layer]?.[head];
  if (!weights) return;
  const [x0, x1] = endsOf(rect, share);
  const ys = middlesOf(pen);
  const colour = isFollowed ? colours.hot : colourOf(head, heads);
  const thick = Math.min(9, 1.5 + rect.w / 40) * (share < 1 ? 0.6 : 1);
  const least = isFollowed ? kLeast.apart : moving ? kLeast.moving : share < 1 ? kLeast.together : kLeast.apart;
  const faint = share < 1 ? 0.5 : 1; // where many lie on top of each other
  for (let i = 0; i < tokens; ++i) {
    if ((i === followed) !== isFollowed) continue;
    for (let j = 0; j < tokens; ++j) {
      const weight = weights[i * tokens + j] as number;
      const [from, to] = [ys[i] as number, ys[j] as number];
      if (weight < least || Math.max(from, to) < 0 || Math.min(from, to) > layout.height) continue;
      context.globalAlpha = (isFollowed ? 0.25 + 0.75 * weight : 0.1 + 0.6 * weight) * (isFollowed ? 1 : faint);
      curve(pen, [x1, from], [x0, to], colour, 0.4 + thick * weight);
    }
  }
  context.globalAlpha = 1;
}

function drawHead(pen: Pen, layer: number, head: number, rect: Rect): void {
  const { facts, colours, layout, place, followed, context } = pen;
  const { tokens, heads, isCausal } = layout.sizes;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.strokeRect(rect.x, rect.y, rect.w, rect.h);
  const [x0, x1] = endsOf(rect, 1);
  if (rect.w > 50) write(pen, `head ${head + 1}`, { x: (x0 + x1) / 2, y: Math.max(27, rect.y - 8), size: 11, weight: 600, colour: colourOf(head, heads), align: 'center' }); // prettier-ignore
  if (rect.w < kRoomForVectors) return;
  for (let i = 0; i < tokens; ++i)
    for (const kind of ['key', 'value', 'query', 'context'] as const) {
      const one = part(kind, layer, head, i);
      const at = place(one);
      if (!pen.isSeen(at)) continue;
      const vector = facts.vectorOf(one);
      if (vector) drawVector(pen, vector, at);
    }
  if (rect.w < kRoomForShares) return;
  for (const [kind, name] of [
    ['key', 'keys'],
    ['value', 'values'],
    ['query', 'queries'],
    ['context', 'sums'],
  ] as const) {
    // prettier-ignore
    const at = place(part(kind, layer, head, 0));
    write(pen, name, { x: at.x + at.w / 2, y: Math.max(27, rect.y - 8), size: 11, colour: colours.quiet, align: 'center' });
  }
  const weights = facts.run.attentions[layer]?.[head];
  middlesOf(pen).forEach((y, j) => {
    if ((isCausal && j > followed) || y < 0 || y > layout.height) return;
    const weight = weights?.[followed * tokens + j] ?? 0;
    const says = `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)} %`;
    write(pen, says, { x: x0 + 5, y: y - 9, size: 12, weight: 600, colour: weight > 0.1 ? colours.hot : colours.quiet });
  });
}
