// Search in a large site, compared with Pagefind: time and memory for indexing. Then 50 queries in Chromium at 9 Mbit/s, 85 ms per request and a
// processor throttled 4 times. Measures bytes and time from the focus to the first keyword hits and to the hybrid hits, and the bytes of another
// query in the same page. Usage: SITE=folder [PAGEFIND=node_modules/.bin/pagefind] [OUT=folder] node bench/web/static_site.mjs
// lib/debian_questions.tsv has questions with the pages that answer them. They are about Debian's documentation packages (HTML of python3.11-doc,
// postgresql-doc-15, python-django-doc, python-sqlalchemy-doc, git-doc, linux-doc-6.1, sqlite3-doc, cmake-doc, nodejs-doc, debian-handbook,
// debian-policy and installation-guide-amd64, with some of cppreference-doc-en-html and python-scipy-doc: 10,000 pages). OUT keeps the indexes,
// and those that are there are used again. CHROME: the browser. Skipped without SITE.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { lines } from './lib/collections.mjs';
import { writeRecord } from './lib/record.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { SITE: site, PAGEFIND: pagefind } = process.env;
if (!site || !existsSync(site)) {
  console.log('skipped: no SITE');
  process.exit(0);
}
const kHits = 8;
const kBytesPerSecond = 9e6 / 8;
const kLatencyMs = 85;
const kSlowdown = 4;
const out = process.env.OUT ?? mkdtempSync(join(tmpdir(), 'static-site-'));
const questions = lines(fileURLToPath(new URL('lib/debian_questions.tsv', import.meta.url))).map((line) => line.split('\t'));

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const sizeOf = (folder) => filesIn(folder).reduce((sum, file) => sum + statSync(file).size, 0);

/** Processes that descend from one, itself included. */
function family(pid) {
  const children = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(children)) return [];
  try {
    return [pid, ...readFileSync(children, 'utf8').trim().split(' ').filter(Boolean).flatMap(family)];
  } catch {
    return []; // it has ended meanwhile
  }
}

