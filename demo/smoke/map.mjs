// The panel Map: texts are placed, found and listed as Node finds them, files are read line by line, and 10,000 points leave the page free.
import { readFileSync, rmSync } from 'node:fs';
import { saved } from './pictures.mjs';
import { accessible, becomes, check, clickAsSoonAs, demoModule, expect, kModel, nodeEntry, painted, written } from './support.mjs';

const kMany = 10_000;
const kFrame = 8; // ms of script in a frame; the largest is shown alone, as collecting garbage may fall into any
const kQuery = 'a song for the choir';

const { exampleRows } = await demoModule('map/example.ts');

const done = (page) => page.locator('[data-map=done]').waitFor();
const heading = (page) => page.locator('#map-marked').innerText();
const listed = (page) =>
  page.locator('.map-row').evaluateAll((rows) => rows.map((row) => row.querySelector('span:nth-child(2)').firstChild.textContent));
const canvas = (page) => page.locator('.map-canvas');

let vectors; // of the examples, by Node

async function vectorsOfNode(texts) {
  const { pipeline } = await nodeEntry();
  const embed = await pipeline('feature-extraction', kModel);
  const found = await embed.encode_document(texts);
  const query = await embed.encode_query(kQuery);
  await embed.dispose();
  return { found, query };
}

