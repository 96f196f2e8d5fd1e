// The demo page, built and then driven in Chromium as a person would, on the tiny model: `node demo/smoke.mjs` after
// `npm run build`. Served as plain static files from a folder of a host, under the strict policy; then by the development
// server. Last line: N passed, N failed[, N skipped].
import { createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { findChromium } from '../tools/setup.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const kModel = here('../tests/goldens/bert-tiny/model');
const kConfig = here('vite.config.ts');
const kBudget = 500_000; // bytes of code after brotli
const kPolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self' https:";
const kTypes = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.gguf': 'application/octet-stream',
};

const counts = { passed: 0, failed: 0, skipped: 0 };

async function check(name, run) {
  try {
    const note = await run();
    counts.passed += 1;
    console.log(`ok ${name}${typeof note === 'string' ? `: ${note}` : ''}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`FAIL ${name}: ${error.message}`);
  }
}

function finish() {
  const { passed, failed, skipped } = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(failed > 0 ? 1 : 0);
}

function expect(what, found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
  }
}

/** A static host: the page under /some/folder/, the model under its model/, and under stuck/ a model whose weights never end. */
async function serve(folder) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname.replace(/^\/some\/folder\//, '') || 'index.html';
    const inModel = /^(model|stuck)\/(.*)/.exec(path);
    const file = inModel ? join(kModel, inModel[2]) : join(folder, path);
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404, { 'content-type': 'text/plain' }).end('none');
    const type = kTypes[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-length': statSync(file).size, 'content-security-policy': kPolicy });
    if (inModel?.[1] === 'stuck' && file.endsWith('.safetensors')) return response.write(readFileSync(file).subarray(0, 50_000));
    return createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/some/folder/`, close };
}

/** Bytes that a visitor downloads, model aside: one of the wasm files, and everything else. */
function codeSize(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
  const sizes = files.map((name) => ({ name, size: brotliCompressSync(readFileSync(join(folder, name))).length }));
  const wasm = sizes.filter(({ name }) => name.endsWith('.wasm')).map(({ size }) => size);
  const rest = sizes.filter(({ name }) => !/\.(wasm|gguf)$/.test(name)).reduce((sum, { size }) => sum + size, 0);
  const total = rest + Math.max(...wasm);
  if (wasm.length === 0 || total > kBudget)
    throw new Error(`${total} bytes after brotli (budget ${kBudget}), ${wasm.length} wasm files`);
  return `${(total / 1000).toFixed(0)} kB after brotli, ${(Math.max(...wasm) / 1000).toFixed(0)} kB of it wasm`;
}

/** Opens the page; `said` collects what a console would show, violations of the policy included. */
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const said = [];
  page.on(
    'console',
    (message) => ['error', 'warning'].includes(message.type()) && said.push(`${message.text()} (${message.location().url})`),
  );
  page.on('pageerror', (error) => said.push(error.message));
  await page.goto(url);
  return { page, said, close: () => context.close() };
}

const cellTexts = (page) => page.locator('.matrix .cell').allTextContents();
const sentences = (page) => page.locator('.sentence textarea').evaluateAll((areas) => areas.map((area) => area.value));

async function matrixShown(page) {
  await page.waitForSelector('.sentence textarea');
  const count = (await sentences(page)).length;
  await page.waitForFunction((cells) => document.querySelectorAll('.matrix .cell').length === cells, count * count);
  await page.waitForSelector('.hits li');
}

/** The same numbers from the package's own entry for Node. */
async function matrixOfNode(texts) {
  const { cos_sim, pipeline } = await import(new URL('../dist/node.js', import.meta.url));
  const embed = await pipeline('feature-extraction', kModel);
  const vectors = (await embed(texts)).tolist();
  await embed.dispose();
  const score = (a, b) => cos_sim(a, b).toFixed(2).replace('-', '−');
  return vectors.flatMap((a) => vectors.map((b) => score(a, b)));
}

async function servedModel(page) {
  await matrixShown(page);
  expect('the matrix', await cellTexts(page), await matrixOfNode(await sentences(page)));
  return page
    .locator('.best')
    .innerText()
    .then((text) => text.replace(/\s+/g, ' '));
}

