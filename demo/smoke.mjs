// The demo page, built and then driven in Chromium as a person would, on the tiny model: `node demo/smoke.mjs` after
// `npm run build`; with `page`, `proof`, `Firefox`, `WebKit`, `offline` or a panel's name, that alone. Served as plain static files from a folder of a
// host, under the strict policy; then by the development server. Last line: N passed, N failed[, N skipped].
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { findChromium } from '../tools/setup.mjs';
import * as about from './smoke/about.mjs';
import * as attention from './smoke/attention.mjs';
import * as classify from './smoke/classify.mjs';
import * as compare from './smoke/compare.mjs';
import * as engines from './smoke/engines.mjs';
import * as exercises from './smoke/exercises.mjs';
import * as lessons from './smoke/lessons.mjs';
import * as map from './smoke/map.mjs';
import * as offline from './smoke/offline.mjs';
import * as positions from './smoke/positions.mjs';
import * as proof from './smoke/proof.mjs';
import * as search from './smoke/search.mjs';
import * as story from './smoke/story.mjs';
import * as teach from './smoke/teach.mjs';
import * as tokens from './smoke/tokens.mjs';
import * as whole from './smoke/whole.mjs';
import * as words from './smoke/words.mjs';
import * as write from './smoke/write.mjs';
import { accessible, check, counts, expect, finish, kModel, launch, narrow, open, runs, serve } from './smoke/support.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const kConfig = here('vite.config.ts');
const kPanels = {
  story,
  whole,
  search,
  map,
  teach,
  classify,
  attention,
  positions,
  tokens,
  write,
  words,
  exercises,
  lessons,
  about,
};
const kBudget = 450_000; // bytes of code after brotli

const brotliSize = (path) => brotliCompressSync(readFileSync(path)).length;
const sizeOf = (paths) => paths.reduce((sum, path) => sum + brotliSize(path), 0);

/** Bytes after brotli of what the first visit fetched, model aside. */
function firstVisit(asked) {
  const code = [...asked].filter((path) => !path.endsWith('.gguf'));
  const total = sizeOf(code);
  if (!code.some((path) => path.endsWith('.wasm')) || total > kBudget)
    throw new Error(`${total} bytes, of ${kBudget}: ${code.join(', ')}`);
  return `${(total / 1000).toFixed(0)} kB after brotli, in ${code.length} files`;
}

async function onStaticHost(browser, { url, asked }) {
  const { page, said, close } = await open(browser, url);
  await page.waitForSelector(story.sign);
  await check('the first visit fetches little', () => firstVisit(asked));
  await page.goto(`${url}#compare`);
  await check('the page loads the model it was served with; the matrix equals what Node computes', () => compare.servedModel(page));
  await check('light, with a model: axe-core', () => accessible(page));
  await check('a token shows its id and its stretch of the text, by mouse and by keyboard', () => compare.tokens(page));
  await check('typing computes only the changed sentence', () => compare.typing(page));
  await check('a text that is too long is said to be truncated', () => compare.longText(page));
  await check('sentences can be added and removed', () => compare.lines(page));
  await check('search ranks every sentence', () => compare.search(page));
  await check('arrow keys walk through the matrix', () => compare.keyboard(page));
  await check('the matrix to take along', () => compare.picture(page));
  await check('a link brings the sentences and the query along', () => compare.link(page));
  await check('nothing on the console, no violation of the policy', () => expect('messages', said, []));
  await check('a link with a model on another host is asked about before that is requested', () => compare.otherHost(browser, url));
  await check('a model that is not there: plain words, the error of the library, and the model before it stays', () =>
    compare.noSuchModel(page),
  );
  await check('the choice is the list of models, and measures the one in use', () => compare.listed(page));
  await check('light, the choice of a model: axe-core', () => accessible(page));
  await check('loading can be cancelled, and the model before it stays', () => compare.cancel(page));
  await check('Escape and Back close the choice and change nothing', () => compare.closes(page));
  await check('what is typed or followed as the choice closes is not lost', () => compare.typedAsItCloses(page));
  await check('the model in the package', () => compare.bundled(page));
  await check('a model from a folder of this machine', () => compare.folder(page));
  await check('a model from one file of this machine', () => compare.file(page));
  await check('a folder dropped anywhere on the page', () => compare.dropped(page));
  const unexpected = () => said.filter((line) => !line.includes('/nothing/'));
  await check('nothing else on the console', () => expect('messages', unexpected(), []));
  await close();
}

