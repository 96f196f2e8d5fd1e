// wattn mcp: the messages of the Model Context Protocol, and the results of its tools. tools/check_fixtures.mjs tests it with the SDK's client.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'wattn';
import { cli } from './cli_support.js';
import { endServers, folderOf, startServer } from './serve_support.js';
import { tiny, until } from './support.js';

afterAll(endServers);

const bytes = (text: string) => new TextEncoder().encode(text);

/** The command with its messages. */
function start(args: string[], cwd?: string) {
  const child = spawn(process.execPath, [cli, 'mcp', ...args], { cwd });
  const got: any[] = [];
  let [rest, errors] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
  child.stdout.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) got.push(JSON.parse(line));
  });
  let last = 0;
  const send = (message: object | string) =>
    child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  const answerTo = async (id: number | string | null) => {
    await until(() => got.some((each) => each.id === id) || child.exitCode !== null);
    return got.splice(
      got.findIndex((each) => each.id === id),
      1,
    )[0];
  };
  const ask = (method: string, params?: object) => {
    send({ jsonrpc: '2.0', id: ++last, method, params });
    return answerTo(last);
  };
  return {
    send,
    ask,
    answerTo,
    call: async (name: string, args?: object) => (await ask('tools/call', { name, arguments: args })).result,
    lastId: () => last,
    async end() {
      child.stdin.end();
      const [code] = child.exitCode === null ? await once(child, 'close') : [child.exitCode];
      return { code, errors, got };
    },
  };
}

it('searches folders as they are, embeds, and redacts', async () => {
  const folder = folderOf(
    new Map([
      ['bakery.md', bytes('# Bakery\n\nThe bakery opens at seven. Write to ada@example.org.')],
      ['sub/cats.txt', bytes('Cats sleep most of the day.')],
    ]),
    'notes',
  );
  const server = start(['notes'], join(folder, '..'));
  const { result } = await server.ask('initialize', {
    protocolVersion: '2025-03-26',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  });
  expect(result).toEqual({
    protocolVersion: '2025-03-26',
    capabilities: { tools: {} },
    serverInfo: { name: 'wattn', version: expect.stringMatching(/^\d+\./) },
    instructions: expect.any(String),
  });
  server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const { tools } = (await server.ask('tools/list')).result;
  expect(tools.map(({ name }: any) => name)).toEqual(['search', 'embed', 'redact']);
  for (const tool of tools) expect(tool).toMatchObject({ description: expect.any(String), inputSchema: { type: 'object' } });

  const search = async (query: string, more = {}) => (await server.call('search', { query, ...more })).structuredContent.hits;
  const hits = await search('when can I buy rolls');
  expect(hits[0]).toMatchObject({ id: 'notes/bakery.md', text: expect.stringContaining('opens at seven') });
  writeFileSync(join(folder, 'trains.txt'), 'The train to Berlin leaves at nine.');
  rmSync(join(folder, 'sub/cats.txt'));
  expect((await search('berlin', { mode: 'words' })).map(({ id }: any) => id)).toEqual(['notes/trains.txt']);
  expect(await search('cats', { mode: 'words' })).toEqual([]);
  expect(await search('train', { top_k: 1 })).toHaveLength(1);

  const embed = await pipeline('feature-extraction');
  const texts = ['the bakery', 'a train'];
  const embedded = await server.call('embed', { texts });
  expect(embedded.structuredContent).toEqual({ embeddings: (await embed(texts)).tolist(), truncated: [false, false] });
  expect(JSON.parse(embedded.content[0].text)).toEqual(embedded.structuredContent);
  await embed.dispose();

  const redacted = await server.call('redact', { id: 'notes/bakery.md' });
  expect(redacted.structuredContent).toEqual({
    text: expect.stringContaining('Write to [EMAIL_1]'),
    entities: [{ label: 'email', placeholder: '[EMAIL_1]' }],
  });
  expect((await server.call('redact', { text: 'Call +49 30 1234567' })).structuredContent.text).toBe('Call [PHONE_1]');
  // What a model got wrong is told to the model.
  for (const [name, args, message] of [
    ['search', {}, /^search: query: expected a text, found undefined$/],
    ['search', { query: 'a', mode: 'best' }, /'mode': expected one of 'hybrid', 'words', 'meaning', found 'best'/],
    ['search', { query: 'a', limit: 1 }, /unknown option 'limit'/],
    ['embed', { texts: [1] }, /expected/],
    ['embed', { texts: Array.from({ length: 257 }, () => 'a') }, /expected at most 256 texts, found 257/],
    ['redact', {}, /expected one of text and id, found none/],
    ['redact', { id: '../../etc/passwd' }, /expected an id from search/],
  ] as const) {
    const failed = await server.call(name, args);
    expect([failed.isError, failed.content[0].text]).toEqual([true, expect.stringMatching(message)]);
  }
  expect(await server.end()).toEqual({ code: 0, errors: '', got: [] });
});

