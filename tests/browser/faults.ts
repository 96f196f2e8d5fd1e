// Faults of downloads and storage, and models that are loaded twice or disposed too early, in real browsers.
import { pipeline } from 'wattn';
import { kPiece, longFiles, RangeHub } from '../web/range_hub.js';
import { filesOf, mixedTexts, tiny, until } from '../web/support.js';
import { PageOfPuppeteer, servePages, type OpenBrowser, type OpenPage, type PageServer } from './support.js';

export function faults(browser: OpenBrowser): void {
  let hub: RangeHub;
  let server: PageServer;
  let page: OpenPage;
  let expected: number[];
  const total = () => (hub.files.get('model.safetensors') as Uint8Array).length;

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = Array.from((await embed(['the river', 'a boat'])).data);
    await embed.dispose();
  });
  // An origin for each test: in ephemeral sessions, as WebKit's driver has, WebKit 2.50 stores nothing more for the origin of a closed page.
  beforeEach(async () => {
    hub = new RangeHub(longFiles());
    server = await servePages({ hub: (request, response) => hub.answer(request, response) });
    page = await browser.page(server.url);
  });
  afterEach(async () => {
    await page.close();
    server.close();
    browser.said.splice(0); // each broken connection, in the browser's own words
  });

  it('keeps what it downloads, and needs no network for it again', async () => {
    expect(await page.call('fromHub')).toEqual(expected);
    expect(hub.weights().length).toBe(1);
    expect((await page.call('listed')).every(({ complete }: any) => complete)).toBe(true);
    hub.requests = [];
    hub.refusals = Infinity;
    expect(await page.call('fromHub')).toEqual(expected);
    expect(await page.call('fromHub', { worker: true })).toEqual(expected);
    expect(hub.weights()).toEqual([]);
    hub.requests = [];
    expect(await page.call('fromHub', { local_files_only: true })).toEqual(expected);
    expect(hub.requests).toEqual([]);
  });

  it('is repaired after a download that was killed on its way', async () => {
    for (const tenth of [1, 4, 7, 10]) {
      // each of them in Node: tests/web/cache.test.ts
      await page.call('emptied');
      hub.cut = Math.floor((tenth * total()) / 10) - 1;
      expect(await page.call('fromHubFailing')).toMatch(/^NetworkError: model\.safetensors: the connection broke after \d+ of \d+/);
      const kept = Math.floor(hub.cut / kPiece) * kPiece;
      hub.cut = Infinity;
      hub.requests = [];
      expect(await page.call('fromHub')).toEqual(expected);
      const own = hub.weights();
      expect(own.length).toBeLessThanOrEqual(1);
      expect(Number(/bytes=(\d+)/.exec(own[0] ?? '')?.[1] ?? 0)).toBeLessThanOrEqual(kept); // what reached the page may be less
    }
  });

  it('repairs a piece that was changed, cut or removed', async () => {
    await page.call('fromHub');
    for (const how of ['changed', 'cut', 'removed']) {
      await page.call('damaged', how);
      expect(await page.call('fromHub')).toEqual(expected);
      hub.requests = [];
      expect(await page.call('fromHub')).toEqual(expected);
      expect(hub.weights()).toEqual([]);
    }
  });

  it('keeps nothing of HTML and of files that are not there', async () => {
    hub.files.set('config.json', new TextEncoder().encode('<!doctype html><title>Log in</title>'));
    expect(await page.call('fromHubFailing')).toMatch(/^ModelFormatError: config\.json: expected this file from .*, found HTML/);
    hub.files.delete('config.json');
    expect(await page.call('fromHubFailing')).toMatch(/^ModelFormatError: config\.json: expected this file/);
    hub.files.set('config.json', filesOf(tiny).get('config.json') as Uint8Array);
    expect(await page.call('fromHub')).toEqual(expected);
  });

  it('loads where nothing more can be kept', async () => {
    if (page instanceof PageOfPuppeteer && browser.name === 'Chromium') {
      // No other driver changes the quota.
      const client = await page.inside.createCDPSession();
      await client.send('Storage.overrideQuotaForOrigin', { origin: server.url, quotaSize: 2_000_000 });
      expect(await page.call('fromHub')).toEqual(expected);
      expect(await page.call('listed')).not.toContainEqual({ file: 'model.safetensors', complete: true });
      await client.send('Storage.overrideQuotaForOrigin', { origin: server.url });
    }
    await page.call('emptied');
    await page.call('full');
    expect(await page.call('fromHub')).toEqual(expected);
    expect(await page.call('listed')).toEqual([]);
  });

  it('downloads once for two tabs, and the second goes on when the first is closed', async () => {
    const other = await browser.page(server.url);
    expect(await Promise.all([page.call('fromHub'), other.call('fromHub'), page.call('fromHub', { worker: true })])).toEqual([
      expected,
      expected,
      expected,
    ]);
    expect(hub.weights().length).toBe(1);
    await other.call('emptied');
    hub.requests = [];
    let goOn = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    hub.between = () => gate;
    const left = page.call('fromHub').catch(() => 'closed');
    await until(() => hub.weights().length > 0);
    await other.call('countRefusedLocks');
    const stays = other.call('fromHub');
    await other.counts('refusedLocks', 1); // it waits for the first
    hub.between = undefined;
    await page.close();
    expect(await left).toBe('closed');
    expect(await stays).toEqual(expected);
    goOn();
    await other.close();
    page = await browser.page(server.url);
  });

  it('loads whichever call to the cache fails', async () => {
    hub.files.set('model.safetensors', filesOf(tiny).get('model.safetensors') as Uint8Array); // few pieces
    for (let n = 1; ; n += process.env['WATTN_SCALE'] ? 1 : 13) {
      await page.call('emptied');
      await page.call('failNthBrowserCall', n, { error: 'QuotaExceededError', after: n % 2 === 0 });
      const data = await page.call('fromHubFailing');
      const made = await page.call('endBrowserFaults');
      expect([n, made[n - 1], data]).toEqual([n, made[n - 1], undefined]);
      expect(await page.call('fromHub')).toEqual(expected);
      if (made.length < n) break;
    }
  });

  it('is begun twice, as by the strict mode of React', async () => {
    for (const options of [{}, { worker: true }]) {
      await page.call('emptied');
      const { given, data } = await page.call('begunTwice', options);
      expect(given).toMatch(/^AbortError/);
      expect(data).toEqual(expected);
    }
  });

  it('ends a call whose model is let go of, by name', async () => {
    for (const options of [{}, { worker: true }]) {
      const { running, after } = await page.call('disposedWhileRunning', options);
      expect([running, after]).toEqual(['StateError: this model was disposed', 'StateError: this model was disposed']);
    }
  });

  it('embeds in a shared worker and in a service worker, and after that without any server', async () => {
    const texts = mixedTexts(20);
    const embed = await pipeline('feature-extraction', tiny);
    const data = Array.from((await embed(texts)).data);
    await embed.dispose();
    expect(await page.call('inSharedWorker', texts)).toMatchObject({ data, label: 'POSITIVE' });
    const alone = await servePages({ hub: (request, response) => hub.answer(request, response) });
    const first = await browser.page(alone.url);
    expect(await first.call('inServiceWorker', texts)).toMatchObject({ data, label: 'POSITIVE' });
    await first.close();
    const second = await browser.page(alone.url); // all of it passes the service worker now
    expect(await second.call('fromHub')).toEqual(expected);
    alone.close();
    const third = await browser.page(alone.url);
    expect(await third.call('fromHub')).toEqual(expected);
    await Promise.all([second.close(), third.close()]); // together, see beforeEach
  });

  it('loads in a sandboxed frame without a cache, and names what a worker needs there', async () => {
    const own = await servePages({ open: true, hub: (request, response) => hub.answer(request, response) });
    const outer = await browser.page(own.url);
    const [data, inWorker, listed] = await outer.call('inFrame', 'allow-scripts', [
      ['fromHub'],
      ['fromHubFailing', { worker: true }],
      ['listedFailing'],
    ]);
    expect(data).toEqual(expected);
    expect(inWorker).toMatch(
      /^(UnsupportedError: worker: this page may not start a worker: .*allow-same-origin.*without the option 'worker'|StateError: worker: failed)/,
    );
    expect(listed).toMatch(/^InputError: cache: not available/);
    await outer.close();
    own.close();
  });

  it('loads under Trusted Types, and names what a worker needs there', async () => {
    const own = await servePages({ policy: "; require-trusted-types-for 'script'", hub: (...about) => hub.answer(...about) });
    const strict = await browser.page(own.url);
    expect(await strict.call('fromHub')).toEqual(expected);
    const inWorker = await strict.call('fromHubFailing', { worker: true });
    if (await strict.call('hasTrustedTypes'))
      expect(inWorker).toMatch(
        /^UnsupportedError: worker: this page may not start a worker: .*Trusted Types need a default policy/,
      );
    else expect(inWorker).toBeUndefined(); // an engine that ignores the policy
    await strict.close();
    own.close();
  });
}
