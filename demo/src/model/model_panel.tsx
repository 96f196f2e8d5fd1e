// Which model: the choice, its loading, and what it is.
import './model.css';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatBytes, formatCount, formatTime, plural } from '../ui/format.js';
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
            {state.kind === 'loading' ? `Loading: ${state.name}` : 'Choose a model'}
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
            : 'Requesting the files…'}
        </span>
        <button type="button" class="secondary outline small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

interface FactsProps {
  model: ReadyModel;
  onChange: () => void;
  heading: RefObject<HTMLHeadingElement | null>;
}

function ModelFacts({ model, onChange, heading }: FactsProps) {
  const info = model.embed.info();
  const facts = [
    info.model_type,
    plural(info.num_hidden_layers, 'layer'),
    `hidden size ${formatCount(info.hidden_size)}`,
    `${formatBytes(model.embed.memory().weights)} of weights`,
    `loaded in ${formatTime(model.loadMs)}`,
  ];
  return (
    <>
      <div class="model-line">
        <div>
          <h2 id="model-title" tabIndex={-1} ref={heading}>
            {model.name}
          </h2>
          <p class="hint">{facts.join(' · ')}</p>
        </div>
        <button type="button" class="secondary outline small" onClick={onChange}>
          Change model
        </button>
      </div>
    </>
  );
}
