// Card: every layer with its shapes, parameters and work, as `wattn inspect` prints them.
import { inspectModel, type InspectedLayer, type Inspection } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { ReadyModel } from '../model/use_model.js';
import { CodeOf } from '../ui/copy.js';
import { formatBytes, formatCount } from '../ui/format.js';
import { Problem } from '../ui/lazy.js';
import { layersCode } from './about_code.js';

const kAtOnce = 40_000_000; // bytes of weights that are read a second time without asking
const kTokens = 32;

const shape = (dims: readonly number[]) => (dims.length === 0 ? '' : dims.join(' × '));
const count = (value: number) => (value === 0 ? '' : formatCount(value));

function useInspection(model: ReadyModel, seq: number, wanted: boolean) {
  const [state, setState] = useState<{ inspection?: Inspection; error?: Error }>({});
  useEffect(() => {
    if (!wanted) return;
    const controller = new AbortController();
    const { signal } = controller;
    inspectModel(model.source, { seq, signal })
      .then((inspection) => !signal.aborted && setState({ inspection }))
      .catch((error: Error) => !signal.aborted && setState({ error }));
    return () => controller.abort();
  }, [model.serial, seq, wanted]);
  return state;
}

export function LayersCard({ model }: { model: ReadyModel }) {
  const most = model.embed.info().max_length;
  const [seq, setSeq] = useState(Math.min(kTokens, most));
  const [wanted, setWanted] = useState(model.embed.memory().weights <= kAtOnce);
  const { inspection, error } = useInspection(model, seq, wanted);
  return (
    <article class="panel layers" aria-labelledby="layers-title">
      <div class="panel-head">
        <h2 id="layers-title">Layers</h2>
        <label class="seq">
          Output shapes and multiply-adds for a text of{' '}
          <select value={seq} onChange={(event) => setSeq(Number(event.currentTarget.value))}>
            {[8, 32, 128, 512]
              .filter((some) => some < most)
              .concat(most)
              .map((some) => (
                <option key={some} value={some}>
                  {some} tokens
                </option>
              ))}
          </select>
        </label>
      </div>
      {error && <Problem error={error} />}
      {!wanted && (
        <button type="button" class="secondary outline small" onClick={() => setWanted(true)}>
          Read the model files and list the layers
        </button>
      )}
      {wanted && !inspection && !error && <p class="hint">Reading the files…</p>}
      {inspection && <Layers inspection={inspection} />}
      {inspection && <CodeOf code={layersCode(model.source, seq)} />}
    </article>
  );
}

function Layers({ inspection }: { inspection: Inspection }) {
  const { layers, parameters, macs, bytes } = inspection;
  const most = Math.max(1, ...layers.map((layer) => layer.macs));
  const stored = Object.entries(bytes.stored).map(([dtype, size]) => `${formatBytes(size)} of ${dtype}`);
  return (
    <>
      <p class="hint">
        {formatCount(parameters)} parameters; {formatCount(macs)} multiply-adds for this length; the files contain{' '}
        {stored.join(', ')}.
      </p>
      <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Table of layers">
        <table class="layer-table">
          <thead>
            <tr>
              <th scope="col">Layer</th>
              <th scope="col">Type</th>
              <th scope="col">Output</th>
              <th scope="col">Weight</th>
              <th scope="col">Parameters</th>
              <th scope="col">Multiply-adds</th>
            </tr>
          </thead>
          <tbody>
            {layers.map((layer, i) => (
              <Layer key={i} layer={layer} share={layer.macs / most} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={4}>
                Total
              </th>
              <td>{count(parameters)}</td>
              <td>{count(macs)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </>
  );
}

function Layer({ layer, share }: { layer: InspectedLayer; share: number }) {
  return (
    <tr>
      <th scope="row">{layer.name}</th>
      <td>{layer.type}</td>
      <td>{shape(layer.output)}</td>
      <td>{shape(layer.kernel)}</td>
      <td>{count(layer.parameters)}</td>
      <td class="work" style={{ '--share': `${Math.round(100 * share)}%` }}>
        {count(layer.macs)}
      </td>
    </tr>
  );
}
