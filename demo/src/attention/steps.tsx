// One head, one token: from its vector through query, keys, scores, scaling and softmax to the weighted sum, in real numbers.
import { useMemo, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { ViewProps } from './use_inside.js';
import { stepsOf, type HeadSteps } from './head_steps.js';
import { Strip } from './strip.js';

const kClose = 1e-4; // between these weights and the model's: float32 over some hundred products, twice

const kSteps: readonly [name: string, what: (token: string, dim: number) => ComponentChildren][] = [
  ['The vectors', (token) => <>Each token enters this layer as a vector. We follow “{token}”.</>],
  [
    'Query and keys',
    (token) => <>“{token}” has a query q, and every token has a key k. Both are the vector times a learned matrix.</>,
  ],
  ['Scores', () => <>How well does each key match the query? The dot product q · k is large where both point the same way.</>],
  [
    'Scaling',
    (_, dim) => (
      <>
        Divided by √{dim} = {Math.sqrt(dim).toFixed(2)}, so that longer vectors do not make softmax sharper.
      </>
    ),
  ],
  ['Softmax', () => <>exp of each score, divided by the sum. The results are positive and add up to 1: this is the attention.</>],
  [
    'Weighted sum',
    (token) => (
      <>Each token has a value v. The sum of all values, weighted by the attention of “{token}”, is the head's output for it.</>
    ),
  ],
];

const number = (value: number) => value.toFixed(2).replace('-', '−');

interface StepsProps extends ViewProps {
  token: number | undefined;
  onToken: (token: number) => void;
}

export function Steps({ inside, head, token: picked = 2, onToken }: StepsProps) {
  const [step, setStep] = useState(0);
  const { tokens, headDim } = inside;
  const token = Math.min(picked, tokens.length - 1);
  const [layer, one] = head;
  const steps = useMemo(() => {
    const of = (all: Float32Array[][]) => all[layer]?.[one] ?? new Float32Array();
    const { queries, keys, values, attentions } = inside;
    return stepsOf(token, headDim, { queries: of(queries), keys: of(keys), values: of(values), attention: of(attentions) });
  }, [inside, layer, one, token]);
  const [name, what] = kSteps[step] as (typeof kSteps)[number];
  return (
    <div class="steps">
      <div class="steps-line">
        <label>
          Token{' '}
          <select value={token} onChange={(event) => onToken(Number(event.currentTarget.value))}>
            {tokens.map((text, i) => (
              <option key={i} value={i}>
                {i + 1} {text}
              </option>
            ))}
          </select>
        </label>
        <div class="steps-buttons">
          <button type="button" class="secondary outline small" disabled={step === 0} onClick={() => setStep(step - 1)}>
            Back
          </button>
          <button type="button" class="small" disabled={step === kSteps.length - 1} onClick={() => setStep(step + 1)}>
            Next
          </button>
        </div>
      </div>
      <StepNames step={step} onStep={setStep} />
      <p role="status">
        <b>{name}.</b> {what(tokens[token] as string, headDim)}
      </p>
      {step > 0 && <Query steps={steps} />}
      <StepTable inside={inside} layer={layer} steps={steps} step={step} token={token} />
      {step >= 4 && <Gap steps={steps} />}
      {step === 5 && (
        <p class="sum">
          <span class="vector-name">sum</span> <Strip vector={steps.output} label="The weighted sum" numbers />
        </p>
      )}
    </div>
  );
}

function StepNames({ step, onStep }: { step: number; onStep: (step: number) => void }) {
  return (
    <ol class="steps-names" aria-label="Steps">
      {kSteps.map(([title], i) => (
        <li key={title}>
          <button
            type="button"
            class={i === step ? 'is-on' : i < step ? 'is-done' : ''}
            aria-current={i === step ? 'step' : undefined}
            onClick={() => onStep(i)}
          >
            {i + 1}. {title}
          </button>
        </li>
      ))}
    </ol>
  );
}

const Query = ({ steps }: { steps: HeadSteps }) => (
  <p class="sum">
    <span class="vector-name">q</span> <Strip vector={steps.query} label="The query" numbers />
  </p>
);

interface TableProps extends Pick<ViewProps, 'inside'> {
  layer: number;
  steps: HeadSteps;
  step: number;
  token: number;
}

function StepTable({ inside, layer, steps, step, token }: TableProps) {
  const { tokens, hiddenSize } = inside;
  const vectors = inside.inputs[layer] ?? new Float32Array();
  // From which step on a column is there, and what it holds for token i.
  const columns: [name: string, from: number, to: number, cell: (i: number) => ComponentChildren][] = [
    [
      'vector',
      0,
      0,
      (i) => <Strip vector={vectors.slice(i * hiddenSize, (i + 1) * hiddenSize)} label={`Vector of ${tokens[i]}`} />,
    ],
    ['k', 1, 2, (i) => <Strip vector={steps.keys[i] ?? []} label={`Key of ${tokens[i]}`} />],
    ['q · k', 2, 4, (i) => number(steps.scores[i] as number)],
    ['scaled', 3, 4, (i) => number(steps.scaled[i] as number)],
    ['exp', 4, 4, (i) => number(steps.exps[i] as number)],
    ['attention', 4, 5, (i) => <Weight weight={steps.weights[i] as number} />],
    ['v', 5, 5, (i) => <Strip vector={steps.values[i] ?? []} label={`Value of ${tokens[i]}`} />],
  ];
  const shown = columns.filter(([, from, to]) => from <= step && step <= to);
  return (
    <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Numbers of each token">
      <table class="step-table">
        <thead>
          <tr>
            <th scope="col">token</th>
            {shown.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tokens.map((text, i) => (
            <tr key={i} class={i === token ? 'is-on' : undefined}>
              <th scope="row">{text}</th>
              {shown.map(([name, , , cell]) => (
                <td key={name}>{cell(i)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Weight = ({ weight }: { weight: number }) => (
  <span class="step-weight">
    <span class="bar" style={{ '--share': `${Math.round(100 * weight)}%` }} aria-hidden="true" />
    {weight.toFixed(3)}
  </span>
);

/** Whether the steps lead to what the model really computed. */
function Gap({ steps: { gap } }: { steps: HeadSteps }) {
  return gap <= kClose ? (
    <p class="hint">The model's own attention is the same, to within {gap.toExponential(0).replace('-', '−')}.</p>
  ) : (
    <p class="warning">
      The model's own attention differs by up to {gap.toFixed(3)}. Either its scores have another term besides q · k, such as one
      for positions (as in MPNet, DeBERTa or Jina), or it uses a window, or the head is turned off.
    </p>
  );
}
