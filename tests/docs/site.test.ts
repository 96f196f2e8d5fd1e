// The documentation as readers see it: its examples run in their pages, nothing leaves the site, and axe finds nothing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { blocksOf, kOrder } from '../../tools/docs/examples.mjs';
import { forTinyModels, hubFiles } from '../web/guide_models.js';
import { root } from '../web/support.js';

const site = join(root, 'build/docs');
const chrome = process.env['CHROME'] ?? '/usr/bin/chromium';
const kPatience = 240_000; // ms that anything may take before it counts as never
const kTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const titleOf = (name: string) =>
  (/^# (.*)/m.exec(readFileSync(join(root, 'docs', `${name}.md`), 'utf8')) as RegExpExecArray)[1] as string;
const pageOf = (name: string) => `documents/${titleOf(name).replace(/[^\w,.-]/g, '_')}.html`;

const there = existsSync(chrome);
if (!there) console.warn(`skipped: no Chromium at ${chrome}; set CHROME`);
if (!existsSync(join(site, 'index.html'))) throw new Error('build/docs is missing: npm run docs makes it');

/** All pages, by their paths. */
const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));

describe('the site', () => {
  it('has pages whose links lead to files of the site', () => {
    const missing = new Set<string>();
    for (const name of pages) {
      const html = readFileSync(join(site, name), 'utf8');
      for (const [, link] of html.matchAll(/(?:href|src)="([^"#?:]+)(?:[#?][^"]*)?"/g)) {
        if (!existsSync(join(site, name, '..', decodeURIComponent(link as string)))) missing.add(`${name}: ${link}`);
      }
    }
    expect([...missing]).toEqual([]);
    expect(pages.length).toBeGreaterThan(300);
  });

  it('loads scripts, styles and pictures from itself alone', () => {
    const foreign = pages.filter((name) =>
      /<(script|link|img|iframe)[^>]* (src|href)="(https?:)?\/\//.test(readFileSync(join(site, name), 'utf8')),
    );
    expect(foreign).toEqual([]);
  });

  it('has llms.txt with every guide', () => {
    const text = readFileSync(join(site, 'llms.txt'), 'utf8');
    for (const name of kOrder) expect(text).toContain(`(docs/${name}.md)`);
    const full = readFileSync(join(site, 'llms-full.txt'), 'utf8');
    expect(full.length).toBeGreaterThan(500_000);
    for (const name of ['function pipeline', 'class Trainer', 'const Index', 'type ModelOptions']) expect(full).toContain(name);
  });
});

(there ? describe : describe.skip)('the pages', () => {
  const hub = hubFiles();
  let server: Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url: string;
  let said: string[];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname);
      const file = join(site, path === '/' ? 'index.html' : path);
      if (!existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    browser = await chromium.launch({ executablePath: chrome, args: ['--no-sandbox'], timeout: kPatience });
  });
  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
  });

  /** Opens a page; what is asked of the hub is answered with tiny models. */
  async function open(name: string, options = {}): Promise<void> {
    context = await browser.newContext(options);
    context.setDefaultTimeout(kPatience);
    await context.route('https://huggingface.co/**', (route) => {
      const bytes = hub.get(decodeURIComponent(new URL(route.request().url()).pathname).slice(1));
      const headers = { 'access-control-allow-origin': '*', 'content-type': 'application/octet-stream' };
      return route.fulfill({ status: bytes ? 200 : 404, headers, body: Buffer.from(bytes ?? []) });
    });
    page = await context.newPage();
    said = [];
    page.on('console', (message) => {
      if (message.type() === 'error' && !/404/.test(message.text())) said.push(message.text());
    });
    page.on('pageerror', (error) => said.push(error.message));
    await page.goto(url + name);
  }
  afterEach(() => context.close());

  /** Runs the example of that number, and gives what it says. */
  async function run(number: number): Promise<{ state: string | null; output: string | null }> {
    const bar = page.locator(`pre[data-example="${number}"] + .example-bar`);
    await bar.getByRole('button', { name: 'Run' }).click();
    const state = bar.locator('.example-state', { hasText: /^(done|ended|stopped)/ });
    await state.waitFor();
    const output = page.locator(`pre[data-example="${number}"] + .example-bar + iframe`).contentFrame().locator('output');
    return { state: await state.textContent(), output: await output.textContent() };
  }

  const kExamples = [['index.html', 'README.md'], ...kOrder.map((name) => [pageOf(name), `docs/${name}.md`])].map(([at, file]) => {
    const blocks = blocksOf(readFileSync(join(root, file as string), 'utf8')).map((block, i) => ({ ...block, i }));
    return { at: at as string, file: file as string, runs: blocks.filter((block) => block.page) };
  });

  it.each(kExamples.filter(({ runs }) => runs.length > 0))('$file: every example runs in the page', async ({ at, runs }) => {
    await open(at);
    expect(await page.locator('pre[data-example]').count()).toBe(runs.length);
    for (const { i, code } of runs) {
      if (forTinyModels(code) !== code) await page.locator(`pre[data-example="${i}"] code`).fill(forTinyModels(code));
      const { state, output } = await run(i);
      expect([i, output, state]).toEqual([i, output, expect.stringMatching(/^done in [\d.]+ s$/)]);
      if (/console\.log|\/\/ => /.test(code)) expect([i, output]).not.toEqual([i, '']);
    }
    expect(said).toEqual([]);
  });

  it('an example can be changed, fails with its error, is stopped and reset', async () => {
    await open(pageOf('start'));
    const code = page.locator('pre[data-example="0"] code');
    const bar = page.locator('pre[data-example="0"] + .example-bar');
    const before = await code.textContent();
    expect(await bar.getByRole('button', { name: 'Reset' }).isVisible()).toBe(false);
    await code.fill("console.log([1.5, 'two'], { three: [3, 3] });\n6 * 7; // => 42");
    expect(await run(0)).toMatchObject({ output: '[ 1.5, "two" ] { three: [ 3, 3 ] }42' });
    await code.fill("import { pipeline } from 'wattn';\nawait pipeline('no-such-task');");
    expect(await run(0)).toMatchObject({ state: 'ended with an error', output: expect.stringMatching(/^InputError: /) });
    await code.fill('await new Promise(() => {});');
    await bar.getByRole('button', { name: 'Run' }).click();
    await bar.getByRole('button', { name: 'Stop' }).click();
    await bar.locator('.example-state', { hasText: 'stopped' }).waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
    await bar.getByRole('button', { name: 'Reset' }).click();
    expect(await code.textContent()).toBe(before);
    expect(await run(0)).toMatchObject({ output: '[ 2, 384 ]' });
  });

  const kLooks = [
    { viewport: { width: 1280, height: 900 }, colorScheme: 'light' as const },
    { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
  ];
  const kLooked = ['index.html', pageOf('start'), pageOf('training'), 'modules/wattn.html', 'functions/wattn.pipeline.html'];
  it.each(
    kLooks.flatMap((look) => kLooked.map((at) => ({ at, look, name: `${at}, ${look.viewport.width} px, ${look.colorScheme}` }))),
  )('$name: axe finds nothing, and nothing is wider than the screen', async ({ at, look }) => {
    await open(at, look);
    if ((await page.locator('pre[data-example="0"]').count()) > 0 && at.includes('Start')) await run(0);
    await page.evaluate(axe);
    // TypeDoc's theme for the reference: links within summaries, and headings of the fourth level.
    const ofGuides = { enabled: at.startsWith('documents/') };
    const rules = { 'nested-interactive': ofGuides, 'heading-order': ofGuides };
    const { violations } = await page.evaluate((rules) => (globalThis as any).axe.run({ rules }), rules);
    expect(
      violations.map(({ id, nodes }: any) => `${id}: ${nodes.map(({ html }: any) => html.slice(0, 120)).join(' | ')}`),
    ).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(said).toEqual([]);
  });

  it('no guide and no page with a long name is wider than a phone', async () => {
    await open('index.html', { viewport: { width: 390, height: 844 } });
    const kLong = 46; // letters of the path
    const wide: string[] = [];
    const asked = pages.filter((name) => name.startsWith('documents/') || name.length > kLong);
    expect(asked.length).toBeGreaterThan(50);
    for (const name of asked) {
      await page.goto(url + encodeURI(name), { waitUntil: 'domcontentloaded' });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 390) wide.push(`${name}: ${width} px`);
    }
    expect(wide).toEqual([]);
  });
});
