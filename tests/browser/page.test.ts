// The built package in real Chromium, under a strict Content-Security-Policy.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { pipeline } from 'wattn';
import { expectNear, mixedTexts, readJson, root, tiny } from '../web/support.js';

const chrome = process.env.CHROME || '/usr/bin/chromium';
const there = existsSync(chrome);
const inBrowser = there ? describe : describe.skip;

const kTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const kPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
const kFlags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']; // prettier-ignore

/** The page, dist/ and the tiny model; /slow/ never ends; /app/ answers everything with the page, as some servers do. */
async function serve(isolated = false): Promise<Server> {
  const folders: [string, string][] = [
    ['/dist/', join(root, 'dist')],
    ['/model/', tiny],
    ['/', join(root, 'tests/browser/page')],
  ];
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
    response.setHeader('content-security-policy', kPolicy);
    if (isolated) {
      response.setHeader('cross-origin-opener-policy', 'same-origin');
      response.setHeader('cross-origin-embedder-policy', 'require-corp');
    }
    if (path.startsWith('/slow/')) return response.writeHead(200, { 'content-length': 1000 }).write('{');
    const [prefix, folder] = folders.find(([start]) => path.startsWith(start)) as [string, string];
    const file = join(folder, path === '/' || path.startsWith('/app/') ? 'index.html' : path.slice(prefix.length));
    if (!existsSync(file)) return response.writeHead(404).end();
    const body = readFileSync(file);
    return response
      .writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream', 'content-length': body.length })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

inBrowser(`a page${there ? '' : ` (skipped: no Chromium at ${chrome}; set CHROME)`}`, () => {
  const texts = mixedTexts(100);
  const said: string[] = [];
  let server: Server;
  let profile: string;
  let context: BrowserContext;
  let page: Page;
  let expected: number[];

  const call = (name: string, ...args: unknown[]) =>
    page.evaluate(([name, args]: any) => (globalThis as any)[name](...args), [name, args]);

  beforeAll(async () => {
    const embed = await pipeline('feature-extraction', tiny);
    expected = Array.from((await embed(texts)).data);
    await embed.dispose();
    server = await serve();
    profile = mkdtempSync(join(tmpdir(), 'wattn-chromium-'));
    context = await chromium.launchPersistentContext(profile, { executablePath: chrome, headless: true, args: kFlags });
    page = await context.newPage();
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction('globalThis.ready');
  });
  afterAll(async () => {
    await context?.close();
    server?.closeAllConnections();
    server?.close();
    if (profile) rmSync(profile, { recursive: true, force: true });
  });

  for (const kind of ['url', 'place', 'near', 'bytes', 'blobs']) {
    it(`gives the bits of Node from a model by ${kind}`, async () => {
      const out = await call('embed', kind, texts);
      expect(out.dims).toEqual([100, 32]);
      expect(out.data).toEqual(expected);
      expect(out.wasm).toBe('relaxed');
      const steps = out.events.filter((event: any) => event.status === 'progress');
      expect(steps.at(-1)).toMatchObject({ loaded: 165622, total: 165622, progress: 100 });
      expect(out.events.at(-1).status).toBe('ready');
    });
  }

  it('gives the bits of Node from Files of a picked directory', async () => {
    await page.setInputFiles('#directory', tiny);
    expect((await call('embed', 'files', texts)).data).toEqual(expected);
  });

  it('equals the reference', async () => {
    const { rows, torch_f32_to_exact } = readJson('bert-tiny/embeddings.json');
    const out = await call('embed', 'url', rows.map((row: any) => row.text)); // prettier-ignore
    expectNear(out.data, rows.flatMap((row: any) => row.vector), torch_f32_to_exact); // prettier-ignore
  });

  it('gives the bits of Node from a module worker', async () => {
    expect(await call('inWorker', texts)).toEqual({ data: expected, dims: [100, 32] });
  });

  it('names what went wrong', async () => {
    const typed = (name: string, message: RegExp) => ({ name, message: expect.stringMatching(message), isWattnError: true });
    expect(await call('failing', '/app/')).toMatchObject(typed('ModelFormatError', /HTML came in place of this file from http/));
    expect(await call('failing', '/gone/')).toMatchObject(
      typed('ModelFormatError', /expected this file .*http:\/\/127\.0\.0\.1:\d+\/gone\//),
    );
    expect(await call('failing', '/model/', { wasmUrl: '/gone.wasm' })).toMatchObject(
      typed('NetworkError', /gone\.wasm, found status 404/),
    );
    expect(await call('failing', '/model/', { wasmUrl: '/app/x.wasm' })).toMatchObject(
      typed('NetworkError', /found HTML \(text\/html/),
    );
    expect(await call('failing', '/model/', { local_files_only: true })).toMatchObject(typed('InputError', /needs the network/));
    expect(await call('failing', '/gone/', { worker: true })).toMatchObject(typed('ModelFormatError', /expected this file/));
    said.splice(0).forEach((line) => expect(line).toMatch(/404/)); // the browser's own word on files that are not there
  });

  it('has one thread, and says why', async () => {
    const { info, data } = await call('inMode', { threads: 4 }, texts);
    expect(info).toMatchObject({ threads: 1, threads_reason: 'this page is not cross-origin isolated', workers: 0 });
    expect(data).toEqual(expected);
  });

  it('gives the same bits in worker mode and from a pool', async () => {
    for (const worker of [true, 2]) {
      const { info, data } = await call('inMode', { worker }, texts);
      expect(info).toMatchObject({ workers: Number(worker), wasm: 'relaxed' });
      expect(data).toEqual(expected);
    }
  });

  it('has threads when it is isolated, on its own thread and in a worker, and the same bits', async () => {
    const isolated = await serve(true);
    const other = await context.newPage();
    other.on('console', (message) => said.push(message.text()));
    await other.goto(`http://127.0.0.1:${(isolated.address() as AddressInfo).port}/`);
    await other.waitForFunction('globalThis.ready');
    for (const options of [{ threads: 2 }, { threads: 3, dtype: 'f32' }, { threads: 2, worker: true }]) {
      const { info, data } = (await other.evaluate(
        ([options, texts]: any) => (globalThis as any).inMode(options, texts),
        [options, texts],
      )) as any;
      expect(info.threads_reason).toBeUndefined();
      expect(info.threads).toBe(options.threads);
      expect(data).toEqual(expected);
    }
    await other.close();
    isolated.closeAllConnections();
    isolated.close();
  });

  it('stops loading when told', async () => {
    expect(await call('aborted')).toEqual(['AbortError', 'enough']);
    expect((await call('embed', 'url', texts)).data).toEqual(expected);
  });

  it('stays silent, and within its policy', () => {
    expect(said).toEqual([]);
  });
});
