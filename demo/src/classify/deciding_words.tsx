// Under the labels: which words the label hangs on.
import './deciding.css';
import type { ModelSpecifier } from 'wattn';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CodeOf } from '../ui/copy.js';
import { Problem } from '../ui/lazy.js';
import { Pictures } from '../ui/pictures.js';
import { decidingCode } from './classify_code.js';
import { kMethods, verdict, whatDecides, type Deciding } from './deciding.js';

const kColumns = ['left out', 'gradient', 'path'];

export function DecidingWords({ source, text }: { source: ModelSpecifier | null; text: string }) {
  const [found, setFound] = useState<Deciding & { of: string }>();
  const [error, setError] = useState<Error>();
  const [running, setRunning] = useState(false);
  const asked = useRef(0);
  useEffect(() => () => void ++asked.current, []);
  const ask = async () => {
    const mine = ++asked.current;
    const isStale = () => asked.current !== mine;
    setError(undefined);
    setRunning(true);
    try {
      const next = await whatDecides(source, text, isStale);
      if (next && !isStale()) setFound({ ...next, of: text });
    } catch (reason) {
      if (!isStale()) setError(reason as Error);
    } finally {
      if (!isStale()) setRunning(false);
    }
  };
  const shown = found?.of === text ? found : undefined;
  return (
    <details class="deciding">
      <summary>Which words decide?</summary>
      <p class="hint">
        How much each token contributes to the winning label, measured in three ways, next to the attention it gets. Attention shows
        where the model looks, not what the answer depends on.
      </p>
      <button type="button" class="small" disabled={running || text.trim() === ''} onClick={() => void ask()}>
        {running ? 'Computing…' : 'Compute attributions'}
      </button>
      {error && <Problem error={error} />}
      {shown && <p role="status">{verdict(shown)}</p>}
      {shown && <Table found={shown} />}
      {shown && (
        <p class="hint">
          Left out: how much the label’s logit falls without the token. Gradient: gradient times the token’s vector, which is small
          where the model is certain. Path: gradients summed along a path from no text to this one (integrated gradients).
        </p>
      )}
      {shown && <Pictures name="deciding" title={`What decides for “${shown.label.toLowerCase()}”`} />}
      {shown && <CodeOf code={decidingCode(source, text)} />}
    </details>
  );
}

const signed = (number: number) => number.toFixed(2).replace('-', '−');

function Table({ found }: { found: Deciding }) {
  const columns = kMethods.map((method) => found.scores[method]);
  const most = columns.map((scores) => Math.max(1e-9, ...scores.map(Math.abs)));
  return (
    <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Contribution of each token">
      <table data-picture>
        <thead>
          <tr>
            <th scope="col">token</th>
            <th scope="col">attention</th>
            {kColumns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.tokens.map((token, i) => (
            <tr key={i}>
              <th scope="row">{token}</th>
              <td style={{ '--share': `${Math.round(100 * (found.attention[i] as number))}%` }}>
                {Math.round(100 * (found.attention[i] as number))} %
              </td>
              {columns.map((scores, column) => {
                const score = scores[i] as number;
                const share = Math.round((100 * Math.abs(score)) / (most[column] as number));
                return (
                  <td key={column} class={score < 0 ? 'is-against' : undefined} style={{ '--share': `${share}%` }}>
                    {signed(score)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
