// Which model: the choice, its loading, and what it is.
import './model.css';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatBytes, formatCount, formatTime } from '../ui/format.js';
import { kExample, ModelPicker } from './model_picker.js';
import type { LoadProgress, ModelControl, ReadyModel } from './use_model.js';

export function ModelPanel({ control }: { control: ModelControl }) {
  const { state } = control;
  const [address, setAddress] = useState(kExample);
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(state.kind);
  // The control that had the focus is gone after a change; the heading takes it, so that keyboards go on from here.
  useEffect(() => {
    if (before.current !== state.kind && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    before.current = state.kind;
  }, [state.kind]);
  return (
    <article class="panel model-panel" aria-labelledby="model-title">
      {state.kind === 'ready' ? (
        <ModelFacts model={state} onChange={control.unload} heading={heading} />
      ) : (
        <>
          <h2 id="model-title" tabIndex={-1} ref={heading}>
            {state.kind === 'loading' ? `Loading ${state.name}` : 'Choose a model'}
          </h2>
          {state.kind === 'loading' ? (
            <Loading progress={state.progress} onCancel={control.cancel} />
          ) : (
            <ModelPicker control={control} error={state.error} address={address} onAddress={setAddress} />
          )}
        </>
      )}
    </article>
  );
}

function Loading({ progress, onCancel }: { progress: LoadProgress | undefined; onCancel: () => void }) {
  const what = progress?.phase === 'read' ? 'Read' : 'Downloaded';
  return (
    <div class="loading">
      <progress aria-label="Loading the model" {...(progress ? { value: progress.loaded, max: progress.total } : {})} />
      <div class="loading-line">
        <span>
          {progress
            ? `${what} ${formatBytes(progress.loaded)} of ${formatBytes(progress.total)} (${Math.floor(progress.progress)} %)`
            : 'Asking for the files…'}
        </span>
        <button type="button" class="secondary outline small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

const kWasm = { relaxed: 'relaxed SIMD', simd: 'SIMD', given: 'given by the page' };

interface FactsProps {
  model: ReadyModel;
  onChange: () => void;
  heading: RefObject<HTMLHeadingElement | null>;
}

function ModelFacts({ model, onChange, heading }: FactsProps) {
  const info = model.embed.info();
  const memory = model.embed.memory();
  const facts: [string, string, string?][] = [
    ['Type', info.model_type],
    ['Layers', formatCount(info.num_hidden_layers), `${info.num_attention_heads} heads each`],
    ['Vector', formatCount(info.hidden_size), 'numbers a text'],
    ['Longest text', formatCount(info.max_length), 'tokens'],
    ['Weights', formatBytes(memory.weights), info.dtype],
    ['Working memory', formatBytes(memory.activations), 'and never more'],
    ['WebAssembly', kWasm[info.wasm], `${info.kernels} kernels, ${info.precision}`],
    ['Loaded in', formatTime(model.loadMs)],
  ];
  return (
    <>
      <div class="panel-head">
        <h2 id="model-title" tabIndex={-1} ref={heading}>
          {model.name}
        </h2>
        <button type="button" class="secondary outline small" onClick={onChange}>
          Change model
        </button>
      </div>
      <dl class="facts">
        {facts.map(([name, value, note]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              {note && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
