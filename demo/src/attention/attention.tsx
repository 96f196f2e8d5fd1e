// Panel: which token looks at which, head by head; and what the sentence's vector loses without a head.
import './attention.css';
import type { PanelProps } from "../panel.js";
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatScore, plural } from '../ui/format.js';
import { stepInRow } from '../ui/roving.js';
import { useInside, type Inside } from './use_inside.js';

export function AttentionPanel({ model: { source } }: PanelProps) {
  const [text, setText] = useState('The cat sat on the mat because it was tired.');
  const [picked, setPicked] = useState<readonly [number, number]>([0, 0]);
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const [token, setToken] = useState<number>();
  const { inside, error } = useInside(source, text, off);
  const name = picked.join(' ');
  const toggle = () => {
    const next = new Set(off);
    if (!next.delete(name)) next.add(name);
    setOff(next);
  };
  return (
    <article class="panel attention-panel" aria-labelledby="attention-title">
      <h2 id="attention-title">Attention</h2>
      <label for="attention-text">What does each token of this text look at?</label>
      <input id="attention-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      {error && (
        <p class="error" role="alert">
          {error.message}
        </p>
      )}
      {inside ? (
        <div class="attention">
          <Overview inside={inside} picked={picked} off={off} onPick={setPicked} />
          <HeadView inside={inside} picked={picked} token={token} onToken={setToken} />
        </div>
      ) : (
        !error && <p class="hint">Opening the model…</p>
      )}
      {inside && (
        <div class="attention-line">
          <button type="button" class="secondary outline small" aria-pressed={off.has(name)} onClick={toggle}>
            Turn layer {picked[0] + 1}, head {picked[1] + 1} {off.has(name) ? 'on' : 'off'}
          </button>
          <p class="timing" role="status">
            {off.size === 0
              ? 'Every head is on.'
              : `${plural(off.size, 'head')} off: the sentence's vector keeps a cosine of ${formatScore(inside.kept)} to the whole model's.`}
          </p>
        </div>
      )}
    </article>
  );
}

interface OverviewProps {
  inside: Inside;
  picked: readonly [number, number];
  off: ReadonlySet<string>;
  onPick: (picked: readonly [number, number]) => void;
}

/** Every head as a small picture: a row a layer. */
function Overview({ inside, picked, off, onPick }: OverviewProps) {
  const grid = useRef<HTMLDivElement>(null);
  const heads = inside.attentions[0]?.length ?? 0;
  const move = (event: KeyboardEvent) => {
    const at = picked[0] * heads + picked[1];
    const down = { ArrowDown: heads, ArrowUp: -heads }[event.key];
    const next = down ? at + down : stepInRow(event.key, at, inside.attentions.length * heads);
    if (next === undefined || next < 0 || next >= inside.attentions.length * heads) return;
    event.preventDefault();
    onPick([Math.floor(next / heads), next % heads]);
    grid.current?.querySelectorAll<HTMLElement>('button')[next]?.focus();
  };
  return (
    <div class="heads" role="group" aria-label="Layers and heads" ref={grid} style={{ '--columns': heads }} onKeyDown={move}>
      {inside.attentions.flatMap((layer, l) =>
        layer.map((weights, h) => {
          const on = picked[0] === l && picked[1] === h;
          const isOff = off.has(`${l} ${h}`);
          return (
            <button
              key={`${l} ${h}`}
              type="button"
              class={`head${on ? ' is-on' : ''}${isOff ? ' is-off' : ''}`}
              tabIndex={on ? 0 : -1}
              aria-pressed={on}
              aria-label={`Layer ${l + 1}, head ${h + 1}${isOff ? ', off' : ''}`}
              title={`layer ${l + 1}, head ${h + 1}`}
              onClick={() => onPick([l, h])}
            >
              <Picture weights={weights} seq={inside.tokens.length} />
            </button>
          );
        }),
      )}
    </div>
  );
}

/** A matrix of weights, a pixel each: darker is more. */
function Picture({ weights, seq }: { weights: Float32Array; seq: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(seq, seq);
    weights.forEach((weight, i) => image.data.set([124, 112, 240, Math.round(255 * Math.sqrt(weight))], 4 * i));
    context.putImageData(image, 0, 0);
  }, [weights, seq]);
  return <canvas ref={canvas} width={seq} height={seq} aria-hidden="true" />;
}

interface HeadProps {
  inside: Inside;
  picked: readonly [number, number];
  token: number | undefined;
  onToken: (token: number | undefined) => void;
}

const kRow = 26;
const kWidth = 420;
const kLeft = 130;

/** Lines from each token (left) to those that it looks at (right), as wide as the weight. */
function HeadView({ inside, picked, token, onToken }: HeadProps) {
  const { tokens, attentions } = inside;
  const weights = attentions[picked[0]]?.[picked[1]] ?? new Float32Array();
  const seq = tokens.length;
  const shown = token !== undefined && token < seq ? token : undefined;
  const rows = shown === undefined ? tokens.map((_, i) => i) : [shown];
  const y = (i: number) => kRow * i + kRow / 2;
  return (
    <div class="head-view">
      <svg viewBox={`0 0 ${kWidth} ${kRow * seq}`} role="img" aria-label={`Layer ${picked[0] + 1}, head ${picked[1] + 1}`}>
        {rows.flatMap((i) =>
          tokens.map((_, k) => {
            const weight = weights[i * seq + k] ?? 0;
            if (weight < 0.03) return null;
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
              aria-label={sentenceOf(tokens, weights, i)}
              onMouseEnter={() => onToken(i)}
              onMouseLeave={() => onToken(undefined)}
              onFocus={() => onToken(i)}
              onBlur={() => onToken(undefined)}
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
  return `${tokens[i]} looks at ${most.join(', ')}`;
}
