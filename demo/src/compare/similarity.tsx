// Panel: how near every sentence is to every other.
import './similarity.css';
import { cos_sim } from 'wattn';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Entry } from './sentence.js';
import { formatCount, formatScore, formatTime, plural, shorten } from '../ui/format.js';
import { CodeOf } from '../ui/copy.js';
import { Pictures } from '../ui/pictures.js';
import { stepInSquare } from '../ui/roving.js';
import type { EmbeddedTexts, Run } from './use_embeddings.js';

interface PanelProps {
  entries: readonly Entry[];
  embedded: EmbeddedTexts;
  /** Indices of the two sentences that are pointed at, or none. */
  pair: readonly number[];
  onPair: (pair: readonly number[]) => void;
  /** How token vectors are pooled when the model's files do not say. */
  assumed: string | undefined;
  /** The program that computes the same. */
  code: string;
}

export function SimilarityPanel({ entries, embedded, pair, onPair, assumed, code }: PanelProps) {
  const { run, busy, error, again } = embedded;
  const scores = useMemo(() => entries.map((a) => entries.map((b) => cos_sim(a.vector, b.vector))), [entries]);
  return (
    <article class="panel" aria-labelledby="similarity-title" aria-busy={busy}>
      <div class="panel-head">
        <h2 id="similarity-title">Similarity</h2>
        <button type="button" class="secondary outline small" onClick={again} disabled={busy}>
          Recompute all
        </button>
      </div>
      {error && (
        <div class="error" role="alert">
          <strong>{error.name}</strong>
          <p>{error.message}</p>
        </div>
      )}
      {entries.length > 1 && <Best entries={entries} scores={scores} pair={pair} />}
      {entries.length > 0 ? (
        <Matrix entries={entries} scores={scores} pair={pair} onPair={onPair} />
      ) : (
        <p class="hint">{busy ? 'Computing…' : 'Type a sentence to begin.'}</p>
      )}
      {entries.length > 1 && (
        <Pictures
          name="similarity"
          title="Cosine similarity of sentences"
          notes={entries.map(({ index, text }) => `${index + 1}  ${shorten(text, 90)}`)}
        />
      )}
      {run && <Timing run={run} busy={busy} />}
      {assumed && <p class="hint">The model files do not define how to pool token vectors, so this page uses their {assumed}.</p>}
      {entries.length > 0 && <CodeOf code={code} />}
    </article>
  );
}

/** The two different sentences with the highest score. */
function bestPair(scores: readonly number[][]): [number, number] {
  let best: [number, number] = [0, 1];
  scores.forEach((row, a) => {
    row.forEach((score, b) => {
      if (b > a && score > (scores[best[0]]?.[best[1]] as number)) best = [a, b];
    });
  });
  return best;
}

/** In words: the pair that is pointed at, else the most similar one. */
function Best({ entries, scores, pair }: { entries: readonly Entry[]; scores: number[][]; pair: readonly number[] }) {
  const places = pair.map((index) => entries.findIndex((entry) => entry.index === index));
  const pointed = places.length === 2 && places[0] !== places[1] && places.every((place) => place >= 0);
  const [a, b] = pointed ? (places as [number, number]) : bestPair(scores);
  const [first, second] = [entries[a] as Entry, entries[b] as Entry];
  return (
    <p class="best">
      <span class="best-label">{pointed ? 'This pair' : 'Most similar'}</span>{' '}
      <strong>{formatScore(scores[a]?.[b] as number)}</strong>
      <span class="best-text">
        <b>{first.index + 1}</b> {shorten(first.text, 90)}
      </span>
      <span class="best-text">
        <b>{second.index + 1}</b> {shorten(second.text, 90)}
      </span>
    </p>
  );
}

interface MatrixProps {
  entries: readonly Entry[];
  scores: number[][];
  pair: readonly number[];
  onPair: (pair: readonly number[]) => void;
}

function Matrix({ entries, scores, pair, onPair }: MatrixProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [stop, setStop] = useState<[number, number]>([0, 0]);
  const last = entries.length - 1;
  const [stopRow, stopColumn] = [Math.min(stop[0], last), Math.min(stop[1], last)];
  const move = (event: KeyboardEvent) => {
    const next = stepInSquare(event.key, [stopRow, stopColumn], entries.length);
    if (!next) return;
    event.preventDefault();
    body.current?.querySelector<HTMLElement>(`[data-cell="${next.join(' ')}"]`)?.focus();
  };
  const isOn = (entry: Entry) => (pair.includes(entry.index) ? 'is-on' : undefined);
  return (
    <div class="matrix-scroll">
      <table
        class="matrix"
        data-picture
        role="grid"
        style={{ '--columns': entries.length }}
        aria-label="Cosine similarity of each pair of sentences"
        onMouseLeave={() => onPair([])}
      >
        <thead>
          <tr>
            <td />
            {entries.map((entry) => (
              <th key={entry.index} scope="col" class={isOn(entry)} title={entry.text}>
                {entry.index + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={move}>
          {entries.map((entry, row) => (
            <tr key={entry.index}>
              <th scope="row" class={isOn(entry)} title={entry.text}>
                {entry.index + 1}
              </th>
              {entries.map((other, column) => (
                <Cell
                  key={other.index}
                  score={scores[row]?.[column] as number}
                  name={`${row} ${column}`}
                  label={`Sentences ${entry.index + 1} and ${other.index + 1}`}
                  same={row === column}
                  on={
                    pair.length === 2 &&
                    pair.includes(entry.index) &&
                    pair.includes(other.index) &&
                    (row !== column || pair[0] === pair[1])
                  }
                  tabIndex={row === stopRow && column === stopColumn ? 0 : -1}
                  onPoint={() => onPair([entry.index, other.index])}
                  onFocus={() => {
                    setStop([row, column]);
                    onPair([entry.index, other.index]);
                  }}
                  onBlur={() => onPair([])}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps {
  score: number;
  name: string;
  label: string;
  same: boolean;
  on: boolean;
  tabIndex: number;
  onPoint: () => void;
  onFocus: () => void;
  onBlur: () => void;
}

function Cell({ score, name, label, same, on, tabIndex, onPoint, onFocus, onBlur }: CellProps) {
  const kind = same ? ' is-same' : score < 0 ? ' is-negative' : '';
  return (
    <td
      role="gridcell"
      class={`cell${kind}${on ? ' is-on' : ''}`}
      style={{ '--share': `${Math.round(Math.min(1, Math.abs(score)) * 100)}%` }}
      data-cell={name}
      tabIndex={tabIndex}
      aria-label={`${label}: ${formatScore(score)}`}
      onMouseEnter={onPoint}
      onFocus={onFocus}
      onBlur={onBlur}
    >
      {formatScore(score)}
    </td>
  );
}

/** What the last call computed, and how long it took. */
function Timing({ run, busy }: { run: Run; busy: boolean }) {
  // Below that, the browser's clock is too coarse for a rate.
  const perSecond = run.ms >= 5 ? ` (${formatCount(Math.round((run.tokens / run.ms) * 1000))} tokens/s)` : '';
  return (
    <p class="timing" role="status">
      {busy ? (
        'Computing…'
      ) : (
        <>
          {plural(run.texts, 'sentence')} with {plural(run.tokens, 'token')} embedded in <b>{formatTime(run.ms)}</b>
          {perSecond}.{run.kept > 0 && ` ${run.kept} unchanged and reused: embeddings are bit-identical in any batch.`}
        </>
      )}
    </p>
  );
}
