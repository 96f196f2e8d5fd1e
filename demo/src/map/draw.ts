// What the map's canvas shows in one frame: dots by colour, what is marked in front, rings, and the lasso.
import { clear, splat, type Pixels, type Rgb } from './splat.js';
import { placesOf, viewOfAll, type Size, type View } from './view.js';

export interface Scene {
  /** [rows]: the colour of each. */
  colours: ArrayLike<number>;
  marked: readonly number[];
  current: number | undefined;
  hovered: number | undefined;
  /** [corners, 2], in CSS pixels, while one is drawn. */
  lasso: readonly number[];
}

export interface Style {
  palette: Rgb[];
  ground: Rgb;
  ink: string;
}

const kMostRatio = 2;
const kMany = 5000; // points; of more, a frame at the full ratio takes 9 ms, at this one 5 (Chromium, two busy cores)
const kManyRatio = 1.5;
const kColours = 8;

/** '#4a3fc4' or '#fff' */
export function rgbOf(colour: string): Rgb {
  const digits = colour.trim().replace('#', '');
  const whole = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => parseInt(whole.slice(at, at + 2), 16) || 0);
  return [red, green, blue];
}

export function styleOf(canvas: HTMLCanvasElement): Style {
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name);
  const palette = Array.from({ length: kColours }, (_, i) => rgbOf(colour(`--cluster-${i}`)));
  return { palette, ground: rgbOf(colour('--panel')), ink: colour('--ink').trim() };
}

/** In CSS pixels. */
const radiusFor = (rows: number) => (rows > kMany ? 1.6 : rows > 1500 ? 2.2 : rows > 400 ? 3 : 4);

/** One canvas, drawn at most once a frame. */
export class Drawing {
  /** undefined: all points are in sight, wherever they move. */
  view: View | undefined;
  points = new Float32Array();
  scene: Scene = { colours: [], marked: [], current: undefined, hovered: undefined, lasso: [] };
  style: Style;
  /** Where the points are on the canvas, in its own pixels: [rows, 2]. */
  places = new Float32Array();
  private image: ImageData | undefined;
  /** In pixels of the page, and in those of the canvas. */
  private shown: Size = { width: 0, height: 0 };
  private size: Size = { width: 0, height: 0 };
  private waits = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.style = styleOf(canvas);
  }

  /** Pixels of the canvas to one of the page. */
  get ratio(): number {
    return Math.min(this.points.length > 2 * kMany ? kManyRatio : kMostRatio, devicePixelRatio);
  }

  resize(width: number, height: number): void {
    this.shown = { width, height };
    this.request();
  }

  /** Gives the canvas as many pixels as it should have now. */
  private fit(): void {
    const [width, height] = [Math.round(this.shown.width * this.ratio), Math.round(this.shown.height * this.ratio)];
    if (width === this.size.width && height === this.size.height) return;
    this.size = { width, height };
    [this.canvas.width, this.canvas.height] = [width, height];
    this.image = undefined;
    this.view = undefined;
  }

  viewNow(): View {
    return this.view ?? viewOfAll(this.points, this.size);
  }

  request(): void {
    this.waits ||= requestAnimationFrame(() => {
      this.waits = 0;
      this.draw();
    });
  }

  stop(): void {
    cancelAnimationFrame(this.waits);
  }

  private draw(): void {
    const context = this.canvas.getContext('2d');
    this.fit();
    const { width, height } = this.size;
    const { colours, marked } = this.scene;
    if (!context || width === 0 || height === 0 || 2 * colours.length !== this.points.length) return;
    this.places = placesOf(this.points, this.viewNow(), this.places) as Float32Array<ArrayBuffer>;
    this.image ??= context.createImageData(width, height);
    const pixels: Pixels = this.image;
    clear(pixels, this.style.ground);
    const radius = radiusFor(colours.length) * this.ratio;
    const dots = { places: this.places, colours, palette: this.style.palette };
    const isQuiet = marked.length > 0;
    splat(pixels, { ...dots, radius, opacity: isQuiet ? 0.22 : 0.8 });
    if (isQuiet) splat(pixels, { ...dots, radius: radius + this.ratio, opacity: 1 }, marked);
    context.putImageData(this.image, 0, 0);
    this.over(context, radius);
  }

  /** What is drawn with lines. */
  private over(context: CanvasRenderingContext2D, radius: number): void {
    const { current, hovered, lasso } = this.scene;
    context.strokeStyle = this.style.ink;
    context.lineWidth = 2 * this.ratio;
    for (const i of new Set([current, hovered])) {
      if (i === undefined || 2 * i >= this.places.length) continue;
      context.beginPath();
      context.arc(this.places[2 * i] as number, this.places[2 * i + 1] as number, radius + 4 * this.ratio, 0, 2 * Math.PI);
      context.stroke();
    }
    if (lasso.length < 4) return;
    context.beginPath();
    for (let i = 0; i < lasso.length; i += 2)
      context.lineTo((lasso[i] as number) * this.ratio, (lasso[i + 1] as number) * this.ratio);
    context.closePath();
    context.setLineDash([6 * this.ratio, 4 * this.ratio]);
    context.stroke();
    context.setLineDash([]);
  }
}
