// Index in a page: 10,000 documents (DOCUMENTS; lines of a book) are added in Chromium with the model of the package in a worker, while searches go
// on, and then a document of 10 MB comes, is searched and goes. Prints how long adding takes, how long searches take meanwhile, and every task of
// the page that takes 50 ms or more (the browser's own `longtask`). CHROME: the browser.
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { writeRecord } from './lib/record.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const book = join(root, '../shared/data/text/darwin.txt');
const kDocuments = Number(process.env.DOCUMENTS ?? 10_000);
if (!existsSync(book)) {
  console.log(`skipped: no ${book}`);
  process.exit(0);
}
const lines = readFileSync(book, 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line.length > 20);
const documents = Array.from({ length: kDocuments }, (_, i) => ({ id: String(i), text: lines[i % lines.length] }));

const kTypes = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' };
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  if (path === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>search</title>');
  const file = join(root, path);
  if (!path.startsWith('/dist/') || !existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

/** Runs in the page. */
async function measure(documents) {
  const { Index, pipeline } = await import('/dist/index.js');
  let tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => Math.round(duration)))).observe({
    type: 'longtask',
  });
  const rest = () => new Promise((resolve) => setTimeout(resolve, 300)); // the observer is told later
  const embed = await pipeline('feature-extraction', undefined, { worker: true });
  const index = await Index.open('bench', { embed });
  const rows = [];
  const timed = async (what, run) => {
    await rest();
    tasks = [];
    const start = performance.now();
    const more = await run();
    const ms = Math.round(performance.now() - start);
    await rest();
    rows.push({ what, ms, 'tasks of 50 ms or more': tasks.join(' ') || 'none', ...more });
  };
  await timed(`add ${documents.length} documents`, async () => {
    const times = [];
    let isDone = false;
    const adding = index.add(documents).then(() => (isDone = true));
    for (let i = 0; !isDone; ++i) {
      await new Promise((resolve) => setTimeout(resolve, 200)); // as often as somebody types
      const start = performance.now();
      await index.search(['natural selection', 'birds of an island', 'a flower and its bees'][i % 3]);
      times.push(performance.now() - start);
    }
    await adding;
    times.sort((a, b) => a - b);
    const at = (share) => Math.round(times[Math.floor(share * (times.length - 1))]);
    return { searches: times.length, 'median, ms': at(0.5), '9 of 10 within, ms': at(0.9), 'longest, ms': at(1) };
  });
  const whole = await Index.open('whole', { store: 'memory' });
  const text = Array.from({ length: Math.ceil(1e7 / 80) }, (_, i) => documents[i % documents.length].text).join('\n');
  await timed(`add a document of ${(text.length / 1e6).toFixed(1)} MB`, () => whole.add({ id: 'long', text }).then(() => ({})));
  await timed('search it for the first time', () => whole.search('natural selection').then(() => ({})));
  await timed('remove it', () => whole.delete('long').then(() => ({})));
  await timed('search again', () => whole.search('natural selection').then(() => ({})));
  await index.dispose();
  await Index.delete('bench');
  return rows;
}

const browser = await chromium.launch({ executablePath: process.env.CHROME || '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const rows = await page.evaluate(measure, documents);
  for (const row of rows) console.log(JSON.stringify(row));
  writeRecord(
    'search-page',
    rows.map((row) => ({ what: row.what, ms: row.ms, 'tasks of 50 ms or more': row['tasks of 50 ms or more'], searches: row.searches ?? '', 'median ms': row['median, ms'] ?? '', 'longest ms': row['longest, ms'] ?? '', host: `chromium ${browser.version()}` })), // prettier-ignore
  );
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
