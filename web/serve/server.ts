// The HTTP server: who may ask, how much at a time, and what a response looks like.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AbortError } from '../core/errors.js';
import { drain, kDrainMs, readJsonBody } from './body.js';
import { Guard, type GuardSettings } from './guard.js';
import { errorBody, HttpError, toHttpError, type Dialect } from './http_error.js';
import type { Metrics } from './metrics.js';
import type { Reply, Route } from './routes.js';

export interface ServerSettings extends GuardSettings {
  host: string;
  port: number;
  /** Bytes of a body, at most. */
  payload: number;
  /** Requests at a time, at most. */
  concurrent: number;
  times?: Times;
}

/** How long a server waits for clients, in milliseconds. */
interface Times {
  /** For a request's head, and for all of it. */
  head: number;
  request: number;
  /** For a client to read some of its response. */
  read: number;
  /** For the next request of a connection. */
  idle: number;
  /** How often the first two are looked at. */
  check: number;
}
const kTimes: Times = { head: 10_000, request: 60_000, read: 60_000, idle: 65_000, check: 5000 };

/** The status of a request whose client has left, in the metrics. */
const kLeft = 499;

export class HttpServer {
  private readonly server: Server;
  private readonly guard: Guard;
  private readonly sockets = new Set<Socket>();
  /** Those with requests that are being answered: their responses, and what ends each. Node tells a response that waits for another of its connection nothing. */
  private readonly busy = new Map<Socket, Map<ServerResponse, () => void>>();
  private running = 0;
  private isClosing = false;
  private readonly times: Times;

