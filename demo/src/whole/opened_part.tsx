// The chosen part in words: where it is, what it says, the formula of its number, and buttons for all that it consists of.
import { useRef, useState } from 'preact/hooks';
import { stepInRow } from '../ui/roving.js';
import type { Facts } from './facts.js';
import { written } from './inner.js';
import { childrenOf, idOf, isVector, wayTo, type Part } from './parts.js';
import { saidOf, shortName } from './says.js';

interface OpenedProps {
  facts: Facts;
  at: Part;
  onOpen: (one: Part) => void;
}

export function OpenedPart({ facts, at, onOpen }: OpenedProps) {
  const { title, says, lines } = saidOf(facts, at);
  const way = wayTo(at);
  const vectorPart: Part = { kind: at.kind, at: at.at };
  const vector = isVector(at) ? facts.vectorOf(vectorPart) : undefined;
  const children = childrenOf(at, facts.sizes);
  return (
    <section class="whole-part" aria-labelledby="whole-part-title" data-part={idOf(at)}>
      <nav aria-label="Where this is">
        <ol>
          {way.map((one, i) => (
            <li key={idOf(one)}>
              <button
                type="button"
                class="whole-link"
                aria-current={i === way.length - 1 ? 'true' : undefined}
                onClick={() => onOpen(one)}
              >
                {shortName(facts, one)}
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <h3 id="whole-part-title">{title}</h3>
      <p>{says}</p>
      {lines.length > 0 && (
        <ol class="whole-formula" aria-label="Formula">
          {lines.map((line, i) => (
            <li key={i}>{line}</li>
          ))}
        </ol>
      )}
      {vector && <Numbers key={idOf(vectorPart)} of={vector} part={vectorPart} chosen={at.cell} onOpen={onOpen} />}
      {children.length > 0 && (
        <ul class="whole-children" aria-label={`Parts of ${shortName(facts, at)}`}>
          {children.map((one) => (
            <li key={idOf(one)}>
              <button type="button" class="secondary outline small" data-opens={idOf(one)} onClick={() => onOpen(one)}>
                {at.kind === 'token' ? 'Its vector' : shortName(facts, one)}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface NumbersProps {
  of: Float32Array;
  part: Part;
  chosen: number | undefined;
  onOpen: (one: Part) => void;
}

/** All numbers of a vector: one stop of Tab, arrow keys walk. */
function Numbers({ of, part, chosen, onOpen }: NumbersProps) {
  const [stop, setStop] = useState(chosen ?? 0);
  const list = useRef<HTMLDivElement>(null);
  const current = chosen ?? stop;
  const onKeyDown = (event: KeyboardEvent) => {
    const next = stepInRow(event.key, stop, of.length);
    if (next === undefined) return;
    event.preventDefault();
    setStop(next);
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="whole-numbers" role="group" aria-label={`All ${of.length} numbers`} ref={list} onKeyDown={onKeyDown}>
      {Array.from(of, (value, i) => (
        <button
          key={i}
          type="button"
          class="cell"
          tabIndex={i === (chosen === undefined ? stop : current) ? 0 : -1}
          aria-pressed={i === chosen}
          aria-label={`Number ${i + 1}: ${written(value, 2)}. Where it comes from`}
          onClick={() => {
            setStop(i);
            onOpen({ ...part, cell: i });
          }}
        >
          {written(value, 2)}
        </button>
      ))}
    </div>
  );
}
