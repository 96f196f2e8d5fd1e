// A task's pipeline in a worker of its own, for as long as a card is there.
import { pipeline, type ModelSpecifier, type Pipelines } from 'wattn';
import { useEffect, useState } from 'preact/hooks';

export interface OpenTask<Task extends keyof Pipelines> {
  pipe?: Pipelines[Task];
  /** Why the model cannot do this, or could not be loaded. */
  error?: Error;
}

/** source undefined: not yet. */
export function useTask<Task extends keyof Pipelines>(task: Task, source: ModelSpecifier | null | undefined): OpenTask<Task> {
  const [open, setOpen] = useState<OpenTask<Task>>({});
  useEffect(() => {
    if (source === undefined) return;
    let gone = false;
    setOpen({});
    const loading = pipeline(task, source, { worker: true });
    loading.then((pipe) => !gone && setOpen({ pipe })).catch((error: Error) => !gone && setOpen({ error }));
    return () => {
      gone = true;
      void loading.then((pipe) => pipe.dispose()).catch(() => {});
    };
  }, [task, source]);
  return open;
}

const kTypingMs = 120;

/** What `ask` answers to the last input; the answer before stays until then. `ask` undefined: not yet. */
export function useAnswer<T>(ask: (() => Promise<T>) | undefined, inputs: readonly unknown[]) {
  const [answer, setAnswer] = useState<{ value?: T; error?: Error }>({});
  useEffect(() => {
    if (!ask) return;
    let stale = false;
    const run = () =>
      ask()
        .then((value) => !stale && setAnswer({ value }))
        .catch((error: Error) => !stale && setAnswer({ error }));
    const timer = setTimeout(run, kTypingMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [ask !== undefined, ...inputs]);
  return answer;
}
