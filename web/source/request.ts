// Requests that are tried again: a server that is busy or restarts, a connection that breaks, and one that stalls. Requests only read, so repeating
// them is safe.
import { env } from '../core/env.js';
import { describe, InputError, NetworkError, UnsupportedError } from '../core/errors.js';
import { abortable, abortError, pause, TaskScope } from '../core/signal.js';
import type { Fetch } from './token.js';

// Waits before the next try. The first is short: servers close kept-alive connections just as they are used again.
const kRetryMs = [100, 500, 2500];
const kBusy = [408, 429, 500, 502, 503, 504];
const kMostRetryAfterMs = 60_000;

/** Default of the option `timeout`. */
const kTimeoutMs = 30_000;

/** The message, and that of the innermost cause: Node's fetch says 'fetch failed', and hides in causes why. */
function messageOf(error: any): string {
  let inner = error;
  while (inner?.cause) inner = inner.cause;
  return [...new Set([error, inner].map((each) => String(each?.message || (each?.code ?? each))))].join(': ');
}

/** Whether a retry would fail as well: nothing listens, the host is unknown, or the network is down. */
function isHopeless(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } })?.cause?.code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || (globalThis.navigator as { onLine?: boolean })?.onLine === false;
}

/** `Retry-After`, seconds or a date, in milliseconds; 0 without it. */
export function retryAfter(response: Response): number {
  const text = response.headers.get('retry-after') ?? '';
  const ms = /^\d+$/.test(text) ? 1000 * Number(text) : Date.parse(text) - Date.now();
  return ms > 0 ? ms : 0;
}

/** The tries of one file: its requests and the rest of a broken body share them. */
export class Tries {
  private failed = 0;

  /** timeout: the longest time without a byte, in milliseconds; 0: no limit. */
  constructor(
    readonly signal?: AbortSignal,
    readonly timeout: number = kTimeoutMs,
  ) {}

  /** Waits, at least for `least` milliseconds, until the next try may begin. false: there are no more. */
  async again(least = 0): Promise<boolean> {
    const wait = kRetryMs[this.failed];
    if (wait === undefined || least > kMostRetryAfterMs) return false;
    this.failed += 1;
    await pause(Math.max(wait, least), this.signal);
    return true;
  }

  /** To be called when bytes arrive. */
  renew(): void {
    this.failed = 0;
  }

  /**
   * The promise, or an error if it takes longer than the timeout. Time is measured in two halves: the first ends late where the thread was busy or the
   * machine asleep, and the second lets what arrived meanwhile be seen.
   */
  async unstalled<T>(promise: Promise<T>): Promise<T> {
    const { timeout } = this;
    if (timeout === 0) return promise;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stalled = new Promise<never>((_, reject) => {
      const give = () => reject(new Error(`the server sent nothing for ${timeout} ms (option 'timeout')`));
      timer = setTimeout(() => (timer = setTimeout(give, timeout / 2)), timeout / 2);
    });
    try {
      return await Promise.race([promise, stalled]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** fetch (GET or HEAD) with typed errors and tries. The last response is returned whatever its status. what: for messages. */
export async function request(what: string, url: string, init: RequestInit, tries: Tries): Promise<Response> {
  const fetch = env.fetch ?? globalThis.fetch;
  if (typeof fetch !== 'function') throw new UnsupportedError(`${what}: this environment has no fetch; set env.fetch`);
  const { signal } = tries;
  const withToken = 'authorization' in (init.headers ?? {}) && (await import('./token.js')).fetchWithToken;
  const plain: Fetch = withToken ? (...request) => withToken(fetch, ...request) : fetch;
  const custom = env.useCustomCache && init.method === 'GET' && !('range' in (init.headers ?? {})) ? env.customCache : undefined;
  const send = custom ? (await import('./custom_cache.js')).throughCache(custom, plain) : plain;
  for (;;) {
    const scope = new TaskScope(signal);
    try {
      const asked = abortable(send(url, { ...init, signal: scope.signal }), signal);
      const response = await tries.unstalled(asked);
      if (typeof response?.headers?.get !== 'function') throw new InputError(`env.fetch: expected a Response, found ${describe(response)}`); // prettier-ignore
      if (!kBusy.includes(response.status)) return response;
      await response.body?.cancel().catch(() => {});
      scope.close();
      if (!(await tries.again(retryAfter(response)))) return response;
    } catch (cause) {
      scope.close();
      if (signal?.aborted) throw abortError(signal);
      if (cause instanceof InputError) throw cause;
      if (!isHopeless(cause) && (await tries.again())) continue;
      const hint = 'process' in globalThis ? (await import('./network_hint.js')).networkHint() : '';
      throw new NetworkError(`${what}: no response from ${url}: ${messageOf(cause)}${hint}`, url, undefined, { cause });
    }
  }
}

export const isHtml = (response: Response) =>
  /^\s*(text\/html|application\/xhtml)/i.test(response.headers.get('content-type') ?? '');
