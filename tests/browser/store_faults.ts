// Index in real browsers when storage calls fail or the tab closes: reported documents are stored, and the next write works.
import { servePages, type OpenBrowser, type OpenPage, type PageServer } from './support.js';

export function storeFaults(browser: OpenBrowser): void {
  let server: PageServer;
  let page: OpenPage;
  const kinds = browser.engine.keepsFiles ? ['opfs', 'indexeddb'] : ['indexeddb'];
  const kStep = process.env['WATTN_SCALE'] ? 1 : 5;
  const kTyped = /^(InputError|ModelFormatError|StateError|UnsupportedError|OutOfMemoryError|NetworkError|AbortError): /;

  beforeEach(async () => {
    server = await servePages();
    page = await browser.page(server.url);
  });
  afterEach(async () => {
    await page.close();
    server.close();
  });

  /** Calls a method of an index on a page. */
  const on = (tab: OpenPage, name: string, store: string, method: string, ...args: unknown[]) =>
    tab.call('index', name, { store }, method, ...args);

  const expectThere = async (name: string, store: string, ids: string[]) => {
    const found = await on(page, name, store, 'search', 'text', { mode: 'words', top_k: 10 });
    const all = Array.isArray(found) ? found.map(({ id }) => id) : found;
    expect(all).toEqual(expect.arrayContaining(ids));
  };

  it('keeps what was reported, and says what was not stored, whichever call fails', async () => {
    for (const store of kinds) {
      let made: string[] = [];
      for (let n = 1; n === 1 || made.length >= n; n += kStep) {
        const name = `fails ${store} ${n}`;
        await on(page, name, store, 'add', { id: 'before', text: 'text before' });
        await page.call('failNthBrowserCall', n, { error: 'UnknownError', aborts: n % 2 === 0 });
        const said = await on(page, name, store, 'add', { id: 'now', text: 'text now' });
        made = await page.call('endBrowserFaults');
        if (typeof said === 'string') expect([made[n - 1], said]).toEqual([made[n - 1], expect.stringMatching(kTyped)]);
        await on(page, name, store, 'dispose');
        await expectThere(name, store, typeof said === 'string' ? ['before'] : ['before', 'now']);
        expect(await on(page, name, store, 'add', { id: 'after', text: 'text after' })).toMatchObject({ added: 1 });
        await on(page, name, store, 'dispose');
        await expectThere(name, store, ['before', 'after']);
        await on(page, name, store, 'dispose');
      }
    }
  });

  it('keeps what was reported, whichever call is the last before the tab ends', async () => {
    for (const store of kinds) {
      for (let n = 1, dead = true; dead; n += kStep) {
        const name = `ends ${store} ${n}`;
        const tab = await browser.page(server.url);
        await on(tab, name, store, 'add', { id: 'before', text: 'text before' });
        await tab.call('dieAtNthBrowserCall', n);
        const ended = on(tab, name, store, 'add', { id: 'now', text: 'text now' }).then(
          () => false,
          () => true, // closed
        );
        const died = tab.counts('browserDeaths', 0).then(
          () => true,
          () => false,
        );
        dead = await Promise.race([ended, died]);
        await tab.close();
        await expectThere(name, store, dead ? ['before'] : ['before', 'now']);
        expect(await on(page, name, store, 'add', { id: 'after', text: 'text after' })).toMatchObject({ added: 1 });
        await on(page, name, store, 'dispose');
        await expectThere(name, store, ['before', 'after']);
        await on(page, name, store, 'dispose');
      }
    }
  });
}
