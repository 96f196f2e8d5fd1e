// What of the picture is seen: wheel, pinch and drag by d3-zoom, flights to a part, and steps by keys. Columns are high and narrow, so near ones are
// stretched: a unit of the picture may be wider than it is high.
import { select } from 'd3-selection';
import { zoom, zoomIdentity, zoomTransform } from 'd3-zoom';
import { isStill } from '../ui/glide.js';
import type { Rect } from './layout.js';

/** A place (x, y) of the picture is seen at (wide x + left, high y + top). */
export interface View {
  wide: number;
  high: number;
  left: number;
  top: number;
}

export interface Camera {
  view(): View;
  /** Shows this part of the picture; at once where a person asked for less motion. */
  flyTo(rect: Rect, still?: boolean): void;
  /** Nearer (above 1) or farther, around the middle. */
  scaleBy(factor: number): void;
  /** By shares of what is seen. */
  moveBy(x: number, y: number): void;
  resize(width: number, height: number): void;
  stop(): void;
}

const kNearest = 2000;
const kDuration = 900; // ms of a flight
const kWheel = 0.002; // as d3-zoom's own

const between = (low: number, value: number, high: number) => Math.max(low, Math.min(high, value));

/** onChange: something else is seen. onHand: a person moves it. */
export function makeCamera(canvas: HTMLCanvasElement, onChange: () => void, onHand: () => void): Camera {
  let [width, height] = [1, 1];
  let stretch = 1; // how much wider than high a unit is
  let frame = 0;
  const selection = select(canvas);
  const now = () => zoomTransform(canvas);
  const behaviour = zoom<HTMLCanvasElement, unknown>()
    .scaleExtent([1, kNearest])
    .filter((event: Event) => {
      // While the whole is seen, one finger and the wheel's way down are the page's.
      const isWhole = now().k <= 1;
      if (event instanceof WheelEvent) return !(isWhole && event.deltaY > 0);
      if (typeof TouchEvent !== 'undefined' && event instanceof TouchEvent)
        return !(isWhole && stretch <= 1 && event.touches.length < 2);
      return !(event as MouseEvent).ctrlKey && !(event as MouseEvent).button;
    })
    .on('zoom', (event: { sourceEvent: Event | null }) => {
      canvas.style.touchAction = now().k <= 1 && stretch <= 1 ? 'pan-y' : 'none';
      if (event.sourceEvent) onHand();
      onChange();
    });
  selection.call(behaviour).on('dblclick.zoom', null);
  const stop = () => cancelAnimationFrame(frame);
  const view = (): View => {
    const { k, x, y } = now();
    return { wide: k * stretch, high: k, left: x, top: y };
  };
  const seen = (): Rect => {
    const { wide, high, left, top } = view();
    return { x: -left / wide, y: -top / high, w: width / wide, h: height / high };
  };
  const show = ({ x, y, w, h }: Rect) => {
    const wide = between(1, width / w, kNearest);
    const high = between(1, Math.min(height / h, wide), kNearest);
    stretch = wide / high;
    behaviour.translateExtent([[0, 0], [width * stretch, height]]); // prettier-ignore
    const into = (middle: number, scale: number, size: number) => between(size - scale * size, size / 2 - scale * middle, 0);
    behaviour.transform(selection, zoomIdentity.translate(into(x + w / 2, wide, width), into(y + h / 2, high, height)).scale(high));
  };
  /** Once nothing is farther, what was stretched shrinks. */
  const relax = (factor: number, at: number) => {
    const { x, w } = seen();
    const wider = Math.min(width, w / factor);
    const left = between(0, x + ((w - wider) * at) / width, width - wider);
    show({ x: left, y: 0, w: wider, h: height });
  };
  canvas.addEventListener('pointerdown', stop);
  canvas.addEventListener(
    'wheel',
    (event) => {
      stop();
      if (event.deltaY <= 0 || now().k > 1 || stretch <= 1) return;
      event.preventDefault();
      onHand();
      relax(2 ** (-event.deltaY * kWheel * (event.deltaMode === 1 ? 25 : 1)), event.offsetX);
    },
    { passive: false },
  );
  return {
    view,
    flyTo(rect, still = isStill()) {
      stop();
      const { x, y, w, h } = rect;
      const from = seen();
      // What show() would make of it, so that a flight ends where it aims.
      const wide = between(1, width / w, kNearest);
      const high = between(1, Math.min(height / h, wide), kNearest);
      const size = { w: width / wide, h: height / high };
      const end = {
        x: between(0, x + w / 2 - size.w / 2, width - size.w),
        y: between(0, y + h / 2 - size.h / 2, height - size.h),
        ...size,
      };
      if (still) return show(end);
      const begin = performance.now();
      const tick = (time: number) => {
        const share = between(0, (time - begin) / kDuration, 1);
        if (share === 1) return show(end);
        show(onTheWay(from, end, share * share * (3 - 2 * share)));
        frame = requestAnimationFrame(tick);
      };
      frame = requestAnimationFrame(tick);
    },
    scaleBy(factor) {
      stop();
      if (factor < 1 && now().k <= 1 && stretch > 1) relax(factor, width / 2);
      else behaviour.scaleBy(selection, factor);
    },
    moveBy(x, y) {
      stop();
      const { k } = now();
      behaviour.translateBy(selection, (-x * width) / k, (-y * height) / k);
    },
    resize(wide, high) {
      const { x, y, w, h } = seen();
      const [across, down] = [wide / width, high / height];
      [width, height] = [wide, high];
      behaviour.extent([[0, 0], [wide, high]]); // prettier-ignore
      show({ x: x * across, y: y * down, w: w * across, h: h * down });
    },
    stop() {
      stop();
      selection.on('.zoom', null);
    },
  };
}

/** One side of what is seen on the way: nearer and nearer around a fixed point; between places far apart, over a view of both. */
function sideOf([from, size]: [number, number], [to, end]: [number, number], share: number): [number, number] {
  const [a, b] = [from + size / 2, to + end / 2];
  const apart = Math.abs(a - b);
  const isFar = apart > 1.5 * Math.max(size, end);
  const own = size ** (1 - share) * end ** share + (isFar ? apart * Math.sin(Math.PI * share) : 0);
  const moved = isFar || Math.abs(size - end) < 1e-3 * size ? share : (size - own) / (size - end);
  return [a + (b - a) * moved - own / 2, own];
}

function onTheWay(from: Rect, to: Rect, share: number): Rect {
  const [x, w] = sideOf([from.x, from.w], [to.x, to.w], share);
  const [y, h] = sideOf([from.y, from.h], [to.y, to.h], share);
  return { x, y, w, h };
}
