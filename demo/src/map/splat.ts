// Thousands of discs into the pixels of a picture: faster than a canvas draws as many circles, and the same in every browser.

export type Rgb = readonly [red: number, green: number, blue: number];

export interface Pixels {
  width: number;
  height: number;
  /** [height * width], a byte for each of red, green, blue and opacity. */
  data: Uint8ClampedArray;
}

export interface Dots {
  /** [dots, 2], in pixels. */
  places: Float32Array;
  /** [dots]: which colour of the palette. */
  colours: ArrayLike<number>;
  palette: readonly Rgb[];
  /** In pixels. */
  radius: number;
  /** 0 to 1. */
  opacity: number;
}

/** How much of each pixel around the middle a disc covers, times the opacity; side: pixels of a row. */
function discOf(radius: number, opacity: number): { side: number; cover: Float32Array } {
  const reach = Math.ceil(radius);
  const side = 2 * reach + 1;
  const cover = new Float32Array(side * side);
  for (let y = -reach; y <= reach; ++y)
    for (let x = -reach; x <= reach; ++x)
      cover[(y + reach) * side + x + reach] = opacity * Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
  return { side, cover };
}

export function clear({ data }: Pixels, [red, green, blue]: Rgb): void {
  const bytes = new Uint8Array([red, green, blue, 255]);
  new Uint32Array(data.buffer, data.byteOffset, data.length / 4).fill(new Uint32Array(bytes.buffer)[0] as number);
}

/** only: which of the dots; default: all. */
export function splat(pixels: Pixels, dots: Dots, only?: readonly number[]): void {
  const { side, cover } = discOf(dots.radius, dots.opacity);
  if (only) for (const i of only) one(pixels, dots, i, side, cover);
  else for (let i = 0; 2 * i < dots.places.length; ++i) one(pixels, dots, i, side, cover);
}

function one({ width, height, data }: Pixels, { places, colours, palette }: Dots, i: number, side: number, cover: Float32Array) {
  const reach = side >> 1;
  const [left, top] = [Math.round(places[2 * i] as number) - reach, Math.round(places[2 * i + 1] as number) - reach];
  if (left >= width || top >= height || left + side <= 0 || top + side <= 0) return;
  const [red, green, blue] = palette[colours[i] as number] as Rgb;
  const [fromX, toX] = [Math.max(0, -left), Math.min(side, width - left)];
  const [fromY, toY] = [Math.max(0, -top), Math.min(side, height - top)];
  for (let y = fromY; y < toY; ++y) {
    let at = 4 * ((top + y) * width + left + fromX);
    for (let x = fromX; x < toX; ++x, at += 4) {
      const share = cover[y * side + x] as number;
      if (share === 0) continue;
      const rest = 1 - share;
      data[at] = rest * (data[at] as number) + share * red;
      data[at + 1] = rest * (data[at + 1] as number) + share * green;
      data[at + 2] = rest * (data[at + 2] as number) + share * blue;
    }
  }
}
