// What a page and Node do differently. The page's way is here; node.ts puts platform_node.ts in its place.
import type { ModelSource } from './model_source.js';
import { urlSource } from './fetch_source.js';
import { UnsupportedError } from './errors.js';
import type { WorkerHandle, WorkerKind } from './worker_port.js';

export interface Platform {
  /** The model in a place of the machine's own: a path in Node, a URL relative to the page in a page. local: no network. */
  openPlace(place: string, local: boolean): ModelSource;
  /** Bytes of a file: URL; undefined where such URLs are fetched like others. */
  readFileUrl?(url: URL): Promise<Uint8Array>;
  /** What a relative URL is relative to; undefined where there is nothing such. */
  base(): string | undefined;
  /** Starts a worker of ours. */
  startWorker(kind: WorkerKind): WorkerHandle;
  /** Cores to run on, and whether memory can be shared with workers. */
  threads(): { cores: number; sharedMemory: boolean };
}

// Exactly this form, `new Worker(new URL(...))`: bundlers know it, and bring the files along.
const start = (kind: WorkerKind) =>
  kind === 'thread'
    ? new Worker(new URL('./thread.js', import.meta.url), { type: 'module' })
    : new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });

const web: Platform = {
  openPlace(place, local) {
    const base = web.base();
    if (base === undefined)
      throw new UnsupportedError(`'${place}' is a place relative to a page, and there is no page: pass a URL`);
    return urlSource(new URL(place, base), place, local);
  },
  base: () => globalThis.document?.baseURI ?? globalThis.location?.href,
  startWorker(kind) {
    if (typeof Worker !== 'function') throw new UnsupportedError('worker: there are no workers here');
    const worker = start(kind);
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer as ArrayBuffer[]),
      onMessage: (listener) => worker.addEventListener('message', ({ data }) => listener(data)),
      onError: (listener) =>
        worker.addEventListener('error', (event) => {
          event.preventDefault?.();
          listener(new Error(event.message || 'its script could not be loaded'));
        }),
      keepAlive() {},
      end: () => worker.terminate(),
    };
  },
  threads: () => ({
    cores: globalThis.navigator?.hardwareConcurrency ?? 1,
    sharedMemory: globalThis.crossOriginIsolated === true && typeof Worker === 'function',
  }),
};

let current: Platform = web;

export const platform = (): Platform => current;

export function usePlatform(platform: Platform): void {
  current = platform;
}
