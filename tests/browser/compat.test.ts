// In Chromium: the snippets of tests/compat/snippets.md, and a page in JSX with a worker (tests/compat/page), with only the import changed.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { build } from 'esbuild';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { hubFile, kStopped, snippets } from '../compat/hub.mjs';
import { writeModels } from '../compat/models.mjs';
import { goldens, root } from '../web/support.js';
import { kBrowsers } from './support.js';

const { path } = kBrowsers.Chromium;
const kTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
/** In the import's place: the package, whose hub is this server. */
const kShim = `export * from '/dist/index.js';
import { env } from '/dist/index.js';
import * as jinja from '/jinja.js';
Object.assign(env, { remoteHost: location.origin, jinja });`;
// What needs Node is not for pages.
const kSnippets = snippets().filter(({ code }) => !code.includes('node:'));

(existsSync(path) ? describe : describe.skip)(
  `programs in Chromium${existsSync(path) ? '' : ` (skipped: none at ${path})`}`,
  () => {
    let place: string;
    let server: Server;
    let browser: Browser;
    let page: Page;
    const files = new Map<string, string>([
      ['/', '<!doctype html><div id="root"></div>'],
      ['/page', '<!doctype html><div id="root"></div><script type="module" src="/app.js"></script>'],
      ['/shim.js', kShim],
      ['/jinja.js', readFileSync(join(root, 'node_modules/@huggingface/jinja/dist/index.js'), 'utf8')],
      ...kSnippets.map(({ code }, i): [string, string] => [
        `/${i}.js`,
        code.replaceAll("'@huggingface/transformers'", "'/shim.js'"),
      ]),
    ]);

    beforeAll(async () => {
      place = mkdtempSync(join(tmpdir(), 'wattn-compat-'));
      writeModels(goldens, place);
      const { outputFiles } = await build({
        entryPoints: ['app.jsx', 'worker.js'].map((name) => join(root, 'tests/compat/page', name)),
        alias: { '@huggingface/transformers': '/shim.js', react: 'preact/compat', 'react-dom/client': 'preact/compat/client' },
        external: ['/shim.js'],
        jsx: 'automatic',
        jsxImportSource: 'preact',
        bundle: true,
        format: 'esm',
        write: false,
        outdir: '/',
      });
      for (const { path, text } of outputFiles) files.set(path, text);
      server = createServer(({ url = '/' }, response) => {
        const { pathname } = new URL(url, 'http://localhost');
        const body = pathname.startsWith('/dist/')
          ? readFileSync(join(root, pathname))
          : (files.get(pathname) ?? hubFile(place, pathname));
        if (body === undefined) return void response.writeHead(404).end();
        response.writeHead(200, { 'content-type': kTypes[extname(pathname) || '.html'] ?? 'application/octet-stream' }).end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      browser = await puppeteer.launch({
        executablePath: path,
        args: ['--no-sandbox', '--disable-gpu'],
        timeout: 240_000,
        protocolTimeout: 240_000,
      });
      page = await browser.newPage();
    }, 240_000);
    afterAll(async () => {
      await browser?.close();
      server?.closeAllConnections();
      server?.close();
      rmSync(place, { recursive: true });
    });
    const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

    it.each(kSnippets.map(({ title, output }, i) => [title, output, i] as const))(
      '%s',
      async (title, output, i) => {
        await page.goto(address());
        const said = await page.evaluate(async (file) => {
          const lines: string[] = [];
          console.log = (...args) =>
            void lines.push(args.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' '));
          return import(file).then(
            () => lines.join('\n'),
            (error) => `failed: ${error.message}`,
          );
        }, `/${i}.js`);
        if (kStopped[title]) return expect(said).toMatch(kStopped[title]);
        expect(said).not.toMatch(/^failed/);
        expect(said).toContain(output);
        expect(said).not.toMatch(/undefined|NaN/);
      },
      240_000,
    );

    it('a page in JSX with a worker', async () => {
      await page.goto(`${address()}/page`);
      const read = (id: string) => page.$eval(id, (element) => element.textContent ?? '');
      await page.waitForFunction(() => document.querySelectorAll('#labels li').length > 1, { timeout: 240_000 });
      expect(await read('#labels li')).toMatch(/^POSITIVE 0\.\d\d$/);
      await page.click('button');
      await page.waitForFunction(() => document.querySelector('#whole')?.textContent, { timeout: 240_000 });
      expect((await read('#pieces')).trim()).toBe((await read('#whole')).trim());
    }, 240_000);
  },
);
