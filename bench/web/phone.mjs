// Simulates a phone in Chromium with a slowed processor (4 times) and network (9 Mbit/s, 85 ms per request). Measures bytes and time to the first
// embedding on a first and a second visit, then one text at a time. It is a simulation: no phone was available. Needs dist/ and, for
// all-MiniLM-L6-v2, its checkpoint (npm run test:models). ROUNDS: 3 by default. CHROME: the browser.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { modelsDir } from '../../tools/lib/models.mjs';
import { root } from '../../tools/lib/shell.mjs';
import { writeRecord } from './lib/record.mjs';

const kRounds = Number(process.env.ROUNDS ?? 3);
const kSlowdown = 4;
const kBytesPerSecond = 9e6 / 8;
const kLatencyMs = 85;
const kText = JSON.parse(readFileSync(join(root, 'models/catalog.json'), 'utf8')).measured.text;

const packed = join(root, 'build/bench/minilm-native.gguf');
const checkpoint = join(modelsDir, 'all-MiniLM-L6-v2');
if (!existsSync(packed) && existsSync(checkpoint)) {
  mkdirSync(join(packed, '..'), { recursive: true });
  const how = ['pack', '--model', checkpoint, '--dtype', 'native', '--out', packed];
  spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...how], { stdio: 'inherit' });
}
const kModels = {
  'the model in the package': undefined,
  'wattn-base': '/models/base/wattn-base.gguf',
  ...(existsSync(packed) && { 'all-MiniLM-L6-v2, packed': '/build/bench/minilm-native.gguf' }),
};

const kTypes = { '.js': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm' };
const bodies = new Map();
let sent = 0;
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
  if (path === '/')
    return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><link rel="icon" href="data:,">');
  const file = join(root, path);
  if (!existsSync(file)) return response.writeHead(404).end();
  const type = kTypes[extname(file)];
  if (!bodies.has(file)) bodies.set(file, type ? brotliCompressSync(readFileSync(file)) : readFileSync(file));
  const body = bodies.get(file);
  sent += body.length;
  const headers = { 'content-type': type ?? 'application/octet-stream', 'cache-control': 'public, max-age=31536000, immutable' };
  response.writeHead(200, { ...headers, 'content-length': body.length, ...(type && { 'content-encoding': 'br' }) }).end(body);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}/`;
const launch = { executablePath: process.env.CHROME || '/usr/bin/chromium', args: ['--no-sandbox'] };

/** One visit: bytes sent, ms to the first vector, ms of one more text, bytes of memory. */
async function visit(context, model) {
  const page = await context.newPage();
  page.setDefaultTimeout(600_000);
  await page.goto(address);
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  const network = { offline: false, latency: kLatencyMs, downloadThroughput: kBytesPerSecond, uploadThroughput: kBytesPerSecond };
  await session.send('Network.emulateNetworkConditions', network);
  await session.send('Emulation.setCPUThrottlingRate', { rate: kSlowdown });
  sent = 0;
  const measured = await page.evaluate(
    async ({ model, text }) => {
      const begun = performance.now();
      const { pipeline } = await import('/dist/index.js');
      const embed = await pipeline('feature-extraction', model, { dtype: 'q8', threads: 1 });
      await embed(text);
      const first = performance.now() - begun;
      const all = [];
      for (let i = 0; i < 20; ++i) {
        const start = performance.now();
        await embed(text);
        all.push(performance.now() - start);
      }
      return { first, text: all.sort((a, b) => a - b)[10], memory: embed.memory().total };
    },
    { model, text: kText },
  );
  await page.close();
  return { ...measured, bytes: sent };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const rows = [];
for (const [name, model] of Object.entries(kModels)) {
  const visits = { first: [], second: [] };
  for (let round = 0; round < kRounds; ++round) {
    // A profile on the disk: a private window's cache keeps no large files.
    const profile = mkdtempSync(join(tmpdir(), 'wattn-phone-'));
    const context = await chromium.launchPersistentContext(profile, launch);
    visits.first.push(await visit(context, model));
    visits.second.push(await visit(context, model));
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
  const of = (which, what) => median(visits[which].map((one) => one[what]));
  rows.push({
    model: name,
    'first visit, MB': (of('first', 'bytes') / 1e6).toFixed(2),
    'first vector, s': (of('first', 'first') / 1000).toFixed(1),
    'second visit, MB': (of('second', 'bytes') / 1e6).toFixed(2),
    'its first vector, s': (of('second', 'first') / 1000).toFixed(2),
    'one text, ms': Math.round(of('second', 'text')),
    'memory, MB': (of('second', 'memory') / 1e6).toFixed(1),
  });
}
server.close();
console.table(rows);
writeRecord(
  'phone',
  rows.map((row) => ({ ...row, slowdown: kSlowdown, 'Mbit/s': 9, 'ms a request': kLatencyMs, rounds: kRounds })),
);
process.exit(0);
