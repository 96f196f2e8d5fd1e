// The pieces as points on a canvas: hover, select by mouse or keyboard, coloured by cluster, hits ringed.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { shapesOf } from '../ui/drawn.js';
import { shorten } from '../ui/format.js';
import { escaped } from '../ui/picture.js';
import { nearest, stepTo, useTheme, useWidth } from '../ui/plane.js';
import type { Hit, IndexFacts } from './types.js';

interface MapProps {
  facts: IndexFacts;
  hits: readonly Hit[];
  /** Where the query lies. */
  query: [number, number] | undefined;
  selected: number | undefined;
  onSelect: (piece: number | undefined) => void;
  hovered: number | undefined;
  onHover: (piece: number | undefined) => void;
}

const kEdge = 24; // room around the outermost points
const kReach = 14; // how near the mouse must be
const kHeight = 380;

/** Places on the canvas, [pieces, 2], and how to come there. */
function layOut({ picture: { points } }: IndexFacts, query: [number, number] | undefined, width: number) {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  const take = (x: number, y: number) => {
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  };
  for (let i = 0; i < points.length; i += 2) take(points[i] as number, points[i + 1] as number);
  if (query) take(...query);
  const scale = (from: number, to: number, size: number) => (to > from ? (size - 2 * kEdge) / (to - from) : 0);
  const [sx, sy] = [scale(left, right, width), scale(top, bottom, kHeight)];
  const place = (x: number, y: number): [number, number] => [kEdge + (x - left) * sx, kEdge + (y - top) * sy];
  const places = new Float32Array(points.length);
  for (let i = 0; i < points.length; i += 2) places.set(place(points[i] as number, points[i + 1] as number), i);
  return { places, place };
}

export function PieceMap(props: MapProps) {
  const { facts, hits, query, selected, onSelect, hovered, onHover } = props;
  const [frame, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const { places, place } = useMemo(() => layOut(facts, query, width), [facts, query, width]);
  useEffect(() => {
    if (!canvas.current || width === 0) return;
    const drawing = { ...props, places, width, at: query && place(...query) };
    const style = getComputedStyle(canvas.current);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    paint(canvas.current, drawing, colour);
    shapesOf.set(canvas.current, () => shapes(drawing, colour));
  }, [facts, hits, query, selected, hovered, places, width, theme]);
  const at = ({ offsetX, offsetY }: MouseEvent) => nearest(places, offsetX, offsetY, kReach);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return onSelect(undefined);
    const next = stepTo(event.key, places, selected ?? hits[0]?.piece ?? 0);
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next);
  };
  const shown = hovered ?? selected;
  return (
    <div class="piece-map" ref={frame}>
      <div data-picture>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`Map of ${facts.pieces.length} chunks in ${facts.picture.terms.length} clusters. Use the arrow keys to move from chunk to chunk.`}
          style={{ height: `${kHeight}px` }}
          onMouseMove={(event) => onHover(at(event))}
          onMouseLeave={() => onHover(undefined)}
          onClick={(event) => onSelect(at(event))}
          onKeyDown={onKeyDown}
        />
        <Legend facts={facts} />
      </div>
      <Shown facts={facts} piece={shown} />
    </div>
  );
}

function Legend({ facts }: { facts: IndexFacts }) {
  return (
    <ul class="legend" aria-label="Clusters, named by words near their centres">
      {facts.picture.terms.map((terms, cluster) => (
        <li key={cluster}>
          <span class="dot" data-cluster={cluster} aria-hidden="true" /> {terms.join(', ') || '…'}
        </li>
      ))}
    </ul>
  );
}

/** The piece that is pointed at or selected, whole. */
function Shown({ facts, piece: at }: { facts: IndexFacts; piece: number | undefined }) {
  const piece = at === undefined ? undefined : facts.pieces[at];
  if (!piece || at === undefined) return <p class="shown-piece hint">Select a point to read it.</p>;
  return (
    <p class="shown-piece" role="status">
      <span class="dot" data-cluster={facts.picture.labels[at]} aria-hidden="true" /> <b>{piece.name}</b>, characters {piece.start}{' '}
      to {piece.end}: {shorten(piece.text, 600)}
    </p>
  );
}

interface Drawing extends MapProps {
  places: Float32Array;
  width: number;
  /** Where the query lies, on the canvas. */
  at: [number, number] | undefined;
}

