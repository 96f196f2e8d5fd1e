// Asked before a link's model is requested from another host, which then learns the visitor's address.
import { useEffect, useRef } from 'preact/hooks';
import type { ModelControl } from './use_model.js';

export function HostDialog({ control }: { control: ModelControl }) {
  const { asking } = control.state;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asking) dialog.current?.showModal();
    else dialog.current?.close();
  }, [asking]);
  return (
    <dialog
      ref={dialog}
      class="model-dialog host-dialog"
      aria-labelledby="host-dialog-title"
      onClose={() => asking && control.answer(false)}
    >
      <article>
        <h2 id="host-dialog-title">Load a model from {asking?.host}?</h2>
        <p>
          This link names a model on another host. If you load it, <strong>{asking?.host}</strong> sees your IP address. A model is
          data: it cannot run code in this page.
        </p>
        <p class="hint host-address">{asking?.model}</p>
        <div class="way-buttons">
          <button type="button" onClick={() => control.answer(false)}>
            Keep the default model
          </button>
          <button type="button" class="outline" onClick={() => control.answer(true)}>
            Load from {asking?.host}
          </button>
        </div>
      </article>
    </dialog>
  );
}
