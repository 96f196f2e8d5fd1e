// The canvas, its camera and its keys. What it shows stands beside it as text, too.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { makeCamera, type Camera } from './camera.js';
import { drawPicture, type Scene } from './draw.js';
import { coloursOf } from './draw_vector.js';
import type { Facts } from './facts.js';
import { layoutOf, partAt, viewOf, type Layout } from './layout.js';
import { watchSize } from '../ui/plane.js';
import { childrenOf, idOf, parentOf, type Part } from './parts.js';

interface PictureProps {
  facts: Facts | undefined;
  at: Part;
  followed: number;
  /** Another number: the camera goes to `at` again. */
  arrivals: number;
  onOpen: (one: Part) => void;
  /** A person moves the camera. */
  onHand: () => void;
}

const kLeast = 14; // px: less is not meant by a click
const kStep = 0.2; // of what is seen, for a key
const kNearer = 1.5;
const kSettled = 150; // ms without a movement

function useSize(frame: { current: HTMLElement | null }) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = frame.current as HTMLElement;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    return watchSize(element, measure);
  }, []);
  return size;
}

export function Picture({ facts, at, followed, arrivals, onOpen, onHand }: PictureProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const camera = useRef<Camera | undefined>(undefined);
  const { width, height } = useSize(frame);
  const layout = useMemo<Layout | undefined>(
    () => (facts && width > 0 ? layoutOf(width, height, facts.sizes) : undefined),
    [facts, width, height],
  );
  const now = useRef<{ scene?: Scene; queued: number; moved: number; timer?: ReturnType<typeof setTimeout>; onHand: () => void }>({
    queued: 0,
    moved: -Infinity,
    onHand,
  });
  now.current.onHand = onHand;
  const paint = () => {
    now.current.queued = 0;
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || !camera.current) return;
    const { scene } = now.current;
    const ratio = Math.min(2, devicePixelRatio);
    const [w, h] = [Math.round(ratio * element.clientWidth), Math.round(ratio * element.clientHeight)];
    if (element.width !== w || element.height !== h) [element.width, element.height] = [w, h];
    const view = camera.current.view();
    element.dataset.scale = `${view.wide.toFixed(2)} ${view.high.toFixed(2)}`;
    const moving = performance.now() - now.current.moved < kSettled;
    clearTimeout(now.current.timer);
    if (moving) now.current.timer = setTimeout(draw, kSettled);
    if (scene) drawPicture(context, scene, view, { ratio, moving });
    else context.clearRect(0, 0, w, h);
    element.dataset.shown = scene ? idOf(scene.at) : '';
  };
  const draw = () => (now.current.queued ||= requestAnimationFrame(paint));
  useEffect(() => {
    const own = (camera.current = makeCamera(canvas.current as HTMLCanvasElement, draw, () => now.current.onHand()));
    const repaint = () => {
      const { scene } = now.current;
      if (scene) now.current.scene = { ...scene, colours: coloursOf(document.documentElement) };
      draw();
    };
    const observer = new MutationObserver(repaint);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      observer.disconnect();
      own.stop();
      cancelAnimationFrame(now.current.queued);
      clearTimeout(now.current.timer);
    };
  }, []);
  useEffect(() => {
    if (facts && layout) now.current.scene = { facts, layout, at, followed, colours: coloursOf(document.documentElement) };
    else delete now.current.scene;
    draw();
  }, [facts, layout, at, followed]);
  useEffect(() => {
    if (width > 0) camera.current?.resize(width, height);
  }, [width, height]);
  // The text changes while somebody looks closely: the place stays. It is gone to when another place is asked for.
  const gone = useRef('');
  useEffect(() => {
    if (!facts || !layout) return;
    const key = `${idOf(at)} ${arrivals} ${width} ${height}`;
    if (gone.current === key) return;
    const isFirst = gone.current === '' || !gone.current.endsWith(` ${width} ${height}`);
    gone.current = key;
    camera.current?.flyTo(viewOf(layout, at, facts.vectorOf(at)?.length ?? 0), isFirst || undefined);
  }, [facts, layout, at, arrivals]);
  const partUnder = (x: number, y: number): Part | undefined => {
    if (!facts || !layout || !camera.current) return undefined;
    const { wide, high, left, top } = camera.current.view();
    return partAt(layout, { x: (x - left) / wide, y: (y - top) / high }, {
      scale: [wide, high],
      least: kLeast,
      children: (one) => childrenOf(one, facts.sizes),
      count: (one) => facts.vectorOf(one)?.length ?? 0,
    }); // prettier-ignore
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const own = camera.current;
    if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, () => void> = {
      '+': () => own.scaleBy(kNearer),
      '=': () => own.scaleBy(kNearer),
      '-': () => own.scaleBy(1 / kNearer),
      0: () => layout && own.flyTo({ x: 0, y: 0, w: width, h: height }),
      ArrowLeft: () => own.moveBy(-kStep, 0),
      ArrowRight: () => own.moveBy(kStep, 0),
      ArrowUp: () => own.moveBy(0, -kStep),
      ArrowDown: () => own.moveBy(0, kStep),
      Enter: () => {
        const found = partUnder(width / 2, height / 2);
        if (found) onOpen(found);
      },
      Escape: () => {
        const above = parentOf(at);
        if (above) onOpen(above);
      },
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    onHand();
    move();
  };
  const press = (move: (own: Camera) => void) => () => {
    onHand();
    if (camera.current) move(camera.current);
  };
  return (
    <div class="whole-picture" ref={frame}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label="The whole model as a picture. Plus and minus zoom, arrow keys move, Enter opens the part in the middle, Escape goes up. The same parts are listed below."
        aria-describedby="whole-part-title"
        onKeyDown={onKeyDown}
        onClick={({ offsetX, offsetY }) => {
          const found = partUnder(offsetX, offsetY);
          if (found) onOpen(found);
        }}
      />
      <div class="whole-zoom" role="group" aria-label="Zoom">
        <button type="button" class="icon" aria-label="Zoom in" onClick={press((own) => own.scaleBy(2))}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M12 5v14M5 12h14" />
          </svg>
        </button>
        <button type="button" class="icon" aria-label="Zoom out" onClick={press((own) => own.scaleBy(0.5))}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M5 12h14" />
          </svg>
        </button>
        <button
          type="button"
          class="icon"
          aria-label="The whole picture"
          onClick={press((own) => own.flyTo({ x: 0, y: 0, w: width, h: height }))}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5" />
          </svg>
        </button>
      </div>
    </div>
  );
}
