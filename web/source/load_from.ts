// One load from a source: its progress, the scope of its requests, and what the source learns of its end.
import { TaskScope } from '../core/signal.js';
import { Progress } from './model_files.js';
import type { ModelSource } from './source.js';
import type { SourceOptions } from './types.js';

/**
 * Runs `load`, then tells the source whether its files were accepted. If the loader refuses files that came from the cache, they are requested
 * once more and `load` runs a second time. The signal fires with the caller's signal and at the end of each run.
 */
export async function loadFrom<T>(
  source: ModelSource,
  options: SourceOptions,
  load: (progress: Progress, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const progress = new Progress(source, options.progress_callback ?? undefined);
  const run = async () => {
    const scope = new TaskScope(options.signal ?? undefined);
    try {
      return await load(progress, scope.signal);
    } finally {
      scope.close();
    }
  };
  let loaded: T;
  try {
    loaded = await run();
  } catch (error) {
    if (!(await source.refused?.(error))) throw error;
    progress.restart();
    try {
      loaded = await run();
    } catch (second) {
      await source.refused?.(second);
      throw second;
    }
  }
  await source.accepted?.();
  return loaded;
}
