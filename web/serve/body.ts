// Reading a request's body within limits.
import type { IncomingMessage } from 'node:http';
import { parseJson } from '../core/json.js';
import { HttpError } from './http_error.js';

/** How long a client that is refused may still send, so that it gets to reading the answer. */
export const kDrainMs = 1000;

const tooLarge = (limit: number, found: string) =>
  new HttpError(413, `the body: expected at most ${limit} bytes (--payload-limit), found ${found}`);

/** The length that a request's head names; throws if it is too large. */
function checkLength({ headers }: IncomingMessage, limit: number): void {
  const length = Number(headers['content-length'] ?? 0);
  if (length > limit) throw tooLarge(limit, String(length));
}

function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length <= limit) return parts.push(part);
      parts.length = 0;
      return reject(tooLarge(limit, 'more'));
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('error', reject); // the client has left
  });
}

/** The JSON of a request's body. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<unknown> {
  checkLength(request, limit);
  const bytes = await readBytes(request, limit);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError(400, 'the body: expected UTF-8, found other bytes');
  }
  try {
    return parseJson(text);
  } catch (error) {
    const found = text === '' ? 'nothing' : (error as Error).message;
    throw new HttpError(400, `the body: expected JSON, found ${found}`);
  }
}

/** Reads what is left of a body for a while, and drops it. */
export function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, kDrainMs);
    request.resume().once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    request.once('end', () => request.emit('close'));
  });
}