it('answers broken messages, and takes up no other revision', async () => {
  const server = start(['--words', folderOf(new Map([['a.txt', bytes('boats')]]))]);
  expect((await server.ask('initialize', { protocolVersion: '1999-01-01' })).result.protocolVersion).toBe('2025-06-18');
  expect((await server.ask('ping')).result).toEqual({});
  expect((await server.ask('tools/list')).result.tools.map(({ name }: any) => name)).toEqual(['search', 'redact']);
  for (const [line, code] of [
    ['{', -32700],
    ['[]', -32600],
    ['null', -32600],
    ['{"id": {}, "method": "ping"}', -32600],
    ['['.repeat(100_000), -32700],
  ] as const) {
    server.send(line);
    expect((await server.answerTo(null)).error).toEqual({ code, message: expect.stringMatching(/^expected /) });
  }
  expect((await server.ask('resources/list')).error.code).toBe(-32601);
  expect((await server.ask('tools/call', { name: '__proto__' })).error.code).toBe(-32602);
  expect((await server.ask('tools/call', { name: 'search', arguments: [] })).error.code).toBe(-32602);
  server.send('');
  server.send({ jsonrpc: '2.0', id: 99, result: {} }); // a response to no request
  server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 12345 } });
  expect((await server.call('search', { query: 'boats' })).structuredContent.hits).toHaveLength(1);
  expect(await server.end()).toEqual({ code: 0, errors: '', got: [] });
});

it('stops a call that is cancelled, and ends while it works', async () => {
  const server = start(['--model', tiny]);
  const call = (id: string) => {
    const texts = Array.from({ length: 256 }, (_, i) => `${i} boats wait. `.repeat(60));
    server.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'embed', arguments: { texts } } });
  };
  call('gone');
  server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'gone' } });
  call('again');
  expect((await server.answerTo('again')).result.structuredContent.embeddings).toHaveLength(256); // it would have come after that of 'gone'
  call('left');
  expect(await server.end()).toEqual({ code: 0, errors: '', got: [] }); // neither was answered
});

it('refuses folders that are not there', async () => {
  const { code, errors } = await start(['nowhere']).end();
  expect([code, errors]).toEqual([2, 'wattn: cannot read nowhere: ENOENT\n']);
});

it('answers over HTTP, too, to those who may ask', async () => {
  const folder = folderOf(new Map([['bakery.md', bytes('The bakery opens at seven.')]]), 'notes');
  const server = await startServer([folder, '--http', '--model', tiny], { WATTN_API_KEY: 'secret' }, 'mcp');
  expect(server.said).toEqual({ url: server.url, path: '/mcp' });
  const headers = { authorization: 'Bearer secret', accept: 'application/json, text/event-stream' };
  const post = (body: unknown, more = {}) => server.ask('/mcp', { body, headers: { ...headers, ...more } });
  const ask = async (method: string, params?: object) => (await post({ jsonrpc: '2.0', id: 1, method, params })).json;
  const begun = await ask('initialize', { protocolVersion: '2025-06-18' });
  expect(begun).toMatchObject({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-06-18', serverInfo: { name: 'wattn' } } });
  const noted = await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-protocol-version': '2025-06-18' });
  expect([noted.status, noted.text]).toEqual([202, '']);
  expect((await ask('tools/list')).result.tools.map(({ name }: any) => name)).toEqual(['search', 'embed', 'redact']);
  // Clients that use the same id at the same time.
  const all = await Promise.all(['a', 'b', 'c'].map((text) => ask('tools/call', { name: 'redact', arguments: { text } })));
  expect(all.map(({ result }) => result.structuredContent.text)).toEqual(['a', 'b', 'c']);
  const found = await ask('tools/call', { name: 'search', arguments: { query: 'bakery', mode: 'words' } });
  expect(found.result.structuredContent.hits[0]).toMatchObject({ text: 'The bakery opens at seven.' });
  expect((await ask('nothing')).error.code).toBe(-32601);
  expect((await post([])).json).toMatchObject({ id: null, error: { code: -32600 } });
  const broken = await server.ask('/mcp', { method: 'POST', body: bytes('{'), headers });
  expect([broken.status, broken.json.error]).toEqual([400, expect.stringMatching(/^the body: expected JSON/)]);
  const version = await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '1999-01-01' });
  expect([version.status, version.json.error]).toEqual([400, expect.stringMatching(/^MCP-Protocol-Version: expected one of/)]);
  expect((await server.ask('/mcp', { headers })).status).toBe(405);
  for (const wrong of [{ origin: 'https://evil.example' }, { host: 'evil.example' }])
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, wrong)).status).toBe(403);
  expect((await server.ask('/mcp', { body: {} })).status).toBe(401);
  expect(await server.stop()).toBe(0);
  expect(server.errors()).toBe('');
});

it('refuses options of HTTP without --http', async () => {
  await expect(startServer([], {}, 'mcp')).rejects.toThrow(/2: wattn: --port: expected --http with it, found none/);
});
