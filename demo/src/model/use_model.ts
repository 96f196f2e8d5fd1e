// The one model of the page, and the one that is on its way. A model stays until the next is ready.
import { AbortError, env, pipeline, type FeatureExtractionPipeline, type ModelSpecifier, type ProgressInfo } from 'wattn';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { readAddress } from '../ui/address.js';
import { setAddressModel } from '../ui/kept.js';
import { placeOf } from './models.js';

export interface ReadyModel {
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

export interface ModelState {
  /** What the panels work with. */
  ready?: ReadyModel;
  /** What is being loaded beside it. */
  loading?: { name: string; progress?: LoadProgress };
  /** The model of a link, on a host that nobody here has chosen. */
  asking?: { model: string; host: string };
  /** Why the last one could not be loaded. */
  error?: Error;
  cancelled?: boolean;
}

export interface ModelControl {
  state: ModelState;
  /** null: the model in the package. */
  load(model: ModelSpecifier | null, name: string): void;
  cancel(): void;
  /** Whether to load the model that is asked about. */
  answer(load: boolean): void;
  /** Shows an error of choosing a model, such as a folder that could not be read. */
  fail(error: Error): void;
  /** Forgets the last error. */
  forget(): void;
}

/** The model that this page was served with, if any (see vite.config.ts). */
function servedModel(): { url: string; name: string } | undefined {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="wattn-model"]');
  return meta ? { url: meta.content, name: meta.dataset.name ?? meta.content } : undefined;
}

/** The name of the model in the package. */
export const kBundled = 'wattn-default';

let lastSerial = 0;

/** Places relative to the page become addresses that mean the same in every worker. */
const absolute = (model: ModelSpecifier | null): ModelSpecifier | null => {
  if (typeof model !== 'string') return model;
  const place = placeOf(model);
  return /^\.{0,2}\//.test(place) ? new URL(place, document.baseURI).href : place;
};

/** The host that a link's model would be requested from, unless it is this page's or the hub's. */
function otherHost(model: string): string | undefined {
  const place = absolute(model) as string;
  if (!/^https?:/i.test(place) || !URL.canParse(place)) return undefined;
  const { host, origin } = new URL(place);
  return [location.origin, new URL(env.remoteHost).origin].includes(origin) ? undefined : host;
}

export function useModel(): ModelControl {
  const [state, setState] = useState<ModelState>({});
  const controller = useRef<AbortController | undefined>(undefined);

  const load = useCallback(async (chosen: ModelSpecifier | null, name: string) => {
    const model = absolute(chosen);
    controller.current?.abort();
    const { signal } = (controller.current = new AbortController());
    const isLast = () => controller.current?.signal === signal;
    const show = (change: Omit<ModelState, 'ready'>) =>
      isLast() && setState(({ ready, asking }) => ({ ...(ready && { ready }), ...(asking && { asking }), ...change }));
    show({ loading: { name } });
    const start = performance.now();
    try {
      const embed = await pipeline('feature-extraction', model, {
        signal,
        progress_callback: (info) => info.status === 'progress' && show({ loading: { name, progress: info } }),
      });
      if (!isLast()) return void embed.dispose();
      const ready = { serial: ++lastSerial, name, embed, source: model, loadMs: performance.now() - start };
      setState(({ asking }) => ({ ...(asking && { asking }), ready }));
      setAddressModel(typeof chosen === 'string' && chosen !== servedModel()?.url ? chosen : undefined);
    } catch (error) {
      show(error instanceof AbortError ? { cancelled: true } : { error: error as Error });
    }
  }, []);

  useEffect(() => {
    const asked = readAddress().params.get('model');
    const served = servedModel();
    const host = asked ? otherHost(asked) : undefined;
    if (asked && host) setState({ asking: { model: asked, host } });
    if (asked && !host) void load(asked, asked);
    else void load(served?.url ?? null, served?.name ?? kBundled);
    return () => controller.current?.abort();
  }, []);
  // Once the panels of the next model are there, nobody asks the one before it any more.
  const embed = state.ready?.embed;
  useEffect(() => () => void embed?.dispose(), [embed]);

  return {
    state,
    load,
    cancel: () => controller.current?.abort(),
    answer: (wanted) => {
      setState(({ asking: _asked, ...rest }) => rest);
      if (wanted && state.asking) void load(state.asking.model, state.asking.model);
    },
    fail: (error) => setState(({ ready, asking }) => ({ ...(ready && { ready }), ...(asking && { asking }), error })),
    forget: () => setState(({ error: _error, cancelled: _cancelled, ...rest }) => rest),
  };
}
