// The pictures of the page in README.md, taken anew: `node demo/pictures.mjs` after `npm run build`, where there is a Chromium.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findChromium } from '../tools/setup.mjs';
import { launch, open, serve, settled } from './smoke/support.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const picture = (page, name) => page.screenshot({ path: here(`../docs/demo-${name}.png`) });

async function search(page) {
  await page.locator('[data-index]').waitFor();
  await page.locator('#find').fill('tips for a good night of sleep');
  await page.locator('.found[aria-busy=false]').waitFor();
  await page.locator('.found-piece').first().click();
}

async function attention(page) {
  await page.locator('#attention-text').fill('The cat sat on the mat because it was tired.');
  await page.locator('.choice label', { hasText: 'Step by step' }).click();
  await page.locator('.head').nth(3).click();
  await page.locator('.steps-line select').selectOption('2');
  await page.getByRole('button', { name: '5. Softmax' }).click();
  await page.getByText(/own attention is the same, to within/).waitFor();
}

async function classify(page) {
  await page.locator('.teach .words, .teach .word').first().waitFor();
  await page.locator('#teach-text').evaluate((field) => scrollBy(0, field.getBoundingClientRect().top - 360));
}

const out = mkdtempSync(join(tmpdir(), 'wattn-pictures-'));
const vite = await import('vite');
await vite.build({ configFile: here('vite.config.ts'), logLevel: 'warn', build: { outDir: out } });
const host = await serve(out, { withModel: false });
const browser = await launch(findChromium());
for (const [name, panel, drive, options] of [
  ['light', 'search', search, { viewport: { width: 1280, height: 1010 } }],
  ['dark', 'attention', attention, { viewport: { width: 1280, height: 990 }, colorScheme: 'dark' }],
  ['phone', 'classify', classify, { viewport: { width: 390, height: 844 } }],
]) {
  const { page, said, close } = await open(browser, `${host.url}#${panel}`, options);
  await page.locator('#model-title', { hasText: /^The model in the package/ }).waitFor();
  await drive(page);
  await settled(page);
  await picture(page, name);
  if (said.length > 0) console.log(said.join('\n'));
  await close();
}
await browser.close();
host.close();
rmSync(out, { recursive: true, force: true });
