// Without a network: the second visit finds the page, the model in the package, and the index of Search.
import { check, expect, open, serve, within } from './support.mjs';

const hitsOf = (page) => page.locator('.found-piece').allInnerTexts();

async function ask(page, query) {
  await page.waitForSelector('[data-index]');
  await page.locator('#find').fill(query);
  await page.waitForSelector('.found[aria-busy=false]');
}

/** In the page: resolves once its files are kept and the service worker answers. */
async function activated() {
  const { active } = await navigator.serviceWorker.ready;
  while (active.state !== 'activated') await new Promise((next) => active.addEventListener('statechange', next, { once: true }));
}

/** folder: the built page. */
export async function drive(browser, folder, panels) {
  const host = await serve(folder, { withModel: false });
  const { page, said, close } = await open(browser, `${host.url}#search`, { serviceWorkers: 'allow' });
  let expected;
  await check('offline: the first visit builds an index, and the page is kept', async () => {
    await ask(page, 'something to drink in the evening');
    expected = await hitsOf(page);
    if (expected.length === 0) throw new Error('no hits');
    await within('the service worker', page.evaluate(activated));
  });
  host.close();
  await check('offline: the second visit finds page, model and index', async () => {
    await page.context().setOffline(true);
    await page.reload();
    await page.waitForSelector('[data-index="restored"]');
    await ask(page, 'something to drink in the evening');
    expect('hits', await hitsOf(page), expected);
  });
  await check('offline: every panel is there', async () => {
    for (const name of panels) {
      await page.goto(`${host.url}#${name}`);
      await page.waitForSelector(`[data-panel="${name}"] article h2`);
    }
    expect('errors', await page.locator('.error').count(), 0);
  });
  await check('offline: nothing on the console', () => expect('messages', said, []));
  await close();
}
