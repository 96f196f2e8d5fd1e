// The page Proof: the published bits, a table of speeds, stopping, and what it says where something is missing.
import { accessible, becomes, check, clickAsSoonAs, expect, kPatience, narrow, open } from './support.mjs';
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

/** Every figure is there and above zero. */
async function figures(page) {
  const text = await page.locator('.proof-copy pre').textContent();
  const lines = text.split('\n').filter((line) => line.startsWith('| '));
  const [names, , ...rows] = lines.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim())); // prettier-ignore
  expect('rows', rows.map(([name]) => name), kDtypes.map((dtype) => `wattn ${dtype}`)); // prettier-ignore
  for (const column of ['texts/s', 'ms per text', 'one text alone', 'first vector', 'WebAssembly memory', 'code', 'model files']) {
    const at = names.indexOf(column);
    for (const row of rows) if (!(parseFloat(row[at]) > 0)) throw new Error(`${row[0]}, ${column}: ${row[at]}`);
  }
  return rows.map(([name, speed]) => `${name} ${speed}`).join(', ');
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
  await page.getByText('Stopped. What was measured until then is below.').waitFor();
  expect('hashes', (await codes(page)).map((code) => code === '…'), [false, true, true]); // prettier-ignore
  await becomes('workers', () => page.workers().length, 0);
}

/** A hub that cannot be reached: each contender says so, and the page goes on. */
async function unreachable(page) {
  await page.locator('.proof-model .choice label', { hasText: 'From the hub' }).click();
  await page.getByLabel('Hub id, or URL of a folder').fill(new URL('nothing/', page.url()).href);
  await again(page).click();
  await page.getByText('Could not be measured').nth(2).waitFor();
  await again(page).waitFor();
}

/** url: of the folder with the built page. */
export async function drive(browser, url) {
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
