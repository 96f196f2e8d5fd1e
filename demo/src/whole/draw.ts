// The picture itself: what is seen through the camera, each part with as much of it as there is room for.
import { wordsOf } from '../ui/words.js';
import type { View } from './camera.js';
import { drawHeads, kApart } from './draw_heads.js';
import { drawVector, type Colours } from './draw_vector.js';
import type { Facts } from './facts.js';
import { rectOf, type Layout, type Rect } from './layout.js';
import { idOf, isVector, part, wayTo, type Part } from './parts.js';

export interface Scene {
  facts: Facts;
  layout: Layout;
  /** What is chosen. */
  at: Part;
  /** The token whose lines are drawn strongly. */
  followed: number;
  colours: Colours;
}

/** What the drawing functions share. */
export interface Pen extends Scene {
  context: CanvasRenderingContext2D;
  /** Whether the next picture comes at once, so that less will do. */
  moving: boolean;
  /** A part's place on the screen. */
  place(one: Part): Rect;
  isSeen(rect: Rect): boolean;
}

const kFont = 'system-ui, sans-serif';

export function write(
  { context }: Pick<Pen, 'context'>,
  text: string,
  { x, y, size, colour, align = 'left', weight = 400, most }: { x: number; y: number; size: number; colour: string; align?: CanvasTextAlign; weight?: number; most?: number }, // prettier-ignore
): void {
  context.font = `${weight} ${size}px ${kFont}`;
  context.textAlign = align;
  context.textBaseline = 'middle';
  context.fillStyle = colour;
  if (most === undefined) context.fillText(text, x, y);
  else context.fillText(text, x, y, Math.max(1, most));
}

function box({ context, colours }: Pen, { x, y, w, h }: Rect, fill: string, radius = 8): void {
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(radius, w / 3, h / 3));
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.stroke();
}

export function drawPicture(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  { ratio, moving }: { ratio: number; moving: boolean },
): void {
  const { layout, facts, colours, at } = scene;
  const { width, height } = layout;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.page;
  context.fillRect(0, 0, width, height);
  const pen: Pen = {
    ...scene,
    context,
    moving,
    place: (one) => {
      const { x, y, w, h } = rectOf(layout, one, facts.vectorOf(one)?.length ?? 0);
      return { x: view.wide * x + view.left, y: view.high * y + view.top, w: view.wide * w, h: view.high * h };
    },
    isSeen: ({ x, y, w, h }) => x < width && y < height && x + w > 0 && y + h > 0,
  };
  const { layers } = layout.sizes;
  drawStream(pen);
  drawRows(pen, 'vectors');
  for (let layer = 0; layer < layers; ++layer) drawLayer(pen, layer);
  drawOutput(pen);
  drawTokens(pen);
  drawTitles(pen);
  drawChosen(pen, at);
}

/** The line of each token through all layers. */
function drawStream({ context, colours, layout, place, followed }: Pen): void {
  for (let i = 0; i < layout.sizes.tokens; ++i) {
    const { y, h } = place(part('token', i));
    context.strokeStyle = i === followed ? colours.brand : colours.line;
    context.lineWidth = i === followed ? 1.5 : 1;
    context.beginPath();
    context.moveTo(place(part('vectors')).x, y + h / 2);
    context.lineTo(place(part('output')).x, y + h / 2);
    context.stroke();
  }
}

const kOfRows = { vectors: 'vector', mixes: 'mix', ffn: 'inner', outs: 'out' } as const;

/** A column of vectors, one for each token. */
function drawRows(pen: Pen, kind: keyof typeof kOfRows, ...at: number[]): void {
  const column = pen.place(part(kind, ...at));
  if (!pen.isSeen(column) || column.w < 2) return;
  for (let i = 0; i < pen.layout.sizes.tokens; ++i) {
    const one = part(kOfRows[kind], ...at, i);
    const rect = pen.place(one);
    if (!pen.isSeen(rect)) continue;
    const vector = pen.facts.vectorOf(one);
    if (vector) drawVector(pen, vector, rect);
  }
}

