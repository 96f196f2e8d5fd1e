// Who may ask: the checks of a request's head, before anything of its body is read.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { HttpError } from './http_error.js';

export interface GuardSettings {
  /** Names by which clients may reach the server, beside localhost and addresses. */
  hosts: readonly string[];
  /** Origins of pages that may ask; `*`: all. */
  origins: readonly string[];
  /** undefined: everybody may ask. */
  key: string | undefined;
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** The host of a Host header, without its port and brackets. */
function hostOf(header: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? [];
  return (bracketed ?? plain ?? '').toLowerCase().replace(/\.$/, '');
}

export class Guard {
  private readonly hosts: Set<string>;
  private readonly key: Buffer | undefined;

  constructor(private readonly settings: GuardSettings) {
    this.hosts = new Set(['localhost', ...settings.hosts.map((host) => host.toLowerCase())]);
    this.key = settings.key === undefined ? undefined : digest(settings.key);
  }

  /**
   * A page on another host can let a name of its own lead to this machine (DNS rebinding), but not an address. So addresses are known, and names only
   * if they were given. Any page's script can send a request here, and the browser says whose it is: Origin.
   */
  checkSender({ headers }: IncomingMessage): void {
    const host = headers.host ?? '';
    const name = hostOf(host);
    if (isIP(name) === 0 && !this.hosts.has(name))
      throw new HttpError(403, `Host: expected ${[...this.hosts].join(', ')} or an address, found '${host}' (--allow-host)`);
    const { origin } = headers;
    if (origin !== undefined && !this.allows(origin)) throw new HttpError(403, `Origin: expected one of --cors, found '${origin}'`);
  }

  private allows(origin: string): boolean {
    return this.settings.origins.includes('*') || this.settings.origins.includes(origin);
  }

  /** Digests are of one length, so that the comparison tells nothing of the key. */
  checkKey({ headers }: IncomingMessage): void {
    if (!this.key) return;
    const [, given] = /^Bearer +(.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (given !== undefined && timingSafeEqual(digest(given), this.key)) return;
    const found = given === undefined ? 'none' : 'another key';
    throw new HttpError(401, `Authorization: expected Bearer and the key of --api-key, found ${found}`, {
      code: 'invalid_api_key',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** What lets the script of a page read the response. */
  share({ headers }: IncomingMessage, response: ServerResponse): void {
    const { origin } = headers;
    if (this.settings.origins.length > 0) response.setHeader('vary', 'Origin');
    if (origin !== undefined && this.allows(origin)) response.setHeader('access-control-allow-origin', origin);
  }

  /** Answers what a browser asks before a page's request. */
  answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
    response.setHeader('access-control-allow-methods', 'GET, POST');
    response.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? 'authorization, content-type');
    response.setHeader('access-control-max-age', '600');
    if (headers['access-control-request-private-network']) response.setHeader('access-control-allow-private-network', 'true');
    response.writeHead(204).end();
  }
}
