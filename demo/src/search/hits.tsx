// The chunks that fit best as a list: their words of the query marked, and why each was found.
import type { ComponentChildren } from 'preact';
import { formatScore } from '../ui/format.js';
import type { Hit, IndexFacts } from './types.js';

interface HitsProps {
  facts: IndexFacts;
  hits: readonly Hit[];
  /** Whether the answer to what was typed last is still on its way. */
  busy: boolean;
  marked: number | undefined;
  onHover: (piece: number | undefined) => void;
  onSelect: (piece: number) => void;
}

/** A text with some places in it marked. */
function Marked({ text, places }: { text: string; places: Hit['highlights'] }) {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const { start, end } of places) {
    parts.push(text.slice(at, start), <mark key={start}>{text.slice(start, end)}</mark>);
    at = end;
  }
  return (
    <span class="found-text">
      {parts}
      {text.slice(at)}
    </span>
  );
}

/** Rare words count more in their share of the query. */
const whyOf = ({ coverage, meaning }: Hit['why']) =>
  `${Math.round(100 * (coverage ?? 0))} % of the words, meaning ${formatScore(meaning ?? 0)}`;

export function Hits({ facts, hits, busy, marked, onHover, onSelect }: HitsProps) {
  return (
    <ol class="found" aria-label="Chunks, best first" aria-busy={busy}>
      {hits.map(({ piece: at, score, why, highlights }) => {
        const piece = facts.pieces[at];
        if (!piece) return null;
        return (
          <li key={at} onMouseEnter={() => onHover(at)} onMouseLeave={() => onHover(undefined)}>
            <button type="button" class={at === marked ? 'found-piece is-on' : 'found-piece'} onClick={() => onSelect(at)}>
              <span class="dot" data-cluster={facts.picture.labels[at]} aria-hidden="true" />
              <Marked text={piece.text} places={highlights} />
              <span class="found-score">{formatScore(score)}</span>
              <span class="found-doc">
                {piece.name} · {whyOf(why)}
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
