// Models on a web server: a directory by its URL, or a repository on a hub.
import { env } from '../core/env.js';
import { InputError, ModelFormatError, NetworkError } from '../core/errors.js';
import type { Access, ModelSource, OpenFile } from './source.js';
import type { SourceOptions } from './types.js';
import { insideModel } from './inside.js';
import { isHtml, request, retryAfter, Tries } from './request.js';
import { ResponseBody } from './response_body.js';

/** Statuses of success without the requested file. */
const kNoContent = [202, 204, 205];

/** The size of the body; undefined if the transfer is chunked or compressed. */
function sizeOf(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding') ?? 'identity';
  const length = response.headers.get('content-length') ?? '';
  return encoding === 'identity' && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** What changes with the file: its entity tag, or else its time; empty without them. */
const etagOf = ({ headers }: Response) => headers.get('etag') ?? headers.get('last-modified') ?? '';

/**
 * The file's SHA-256, if the server names it: hubs do for large files. After a redirect the tag is that of a content network, which may be another
 * hash of as many digits (Xet's).
 */
function sha256Of({ headers, redirected }: Response): string | undefined {
  const own = redirected || headers.has('x-xet-hash') ? null : headers.get('etag');
  return /^"?([0-9a-f]{64})"?$/.exec(headers.get('x-linked-etag') ?? own ?? '')?.[1];
}

const discard = async ({ body }: Response) => void (await body?.cancel().catch(() => {}));

/** A source whose files can be read from an offset. */
export interface RangeSource extends ModelSource {
  /** from: the requested offset. The result's `from` is where its bytes begin: 0 from a server without range requests. */
  openFrom(file: string, from: number, signal: AbortSignal): Promise<RangedFile | undefined>;
  /** What the server says of a file without sending it; undefined: nothing that can be used. */
  head(file: string, signal: AbortSignal): Promise<(Pick<RangedFile, 'size' | 'etag'> & { commit: string | null }) | undefined>;
}

interface RangedFile extends OpenFile {
  from: number;
  /** What changes with the file on the server; empty if it does not say. */
  etag: string;
  /** The SHA-256 of the whole file in hexadecimal, if the server names it. */
  sha256: string | undefined;
  /** Whether its bytes came in more than one response so far. */
  isPieced(): boolean;
  chunks(): AsyncGenerator<Uint8Array>;
}

/** Offset and total size, from `content-range: bytes 5-9/10`. */
function rangeOf(response: Response): { from: number; size: number | undefined } | undefined {
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  return from === undefined ? undefined : { from: Number(from), size: size === '*' ? undefined : Number(size) };
}

/** The hub's host; undefined if env.remoteHost is no URL. */
function hubHost(): URL | undefined {
  try {
    return new URL(env.remoteHost.endsWith('/') ? env.remoteHost : `${env.remoteHost}/`);
  } catch {
    return undefined;
  }
}

/** Files under a directory's URL. The URL's query, if any, is part of every request. page: of the repository on a hub. */
function fetchSource(directory: URL, name: string, access: Access, page?: string): RangeSource {
  const timeout = access.timeout ?? undefined;
  const token = directory.origin === hubHost()?.origin ? access.token?.() : undefined;
  const base = new URL(directory.pathname.endsWith('/') ? directory.href : directory.href.replace(/^[^?#]*/, '$&/'));
  const urlOf = (file: string) => {
    const url = new URL(insideModel(file).split('/').map(encodeURIComponent).join('/'), base);
    url.search = base.search;
    return url.href;
  };
  /** to: the end of a part; undefined: of the file. */
  const ask = async (file: string, tries: Tries, method: 'GET' | 'HEAD', from = 0, to?: number) => {
    const url = urlOf(file);
    // Not */*: development servers respond to that with their start page if there is no such file.
    const accept = file.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    const headers: Record<string, string> = { accept };
    if (from > 0 || to) headers['range'] = `bytes=${from}-${to ? to - 1 : ''}`;
    if (token) headers['authorization'] = (await import('./token.js')).bearer(token);
    const response = await request(file, url, { method, headers }, tries);
    return { url, response };
  };
  /** A response that continues a file at this offset, or begins `from` before it. undefined: there is none of the same file. */
  const reopen = async (
    file: string,
    tries: Tries,
    at: number,
    to: number | undefined,
    same: (response: Response) => boolean,
  ): Promise<{ response: Response; from: number } | undefined> => {
    const { response } = await ask(file, tries, 'GET', at, to);
    const from = response.status === 206 ? rangeOf(response)?.from : 0;
    if (response.ok && from !== undefined && from <= at && same(response)) return { response, from };
    await discard(response);
    return response.status === 206 && at > 0 ? reopen(file, tries, 0, to, same) : undefined;
  };
  /** to: as of ask(). checked: the caller compares the SHA-256 of a file that came in pieces. Otherwise a file that has one is not continued by its range. */
  const openFrom = async (
    file: string,
    wanted: number,
    signal: AbortSignal,
    checked = true,
    to?: number,
  ): Promise<RangedFile | undefined> => {
    const tries = new Tries(signal, timeout);
    const { url, response } = await ask(file, tries, 'GET', wanted, to);
    if (response.status === 404) return void (await discard(response));
    const range = response.status === 206 ? rangeOf(response) : undefined;
    const isOther = response.status === 206 && (!range || range.from > wanted); // other origins may hide which part it is
    if (response.status === 416 || (isOther && wanted > 0)) {
      await discard(response);
      return openFrom(file, 0, signal, checked); // 416: the file is shorter than the cached part
    }
    if (isOther) throw new NetworkError(`${file}: expected the whole file, found a part (status 206) from ${url}`, url, 206);
    if (!response.ok || kNoContent.includes(response.status)) {
      const { status } = response;
      const wait = retryAfter(response) / 1000;
      const asks = wait > 0 ? ` (the server asks to wait ${wait.toFixed(0)} s)` : '';
      const refusal = { status, code: response.headers.get('x-error-code'), page, hasToken: token !== undefined };
      const hint = status === 401 || status === 403 ? (await import('./hub_errors.js')).refusalHint(refusal) : asks;
      throw new NetworkError(`${file}: status ${status} from ${url}${hint}`, url, status);
    }
    if (isHtml(response)) throw htmlError(file, url);
    const from = range?.from ?? 0;
    const size = range ? range.size : sizeOf(response);
    // Other origins may hide compression and announce another size. The end of JSON follows from its syntax.
    const end = range && to ? to : size;
    const expected = file.endsWith('.json') || end === undefined ? undefined : end - from;
    const etag = etagOf(response);
    const sha256 = sha256Of(response);
    const isPlain = (response.headers.get('content-encoding') ?? 'identity') === 'identity'; // ranges count encoded bytes
    let isPieced = false;
    const rest = async (received: number) => {
      const same = (other: Response) => etagOf(other) === etag && (etag !== '' || (received === 0 && sizeOf(other) === size));
      const at = isPlain && (checked || !sha256) ? from + received : 0;
      const again = await reopen(file, tries, at, to, same);
      isPieced ||= again !== undefined;
      return again && { response: again.response, skip: from + received - again.from };
    };
    const body = new ResponseBody(file, url, response, expected, tries, rest);
    const part = (begin: number, until: number) => openFrom(file, begin, signal, true, until);
    return { size, from, etag, sha256, isPieced: () => isPieced, part, chunks: () => body.chunks() };
  };
  const head = async (file: string, signal: AbortSignal) => {
    const { response } = await ask(file, new Tries(signal, timeout), 'HEAD');
    return response.ok && !isHtml(response)
      ? { size: sizeOf(response), etag: etagOf(response), commit: response.headers.get('x-repo-commit') }
      : undefined;
  };
  return {
    name,
    phase: 'download',
    open: (file, signal) => openFrom(file, 0, signal, false),
    openFrom: (file, from, signal) => openFrom(file, from, signal),
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

/** A directory by its URL. local: network access is forbidden. Where env.allowRemoteModels forbids it, a page's own server is not remote. */
export function urlSource(url: URL, name: string, local: boolean, access: Access): ModelSource {
  if (url.protocol === 'blob:' || url.protocol === 'data:') {
    throw new InputError(`model: expected the URL of a directory, found a ${url.protocol} URL; pass Files or a map of bytes`);
  }
  const isOwn = !env.allowRemoteModels && url.origin === globalThis.location?.origin;
  if (local && !isOwn && /^https?:$/.test(url.protocol)) {
    throw new InputError(
      `model: '${name}' needs the network, which local_files_only (or env.allowRemoteModels = false, HF_HUB_OFFLINE) forbids`,
    );
  }
  const others = (id: string) =>
    nearby(id).map((path) => {
      const at = new URL(path, new URL(url.pathname.replace(/\/?$/, '/'), url));
      at.search = url.search;
      return urlSource(at, at.href, local, access);
    });
  return { ...fetchSource(url, name, access), others };
}

/** Where the folder of a repository may be, seen from another one: beside it, or each in that of its organisation. */
export const nearby = (id: string): string[] => [...new Set([`../${id.replace(/.*\//, '')}/`, `../${id}/`, `../../${id}/`])];

/** A repository by its hub id. */
export function hubSource(id: string, options: Pick<SourceOptions, 'revision'>, access: Access): RangeSource {
  const revision = options.revision ?? 'main';
  if (/^\.{0,2}$/.test(revision)) {
    throw new InputError(`option 'revision': expected a branch, a tag or a commit, found '${revision}'`);
  }
  const path = env.remotePathTemplate.replaceAll('{model}', id).replaceAll('{revision}', encodeURIComponent(revision));
  const host = hubHost();
  if (!host) throw new InputError(`env.remoteHost: expected a URL, found '${env.remoteHost}'`);
  const others = (other: string) => [hubSource(other, {}, access)];
  let at: URL;
  try {
    at = new URL(path, host);
  } catch (cause) {
    throw new InputError(`env.remotePathTemplate: expected a path, found '${env.remotePathTemplate}'`, { cause });
  }
  return { ...fetchSource(at, id, access, new URL(id, host).href), others };
}

/** What a hub says of a repository, by its revision: the list of its files, and more. sizes: also those of the files. */
export const hubListing = (id: string, access: Access, sizes = false): ModelSource =>
  fetchSource(
    new URL(`api/models/${id}/revision/${sizes ? '?blobs=true' : ''}`, hubHost()),
    id,
    access,
    new URL(id, hubHost()).href,
  );
