// What an element of the page shows, as SVG: its boxes, its lines of text, and the pictures in it. What is seen is what is saved.
import { escaped } from './picture.js';

/** What a canvas shows, as elements of SVG in its own pixels. A canvas without is taken as an image. */
export const shapesOf = new WeakMap<HTMLCanvasElement, () => string>();

const kMargin = 24;
const kTitle = 40; // px above the picture
const kLine = 20; // of a note
const kSvgStyles = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-dasharray',
  'stroke-linejoin',
  'opacity',
  'vector-effect',
  'paint-order',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
  'marker-end',
];

/** A computed colour in words that every reader of SVG knows. undefined: nothing is painted. */
function plain(colour: string): { colour: string; alpha: number } | undefined {
  const [, space, numbers] = /^(rgba?|color)\((?:srgb )?([^)]*)\)$/.exec(colour) ?? [];
  if (numbers === undefined) return colour === 'none' ? undefined : { colour, alpha: 1 };
  const [r = 0, g = 0, b = 0, alpha = 1] = numbers.split(/[\s,/]+/).map(Number);
  if (alpha === 0) return undefined;
  const scale = space === 'color' ? 255 : 1;
  return { colour: `#${[r, g, b].map((one) => Math.round(one * scale).toString(16).padStart(2, '0')).join('')}`, alpha }; // prettier-ignore
}

function painted(name: 'fill' | 'stroke', colour: string): string {
  const found = plain(colour);
  if (!found) return ` ${name}="none"`;
  return ` ${name}="${found.colour}"${found.alpha < 1 ? ` ${name}-opacity="${found.alpha}"` : ''}`;
}

