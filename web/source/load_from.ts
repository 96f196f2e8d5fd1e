// One load from a source: its progress, the scope of its requests, and what the source learns of its end.
import { env } from '../core/env.js';
import { WattnError } from '../core/errors.js';
import { TaskScope } from '../core/signal.js';
import { Progress } from './model_files.js';
import { isHubId } from './model_source.js';
import { platform } from './platform.js';
import type { ModelSource } from './source.js';
import type { SourceOptions } from './types.js';

/**
 * Runs `load`, then tells the source whether its files were accepted. If the loader refuses files that came from the cache, they are requested
 * once more and `load` runs a second time. A repository that holds only ONNX is replaced by its original: then `load` runs with another source. The signal fires with the caller's signal and at the end of each run.
 */
export async function loadFrom<T>(source: ModelSource, options: SourceOptions, load: Load<T>): Promise<T> {
  try {
    return await loadOnce(source, options, load);
  } catch (error) {
    const { original } = error as { original?: string }; // of original.ts
    if (!env.resolveOriginal || !original) throw error;
    const instead = await (await import('./original.js')).openOriginal(error, source, options);
    return loadOnce(instead.source, instead.options, load);
  }
}

type Load<T> = (source: ModelSource, progress: Progress, signal: AbortSignal) => Promise<T>;

async function loadOnce<T>(source: ModelSource, options: SourceOptions, load: Load<T>): Promise<T> {
  const progress = new Progress(source, options.progress_callback ?? undefined);
  const run = async () => {
    const scope = new TaskScope(options.signal ?? undefined);
    try {
      return await load(source, progress, scope.signal);
    } finally {
      scope.close();
    }
  };
  let loaded: T;
  try {
    try {
      loaded = await run();
    } catch (error) {
      const { packed } = error as { packed?: boolean }; // of original.ts: the files are those of a packed model
      if (packed || !(await source.refused?.(error))) throw error;
      progress.restart();
      loaded = await run().catch(async (second) => {
        await source.refused?.(second);
        throw second;
      });
    }
  } catch (error) {
    const isKnown = error instanceof WattnError && source.phase === 'download' && isHubId(source.name);
    if (isKnown) error.message += platform.folderHint?.(source.name) ?? '';
    throw error;
  }
  await source.accepted?.();
  return loaded;
}
