// What stands in the page's head: the model's name and how far the next one is. It opens the choice of models.
import './model.css';
import { useRef } from 'preact/hooks';
import { ModelDialog } from './model_dialog.js';
import { useHistoryStep } from '../ui/step.js';
import type { ModelControl } from './use_model.js';

export function ModelButton({ control }: { control: ModelControl }) {
  const { ready, loading } = control.state;
  const dialog = useRef<HTMLDialogElement>(null);
  const step = useHistoryStep(() => dialog.current?.close());
  const percent = loading?.progress ? `${Math.floor(loading.progress.progress)} %` : '…';
  return (
    <>
      <button
        type="button"
        class="model-button"
        aria-haspopup="dialog"
        onClick={() => {
          step.enter();
          dialog.current?.showModal();
        }}
      >
        <span class="visually-hidden">Change model: </span>
        <span class={`dot${loading ? ' is-busy' : ready ? ' is-on' : ''}`} aria-hidden="true" />
        <span id="model-title">{ready?.name ?? (loading ? loading.name : 'No model')}</span>
        {loading && <span class="model-percent">{ready ? `next: ${percent}` : percent}</span>}
        <svg viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2 4l4 4 4-4" />
        </svg>
      </button>
      <ModelDialog control={control} dialog={dialog} onClosed={step.leave} />
    </>
  );
}