const short = (value: number) => String(Math.round(100 * value) / 100);
const box = (x: number, y: number, width: number, height: number) =>
  `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;

interface Place {
  x: number;
  y: number;
}

/** An SVG of the page, with what style sheets say of it written into it. */
function drawnSvg(svg: SVGSVGElement, { x, y }: Place): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const { left, top, width, height } = svg.getBoundingClientRect();
  const [originals, copies] = [svg, copy].map((one) => [one, ...one.querySelectorAll('*')]) as [Element[], Element[]];
  originals.forEach((original, i) => {
    const one = copies[i] as Element;
    const style = getComputedStyle(original);
    for (const name of kSvgStyles) {
      const value = style.getPropertyValue(name);
      if (!value) continue;
      const colour = name === 'fill' || name === 'stroke' ? plain(value) : undefined;
      one.setAttribute(name, colour?.colour ?? value);
      if (colour && colour.alpha < 1) one.setAttribute(`${name}-opacity`, String(colour.alpha));
    }
    for (const { name } of [...one.attributes])
      if (/^(class|style|role|tabindex|aria-|data-)/.test(name)) one.removeAttribute(name);
  });
  const size = { x: left - x, y: top - y, width, height };
  for (const [name, value] of Object.entries(size)) copy.setAttribute(name, short(value));
  return new XMLSerializer().serializeToString(copy);
}

function drawnCanvas(canvas: HTMLCanvasElement, { x, y }: Place): string {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const shapes = shapesOf.get(canvas)?.();
  if (shapes !== undefined) return `<g transform="translate(${short(left - x)} ${short(top - y)})">${shapes}</g>`;
  const image = `href="${canvas.toDataURL()}" preserveAspectRatio="none" image-rendering="pixelated"`;
  return `<image ${box(left - x, top - y, width, height)} ${image}/>`;
}

const pen = (() => {
  let context: CanvasRenderingContext2D | null = null;
  return () => (context ??= document.createElement('canvas').getContext('2d'));
})();

/** The lines of a text as they are broken on the page. */
function drawnText(text: Text, style: CSSStyleDeclaration, { x, y }: Place): string {
  const lines: { says: string; left: number; right: number; top: number }[] = [];
  const range = document.createRange();
  for (const { 0: word, index } of text.data.matchAll(/\S+/g)) {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const { left, right, top, width } = range.getBoundingClientRect();
    if (width === 0) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.top - top) < 2) [last.says, last.right] = [`${last.says} ${word}`, right];
    else lines.push({ says: word, left, right, top });
  }
  const context = pen();
  if (!context) return '';
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: ascent } = context.measureText('x');
  const dress = `font-family="${escaped(style.fontFamily)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}"${painted('fill', style.color)}`;
  return lines
    .map(({ says, left, right, top }) => {
      const place = `x="${short(left - x)}" y="${short(top - y + ascent)}" textLength="${short(right - left)}"`;
      return `<text ${place} lengthAdjust="spacingAndGlyphs" ${dress}>${escaped(says)}</text>`;
    })
    .join('');
}

/** The background of an element and its border, where that is the same on all sides. */
function drawnBox(element: Element, style: CSSStyleDeclaration, { x, y }: Place): string {
  const { left, top, width, height } = element.getBoundingClientRect();
  const edge = style.borderTopWidth === style.borderBottomWidth ? parseFloat(style.borderTopWidth) || 0 : 0;
  const fill = plain(style.backgroundColor);
  if (!fill && edge === 0) return '';
  const round = parseFloat(style.borderTopLeftRadius) || 0;
  const radius = style.borderTopLeftRadius.endsWith('%') ? (round / 100) * Math.min(width, height) : round;
  const line = edge > 0 ? `${painted('stroke', style.borderTopColor)} stroke-width="${edge}"` : '';
  const inner = box(left - x + edge / 2, top - y + edge / 2, width - edge, height - edge);
  return `<rect ${inner} rx="${short(radius)}"${painted('fill', style.backgroundColor)}${line}/>`;
}

function drawn(element: Element, place: Place): string {
  const style = getComputedStyle(element);
  const { left, top, width, height } = element.getBoundingClientRect();
  if (style.display === 'none' || style.visibility === 'hidden' || style.clipPath !== 'none') return '';
  if (element instanceof SVGSVGElement) return drawnSvg(element, place);
  const back = drawnBox(element, style, place);
  if (element instanceof HTMLCanvasElement) return back + drawnCanvas(element, place);
  const inside = [...element.childNodes]
    .map((child) => (child instanceof Text ? drawnText(child, style, place) : child instanceof Element ? drawn(child, place) : ''))
    .join('');
  if (style.overflowX !== 'hidden' || inside === '') return back + inside;
  const [x, y] = [left - place.x, top - place.y];
  return `${back}<svg ${box(x, y, width, height)} viewBox="${[x, y, width, height].map(short).join(' ')}">${inside}</svg>`;
}

/** root: what is saved. title: stands above it. notes: lines below it. */
export function svgOf(root: Element, title: string, notes: readonly string[]): string {
  const { left, top, width, height } = root.getBoundingClientRect();
  const place = { x: left - kMargin, y: top - kMargin - kTitle };
  const page = getComputedStyle(root.closest('.panel') ?? document.body);
  const { fontFamily, color } = getComputedStyle(document.body);
  const context = pen();
  if (context) context.font = `700 18px ${fontFamily}`;
  const widthOf = (text: string) => context?.measureText(text).width ?? 0;
  const wide = Math.ceil(Math.max(width, widthOf(title), ...notes.map((note) => (13 / 18) * widthOf(note))) + 2 * kMargin);
  const end = height + kTitle + kMargin;
  const high = Math.ceil(end + kLine * notes.length + kMargin);
  const font = `font-family="${escaped(fontFamily)}"${painted('fill', color)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%"${painted('fill', page.backgroundColor)}/>`,
    `<text x="${kMargin}" y="${kMargin + 18}" ${font} font-size="18" font-weight="700">${escaped(title)}</text>`,
    drawn(root, place),
    ...notes.map((note, i) => `<text x="${kMargin}" y="${end + kLine * (i + 1)}" ${font} font-size="13">${escaped(note)}</text>`),
    '</svg>',
  ].join('');
}
