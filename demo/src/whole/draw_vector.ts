// A vector as a grid of colours, violet above zero and orange below; near enough, each cell has its number.
import type { Pen } from './draw.js';
import { cellOf, gridOf, type Rect } from './layout.js';

export interface Colours {
  page: string;
  panel: string;
  line: string;
  edge: string;
  quiet: string;
  ink: string;
  brand: string;
  hot: string;
  near: string;
  chip: string;
}

const kNames: Record<keyof Colours, string> = {
  page: '--page',
  panel: '--panel',
  line: '--line',
  edge: '--edge',
  quiet: '--quiet',
  ink: '--ink',
  brand: '--brand',
  hot: '--hot',
  near: '--near',
  chip: '--chip',
};

/** The page's colours, as its theme has them. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  return Object.fromEntries(
    Object.entries(kNames).map(([name, property]) => [name, style.getPropertyValue(property).trim()]),
  ) as unknown as Colours;
}

const kLeastCell = { w: 26, h: 11 }; // px of the screen for a number
const kLeast = 3; // px of the screen for a picture of a vector
const [kAbove, kBelow] = [
  [104, 92, 230],
  [234, 122, 40],
] as const;

/** Pictures of vectors with a pixel for each number, by number of columns. */
const images = new WeakMap<Float32Array, Map<number, HTMLCanvasElement>>();

function imageOf(vector: Float32Array, columns: number, rows: number): HTMLCanvasElement {
  const known = images.get(vector) ?? new Map<number, HTMLCanvasElement>();
  images.set(vector, known);
  const found = known.get(columns);
  if (found) return found;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext('2d');
  if (context) {
    const image = context.createImageData(columns, rows);
    const most = vector.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
    vector.forEach((value, i) => image.data.set([...(value < 0 ? kBelow : kAbove), Math.round(255 * Math.sqrt(Math.abs(value) / most))], 4 * i)); // prettier-ignore
    context.putImageData(image, 0, 0);
  }
  known.set(columns, canvas);
  return canvas;
}

export function drawVector({ context, colours, layout, isSeen }: Pen, vector: Float32Array, rect: Rect): void {
  if (rect.w < kLeast || rect.h < kLeast / 2) return;
  const count = vector.length;
  const { columns, rows } = gridOf(count);
  context.fillStyle = colours.panel;
  context.fillRect(rect.x, rect.y, rect.w, rect.h);
  context.imageSmoothingEnabled = columns > rect.w;
  const [w, h] = [rect.w / columns, rect.h / rows];
  const hasNumbers = w >= kLeastCell.w && h >= kLeastCell.h;
  context.globalAlpha = hasNumbers ? 0.4 : 1;
  context.drawImage(imageOf(vector, columns, rows), rect.x, rect.y, rect.w, rect.h);
  context.globalAlpha = 1;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.strokeRect(rect.x, rect.y, rect.w, rect.h);
  if (!hasNumbers) return;
  const size = Math.min(22, w / 4.2, h * 0.75);
  const digits = w > 80 ? 4 : 2;
  context.font = `400 ${size}px ui-monospace, monospace`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillStyle = colours.ink;
  // Only the rows of cells that are in sight.
  const first = Math.max(0, Math.floor(-rect.y / h));
  const last = Math.min(rows - 1, Math.floor((layout.height - rect.y) / h));
  for (let i = first * columns; i < Math.min(count, (last + 1) * columns); ++i) {
    const cell = cellOf(rect, count, i);
    if (!isSeen(cell)) continue;
    const value = (vector[i] as number).toFixed(digits).replace('-', '−');
    context.fillText(value, cell.x + w / 2, cell.y + h / 2);
  }
}
