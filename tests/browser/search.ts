// Index in real browsers: storage, several tabs, and a full disk.
import { randomBytes } from 'node:crypto';
import { servePages, type OpenBrowser, type OpenPage, type PageOfPuppeteer, type PageServer } from './support.js';

const documents = ['The bakery opens at seven.', 'The train leaves at noon.', 'Cats sleep all day.'].map((text, i) => ({
  id: `d${i}`,
  text,
}));

export function search(browser: OpenBrowser): void {
  let server: PageServer;
  let page: OpenPage;
  const kinds = browser.engine.keepsFiles ? ['opfs', 'indexeddb'] : ['indexeddb'];
  const idsOf = (hits: { id: string }[]) => hits.map(({ id }) => id);

  beforeEach(async () => {
    server = await servePages();
    page = await browser.page(server.url);
  });
  afterEach(async () => {
    await page.close();
    server.close();
  });

  it('keeps an index, and finds the same again', async () => {
    expect((await page.call('index', 'default', {}, 'info')).store).toBe(kinds[0]);
    for (const store of kinds) {
      const call = (method: string, ...args: unknown[]) => page.call('index', 'notes', { store }, method, ...args);
      expect(await call('add', documents)).toEqual({ added: 3, updated: 0, unchanged: 0 });
      expect(await call('delete', 'd2')).toBe(1);
      const hits = await call('search', 'bakery');
      expect(idsOf(hits)[0]).toBe('d0');
      await call('dispose');
      expect(await call('search', 'bakery')).toEqual(hits);
      expect(await call('info')).toMatchObject({ store, documents: 2, stale: 0 });
      // Twenty writes, which become fewer.
      for (let i = 0; i < 20; ++i) await call('add', { id: `more${i}`, text: `more ${i}` });
      await call('dispose');
      expect(await call('size')).toBe(22);
      await call('dispose');
    }
  });

  it('follows what another tab writes', async () => {
    const other = await browser.page(server.url);
    for (const store of kinds) {
      const [one, two] = [page, other].map(
        (tab) =>
          (method: string, ...args: unknown[]) =>
            tab.call('index', 'shared', { store }, method, ...args),
      );
      expect([await one!('size'), await two!('size')]).toEqual([0, 0]);
      await one!('add', documents);
      await expect(eventually(async () => idsOf(await two!('search', 'bakery', { mode: 'words' })))).resolves.toEqual(['d0']);
      await Promise.all([one!('add', { id: 'left', text: 'left side' }), two!('add', { id: 'right', text: 'right side' })]);
      for (const tab of [one!, two!]) {
        await expect(eventually(async () => idsOf(await tab('search', 'side', { mode: 'words' })).sort(), 2)).resolves.toEqual([
          'left',
          'right',
        ]);
      }
      await two!('dispose');
      expect(await two!('size')).toBe(5);
      await Promise.all([one!('dispose'), two!('dispose')]);
    }
    await other.close();
  });

  it('tells of any damage, and repair keeps the rest', async () => {
    for (const store of kinds) {
      const call = (method: string, ...args: unknown[]) => page.call('index', 'damaged', { store }, method, ...args);
      await call('add', documents[0]);
      await call('add', documents.slice(1));
      await call('delete', 'd1');
      await call('dispose');
      const { silent, untyped, refused, whole } = await page.call('damagedIndex', 'damaged', store, 23);
      expect([store, silent, untyped]).toEqual([store, [], []]);
      expect(refused).toBeGreaterThan(50);
      expect(whole).toBeGreaterThan(8); // the head has two files
      const of = (method: string) => page.call('ofIndex', method, 'damaged', { store });
      expect(await of('check')).toMatchObject({ name: 'damaged', store, sound: true, documents: 2, problems: [] });
      expect(await of('repair')).toMatchObject({ documents: 2, lost: [] });
      expect(await page.call('ofIndex', 'list', { store })).toEqual([{ name: 'damaged', store }]);
      await of('delete');
      expect(await page.call('ofIndex', 'list', { store })).toEqual([]);
    }
  });

  it('loses nothing of two tabs that nothing keeps from writing at once', async () => {
    const other = await browser.page(server.url);
    const tabs = [page, other];
    for (const tab of tabs) await tab.call('forbidLocks');
    const write = async (tab: OpenPage, name: string) => {
      for (let i = 0; i < 20; ++i) {
        const answer = await tab.call('index', 'at once', { store: 'indexeddb' }, 'add', { id: `${name}${i}`, text: 'text' });
        expect(answer).toEqual({ added: 1, updated: 0, unchanged: 0 });
      }
    };
    await Promise.all([write(page, 'a'), write(other, 'b')]);
    await other.close();
    await page.call('index', 'at once', {}, 'dispose');
    expect(await page.call('index', 'at once', { store: 'indexeddb' }, 'size')).toBe(40);
    if (browser.engine.keepsFiles) {
      expect(await page.call('index', 'locked', { store: 'opfs' }, 'size')).toMatch(/^InputError: .*navigator\.locks is missing/);
    }
  });

  it('loses nothing when any call to a store fails', async () => {
    for (const store of kinds) {
      for (let n = 1, made = n; made >= n; n += 2) {
        const name = `${store} ${n}`;
        const call = (method: string, ...args: unknown[]) => page.call('index', name, { store }, method, ...args);
        await page.call('failNthBrowserCall', n);
        const answers = [await call('add', documents[0]), await call('add', documents[1])];
        made = (await page.call('endBrowserFaults')).length;
        for (const answer of answers) if (typeof answer === 'string') expect(answer).toMatch(/^(State|Input)Error: Index: /);
        await call('dispose');
        const size = await call('size');
        expect([name, size >= answers.filter((answer) => typeof answer !== 'string').length]).toEqual([name, true]);
        expect(await call('add', documents[2])).toMatchObject({ added: 1 });
        await call('dispose');
        expect(await page.call('ofIndex', 'check', name, { store })).toMatchObject({ sound: true, documents: size + 1 });
      }
    }
  });

  it('is found where it was begun', async () => {
    if (!browser.engine.keepsFiles) return;
    expect(await page.call('index', 'here', {}, 'add', documents)).toMatchObject({ added: 3 });
    await page.call('index', 'here', {}, 'dispose');
    expect(await page.call('index', 'there', { store: 'indexeddb' }, 'add', documents)).toMatchObject({ added: 3 });
    await page.call('index', 'there', {}, 'dispose');
    expect((await page.call('index', 'there', {}, 'info')).store).toBe('indexeddb');
    await page.call('forbidStores', ['opfs']);
    expect(await page.call('index', 'here', {}, 'size')).toMatch(
      /^StateError: Index: 'here' is in the origin private file system, which cannot be read now/,
    );
    expect(await page.call('index', 'new', {}, 'size')).toBe(0);
  });

  it('has all that was finished after a tab was closed while it wrote', async () => {
    for (const store of kinds) {
      const writer = await browser.page(server.url);
      const left = writer.call('indexOnAndOn', 'closed', { store }).catch(() => 'closed');
      await writer.counts('written', 12);
      await writer.close();
      expect(await left).toBe('closed');
      const size = await page.call('index', 'closed', { store }, 'size');
      expect(size).toBeGreaterThanOrEqual(13);
      const hits = await page.call('index', 'closed', { store }, 'search', 'text', { mode: 'words', top_k: 1000 });
      expect(idsOf(hits).sort()).toEqual(Array.from({ length: size }, (_, i) => String(i)).sort());
      expect(await page.call('index', 'closed', { store }, 'add', documents)).toMatchObject({ added: 3 });
      await page.call('index', 'closed', {}, 'dispose');
    }
  });

  it('takes the store that a private mode allows, or says that there is none', async () => {
    if (browser.engine.keepsFiles) {
      await page.call('forbidStores', ['opfs']);
      expect((await page.call('index', 'private', {}, 'info')).store).toBe('indexeddb');
      expect(await page.call('index', 'private', {}, 'add', documents)).toMatchObject({ added: 3 });
    }
    await page.call('forbidStores', ['opfs', 'indexeddb']);
    expect(await page.call('index', 'refused', {}, 'size')).toBe(
      "InputError: Index: 'refused' cannot be kept: this page may not store data (SecurityError: The operation is insecure.); use store: 'memory'",
    );
    expect(await page.call('index', 'inside', { store: 'memory' }, 'add', documents)).toMatchObject({ added: 3 });
  });

  it('cuts, embeds and searches while the model is in a worker', async () => {
    const { documents, chunks, dim, meanwhile, ids } = await page.call('indexInWorker', 60);
    expect({ documents, dim }).toEqual({ documents: 60, dim: 32 });
    expect(chunks).toBeGreaterThan(100);
    expect(meanwhile.length).toBeGreaterThan(1);
    expect(meanwhile.every(Boolean)).toBe(true);
    expect(ids).toHaveLength(3);
  });

  if (browser.name !== 'Chromium') return; // no other driver changes the quota
  it('loses nothing when the disk is full', async () => {
    const client = await (page as PageOfPuppeteer).inside.createCDPSession();
    const big = Array.from({ length: 40 }, (_, i) => ({ id: `big${i}`, text: randomBytes(100_000).toString('hex') }));
    // Private files: to IndexedDB the driver's quota does not apply.
    const call = (method: string, ...args: unknown[]) =>
      page.call('index', 'full', { store: 'opfs', chunk: false }, method, ...args);
    expect(await call('add', documents)).toMatchObject({ added: 3 });
    await client.send('Storage.overrideQuotaForOrigin', { origin: server.url, quotaSize: 2_000_000 });
    expect(await call('add', big)).toMatch(/^StateError: Index: 'full' cannot store \d+ bytes \(.*Quota.*stored data is unchanged/);
    await client.send('Storage.overrideQuotaForOrigin', { origin: server.url });
    const size = await call('size');
    expect(size).toBeGreaterThanOrEqual(3);
    expect(size).toBeLessThan(43);
    await call('dispose');
    expect(await call('size')).toBe(size);
    expect(idsOf(await call('search', 'bakery', { mode: 'words' }))).toEqual(['d0']);
    expect(await call('add', { id: 'after', text: 'room again' })).toMatchObject({ added: 1 });
  });
}

/** What a list is once it has as many entries as asked for. Another tab's message may come a moment later. */
async function eventually(ask: () => Promise<string[]>, least = 1): Promise<string[]> {
  for (;;) {
    const list = await ask();
    if (list.length >= least) return list;
  }
}
