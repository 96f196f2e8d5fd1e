// The texts of the map: examples, or a file of one's own; and how far the map is.
import { useState } from 'preact/hooks';
import { formatCount, formatTime, plural } from '../ui/format.js';
import { Problem } from '../ui/lazy.js';
import { readFile, readTable, type Row, type Table } from './rows.js';
import type { MapControl } from './use_map.js';

interface TextsProps {
  map: MapControl;
  onExamples: (count: number) => void;
  onRows: (rows: readonly Row[]) => void;
}

const kExamples = [500, 2000, 10_000];
const kMostProblems = 5;

export function Texts({ map, onExamples, onRows }: TextsProps) {
  const [table, setTable] = useState<{ name: string } & Table>();
  const [error, setError] = useState<Error>();
  const [over, setOver] = useState(false);
  const take = async (name: string, reading: Promise<Table>) => {
    setError(undefined);
    setTable(undefined);
    try {
      const found = await reading;
      setTable({ name, ...found });
      onRows(found.rows);
    } catch (reason) {
      setError(reason as Error);
    }
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer?.files ?? [];
    const text = event.dataTransfer?.getData('text/plain') ?? '';
    if (file) void take(file.name, readFile(file));
    else
      void take(
        'The dropped text',
        Promise.resolve().then(() => readTable('The dropped text', text)),
      );
  };
  return (
    <article
      class={over ? 'panel map-texts is-over' : 'panel map-texts'}
      aria-labelledby="map-texts-title"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <h2 id="map-texts-title">Texts</h2>
      <p class="hint">
        Choose or drop a file: TSV with a text and a label on each line, or JSONL such as{' '}
        <code>{'{"text": "..", "label": ".."}'}</code>. The file stays in this page.
      </p>
      <div class="map-sources">
        <label class="file-button">
          Choose a file…
          <input
            type="file"
            class="visually-hidden"
            accept=".tsv,.jsonl,.ndjson,.json,.txt"
            aria-label="File with texts"
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              if (file) void take(file.name, readFile(file));
              event.currentTarget.value = '';
            }}
          />
        </label>
        <span class="map-examples">
          or examples:
          {kExamples.map((count) => (
            <button
              type="button"
              key={count}
              class="secondary outline small"
              aria-label={`${formatCount(count)} example sentences`}
              onClick={() => {
                setTable(undefined);
                setError(undefined);
                onExamples(count);
              }}
            >
              {formatCount(count)}
            </button>
          ))}
        </span>
      </div>
      {error && <Problem error={error} />}
      {table && <Taken table={table} />}
      {map.error && <Problem error={map.error} />}
      <Progress map={map} />
    </article>
  );
}

function Taken({ table: { name, rows, problems } }: { table: { name: string } & Table }) {
  const labelled = rows.filter(({ label }) => label !== undefined).length;
  return (
    <div class="map-taken" role="status">
      <p class="hint">
        {name}: {plural(rows.length, 'text')}
        {labelled === 0 ? ', without labels. Add a column or field named “label” to colour the dots.' : '.'}
      </p>
      {problems.length > 0 && (
        <>
          <p class="warning">{plural(problems.length, 'line was', 'lines were')} left out:</p>
          <ul class="map-problems">
            {problems.slice(0, kMostProblems).map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
            {problems.length > kMostProblems && <li>and {formatCount(problems.length - kMostProblems)} more.</li>}
          </ul>
        </>
      )}
    </div>
  );
}

const kSays = {
  plane: 'Computing the principal components…',
  neighbours: 'The map shows the principal components. Finding each text’s neighbours…',
  refine: 'UMAP is arranging the points…',
};

function Progress({ map: { stage, share, embedded, stop, stopped, data, ms } }: { map: MapControl }) {
  if (stage === undefined) return stopped ? <p role="status">Stopped.</p> : null;
  if (stage === 'done')
    return (
      <p class="hint" role="status" data-map="done">
        {plural(data?.rows.length ?? 0, 'text')} in {formatTime(ms ?? 0)}.
      </p>
    );
  const says = stage === 'embed' ? `Embedded ${formatCount(embedded ?? 0)} texts.` : kSays[stage];
  return (
    <div class="loading">
      <progress aria-label="Making the map" data-map={stage} {...(share !== undefined && { value: share, max: 1 })} />
      <div class="loading-line">
        <span>{says}</span>
        <button type="button" class="secondary outline small" onClick={stop}>
          Stop
        </button>
      </div>
    </div>
  );
}
