import { onScopeDispose, shallowRef } from 'vue';
import { pipeline } from 'wattn';

/**
 * A pipeline for as long as the component is mounted: { run, progress (0 to 100), error }, as refs; run is undefined until the model is loaded.
 * Unmounting cancels loading or disposes the model. The refs are shallow, because a proxy of Vue's has no private members.
 */
export function usePipeline(task, model, { worker = true, dtype } = {}) {
  const [run, progress, error] = [shallowRef(), shallowRef(0), shallowRef()];
  const controller = new AbortController();
  pipeline(task, model, {
    worker,
    dtype,
    signal: controller.signal,
    progress_callback: (info) => {
      if (info.status === 'progress') progress.value = info.progress;
    },
  }).then(
    (loaded) => {
      if (controller.signal.aborted) return loaded.dispose();
      run.value = loaded;
    },
    (reason) => {
      if (!controller.signal.aborted) error.value = reason;
    },
  );
  onScopeDispose(() => {
    controller.abort();
    run.value?.dispose();
  });
  return { run, progress, error };
}
