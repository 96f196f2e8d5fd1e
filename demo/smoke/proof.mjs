// The page Proof: the published bits, a table of speeds, stopping, and what it says where something is missing.
import { accessible, becomes, check, clickAsSoonAs, expect, kPatience, narrow, open, serve } from './support.mjs';
import { kPublished } from '../src/proof/thousand.mjs';

const kDtypes = Object.keys(kPublished);
const kMeasuring = 5 * kPatience; // half a minute of computing, on a quiet machine

const again = (page) => page.getByRole('button', { name: 'Measure again' });
const start = (page) => page.getByRole('button', { name: 'Start' });
const codes = (page) => page.locator('.proof-bits dd > code').allTextContents();

async function bits(page) {
  await page.locator('.proof-model .choice label', { hasText: 'Bundled model' }).click();
  await start(page).focus();
  await page.keyboard.press('Enter');
  await again(page).waitFor({ timeout: kMeasuring });
  expect('hashes', await codes(page), Object.values(kPublished));
  expect('verdicts', await page.locator('.proof-same').count(), kDtypes.length);
}

/** The table, a row an object with the names of the columns. */
async function rowsOf(page) {
  const text = await page.locator('.proof-copy pre').textContent();
  const lines = text.split('\n').filter((line) => line.startsWith('| '));
  const [names, , ...rows] = lines.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim())); // prettier-ignore
  return rows.map((cells) => Object.fromEntries(cells.map((cell, i) => [names[i], cell])));
}

/** Every figure is there and above zero. */
async function figures(page) {
  const rows = await rowsOf(page);
  expect('rows', rows.map((row) => row['']), kDtypes.map((dtype) => `wattn ${dtype}`)); // prettier-ignore
  for (const column of ['texts/s', 'ms per text', 'one text alone', 'first vector', 'WebAssembly memory', 'code', 'model files']) {
    for (const row of rows) if (!(parseFloat(row[column]) > 0)) throw new Error(`${row['']}, ${column}: ${row[column]}`);
  }
  return rows.map((row) => `${row['']} ${row['texts/s']}`).join(', ');
}

/** The same table for spreadsheets: as many cells in each line, and copied as shown. */
async function copied(page) {
  await page.locator('.proof-copy .choice label', { hasText: 'TSV' }).click();
  const lines = (await page.locator('.proof-copy pre').textContent()).split('\n').map((line) => line.split('\t').length);
  expect('lines', lines.length, 1 + kDtypes.length);
  expect('cells', new Set(lines).size, 1);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('.proof-copy').getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect('the clipboard', await page.evaluate(() => navigator.clipboard.readText()), await page.locator('.proof-copy pre').textContent()); // prettier-ignore
}

async function stopped(page) {
  const sign = { sign: '.proof-run .hint', says: 'The bits of 1,000 vectors: wattn q16', button: 'Stop' };
  await clickAsSoonAs(page, () => again(page).click(), sign);
  await page.getByText('Stopped. The results so far are below.').waitFor();
  expect('hashes', (await codes(page)).map((code) => code === '…'), [false, true, true]); // prettier-ignore
  await becomes('workers', () => page.workers().length, 0);
}

/** A hub that cannot be reached: each contender says so, and the page goes on. */
async function unreachable(page) {
  await page.locator('.proof-model .choice label', { hasText: 'From the Hub' }).click();
  await page.getByLabel('Hub id, or URL of a folder').fill(new URL('nothing/', page.url()).href);
  await again(page).click();
  await page.getByText('Could not be measured').nth(2).waitFor();
  await again(page).waitFor();
}

/**
 * Rows of a rival: its vectors, asked one by one or in batches sorted by length, are those of the same texts. Its sizes are counted. What
 * it does not have is said, and the rest is measured. The rival is rival.js.
 */
async function besideRival(browser, folder) {
  const host = await serve(folder, { withRival: true });
  const { page, said, close } = await open(browser, `${host.url}proof.html`);
  try {
    await start(page).click();
    await again(page).waitFor({ timeout: kMeasuring });
    const rows = await rowsOf(page);
    const names = [...kDtypes.map((dtype) => `wattn ${dtype}`), 'transformers.js fp32', 'transformers.js q8'];
    expect('rows', rows.map((row) => row['']), names); // prettier-ignore
    const [fp32, q8] = rows.slice(kDtypes.length);
    expect('its vectors', fp32['lowest cosine to f32'], '1');
    if (!/^(one by one|in batches of 16, sorted by length)$/.test(fp32.note)) throw new Error(`the way: ${fp32.note}`);
    for (const column of ['texts/s', 'one text alone', 'first vector', 'WebAssembly memory', 'code'])
      if (!(parseFloat(fp32[column]) > 0)) throw new Error(`${column}: ${fp32[column]}`);
    expect('its model', fp32['model files'].replace(/\s/g, ' '), '123 kB');
    expect('what it lacks', [q8.note, q8['texts/s']], ['no model in q8', '']);
    await page.getByText('Could not be measured: no model in q8').waitFor();
    await page.getByText('times as many as transformers.js fp32').waitFor();
    await page.getByText('- transformers.js 0.0.0-stub, 1 thread').waitFor();
    expect('messages', said, []);
  } finally {
    await close();
    host.close();
  }
}

/** url: of the folder with the built page, which is `folder` on this machine. */
export async function drive(browser, url, folder) {
  const { page, said, close } = await open(browser, `${url}proof.html`);
  await check('proof: light, before: axe-core', () => accessible(page));
  await check('proof: the bits of 1,000 vectors are as published', () => bits(page));
  await check('proof: figures of every kind', () => figures(page));
  await check('proof: light, with results: axe-core', () => accessible(page));
  await check('proof: nothing is wider than the screen', () => narrow(page, 1280));
  await check('proof: says plainly that there is no transformers.js', async () => {
    await page.getByText('Not compared with transformers.js: this page was served without it').waitFor();
  });
  await check('proof: the table, to copy', () => copied(page));
  await check('proof: stops at once, and keeps what it has', () => stopped(page));
  await check('proof: nothing on the console', () => expect('messages', said, []));
  await check('proof: a model that is not there', () => unreachable(page));
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 844 });
  await check('proof: dark, phone: axe-core', () => accessible(page));
  await check('proof: dark, phone: nothing is wider than the screen', () => narrow(page));
  await close();
  await check('proof: beside a rival', () => besideRival(browser, folder));
}

/** In another engine: `page` is what engines.mjs opens. */
export async function inEngine(name, page) {
  await check(`${name}: proof: the bits of 1,000 vectors are as published`, async () => {
    await page.becomes(() => document.querySelector('.proof-run button') !== null);
    await page.evaluate(() => {
      const labels = [...document.querySelectorAll('.proof-model .choice label')];
      labels.find(({ textContent }) => textContent === 'Bundled model').click();
    });
    await page.evaluate(() => document.querySelector('.proof-run button').click());
    await page.becomes(() => document.querySelectorAll('.proof-bits dd > strong').length === 3);
    const found = await page.evaluate(() => [...document.querySelectorAll('.proof-bits dd > code')].map((one) => one.textContent));
    expect('hashes', found, Object.values(kPublished));
    await page.evaluate(() => document.querySelector('.proof-run button').click());
  });
}
