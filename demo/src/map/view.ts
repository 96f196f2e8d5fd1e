// Where the map's points are on the canvas: all in sight at first, then as one zooms and moves.

/** From the map to the canvas: x * scale + dx, y * scale + dy. */
export interface View {
  scale: number;
  dx: number;
  dy: number;
}

export interface Size {
  width: number;
  height: number;
}

const kEdge = 20; // px around the outermost points

/** points: [rows, 2] */
export function viewOfAll(points: Float32Array, { width, height }: Size): View {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  if (!(right >= left)) return { scale: 1, dx: width / 2, dy: height / 2 };
  const wide = (width - 2 * kEdge) / Math.max(1e-9, right - left);
  const scale = Math.min(wide, (height - 2 * kEdge) / Math.max(1e-9, bottom - top));
  return { scale, dx: width / 2 - (scale * (left + right)) / 2, dy: height / 2 - (scale * (top + bottom)) / 2 };
}

/** `by` times as large; what lies at [x, y] of the canvas stays there. */
export const zoomed = ({ scale, dx, dy }: View, by: number, x: number, y: number): View => ({
  scale: scale * by,
  dx: x - by * (x - dx),
  dy: y - by * (y - dy),
});

export const moved = ({ scale, dx, dy }: View, x: number, y: number): View => ({ scale, dx: dx + x, dy: dy + y });

/** Places on the canvas, [rows, 2]; `out` is used again where it fits. */
export function placesOf(points: Float32Array, { scale, dx, dy }: View, out?: Float32Array): Float32Array {
  const places = out?.length === points.length ? out : new Float32Array(points.length);
  for (let i = 0; i < points.length; i += 2) {
    places[i] = (points[i] as number) * scale + dx;
    places[i + 1] = (points[i + 1] as number) * scale + dy;
  }
  return places;
}

/** The points inside a line that is closed from its end to its start. line: [corners, 2] */
export function inside(places: Float32Array, line: readonly number[]): number[] {
  const found: number[] = [];
  for (let i = 0; 2 * i < places.length; ++i) {
    const [x, y] = [places[2 * i] as number, places[2 * i + 1] as number];
    let isIn = false;
    for (let k = 0, before = line.length - 2; k < line.length; before = k, k += 2) {
      const [ax, ay, bx, by] = [line[before], line[before + 1], line[k], line[k + 1]] as [number, number, number, number];
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) isIn = !isIn;
    }
    if (isIn) found.push(i);
  }
  return found;
}
