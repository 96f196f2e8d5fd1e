// One head as lines from each token (left) to those that it looks at (right), as wide as the weight.
import { useState } from 'preact/hooks';
import type { ViewProps } from './attention.js';

const kRow = 26;
const kWidth = 420;
const kLeft = 130;
const kLeast = 0.03; // of a weight that gets a line

export function Lines({ inside, head }: ViewProps) {
  const [token, setToken] = useState<number>();
  const { tokens, attentions } = inside;
  const weights = attentions[head[0]]?.[head[1]] ?? new Float32Array();
  const seq = tokens.length;
  const shown = token !== undefined && token < seq ? token : undefined;
  const rows = shown === undefined ? tokens.map((_, i) => i) : [shown];
  const y = (i: number) => kRow * i + kRow / 2;
  return (
    <div class="head-view">
      <svg viewBox={`0 0 ${kWidth} ${kRow * seq}`} role="group" aria-label={`Layer ${head[0] + 1}, head ${head[1] + 1}`}>
        {rows.flatMap((i) =>
          tokens.map((_, k) => {
            const weight = weights[i * seq + k] ?? 0;
            if (weight < kLeast) return null;
            return (
              <path
                key={`${i} ${k}`}
                d={`M${kLeft} ${y(i)}L${kWidth - kLeft} ${y(k)}`}
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
              role="img"
              aria-label={sentenceOf(tokens, weights, i)}
              onMouseEnter={() => setToken(i)}
              onMouseLeave={() => setToken(undefined)}
              onFocus={() => setToken(i)}
              onBlur={() => setToken(undefined)}
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
