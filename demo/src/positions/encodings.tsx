// Card: ways to tell positions, as pictures, with their knobs.
import { nn, Tensor } from 'wattn/nn';
import { useMemo, useState } from 'preact/hooks';
import { Choice } from '../ui/choice.js';
import { CodeOf } from '../ui/copy.js';
import { Heatmap } from '../ui/heatmap.js';
import { oneOf, useKept } from '../ui/kept.js';
import { Pictures } from '../ui/pictures.js';
import { encodingCode } from './positions_code.js';

const { functional, positional } = nn;

interface Knobs {
  length: number;
  dim: number;
  /** log10 of the base of the wave lengths. */
  base: number;
  head: number;
}

interface Picture {
  title: string;
  values: Float32Array;
  rows: number;
  columns: number;
  rowName: string;
  columnName: string;
}

interface Encoding {
  id: string;
  name: string;
  what: string;
  /** Which knobs matter. */
  knobs: readonly (keyof Knobs)[];
  draw: (knobs: Knobs) => Picture[];
  /** The call that gives the values of the first picture. */
  call: (knobs: Knobs) => string;
}

const kHeads = 8;

const square = (title: string, { data }: { data: Float32Array }, length: number): Picture => ({
  title,
  values: data,
  rows: length,
  columns: length,
  rowName: 'query',
  columnName: 'key',
});

const kEncodings = [
  {
    id: 'sinusoidal',
    name: 'Sinusoidal',
    what: 'Each position is a row of sines and cosines of ever longer waves, added to the token. Nearby positions have similar rows: the second picture shows the dot product of each pair.',
    knobs: ['length', 'dim', 'base'],
    call: ({ length, dim, base }) => `positional.sinusoidal({ length: ${length}, dim: ${dim}, base: ${10 ** base} })`,
    draw({ length, dim, base }) {
      const rows = positional.sinusoidal({ length, dim, base: 10 ** base });
      return [
        { title: 'The encoding', values: rows.data, rows: length, columns: dim, rowName: 'position', columnName: 'component' },
        square('Dot products of positions', functional.dot_product_similarity(rows), length),
      ];
    },
  },
  {
    id: 'rotary',
    name: 'Rotary',
    what: 'Queries and keys are rotated by an angle that grows with the position, each pair of components at its own speed. The effect on the dot product depends only on the distance.',
    knobs: ['length', 'dim', 'base'],
    call: ({ length, dim, base }) =>
      `positional.rotary(new Tensor('float32', new Float32Array(${length * dim}).fill(${1 / Math.sqrt(dim)}), [${length}, ${dim}]), { base: ${10 ** base} })`,
    draw({ length, dim, base }) {
      const ones = new Tensor('float32', new Float32Array(length * dim).fill(1 / Math.sqrt(dim)), [length, dim]);
      const turned = positional.rotary(ones, { base: 10 ** base });
      return [
        {
          title: 'A vector of ones, rotated',
          values: turned.data,
          rows: length,
          columns: dim,
          rowName: 'position',
          columnName: 'component',
        },
        square('The same vector with itself, by position', functional.dot_product_similarity(turned), length),
      ];
    },
  },
  {
    id: 'alibi',
    name: 'ALiBi',
    what: 'Nothing is added to the tokens. Each score is lowered in proportion to the distance, and every head has its own slope.',
    knobs: ['length', 'head'],
    call: ({ length }) => `positional.alibi_bias(${kHeads}, { queries: ${length} })`,
    draw({ length, head }) {
      const { data } = positional.alibi_bias(kHeads, { queries: length });
      const size = length * length;
      return [square(`Bias of head ${head} of ${kHeads}`, { data: data.slice((head - 1) * size, head * size) }, length)];
    },
  },
  {
    id: 't5',
    name: 'T5 buckets',
    what: 'Distances fall into buckets: narrow ones for short distances, wide ones for long distances. Each bucket has a learned number that is added to the score.',
    knobs: ['length'],
    call: ({ length }) => `positional.t5_buckets({ queries: ${length} })`,
    draw({ length }) {
      return [square('Bucket of each distance', positional.t5_buckets({ queries: length }), length)];
    },
  },
] as const satisfies readonly Encoding[];

type Id = (typeof kEncodings)[number]['id'];

const kKnobs: Record<keyof Knobs, { name: string; min: number; max: number; step: number; show: (value: number) => string }> = {
  length: { name: 'Positions', min: 8, max: 128, step: 8, show: String },
  dim: { name: 'Components', min: 4, max: 128, step: 4, show: String },
  base: { name: 'Base of the waves', min: 1, max: 6, step: 0.5, show: (value) => Math.round(10 ** value).toLocaleString('en-GB') },
  head: { name: 'Head', min: 1, max: kHeads, step: 1, show: String },
};

export function Encodings() {
  const [id, setId] = useKept<Id>('positions.encoding', () => 'sinusoidal', oneOf(kEncodings.map((one) => one.id)));
  const [knobs, setKnobs] = useState<Knobs>({ length: 48, dim: 64, base: 4, head: 3 });
  const encoding: Encoding = kEncodings.find((one) => one.id === id) ?? kEncodings[0];
  const pictures = useMemo(() => encoding.draw(knobs), [encoding, knobs]);
  return (
    <article class="panel" aria-labelledby="encodings-title">
      <h2 id="encodings-title">Position encodings</h2>
      <Choice label="Encoding" value={id} options={kEncodings.map((one) => [one.id, one.name] as const)} onChange={setId} />
      <p class="hint encoding-what">{encoding.what}</p>
      <div class="knobs">
        {encoding.knobs.map((knob) => {
          const { name, min, max, step, show } = kKnobs[knob];
          return (
            <label key={knob}>
              {name}: <b>{show(knobs[knob])}</b>
              <input
                type="range"
                min={min}
                max={max}
                step={step}
                value={knobs[knob]}
                aria-valuetext={show(knobs[knob])}
                onInput={(event) => setKnobs({ ...knobs, [knob]: Number(event.currentTarget.value) })}
              />
            </label>
          );
        })}
      </div>
      <div class="order-pictures" data-picture>
        {pictures.map((picture) => (
          <Heatmap key={picture.title} {...picture} />
        ))}
      </div>
      <Pictures name={`positions-${id}`} title={`Position encodings: ${encoding.name}`} />
      <CodeOf code={encodingCode(encoding.call(knobs))} />
    </article>
  );
}
