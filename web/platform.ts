// What a page and Node do differently. The page's way is here; node.ts puts platform_node.ts in its place.
import type { ModelSource } from './model_source.js';
import { urlSource } from './fetch_source.js';
import { UnsupportedError } from './errors.js';

export interface Platform {
  /** The model in a place of the machine's own: a path in Node, a URL relative to the page in a page. local: no network. */
  openPlace(place: string, local: boolean): ModelSource;
  /** Bytes of a file: URL; undefined where such URLs are fetched like others. */
  readFileUrl?(url: URL): Promise<Uint8Array>;
  /** What a relative URL is relative to; undefined where there is nothing such. */
  base(): string | undefined;
}

const web: Platform = {
  openPlace(place, local) {
    const base = web.base();
    if (base === undefined)
      throw new UnsupportedError(`'${place}' is a place relative to a page, and there is no page: pass a URL`);
    return urlSource(new URL(place, base), place, local);
  },
  base: () => globalThis.document?.baseURI ?? globalThis.location?.href,
};

let current: Platform = web;

export const platform = (): Platform => current;

export function usePlatform(platform: Platform): void {
  current = platform;
}