async function placed(page) {
  await done(page);
  const about = await page.locator('.map-about').innerText();
  const [, here, plane] = /(\d+)\s%.*\((\d+)\s%/.exec(about) ?? [];
  if (!(Number(here) > Number(plane))) throw new Error(`UMAP keeps no more neighbours than the plane: '${about}'`);
  const colours = await canvas(page).evaluate((element) => {
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  if (colours < 9) throw new Error(`the canvas has ${colours} colours`);
  return about;
}

async function found(page) {
  const texts = exampleRows(500).map(({ text }) => text);
  vectors = await vectorsOfNode(texts);
  const { semantic_search } = await nodeEntry();
  const [hits] = semantic_search(vectors.query, vectors.found, { top_k: 20 });
  await page.locator('#map-query').fill(kQuery);
  await becomes('the heading', () => heading(page), `20 texts nearest to “${kQuery}”`);
  const scores = await page.locator('.map-score').allInnerTexts();
  expect('scores', scores, hits.map(({ score }) => written(score))); // prettier-ignore
  const [first] = await listed(page);
  expect('the first', first, texts[hits[0].corpus_id]);
  await page.getByText('Words', { exact: true }).click();
  await page.locator('#map-query').fill('doctor fever');
  const withBoth = texts.filter((text) => /doctor/i.test(text) && /fever/i.test(text));
  await becomes('by words', () => listed(page), withBoth);
  await page.locator('#map-query').fill('');
  await becomes('nothing', () => heading(page), 'Nothing is marked');
}

/** By keys: to a point, to what is near to it, and away. */
async function keys(page) {
  const { semantic_search, Tensor } = await nodeEntry();
  await canvas(page).focus();
  await page.keyboard.press('ArrowRight');
  const before = await page.locator('.map-shown').innerText();
  await page.keyboard.press('ArrowUp');
  const shown = await page.locator('.map-shown').innerText();
  if (shown === before) throw new Error(`the arrow keys stay at '${shown}'`);
  await page.keyboard.press('Enter');
  await becomes('the heading', async () => (await heading(page)).startsWith('10 texts nearest to “'), true);
  const rows = exampleRows(500);
  const at = rows.findIndex(({ text, label }) => shown.startsWith(`${label}: ${text}`));
  const { data, dims } = vectors.found;
  const own = new Tensor('float32', data.slice(at * dims[1], (at + 1) * dims[1]), [1, dims[1]]);
  const [hits] = semantic_search(own, vectors.found, { top_k: 11 });
  const near = hits.filter(({ corpus_id }) => corpus_id !== at).slice(0, 10);
  expect('scores', await page.locator('.map-score').allInnerTexts(), near.map(({ score }) => written(score))); // prettier-ignore
  await page.keyboard.press('+');
  await page.keyboard.press('0');
  await page.keyboard.press('Escape');
  await becomes('nothing is shown', async () => (await page.locator('.map-shown').innerText()).startsWith('Point at a dot'), true);
}

async function lasso(page) {
  await page.getByText('Lasso', { exact: true }).click();
  const { x, y, width, height } = await canvas(page).boundingBox();
  await page.mouse.move(x + 2, y + 2);
  await page.mouse.down();
  for (const [across, down] of [[1, 0], [1, 1], [0, 1]]) await page.mouse.move(x + 2 + across * (width - 4), y + 2 + down * (height - 4), { steps: 3 }); // prettier-ignore
  await page.mouse.up();
  await becomes('all', () => heading(page), '500 texts inside the lasso');
  await page.mouse.move(x + width / 2, y + 2);
  await page.mouse.down();
  for (const [across, down] of [[1, 0], [1, 1], [0.5, 1]]) await page.mouse.move(x + across * (width - 2), y + 2 + down * (height - 4), { steps: 3 }); // prettier-ignore
  await page.mouse.up();
  await becomes('fewer', async () => Number(/^\d+/.exec(await heading(page))) < 500, true);
  await page.locator('.map-tools').getByText('Point', { exact: true }).click();
  await page.getByRole('button', { name: /^health/ }).click();
  const health = exampleRows(500).filter(({ label }) => label === 'health');
  await becomes('a label', () => heading(page), `${health.length} texts labelled “health”`);
}

async function download(page, name) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
  const path = await file.path();
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  rmSync(path);
  return lines.map((line) => line.split('\t'));
}

async function files(page) {
  const [head, ...lines] = await download(page, 'Save all as TSV');
  expect('columns', head, ['text', 'label', 'x', 'y']);
  expect('rows', lines.map(([text, label]) => ({ text, label })), exampleRows(500)); // prettier-ignore
  const places = lines.map(([, , x, y]) => [Number(x), Number(y)]);
  if (!places.flat().every(Number.isFinite) || new Set(places.map(String)).size < 400)
    throw new Error('the places are not those of points');
  const marked = await download(page, 'Save marked as TSV');
  expect('marked', [...new Set(marked.slice(1).map(([, label]) => label))], ['health']);
  await saved(page, page.locator('.map-card'), { texts: ['health', 'A map of 500 texts'], elements: { image: 1 } });
}

async function pick(page, name, text) {
  await page.getByLabel('File with texts').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
}

async function ownFile(page) {
  const lines = ['text\tlabel', ...exampleRows(40).map(({ text, label }) => `${text}\t${label}`)];
  lines.splice(3, 0, 'a line with one column', '\tno text', '');
  await pick(page, 'mine.tsv', lines.join('\r\n'));
  await page.getByText('mine.tsv: 40 texts.').waitFor();
  expect('problems', await page.locator('.map-problems li').allInnerTexts(), [
    'Line 4: it has 1 column, and the header has 2.',
    'Line 5: it has no text.',
  ]);
  await becomes('the map', () => canvas(page).getAttribute('aria-label').then((label) => label.startsWith('Map of 40 texts')), true); // prettier-ignore
  await done(page);
  await pick(page, 'mine.jsonl', ['{"text": "one boat", "label": 1}', '"two rivers"', '{"text": 3}', 'no json', '{"text": "a bridge"}'].join('\n')); // prettier-ignore
  await page.getByText('mine.jsonl: 3 texts').waitFor();
  expect('problems', await page.locator('.map-problems li').allInnerTexts(), [
    'Line 3: it has no field "text" with a string.',
    'Line 4: it is not JSON: no json.',
  ]);
  await becomes('the map', () => canvas(page).getAttribute('aria-label').then((label) => label.startsWith('Map of 3 texts')), true); // prettier-ignore
  await done(page);
  await pick(page, 'sheet.csv', 'a,b');
  await page.getByText('sheet.csv is CSV. Save it with tabs').waitFor();
  await becomes('the map stays', () => canvas(page).getAttribute('aria-label').then((label) => label.startsWith('Map of 3 texts')), true); // prettier-ignore
}

async function dropped(page) {
  await page.locator('.map-texts').evaluate((card) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['a river\tnature\na house\ttown\na wood\tnature\na street\ttown\n'], 'drop.tsv'));
    card.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  });
  await page.getByText('drop.tsv: 4 texts.').waitFor();
  await becomes('the map', () => canvas(page).getAttribute('aria-label').then((label) => label.startsWith('Map of 4 texts')), true); // prettier-ignore
  await done(page);
}

