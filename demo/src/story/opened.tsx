// A number of the story, opened: where it comes from, in the model's own numbers.
import type { ComponentChildren } from 'preact';
import { formatCount, formatScore } from '../ui/format.js';
import type { Meaning, Told } from './use_story.js';

/** Which number: of a token, of a token after a layer, or of a sentence to compare with. */
export type Opened =
  | { kind: 'id' | 'vector' | 'query' | 'key' | 'score' | 'weight' | 'value' | 'sum'; token: number }
  | { kind: 'state'; token: number; layer: number }
  | { kind: 'meaning' }
  | { kind: 'cosine'; other: number };

export const written = (value: number, digits = 2) => value.toFixed(digits).replace('-', '−');

const kTerms = 3; // of a long sum that are written out

/** a0 b0 + a1 b1 + … */
function products(a: ArrayLike<number>, b: ArrayLike<number>): string {
  const terms = Array.from(
    { length: Math.min(kTerms, a.length) },
    (_, k) => `${written(a[k] as number)} × ${written(b[k] as number)}`,
  );
  return `${terms.join(' + ')} + … (${formatCount(a.length)} products)`;
}

function Numbers({ of }: { of: ArrayLike<number> }) {
  return (
    <p class="story-numbers" tabIndex={0} role="group" aria-label={`All ${of.length} numbers`}>
      {Array.from({ length: of.length }, (_, k) => written(of[k] as number)).join('  ')}
    </p>
  );
}

interface OpenedProps {
  opened: Opened;
  told: Told;
  meaning: Meaning | undefined;
  text: string;
  onClose: () => void;
}

export function OpenedNumber({ onClose, ...props }: OpenedProps) {
  const [title, body] = explain(props);
  return (
    <aside class="story-opened" aria-label="Where this number comes from">
      <div class="panel-head">
        <h3>{title}</h3>
        <button type="button" class="secondary outline small" onClick={onClose}>
          Close
        </button>
      </div>
      {body}
    </aside>
  );
}

function explain({ opened, told, meaning, text }: Omit<OpenedProps, 'onClose'>): [string, ComponentChildren] {
  const { inside, steps, states, link } = told;
  if (opened.kind === 'meaning' || opened.kind === 'cosine') {
    const vector = meaning?.vector ?? new Float32Array();
    if (opened.kind === 'meaning')
      return [`The sentence: ${vector.length} numbers`, <Numbers key="all" of={vector} />]; // prettier-ignore
    const other = meaning?.others[opened.other];
    if (!other) return ['', null];
    return [
      `Cosine ${formatScore(other.score)}`,
      <>
        <p>
          The cosine of the angle between the vectors of “{text}” and “{other.text}”: a · b / (|a| |b|). It is 1 if they point the
          same way and 0 if they have nothing in common.
        </p>
        <p class="story-formula">a · b = {products(vector, other.vector)}</p>
      </>,
    ];
  }
  const { token } = opened;
  const name = inside.tokens[token] ?? '';
  const asker = inside.tokens[link.from] ?? '';
  const root = Math.sqrt(inside.headDim);
  const score = steps.scores[token] as number;
  switch (opened.kind) {
    case 'id':
      return [
        `“${name}” is number ${inside.ids[token]}`,
        <p key="id">The tokenizer's vocabulary is a list of text pieces. This one is in row {inside.ids[token]}, and the model has a learned vector for that row.</p>, // prettier-ignore
      ];
    case 'vector':
      return [`The vector of “${name}”: ${inside.hiddenSize} numbers`, <Numbers key="all" of={states[0]?.[token] ?? []} />];
    case 'query':
      return [`The query of “${name}”: ${inside.headDim} numbers`, <Numbers key="all" of={steps.query} />];
    case 'key':
      return [`The key of “${name}”: ${inside.headDim} numbers`, <Numbers key="all" of={steps.keys[token] ?? []} />];
    case 'value':
      return [`The value of “${name}”: ${inside.headDim} numbers`, <Numbers key="all" of={steps.values[token] ?? []} />];
    case 'sum':
      return [`What the head writes for “${asker}”: ${inside.headDim} numbers`, <Numbers key="all" of={steps.output} />];
    case 'score':
      return [
        `Score ${written(score / root)}: how well the key of “${name}” matches the query of “${asker}”`,
        <>
          <p class="story-formula">
            q · k = {products(steps.query, steps.keys[token] ?? [])} = {written(score)}
          </p>
          <p class="story-formula">
            {written(score)} / √{inside.headDim} = {written(score / root)}
          </p>
        </>,
      ];
    case 'weight': {
      const sum = steps.exps.reduce((total, value) => total + value, 0);
      return [
        `“${asker}” gives “${name}” ${written(100 * (steps.weights[token] as number), 1)} % of its attention`,
        <>
          <p class="story-formula">
            exp({written(steps.scaled[token] as number)} − {written(Math.max(...steps.scaled))}) ={' '}
            {written(steps.exps[token] as number, 4)}
          </p>
          <p class="story-formula">
            {written(steps.exps[token] as number, 4)} / {written(sum, 4)} = {written(steps.weights[token] as number, 4)}
          </p>
          <p class="hint">
            The largest score is subtracted first so that exp cannot overflow. The divisor is the sum over all tokens, so the
            percentages add up to 100.
          </p>
        </>,
      ];
    }
    case 'state':
      return [
        `“${name}” ${opened.layer === 0 ? 'before the first layer' : `after layer ${opened.layer}`}: ${inside.hiddenSize} numbers`,
        <Numbers key="all" of={states[opened.layer]?.[token] ?? []} />,
      ];
  }
}
