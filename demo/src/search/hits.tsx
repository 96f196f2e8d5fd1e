// The nearest pieces as a list.
import { formatScore } from '../ui/format.js';
import type { Hit, IndexFacts, Piece } from './protocol.js';

interface HitsProps {
  facts: IndexFacts;
  hits: readonly Hit[];
  /** Whether the answer to what was typed last is still on its way. */
  busy: boolean;
  marked: number | undefined;
  onHover: (piece: number | undefined) => void;
  onSelect: (piece: number) => void;
}

export const textOf = ({ docs }: IndexFacts, { doc, start, end }: Piece) => docs[doc]?.text.slice(start, end) ?? '';

export function Hits({ facts, hits, busy, marked, onHover, onSelect }: HitsProps) {
  return (
    <ol class="found" aria-label="Chunks, nearest first" aria-busy={busy}>
      {hits.map(({ piece: at, score }) => {
        const piece = facts.pieces[at];
        if (!piece) return null;
        return (
          <li key={at} onMouseEnter={() => onHover(at)} onMouseLeave={() => onHover(undefined)}>
            <button type="button" class={at === marked ? 'found-piece is-on' : 'found-piece'} onClick={() => onSelect(at)}>
              <span class="dot" data-cluster={facts.picture.labels[at]} aria-hidden="true" />
              <span class="found-text">{textOf(facts, piece)}</span>
              <span class="found-score">{formatScore(score)}</span>
              <span class="found-doc">{facts.docs[piece.doc]?.name}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