async function stopped(page) {
  const begin = () => page.getByRole('button', { name: '10,000 example sentences' }).click();
  await clickAsSoonAs(page, begin, { sign: '.map-texts progress[value]:not([value="0"])', button: 'Stop' });
  await page.getByText('Stopped.', { exact: true }).waitFor();
  expect('the map before', (await canvas(page).getAttribute('aria-label')).startsWith('Map of 4 texts'), true);
}

/** Script of each frame, in ms of the processor's time, while UMAP moves the points and one drags them. */
async function frames(page) {
  const browser = page.context().browser();
  await page.getByRole('button', { name: '10,000 example sentences' }).click();
  await becomes('the map', () => canvas(page).getAttribute('aria-label').then((label) => label.startsWith('Map of 10,000')), true); // prettier-ignore
  await page.locator('progress[data-map=refine]').waitFor();
  await browser.startTracing(page, { categories: ['devtools.timeline', 'toplevel'] });
  await page.locator('.map-tools').getByText('Move', { exact: true }).click();
  const { x, y } = await canvas(page).boundingBox();
  await page.mouse.move(x + 100, y + 100);
  await page.mouse.down();
  for (let step = 0; step < 100; ++step) {
    await page.mouse.move(x + 100 + (step % 20), y + 150);
    await painted(page);
  }
  await page.mouse.up();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const isPage = ({ pid, tid }) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const drawn = traceEvents.filter((event) => event.name === 'FireAnimationFrame' && event.tdur !== undefined && isPage(event));
  if (drawn.length < 50) throw new Error(`the trace has ${drawn.length} frames`);
  const times = drawn.map(({ tdur }) => tdur / 1000).sort((a, b) => a - b);
  const [middle, most] = [times[times.length >> 1], times.at(-1)];
  if (!(middle <= kFrame)) throw new Error(`half of the frames have more than ${middle} ms of script, the largest ${most} ms`);
  await page.getByRole('button', { name: 'Stop' }).or(page.locator('[data-map=done]')).first().click();
  return `${drawn.length} frames, half of them at most ${middle.toFixed(1)} ms, all at most ${most.toFixed(1)} ms`;
}

/** What is there once the panel has computed something. */
export const sign = '[data-map=done]';

export async function drive(page) {
  await check('map: the examples are placed, with more neighbours kept than on a plane', () => placed(page));
  await check('map: light, axe-core', () => accessible(page));
  await check('map: search by meaning and by words, as Node finds', () => found(page));
  await check('map: by keys, to a point and to what is near to it', () => keys(page));
  await check('map: the lasso and the labels', () => lasso(page));
  await check('map: marked: axe-core', () => accessible(page));
  await check('map: its tables and pictures to take along', () => files(page));
  await check('map: TSV and JSONL of this machine, with what is wrong by line', () => ownFile(page));
  await check('map: a dropped file', () => dropped(page));
  await check('map: stops at once; the map before stays', () => stopped(page));
  await check(`map: ${kMany} points with ${kFrame} ms of script or less in a frame`, () => frames(page));
}
