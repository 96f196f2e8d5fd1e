// Requests through a cache that the caller provides (env.customCache).
import { checkAnswer } from '../core/answers.js';
import type { CustomCache } from '../core/types.js';

const isResponse = (value: unknown) => typeof (value as Partial<Response>).status === 'number' && 'headers' in Object(value);

/** A fetch that answers from the cache, and keeps what it fetches. */
export function throughCache(cache: CustomCache, send: (url: string, init: RequestInit) => Promise<Response>): typeof send {
  return async (url, init) => {
    const kept = (await cache.match(url)) as Response | undefined;
    if (kept) return checkAnswer('env.customCache.match', kept, 'a Response or undefined', isResponse);
    const response = await send(url, init);
    if (response.status === 200) await cache.put(url, response.clone());
    return response;
  };
}