/** Runs a program. Returns its wall clock time, and on Linux processor time and the most memory that it had, sampled. */
async function measured(program, args) {
  const start = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const seconds = new Map();
  let most = 0;
  const timer = setInterval(() => {
    let now = 0;
    for (const pid of family(child.pid)) {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
        seconds.set(pid, (Number(stat[11]) + Number(stat[12])) / 100);
        now += Number(stat[21]) * 4096;
      } catch {
        // it has ended meanwhile
      }
    }
    most = Math.max(most, now);
  }, 250);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${code}`);
  const wall = (performance.now() - start) / 1000;
  return {
    'index s': Math.round(wall),
    'of processors s': Math.round([...seconds.values()].reduce((a, b) => a + b, 0)),
    'memory MB': Math.round(most / 1e6),
  };
}

const contenders = {
  wattn: {
    folder: join(out, 'wattn'),
    program: process.execPath,
    args: [join(root, 'dist/cli.js'), 'index', site, '--base', '/', '--static', join(out, 'wattn')],
    async open() {
      const { openStaticIndex } = await import('/dist/static_search_entry.js');
      globalThis.opened = openStaticIndex('/wattn/').then((index) => {
        index.preload().catch(() => {});
        return index;
      });
    },
    async ask({ query, limit }) {
      const out = {};
      for await (const { stage, hits } of (await globalThis.opened).search(query, { limit }))
        out[stage] = { ms: performance.now() - globalThis.began, urls: hits.map(({ url }) => url) };
      return out;
    },
  },
  ...(pagefind && {
    pagefind: {
      folder: join(out, 'pagefind'),
      program: pagefind,
      args: ['--site', site, '--output-path', join(out, 'pagefind')],
      async open() {
        // In the page's own thread, which the processor's throttle is for.
        globalThis.opened = import('/pagefind/pagefind.js').then(async (pagefind) => {
          await pagefind.options({ noWorker: true });
          await pagefind.init();
          return pagefind;
        });
      },
      async ask({ query, limit }) {
        const { results } = await (await globalThis.opened).search(query);
        const hits = await Promise.all(results.slice(0, limit).map((result) => result.data()));
        return {
          words: { ms: performance.now() - globalThis.began, urls: hits.map(({ url }) => new URL(url, location.href).href) },
        };
      },
    },
  }),
};

const rows = {};
for (const [name, { folder, program, args }] of Object.entries(contenders)) {
  let built = { 'index s': '', 'of processors s': '', 'memory MB': '' };
  if (!existsSync(folder)) {
    mkdirSync(out, { recursive: true });
    built = await measured(program, args);
  }
  rows[name] = { what: name, ...built, 'MB on disk': Number((sizeOf(folder) / 1e6).toFixed(1)), files: filesIn(folder).length };
}

const kTypes = { '.js': 'text/javascript', '.html': 'text/html', '.json': 'application/json', '.css': 'text/css' };
const packed = new Map();
let sent = 0;
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
  if (path === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>search</title>');
  const file = path.startsWith('/dist/') ? join(root, path) : join(out, path);
  if (!existsSync(file)) return response.writeHead(404).end();
  // As a host of static sites packs them.
  const isText = extname(file) in kTypes;
  if (!packed.has(file)) packed.set(file, isText ? brotliCompressSync(readFileSync(file)) : readFileSync(file));
  const bytes = packed.get(file);
  sent += bytes.length;
  const type = kTypes[extname(file)] ?? 'application/octet-stream';
  response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=3600', ...(isText && { 'content-encoding': 'br' }) });
  response.end(bytes);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath: process.env.CHROME || '/usr/bin/chromium', args: ['--no-sandbox'] });

/** A page with an empty cache and the network and processor of a phone. */
async function fresh() {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: kLatencyMs,
    downloadThroughput: kBytesPerSecond,
    uploadThroughput: kBytesPerSecond,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: kSlowdown });
  return { page, end: () => context.close() };
}

/** Asks in a page from now on. Bytes of a first answer of words are counted with `mode: 'words'`, where there is one. */
async function asked(page, { ask }, query) {
  await page.evaluate(() => void (globalThis.began = performance.now()));
  return page.evaluate(ask, { query, limit: kHits });
}

const at = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))];
const show = (values, digits = 0) => {
  const round = (value) => Number(value.toFixed(digits));
  return values.length === 0 ? '' : `${round(at(values, 0.5))} (${round(Math.max(...values))})`;
};

async function wordBytes(query) {
  const { page, end } = await fresh();
  sent = 0;
  await page.evaluate(
    async ({ query, limit }) => {
      const { openStaticIndex } = await import('/dist/static_search_entry.js');
      await (await openStaticIndex('/wattn/')).search(query, { limit, mode: 'words' });
    },
    { query, limit: kHits },
  );
  await end();
  return sent / 1000;
}

try {
  for (const [name, contender] of Object.entries(contenders)) {
    const figures = { words: [], hybrid: [], wordBytes: [], allBytes: [], more: [] };
    const right = { words: 0, hybrid: 0 };
    const isRight = (urls, pattern) => urls.slice(0, 3).some((url) => new RegExp(`^/(${pattern})`).test(new URL(url).pathname));
    for (const [query, pattern] of questions) {
      const { page, end } = await fresh();
      sent = 0;
      await page.evaluate(() => void (globalThis.began = performance.now()));
      await page.evaluate(contender.open);
      const answer = await page.evaluate(contender.ask, { query, limit: kHits });
      for (const stage of ['words', 'hybrid']) if (answer[stage]) figures[stage].push(answer[stage].ms / 1000);
      for (const stage of ['words', 'hybrid'])
        right[stage] += Number(isRight((answer[stage] ?? answer.hybrid ?? answer.words).urls, pattern));
      if (name === 'wattn') figures.allBytes.push(sent / 1000);
      figures.wordBytes.push(name === 'wattn' ? await wordBytes(query) : sent / 1000);
      await end();
    }
    const { page, end } = await fresh();
    await page.evaluate(contender.open);
    for (const [query] of questions) {
      sent = 0;
      await asked(page, contender, query);
      figures.more.push(sent / 1000);
    }
    await end();
    Object.assign(rows[name], {
      'first hits of words kB': show(figures.wordBytes),
      'with meaning kB': show(figures.allBytes),
      'a further query kB': show(figures.more.slice(1)),
      'words s': show(figures.words, 2),
      'meaning s': show(figures.hybrid, 2),
      'right page in the first 3, words': `${right.words} of ${questions.length}`,
      'with meaning': figures.hybrid.length > 0 ? `${right.hybrid} of ${questions.length}` : '',
    });
  }
  const list = Object.values(rows);
  console.log('medians (largest) of', questions.length, 'queries;', kHits, 'hits each; scripts included');
  for (const key of Object.keys(list[0])) console.log(key.padEnd(34), ...list.map((row) => String(row[key] ?? '').padEnd(18)));
  writeRecord('static-site', list);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  if (!process.env.OUT) rmSync(out, { recursive: true });
}
