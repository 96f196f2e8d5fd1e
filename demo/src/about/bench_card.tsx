// Card: how fast each way of running the model is on the visitor's machine.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { formatBytes, formatCount, formatTime } from '../ui/format.js';
import { Problem } from '../ui/lazy.js';
import { formatAgreement } from '../ui/numbers.js';
import { benchTexts, measure, variantsHere, type Measured, type Variant } from './bench.js';

interface BenchState {
  rows: readonly Measured[];
  running?: string;
  error?: Error;
}

function useBench({ model, options }: PanelProps, variants: readonly Variant[]) {
  const [state, setState] = useState<BenchState>({ rows: [] });
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const run = async () => {
    const { signal } = (controller.current = new AbortController());
    let rows: readonly Measured[] = [];
    let first: Float32Array | undefined;
    try {
      for (const variant of variants) {
        setState({ rows, running: variant.name });
        const { row, vectors } = await measure(variant, model.source, { ...options, signal }, first);
        signal.throwIfAborted();
        first ??= vectors;
        rows = [...rows, row];
      }
      setState({ rows });
    } catch (error) {
      setState({ rows, ...(!signal.aborted && { error: error as Error }) });
    }
  };
  return { ...state, run, cancel: () => controller.current?.abort() };
}

export function BenchCard(props: PanelProps) {
  const [variants] = useState(variantsHere);
  const { rows, running, error, run, cancel } = useBench(props, variants);
  return (
    <article class="panel bench" aria-labelledby="bench-title">
      <div class="panel-head">
        <h2 id="bench-title">Speed on this machine</h2>
        {running ? (
          <button type="button" class="secondary outline small" onClick={cancel}>
            Cancel
          </button>
        ) : (
          <button type="button" class="small" onClick={() => void run()}>
            {rows.length > 0 ? 'Measure again' : 'Measure'}
          </button>
        )}
      </div>
      <p class="hint" role="status">
        {running
          ? `Measuring ${running}: ${rows.length + 1} of ${variants.length}…`
          : `${benchTexts().length} sentences in one call, in a worker; best of four rounds. Other work on this machine affects the numbers.`}
      </p>
      {error && <Problem error={error} />}
      {rows.length > 0 && <Rows rows={rows} variants={variants} />}
    </article>
  );
}

function Rows({ rows, variants }: { rows: readonly Measured[]; variants: readonly Variant[] }) {
  const most = Math.max(...rows.map(({ speed }) => speed));
  return (
    <div class="matrix-scroll" tabIndex={0} role="region" aria-label="Table of speeds">
      <table class="bench-table">
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th scope="col">Texts per second</th>
            <th scope="col">One text</th>
            <th scope="col">Loaded in</th>
            <th scope="col">Memory</th>
            <th scope="col">Lowest cosine to f32</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.variant}>
              <th scope="row">
                {row.variant}
                <small>{variants.find(({ name }) => name === row.variant)?.what}</small>
              </th>
              <td>
                <span class="bar" style={{ '--share': `${Math.round((100 * row.speed) / most)}%` }} aria-hidden="true" />
                {formatCount(Math.round(row.speed))} <small>{formatCount(Math.round(row.tokensPerSecond))} tokens</small>
              </td>
              <td>{row.latency < 10 ? `${row.latency.toFixed(1)}\u00a0ms` : formatTime(row.latency)}</td>
              <td>{formatTime(row.loadMs)}</td>
              <td>{formatBytes(row.bytes)}</td>
              <td>{formatAgreement(row.agreement)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
