// One head as numbers: row, the token that looks; column, the token it looks at.
import { useRef, useState } from 'preact/hooks';
import { stepInSquare } from '../ui/roving.js';
import type { ViewProps } from './use_inside.js';

const written = (weight: number) => weight.toFixed(2).replace(/^0/, '');

export function Matrix({ inside, head }: ViewProps) {
  const { tokens, attentions } = inside;
  const weights = attentions[head[0]]?.[head[1]] ?? new Float32Array();
  const seq = tokens.length;
  const body = useRef<HTMLTableSectionElement>(null);
  const [stop, setStop] = useState<[number, number]>([0, 0]);
  const [pointed, setPointed] = useState<[number, number]>();
  const at: [number, number] = [Math.min(stop[0], seq - 1), Math.min(stop[1], seq - 1)];
  const weight = (row: number, column: number) => weights[row * seq + column] ?? 0;
  const move = (event: KeyboardEvent) => {
    const next = stepInSquare(event.key, at, seq);
    if (!next) return;
    event.preventDefault();
    body.current?.querySelector<HTMLElement>(`[data-cell="${next.join(' ')}"]`)?.focus();
  };
  return (
    <>
      <p class="hint" role="status">
        {pointed && pointed[0] < seq && pointed[1] < seq
          ? `${tokens[pointed[0]]} attends to ${tokens[pointed[1]]} with a weight of ${weight(...pointed).toFixed(4)}.`
          : 'Each row sums to 1. Point at a number, or use the arrow keys.'}
      </p>
      <div class="matrix-scroll">
        <table
          class="weights"
          data-picture
          role="grid"
          aria-label="Attention of each token (row) to each (column)"
          onMouseLeave={() => setPointed(undefined)}
        >
          <Columns tokens={tokens} pointed={pointed?.[1]} />
          <tbody ref={body} onKeyDown={move}>
            {tokens.map((token, row) => (
              <tr key={row}>
                <th scope="row" class={pointed?.[0] === row ? 'is-on' : undefined}>
                  {token}
                </th>
                {tokens.map((other, column) => (
                  <td
                    key={column}
                    role="gridcell"
                    class="cell"
                    data-cell={`${row} ${column}`}
                    tabIndex={row === at[0] && column === at[1] ? 0 : -1}
                    aria-label={`${token} to ${other}: ${weight(row, column).toFixed(2)}`}
                    style={{ '--share': `${Math.round(100 * Math.sqrt(weight(row, column)))}%` }}
                    onMouseEnter={() => setPointed([row, column])}
                    onFocus={() => {
                      setStop([row, column]);
                      setPointed([row, column]);
                    }}
                  >
                    {written(weight(row, column))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Columns({ tokens, pointed }: { tokens: readonly string[]; pointed: number | undefined }) {
  return (
    <thead>
      <tr>
        <td />
        {tokens.map((token, k) => (
          <th key={k} scope="col" class={pointed === k ? 'is-on' : undefined}>
            <span>{token}</span>
          </th>
        ))}
      </tr>
    </thead>
  );
}