/** What the map is drawn with: on a canvas, or as SVG. */
interface Pen {
  circle(x: number, y: number, radius: number, paint: { fill?: string; stroke?: string; alpha?: number }): void;
  line(from: readonly [number, number], to: readonly [number, number], colour: string): void;
  text(x: number, y: number, says: string, anchor: 'start' | 'end', colour: string): void;
}

const kStroke = 2;
const kFont = 'system-ui, sans-serif';
const kLetter = 12; // px

type ColourOf = (name: string) => string;

function paint(canvas: HTMLCanvasElement, drawing: Drawing, colour: ColourOf): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const ratio = devicePixelRatio;
  [canvas.width, canvas.height] = [drawing.width * ratio, kHeight * ratio];
  context.scale(ratio, ratio);
  context.lineWidth = kStroke;
  context.font = `${kLetter}px ${kFont}`;
  const pen: Pen = {
    circle(x, y, radius, { fill, stroke, alpha = 1 }) {
      context.globalAlpha = alpha;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      if (fill) context.fillStyle = fill;
      if (fill) context.fill();
      if (stroke) context.strokeStyle = stroke;
      if (stroke) context.stroke();
    },
    line(from, to, colour) {
      context.strokeStyle = colour;
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
    },
    text(x, y, says, anchor, colour) {
      context.fillStyle = colour;
      context.textAlign = anchor;
      context.fillText(says, x, y);
    },
  };
  draw(pen, drawing, colour);
}

/** The same as elements of SVG. */
function shapes(drawing: Drawing, colour: ColourOf): string {
  const out: string[] = [];
  const pen: Pen = {
    circle: (x, y, radius, { fill = 'none', stroke = 'none', alpha = 1 }) =>
      out.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${fill}" stroke="${stroke}" stroke-width="${kStroke}" opacity="${alpha}"/>`), // prettier-ignore
    line: ([x1, y1], [x2, y2], colour) =>
      out.push(`<path d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}" stroke="${colour}" stroke-width="${kStroke}"/>`), // prettier-ignore
    text: (x, y, says, anchor, colour) =>
      out.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-family="${kFont}" font-size="${kLetter}" fill="${colour}">${escaped(says)}</text>`), // prettier-ignore
  };
  draw(pen, drawing, colour);
  return out.join('');
}

function draw(pen: Pen, { facts, hits, places, width, at, hovered, selected }: Drawing, colour: ColourOf): void {
  const colours = facts.picture.terms.map((_, cluster) => colour(`--cluster-${cluster}`));
  const radius = facts.pieces.length > 800 ? 2.5 : facts.pieces.length > 200 ? 3.5 : 5;
  const ink = colour('--ink');
  const near = new Set(hits.map(({ piece }) => piece));
  const placeOf = (i: number) => [places[2 * i], places[2 * i + 1]] as [number, number];
  const dot = (i: number, size: number, alpha: number) =>
    pen.circle(...placeOf(i), size, { fill: colours[facts.picture.labels[i] as number] ?? '#888', alpha });
  const alpha = hits.length > 0 ? 0.45 : 0.85;
  facts.pieces.forEach((_, i) => near.has(i) || dot(i, radius, alpha));
  for (const i of near) dot(i, radius + 2, 1);
  for (const i of new Set([hovered, selected])) {
    if (i === undefined) continue;
    dot(i, radius + 2, 1);
    pen.circle(...placeOf(i), radius + 4, { stroke: ink });
  }
  if (at) cross(pen, at, ink, sideOf(at, places, width));
}

const kNameWidth = 86; // px, with what is between it and the cross

/** Where the query's name goes: the side with fewer points, of those where it fits. */
function sideOf([x, y]: [number, number], places: Float32Array, width: number): 'left' | 'right' {
  if (x < kNameWidth) return 'right';
  if (x > width - kNameWidth) return 'left';
  const points = { left: 0, right: 0 };
  for (let i = 0; i < places.length; i += 2) {
    const away = (places[i] as number) - x;
    if (Math.abs(away) < kNameWidth && Math.abs((places[i + 1] as number) - y) < 14) points[away < 0 ? 'left' : 'right'] += 1;
  }
  return points.right < points.left ? 'right' : 'left';
}

const kArm = 7; // px, of the cross

/** The query's own mark. */
function cross(pen: Pen, [x, y]: [number, number], ink: string, side: 'left' | 'right'): void {
  pen.line([x - kArm, y], [x + kArm, y], ink);
  pen.line([x, y - kArm], [x, y + kArm], ink);
  const away = kArm + 3;
  if (side === 'left') pen.text(x - away, y + 4, 'your query', 'end', ink);
  else pen.text(x + away, y + 4, 'your query', 'start', ink);
}
