// Panel: thousands of texts on a map by their meaning: the principal components at once, then UMAP while one watches.
import '../ui/clusters.css';
import './map.css';
import { useEffect } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { useKept } from '../ui/kept.js';
import { exampleRows } from './example.js';
import { Made } from './made.js';
import { mapCode } from './map_code.js';
import type { Row } from './rows.js';
import { Texts } from './texts.js';
import { useMap } from './use_map.js';

const kFirst = 500; // examples

export function MapPanel({ model, options }: PanelProps) {
  const map = useMap(model, options);
  const [rows, setRows] = useKept<readonly Row[]>('map.rows', () => exampleRows(kFirst));
  useEffect(() => map.show(rows), [rows]);
  const { data } = map;
  return (
    <div class="map-bench">
      {data ? (
        <Made key={data.serial} map={map} data={data} code={mapCode(model.source, data.rows, options)} />
      ) : (
        <article class="panel map-card" aria-labelledby="map-title">
          <h2 id="map-title">Map</h2>
          <p class="hint">The model embeds the texts first. The map appears here.</p>
        </article>
      )}
      <Texts map={map} onExamples={(count) => setRows(exampleRows(count))} onRows={setRows} />
    </div>
  );
}
