// What the tests in browsers share: the browsers, a server with faults, and pages that answer calls.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import puppeteer, { type Browser, type ElementHandle, type Page } from 'puppeteer-core';
import { root, tiny } from '../web/support.js';

const kTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const kPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
const kChromiumFlags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']; // prettier-ignore

const kPatience = 240_000; // ms that anything may take before it counts as never

export const kBrowsers = [
  { name: 'Chromium', path: process.env.CHROME || '/usr/bin/chromium', variable: 'CHROME' },
  { name: 'Firefox', path: process.env.FIREFOX || '/usr/bin/firefox-esr', variable: 'FIREFOX' },
];

/** describe for each browser that there is. */
export function inBrowsers(name: string, tests: (browser: OpenBrowser) => void): void {
  for (const browser of kBrowsers) {
    const there = existsSync(browser.path);
    const title = there ? '' : ` (skipped: none at ${browser.path}; set ${browser.variable})`;
    (there ? describe : describe.skip)(`${name} in ${browser.name}${title}`, () => tests(new OpenBrowser(browser)));
  }
}

/** A browser with a profile of its own, and all that its pages said. */
export class OpenBrowser {
  readonly said: string[] = [];
  private browser: Browser | undefined;
  private profile = '';

  constructor(private readonly which: (typeof kBrowsers)[number]) {}

  get isChromium(): boolean {
    return this.which.name === 'Chromium';
  }

  async open(): Promise<void> {
    this.profile = mkdtempSync(join(tmpdir(), 'wattn-browser-'));
    this.browser = await puppeteer.launch({
      browser: this.isChromium ? 'chrome' : 'firefox',
      executablePath: this.which.path,
      userDataDir: this.profile,
      args: this.isChromium ? kChromiumFlags : [],
      headless: true,
      timeout: kPatience,
      protocolTimeout: kPatience,
    });
  }

  /** A page at that URL, once it says that it is ready. */
  async page(url: string): Promise<OpenPage> {
    const page = await (this.browser as Browser).newPage();
    page.setDefaultTimeout(kPatience);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    await page.goto(url);
    await page.waitForFunction('globalThis.ready');
    return new OpenPage(page);
  }

  async close(): Promise<void> {
    await this.browser?.close();
    if (this.profile) rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

export class OpenPage {
  constructor(readonly inside: Page) {}

  /** Calls a function of the page's (page/page.js) and gives what it answers. */
  call(name: string, ...args: unknown[]): Promise<any> {
    return this.inside.evaluate((name, args) => (globalThis as any)[name](...args), name, args as any[]);
  }

  async pick(selector: string, ...files: string[]): Promise<void> {
    await ((await this.inside.$(selector)) as ElementHandle<HTMLInputElement>).uploadFile(...files);
    await this.inside.waitForFunction((selector) => document.querySelector<any>(selector).files.length > 0, {}, selector);
  }

  close(): Promise<void> {
    return this.inside.close();
  }
}

export interface PageServer {
  url: string;
  close(): void;
}

/**
 * The page, dist/, the tiny model and a decoder; /slow/ never ends; /app/ answers everything with the page, as some servers do. hub: answers what
 * it knows first. open: frames of other origins may load everything. policy: directives added to the Content-Security-Policy.
 */
export async function servePages({
  isolated = false,
  open = false,
  policy = '',
  hub = (_request: IncomingMessage, _response: ServerResponse): boolean => false,
} = {}): Promise<PageServer> {
  const folders: [string, string][] = [
    ['/dist/', join(root, 'dist')],
    ['/model/', tiny],
    ['/decoder/', join(root, 'tests/goldens/decoders/llama')],
    ['/', join(root, 'tests/browser/page')],
  ];
  const server: Server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '', 'http://localhost').pathname);
    if (open) response.setHeader('access-control-allow-origin', '*');
    if (hub(request, response)) return;
    response.setHeader('content-security-policy', kPolicy + policy);
    if (isolated) {
      response.setHeader('cross-origin-opener-policy', 'same-origin');
      response.setHeader('cross-origin-embedder-policy', 'require-corp');
    }
    if (path.startsWith('/slow/')) return void response.writeHead(200, { 'content-length': 1000 }).write('{');
    const [prefix, folder] = folders.find(([start]) => path.startsWith(start)) as [string, string];
    const file = join(folder, path === '/' || path.startsWith('/app/') ? 'index.html' : path.slice(prefix.length));
    if (!existsSync(file)) return void response.writeHead(404).end();
    const body = readFileSync(file);
    response
      .writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream', 'content-length': body.length })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
