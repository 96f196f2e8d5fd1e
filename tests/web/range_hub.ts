// A Hub with range requests and etags, and with the faults of real servers.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'wattn';
import { tinyFiles, type Files } from './support.js';

export const id = 'org/tiny';
export const kPiece = 4 << 20;

/** Answers a request for a file in a wrong way, or returns 'none' for the right one. */
export type Fault = (response: ServerResponse, bytes: Uint8Array, request: IncomingMessage) => unknown;

const kJson = { 'content-type': 'application/json' };

/** An answer with this status. */
export const status =
  (code: number, headers: Record<string, string> = {}): Fault =>
  (response) =>
    void response.writeHead(code, headers).end('busy');

/** Begins a file and then sends nothing more. at: how many bytes come. */
export const stall =
  (at: number): Fault =>
  (response, bytes) =>
    void response.writeHead(200, { etag: '"one"', 'content-length': bytes.length }).write(bytes.subarray(0, at));

/** A file that never ends: the given beginning, and then the same bytes again and again. */
export const endless =
  (begin: Uint8Array | string): Fault =>
  (response) => {
    const more = Buffer.alloc(1 << 20, ' ');
    const write = () => void (response.destroyed || response.write(more, write));
    response.writeHead(200, { etag: '"one"' }).write(begin, write);
  };

/** This fault the first times, and then none. */
export function atFirst(times: number, fault: Fault): Fault {
  return (response, bytes, request) => (times-- > 0 ? fault(response, bytes, request) : 'none');
}

/** Wrong answers that look right to HTTP. */
export const faults = {
  half: (response, bytes) => response.writeHead(200, { etag: '"one"' }).end(bytes.subarray(0, bytes.length / 2)), // no content-length
  noContent: (response) => response.writeHead(204).end(),
  error: (response) => response.writeHead(200, kJson).end('{"error":"Internal error, try again"}'),
  list: (response) => response.writeHead(200, kJson).end('[]'),
} satisfies Record<string, Fault>;

/**
 * cut: ends the answer for the weights after so many bytes, and refuses the rest. refusals: so many requests have their connection closed first. between: waited
 * for after each piece of the weights. faults: wrong answers by file name.
 */
export class RangeHub {
  requests: string[] = [];
  cut = Infinity;
  etag = '"one"';
  type = 'application/octet-stream';
  ranges = true;
  refusals = 0;
  between: (() => Promise<unknown>) | undefined;
  faults = new Map<string, Fault>();
  private server!: Server;

  constructor(readonly files: Files) {}

  async start(): Promise<void> {
    this.server = createServer((request, response) => void (this.answer(request, response) || response.writeHead(404).end('none')));
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    env.remoteHost = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Whether the request was for this hub, and then it is answered. */
  answer(request: IncomingMessage, response: ServerResponse): boolean {
    const [path] = (request.url ?? '').split('?') as [string];
    if (!path.startsWith(`/${id}/`)) return false;
    this.requests.push(`${request.method} ${path}${request.headers.range ? ` ${request.headers.range}` : ''}`);
    this.respond(request, response, decodeURIComponent(path.replace(/.*?\/resolve\/[^/]+\//, '')));
    return true;
  }

  private respond(request: IncomingMessage, response: ServerResponse, name: string): void {
    if (this.refusals-- > 0) return void request.socket.destroy();
    const bytes = this.files.get(name);
    if (!bytes) return void response.writeHead(404).end('none');
    const fault = this.faults.get(name);
    if (fault && fault(response, bytes, request) !== 'none') return;
    const range = this.ranges ? /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') : null;
    const from = Number(range?.[1] ?? 0);
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length;
    if (from >= bytes.length && from > 0) return void response.writeHead(416).end();
    if (from >= this.cut) return void response.writeHead(403).end();
    // Not for the browser's own cache, which would mend a cut download before the page sees it.
    const head = { etag: this.etag, 'content-length': end - from, 'content-type': this.type, 'cache-control': 'no-store' };
    if (range) response.writeHead(206, { ...head, 'content-range': `bytes ${from}-${end - 1}/${bytes.length}` });
    else response.writeHead(200, head);
    if (request.method === 'HEAD') return void response.end();
    const isWeights = /\.(safetensors|bin)$/.test(name);
    const part = bytes.subarray(from, Math.min(end, isWeights ? this.cut : Infinity));
    if (isWeights && this.between) return void this.drip(response, part);
    if (from + part.length === end) return void response.end(part);
    response.write(part, () => response.destroy());
  }

  private async drip(response: ServerResponse, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += kPiece) {
      response.write(bytes.subarray(at, at + kPiece));
      await this.between?.();
      if (response.destroyed) return;
    }
    response.end();
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  weights(): string[] {
    return this.gets('model.safetensors');
  }

  /** The requests for the content of a file. */
  gets(name: string): string[] {
    return this.requests.filter((line) => line.startsWith('GET') && line.includes(`/main/${name}`));
  }
}

/** Before each test of a block: a hub with these files, and an empty folder for the cache, which is on. Afterwards `env` is as it was. */
export function hubAndCache(files: () => Files): { hub: RangeHub; folder: string } {
  const before = { ...env };
  const own = { hub: undefined as unknown as RangeHub, folder: '' };
  beforeEach(async () => {
    own.folder = mkdtempSync(join(tmpdir(), 'wattn-cache-'));
    own.hub = new RangeHub(files());
    env.useCache = true;
    await own.hub.start();
  });
  afterEach(async () => {
    Object.assign(env, before);
    await own.hub.stop();
    rmSync(own.folder, { recursive: true, force: true });
  });
  return own;
}

/** The tiny model with weights of several pieces: a tensor that is ignored makes them long. */
export function longFiles(): Files {
  const files = tinyFiles();
  const bytes = files.get('model.safetensors') as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const data = bytes.subarray(8 + length);
  const more = 2 * kPiece;
  header['cls.predictions.bias'] = { dtype: 'F32', shape: [more / 4], data_offsets: [data.length, data.length + more] };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(text.length / 8) * 8;
  const out = new Uint8Array(8 + padded + data.length + more).fill(32, 8, 8 + padded);
  new DataView(out.buffer).setBigUint64(0, BigInt(padded), true);
  out.set(text, 8);
  out.set(data, 8 + padded);
  files.set('model.safetensors', out);
  return files;
}
