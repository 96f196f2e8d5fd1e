// Models on a web server: a directory by its URL, or a repository of a hub.
import { env } from './env.js';
import { InputError, ModelFormatError, NetworkError, UnsupportedError } from './errors.js';
import type { ModelSource, OpenFile } from './model_source.js';
import { ResponseBody } from './response_body.js';
import { abortError } from './signal.js';

const messageOf = (error: unknown) => String((error as { message?: unknown })?.message ?? error);

/** fetch, with its failures typed. what: for messages. */
export async function request(what: string, url: string, init: RequestInit): Promise<Response> {
  const ask = env.fetch ?? globalThis.fetch;
  if (typeof ask !== 'function') throw new UnsupportedError(`${what}: there is no fetch here; set env.fetch`);
  try {
    return (await ask(url, init)) as Response;
  } catch (cause) {
    if (init.signal?.aborted) throw abortError(init.signal);
    throw new NetworkError(`${what}: no answer from ${url}: ${messageOf(cause)}`, url, undefined, { cause });
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

/** Files under a directory's URL. Its query, if any, goes with every request. */
export function fetchSource(directory: URL, name: string): ModelSource {
  const base = new URL(directory.pathname.endsWith('/') ? directory.href : directory.href.replace(/^[^?#]*/, '$&/'));
  const urlOf = (file: string) => {
    const url = new URL(file.split('/').map(encodeURIComponent).join('/'), base);
    url.search = base.search;
    return url.href;
  };
  const ask = async (file: string, signal: AbortSignal, method: 'GET' | 'HEAD') => {
    const url = urlOf(file);
    // Not */*: development servers answer that with their start page where there is no such file.
    const accept = file.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    const response = await request(file, url, { method, signal, headers: { accept } });
    return { url, response };
  };
  return {
    name,
    phase: 'download',
    async open(file, signal): Promise<OpenFile | undefined> {
      const { url, response } = await ask(file, signal, 'GET');
      if (response.status === 404) {
        await response.body?.cancel().catch(() => {});
        return undefined;
      }
      if (!response.ok) {
        const hint = response.status === 401 ? ' (a hub says so of what is private, and of what is not there)' : '';
        throw new NetworkError(`${file}: status ${response.status} from ${url}${hint}`, url, response.status);
      }
      if (isHtml(response)) throw htmlError(file, url);
      const size = sizeOf(response);
      // Other origins may hide that they compress, and then announce another length. Of JSON its syntax shows the end.
      const body = new ResponseBody(file, url, response, file.endsWith('.json') ? undefined : size, signal);
      return { size, chunks: () => body.chunks() };
    },
    async size(file, signal) {
      const { response } = await ask(file, signal, 'HEAD');
      return response.ok && !isHtml(response) ? sizeOf(response) : undefined;
    },
    place: urlOf,
  };
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
export function hubSource(id: string, revision: string): ModelSource {
  const path = env.remotePathTemplate.replaceAll('{model}', id).replaceAll('{revision}', encodeURIComponent(revision));
  let base: URL;
  try {
    base = new URL(path, env.remoteHost.endsWith('/') ? env.remoteHost : `${env.remoteHost}/`);
  } catch (cause) {
    throw new InputError(`env.remoteHost: expected a URL, found '${env.remoteHost}'`, { cause });
  }
  return fetchSource(base, id);
}
