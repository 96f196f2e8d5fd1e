/**
 * wattn in React: a hook that loads a model for as long as a component uses it.
 *
 * @module
 */
import { useCallback, useSyncExternalStore } from 'react';
import type { ModelOptions } from '../engine/types.js';
import type { ModelSpecifier } from '../source/types.js';
import type { Pipelines } from '../tasks/task_types.js';
import { InputError, pipeline } from './index.js';

/** Options of `usePipeline`: those of `pipeline`, except `signal` and `progress_callback`, which the hook sets. */
export type UsePipelineOptions = Omit<ModelOptions, 'signal' | 'progress_callback'>;

/** The result of `usePipeline`. `status` says which members it has. */
export type PipelineState<Pipe> =
  | {
      /** The model is loading. On the server it stays in this state. */
      status: 'loading';
      /** The pipeline, once it has loaded. */
      run: undefined;
      /** How much of the model has been read, in percent from 0 to 100. */
      progress: number;
      /** Why the model could not be loaded. */
      error: undefined;
    }
  | { status: 'ready'; run: Pipe; progress: 100; error: undefined }
  | { status: 'error'; run: undefined; progress: number; error: Error };

interface Disposable {
  dispose(): unknown;
}

/** A model with the components that use it. */
interface Held {
  state: PipelineState<any>;
  readonly users: Set<() => void>;
  readonly controller: AbortController;
}

const kWaiting: Extract<PipelineState<never>, { status: 'loading' }> = {
  status: 'loading',
  run: undefined,
  progress: 0,
  error: undefined,
};
/** Models in use, by what was asked for. */
const held = new Map<string, Held>();

const numbers = new WeakMap<object, number>();
let count = 0;

/** A text that is the same for the same value: lists and plain objects by what is in them, all else (files, bytes) by identity. */
function keyOf(value: unknown): string {
  if (typeof value === 'function' || (typeof value === 'object' && value !== null)) {
    if (value instanceof URL) return `url ${value.href}`;
    if (Array.isArray(value)) return `[${value.map(keyOf).join()}]`;
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      const fields = Object.entries(value).filter(([, each]) => each !== undefined);
      return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${keyOf(each)}`).sort().join()}}`; // prettier-ignore
    }
    if (!numbers.has(value)) numbers.set(value, ++count);
    return `object ${numbers.get(value)}`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The model of a key, which begins to load if nobody uses it. load: loads it. */
function hold(key: string, load: (signal: AbortSignal, tell: (progress: number) => void) => Promise<Disposable>): Held {
  const known = held.get(key);
  if (known) return known;
  const own: Held = { state: kWaiting, users: new Set(), controller: new AbortController() };
  const { signal } = own.controller;
  const set = (state: PipelineState<any>) => {
    own.state = state;
    for (const changed of own.users) changed();
  };
  const tell = (progress: number) => {
    if (!signal.aborted && Math.floor(progress) > own.state.progress) set({ ...kWaiting, progress: Math.floor(progress) });
  };
  held.set(key, own);
  load(signal, tell).then(
    (run) => {
      signal.addEventListener('abort', () => void run.dispose());
      if (signal.aborted) return void run.dispose();
      set({ status: 'ready', run, progress: 100, error: undefined });
    },
    (error) => {
      if (!signal.aborted) set({ status: 'error', run: undefined, progress: own.state.progress, error });
    },
  );
  return own;
}

/**
 * A component stops using a model. React may unmount a component only to mount it again at once, as StrictMode does with each, and a new component may
 * take over from another: both in one task. So the model ends after the task, if nobody uses it then. One that failed is forgotten at once: who mounts next
 * tries again.
 */
function release(key: string, own: Held, changed: () => void): void {
  own.users.delete(changed);
  const end = () => {
    if (own.users.size > 0) return;
    if (held.get(key) === own) held.delete(key);
    own.controller.abort();
  };
  if (own.state.status === 'error') end();
  else queueMicrotask(end);
}

/**
 * Loads a pipeline and keeps it while the component is mounted. Loading starts after the first render, never on a server. Components with the same task,
 * model and options share one pipeline, including StrictMode's second mount. When the last of them unmounts, loading is cancelled or the model is
 * disposed, and pending calls fail. To keep a model while components come and go, use the hook in a component above them.
 *
 * @param task the task, as for `pipeline`.
 * @param model as for `pipeline`.
 * @param options as for `pipeline`, without `signal` and `progress_callback`, which throw an `InputError`. `worker: true` keeps the page responsive.
 * @returns `{ status, run, progress, error }`. `run` is the pipeline, undefined until it is loaded. An error stays until the last component that uses the model
 *   has unmounted; to try again, give that component another `key`.
 *
 * @example
 * ```tsx
 * function Sentiment({ text }) {
 *   const { run, progress, error } = usePipeline('sentiment-analysis', null, { worker: true });
 *   const [label, setLabel] = useState('');
 *   useEffect(() => {
 *     let isCurrent = true;
 *     run?.(text).then(([first]) => isCurrent && setLabel(first.label), console.error);
 *     return () => void (isCurrent = false);
 *   }, [run, text]);
 *   if (error) return <p role="alert">{error.message}</p>;
 *   return run ? <p>{label}</p> : <progress value={progress} max="100" />;
 * }
 * ```
 */
export function usePipeline<Task extends keyof Pipelines>(
  task: Task,
  model?: ModelSpecifier | null,
  options?: UsePipelineOptions | null,
): PipelineState<Pipelines[Task]> {
  for (const name of ['signal', 'progress_callback'] as const)
    if ((options as ModelOptions | undefined)?.[name] !== undefined)
      throw new InputError(`usePipeline: option '${name}': expected none, as the hook sets it; it returns 'progress'`);
  const key = [task, model ?? undefined, options ?? {}].map(keyOf).join();
  const subscribe = useCallback(
    (changed: () => void) => {
      const own = hold(key, (signal, tell) =>
        pipeline(task, model, {
          ...options,
          signal,
          progress_callback: (info) => {
            if (info.status === 'progress') tell(info.progress);
          },
        }),
      );
      own.users.add(changed);
      return () => release(key, own, changed);
    },
    [key], // which says all of task, model and options
  );
  const state = () => held.get(key)?.state ?? kWaiting;
  return useSyncExternalStore<PipelineState<any>>(subscribe, state, () => kWaiting);
}
