// What the entries for other libraries share: a model by its name or as a loaded pipeline, and vectors as arrays.
import { pipeline } from './index.js';
import { describe, InputError } from '../core/errors.js';
import { abortable } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { ModelSpecifier } from '../source/types.js';
import type { Pipelines } from '../tasks/task_types.js';
import type { Embeddings } from '../vectors/types.js';

/** A loaded pipeline, or the model to load it from, as for `pipeline(task, model)`. */
export type Given<Task extends keyof Pipelines> = Pipelines[Task] | ModelSpecifier;

export const isPipeline = (model: unknown): model is Pipelines[keyof Pipelines] => typeof model === 'function';

/** Gets the pipeline of a task, or ends with an AbortError. */
export type Load<Task extends keyof Pipelines> = (signal?: AbortSignalLike) => Promise<Pipelines[Task]>;

/** How to get the result of `load`: it is called once, and again after it failed. A signal ends the wait alone, because others may wait too. */
export function once<T>(load: () => Promise<T>): (signal?: AbortSignalLike) => Promise<T> {
  let loading: Promise<T> | undefined;
  return (signal) => {
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    return abortable(loading, signal);
  };
}

/** How to get the pipeline of a task. A model is loaded at the first call. */
export function given<Task extends keyof Pipelines>(where: string, task: Task, model: Given<Task> | undefined): Load<Task> {
  if (isPipeline(model) && model.task !== task)
    throw new InputError(`${where}: expected a pipeline of '${task}', found one of ${describe(model.task)}`);
  return once(async () => (isPipeline(model) ? model : await pipeline(task, model as ModelSpecifier)) as Pipelines[Task]);
}

/** The vectors of texts. */
export function rowsOf(where: string, { data, dims }: Embeddings, count: number): number[][] {
  if (dims.length !== 2 || dims[0] !== count)
    throw new InputError(`${where}: expected options that make one vector of a text, found a result of the shape [${dims}]`);
  const width = dims[1] as number;
  return Array.from({ length: count }, (_, i) => Array.from(data.subarray(i * width, (i + 1) * width)));
}
