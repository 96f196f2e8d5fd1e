// wattn serve: access, limits, and clients that leave, wait or send anything.
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { InputError, OutOfMemoryError, StateError, UnsupportedError } from '../../web/core/errors.js';
import { errorBody, HttpError, toHttpError } from '../../web/serve/http_error.js';
import { askAt, endServers, startServer, untilIt, type Reply, type Served } from './serve_support.js';
import { tiny } from './support.js';

afterAll(endServers);

const embedding = { body: { inputs: 'the' } };
/** Texts that keep the model in the package busy for a while. */
const long = (count: number) => ({
  body: { inputs: Array.from({ length: count }, (_, i) => `${i} boats wait. `.repeat(60)), truncate: true },
});

/** Sends bytes as they are, and gives what comes back once the other side has closed. */
async function exchange(url: string, bytes: string | Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (part) => (text += part));
  socket.on('error', () => {}); // it may be closed before all has been sent
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

describe('a server with a key, an origin and a name', () => {
  let server: Served;
  beforeAll(async () => {
    server = await startServer(
      ['--model', tiny, '--cors', 'https://example.org', '--allow-host', 'models.example.org', '--payload-limit', '4000'],
      { WATTN_API_KEY: 'secret' },
    );
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    expect(server.errors()).toBe('');
  });
  const key = { authorization: 'Bearer secret' };
  const ask = (headers: Record<string, string>, path = '/embed') => server.ask(path, { ...embedding, headers });

  it('asks for the key, but not for its health', async () => {
    for (const headers of [
      {},
      { authorization: 'Bearer secre' },
      { authorization: 'Bearer secrets' },
      { authorization: 'secret' },
    ]) {
      const reply = await ask(headers as Record<string, string>);
      expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(reply.json.error).toMatch(/^Authorization: expected Bearer and the key of --api-key, found (none|another key)$/);
      expect(reply.text).not.toContain('secret');
    }
    const { json } = await server.ask('/v1/models', { headers: { authorization: 'Bearer no' } });
    expect(json.error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
    expect((await server.ask('/metrics')).status).toBe(401);
    expect((await ask(key)).status).toBe(200);
    expect((await ask({ authorization: 'bearer  secret' })).status).toBe(200);
    expect((await server.ask('/health')).status).toBe(200);
  });

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'models.example.org.evil', '[::1'])(
    'refuses the host %p, which may lead here by DNS rebinding',
    async (host) => {
      const reply = await ask({ ...key, host });
      expect([reply.status, reply.json.error]).toEqual([
        403,
        expect.stringMatching(/^Host: expected localhost, models\.example\.org,/),
      ]);
    },
  );

  it.each(['localhost', 'LOCALHOST:1', '127.0.0.1:9', '[::1]:80', '192.168.1.7', 'models.example.org', 'models.example.org.:443'])(
    'knows the host %p',
    async (host) => expect((await ask({ ...key, host })).status).toBe(200),
  );

  it('shares with the origin of --cors alone', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://example.org', 'https://example.org.evil', server.url]) {
      const reply = await ask({ ...key, origin });
      expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([403, undefined]);
      const before = await server.ask('/embed', { method: 'OPTIONS', headers: { origin } });
      expect(before.status).toBe(403);
    }
    const origin = 'https://example.org';
    const reply = await ask({ ...key, origin });
    expect([reply.status, reply.headers['access-control-allow-origin'], reply.headers['vary']]).toEqual([200, origin, 'Origin']);
    // An error can be read by the page, too.
    expect((await ask({ origin })).headers['access-control-allow-origin']).toBe(origin);
    const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization, x-other' };
    const before = await server.ask('/embed', { method: 'OPTIONS', headers });
    expect(before.status).toBe(204);
    expect(before.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization, x-other',
    });
  });

  it('refuses bodies that are too large or broken, and serves on', async () => {
    const send = (body: Buffer | string, headers = {}) =>
      server.ask('/embed', { method: 'POST', body: Buffer.from(body), headers: { ...key, ...headers } });
    for (const [body, status, message] of [
      ['', 400, /^the body: expected JSON, found nothing$/],
      ['{"inputs": "a"', 400, /^the body: expected JSON, found .*JSON/],
      ['[1]', 422, /^\/embed: expected a JSON object, found an array$/],
      ['null', 422, /expected a JSON object, found null/],
      ['['.repeat(2000), 400, /^the body: expected JSON/],
      ['{"inputs": "\xff"}'.replace('\xff', '\u00ff'), 200, /^$/],
      ['x'.repeat(4001), 413, /^the body: expected at most 4000 bytes \(--payload-limit\), found 4001$/],
    ] as const) {
      const reply = await send(body);
      expect([reply.status, reply.json.error ?? '']).toEqual([status, expect.stringMatching(message)]);
    }
    expect((await send(Buffer.from([0x22, 0xff, 0x22]))).json.error).toBe('the body: expected UTF-8, found other bytes');
    // Bytes without a length: the head says nothing.
    const sent = httpRequest(`${server.url}/embed`, { method: 'POST', headers: key });
    for (let i = 0; i < 10; ++i) sent.write('x'.repeat(1000));
    sent.end();
    const [response] = await once(sent, 'response');
    expect(response.statusCode).toBe(413);
    response.resume();
    await once(response, 'close');
    // A body that was announced, and not yet sent.
    const waiting = httpRequest(`${server.url}/embed`, {
      method: 'POST',
      headers: { ...key, expect: '100-continue', 'content-length': 5_000_000_000 },
    });
    waiting.flushHeaders();
    waiting.on('error', () => {});
    const [early] = await once(waiting, 'response');
    expect(early.statusCode).toBe(413);
    waiting.destroy();
    expect((await ask(key)).status).toBe(200);
  });

  it('answers what is no HTTP, or no route, in JSON', async () => {
    const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).error;
    const garbage = await exchange(server.url, '\x16\x03\x01 hello\r\n\r\n');
    expect(garbage).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(bodyOf(garbage).message).toBe('the request: expected HTTP');
    const head = await exchange(server.url, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`);
    expect(head).toMatch(/^HTTP\/1\.1 431 /);
    const smuggled = 'POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    expect(await exchange(server.url, smuggled)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await exchange(server.url, 'GET /health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 .*"Host: expected localhost,/s);
    const nowhere = await server.ask('/v1/nothing', { headers: key });
    expect([nowhere.status, nowhere.json.error.message]).toEqual([
      404,
      expect.stringMatching(/^expected one of \/v1\/embeddings, /),
    ]);
    expect((await server.ask('/__proto__', { headers: key })).status).toBe(404);
    const wrong = await server.ask('/embed', { method: 'GET', headers: key });
    expect([wrong.status, wrong.headers.allow, wrong.json.error]).toEqual([405, 'POST', '/embed: expected POST, found GET']);
    expect((await server.ask('/health', { method: 'POST' })).status).toBe(405);
    expect((await ask(key, '/embed?x=1')).status).toBe(200);
  });

  it('counts in the format of Prometheus', async () => {
    const { text, headers } = await server.ask('/metrics', { headers: key });
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) wattn_\w+ .+|wattn_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? \d+(\.\d+)?(e-\d+)?)$/);
    expect(text).toContain('wattn_requests_total{route="/embed",status="401"} 5\n');
    expect(text).toContain('wattn_requests_total{route="other",status="404"} 2\n');
    expect(text).toMatch(/^wattn_requests_running 1$/m);
    expect(text).toMatch(/^wattn_request_seconds_bucket\{le="\+Inf"\} \d+$/m);
  });
});

describe('many clients', () => {
  let server: Served;
  beforeAll(async () => {
    server = await startServer(['--max-concurrent-requests', '2', '--workers', '2', '--threads', '1']);
  });
  const isRunning = (count: number) => untilIt(async () => (await server.metric('requests_running')) === count + 1);

  it('refuses what is too much with a 429, and answers the others', async () => {
    // A slow client: what it has begun to send counts.
    const bytes = Buffer.from(JSON.stringify(embedding.body));
    const slow = [0, 1].map(() => {
      const sent = httpRequest(`${server.url}/embed`, { method: 'POST', headers: { 'content-length': bytes.length } });
      sent.write(bytes.subarray(0, 5));
      return { sent, answered: once(sent, 'response') };
    });
    await isRunning(2);
    const refused = await server.ask('/embed', embedding);
    expect([refused.status, refused.headers['retry-after'], refused.json]).toEqual([
      429,
      '1',
      { error: 'expected at most 2 requests at a time (--max-concurrent-requests)', error_type: 'Overloaded' },
    ]);
    expect((await server.ask('/v1/models')).json.error).toMatchObject({ type: 'rate_limit_error', code: 'overloaded' });
    for (const { sent, answered } of slow) {
      for (const byte of bytes.subarray(5)) sent.write(Buffer.of(byte));
      sent.end();
      const [response] = await answered;
      expect(response.statusCode).toBe(200);
      response.resume();
      await once(response, 'close');
    }
    await isRunning(0);
    expect((await server.ask('/embed', embedding)).status).toBe(200);
  });

  it('stops working for a client that has left', async () => {
    const before = await server.metric('texts_total');
    const calls = await server.metric('batches_total');
    const controller = new AbortController();
    const gone = server.ask('/embed', { ...long(1000), signal: controller.signal }).catch((error) => error.name);
    await untilIt(async () => (await server.metric('batches_total')) > calls);
    controller.abort();
    expect(await gone).toBe('AbortError');
    await isRunning(0);
    expect((await server.ask('/embed', embedding)).status).toBe(200);
    expect(await server.metric('requests_waiting')).toBe(0);
    expect((await server.metric('texts_total')) - before).toBeLessThan(1000);
    expect((await server.ask('/metrics')).text).toContain('{route="/embed",status="499"} 1\n');
    // One that leaves before its body is there.
    const half = httpRequest(`${server.url}/embed`, { method: 'POST', headers: { 'content-length': 100 } });
    half.on('error', () => {});
    half.write('{');
    await isRunning(1);
    half.destroy();
    await isRunning(0);
  });

  it('answers what it has begun before a signal ends it', async () => {
    const calls = await server.metric('batches_total');
    const asked = server.ask('/embed', long(12));
    const idle = connect(Number(new URL(server.url).port), '127.0.0.1');
    await untilIt(async () => (await server.metric('batches_total')) > calls);
    const ended = server.stop('SIGTERM');
    const closed = once(idle, 'close');
    const reply: Reply = await asked;
    expect([reply.status, reply.json.length]).toEqual([200, 12]);
    expect(await ended).toBe(0);
    await closed;
    expect(server.errors()).toBe('');
    await expect(askAt(`${server.url}/health`)).rejects.toThrow(/ECONNREFUSED/);
  });
});

it('ends at the second signal, whatever runs', async () => {
  const server = await startServer([]);
  const asked = server.ask('/embed', long(1000)).catch((error) => error.code);
  await untilIt(async () => (await server.metric('batches_total')) > 0);
  void server.stop('SIGINT');
  // It has been noticed once no connection is taken any more.
  await untilIt(() => askAt(`${server.url}/health`).then(() => false, () => true)); // prettier-ignore
  const how = await server.stop('SIGINT');
  expect(how).toBe('SIGINT');
  expect(await asked).toBe('ECONNRESET');
});

it('says when everybody may ask, and refuses wrong settings by name', async () => {
  const open = await startServer(['--model', tiny, '--host', '0.0.0.0', '--max-client-batch-size', '2', '--auto-truncate']);
  expect(open.errors()).toBe('wattn: anyone who can reach this machine can send requests: use --api-key KEY to require a key\n');
  const url = open.url.replace('0.0.0.0', '127.0.0.1');
  const { json } = await askAt(`${url}/embed`, { body: { inputs: 'boat '.repeat(200) } });
  expect(json[0]).toHaveLength(32);
  expect((await askAt(`${url}/embed`, { body: { inputs: ['a', 'b', 'c'] } })).json.error).toMatch(/at most 2 texts/);
  const taken = new URL(url).port;
  await expect(startServer(['--model', tiny, '--port', taken])).rejects.toThrow(
    /2: wattn: --port: cannot listen on 127\.0\.0\.1:\d+: EADDRINUSE/,
  );
  expect(await open.stop()).toBe(0);
});

it.each([
  [['--port', '70000'], /--port: expected a number from 0 to 65535, found '70000'/],
  [['--cors', 'example.org'], /--cors: expected an origin such as https:\/\/example\.org, or \*, found 'example\.org'/],
  [['--api-key', ''], /--api-key: expected printable ASCII characters/],
  [['--workers', '0'], /--workers: expected a whole number/],
  [['--task', 'ner'], /--task: expected feature-extraction or/],
  [['a text'], /expected options only, found 'a text'/],
])('refuses the settings %p', async (args, message) => {
  await expect(startServer(['--model', tiny, ...args])).rejects.toThrow(message);
});

describe('the errors of the library', () => {
  it.each<[Error, [number, string], [number, string]]>([
    [new InputError('x'), [400, 'invalid_request_error'], [422, 'Validation']],
    [new UnsupportedError('x'), [400, 'invalid_request_error'], [424, 'Backend']],
    [new StateError('x'), [503, 'server_error'], [503, 'Unhealthy']],
    [new OutOfMemoryError('x'), [500, 'server_error'], [500, 'Backend']],
    [new TypeError('x'), [500, 'server_error'], [500, 'Backend']],
    [new HttpError(429, 'x'), [429, 'rate_limit_error'], [429, 'Overloaded']],
  ])('have a status and a type for each kind of client: %p', (error, openai, tei) => {
    const body = (dialect: 'openai' | 'tei') => JSON.parse(errorBody(toHttpError(error, dialect), dialect));
    expect([toHttpError(error, 'openai').status, body('openai').error.type]).toEqual(openai);
    expect([toHttpError(error, 'tei').status, body('tei').error_type]).toEqual(tei);
    const message = error instanceof TypeError ? 'internal error of wattn: x' : 'x';
    expect([body('openai').error.message, body('tei').error]).toEqual([message, message]);
  });
});
