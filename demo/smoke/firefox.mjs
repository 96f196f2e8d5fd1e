// The page in Firefox: every panel opens and does its first work, with the numbers that Node computes.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFirefox } from '../../tools/setup.mjs';
import { check, counts, expect, kPatience } from './support.mjs';
import { matrixOfNode } from './compare.mjs';

async function firstPanel(page) {
  const texts = await page.$$eval('.sentence textarea', (areas) => areas.map(({ value }) => value));
  await page.waitForFunction((cells) => document.querySelectorAll('.matrix .cell').length === cells, {}, texts.length ** 2);
  const found = await page.$$eval('.matrix .cell', (cells) => cells.map(({ textContent }) => textContent));
  expect('the matrix', found, await matrixOfNode(texts));
}

/** panels: by name, what smoke/ has of each. */
export async function drive(url, panels) {
  const path = findFirefox();
  if (!path || !existsSync(path)) {
    console.log('skipped: there is no Firefox (set FIREFOX to its path)');
    counts.skipped += 1;
    return;
  }
  const { default: puppeteer } = await import('puppeteer-core');
  const userDataDir = mkdtempSync(join(tmpdir(), 'wattn-firefox-'));
  const limits = { timeout: kPatience, protocolTimeout: 2 * kPatience };
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: path, userDataDir, headless: true, ...limits });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(kPatience);
    const said = [];
    page.on('console', (message) => ['error', 'warn'].includes(message.type()) && said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(url);
    await page.waitForSelector('.sentence textarea');
    await check("Firefox: the matrix is Node's", () => firstPanel(page));
    for (const [name, { sign }] of Object.entries(panels)) {
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
