// Models on a web server: a directory by its URL, or a repository on a hub.
import { env } from '../core/env.js';
import { InputError, ModelFormatError, NetworkError, UnsupportedError } from '../core/errors.js';
import type { ModelSource, OpenFile } from './source.js';
import { ResponseBody } from './response_body.js';
import { abortError, pause } from '../core/signal.js';

const messageOf = (error: unknown) => String((error as { message?: unknown })?.message ?? error);

// Delays before retrying a request that got no response: the server closed a kept-alive connection as it was reused, or the network
// dropped. Requests only read, so repeating them is safe.
const kRetryMs = [100, 400];

/** Whether a retry would fail as well: nothing listens, the host is unknown, or the network is down. */
function isHopeless(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } })?.cause?.code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || (globalThis.navigator as { onLine?: boolean })?.onLine === false;
}

/** fetch (GET or HEAD) with typed errors and retries. what: for messages. */
export async function request(what: string, url: string, init: RequestInit): Promise<Response> {
  const fetch = env.fetch ?? globalThis.fetch;
  if (typeof fetch !== 'function') throw new UnsupportedError(`${what}: this environment has no fetch; set env.fetch`);
  for (let tries = 0; ; ++tries) {
    try {
      return (await fetch(url, init)) as Response;
    } catch (cause) {
      if (init.signal?.aborted) throw abortError(init.signal);
      const wait = isHopeless(cause) ? undefined : kRetryMs[tries];
      if (wait === undefined) {
        throw new NetworkError(`${what}: no response from ${url}: ${messageOf(cause)}`, url, undefined, { cause });
      }
      await pause(wait, init.signal ?? undefined);
    }
  }
}

export const isHtml = (response: Response) =>
  /^\s*(text\/html|application\/xhtml)/i.test(response.headers.get('content-type') ?? '');

/** Statuses of success without the requested file. */
const kNoContent = [202, 204, 205];

/** The size of the body; undefined if the transfer is chunked or compressed. */
function sizeOf(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding') ?? 'identity';
  const length = response.headers.get('content-length') ?? '';
  return encoding === 'identity' && /^\d+$/.test(length) ? Number(length) : undefined;
}

const etagOf = (response: Response) => response.headers.get('etag') ?? '';

/** A source whose files can be read from an offset. */
export interface RangeSource extends ModelSource {
  /** from: the requested offset. The result's `from` is where its bytes begin: 0 from a server without range requests. */
  openFrom(file: string, from: number, signal: AbortSignal): Promise<RangedFile | undefined>;
  /** What the server says of a file without sending it; undefined: nothing that can be used. */
  head(file: string, signal: AbortSignal): Promise<Pick<RangedFile, 'size' | 'etag'> | undefined>;
}

interface RangedFile extends OpenFile {
  from: number;
  /** The server's entity tag; empty without one. */
  etag: string;
  chunks(): AsyncGenerator<Uint8Array>;
}

/** Offset and total size, from `content-range: bytes 5-9/10`. */
function rangeOf(response: Response): { from: number; size: number | undefined } | undefined {
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  return from === undefined ? undefined : { from: Number(from), size: size === '*' ? undefined : Number(size) };
}

/** Files under a directory's URL. The URL's query, if any, is part of every request. */
function fetchSource(directory: URL, name: string): RangeSource {
  const base = new URL(directory.pathname.endsWith('/') ? directory.href : directory.href.replace(/^[^?#]*/, '$&/'));
  const urlOf = (file: string) => {
    const url = new URL(file.split('/').map(encodeURIComponent).join('/'), base);
    url.search = base.search;
    return url.href;
  };
  const ask = async (file: string, signal: AbortSignal, method: 'GET' | 'HEAD', from = 0) => {
    const url = urlOf(file);
    // Not */*: development servers respond to that with their start page if there is no such file.
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
    if (response.status === 416) return openFrom(file, 0, signal); // the file is shorter than the cached part
    if (!response.ok || kNoContent.includes(response.status)) {
      const hint = response.status === 401 ? ' (hubs respond so for private and for missing repositories)' : '';
      throw new NetworkError(`${file}: status ${response.status} from ${url}${hint}`, url, response.status);
    }
    if (isHtml(response)) throw htmlError(file, url);
    const range = response.status === 206 ? rangeOf(response) : undefined;
    const from = range?.from ?? 0;
    const size = range ? range.size : sizeOf(response);
    // Other origins may hide compression and announce another size. The end of JSON follows from its syntax.
    const expected = file.endsWith('.json') || size === undefined ? undefined : size - from;
    const body = new ResponseBody(file, url, response, expected, signal);
    return { size, from, etag: etagOf(response), chunks: () => body.chunks() };
  };
  const head = async (file: string, signal: AbortSignal) => {
    const { response } = await ask(file, signal, 'HEAD');
    return response.ok && !isHtml(response) ? { size: sizeOf(response), etag: etagOf(response) } : undefined;
  };
  return {
    name,
    phase: 'download',
    open: (file, signal) => openFrom(file, 0, signal),
    openFrom,
    head,
    size: async (file, signal) => (await head(file, signal))?.size,
    place: urlOf,
  };
}

export function looksLikeHtml(bytes: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, 64));
  return /^(\xef\xbb\xbf)?\s*<(!doctype|html|head|\?xml)/i.test(text);
}

export function htmlError(file: string, place: string): ModelFormatError {
  return new ModelFormatError(
    `${file}: expected this file from ${place}, found HTML (a server must respond with 404 for missing files)`,
  );
}

/** A directory by its URL. local: network access is forbidden. */
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
  if (/^\.{0,2}$/.test(revision)) {
    throw new InputError(`option 'revision': expected a branch, a tag or a commit, found '${revision}'`);
  }
  const path = env.remotePathTemplate.replaceAll('{model}', id).replaceAll('{revision}', encodeURIComponent(revision));
  let base: URL;
  try {
    base = new URL(path, env.remoteHost.endsWith('/') ? env.remoteHost : `${env.remoteHost}/`);
  } catch (cause) {
    throw new InputError(`env.remoteHost: expected a URL, found '${env.remoteHost}'`, { cause });
  }
  return fetchSource(base, id);
}
