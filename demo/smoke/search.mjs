// The panel Search: an index is built, searched, shown, cancelled, kept and found again, and the page never waits.
import { transform } from 'esbuild';
import { readFileSync } from 'node:fs';
import { saved } from './pictures.mjs';
import { accessible, check, clickAsSoonAs, expect, kModel, loadFolder, nodeEntry, painted, written } from './support.mjs';

const kPieces = 2000;
const kLongest = 50; // ms that no task may keep the page

const buildButton = (page) => page.getByRole('button', { name: /^Index 1 text/ });
const built = (page) => page.waitForSelector('[data-index]');

async function hitsOf(page) {
  const read = (hits) =>
    hits.map((hit) => ({
      text: hit.querySelector('.found-text').textContent,
      score: hit.querySelector('.found-score').textContent,
      why: hit.querySelector('.found-doc').textContent,
      words: [...hit.querySelectorAll('mark')].map((mark) => mark.textContent),
    }));
  return page.locator('.found-piece').evaluateAll(read);
}

/** The settings of the panel, which is TypeScript. */
async function settings() {
  const source = readFileSync(new URL('../src/search/settings.ts', import.meta.url), 'utf8');
  const { code } = await transform(source, { loader: 'ts', format: 'esm' });
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

/** What the package's `Index` finds in Node, in the same texts with the same settings. */
async function hitsOfNode(docs, size, query) {
  const { Index, pipeline } = await nodeEntry();
  const { kCommon, kSearch } = await settings();
  const embed = await pipeline('feature-extraction', kModel);
  const chunk = { max_tokens: size };
  const index = await Index.open('smoke', { embed, store: 'memory', chunk, words: { stopwords: kCommon } });
  await index.add(docs.map((doc, i) => ({ id: String(i), ...doc })));
  const hits = await index.search(query, kSearch);
  await index.dispose();
  await embed.dispose();
  return hits.map(({ text, score, why, highlights, document }) => ({
    text,
    score: written(score),
    why: `${document.name} · ${Math.round(100 * why.coverage)} % of the words, meaning ${written(why.meaning)}`,
    words: highlights.map(({ start, end }) => text.slice(start, end)),
  }));
}

const answered = (page) => page.waitForSelector('.found[aria-busy=false]', { state: 'attached' }); // empty, it is not visible

const ask = async (page, query) => {
  await page.locator('#find').fill(query);
  await answered(page);
};

async function ownText(page) {
  const text = Array.from(
    { length: 12 },
    (_, i) => `Paragraph ${i} is about the number ${i * i} and the letter ${'abcdefghijkl'[i]}.`,
  ).join('\n\n');
  await page.locator('.library-line select').selectOption('32');
  await page.locator('#pasted').fill(text);
  await buildButton(page).click();
  await page.getByText(/^1 text in /).waitFor();
  await ask(page, 'the number 49');
  const hits = await hitsOf(page);
  expect('hits', hits, await hitsOfNode([{ name: 'Pasted', text }], 32, 'the number 49'));
  if (!hits.some(({ words }) => words.includes('49'))) throw new Error('the word 49 is not marked');
}

async function map(page) {
  const canvas = page.locator('.piece-map canvas');
  await canvas.focus();
  await page.keyboard.press('ArrowRight');
  const first = await page.locator('.shown-piece').innerText();
  if (!/characters \d+ to \d+: /.test(first)) throw new Error(`below the map stands '${first}'`);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  if ((await page.locator('.shown-piece').innerText()) === first) throw new Error('the arrow keys do not move');
  await page.locator('.found-piece').nth(1).click();
  const { text } = (await hitsOf(page))[1];
  if (!(await page.locator('.shown-piece').innerText()).includes(text)) throw new Error('a hit that was chosen is not shown');
  const { data, width } = await canvas.evaluate((element) => {
    const image = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    return { width: image.width, data: new Set(new Uint32Array(image.data.buffer)).size };
  });
  if (width < 200 || data < 10) throw new Error(`a canvas of width ${width} with ${data} colours`);
}

/** Words at random, but always the same ones. */
function bigText() {
  const words = 'river stone bread window garden letter number light winter music paper engine ocean market doctor silver'.split(
    ' ',
  );
  let state = 1;
  const next = () => words[(state = (state * 48271) % 0x7fffffff) % words.length];
  return Array.from({ length: kPieces }, (_, i) => `Line ${i}: ${next()} ${next()} ${next()}.`).join('\n\n');
}

async function pick(page, name, text) {
  await page.getByLabel('Text files', { exact: true }).setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.getByText(name).first().waitFor();
}

/**
 * Tasks of the page's own thread while something runs: the time that the longest computed, in ms, and the long-task entries that the
 * page saw. Entries count the waiting for a core too, which on a busy machine is most of it; the limit is for what the page itself does.
 */
async function tasksDuring(page, run) {
  const browser = page.context().browser();
  await page.evaluate(() => {
    globalThis.longTasks = 0;
    new PerformanceObserver((list) => (globalThis.longTasks += list.getEntries().length)).observe({ type: 'longtask' });
  });
  await browser.startTracing(page, { categories: ['toplevel'] });
  await run();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const entries = await page.evaluate(() => globalThis.longTasks);
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const isPage = ({ pid, tid }) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const tasks = traceEvents.filter((event) => /RunTask$/.test(event.name) && event.tdur !== undefined && isPage(event));
  if (tasks.length < 100) throw new Error(`the trace has ${tasks.length} tasks of the page`);
  return { longest: Math.max(...tasks.map(({ tdur }) => tdur)) / 1000, entries };
}

async function manyPieces(page) {
  await page.locator('#pasted').fill('');
  await page.locator('.library-line select').selectOption('16');
  await pick(page, 'big.txt', bigText());
  const start = Date.now();
  const { longest, entries } = await tasksDuring(page, async () => {
    await buildButton(page).click();
    await built(page);
    await answered(page);
    await painted(page); // the map
  });
  const [count] = /[\d,]+ chunk/.exec(await page.locator('[data-index]').innerText());
  if (Number(count.replace(/\D/g, '')) < kPieces) throw new Error(`only ${count}s`);
  if (!(longest <= kLongest)) throw new Error(`a task of ${longest} ms`);
  return `${count}s in ${Date.now() - start} ms, the longest task ${longest.toFixed(0)} ms, ${entries} long-task entries`;
}

async function cancelled(page) {
  const facts = async () => (await page.locator('[data-index]').innerText()).split('.')[0];
  const before = await facts();
  const begin = () => buildButton(page).click();
  await page.locator('.library-line select').selectOption('32'); // another index than the one that stays
  await clickAsSoonAs(page, begin, { sign: 'progress[value]:not([value="0"])', button: 'Cancel' });
  await built(page);
  expect('the index', await facts(), before);
  await clickAsSoonAs(page, begin, { sign: '.loading-line', says: 'Arranging', button: 'Cancel' });
  await built(page);
  expect('the index', await facts(), before);
  await ask(page, 'Line 17');
  if ((await hitsOf(page)).length === 0) throw new Error('the index that stayed finds nothing');
}

async function notText(page) {
  await page
    .getByLabel('Text files', { exact: true })
    .setInputFiles({ name: 'a.bin', mimeType: 'text/plain', buffer: Buffer.from([65, 0, 66]) });
  await page.getByText('a.bin is not a text').waitFor();
}

async function foundAgain(page) {
  await ask(page, 'Line 17');
  const expected = await hitsOf(page);
  if (expected.length === 0) throw new Error('no hits');
  await page.reload();
  await page.waitForSelector('[data-index="restored"]');
  await ask(page, 'Line 17');
  expect('hits', await hitsOf(page), expected);
}

/** A page that is closed while it builds leaves some texts of the new index; the old one is found again. */
async function interrupted(page) {
  const facts = async () => (await page.locator('[data-index]').innerText()).split('.')[0];
  const before = await facts();
  const paragraphs = bigText().split('\n\n');
  const files = Array.from({ length: 200 }, (_, i) => ({
    name: `${i}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from(paragraphs.slice(10 * i, 10 * i + 10).join('\n\n')),
  }));
  await page.getByLabel('Text files', { exact: true }).setInputFiles(files);
  // In the page itself: on a busy machine the index may be done before this process hears of its beginning.
  await page.evaluate(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector('progress[value]:not([value="0"])')) return;
      observer.disconnect();
      location.reload();
    });
    observer.observe(document, { subtree: true, childList: true, attributes: true });
  });
  const reloaded = page.waitForEvent('load');
  await page.getByRole('button', { name: /^Index 20\d texts/ }).click();
  await reloaded;
  await page.waitForSelector('[data-index="restored"]');
  expect('the index', await facts(), before);
}

/** A model is known by its vectors: the same one from a folder finds the same index, and can build another. */
async function sameModel(page) {
  await loadFolder(page, kModel, 'search');
  await page.waitForSelector('[data-index="restored"]');
  await ownText(page);
}

/** The tiny model finds all texts alike; the one in the package does not. */
async function nothingClose(page) {
  await page.locator('#pasted').fill(''); // then the examples are searched
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.getByRole('button', { name: 'Use wattn-default' }).click();
  await page.waitForFunction(() => document.querySelector('.model-dialog[open]') === null); // until then the panel is the old model's
  await built(page);
  await ask(page, 'parliament elections');
  expect('hits', await hitsOf(page), []);
  await page.getByText('No close match.').waitFor();
  await ask(page, 'tips for a good night of sleep');
  const [{ text }] = await hitsOf(page);
  if (!text.startsWith('Grown-ups sleep best')) throw new Error(`the best hit is '${text}'`);
}

/** What is there once the panel has computed something. */
export const sign = '.found-piece';

export async function drive(page) {
  await check('search: an index of the examples is there at once', () => built(page));
  await check('search: light, axe-core', () => accessible(page));
  await check("search: hits, scores, words and reasons are those of Node's Index", () => ownText(page));
  await check('search: the map by keys and by the list', () => map(page));
  await check('search: the map to take along', async () => {
    const legend = await page.locator('.legend li').allInnerTexts();
    const chunks = Number(/(\d+) chunks/.exec(await page.locator('.map-panel .hint').first().innerText())[1]);
    const circles = chunks + 2; // the one that is selected has a larger dot and a ring
    await saved(page, page.locator('.map-panel'), { texts: ['your query', ...legend.map((line) => line.trim())], elements: { circle: circles } }); // prettier-ignore
  });
  await check(`search: the page never waits ${kLongest} ms while ${kPieces} pieces become an index`, () => manyPieces(page));
  await check('search: building can be cancelled; the index before stays', () => cancelled(page));
  await check('search: a file that is no text is refused', () => notText(page));
  await check('search: the index is found again after a reload', () => foundAgain(page));
  await check('search: and after building another one was broken off', () => interrupted(page));
  await check('search: and by the same model from a folder of this machine', () => sameModel(page));
  await check('search: nothing is close to a question about something else', () => nothingClose(page));
}
