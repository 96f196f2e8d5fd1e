// Points on a canvas: which one is meant, by the mouse and by arrow keys, and what a canvas has to know of the page.
import { useEffect, useRef, useState } from 'preact/hooks';

/** The point that is nearest to a place, closer than `reach`. places: [points, 2] */
export function nearest(places: Float32Array, x: number, y: number, reach: number, accept = (_dx: number, _dy: number) => true) {
  let [best, least] = [undefined as number | undefined, reach * reach];
  for (let i = 0; 2 * i < places.length; ++i) {
    const [dx, dy] = [(places[2 * i] as number) - x, (places[2 * i + 1] as number) - y];
    const far = dx * dx + dy * dy;
    if (far < least && accept(dx, dy)) [best, least] = [i, far];
  }
  return best;
}

/** From a point to its nearest neighbour in a key's direction. undefined: the key is none of the four. */
export function stepTo(key: string, places: Float32Array, from: number): number | undefined {
  const [x, y] = [places[2 * from] as number, places[2 * from + 1] as number];
  const ways: Record<string, (dx: number, dy: number) => boolean> = {
    ArrowRight: (dx, dy) => dx > 0 && Math.abs(dy) <= dx,
    ArrowLeft: (dx, dy) => dx < 0 && Math.abs(dy) <= -dx,
    ArrowDown: (dx, dy) => dy > 0 && Math.abs(dx) <= dy,
    ArrowUp: (dx, dy) => dy < 0 && Math.abs(dx) <= -dy,
  };
  const way = ways[key];
  return way && (nearest(places, x, y, Infinity, way) ?? from);
}

/**
 * Calls `measure` in the frame after each change of an element's size. In the same frame, what it draws would change sizes again, which WebKit reports as
 * an error of the page. Returns what ends it.
 */
export function watchSize(element: Element, measure: (content: DOMRectReadOnly) => void): () => void {
  let frame = 0;
  const observer = new ResizeObserver(([entry]) => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => measure((entry as ResizeObserverEntry).contentRect));
  });
  observer.observe(element);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
  };
}

/** A frame for a canvas, and how wide it is: 0 until that is known. */
export function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    return watchSize(frame.current as HTMLDivElement, ({ width }) => setWidth(Math.round(width)));
  }, []);
  return [frame, width] as const;
}

/** Another number whenever light turns to dark. */
export function useTheme(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTurn((before) => before + 1));
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => observer.disconnect();
  }, []);
  return turn;
}