const kBlockTitles = { mixes: 'add & norm', ffn: 'feed-forward', outs: 'add & norm' } as const;

function drawLayer(pen: Pen, layer: number): void {
  const { facts, colours, layout } = pen;
  const whole = pen.place(part('layer', layer));
  if (!pen.isSeen(whole)) return;
  const kinds = (['heads', 'mixes', 'ffn', 'outs'] as const).filter((kind) => layout.sizes.hasInner || kind === 'heads' || kind === 'outs'); // prettier-ignore
  for (const kind of kinds) {
    const rect = pen.place(part(kind, layer));
    if (!pen.isSeen(rect)) continue;
    if (kind === 'heads' || kind === 'ffn') box(pen, rect, colours.panel);
    if (kind === 'heads') drawHeads(pen, layer);
    else drawRows(pen, kind, layer);
    if (rect.w > 40 && !(kind === 'heads' && rect.w / layout.sizes.heads > kApart)) {
      const title = kind === 'heads' ? `${layout.sizes.heads} heads` : kind === 'outs' && !facts.isPreNorm ? 'add & norm' : kind === 'outs' || (kind === 'mixes' && facts.isPreNorm) ? 'add' : kBlockTitles[kind]; // prettier-ignore
      write(pen, title, { x: rect.x + rect.w / 2, y: Math.max(rect.y - 8, 27), size: 11, colour: colours.quiet, align: 'center', most: rect.w }); // prettier-ignore
    }
  }
}

/** Words at the left edge, however near: pieces of one word under one another. */
function drawTokens(pen: Pen): void {
  const { facts, colours, context, place, isSeen, followed, layout } = pen;
  const column = place(part('tokens'));
  const edge = Math.max(column.x, 0);
  const wide = Math.max(46, Math.min(rectOf(layout, part('tokens')).w, 120)) - 8;
  if (column.x < 0 && column.x + column.w < wide) {
    context.globalAlpha = 0.7;
    context.fillStyle = colours.page;
    context.fillRect(0, 0, wide + 4, layout.height);
    context.globalAlpha = 1;
  }
  for (const { text: own, tokens } of wordsOf(facts.run)) {
    const text = own.trim() === '' ? '␣' : own;
    const [first, last] = [place(part('token', tokens[0] as number)), place(part('token', tokens.at(-1) as number))];
    const rect = { ...first, x: edge, w: wide, h: last.y + last.h - first.y };
    if (!isSeen(rect)) continue;
    const isOn = tokens.includes(followed);
    const isHidden = facts.run.masked !== undefined && tokens.includes(facts.run.masked);
    const fit = (own: number) => {
      context.font = `${isOn ? 700 : 500} ${own}px ${kFont}`;
      return own * Math.min(1, (wide - 10) / context.measureText(text).width);
    };
    const size = Math.max(9, fit(Math.max(9, Math.min(14, rect.h * 0.62))));
    const middle = Math.min(Math.max(rect.y + rect.h / 2, size), layout.height - size);
    context.font = `${isOn ? 700 : 500} ${size}px ${kFont}`;
    const long = Math.min(wide, context.measureText(text).width + 10);
    context.beginPath();
    context.roundRect(edge + 2, middle - size * 0.72, long, size * 1.44, 4);
    context.fillStyle = isOn ? colours.brand : colours.chip;
    context.globalAlpha = column.x < 0 ? 0.92 : 1;
    context.fill();
    context.globalAlpha = 1;
    write(pen, text, {
      x: edge + 7,
      y: middle,
      size,
      weight: isOn ? 700 : 500,
      colour: isOn ? colours.panel : isHidden ? colours.hot : colours.ink,
      most: long - 10,
    });
    if (tokens.length > 1 && first.h > 30)
      for (const i of tokens) {
        const { y, h } = place(part('token', i));
        write(pen, facts.run.tokens[i] as string, {
          x: edge + wide,
          y: y + h / 2,
          size: 10,
          colour: colours.quiet,
          align: 'right',
        });
      }
  }
}