async function tokens(page) {
  const row = page.locator('.sentence').first();
  const chip = row.locator('.chip').nth(2);
  await chip.hover();
  const [mark, token] = [await row.locator('mark').textContent(), await chip.textContent()];
  expect('the marked text', mark.toLowerCase(), token.replace(/^##/, ''));
  const detail = await row.locator('.detail').innerText();
  if (!/id \d+ · characters \d+ to \d+/.test(detail)) throw new Error(`below the tokens stands '${detail}'`);
  await page.locator('h1').hover();
  const last = await row.locator('.chip').count();
  await row.locator('.chip[tabindex="0"]').focus();
  await page.keyboard.press('End');
  expect(
    'the focus',
    await row
      .locator('.chip')
      .nth(last - 1)
      .evaluate((end) => end === document.activeElement),
    true,
  );
}

async function typing(page) {
  const before = await cellTexts(page);
  await page.locator('.sentence textarea').first().fill('the river and the river and the bank');
  await page.waitForFunction(() => /^1 sentence with /.test(document.querySelector('.timing').textContent));
  const after = await cellTexts(page);
  const size = Math.sqrt(after.length);
  const changed = after.flatMap((text, i) => (text === before[i] ? [] : [i]));
  if (changed.length === 0) throw new Error('the matrix stayed as it was');
  if (changed.some((i) => i >= size && i % size !== 0)) throw new Error('a cell of two other sentences changed');
}

async function longText(page) {
  await page.locator('.sentence textarea').last().fill('on and '.repeat(200));
  await page.waitForSelector('.sentence:last-child .detail .warning');
  expect(
    'what is struck out and what is read',
    await page
      .locator('.sentence')
      .last()
      .locator('.mirror')
      .evaluate((mirror) => {
        return mirror.querySelector('s').textContent.length > 1000 && mirror.textContent.length === 1401;
      }),
    true,
  );
}

async function lines(page) {
  const before = (await sentences(page)).length;
  await page.locator('.sentence textarea').last().press('Enter');
  await page.locator('.sentence textarea').nth(before).fill('one more');
  await matrixShown(page);
  await page.getByRole('button', { name: `Remove sentence ${before + 1}` }).click();
  await matrixShown(page);
  expect('the number of sentences', (await sentences(page)).length, before);
}

async function search(page) {
  await page.getByRole('searchbox').fill('the boats on the river');
  await page.waitForFunction(() => /^Nearest: sentence /.test(document.querySelectorAll('.timing')[1].textContent));
  const scores = (await page.locator('.hit-score').allTextContents()).map((text) => Number(text.replace('−', '-')));
  expect(
    'the order',
    scores,
    [...scores].sort((a, b) => b - a),
  );
  expect('the number of hits', scores.length, (await sentences(page)).length);
}

async function keyboard(page) {
  await page.locator('.cell[tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  expect('the focused cell', await page.evaluate(() => document.activeElement.dataset.cell), '1 2');
  expect('marked sentences', await page.locator('.sentence.is-marked').count(), 2);
}

async function noSuchModel(page) {
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.locator('#address').fill('./nothing/');
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  const text = await page.getByRole('alert').innerText();
  if (!/ModelFormatError/.test(text) || !/config\.json.*nothing/.test(text)) throw new Error(`the page says '${text}'`);
  expect('the field', await page.locator('#address').inputValue(), './nothing/');
}

async function cancel(page) {
  await page.locator('#address').fill('./stuck/');
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.waitForSelector('progress[value]');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForSelector('#address');
  await page.getByText('Loading was cancelled').waitFor({ state: 'attached' });
  expect('errors', await page.locator('.error').count(), 0);
}

async function bundled(page) {
  await page.getByRole('button', { name: 'Use it' }).click();
  await matrixShown(page);
  expect('the name', await page.locator('#model-title').innerText(), 'The model in the package');
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.waitForSelector('#address');
}

async function folder(page) {
  await page.locator('input[type=file]').setInputFiles(kModel);
  await matrixShown(page);
  expect('the name', await page.locator('#model-title').innerText(), 'model');
}

/** Beside the zone that is drawn for it: the whole page takes it. */
async function dropped(page) {
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.waitForSelector('#address');
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [kModel], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'])
    await session.send('Input.dispatchDragEvent', { type, x: 600, y: 800, data });
  await matrixShown(page);
}

/** Findings of axe-core that are serious or critical. */
async function accessible(page) {
  await page.evaluate(readFileSync(here('../node_modules/axe-core/axe.min.js'), 'utf8'));
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const lines = bad.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`));
  if (bad.length > 0) throw new Error(lines.join('\n'));
  return `${passes.length} rules passed, ${violations.length} minor findings`;
}

async function narrow(page) {
  expect('the width', await page.evaluate(() => document.documentElement.scrollWidth), 390);
}

async function onStaticHost(browser, url) {
  const { page, said, close } = await open(browser, url);
  await check('the page loads the model it was served with; the matrix equals what Node computes', () => servedModel(page));
  await check('light, with a model: axe-core', () => accessible(page));
  await check('a token shows its id and its stretch of the text, by mouse and by keyboard', () => tokens(page));
  await check('typing computes only the changed sentence', () => typing(page));
  await check('a text that is too long is said to be truncated', () => longText(page));
  await check('sentences can be added and removed', () => lines(page));
  await check('search ranks every sentence', () => search(page));
  await check('arrow keys walk through the matrix', () => keyboard(page));
  await check('nothing on the console, no violation of the policy', () => expect('messages', said, []));
  await check('a model that is not there: the error of the library', () => noSuchModel(page));
  await check('loading can be cancelled', () => cancel(page));
  await check('light, without a model: axe-core', () => accessible(page));
  await check('the model in the package', () => bundled(page));
  await check('a model from a folder of this machine', () => folder(page));
  await check('a folder dropped anywhere on the page', () => dropped(page));
  const unexpected = () => said.filter((line) => !line.includes('/nothing/'));
  await check('nothing else on the console', () => expect('messages', unexpected(), []));
  await close();
}

async function onDarkPhone(browser, url) {
  const { page, said, close } = await open(browser, url, { colorScheme: 'dark', viewport: { width: 390, height: 844 } });
  await matrixShown(page);
  await check('dark, phone: axe-core', () => accessible(page));
  await check('dark, phone: nothing is wider than the screen', () => narrow(page));
  await check('dark, phone: nothing on the console', () => expect('messages', said, []));
  await close();
}

async function onDevelopmentServer(browser, { createServer: createVite }) {
  const server = await createVite({ configFile: kConfig, logLevel: 'error', server: { host: '127.0.0.1', open: false } });
  await server.listen();
  const [url] = server.resolvedUrls.local;
  const { page, said, close } = await open(browser, url);
  await check('npm run demo: the page loads the model', () => matrixShown(page));
  await check('npm run demo: nothing on the console', () => expect('messages', said, []));
  await check('npm run demo: only files of the model are served', async () => {
    for (const path of ['model/', 'model/none.json', 'model/%2e%2e/taps.json', 'model/..%2ftaps.json', 'none']) {
      expect(path, (await fetch(new URL(path, url))).status, 404);
    }
  });
  await close();
  await server.close();
}

const chrome = findChromium();
if (!chrome) {
  console.log('skipped: there is no Chromium (set CHROME to its path)');
  counts.skipped += 1;
  finish();
}
if (!existsSync(here('../dist/index.js'))) {
  console.log('FAIL there is no dist/: run npm run build first');
  counts.failed += 1;
  finish();
}
process.env.WATTN_DEMO_MODEL = kModel; // vite.config.ts reads it
const vite = await import('vite');
const { chromium } = await import('playwright-core');
const out = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
await vite.build({ configFile: kConfig, logLevel: 'warn', build: { outDir: out } });
await check('the code is small', () => codeSize(out));
const host = await serve(out);
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const browser = await chromium.launch({ executablePath: chrome, args });
try {
  await onStaticHost(browser, host.url);
  await onDarkPhone(browser, host.url);
  await onDevelopmentServer(browser, vite);
} catch (error) {
  await check('the run', () => Promise.reject(error));
} finally {
  await browser.close();
  host.close();
  rmSync(out, { recursive: true, force: true });
}
finish();