/** On a phone, whatever is to be touched is 44 px high; but not the cells and chips of a picture, which the keys reach, too. */
async function touchable(page) {
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('a, button, input, select, textarea, summary, .file-button, .choice label')]
      .filter((one) => one.checkVisibility() && !one.matches('.skip, .visually-hidden, .cell, .chip:not(.story-chip)'))
      .map((one) => `${one.tagName} ${one.className} '${one.textContent.slice(0, 20)}': ${one.getBoundingClientRect().height} px`)
      .filter((line) => parseFloat(line.split("': ").at(-1)) < 43.5),
  );
  expect('small targets', small, []);
}

/** What "As code" offers, in a Node that finds the package by its name. */
async function programs(page) {
  const codes = await page.locator('.code-of pre').allTextContents();
  for (const code of codes) if ((await runs(code)).trim() === '') throw new Error(`nothing is printed by\n${code}`);
  return `${codes.length} of them`;
}

/** Each panel as a person would use it; then the same panel dark, on a phone. */
async function onPanels(browser, url, only) {
  for (const [name, { drive, sign }] of Object.entries(kPanels)) {
    if (only && only !== name) continue;
    const at = `${url}#${name}`;
    const { page, said, close } = await open(browser, at);
    await page.waitForSelector(`[data-panel="${name}"]`);
    await drive(page);
    await check(`${name}: nothing is wider than the screen`, () => narrow(page, 1280));
    await check(`${name}: nothing on the console`, () => expect('messages', said, []));
    await close();
    const phone = await open(browser, at, { colorScheme: 'dark', viewport: { width: 390, height: 844 } });
    await phone.page.waitForSelector(`[data-panel="${name}"] ${sign}`);
    await check(`${name}: dark, phone: axe-core`, () => accessible(phone.page));
    await check(`${name}: dark, phone: nothing is wider than the screen`, () => narrow(phone.page));
    await check(`${name}: dark, phone: fingers hit what they mean`, () => touchable(phone.page));
    await check(`${name}: the programs of its cards run as they are`, () => programs(phone.page));
    await check(`${name}: dark, phone: nothing on the console`, () => expect('messages', phone.said, []));
    await phone.close();
  }
}

async function onDarkPhone(browser, url) {
  const { page, said, close } = await open(browser, `${url}#compare`, {
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
  });
  await compare.matrixShown(page);
  await check('dark, phone: axe-core', () => accessible(page));
  await check('dark, phone: nothing is wider than the screen', () => narrow(page));
  await check('dark, phone: nothing on the console', () => expect('messages', said, []));
  await close();
}

async function onDevelopmentServer(browser, { createServer: createVite }) {
  const server = await createVite({ configFile: kConfig, logLevel: 'error', server: { host: '127.0.0.1', open: false } });
  await server.listen();
  const [url] = server.resolvedUrls.local;
  const { page, said, close } = await open(browser, `${url}#compare`);
  await check('npm run demo: the page loads the model', () => compare.matrixShown(page));
  await check('npm run demo: its workers start', async () => {
    await page.goto(`${url}#search`);
    await page.waitForSelector('.found-piece');
    expect('isolated', await page.evaluate(() => crossOriginIsolated), true);
  });
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
const out = mkdtempSync(join(tmpdir(), 'wattn-demo-'));
await vite.build({ configFile: kConfig, logLevel: 'warn', build: { outDir: out } });
const host = await serve(out);
const browser = await launch(chrome);
try {
  const [only] = process.argv.slice(2); // a panel's name: that one alone
  if (!only || only === 'page') {
    await onStaticHost(browser, host);
    await onDarkPhone(browser, host.url);
    await onDevelopmentServer(browser, vite);
  }
  await onPanels(browser, host.url, only);
  if (!only || only === 'proof') await proof.drive(browser, host.url, out);
  for (const name of Object.keys(engines.kEngines)) if (!only || only === name) await engines.drive(name, out, kPanels);
  if (!only || only === 'offline') await offline.drive(browser, out, Object.keys(kPanels));
} catch (error) {
  await check('the run', () => Promise.reject(error));
} finally {
  await browser.close();
  host.close();
  rmSync(out, { recursive: true, force: true });
}
finish();
