// What could stand at a place, and what each layer would say there.
import type { Alternative, Settings } from './choose.js';
import type { Next, Writer } from './writers.js';

const kShown = 8;
const kAtLeast = 3; // and more, as far as they have a chance
const kChance = 0.001;
const percent = (share: number) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}\u00a0%`;

interface Props {
  writer: Writer;
  before: string;
  alternatives: readonly Alternative[];
  /** Those of another place, until the new ones are there. */
  stale: boolean;
  /** The token that stands there, if one does. */
  written: number | undefined;
  settings: Settings;
  onSettings: (settings: Settings) => void;
  onChoose: (id: number) => void;
}

export function Alternatives({ writer, before, alternatives, stale, written, settings, onSettings, onChoose }: Props) {
  const set = (change: Partial<Settings>) => onSettings({ ...settings, ...change });
  const { temperature, top_k, top_p } = settings;
  const shown = alternatives.filter(
    ({ id, probability }, i) => id === written || i < kAtLeast || (i < kShown && probability >= kChance),
  );
  return (
    <article class="panel" aria-labelledby="alternatives-title">
      <h2 id="alternatives-title">What comes next?</h2>
      <p class="hint">After “{before}”. Choose another token to branch.</p>
      <ol class="write-alternatives">
        {shown.map(({ id, probability, share }) => (
          <li key={id}>
            <button
              type="button"
              class={share === 0 ? 'is-cut' : undefined}
              disabled={stale}
              aria-pressed={id === written}
              onClick={() => onChoose(id)}
            >
              <b>{writer.label(id)}</b>
              <span class="bar" style={{ '--share': `${100 * probability}%` }} aria-hidden="true" />
              <span>
                {percent(probability)}
                {share === 0 && <span class="visually-hidden">, cut off</span>}
              </span>
            </button>
          </li>
        ))}
      </ol>
      <div class="write-settings">
        <Slider
          label="Temperature"
          shown={temperature === 0 ? '0: the most likely' : temperature.toFixed(1)}
          value={temperature}
          max={2}
          step={0.1}
          onChange={(value) => set({ temperature: value })}
        />{' '}
        {/* prettier-ignore */}
        <Slider label="Top-k" shown={top_k === 0 ? 'all' : String(top_k)} value={top_k} max={10} step={1} onChange={(value) => set({ top_k: value })} />{' '}
        {/* prettier-ignore */}
        <Slider label="Top-p" shown={top_p.toFixed(2)} value={top_p} max={1} step={0.05} onChange={(value) => set({ top_p: value })} />{' '}
        {/* prettier-ignore */}
      </div>
    </article>
  );
}

interface SliderProps {
  label: string;
  shown: string;
  value: number;
  max: number;
  step: number;
  onChange: (value: number) => void;
}

function Slider({ label, shown, value, max, step, onChange }: SliderProps) {
  return (
    <label>
      <span>
        {label} <b>{shown}</b>
      </span>
      <input
        type="range"
        min={0}
        max={max}
        step={step}
        value={value}
        aria-label={label}
        aria-valuetext={shown}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
    </label>
  );
}

/** The logit lens: the output head, applied to the states of every layer. */
export function LayersTable({ writer, layers }: { writer: Writer; layers: Next['layers'] }) {
  return (
    <article class="panel" aria-labelledby="lens-title">
      <h2 id="lens-title">What each layer would predict</h2>
      <p class="hint">The output layer, applied after each layer, shows how the answer takes shape.</p>
      <table class="write-lens">
        <thead>
          <tr>
            <th scope="col">After</th>
            <th scope="col">First</th>
            <th scope="col">Second</th>
            <th scope="col">Third</th>
          </tr>
        </thead>
        <tbody>
          {layers.map((best, layer) => (
            <tr key={layer}>
              <th scope="row">{layer === 0 ? 'embeddings' : `layer ${layer}`}</th>
              {best.map(({ id }, rank) => (
                <td key={rank}>{writer.label(id)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </article>
  );
}
