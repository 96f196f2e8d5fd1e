// wattn serve with clients that are slow, broken or gone, or that only hold connections: other clients are still served, with the same bits, and
// nothing leaks.
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'wattn';
import { Metrics } from '../../web/serve/metrics.js';
import type { Route } from '../../web/serve/routes.js';
import { HttpServer } from '../../web/serve/server.js';
import { chatFiles } from './guide_models.js';
import { askAt, endServers, folderOf, startServer, untilIt, type Served } from './serve_support.js';
import { root, tiny } from './support.js';

afterAll(endServers);

/** WATTN_SCALE (npm run check:scale): as much as it takes to be sure. */
const isLong = process.env['WATTN_SCALE'] !== undefined;
const portOf = (url: string) => Number(new URL(url).port);

/** A connection, and what it receives. It keeps its side open when the server ends the other one. */
function open(url: string, bytes = ''): { socket: Socket; text: () => string } {
  const socket = connect({ port: portOf(url), host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.setEncoding('utf8').on('data', (part) => (text += part));
  socket.on('error', () => {}); // it may be closed before all has been sent
  if (bytes !== '') socket.write(bytes);
  return { socket, text: () => text };
}

describe('a server that waits for nobody', () => {
  const kBig = 32_000_000;
  const routes: Record<string, Route> = {
    '/echo': { method: 'POST', dialect: 'tei', run: (body) => JSON.stringify(body) },
    '/big': { method: 'GET', dialect: 'tei', run: () => 'x'.repeat(kBig) },
  };
  const times = { head: 300, request: 600, read: 1000, idle: 300, check: 50 };
  const metrics = new Metrics();
  const settings = { host: '127.0.0.1', port: 0, payload: 4000, concurrent: 99, hosts: [], origins: [], key: undefined, times };
  const server = new HttpServer(settings, routes, metrics, () => 0, () => {}); // prettier-ignore
  let url: string;
  beforeAll(async () => void (url = await server.listen()));
  afterAll(() => server.close());

  const head = (path: string, length: number) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
  const connections = async () => {
    const { text } = await askAt(`${url}/metrics`, { headers: { connection: 'close' } });
    return Number(/^wattn_connections (\d+)$/m.exec(text)?.[1]);
  };
  /** Sends a byte now and then, as long as the server takes it. */
  const drip = (socket: Socket) => {
    const timer = setInterval(() => socket.write('a'), 20);
    socket.once('close', () => clearInterval(timer));
  };

  it('ends the connections of clients that are slow, or that stay', async () => {
    const kinds: [bytes: string, isDripping: boolean, said: RegExp][] = [
      ['', false, /^HTTP\/1\.1 408 /],
      ['POST /echo HTTP/1.1\r\nHost: loc', false, /^HTTP\/1\.1 408 /],
      ['POST /echo HTTP/1.1\r\nHost: localhost\r\nX: ', true, /^HTTP\/1\.1 408 /],
      [`${head('/echo', 100)}{"a":`, false, /^HTTP\/1\.1 408 /],
      [`${head('/echo', 3000)}"`, true, /^HTTP\/1\.1 408 /],
      [`${head('/echo', 2)}{}`, false, /^HTTP\/1\.1 200 [^]*\{\}$/], // done, and stays
      ['no HTTP\r\n\r\n', false, /^HTTP\/1\.1 400 /], // refused, and stays
      [head('/echo', 5000), false, /^HTTP\/1\.1 413 /],
      [head('/echo', 5000), true, /^HTTP\/1\.1 413 /],
    ];
    const clients = kinds.map(([bytes, isDripping, said]) => {
      const { socket, text } = open(url, bytes);
      if (isDripping) drip(socket);
      return { socket, text, said, connected: once(socket, 'connect') };
    });
    await Promise.all(clients.map(({ connected }) => connected));
    await untilIt(async () => (await connections()) === 1); // that of the question
    for (const { socket, text, said } of clients) {
      expect(text()).toMatch(said);
      socket.destroy();
    }
  });

  it('ends the connection of a client that reads nothing', async () => {
    const sent = httpRequest(`${url}/big`);
    sent.on('error', () => {}).end();
    const [response] = await once(sent, 'response');
    response.on('error', () => {}).pause();
    await untilIt(async () => (await connections()) === 1);
    expect(metrics.text({})).toContain('wattn_requests_total{route="/big",status="499"} 1\n');
    sent.destroy();
  });

  it('lets a client that reads slowly have all of it', async () => {
    const sent = httpRequest(`${url}/big`);
    sent.end();
    const [response] = await once(sent, 'response');
    let length = 0;
    const begin = performance.now();
    for await (const part of response) {
      length += part.length;
      // In all for longer than the limit, between two parts for far less.
      if (performance.now() - begin < 2 * times.read) await new Promise((resolve) => setTimeout(resolve, times.read / 200));
    }
    expect(length).toBe(kBig);
  });
});

/** Has a server collect its garbage and say what it holds (serve_probe.mjs). */
const kProbe = { NODE_OPTIONS: `--expose-gc --import=${new URL(`file://${join(root, 'tests/web/serve_probe.mjs')}`).href}` };

describe('a server under attack', () => {
  const texts = Array.from({ length: 40 }, (_, i) => `${i} boats wait ${'by the river '.repeat(i % 7)}`);
  let server: Served;
  let wanted: number[][];
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  beforeAll(async () => {
    server = await startServer(['--model', tiny, '--auto-truncate'], kProbe);
    const embed = await pipeline('feature-extraction', tiny);
    wanted = [];
    for (const text of texts) wanted.push([...(await embed(text, { normalize: true })).data]);
    await embed.dispose();
  });
  afterAll(async () => {
    agent.destroy();
    expect(await server.stop()).toBe(0);
  });

  /** Asks for one text after the other, and compares the bits. */
  async function askAll(count: number, clients = 16): Promise<void> {
    let next = 0;
    const client = async () => {
      while (next < count) {
        const i = next++ % texts.length;
        const { status, json } = await askAt(`${server.url}/embed`, { body: { inputs: texts[i] }, agent });
        expect([status, json?.[0].map(Math.fround)]).toEqual([200, wanted[i]]);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  const held = async () => {
    const before = server.errors().length;
    server.signal('SIGUSR2');
    await untilIt(async () => server.errors().slice(before).endsWith('}\n'));
    return JSON.parse(server.errors().slice(before)) as { memory: number; resources: number };
  };

  it('keeps nothing of a request', async () => {
    await askAll(1500); // until the engine has compiled what it will
    const before = await held();
    const count = isLong ? 20_000 : 1000;
    await askAll(count);
    const after = await held();
    expect(after.resources).toBeLessThanOrEqual(before.resources);
    expect((after.memory - before.memory) / count).toBeLessThan(isLong ? 20 : 300);
  });

  it('answers others with the same bits meanwhile, and then holds nothing', async () => {
    const before = await held();
    let isOver = false;
    let end!: () => void;
    const over = new Promise<void>((resolve) => (end = resolve));
    const body = JSON.stringify({ inputs: texts });
    const head = (length: number) => `POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
    /** What an attacker sends before it leaves. */
    const kinds = [
      '',
      'GET /hea',
      '\x16\x03\x01\x02',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}`,
      head(100),
      `${head(body.length)}${body.slice(0, 30)}`,
      `${head(body.length)}${body}`, // gone before the answer
      `${head(9)}{"inputs"`,
      `${head(4)}\xff\xff`,
      `${head(10_000)}${'['.repeat(10_000)}`,
      `${head(5_000_000)}${'x'.repeat(100_000)}`,
      `POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n${'x'.repeat(100_000)}`,
      'POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n',
      `${head(body.length)}${body}`.repeat(5),
    ];
    const attack = async (from: number) => {
      for (let i = from; !isOver; ++i) {
        const { socket } = open(server.url, kinds[i % kinds.length]);
        const closed = new Promise((resolve) => socket.once('close', resolve));
        await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed]);
        // Leaves at once, or after something came back.
        if (i % 3 === 0) await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed, over]);
        if (i % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      }
    };
    const attacks = Array.from({ length: 8 }, (_, i) => attack(i * 3));
    await askAll(isLong ? 5000 : 300);
    isOver = true;
    end();
    await Promise.all(attacks);
    await untilIt(async () => (await server.metric('requests_running')) === 1);
    agent.destroy();
    await untilIt(async () => (await server.metric('connections')) === 1);
    const after = await held();
    expect(after.memory - before.memory).toBeLessThan(3_000_000);
    await askAll(40);
  });

  it('answers others while many connections are idle', async () => {
    const before = await held();
    const all = Array.from({ length: isLong ? 10_000 : 500 }, () =>
      open(server.url, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    );
    // As many as a process may have files.
    const connected = await Promise.allSettled(all.map(({ socket }) => once(socket, 'connect')));
    const count = connected.filter(({ status }) => status === 'fulfilled').length;
    expect(count).toBeGreaterThanOrEqual(500);
    await untilIt(async () => (await server.metric('connections')) > count);
    await askAll(100);
    const meanwhile = await held();
    expect((meanwhile.memory - before.memory) / count).toBeLessThan(20_000);
    for (const { socket } of all) socket.destroy();
    agent.destroy();
    await untilIt(async () => (await server.metric('connections')) === 1);
    await askAll(100);
  });
});

it('closes at once beside connections that have sent nothing, or have their answer', async () => {
  const hours = 3_600_000;
  const times = { head: hours, request: hours, read: hours, idle: hours, check: hours };
  const settings = { host: '127.0.0.1', port: 0, payload: 4000, concurrent: 99, hosts: [], origins: [], key: undefined, times };
  const server = new HttpServer(settings, {}, new Metrics(), () => 0, () => {}); // prettier-ignore
  const url = await server.listen();
  const silent = open(url);
  await once(silent.socket, 'connect');
  const answered = open(url, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await untilIt(async () => /^HTTP\/1\.1 200 /.test(answered.text())); // the server accepts connections in their order
  await server.close();
  for (const { socket } of [silent, answered]) socket.destroy();
});

it('stops chats for which nobody waits', async () => {
  const server = await startServer(['--model', folderOf(chatFiles())]);
  const chat = { messages: [{ role: 'user', content: 'The old boat' }], max_tokens: 60, stream: true };
  const calls = await server.metric('batches_total');
  const gone = Array.from({ length: 20 }, () => {
    const sent = httpRequest(`${server.url}/v1/chat/completions`, { method: 'POST' });
    sent.on('error', () => {}).end(JSON.stringify(chat));
    return sent;
  });
  // One runs, the others wait for it.
  const responses = gone.map(async (sent) => {
    const [response] = await once(sent, 'response');
    response.on('error', () => {});
    return once(response, 'data');
  });
  await untilIt(async () => (await server.metric('requests_running')) > 10);
  await Promise.race(responses);
  for (const sent of gone) sent.destroy();
  for (const response of responses) response.catch(() => {});
  await untilIt(async () => (await server.metric('requests_running')) === 1);
  const { text } = await server.ask('/v1/chat/completions', { body: chat });
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  expect((await server.metric('batches_total')) - calls).toBeLessThan(20);
  expect(await server.metric('requests_waiting')).toBe(0);
  expect((await server.ask('/metrics')).text).toMatch(/\{route="\/v1\/chat\/completions",status="499"\} \d+\n/);
  expect(await server.stop()).toBe(0);
  expect(server.errors()).toBe('');
});
