// The one model of the page: none, loading, or ready.
import { AbortError, pipeline, type FeatureExtractionPipeline, type ModelSpecifier, type ProgressInfo } from 'wattn';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface ReadyModel {
  kind: 'ready';
  /** Another number for each model that was loaded. */
  serial: number;
  name: string;
  embed: FeatureExtractionPipeline;
  /** What it was loaded from, for a second door to it. */
  source: ModelSpecifier | null;
  /** From the choice to the last weight in place. */
  loadMs: number;
}

export type LoadProgress = Extract<ProgressInfo, { status: 'progress' }>;

export type ModelState =
  { kind: 'none'; error?: Error; cancelled?: boolean } | { kind: 'loading'; name: string; progress?: LoadProgress } | ReadyModel;

export interface ModelControl {
  state: ModelState;
  /** null: the model in the package. */
  load(model: ModelSpecifier | null, name: string): void;
  cancel(): void;
  /** Shows an error of choosing a model, such as a folder that could not be read. */
  fail(error: Error): void;
  unload(): void;
}

/** The model that this page was served with, if any (see vite.config.ts). */
function servedModel(): { url: string; name: string } | undefined {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="wattn-model"]');
  return meta ? { url: meta.content, name: meta.dataset.name ?? meta.content } : undefined;
}

/** What the page calls the model in the package. */
export const kBundled = 'The model in the package';

let lastSerial = 0;

/** Places relative to the page become addresses that mean the same in every worker. */
const absolute = (model: ModelSpecifier | null): ModelSpecifier | null =>
  typeof model === 'string' && /^\.{0,2}\//.test(model) ? new URL(model, document.baseURI).href : model;

export function useModel(): ModelControl {
  const [state, setState] = useState<ModelState>({ kind: 'none' });
  const controller = useRef<AbortController | undefined>(undefined);
  const loaded = useRef<FeatureExtractionPipeline | undefined>(undefined);

  const release = useCallback(() => {
    controller.current?.abort();
    void loaded.current?.dispose();
    loaded.current = undefined;
  }, []);

  const load = useCallback(async (chosen: ModelSpecifier | null, name: string) => {
    const model = absolute(chosen);
    release();
    const { signal } = (controller.current = new AbortController());
    const show = (next: ModelState) => {
      if (controller.current?.signal === signal) setState(next);
    };
    show({ kind: 'loading', name });
    const start = performance.now();
    try {
      const embed = await pipeline('feature-extraction', model, {
        signal,
        progress_callback: (info) => info.status === 'progress' && show({ kind: 'loading', name, progress: info }),
      });
      loaded.current = embed;
      show({ kind: 'ready', serial: ++lastSerial, name, embed, source: model, loadMs: performance.now() - start });
    } catch (error) {
      show(error instanceof AbortError ? { kind: 'none', cancelled: true } : { kind: 'none', error: error as Error });
    }
  }, []);

  useEffect(() => {
    const served = servedModel();
    void load(served?.url ?? null, served?.name ?? kBundled);
    return release;
  }, []);

  return {
    state,
    load,
    cancel: () => controller.current?.abort(),
    fail: (error) => setState({ kind: 'none', error }),
    unload: () => {
      release();
      setState({ kind: 'none' });
    },
  };
}
