// A page whose package is on another origin (a CDN or asset host), from which engines cannot start workers.
import { pipeline } from 'wattn';
import { failure, tiny } from '../web/support.js';
import { servePages, type OpenBrowser, type PageServer } from './support.js';

export function elsewhere(browser: OpenBrowser): void {
  const text = 'the old bridge';
  const { engine } = browser;
  let host: PageServer;
  let expected: number[];

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = Array.from((await embed(text)).data);
    await embed.dispose();
    host = await servePages({ open: true });
  });
  afterAll(() => host?.close());

  async function onPage(
    settings: Parameters<typeof servePages>[0],
    run: (ask: (options: object) => Promise<any>) => Promise<void>,
  ) {
    const server = await servePages({ trusted: host.url, ...settings });
    const page = await browser.page(server.url);
    try {
      await run((options) => page.call('fromElsewhere', host.url, options, text));
    } finally {
      await page.close();
      server.close();
    }
  }

  it('has workers', async () => {
    await onPage({ policy: `; worker-src blob: ${host.url}` }, async (ask) => {
      expect(await ask({ worker: true })).toMatchObject({ data: expected, workers: 1 });
    });
  });

  it('has threads where it is isolated, in a worker, too', async () => {
    if (!engine.hasThreads) return;
    await onPage({ policy: `; worker-src blob: ${host.url}`, isolated: true }, async (ask) => {
      expect(await ask({ threads: 2 })).toMatchObject({ data: expected, threads: 2, workers: 0 });
      expect(await ask({ threads: 2, worker: true })).toMatchObject({ data: expected, threads: 2, workers: 1 });
    });
  });

  it('says what the page must allow where its policy forbids it', async () => {
    await onPage({}, async (ask) => {
      expect(String(await failure(ask({ worker: true })))).toMatch(/UnsupportedError: worker: .*worker-src/);
      expect(await ask({})).toMatchObject({ data: expected, workers: 0 });
    });
  });
}
