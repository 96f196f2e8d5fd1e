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

/** The pixels that a disc covers: where each is from the middle, and how much of it is covered, times the opacity, of 256. */
interface Disc {
  reach: number;
  across: Int32Array;
  down: Int32Array;
  alpha: Int32Array;
}

function discOf(radius: number, opacity: number): Disc {
  const reach = Math.ceil(radius);
  const found: [across: number, down: number, alpha: number][] = [];
  for (let down = -reach; down <= reach; ++down)
    for (let across = -reach; across <= reach; ++across) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(across, down)));
      if (cover > 0) found.push([across, down, Math.round(256 * opacity * cover)]);
    }
  const [across, down, alpha] = ([0, 1, 2] as const).map((part) => Int32Array.from(found, (one) => one[part])) as [Int32Array, Int32Array, Int32Array]; // prettier-ignore
  return { reach, across, down, alpha };
}

export function clear({ data }: Pixels, [red, green, blue]: Rgb): void {
  const bytes = new Uint8Array([red, green, blue, 255]);
  new Uint32Array(data.buffer, data.byteOffset, data.length / 4).fill(new Uint32Array(bytes.buffer)[0] as number);
}

/** only: which of the dots; default: all. */
export function splat(pixels: Pixels, dots: Dots, only?: readonly number[]): void {
  const disc = discOf(dots.radius, dots.opacity);
  const bytes = new Uint8Array(pixels.data.buffer, pixels.data.byteOffset, pixels.data.length); // nothing here needs clamping
  if (only) for (const i of only) one(pixels, bytes, dots, i, disc);
  else for (let i = 0; 2 * i < dots.places.length; ++i) one(pixels, bytes, dots, i, disc);
}

function one({ width, height }: Pixels, bytes: Uint8Array, { places, colours, palette }: Dots, i: number, disc: Disc): void {
  const { reach, across, down, alpha } = disc;
  const [x, y] = [Math.round(places[2 * i] as number), Math.round(places[2 * i + 1] as number)];
  if (!(x + reach >= 0 && y + reach >= 0 && x - reach < width && y - reach < height)) return;
  const isWhole = x >= reach && y >= reach && x + reach < width && y + reach < height;
  const [red, green, blue] = palette[colours[i] as number] as Rgb;
  for (let k = 0; k < alpha.length; ++k) {
    const [px, py] = [x + (across[k] as number), y + (down[k] as number)];
    if (!isWhole && (px < 0 || py < 0 || px >= width || py >= height)) continue;
    const at = 4 * (py * width + px);
    const share = alpha[k] as number;
    const [r, g, b] = [bytes[at] as number, bytes[at + 1] as number, bytes[at + 2] as number];
    bytes[at] = r + (((red - r) * share) >> 8);
    bytes[at + 1] = g + (((green - g) * share) >> 8);
    bytes[at + 2] = b + (((blue - b) * share) >> 8);
  }
}
