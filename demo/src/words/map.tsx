// The words on the plane on which their vectors differ most, with the arrows of an analogy.
import type { WordVectors } from 'wattn';
import { useMemo } from 'preact/hooks';
import { principalPlane, project } from '../search/pca.js';

const kWidth = 420;
const kHeight = 320;
const kMargin = 36;
const kMostWords = 150;
// Sizes of letters, in the picture's own units: a phone shows all of the picture, smaller.
const kWide = 9.5;
const kNarrow = 15;

export type View = 'all' | 'analogy';

interface Props {
  vectors: WordVectors;
  /** 'analogy': the plane of the first arrow and of the way from its first word to that of the second. */
  view: View;
  chosen: string | undefined;
  near: readonly string[];
  /** From one word to another. */
  arrows: readonly (readonly [string, string])[];
  onChoose: (word: string) => void;
}

interface Spot {
  word: string;
  x: number;
  y: number;
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, k) => sum + x * (b[k] as number), 0);

/** `to` - `from`, of unit length and at a right angle to `other`. */
function direction(from: Float32Array, to: Float32Array, other?: Float32Array): Float32Array {
  const way = to.map((x, k) => x - (from[k] as number));
  const along = other ? dot(way, other) : 0;
  const rest = way.map((x, k) => x - along * (other?.[k] ?? 0));
  const length = Math.hypot(...rest) || 1;
  return rest.map((x) => x / length);
}

function layOut(vectors: WordVectors, view: View, arrows: Props['arrows']): Map<string, Spot> {
  const { vector_size: size } = vectors;
  const words = [...new Set([...arrows.flat(), ...vectors.words.slice(0, kMostWords)])];
  // Only directions count, as in the cosines.
  const unit = words.map((word) => {
    const row = vectors.get(word).data;
    const length = Math.hypot(...row) || 1;
    return row.map((x) => x / length);
  });
  const [first, second] = arrows;
  const of = (word: string) => unit[words.indexOf(word)] as Float32Array;
  let points: number[];
  if (view === 'analogy' && first && second) {
    const up = direction(of(first[0]), of(first[1]));
    const right = direction(of(first[0]), of(second[0]), up);
    points = unit.flatMap((row) => [dot(row, right), -dot(row, up)]);
  } else {
    const rows = Float32Array.from(unit.flatMap((row) => [...row]));
    points = Array.from(project(rows, size, principalPlane(rows, size)));
  }
  const scaled = (offset: 0 | 1, extent: number) => {
    const values = words.map((_, i) => points[2 * i + offset] as number);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.map((value) => kMargin + ((extent - 2 * kMargin) * (value - least)) / (most - least || 1));
  };
  const [xs, ys] = [scaled(0, kWidth), scaled(1, kHeight)];
  return new Map(words.map((word, i) => [word, { word, x: xs[i] as number, y: ys[i] as number }]));
}

/** The first `always` words, and those of the others whose labels have room, the first ones first. letter: the size of one. */
function labelled(spots: readonly Spot[], always: number, letter: number): Spot[] {
  const kept: Spot[] = [];
  spots.forEach((spot, i) => {
    const clash = kept.some(
      (other) =>
        Math.abs(other.y - spot.y) < 1.1 * letter &&
        Math.abs(other.x - spot.x) < 0.3 * letter * (other.word.length + spot.word.length) + letter / 2,
    );
    if (i < always || !clash) kept.push(spot);
  });
  return kept;
}

export function WordMap({ vectors, view, chosen, near, arrows, onChoose }: Props) {
  const ends = arrows.flat();
  const spots = useMemo(() => layOut(vectors, view, arrows), [vectors, view, ends.join(' ')]);
  const letter = matchMedia('(max-width: 34rem)').matches ? kNarrow : kWide;
  const wanted = new Set([...ends, ...(chosen && spots.has(chosen) ? [chosen] : [])]);
  const all = [...new Set([...wanted, ...near, ...spots.keys()])].flatMap((word) => spots.get(word) ?? []);
  const labels = labelled(all, wanted.size, letter);
  const kindOf = (word: string) =>
    ends.includes(word) ? 'arrow' : word === chosen ? 'chosen' : near.includes(word) ? 'near' : undefined;
  return (
    <svg
      class="words-map"
      data-picture
      viewBox={`0 0 ${kWidth} ${kHeight}`}
      font-size={letter}
      role="img"
      aria-label={`A map of ${spots.size} words; related words are near each other.`}
    >
      <defs>
        <marker id="words-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      {[...spots.values()].map(({ word, x, y }) => (
        <circle key={word} cx={x} cy={y} r="2" data-kind={kindOf(word)} />
      ))}
      {arrows.map(([from, to]) => {
        const [a, b] = [spots.get(from), spots.get(to)];
        return a && b ? <line key={`${from} ${to}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y} marker-end="url(#words-tip)" /> : null;
      })}
      {labels.map(({ word, x, y }) => (
        <text key={word} x={x} y={y - letter / 2} data-kind={kindOf(word)} onClick={() => onChoose(word)}>
          {word}
        </text>
      ))}
    </svg>
  );
}
