// In Chromium: the programs of tests/compat/programs, the snippets of tests/compat/snippets.md, and a page in JSX with a worker (tests/compat/page), with only the
// import changed.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { build } from 'esbuild';
import * as jinja from '@huggingface/jinja';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { env } from 'wattn';
import { hubFile, kStopped, snippets } from '../compat/hub.mjs';
import { kArguments, withImport, writeModels } from '../compat/models.mjs';
import { goldens, root } from '../web/support.js';
import { kBrowsers } from './support.js';

const { path } = kBrowsers.Chromium;
const kTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
/** In the import's place: the package, whose hub is this server. */
const kShim = `export * from '/dist/index.js';
import { env } from '/dist/index.js';
import * as jinja from '/jinja.js';
Object.assign(env, { remoteHost: location.origin, jinja });`;
/** For programs: as in tests/web/compat.test.ts, whose models this server has. */
const kLocalShim = `export * from '/dist/index.js';
import { env } from '/dist/index.js';
import * as jinja from '/jinja.js';
Object.assign(env, { compat: true, allowLocalModels: true, allowRemoteModels: false, localModelPath: '/models/', jinja });`;
// What needs Node is not for pages.
const kFolder = join(root, 'tests/compat/programs');
const kPrograms = readdirSync(kFolder).filter((file) => !/['"]node:|require\(/.test(readFileSync(join(kFolder, file), 'utf8')));
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
      ['/local.js', kLocalShim],
      ...kPrograms.map((file): [string, string] => [
        `/programs/${file.replace('.mjs', '.js')}`,
        withImport(join(kFolder, file), '/local.js'),
      ]),
      ['/jinja.js', readFileSync(join(root, 'node_modules/@huggingface/jinja/dist/index.js'), 'utf8')],
      ...kSnippets.map(({ code }, i): [string, string] => [
        `/${i}.js`,
        code.replaceAll("'@huggingface/transformers'", "'/shim.js'"),
      ]),
    ]);

    beforeAll(async () => {
      place = mkdtempSync(join(root, 'node_modules/.pages-')); // where packages are found
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
          : (files.get(pathname) ?? modelFile(pathname) ?? hubFile(place, pathname));
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
    /** A file of the models in `place`. */
    const modelFile = (pathname: string) => {
      const file = join(place, pathname.replace(/^\/models/, ''));
      return pathname.startsWith('/models/local/') && existsSync(file) ? readFileSync(file) : undefined;
    };
    const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

    it.each(kPrograms)(
      '%s answers as in Node',
      async (file) => {
        const { ...settings } = env;
        const { warn } = console;
        console.warn = () => {};
        Object.assign(env, { compat: true, allowRemoteModels: false, localModelPath: place, jinja });
        writeFileSync(join(place, file), withImport(join(kFolder, file), 'wattn'));
        const expected = await (await import(join(place, file))).default(kArguments);
        console.warn = warn;
        Object.assign(env, settings, { backends: { onnx: { wasm: {} } } });
        await page.goto(address());
        const found = await page.evaluate(
          (file, given) =>
            import(file)
              .then(async ({ default: run }) => JSON.stringify(await run(given)))
              .catch((error) => `failed: ${error.stack}`),
          `/programs/${file.replace('.mjs', '.js')}`,
          kArguments,
        );
        expect(found).toBe(JSON.stringify(expected));
      },
      240_000,
    );

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

    it('without remote models, another origin is refused', async () => {
      await page.goto(address());
      const found = await page.evaluate(
        (file, model) =>
          import(file).then(({ pipeline }) => pipeline('feature-extraction', model)).then(() => 'loaded', ({ message }) => message),
        '/local.js',
        `${address().replace('127.0.0.1', 'localhost')}/models/local/embed/`,
      ); // prettier-ignore
      expect(found).toMatch(/^model: 'http:\/\/localhost:\d+\/models\/local\/embed\/' needs the network/);
    }, 240_000);

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
