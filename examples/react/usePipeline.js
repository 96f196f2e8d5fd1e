import { useEffect, useState } from 'react';
import { pipeline } from 'wattn';

/**
 * A pipeline for as long as the component lives: { run, progress (0 to 100), error }; run is undefined until it is there. Loading is given
 * up when the component goes, which StrictMode does to each once; the model is then let go of.
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
