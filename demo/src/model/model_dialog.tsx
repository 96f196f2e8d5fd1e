// The choice of a model. The one that is there stays until the next is ready, so that nothing is lost by looking.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatBytes, formatCount, formatTime, plural } from '../ui/format.js';
import { MeasureHere } from './measure_here.js';
import { kMeasured, kSuggestions } from './models.js';
import { FolderWay, NeededFiles } from './model_folder.js';
import { reasonOf } from './reason.js';
import { kBundled, type LoadProgress, type ModelControl, type ReadyModel } from './use_model.js';

interface DialogProps {
  control: ModelControl;
  dialog: RefObject<HTMLDialogElement | null>;
  /** Called when it was closed, in whatever way. */
  onClosed: () => void;
}

export function ModelDialog({ control, dialog, onClosed }: DialogProps) {
  const { ready, loading, error } = control.state;
  const isDone = ready !== undefined && loading === undefined && error === undefined;
  const serial = ready?.serial;
  // A model that arrived closes the dialog; one that could not be had opens it.
  useEffect(() => {
    if (isDone) dialog.current?.close();
  }, [serial]);
  useEffect(() => {
    if (error && dialog.current && !dialog.current.open) dialog.current.showModal();
  }, [error]);
  const onClose = () => {
    control.forget();
    onClosed();
  };
  return (
    <dialog
      ref={dialog}
      class="model-dialog"
      aria-labelledby="model-dialog-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <article>
        <div class="panel-head">
          <h2 id="model-dialog-title" tabIndex={-1}>
            Choose a model
          </h2>
          <button type="button" class="icon" aria-label="Close" onClick={() => dialog.current?.close()}>
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M5 5l14 14M19 5L5 19" />
            </svg>
          </button>
        </div>
        {ready && <Current model={ready} />}
        {loading && <Loading name={loading.name} progress={loading.progress} onCancel={control.cancel} />}
        {error && <Failure error={error} />}
        <Suggestions control={control} />
        <div class="ways">
          <AddressWay control={control} />
          <FolderWay control={control} />
        </div>
        <NeededFiles />
      </article>
    </dialog>
  );
}

function Current({ model }: { model: ReadyModel }) {
  const info = model.embed.info();
  const facts = [
    info.model_type,
    plural(info.num_hidden_layers, 'layer'),
    `hidden size ${formatCount(info.hidden_size)}`,
    `${formatBytes(model.embed.memory().weights)} of weights`,
    `loaded in ${formatTime(model.loadMs)}`,
  ];
  return (
    <p class="hint">
      <strong>In use: {model.name}.</strong> {facts.join(' · ')} <MeasureHere model={model} />
    </p>
  );
}

interface LoadingProps {
  name: string;
  progress: LoadProgress | undefined;
  onCancel: () => void;
}

export function Loading({ name, progress, onCancel }: LoadingProps) {
  const what = progress?.phase === 'read' ? 'Read' : 'Downloaded';
  return (
    <div class="loading">
      <progress aria-label={`Loading ${name}`} {...(progress ? { value: progress.loaded, max: progress.total } : {})} />
      <div class="loading-line">
        <span>
          <strong>{name}</strong>:{' '}
          {progress
            ? `${what.toLowerCase()} ${formatBytes(progress.loaded)} of ${formatBytes(progress.total)} (${Math.floor(progress.progress)} %)`
            : 'requesting the files…'}
        </span>
        <button type="button" class="secondary outline small" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

function Failure({ error }: { error: Error }) {
  return (
    <div class="error" role="alert">
      <strong>{reasonOf(error, navigator.onLine)}</strong>
      <p>
        {error.name === 'Error' ? '' : `${error.name}: `}
        {error.message}
      </p>
    </div>
  );
}

function Suggestions({ control: { load, state } }: { control: ModelControl }) {
  return (
    <>
      <ul class="suggestions">
        {kSuggestions.map(({ id, size, languages, licence, good, time }) => {
          const isUsed = state.ready?.name === id && !state.loading;
          const use = () => load(id === kBundled ? null : id, id);
          return (
            <li key={id}>
              <div>
                <strong>{id}</strong>
                <small>{[size, languages, licence, time].filter(Boolean).join(' · ')}</small>
                <p>{good}</p>
              </div>
              <button type="button" class="outline small" disabled={isUsed} onClick={use} aria-label={`Use ${id}`}>
                {isUsed ? 'In use' : 'Use'}
                <span class="visually-hidden"> {id}</span>
              </button>
            </li>
          );
        })}
      </ul>
      <p class="hint">Times were measured on {kMeasured.on}. Models whose names begin with wattn- are hosted by this page.</p>
    </>
  );
}

function AddressWay({ control }: { control: ModelControl }) {
  const [address, setAddress] = useState('');
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      class="way"
      aria-labelledby="way-address"
      onSubmit={(event) => {
        event.preventDefault();
        const model = address.trim();
        if (model) control.load(model, model);
      }}
    >
      <h3 id="way-address">Any model on the web</h3>
      <label for="address">Hub id, or URL of a folder or of a .gguf file</label>
      <input
        id="address"
        ref={field}
        value={address}
        placeholder="owner/name"
        onInput={(event) => setAddress(event.currentTarget.value)}
        required
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
      />
      <button type="submit">Load</button>
    </form>
  );
}
