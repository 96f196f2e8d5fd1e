// Every head as a small picture: a row a layer.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { stepInRow } from '../ui/roving.js';
import type { Head, ViewProps } from './use_inside.js';
import { kindOf, kKinds } from './kinds.js';

interface OverviewProps extends ViewProps {
  off: ReadonlySet<string>;
  onHead: (head: Head) => void;
}

export function Overview({ inside, head, off, onHead }: OverviewProps) {
  const grid = useRef<HTMLDivElement>(null);
  const heads = inside.attentions[0]?.length ?? 0;
  const count = inside.attentions.length * heads;
  const kinds = useMemo(() => inside.attentions.map((layer) => layer.map((weights) => kindOf(inside, weights))), [inside]);
  const move = (event: KeyboardEvent) => {
    const at = head[0] * heads + head[1];
    const down = { ArrowDown: heads, ArrowUp: -heads }[event.key];
    const next = down ? at + down : stepInRow(event.key, at, count);
    if (next === undefined || next < 0 || next >= count) return;
    event.preventDefault();
    onHead([Math.floor(next / heads), next % heads]);
    grid.current?.querySelectorAll<HTMLElement>('button')[next]?.focus();
  };
  return (
    <>
      <ul class="kinds" aria-label="What a head mostly looks at">
        {Object.entries(kKinds).map(
          ([kind, name]) =>
            kinds.flat().includes(kind as keyof typeof kKinds) && (
              <li key={kind}>
                <span class={`kind is-${kind}`} aria-hidden="true" /> {name}
              </li>
            ),
        )}
      </ul>
      <div class="heads" role="group" aria-label="Layers and heads" ref={grid} style={{ '--columns': heads }} onKeyDown={move}>
        {inside.attentions.flatMap((layer, l) =>
          layer.map((weights, h) => {
            const on = head[0] === l && head[1] === h;
            const isOff = off.has(`${l} ${h}`);
            const kind = kinds[l]?.[h] ?? 'all';
            return (
              <button
                key={`${l} ${h}`}
                type="button"
                class={`head${on ? ' is-on' : ''}${isOff ? ' is-off' : ''}`}
                tabIndex={on ? 0 : -1}
                aria-pressed={on}
                aria-label={`Layer ${l + 1}, head ${h + 1}${isOff ? ', off' : ''}: ${kKinds[kind]}`}
                title={`layer ${l + 1}, head ${h + 1}: mostly ${kKinds[kind]}`}
                onClick={() => onHead([l, h])}
              >
                <span class={`kind is-${kind}`} aria-hidden="true" />
                <Picture weights={weights} seq={inside.tokens.length} />
              </button>
            );
          }),
        )}
      </div>
    </>
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