/** The likeliest words with their shares, or the vector of the text. */
function drawOutput(pen: Pen): void {
  const { facts, colours, context, place, isSeen, layout } = pen;
  const column = place(part('output'));
  if (!isSeen(column)) return;
  const { guesses } = facts.run;
  if (!guesses) {
    const sentence = facts.vectorOf(part('sentence'));
    const rect = place(part('sentence'));
    if (sentence) {
      for (let i = 0; i < layout.sizes.tokens; ++i) {
        const { y, h } = place(part('token', i));
        curve(pen, [column.x, y + h / 2], [rect.x, rect.y + rect.h / 2], colours.edge, 1);
      }
      drawVector(pen, sentence, rect);
    }
    return;
  }
  const from = place(part('token', guesses.token));
  const most = guesses.best[0]?.share ?? 1;
  guesses.best.forEach(({ word, share }, i) => {
    const rect = place(part('guess', i));
    curve(pen, [column.x, from.y + from.h / 2], [rect.x + rect.w * 0.2, rect.y + rect.h / 2], colours.hot, 0.5 + 3 * share);
    if (!isSeen(rect)) return;
    const size = Math.max(9, Math.min(14, rect.h * 0.55));
    const left = rect.x + rect.w * 0.2;
    context.fillStyle = i === 0 ? colours.hot : colours.near;
    context.globalAlpha = 0.35;
    context.fillRect(left, rect.y + rect.h * 0.12, Math.max(2, (rect.w * 0.78 * share) / most), rect.h * 0.76);
    context.globalAlpha = 1;
    const percent = `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
    write(pen, percent, { x: rect.x + rect.w * 0.98, y: rect.y + rect.h / 2, size: size * 0.85, colour: colours.quiet, align: 'right' }); // prettier-ignore
    write(pen, word, { x: left + 4, y: rect.y + rect.h / 2, size, weight: i === 0 ? 700 : 500, colour: colours.ink, most: rect.w * 0.78 - size * 3 }); // prettier-ignore
  });
}

export function curve({ context }: Pen, [x0, y0]: [number, number], [x1, y1]: [number, number], colour: string, width: number) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
  context.stroke();
}

/** What each column is, at the upper edge, however near. */
function drawTitles(pen: Pen): void {
  const { colours, context, place, layout, facts } = pen;
  context.fillStyle = colours.page;
  context.globalAlpha = 0.85;
  context.fillRect(0, 0, layout.width, 18);
  context.globalAlpha = 1;
  const titles: [Part, string, string][] = [
    [part('tokens'), 'words', ''],
    [part('vectors'), 'vectors', ''],
    ...Array.from({ length: layout.sizes.layers }, (_, i): [Part, string, string] => [part('layer', i), `layer ${i + 1}`, `${i + 1}`]), // prettier-ignore
    [part('output'), facts.run.guesses ? (facts.kind === 'decoder' ? 'next word' : 'hidden word') : 'text vector', 'out'],
  ];
  for (const [one, long, short] of titles) {
    const { x, w } = place(one);
    const [left, right] = [Math.max(0, x), Math.min(layout.width, x + w)];
    if (right - left < 14) continue;
    context.font = `600 12px ${kFont}`;
    const says = context.measureText(long).width < right - left - 4 ? long : short;
    write(pen, says, { x: (left + right) / 2, y: 9, size: 12, weight: 600, colour: colours.quiet, align: 'center' });
  }
}

function drawChosen({ context, colours, place, isSeen }: Pen, at: Part): void {
  for (const one of wayTo(at).slice(1)) {
    const rect = place(one);
    if (!isSeen(rect)) continue;
    const isLast = idOf(one) === idOf(at);
    if (!isLast && !isVector(one)) continue;
    context.strokeStyle = isLast ? colours.hot : colours.brand;
    context.lineWidth = isLast ? 2.5 : 1;
    context.beginPath();
    context.roundRect(rect.x - 1, rect.y - 1, rect.w + 2, rect.h + 2, 4);
    context.stroke();
  }
}
