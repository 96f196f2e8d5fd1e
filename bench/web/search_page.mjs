// Index in a page: 10,000 documents (DOCUMENTS; lines of a book) are added in Chromium with the bundled model in a worker, while searches
// continue. Then a document of 10 MB is added, searched and removed. Prints the time to add, the time of searches meanwhile, and the longest task
// on the page's own thread. (On a busy machine tasks also wait for a core.) CHROME: the browser.
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

const browser = await chromium.launch({ executablePath: process.env.CHROME || '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();

/** Runs a function in the page. Returns what it returns, how long it took, and the ms that the page's thread computed in its longest task. */
async function traced(run, argument) {
  await browser.startTracing(page, { categories: ['toplevel'] });
  const start = performance.now();
  const answer = await page.evaluate(run, argument);
  const ms = Math.round(performance.now() - start);
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const isPage = ({ pid, tid }) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const tasks = traceEvents.filter((event) => /RunTask$/.test(event.name) && event.tdur !== undefined && isPage(event));
  return { answer, ms, longest: Math.round(Math.max(...tasks.map(({ tdur }) => tdur)) / 1000) };
}

async function open(documents) {
  const { Index, pipeline } = await import('/dist/index.js');
  const embed = await pipeline('feature-extraction', undefined, { worker: true });
  await embed('once, so that all is loaded');
  globalThis.documents = documents;
  globalThis.index = await Index.open('bench', { embed });
  globalThis.whole = await Index.open('whole', { store: 'memory' });
  globalThis.text = Array.from({ length: 146_000 }, (_, i) => documents[i % documents.length].text).join('\n');
}

/** ms of searches while documents are added, as often as somebody types. */
async function addAndSearch() {
  const times = [];
  let isDone = false;
  const adding = index.add(documents).finally(() => (isDone = true));
  for (let i = 0; !isDone; ++i) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const start = performance.now();
    await index.search(['natural selection', 'birds of an island', 'a flower and its bees'][i % 3]);
    times.push(performance.now() - start);
  }
  await adding;
  return times.sort((a, b) => a - b);
}

const steps = {
  [`add ${kDocuments} documents`]: addAndSearch,
  'add a document of 10 MB': () => whole.add({ id: 'long', text }).then(() => []),
  'search it for the first time': () => whole.search('natural selection').then(() => []),
  'replace it': () => whole.add({ id: 'long', text: `${text}.` }).then(() => []),
  'search again': () => whole.search('natural selection').then(() => []),
  'remove it': () => whole.delete('long').then(() => []),
};
const rows = [];
try {
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(open, documents);
  for (const [what, run] of Object.entries(steps)) {
    const { answer, ms, longest } = await traced(run);
    const at = (share) => (answer.length ? Math.round(answer[Math.floor(share * (answer.length - 1))]) : '');
    const searches = { searches: answer.length, 'median ms': at(0.5), '9 of 10 within ms': at(0.9), 'longest ms': at(1) };
    rows.push({ what, ms, 'longest task': longest, ...searches, host: `chromium ${browser.version()}` });
  }
  console.table(rows);
  writeRecord('search-page', rows);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
