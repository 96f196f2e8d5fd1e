// Models on a web server: a directory by its URL, or a repository of a hub.
import { env } from '../core/env.js';
import { InputError, ModelFormatError, NetworkError, UnsupportedError } from '../core/errors.js';
import type { ModelSource, OpenFile } from './source.js';
import { ResponseBody } from './response_body.js';
import { abortError, pause } from '../core/signal.js';

const messageOf = (error: unknown) => String((error as { message?: unknown })?.message ?? error);

// A connection that failed before any answer is tried again after so long: a server that ended a kept connection just as it was used
// again, a line that dropped. What is asked for here is only read, so asking twice changes nothing.
const kRetryMs = [100, 400];

/** Whether the next try would fail as well: nobody listens there, no such host, no network at all. */
function isHopeless(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } })?.cause?.code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || (globalThis.navigator as { onLine?: boolean })?.onLine === false;
}

/** fetch (GET or HEAD), with its failures typed. what: for messages. */
export async function request(what: string, url: string, init: RequestInit): Promise<Response> {
  const ask = env.fetch ?? globalThis.fetch;
  if (typeof ask !== 'function') throw new UnsupportedError(`${what}: there is no fetch here; set env.fetch`);
  for (let tries = 0; ; ++tries) {
    try {
      return (await ask(url, init)) as Response;
    } catch (cause) {
      if (init.signal?.aborted) throw abortError(init.signal);
      const wait = isHopeless(cause) ? undefined : kRetryMs[tries];
      if (wait === undefined) {
        throw new NetworkError(`${what}: no answer from ${url}: ${messageOf(cause)}`, url, undefined, { cause });
      }
      await pause(wait, init.signal ?? undefined);
    }
  }
}

export const isHtml = (response: Response) =>
  /^\s*(text\/html|application\/xhtml)/i.test(response.headers.get('content-type') ?? '');

/** The bytes that will come; undefined when the transfer is chunked, or compressed so that its length says nothing. */
function sizeOf(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding') ?? 'identity';
  const length = response.headers.get('content-length') ?? '';
  return encoding === 'identity' && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** A source whose files can be had from a place inside them. */
export interface RangeSource extends ModelSource {
  /** from: asked for; in the answer, where its bytes begin (a server without ranges begins at 0). */
  openFrom(file: string, from: number, signal: AbortSignal): Promise<RangedFile | undefined>;
}

export interface RangedFile extends OpenFile {
  from: number;
  /** The server's name for this very content; empty without one. */
  etag: string;
  chunks(): AsyncGenerator<Uint8Array>;
}

/** The whole length, from `content-range: bytes 5-9/10`. */
function rangeOf(response: Response): { from: number; size: number | undefined } | undefined {
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  return from === undefined ? undefined : { from: Number(from), size: size === '*' ? undefined : Number(size) };
}

/** Files under a directory's URL. Its query, if any, goes with every request. */
export function fetchSource(directory: URL, name: string): RangeSource {
  const base = new URL(directory.pathname.endsWith('/') ? directory.href : directory.href.replace(/^[^?#]*/, '$&/'));
  const urlOf = (file: string) => {
    const url = new URL(file.split('/').map(encodeURIComponent).join('/'), base);
    url.search = base.search;
    return url.href;
  };
  const ask = async (file: string, signal: AbortSignal, method: 'GET' | 'HEAD', from = 0) => {
    const url = urlOf(file);
    // Not */*: development servers answer that with their start page where there is no such file.
    const accept = file.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    const headers: Record<string, string> = from > 0 ? { accept, range: `bytes=${from}-` } : { accept };
    const response = await request(file, url, { method, signal, headers });
    return { url, response };
  };
  const openFrom = async (file: string, wanted: number, signal: AbortSignal): Promise<RangedFile | undefined> => {
    const { url, response } = await ask(file, signal, 'GET', wanted);
    if (response.status === 404) {
      await response.body?.cancel().catch(() => {});
      return undefined;
    }
    if (response.status === 416) return openFrom(file, 0, signal); // it is shorter than what was kept
    if (!response.ok) {
      const hint = response.status === 401 ? ' (a hub says so of what is private, and of what is not there)' : '';
      throw new NetworkError(`${file}: status ${response.status} from ${url}${hint}`, url, response.status);
    }
    if (isHtml(response)) throw htmlError(file, url);
    const range = response.status === 206 ? rangeOf(response) : undefined;
    const from = range?.from ?? 0;
    const size = range ? range.size : sizeOf(response);
    // Other origins may hide that they compress, and then announce another length. Of JSON its syntax shows the end.
    const expected = file.endsWith('.json') || size === undefined ? undefined : size - from;
    const body = new ResponseBody(file, url, response, expected, signal);
    return { size, from, etag: response.headers.get('etag') ?? '', chunks: () => body.chunks() };
  };
  return {
    name,
    phase: 'download',
    open: (file, signal) => openFrom(file, 0, signal),
    openFrom,
    async size(file, signal) {
      const { response } = await ask(file, signal, 'HEAD');
      return response.ok && !isHtml(response) ? sizeOf(response) : undefined;
    },
    place: urlOf,
  };
}

export function looksLikeHtml(bytes: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, 64));
  return /^(\xef\xbb\xbf)?\s*<(!doctype|html|head|\?xml)/i.test(text);
}

export function htmlError(file: string, place: string): ModelFormatError {
  return new ModelFormatError(
    `${file}: HTML came in place of this file from ${place} (a server must answer 404 for a file that it does not have)`,
  );
}

/** A directory by its URL. local: the network is forbidden. */
export function urlSource(url: URL, name: string, local: boolean): ModelSource {
  if (url.protocol === 'blob:' || url.protocol === 'data:') {
    throw new InputError(`model: expected the URL of a directory, found a ${url.protocol} URL; pass Files or a map of bytes`);
  }
  if (local && /^https?:$/.test(url.protocol)) {
    throw new InputError(`model: '${name}' needs the network, which local_files_only (or env.allowRemoteModels = false) forbids`);
  }
  return fetchSource(url, name);
}

/** A repository by its hub id. */
export function hubSource(id: string, revision: string): RangeSource {
  const path = env.remotePathTemplate.replaceAll('{model}', id).replaceAll('{revision}', encodeURIComponent(revision));
  let base: URL;
  try {
    base = new URL(path, env.remoteHost.endsWith('/') ? env.remoteHost : `${env.remoteHost}/`);
  } catch (cause) {
    throw new InputError(`env.remoteHost: expected a URL, found '${env.remoteHost}'`, { cause });
  }
  return fetchSource(base, id);
}
