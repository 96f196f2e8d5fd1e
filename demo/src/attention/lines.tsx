// One head as lines from each token (left) to those that it looks at (right), as wide as the weight.
import { useState } from 'preact/hooks';
import type { ViewProps } from './use_inside.js';

const kRow = 26;
const kWidth = 420;
const kLeft = 130;
const kLeast = 0.03; // of a weight that gets a line

interface LinesProps extends ViewProps {
  /** The token whose lines alone are shown, if any. */
  token: number | undefined;
  onToken: (token: number | undefined) => void;
}

export function Lines({ inside, head, token, onToken }: LinesProps) {
  const [pointed, setPointed] = useState<number>();
  const { tokens, attentions } = inside;
  const weights = attentions[head[0]]?.[head[1]] ?? new Float32Array();
  const seq = tokens.length;
  const wanted = pointed ?? token;
  const shown = wanted !== undefined && wanted < seq ? wanted : undefined;
  const rows = shown === undefined ? tokens.map((_, i) => i) : [shown];
  const most = shown === undefined ? undefined : strongest(weights.subarray(shown * seq, (shown + 1) * seq));
  const y = (i: number) => kRow * i + kRow / 2;
  return (
    <div class="head-view">
      <p class="hint" role="status">
        {shown === undefined ? 'Choose a token to see only its attention.' : `${sentenceOf(tokens, weights, shown)}.`}
      </p>
      <svg viewBox={`0 0 ${kWidth} ${kRow * seq}`} role="group" aria-label={`Layer ${head[0] + 1}, head ${head[1] + 1}`}>
        {rows.flatMap((i) =>
          tokens.map((_, k) => {
            const weight = weights[i * seq + k] ?? 0;
            if (weight < kLeast) return null;
            return (
              <path
                key={`${i} ${k}`}
                d={`M${kLeft} ${y(i)}L${kWidth - kLeft} ${y(k)}`}
                class={k === most ? 'is-most' : undefined}
                stroke-opacity={Math.sqrt(weight)}
                stroke-width={0.5 + 5 * weight}
              />
            );
          }),
        )}
        {tokens.map((text, i) => (
          <g key={i}>
            <text
              x={kLeft - 8}
              y={y(i)}
              text-anchor="end"
              class={shown === i ? 'is-on' : undefined}
              tabIndex={0}
              role="button"
              aria-pressed={token === i}
              aria-label={sentenceOf(tokens, weights, i)}
              onClick={() => onToken(token === i ? undefined : i)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' && event.key !== ' ') return;
                event.preventDefault();
                onToken(token === i ? undefined : i);
              }}
              onMouseEnter={() => setPointed(i)}
              onMouseLeave={() => setPointed(undefined)}
              onFocus={() => setPointed(i)}
              onBlur={() => setPointed(undefined)}
            >
              {text}
            </text>
            <text x={kWidth - kLeft + 8} y={y(i)} aria-hidden="true">
              {text}
              {shown !== undefined && <tspan class="weight"> {(weights[shown * seq + i] ?? 0).toFixed(2)}</tspan>}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** In words, what one token looks at most. */
function sentenceOf(tokens: readonly string[], weights: Float32Array, i: number): string {
  const seq = tokens.length;
  const order = tokens.map((_, k) => k).sort((a, b) => (weights[i * seq + b] ?? 0) - (weights[i * seq + a] ?? 0));
  const most = order.slice(0, 3).map((k) => `${tokens[k]} ${(weights[i * seq + k] ?? 0).toFixed(2)}`);
  return `${tokens[i]} attends to ${most.join(', ')}`;
}

/** Where the largest of some numbers stands. */
const strongest = (of: Float32Array) => of.reduce((best, value, i) => (value > (of[best] ?? 0) ? i : best), 0);
