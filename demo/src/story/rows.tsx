// The middle of the story: a row for each token, and what one head does with it. The same rows through four steps; what they show changes.
import type { ComponentChildren } from 'preact';
import { Strip } from '../attention/strip.js';
import { written, type Opened } from './opened.js';
import type { Told } from './use_story.js';

export interface SceneProps {
  told: Told;
  onOpen: (opened: Opened) => void;
  onPick: (token: number) => void;
}

export type RowStep = 'vectors' | 'scores' | 'softmax' | 'mix';

/** A number that can be opened. */
export function Num({ label, onClick, children }: { label: string; onClick: () => void; children: ComponentChildren }) {
  return (
    <button type="button" class="num" aria-label={label} onClick={onClick}>
      {children}
    </button>
  );
}

const share = (weight: number) => `${written(100 * weight, weight < 0.0995 ? 1 : 0)} %`;

export function Rows({ told, onOpen, onPick, step }: SceneProps & { step: RowStep }) {
  const { inside, link, steps, states } = told;
  const { tokens, headDim } = inside;
  const seq = tokens.length;
  const weights =
    inside.attentions[link.layer]?.[link.head]?.subarray(link.from * seq, (link.from + 1) * seq) ?? new Float32Array();
  const asker = tokens[link.from] as string;
  const most = Math.max(...steps.scaled.map(Math.abs), 1e-9);
  const ofRow = (i: number): ComponentChildren => {
    const name = tokens[i] as string;
    const open = (kind: 'vector' | 'key' | 'score' | 'weight' | 'value') => () => onOpen({ kind, token: i });
    switch (step) {
      case 'vectors':
        return (
          <button type="button" class="open-strip" onClick={open('vector')}>
            <Strip vector={states[0]?.[i] ?? []} label={`Vector of ${name}`} numbers />
          </button>
        );
      case 'scores': {
        const score = (steps.scores[i] as number) / Math.sqrt(headDim);
        return (
          <>
            <button type="button" class="open-strip" onClick={open('key')}>
              <Strip vector={steps.keys[i] ?? []} label={`Key of ${name}`} />
            </button>
            <Num label={`Score of ${name}: ${written(score)}. Where it comes from`} onClick={open('score')}>
              {written(score)}
            </Num>
          </>
        );
      }
      case 'softmax':
        return (
          <>
            <Num label={`Score of ${name}: ${written(steps.scaled[i] as number)}. Where it comes from`} onClick={open('score')}>
              {written(steps.scaled[i] as number)}
            </Num>
            <span class="grow-bar" aria-hidden="true">
              <span style={{ '--share': `${100 * (weights[i] ?? 0)}%` }} />
            </span>
            <Num label={`Attention to ${name}: ${share(weights[i] ?? 0)}. Where it comes from`} onClick={open('weight')}>
              {share(weights[i] ?? 0)}
            </Num>
          </>
        );
      case 'mix':
        return (
          <>
            <Num label={`Attention to ${name}: ${share(weights[i] ?? 0)}. Where it comes from`} onClick={open('weight')}>
              {share(weights[i] ?? 0)}
            </Num>
            <span class="times" aria-hidden="true">
              ×
            </span>
            <button
              type="button"
              class="open-strip"
              style={{ '--ink-share': String(0.15 + 0.85 * Math.sqrt(weights[i] ?? 0)) }}
              onClick={open('value')}
            >
              <Strip vector={steps.values[i] ?? []} label={`Value of ${name}`} />
            </button>
          </>
        );
    }
  };
  const hasLines = step !== 'vectors';
  return (
    <div class={`story-rows is-${step}`} style={{ '--rows': seq }}>
      {step === 'scores' && (
        <p class="story-vector">
          <span class="vector-name">query of “{asker}”</span>
          <button type="button" class="open-strip" onClick={() => onOpen({ kind: 'query', token: link.from })}>
            <Strip vector={steps.query} label={`Query of ${asker}`} numbers />
          </button>
        </p>
      )}
      <div class="story-grid">
        <div class="story-column">
          {tokens.map((token, i) => (
            <button
              key={i}
              type="button"
              class={`chip story-chip${i === link.from && hasLines ? ' is-on' : ''}`}
              data-token={i}
              aria-pressed={i === link.from}
              aria-label={`Follow ${token}`}
              onClick={() => onPick(i)}
            >
              {token}
            </button>
          ))}
        </div>
        {hasLines && (
          <svg class="story-lines" viewBox={`0 0 100 ${seq}`} preserveAspectRatio="none" aria-hidden="true">
            {tokens.map((_, i) => {
              const strength = step === 'scores' ? Math.max(0, (steps.scaled[i] as number) / most) * 0.25 : (weights[i] ?? 0);
              const [from, to] = [link.from + 0.5, i + 0.5];
              return (
                <path
                  key={i}
                  d={`M0 ${from}C50 ${from} 50 ${to} 100 ${to}`}
                  class={i === link.to && step !== 'scores' ? 'is-most' : undefined}
                  stroke-width={1 + 11 * strength}
                  stroke-opacity={0.15 + 0.85 * Math.sqrt(strength)}
                />
              );
            })}
          </svg>
        )}
        <ol class="story-column story-cells">
          {tokens.map((token, i) => (
            <li key={i} class={i === link.to && step !== 'vectors' && step !== 'scores' ? 'is-most' : undefined}>
              {hasLines && <span class="story-name">{token}</span>}
              {ofRow(i)}
            </li>
          ))}
        </ol>
      </div>
      {step === 'mix' && (
        <p class="story-vector is-sum">
          <span class="vector-name">sum, for “{asker}”</span>
          <button type="button" class="open-strip" onClick={() => onOpen({ kind: 'sum', token: link.from })}>
            <Strip vector={steps.output} label={`Weighted sum for ${asker}`} numbers />
          </button>
        </p>
      )}
    </div>
  );
}
