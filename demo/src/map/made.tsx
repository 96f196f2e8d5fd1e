// The map that was made of some texts, and what is marked on it.
import { useCallback, useMemo, useState } from 'preact/hooks';
import { CodeOf } from '../ui/copy.js';
import { formatCount, plural, shorten } from '../ui/format.js';
import { save } from '../ui/picture.js';
import { Pictures } from '../ui/pictures.js';
import { Chosen, type Marked } from './chosen.js';
import { colouringOf, type Colouring } from './colours.js';
import { Find } from './find.js';
import { kNear } from './near.js';
import { MapPicture } from './picture.js';
import { writeTable } from './rows.js';
import type { MapControl, MapData } from './use_map.js';

const kMostLetters = 300;
const kNone: readonly number[] = [];

export function Made({ map, data, code }: { map: MapControl; data: MapData; code: string }) {
  const { rows } = data;
  const colouring = useMemo(() => colouringOf(rows), [rows]);
  const [marked, setMarked] = useState<Marked>();
  const [current, setCurrent] = useState<number>();
  const [hovered, setHovered] = useState<number>();
  const clear = useCallback(() => setMarked(undefined), []);
  const pick = (row: number) => {
    setCurrent(row);
    const near = map.nearest(row, kNear);
    setMarked({
      rows: near.map((one) => one.row),
      scores: near.map((one) => one.score),
      how: `nearest to “${shorten(rows[row]?.text ?? '', 40)}”`,
    });
  };
  const list = useMemo(
    () => <Chosen rows={rows} colouring={colouring} marked={marked} current={current} onCurrent={setCurrent} onClear={clear} />,
    [rows, colouring, marked, current],
  );
  return (
    <>
      <article class="panel map-card" aria-labelledby="map-title">
        <h2 id="map-title">Map</h2>
        <About map={map} rows={rows.length} />
        <MapPicture
          points={map.points}
          colouring={colouring}
          marked={marked?.rows ?? kNone}
          current={current}
          onCurrent={setCurrent}
          onPick={pick}
          onLasso={(inside) => setMarked({ rows: inside, how: 'inside the lasso' })}
          onHover={setHovered}
          legend={<Legend colouring={colouring} onLabel={(label, all) => setMarked({ rows: all, how: `labelled “${label}”` })} />}
        />
        <Shown map={map} data={data} row={hovered ?? current} />
        <div class="map-save">
          <Pictures name="map" title={`A map of ${plural(rows.length, 'text')}`} />
          <Tables map={map} data={data} marked={marked} />
        </div>
        <CodeOf code={code} />
      </article>
      <article class="panel map-found" aria-labelledby="map-find-title">
        <h2 id="map-find-title">Find</h2>
        <Find map={map} data={data} onMarked={setMarked} />
        {list}
      </article>
    </>
  );
}

const percent = (share: number) => `${Math.round(100 * share)}\u00a0%`;

/** What the map shows, and what it does not. */
function About({ map: { plane, kept }, rows }: { map: MapControl; rows: number }) {
  if (!plane) return null;
  const near = Math.min(kNear, rows - 1);
  return (
    <p class="hint map-about">
      {kept === undefined
        ? `The map shows the first two principal components: ${percent(plane.share)} of the variance. Of each text’s ${near} nearest neighbours, ${percent(plane.kept)} are also among its ${near} nearest here.`
        : `Of each text’s ${near} nearest neighbours, ${percent(kept)} are also among its ${near} nearest here (${percent(plane.kept)} with principal components). UMAP preserves neighbours; distances between groups mean little.`}
    </p>
  );
}

interface LegendProps {
  colouring: Colouring;
  onLabel: (label: string, rows: readonly number[]) => void;
}

function Legend({ colouring: { groups }, onLabel }: LegendProps) {
  if (groups.length < 2) return null;
  return (
    <ul class="map-legend" aria-label="Labels">
      {groups.map(({ label, rows }, i) => (
        <li key={label}>
          <button type="button" class="small" onClick={() => onLabel(label, rows)}>
            <span class="dot" data-cluster={i} aria-hidden="true" /> {label} <small>{formatCount(rows.length)}</small>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Shown({ map, data: { rows }, row }: { map: MapControl; data: MapData; row: number | undefined }) {
  const shown = row === undefined ? undefined : rows[row];
  if (!shown || row === undefined)
    return <p class="map-shown hint">Point at a dot to read its text; click it to list its nearest neighbours.</p>;
  const [x, y] = [map.points.now[2 * row], map.points.now[2 * row + 1]];
  return (
    <p class="map-shown" role="status">
      {shown.label !== undefined && <b>{shown.label}: </b>}
      {shorten(shown.text, kMostLetters)}{' '}
      <small class="hint">at {[x, y].map((one) => (one ?? 0).toFixed(2).replace('-', '−')).join(', ')}</small>
    </p>
  );
}

function Tables({ map, data: { rows }, marked }: { map: MapControl; data: MapData; marked: Marked | undefined }) {
  const write = (only?: readonly number[]) =>
    save(only ? 'map-marked.tsv' : 'map.tsv', new Blob([writeTable(rows, map.points.now, only)], { type: 'text/tab-separated-values' })); // prettier-ignore
  return (
    <>
      <button type="button" class="secondary outline small" onClick={() => write()}>
        Save all as TSV
      </button>
      <button type="button" class="secondary outline small" disabled={!marked} onClick={() => write(marked?.rows)}>
        Save marked as TSV
      </button>
    </>
  );
}
