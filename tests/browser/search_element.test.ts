// `<wattn-search>` in browsers: keys, screen readers, a strict Content-Security-Policy, and events. tests/web/static_search.test.ts has the index.
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { buildStaticIndex } from '../../web/static_search/build.js';
import { root } from '../web/support.js';
import { kBrowsers } from './support.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const kPatience = 60_000;
const kPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'";
const kHtml = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Search</title><main><h1>Search</h1><p>Type.</p>
<wattn-search src="/search/" shortcut="/" debounce="0"></wattn-search></main><script type="module" src="/page.js"></script></html>`;
const kScript = `const early = document.createElement('wattn-search');
early.texts = { label: 'Early' };
await import('/dist/search_element_entry.js');
globalThis.early = () => (document.body.append(early), early.remove(), early.shadowRoot.querySelector('label').textContent);
globalThis.told = [];
globalThis.blocked = [];
document.addEventListener('securitypolicyviolation', ({ violatedDirective }) => blocked.push(violatedDirective));
const element = (globalThis.element = document.querySelector('wattn-search'));
element.addEventListener('wattn-results', ({ detail }) => told.push([detail.query, detail.hits.length, detail.done]));
element.addEventListener('wattn-select', (event) => { event.preventDefault(); told.push(event.detail.url.replace(location.origin, '')); });
globalThis.state = () => {
  const find = (selector) => element.shadowRoot.querySelector(selector);
  const options = [...element.shadowRoot.querySelectorAll('[role=option]')];
  return {
    open: !find('.panel').hidden,
    expanded: find('input').getAttribute('aria-expanded'),
    active: find('input').getAttribute('aria-activedescendant'),
    chosen: options.findIndex((option) => option.getAttribute('aria-selected') === 'true'),
    titles: options.map((option) => option.querySelector('.title').textContent),
    marks: options.map((option) => [...option.querySelectorAll('mark')].map((mark) => mark.textContent).join()),
    status: find('.status').textContent,
    value: find('input').value,
    width: getComputedStyle(find('.panel')).position,
  };
};`;

const page = (url: string, title: string, text: string) => ({ url, title, sections: [{ fragment: '', headings: [], text }] });

for (const name of ['Chromium', 'Firefox'] as const) {
  const { path } = kBrowsers[name];
  const there = existsSync(path);
  (there ? describe : describe.skip)(`<wattn-search> in ${name}${there ? '' : ` (skipped: none at ${path})`}`, () => {
    let server: Server;
    let browser: Browser;
    let tab: Page;
    const state = () => tab.evaluate('state()') as Promise<any>;
    const until = (condition: string) => tab.waitForFunction(condition, { timeout: kPatience });

    beforeAll(async () => {
      const pages = [
        page('bread.html', 'Bread <b>', 'The bakery sells <i>bread</i> in the morning.'),
        page('train.html', 'Trains', 'The train leaves in the morning, too.'),
      ];
      const files = new Map<string, string | Uint8Array>([
        ['/', kHtml],
        ['/page.js', kScript],
        ...[...(await buildStaticIndex(pages, { site: '../' }))].map(([name, bytes]) => [`/search/${name}`, bytes] as const),
      ]);
      server = createServer(({ url = '/' }, response) => {
        const { pathname } = new URL(url, 'http://localhost');
        const isScript = pathname.endsWith('.js');
        const body =
          files.get(pathname) ?? (isScript && existsSync(join(root, pathname)) ? readFileSync(join(root, pathname)) : undefined);
        if (body === undefined) return void response.writeHead(pathname === '/favicon.ico' ? 204 : 404).end();
        const type = pathname === '/' ? 'text/html' : isScript ? 'text/javascript' : 'application/octet-stream';
        response.writeHead(200, { 'content-type': type, 'content-security-policy': kPolicy }).end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      browser = await puppeteer.launch({
        browser: name === 'Firefox' ? 'firefox' : 'chrome',
        executablePath: path,
        args: name === 'Firefox' ? [] : ['--no-sandbox', '--disable-gpu'],
        timeout: kPatience,
      });
      tab = await browser.newPage();
      await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await until('globalThis.state');
    }, 2 * kPatience);
    afterAll(async () => {
      await browser?.close();
      await new Promise((resolve) => server.close(resolve));
    });
    beforeEach(async () => {
      await tab.evaluate('element.shadowRoot.activeElement?.blur(), element.value = "", told.length = 0');
      await until('!state().open && told.length > 0');
      await tab.evaluate('told.length = 0');
    });

    it('is found by its shortcut, shows hits with marks, and chooses by keys', async () => {
      await tab.keyboard.press('/');
      await tab.keyboard.type('morning');
      await until('told.some(([query, hits, done]) => query === "morning" && done)');
      const shown = await state();
      expect(shown).toMatchObject({
        open: true,
        expanded: 'true',
        chosen: -1,
        active: null,
        status: '2 results',
        width: 'absolute',
      });
      expect(shown.titles.sort()).toEqual(['Bread <b>', 'Trains']);
      expect(shown.marks).toEqual(['morning', 'morning']);
      await tab.keyboard.press('ArrowDown');
      await tab.keyboard.press('ArrowDown');
      expect(await state()).toMatchObject({ chosen: 1, active: 'hit-1' });
      await tab.keyboard.press('ArrowDown');
      expect(await state()).toMatchObject({ chosen: -1, active: null });
      await tab.keyboard.press('ArrowUp');
      expect(await state()).toMatchObject({ chosen: 1 });
      await tab.keyboard.press('Enter');
      expect(await tab.evaluate('told.at(-1)')).toMatch(/^\/(bread|train)\.html$/);
      expect(await state()).toMatchObject({ open: false, expanded: 'false' });
    });

    it('closes with Escape, then empties; says when nothing is found', async () => {
      await tab.keyboard.press('/');
      await tab.keyboard.type('bread');
      await until('state().open');
      await tab.keyboard.press('Escape');
      expect(await state()).toMatchObject({ open: false, value: 'bread' });
      await tab.keyboard.press('Escape');
      expect(await state()).toMatchObject({ value: '' });
      await tab.keyboard.type('zzzz');
      await until('state().status === "Nothing was found."');
      expect(await state()).toMatchObject({ open: true, expanded: 'false', titles: [] });
    });

    it.each([
      ['morning', '2 results'],
      ['zzzz', 'Nothing was found.'],
    ])('shows again on a click what it said of %s, and nothing for no query', async (query, status) => {
      await tab.evaluate('element.shadowRoot.querySelector("input").click()');
      expect(await state()).toMatchObject({ open: false, expanded: 'false' });
      await tab.keyboard.press('/');
      await tab.keyboard.type(query);
      await until(`state().status === "${status}" && state().open`);
      const shown = await state();
      await tab.keyboard.press('Escape');
      expect(await state()).toMatchObject({ open: false, expanded: 'false' });
      await tab.evaluate('element.shadowRoot.querySelector("input").click()');
      expect(await state()).toEqual(shown);
    });

    it('passes axe while it is open, light and dark, and breaks no rule of the policy', async () => {
      await tab.keyboard.press('/');
      await tab.keyboard.type('morning');
      await until('state().titles.length === 2');
      await tab.keyboard.press('ArrowDown');
      for (const theme of ['light', 'dark']) {
        await tab.evaluate(`element.setAttribute('theme', '${theme}')`);
        await tab.evaluate(axe);
        const found = (await tab.evaluate(
          'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].failureSummary))',
        )) as string[];
        expect(found).toEqual([]);
      }
      expect(await tab.evaluate('blocked')).toEqual([]);
    });

    it('takes any index: words first, then both', async () => {
      await tab.evaluate(`
        globalThis.asked = [];
        element.index = { search: async (query, { mode, top_k }) => (asked.push([query, String(mode), top_k]), [{ id: 'a', text: 'one two', highlights: [], close: false, document: { title: 'Own', url: '/own' } }]) };`);
      await tab.keyboard.press('/');
      await tab.keyboard.type('x');
      await until('told.some(([query, , done]) => query === "x" && done)');
      expect(await tab.evaluate('asked')).toEqual([
        ['x', 'words', 8],
        ['x', 'undefined', 8],
      ]);
      expect(await state()).toMatchObject({ titles: ['Own'], status: 'Nothing close was found. These are the nearest.' });
      await tab.keyboard.press('Enter');
      expect(await tab.evaluate('told.at(-1)')).toBe('/own');
      await tab.evaluate('element.index = undefined');
      expect(await tab.evaluate('early()')).toBe('Early'); // what is set before the class is there counts
    });
  });
}
