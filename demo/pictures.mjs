// The pictures of the page in README.md, and the one that links to the page show, taken anew: `node demo/pictures.mjs` after `npm run build`, where there is a Chromium.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findChromium } from '../tools/setup.mjs';
import { launch, open, serve, settled } from './smoke/support.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

async function story(page) {
  await page.locator('.contrast:not(.is-one)').waitFor();
  await page.getByText('looks more at').first().waitFor();
}

async function whole(page) {
  await page.locator('[data-weights=ready]').waitFor();
}

async function search(page) {
  await page.locator('[data-index]').waitFor();
  await page.locator('.found[aria-busy=false] .found-piece').first().click();
}

async function teach(page) {
  await page.locator('.teach .word').first().waitFor();
  await page.getByRole('button', { name: 'Fine-tune' }).click();
  await page.locator('[data-tuned]').waitFor();
  await page.locator('#tune-title').evaluate((title) => scrollBy(0, title.getBoundingClientRect().top - 12));
}

const out = mkdtempSync(join(tmpdir(), 'wattn-pictures-'));
const vite = await import('vite');
await vite.build({ configFile: here('vite.config.ts'), logLevel: 'warn', build: { outDir: out } });
const host = await serve(out, { withModel: false });
const browser = await launch(findChromium());
for (const [path, panel, drive, options] of [
  ['../docs/demo-light.png', 'story', story, { viewport: { width: 1280, height: 860 } }],
  ['../docs/demo-whole.jpg', 'whole', whole, { viewport: { width: 1280, height: 860 } }],
  ['../docs/demo-dark.png', 'search', search, { viewport: { width: 1280, height: 990 }, colorScheme: 'dark' }],
  ['../docs/demo-phone.png', 'teach', teach, { viewport: { width: 390, height: 844 } }],
  ['public/og.png', 'story', story, { viewport: { width: 1600, height: 840 }, deviceScaleFactor: 0.75 }], // 1200 x 630
]) {
  const { page, said, close } = await open(browser, `${host.url}#${panel}`, { reducedMotion: 'reduce', ...options });
  await page.locator('#model-title', { hasText: /^wattn-default/ }).waitFor();
  await drive(page);
  await settled(page);
  await page.screenshot({ path: here(path) });
  if (said.length > 0) console.log(said.join('\n'));
  await close();
}
await browser.close();
host.close();
rmSync(out, { recursive: true, force: true });
