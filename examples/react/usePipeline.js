import { useEffect, useState } from 'react';
import { pipeline } from 'wattn';

/**
 * A pipeline for as long as the component is mounted: { run, progress (0 to 100), error }; run is undefined until the model is loaded.
 * Unmounting, which StrictMode does once to each component, cancels loading or disposes the model.
 */
export function usePipeline(task, model, { worker = true, dtype } = {}) {
  const [state, setState] = useState({ progress: 0 });
  useEffect(() => {
    const controller = new AbortController();
    let run;
    setState({ progress: 0 });
    pipeline(task, model, {
      worker,
      dtype,
      signal: controller.signal,
      progress_callback: (info) => {
        if (info.status === 'progress' && !controller.signal.aborted) setState({ progress: info.progress });
      },
    }).then(
      (loaded) => {
        if (controller.signal.aborted) return loaded.dispose();
        run = loaded;
        setState({ run, progress: 100 });
      },
      (error) => {
        if (!controller.signal.aborted) setState({ progress: 0, error });
      },
    );
    return () => {
      controller.abort();
      run?.dispose();
    };
  }, [task, model, worker, dtype]);
  return state;
}
