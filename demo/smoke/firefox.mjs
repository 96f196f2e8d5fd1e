// The page in Firefox: every panel opens and does its first work, with the numbers that Node computes.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFirefox } from '../../tools/setup.mjs';
import { check, counts, expect } from './support.mjs';
import { matrixOfNode } from './compare.mjs';

/** What is there once a panel has computed something. */
const kSigns = {
  search: '.found-piece',
  classify: '.explained .word',
  attention: '.heads .head canvas',
  positions: '.heatmap canvas',
  tokens: '.tokenizer .chip',
  about: '.layer-table tbody tr',
};

async function firstPanel(page) {
  const texts = await page.$$eval('.sentence textarea', (areas) => areas.map(({ value }) => value));
  await page.waitForFunction((cells) => document.querySelectorAll('.matrix .cell').length === cells, {}, texts.length ** 2);
  const found = await page.$$eval('.matrix .cell', (cells) => cells.map(({ textContent }) => textContent));
  expect('the matrix', found, await matrixOfNode(texts));
}

export async function drive(url) {
  const path = findFirefox();
  if (!path || !existsSync(path)) {
    console.log('skipped: there is no Firefox (set FIREFOX to its path)');
    counts.skipped += 1;
    return;
  }
  const { default: puppeteer } = await import('puppeteer-core');
  const userDataDir = mkdtempSync(join(tmpdir(), 'wattn-firefox-'));
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: path, userDataDir, headless: true });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const said = [];
    page.on('console', (message) => ['error', 'warn'].includes(message.type()) && said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(url);
    await page.waitForSelector('.sentence textarea');
    await check("Firefox: the matrix is Node's", () => firstPanel(page));
    for (const [name, sign] of Object.entries(kSigns)) {
      await check(`Firefox: ${name}`, async () => {
        await page.click(`.tabs a[href="#${name}"]`);
        await page.waitForSelector(`[data-panel="${name}"] ${sign}`);
      });
    }
    await check('Firefox: nothing on the console', () => expect('messages', said, []));
  } finally {
    await browser.close();
    rmSync(userDataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
