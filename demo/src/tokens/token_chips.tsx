// Tokens as chips in a row: one tab stop, arrow keys inside it.
import './token_chips.css';
import { useRef } from 'preact/hooks';
import { stepInRow } from '../ui/roving.js';
import type { ShownToken } from './read_tokens.js';

interface ChipsProps {
  tokens: ShownToken[];
  label: string;
  active: number | undefined;
  onActive: (index: number | undefined) => void;
  /** Stretch of the text that is pointed at elsewhere: tokens that share a letter with it are marked. */
  linked?: readonly [number, number] | undefined;
}

const overlaps = ({ special, span }: ShownToken, linked: ChipsProps['linked']) =>
  linked !== undefined && !special && span[0] < linked[1] && linked[0] < span[1];

const classOf = ({ special, joined }: ShownToken, isLinked: boolean) =>
  `chip${special ? ' is-special' : ''}${joined ? ' is-joined' : ''}${isLinked ? ' is-linked' : ''}`;

const describe = ({ token, id, special, span }: ShownToken) =>
  `${token}, id ${id}, ${special ? 'special token' : `characters ${span[0]} to ${span[1]}`}`;

export function TokenChips({ tokens, label, active, onActive, linked }: ChipsProps) {
  const row = useRef<HTMLDivElement>(null);
  const last = useRef(0); // where the focus was, and comes back to
  const stop = Math.min(last.current, tokens.length - 1);
  const move = (event: KeyboardEvent) => {
    const next = stepInRow(event.key, last.current, tokens.length);
    if (next === undefined) return;
    event.preventDefault();
    (row.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  if (tokens.length === 0) return null;
  return (
    <div class="chips" role="listbox" aria-label={label} aria-orientation="horizontal" ref={row} onKeyDown={move}>
      {tokens.map((token, i) => (
        <span
          key={i}
          role="option"
          class={classOf(token, overlaps(token, linked))}
          tabIndex={i === stop ? 0 : -1}
          aria-selected={i === active}
          aria-label={describe(token)}
          onMouseEnter={() => onActive(i)}
          onMouseLeave={() => onActive(undefined)}
          onFocus={() => {
            last.current = i;
            onActive(i);
          }}
          onBlur={() => onActive(undefined)}
        >
          {token.token}
        </span>
      ))}
    </div>
  );
}
