// wattn/react in Chromium, with React's own renderer in development, under StrictMode. tests/web/react.test.ts has servers and types.
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { build } from 'esbuild';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { root, tiny } from '../web/support.js';
import { kBrowsers } from './support.js';

const { path } = kBrowsers.Chromium;
const kTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
/** The package, with each call of `pipeline` noted: whether it was aborted, loaded and disposed. The task `late` ends a load when the test says, aborted or not. */
const kShim = `export * from '/dist/index.js';
import { pipeline as load } from '/dist/index.js';
const calls = (globalThis.calls = []);
export async function pipeline(task, model, options) {
  const call = { aborted: 0, loaded: 0, disposed: 0 };
  calls.push(call);
  options.signal.addEventListener('abort', () => ++call.aborted);
  if (task === 'late') await new Promise((resolve) => (globalThis.arrive = resolve));
  const pipe = await (task === 'late' ? load('feature-extraction', model) : load(task, model, options));
  ++call.loaded;
  return Object.assign((...args) => pipe(...args), { dispose: () => (++call.disposed, pipe.dispose()) });
}`;

(existsSync(path) ? describe : describe.skip)(`usePipeline${existsSync(path) ? '' : ` (skipped: none at ${path})`}`, () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  let waiting: ServerResponse[] = [];
  const said: string[] = [];
  const files = new Map<string, string>([
    ['/', '<!doctype html><div id="root"></div><script type="module" src="/react.js"></script>'],
    ['/shim.js', kShim],
  ]);

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [join(root, 'tests/browser/page/react.js')],
      alias: { 'wattn/react': join(root, 'dist/react_entry.js'), wattn: '/shim.js' },
      external: ['/shim.js'],
      define: { 'process.env.NODE_ENV': '"development"' },
      bundle: true,
      format: 'esm',
      write: false,
      outdir: '/',
    });
    files.set('/react.js', outputFiles[0]!.text);
    server = createServer(({ url = '/' }, response) => {
      const { pathname } = new URL(url, 'http://localhost');
      if (pathname.startsWith('/slow/')) return void waiting.push(response);
      const file = pathname.startsWith('/model/') ? join(tiny, pathname.slice(7)) : join(root, pathname);
      const isFile = pathname.startsWith('/dist/') || pathname.startsWith('/model/');
      const body = files.get(pathname) ?? (isFile && existsSync(file) ? readFileSync(file) : undefined);
      if (body === undefined) return void response.writeHead(pathname === '/favicon.ico' ? 204 : 404).end();
      response.writeHead(200, { 'content-type': kTypes[extname(pathname) || '.html'] ?? 'application/octet-stream' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await puppeteer.launch({
      executablePath: path,
      args: ['--no-sandbox', '--disable-gpu'],
      timeout: 240_000,
      protocolTimeout: 240_000,
    });
  }, 240_000);
  beforeEach(async () => {
    page = await browser.newPage();
    said.length = 0;
    waiting = [];
    page.on('console', (message) => void (/^(error|warn)/.test(message.type()) && said.push(message.text())));
    page.on('pageerror', (error) => void said.push(String(error)));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    for (const each of waiting) each.destroy();
    await page.close();
    expect(said.filter((text) => !/404/.test(text))).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  interface Shown {
    id: string;
    key?: string;
    task?: string;
    model?: string | { url: string } | null;
    options?: object | null;
  }
  const kModel = '/model/';
  const kHere = { task: 'feature-extraction', model: kModel };
  const show = (...components: Shown[]) =>
    page.evaluate((list) => (globalThis as any).show(...list), components.map((each) => ({ ...kHere, ...each })) as any[]); // prettier-ignore
  const shows = (id: string, text: string) =>
    page.waitForFunction((id, text) => document.getElementById(id)?.textContent === text, { timeout: 240_000 }, id, text);
  const calls = (): Promise<{ aborted: number; loaded: number; disposed: number }[]> =>
    page.evaluate(() => (globalThis as any).calls);
  const until = (what: string) => page.waitForFunction(what, { timeout: 240_000 });
  const statesOf = (id: string): Promise<[string, number][]> =>
    page.evaluate((id) => (globalThis as any).states[id].map(({ status, progress }: any) => [status, progress]), id);
  const kReady = 'ready 100 1,32';
  const loaded = { aborted: 0, loaded: 1, disposed: 0 };
  const gone = { aborted: 1, loaded: 1, disposed: 1 };

  it('loads once under StrictMode, and says how far it is', async () => {
    await show({ id: 'a' });
    await shows('a', kReady);
    expect(await calls()).toEqual([loaded]);
    const states = await statesOf('a');
    expect([states[0], states.at(-1)]).toEqual([['loading', 0], ['ready', 100]]); // prettier-ignore
    const progress = states.map(([, each]) => each);
    expect(progress).toEqual([...progress].sort((x, y) => x - y));
    expect(states.length).toBe(new Set(states.map(String)).size); // none twice
  }, 240_000);

  it('shares a model, and disposes it when the last component is gone', async () => {
    await show({ id: 'a' }, { id: 'b', options: null });
    await Promise.all([shows('a', kReady), shows('b', kReady)]);
    expect(await page.evaluate('states.a.at(-1).run === states.b.at(-1).run')).toBe(true);
    await show({ id: 'b' });
    await show({ id: 'b' }, { id: 'c', options: { dtype: undefined } });
    await shows('c', kReady);
    expect(await calls()).toEqual([loaded]);
    await show();
    await until('calls[0].disposed');
    expect(await calls()).toEqual([gone]);
    await show({ id: 'd' });
    await shows('d', kReady);
    expect(await calls()).toEqual([gone, loaded]);
  }, 240_000);

  it('stays when one component takes over from another', async () => {
    await show({ id: 'a', key: '1' });
    await shows('a', kReady);
    await show({ id: 'b', key: '2' });
    await shows('b', kReady);
    expect(await calls()).toEqual([loaded]);
  }, 240_000);

  it('loads another model for other arguments, and disposes the first', async () => {
    await show({ id: 'a', options: { dtype: 'q8' } });
    await shows('a', kReady);
    await show({ id: 'a', options: { dtype: 'f16' } });
    await until('calls[1]?.loaded && calls[0].disposed');
    await shows('a', kReady);
    await show({ id: 'a', model: { url: kModel }, options: { threads: 1, dtype: 'f16' } });
    await until('calls[2]?.loaded && calls[1].disposed');
    await show({ id: 'a', model: { url: kModel }, options: { dtype: 'f16', threads: 1 } });
    await shows('a', kReady);
    expect(await calls()).toEqual([gone, gone, loaded]);
  }, 240_000);

  it('ends a load when the component is gone, and begins anew', async () => {
    await show({ id: 'a', model: '/slow/' }, { id: 'b', model: '/slow/' });
    await shows('a', 'loading 0 ');
    await show({ id: 'a', model: '/slow/' });
    expect(await calls()).toEqual([{ aborted: 0, loaded: 0, disposed: 0 }]);
    await show();
    await until('calls[0].aborted');
    await show({ id: 'a', model: '/slow/' });
    await until('calls.length === 2');
    await show({ id: 'a' });
    await shows('a', kReady);
    const ended = { aborted: 1, loaded: 0, disposed: 0 };
    expect(await calls()).toEqual([ended, ended, loaded]);
  }, 240_000);

  it('disposes a model that arrives too late', async () => {
    await show({ id: 'a', task: 'late' });
    await until('calls[0]?.aborted === 0');
    await show();
    await until('calls[0].aborted && globalThis.arrive');
    await page.evaluate('arrive()');
    await until('calls[0].loaded && calls[0].disposed');
    expect(await calls()).toEqual([gone]);
    expect(await statesOf('a')).toEqual([['loading', 0]]);
  }, 240_000);

  it('gives an error to all, and tries again for who comes next', async () => {
    await show({ id: 'a', model: '/nowhere/' }, { id: 'b', model: '/nowhere/' });
    await Promise.all([shows('a', 'error 0 ModelFormatError'), shows('b', 'error 0 ModelFormatError')]);
    expect((await calls()).length).toBe(1);
    await show({ id: 'a', model: '/nowhere/' });
    await show({ id: 'a', model: '/nowhere/' }, { id: 'b', model: '/nowhere/' });
    await shows('b', 'error 0 ModelFormatError');
    expect((await calls()).length).toBe(1); // as somebody still shows the error
    await show({ id: 'a', key: 'again', model: '/nowhere/' });
    await until('calls.length === 2');
    await shows('a', 'error 0 ModelFormatError');
    await show({ id: 'a' });
    await shows('a', kReady);
    expect((await calls()).length).toBe(3);
  }, 240_000);

  it('works with a worker', async () => {
    await show({ id: 'a', options: { worker: true } });
    await shows('a', kReady);
    await show();
    await until('calls[0].disposed');
    expect(await calls()).toEqual([gone]);
  }, 240_000);

  it.each(['signal', 'progress_callback'])('refuses the option %s', async (name) => {
    await show({ id: 'a', options: { [name]: 1 } });
    await shows('caught', `usePipeline: option '${name}': expected none, as the hook sets it; it returns 'progress'`);
    expect(await calls()).toEqual([]);
  });
});
