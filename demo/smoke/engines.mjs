// The page in Firefox and in WebKit: every panel opens and does its first work, with the numbers that Node computes; then the page Proof.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchWebKit } from '../../tools/lib/webkit.mjs';
import { findFirefox, findWebKit } from '../../tools/setup.mjs';
import { matrixOfNode } from './compare.mjs';
import * as proof from './proof.mjs';
import { check, counts, expect, kPatience, serve } from './support.mjs';

/** A page of Firefox: a function called in it, a wait for one to answer something true. */
async function inFirefox(path, url, said) {
  const { default: puppeteer } = await import('puppeteer-core');
  const userDataDir = mkdtempSync(join(tmpdir(), 'wattn-firefox-'));
  const limits = { timeout: kPatience, protocolTimeout: 2 * kPatience };
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: path, userDataDir, headless: true, ...limits });
  const close = async () => {
    await browser.close();
    rmSync(userDataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(kPatience);
    page.on('console', (message) => ['error', 'warn'].includes(message.type()) && said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(url);
    return {
      evaluate: (work, ...args) => page.evaluate(work, ...args),
      becomes: (work, ...args) => page.waitForFunction(work, {}, ...args),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function inWebKit(path, url, said) {
  const browser = await launchWebKit(path, { patience: kPatience });
  const close = () => browser.close();
  try {
    const page = await browser.open(url, (line) => said.push(line));
    return { evaluate: (...call) => page.evaluate(...call), becomes: (...call) => page.becomes(...call), close };
  } catch (error) {
    await close();
    throw error;
  }
}

export const kEngines = {
  Firefox: { find: findFirefox, open: inFirefox, variable: 'FIREFOX' },
  WebKit: { find: findWebKit, open: inWebKit, variable: 'WEBKIT' },
};

const textsOf = (page, selector) =>
  page.evaluate((selector) => [...document.querySelectorAll(selector)].map((one) => one.value || one.textContent), selector);

/** The story ends with the sentence's cosines, which are the last that it computes. */
async function story(page) {
  await page.becomes(() => document.querySelector('.story-share') !== null);
  await page.evaluate(() => document.querySelector('.story-next').click());
  await page.becomes(() => document.querySelectorAll('.story-steps button').length === 8);
  await page.evaluate(() => document.querySelectorAll('.story-steps button')[7].click());
  await page.becomes(() => document.querySelectorAll('.story-meaning .num').length === 3);
  const [text] = await textsOf(page, '#story-text');
  const others = await textsOf(page, '.story-meaning li > span:first-child');
  const [row] = [await matrixOfNode([text, ...others])];
  expect('the cosines', await textsOf(page, '.story-meaning .num'), row.slice(1, 4));
}

async function firstPanel(page) {
  await page.evaluate(() => void (location.hash = 'compare'));
  const isThere = (selector, count) => document.querySelectorAll(selector).length === count;
  await page.becomes((selector) => document.querySelector(selector) !== null, '.sentence textarea');
  const texts = await textsOf(page, '.sentence textarea');
  await page.becomes(isThere, '.matrix .cell', texts.length ** 2);
  expect('the matrix', await textsOf(page, '.matrix .cell'), await matrixOfNode(texts));
}

/** name: of kEngines. folder: the built page. panels: by name, what smoke/ has of each. */
export async function drive(name, folder, panels) {
  const { find, open, variable } = kEngines[name];
  const path = find();
  if (!path) {
    console.log(`skipped: there is no ${name} (set ${variable} to its path)`);
    counts.skipped += 1;
    return;
  }
  const said = [];
  const host = await serve(folder, { withEar: name === 'WebKit' });
  let page;
  try {
    page = await open(path, host.url, said);
    await check(`${name}: the story ends with Node's numbers`, () => story(page));
    await check(`${name}: the matrix is Node's`, () => firstPanel(page));
    for (const [panel, { sign }] of Object.entries(panels)) {
      await check(`${name}: ${panel}`, async () => {
        await page.evaluate((hash) => void (location.hash = hash), panel);
        await page.becomes((selector) => document.querySelector(selector) !== null, `[data-panel="${panel}"] ${sign}`);
      });
    }
    await page.close();
    page = await open(path, `${host.url}proof.html`, said);
    await proof.inEngine(name, page);
    await check(`${name}: nothing on the console`, () => expect('messages', said, []));
  } finally {
    await page?.close();
    host.close();
  }
}
