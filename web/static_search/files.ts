// Fetches the files of a static index, each once.
import { ModelFormatError, NetworkError } from '../core/errors.js';
import { kFormat, type Head } from './layout.js';
import { ungzipped } from './packing.js';

export type Fetch = (url: string, init: { signal: AbortSignal }) => Promise<Response>;

/** A file that should be there and is not: the site may have been built anew. */
export class MissingFileError extends NetworkError {}

async function bytesAt(url: URL, fetch: Fetch, signal: AbortSignal): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(url.href, { signal });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new NetworkError(`static index: cannot fetch ${url.href}: ${(cause as Error).message}`, url.href, undefined, { cause });
  }
  if (response.status === 404 || response.status === 410)
    throw new MissingFileError(`static index: ${url.href} does not exist (HTTP ${response.status})`, url.href, response.status);
  if (!response.ok)
    throw new NetworkError(
      `static index: ${url.href}: expected the file, found HTTP ${response.status}`,
      url.href,
      response.status,
    );
  return new Uint8Array(await response.arrayBuffer());
}

/** `index.json` in a folder. */
export async function readHead(folder: URL, fetch: Fetch, signal: AbortSignal): Promise<Head> {
  const url = new URL('index.json', folder);
  const text = new TextDecoder().decode(await bytesAt(url, fetch, signal));
  let head: Head | undefined;
  try {
    head = JSON.parse(text) as Head;
  } catch {
    // said below
  }
  if (typeof head?.folder !== 'string' || !Array.isArray(head.words)) {
    throw new ModelFormatError(
      `static index: ${url.href} is not an index of 'wattn index --static': it begins with ${JSON.stringify(text.slice(0, 40))}`,
    );
  }
  if (head.format !== kFormat)
    throw new ModelFormatError(`static index: ${url.href}: expected format ${kFormat}, found ${head.format}`);
  return head;
}

export class Files {
  private readonly asked = new Map<string, Promise<unknown>>();

  constructor(
    private readonly folder: URL,
    private readonly fetch: Fetch,
  ) {}

  /** A file as `read` makes it. What was asked for stays, unless it failed; nobody's signal ends it, as others may wait for it. */
  get<T>(name: string, read: (bytes: Uint8Array) => T): Promise<T> {
    let file = this.asked.get(name) as Promise<T> | undefined;
    if (!file) {
      file = bytesAt(new URL(name, this.folder), this.fetch, new AbortController().signal)
        .then((bytes) =>
          ungzipped(bytes).catch((cause: unknown) => {
            throw new ModelFormatError(`static index: ${name} is damaged: it cannot be unpacked`, { cause });
          }),
        )
        .then(read);
      this.asked.set(name, file);
      file.catch(() => this.asked.delete(name));
    }
    return file;
  }
}
