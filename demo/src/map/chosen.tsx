// What is marked on the map, as a list: what was found, what the lasso holds, what is near to a text, or all of a label.
import { formatScore, plural, shorten } from '../ui/format.js';
import type { Colouring } from './colours.js';
import type { Row } from './rows.js';

export interface Marked {
  rows: readonly number[];
  /** How near each is; none where nothing was compared. */
  scores?: readonly number[];
  /** How they were marked, to stand after their number: "inside the lasso". */
  how: string;
}

interface ChosenProps {
  rows: readonly Row[];
  colouring: Colouring;
  marked: Marked | undefined;
  current: number | undefined;
  onCurrent: (row: number) => void;
  onClear: () => void;
}

const kMostShown = 100;
const kMostLetters = 240;

export function Chosen({ rows, colouring, marked, current, onCurrent, onClear }: ChosenProps) {
  const counts = marked && colouring.groups.length > 1 ? countsOf(marked.rows, colouring) : '';
  return (
    <section aria-labelledby="map-marked">
      <div class="panel-head map-marked">
        <h3 id="map-marked">
          <span role="status">{marked ? `${plural(marked.rows.length, 'text')} ${marked.how}` : 'Nothing is marked'}</span>
        </h3>
        {marked && (
          <button type="button" class="secondary outline small" onClick={onClear}>
            Clear
          </button>
        )}
      </div>
      {!marked && <p class="hint">Search, click a point, draw a lasso or choose a label to list texts here.</p>}
      {counts && <p class="hint">{counts}</p>}
      {marked && (
        <ol class="map-list" aria-label="Marked texts">
          {marked.rows.slice(0, kMostShown).map((row, i) => (
            <li key={row}>
              <button type="button" class={row === current ? 'map-row is-on' : 'map-row'} onClick={() => onCurrent(row)}>
                <span class="dot" data-cluster={colouring.of[row]} aria-hidden="true" />
                <span>
                  {shorten(rows[row]?.text ?? '', kMostLetters)}
                  {rows[row]?.label !== undefined && <small> {rows[row].label}</small>}
                </span>
                {marked.scores && <span class="map-score">{formatScore(marked.scores[i] as number)}</span>}
              </button>
            </li>
          ))}
        </ol>
      )}
      {marked && marked.rows.length > kMostShown && (
        <p class="hint">Only the first {kMostShown} are listed. “Save marked as TSV” saves all of them.</p>
      )}
    </section>
  );
}

/** 'weather 12, music 3' */
function countsOf(rows: readonly number[], { groups, of }: Colouring): string {
  const counts = groups.map(() => 0);
  for (const row of rows) counts[of[row] as number] = (counts[of[row] as number] ?? 0) + 1;
  return counts
    .map((count, i) => ({ count, label: groups[i]?.label }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ count, label }) => `${label} ${count}`)
    .join(', ');
}