  /** isSound: throws if the model can answer no more. log: receives errors that are not the client's. */
  constructor(
    private readonly settings: ServerSettings,
    private readonly routes: Record<string, Route>,
    private readonly metrics: Metrics,
    private readonly waiting: () => number,
    private readonly log: (line: string) => void,
  ) {
    this.guard = new Guard(settings);
    this.times = settings.times ?? kTimes;
    const limits = {
      headersTimeout: this.times.head,
      requestTimeout: this.times.request,
      keepAliveTimeout: this.times.idle,
      connectionsCheckingInterval: this.times.check,
    };
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.handle(request, response);
    this.server = createServer({ ...limits, noDelay: true }, listener);
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => {
        this.sockets.delete(socket);
        for (const end of this.busy.get(socket)?.values() ?? []) end();
      });
    });
    // A body that was announced is asked for only if it fits.
    this.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      if (Number(request.headers['content-length'] ?? 0) <= settings.payload) response.writeContinue();
      listener(request, response);
    });
    this.server.on('clientError', (error: Error & { code?: string }, socket: Socket) => this.refuse(error, socket));
  }

  /** Starts to listen, and gives the address. */
  listen(): Promise<string> {
    const { host, port } = this.settings;
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => {
        this.server.off('error', reject);
        const { address, family, port } = this.server.address() as AddressInfo;
        resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${port}`);
      });
    });
  }

  /** Takes no more connections, and resolves when all requests have been answered. */
  close(): Promise<void> {
    this.isClosing = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.endIdle();
    return closed;
  }

  /** Node's own closeIdleConnections() leaves those that have not sent anything yet. */
  private endIdle(): void {
    for (const socket of this.sockets) if (!this.busy.has(socket)) socket.destroySoon();
  }

  /** What is no HTTP, too slow, or has too long a head. */
  private refuse({ code }: { code?: string }, socket: Socket): void {
    const [response, next] = this.busy.get(socket)?.keys() ?? [];
    const isLate = code === 'ERR_HTTP_REQUEST_TIMEOUT' && !next && !response?.req.complete && !response?.headersSent;
    if (!socket.writable || (response && !isLate)) return void socket.destroy();
    const found: Record<string, [number, string, string]> = {
      HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'expected shorter headers'],
      ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'expected a request, found none in time'],
    };
    const [status, name, message] = found[code ?? ''] ?? [400, 'Bad Request', 'expected HTTP'];
    const body = errorBody(new HttpError(status, `the request: ${message}`), 'openai');
    socket.end(
      `HTTP/1.1 ${status} ${name}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    const timer = setTimeout(() => socket.destroy(), kDrainMs); // the client may never end its side
    socket.once('close', () => clearTimeout(timer));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const start = performance.now();
    const { socket } = request;
    const [path = '/'] = (request.url ?? '/').split('?');
    const route = Object.hasOwn(this.routes, path) ? this.routes[path] : undefined;
    const dialect = route?.dialect ?? (path.startsWith('/v1/') ? 'openai' : 'tei');
    const controller = new AbortController();
    const counted = route || path === '/health' || path === '/metrics' ? path : 'other';
    this.begin(socket, response, (status) => {
      this.metrics.request(counted, status, (performance.now() - start) / 1000);
      if (status === kLeft) controller.abort(new Error('the client has left'));
    });
    try {
      const ready = this.admit(request, response, path, route);
      if (ready) await this.answer(ready, request, response, controller.signal);
    } catch (error) {
      if (response.destroyed || error instanceof AbortError) return void response.destroy();
      await this.fail(error, dialect, request, response);
    }
    // Node destroys a socket without a handler of its own, and sets the time of an idle one when the response is finished.
    if (!response.writableFinished) socket.setTimeout(this.times.read);
  }

  /** Counts a request until it has its response, or its client has left. */
  private begin(socket: Socket, response: ServerResponse, tell: (status: number) => void): void {
    const all = this.busy.get(socket) ?? new Map<ServerResponse, () => void>();
    this.busy.set(socket, all);
    this.running += 1;
    // What is left unsent of a socket that is destroyed counts as finished for Node.
    let isSent = false;
    response.prependOnceListener('finish', () => (isSent = !socket.destroyed));
    const end = () => {
      if (!all.delete(response)) return;
      this.running -= 1;
      if (all.size === 0) this.busy.delete(socket);
      tell(isSent ? response.statusCode : kLeft);
      if (this.isClosing) this.endIdle();
    };
    all.set(response, end);
    response.once('close', end);
  }

  /** The route of a request that may be answered; undefined: it has been. */
  private admit(request: IncomingMessage, response: ServerResponse, path: string, route: Route | undefined): Route | undefined {
    const { method = '' } = request;
    if (this.isClosing) response.setHeader('connection', 'close');
    this.guard.checkSender(request);
    this.guard.share(request, response);
    if (method === 'OPTIONS' && request.headers.origin !== undefined) return void this.guard.answerPreflight(request, response);
    if (path === '/health') return void this.health(method, response);
    this.guard.checkKey(request);
    if (path === '/metrics') return void this.tellMetrics(method, response);
    if (!route) throw new HttpError(404, `expected one of ${Object.keys(this.routes).join(', ')}, /health, /metrics, found ${path}`); // prettier-ignore
    checkMethod(method, route.method, path);
    if (this.isClosing) throw new HttpError(503, 'the server is shutting down', { headers: { 'retry-after': '5' } });
    if (this.running > this.settings.concurrent)
      throw new HttpError(429, `expected at most ${this.settings.concurrent} requests at a time (--max-concurrent-requests)`, {
        headers: { 'retry-after': '1' },
        code: 'overloaded',
      });
    return route;
  }

  private async answer(route: Route, request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    route.check?.(request.headers);
    const body = route.method === 'POST' ? await readJsonBody(request, this.settings.payload) : undefined;
    const reply = await route.run(body, signal);
    if (reply === undefined) return void response.writeHead(202, { 'content-length': 0 }).end();
    if (typeof reply === 'string') return sendJson(response, 200, reply);
    await sendEvents(response, reply, route.dialect, (error) => this.tell(error));
  }

  private async fail(thrown: unknown, dialect: Dialect, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const error = toHttpError(thrown, dialect);
    this.tell(thrown, error);
    if (response.headersSent) return void response.destroy();
    for (const [name, value] of Object.entries(error.more.headers ?? {})) response.setHeader(name, value);
    const body = errorBody(error, dialect);
    // The rest of a body would be read as the next request.
    if (request.complete) return sendJson(response, error.status, body);
    response.setHeader('connection', 'close');
    response.writeHead(error.status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.write(body);
    await drain(request);
    response.end();
  }

  /** What is not the client's fault is said here, too. */
  private tell(thrown: unknown, { status, message } = toHttpError(thrown, 'openai')): void {
    if (status >= 500 && !this.isClosing) this.log(message);
  }

  private health(method: string, response: ServerResponse): void {
    checkMethod(method, 'GET', '/health');
    response.writeHead(this.isClosing ? 503 : 200, { 'content-length': 0 }).end();
  }

  private tellMetrics(method: string, response: ServerResponse): void {
    checkMethod(method, 'GET', '/metrics');
    const text = this.metrics.text({
      requests_running: ['Requests that have not been answered.', this.running],
      connections: ['Open connections.', this.sockets.size],
      requests_waiting: ['Requests with texts that wait for the model.', this.waiting()],
    });
    response.writeHead(200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  }
}

function checkMethod(found: string, expected: string, path: string): void {
  if (found === expected || (found === 'HEAD' && expected === 'GET')) return;
  throw new HttpError(405, `${path}: expected ${expected}, found ${found}`, { headers: { allow: expected } });
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes);
}

/** Events as they come. An error before the first one has a status of its own; after it, it is an event. */
async function sendEvents(
  response: ServerResponse,
  { stream }: Exclude<Reply, string | undefined>,
  dialect: Dialect,
  tell: (error: unknown) => void,
): Promise<void> {
  try {
    await stream((event) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.write(`data: ${event}\n\n`);
    });
  } catch (error) {
    if (!response.headersSent || error instanceof AbortError) throw error;
    tell(error);
    response.write(`data: ${errorBody(toHttpError(error, dialect), dialect)}\n\n`);
  }
  response.end();
}
