// The map's canvas: pointing, moving, zooming and the lasso, by mouse, finger and keys.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Choice } from '../ui/choice.js';
import { formatCount } from '../ui/format.js';
import { nearest, stepTo, useTheme, useWidth } from '../ui/plane.js';
import type { Colouring } from './colours.js';
import { Drawing, styleOf } from './draw.js';
import type { Points } from './use_map.js';
import { inside, moved, zoomed } from './view.js';

export type Mode = 'point' | 'move' | 'lasso';

interface PictureProps {
  points: Points;
  colouring: Colouring;
  marked: readonly number[];
  current: number | undefined;
  /** A point that was gone to by keys. */
  onCurrent: (row: number | undefined) => void;
  /** A point that was clicked or entered: what is near to it is wanted. */
  onPick: (row: number) => void;
  onLasso: (rows: number[]) => void;
  onHover: (row: number | undefined) => void;
  /** Stands below the canvas, and is saved with it. */
  legend: ComponentChildren;
}

const kReach = 14; // px: how near the mouse must be
const kStill = 4; // px that a click may move
const kZoom = 1.4; // a step
const kShare = 0.62; // of the width is the height,
const kHeights = [320, 560] as const; // within these, in px

interface Drag {
  x: number;
  y: number;
  moves: boolean;
}

/** The canvas's drawing, told of all that changes. */
function useDrawing({ points, colouring, marked, current }: PictureProps, hovered: number | undefined) {
  const [frame, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const theme = useTheme();
  const height = Math.max(kHeights[0], Math.min(kHeights[1], Math.round(kShare * width)));
  useEffect(() => {
    const made = (drawing.current = new Drawing(canvas.current as HTMLCanvasElement));
    const follow = () => {
      made.points = points.now;
      made.request();
    };
    follow();
    const end = points.listen(follow);
    return () => {
      end();
      made.stop();
    };
  }, [points]);
  useEffect(() => drawing.current?.resize(width, height), [width, height]);
  useEffect(() => {
    if (!drawing.current) return;
    drawing.current.style = styleOf(canvas.current as HTMLCanvasElement);
    drawing.current.request();
  }, [theme]);
  useEffect(() => {
    if (!drawing.current) return;
    drawing.current.scene = { ...drawing.current.scene, colours: colouring.of, marked, current, hovered };
    drawing.current.request();
  }, [colouring, marked, current, hovered]);
  useEffect(() => {
    if (drawing.current) drawing.current.view = undefined;
  }, [colouring]);
  return { frame, canvas, drawing, height };
}

export function MapPicture(props: PictureProps) {
  const { colouring, current, onCurrent, onPick, onLasso, onHover, legend } = props;
  const [mode, setMode] = useState<Mode>('point');
  const [hovered, setHovered] = useState<number>();
  const { frame, canvas, drawing, height } = useDrawing(props, hovered);
  const drag = useRef<Drag | undefined>(undefined);
  const hover = (row: number | undefined) => {
    setHovered(row);
    onHover(row);
  };
  /** The point at a place of the page. */
  const at = ({ offsetX, offsetY }: MouseEvent) => {
    const { places, ratio } = drawing.current as Drawing;
    return nearest(places, offsetX * ratio, offsetY * ratio, kReach * ratio);
  };
  /** x, y: in CSS pixels; default: the middle. */
  const zoom = (by: number, x?: number, y?: number) => {
    const drawn = drawing.current as Drawing;
    const { clientWidth, clientHeight } = canvas.current as HTMLCanvasElement;
    drawn.view = zoomed(drawn.viewNow(), by, (x ?? clientWidth / 2) * drawn.ratio, (y ?? clientHeight / 2) * drawn.ratio);
    drawn.request();
  };
  const all = () => {
    const drawn = drawing.current as Drawing;
    drawn.view = undefined;
    drawn.request();
  };
  const show = (lasso: readonly number[]) => {
    const drawn = drawing.current as Drawing;
    drawn.scene = { ...drawn.scene, lasso };
    drawn.request();
  };
  useEffect(() => {
    // A listener that may keep the page from scrolling has to say so.
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas.current) return;
      event.preventDefault();
      zoom(1.0015 ** -event.deltaY, event.offsetX, event.offsetY);
    };
    const { current: element } = canvas;
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, []);

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    drag.current = { x: event.offsetX, y: event.offsetY, moves: false };
    if (mode !== 'point' || event.pointerType === 'mouse') canvas.current?.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const { offsetX: x, offsetY: y } = event;
    const from = drag.current;
    if (!from) return hover(at(event));
    if (!from.moves && Math.hypot(x - from.x, y - from.y) < kStill) return;
    const drawn = drawing.current as Drawing;
    if (mode === 'lasso') {
      const line = from.moves ? drawn.scene.lasso : [from.x, from.y];
      show([...line, x, y]);
    } else if (mode === 'move' || event.pointerType === 'mouse') {
      drawn.view = moved(drawn.viewNow(), (x - from.x) * drawn.ratio, (y - from.y) * drawn.ratio);
      drawn.request();
    }
    drag.current = { x, y, moves: true };
  };
  const onPointerUp = (event: PointerEvent) => {
    const from = drag.current;
    drag.current = undefined;
    if (!from) return;
    const { scene, places, ratio } = drawing.current as Drawing;
    if (from.moves && mode === 'lasso') {
      const line = scene.lasso.map((value) => value * ratio);
      show([]);
      return onLasso(inside(places, line));
    }
    const row = from.moves ? undefined : at(event);
    if (row !== undefined) onPick(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const does: Record<string, () => void> = {
      '+': () => zoom(kZoom),
      '=': () => zoom(kZoom),
      '-': () => zoom(1 / kZoom),
      '0': all,
      Escape: () => onCurrent(undefined),
      Enter: () => current !== undefined && onPick(current),
    };
    const own = event.ctrlKey || event.metaKey || event.altKey ? undefined : does[event.key];
    const next = own ? undefined : stepTo(event.key, (drawing.current as Drawing).places, current ?? 0);
    if (!own && next === undefined) return;
    event.preventDefault();
    if (own) own();
    else onCurrent(next);
  };
  return (
    <div ref={frame}>
      <div class="map-tools">
        <Choice
          label="Drag mode"
          value={mode}
          options={[
            ['point', 'Point'],
            ['move', 'Move'],
            ['lasso', 'Lasso'],
          ]}
          onChange={setMode}
        />
        <span class="map-zoom">
          <button type="button" class="secondary outline small" aria-label="Zoom in" onClick={() => zoom(kZoom)}>
            +
          </button>
          <button type="button" class="secondary outline small" aria-label="Zoom out" onClick={() => zoom(1 / kZoom)}>
            −
          </button>
          <button type="button" class="secondary outline small" onClick={all}>
            All points
          </button>
        </span>
      </div>
      <div data-picture>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          class={`map-canvas is-${mode}`}
          aria-label={`Map of ${formatCount(colouring.of.length)} texts. Arrow keys move between points, Enter lists the nearest texts, plus and minus zoom, 0 shows all points.`}
          style={{ height: `${height}px` }}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={() => {
            drag.current = undefined;
            show([]);
          }}
          onPointerLeave={() => hover(undefined)}
          onKeyDown={onKeyDown}
        />
        {legend}
      </div>
    </div>
  );
}
