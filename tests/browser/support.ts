// Shared by the browser tests: the browsers, a server with faults, and pages that answer calls.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import puppeteer, { type Browser, type ElementHandle, type Page } from 'puppeteer-core';
import { launchWebKit, type WebKit, type WebKitPage } from '../../tools/lib/webkit.mjs';
import { root, tiny } from '../web/support.js';

const kTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const kPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
const kChromiumFlags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']; // prettier-ignore

const kPatience = 240_000; // ms that anything may take before it counts as never

/** What the tests must know of an engine to say what they expect. */
interface Engine {
  /** The WebAssembly that it gets. */
  wasm: 'relaxed' | 'simd';
  /** Whether its driver picks directories. */
  picksDirectories: boolean;
  /** Whether isolated pages have threads; Safari's do, WebKitGTK's have no SharedArrayBuffer. */
  hasThreads: boolean;
  /** Whether pages can write the origin's private files. */
  keepsFiles: boolean;
}

/** The browsers, where they are, and what is expected of them. */
export const kBrowsers = {
  Chromium: { path: process.env.CHROME ?? '/usr/bin/chromium', variable: 'CHROME', wasm: 'relaxed', picksDirectories: true, hasThreads: true, keepsFiles: true },
  Firefox: { path: process.env.FIREFOX ?? '/usr/bin/firefox-esr', variable: 'FIREFOX', wasm: 'relaxed', picksDirectories: false, hasThreads: true, keepsFiles: true },
  WebKit: { path: process.env.WEBKIT ?? '/usr/bin/WebKitWebDriver', variable: 'WEBKIT', wasm: 'simd', picksDirectories: false, hasThreads: false, keepsFiles: false },
} as const satisfies Record<string, Engine & { path: string; variable: string }>; // prettier-ignore

export type BrowserName = keyof typeof kBrowsers;

/** The suites in one browser, which is started once for all of them. */
export function inBrowser(name: BrowserName, suites: Record<string, (browser: OpenBrowser) => void>): void {
  const { path, variable } = kBrowsers[name];
  const there = existsSync(path);
  const title = there ? name : `${name} (skipped: none at ${path}; set ${variable})`;
  (there ? describe : describe.skip)(title, () => {
    const browser = new OpenBrowser(name);
    beforeAll(() => browser.open());
    for (const [title, suite] of Object.entries(suites)) describe(title, () => suite(browser));
    afterAll(() => browser.close()); // after those of the suites
  });
}

/** A page of any browser. */
export interface OpenPage {
  /** Calls a function of the page's (page/page.js) and gives what it answers. */
  call(name: string, ...args: unknown[]): Promise<any>;
  /** Waits until a global of the page is more than `least`. */
  counts(name: string, least: number): Promise<void>;
  pick(selector: string, ...files: string[]): Promise<void>;
  close(): Promise<void>;
}

/** A browser with a profile of its own, and all that its pages said. */
export class OpenBrowser {
  readonly said: string[] = [];
  readonly engine: Engine;
  private puppeteer: Browser | undefined;
  private webkit: WebKit | undefined;
  private profile = '';

  constructor(
    readonly name: BrowserName,
    private readonly options: { sharedMemory?: boolean } = {},
  ) {
    this.engine = kBrowsers[name];
  }

  async open(): Promise<void> {
    const { path } = kBrowsers[this.name];
    if (this.name === 'WebKit') {
      this.webkit = await launchWebKit(path, { patience: kPatience, ...this.options });
      return;
    }
    const isChromium = this.name === 'Chromium';
    this.profile = mkdtempSync(join(tmpdir(), 'wattn-browser-'));
    this.puppeteer = await puppeteer.launch({
      browser: isChromium ? 'chrome' : 'firefox',
      executablePath: path,
      userDataDir: this.profile,
      args: isChromium ? kChromiumFlags : [],
      headless: true,
      timeout: kPatience,
      protocolTimeout: kPatience,
    });
  }

  /** A page at that URL, once it says that it is ready. */
  async page(url: string): Promise<OpenPage> {
    if (this.webkit) {
      const page = await this.webkit.open(url, (line) => this.said.push(line));
      await page.becomes('() => globalThis.ready');
      return new PageOfWebKit(page);
    }
    const page = await (this.puppeteer as Browser).newPage();
    page.setDefaultTimeout(kPatience);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    await page.goto(url);
    await page.waitForFunction('globalThis.ready');
    return new PageOfPuppeteer(page);
  }

  async close(): Promise<void> {
    await this.puppeteer?.close();
    await this.webkit?.close();
    if (this.profile) rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

export class PageOfPuppeteer implements OpenPage {
  constructor(readonly inside: Page) {}

  call(name: string, ...args: unknown[]): Promise<any> {
    return this.inside.evaluate((name, args) => (globalThis as any)[name](...args), name, args as any[]);
  }

  async counts(name: string, least: number): Promise<void> {
    await this.inside.waitForFunction((name, least) => (globalThis as any)[name] > least, {}, name, least);
  }

  async pick(selector: string, ...files: string[]): Promise<void> {
    await ((await this.inside.$(selector)) as ElementHandle<HTMLInputElement>).uploadFile(...files);
    await this.inside.waitForFunction((selector) => document.querySelector<any>(selector).files.length > 0, {}, selector);
  }

  close(): Promise<void> {
    return this.inside.close();
  }
}

class PageOfWebKit implements OpenPage {
  constructor(private readonly inside: WebKitPage) {}

  call(name: string, ...args: unknown[]): Promise<any> {
    return this.inside.evaluate('(name, args) => globalThis[name](...args)', name, args);
  }

  counts(name: string, least: number): Promise<void> {
    return this.inside.becomes('(name, least) => globalThis[name] > least', name, least);
  }

  pick(selector: string, ...files: string[]): Promise<void> {
    return this.inside.upload(selector, files);
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
 * it knows first. open: pages of other origins may load everything. policy: directives added to the Content-Security-Policy; trusted: where scripts and
 * requests may come from, too.
 */
export async function servePages({
  isolated = false,
  open = false,
  policy = '',
  trusted = '',
  hub = (_request: IncomingMessage, _response: ServerResponse): boolean => false,
} = {}): Promise<PageServer> {
  const folders: [string, string][] = [
    ['/dist/', join(root, 'dist')],
    ['/model/', tiny],
    ['/decoder/', join(root, 'tests/goldens/decoders/llama')],
    ['/engines/', join(root, 'tests/engines')],
    ['/goldens/', join(root, 'tests/goldens')],
    ['/', join(root, 'tests/browser/page')],
  ];
  const server: Server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '', 'http://localhost').pathname);
    if (open) response.setHeader('access-control-allow-origin', '*');
    if (hub(request, response)) return;
    const own = open ? `http://${request.headers.host}` : `'self' ${trusted}`; // to WebKit, a sandboxed frame's 'self' is nothing
    response.setHeader('content-security-policy', kPolicy.replaceAll("'self'", own) + policy);
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
  server.unref(); // a test that failed may not have closed it
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
