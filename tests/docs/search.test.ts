// The documentation's own search: newcomers' questions, with the page that answers each, noted before any tuning; and the page's search box.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../web/support.js';
import { askAll, questions } from './ask.mjs';

if (!existsSync(join(root, 'build/docs/search/index.json'))) throw new Error('build/docs/search is missing: npm run docs makes it');

/** How many of each fifty must have their page among the first three hits: our own, and those of public threads. It was 46 and 49, and a new page moves some. */
const kFound = { own: 45, threads: 45 };

const textOf = (name: string) => readFileSync(join(root, 'docs', `${name}.md`), 'utf8');

it.each([
  ['own', false],
  ['threads', true],
] as const)('answers what newcomers ask (%s)', async (kind, fromThread) => {
  const all = (await askAll()).filter(({ source }) => (source !== undefined) === fromThread);
  expect(all).toHaveLength(50);
  const missed = all.filter(({ place }) => place === 0 || place > 3).map(({ question }) => question);
  if (missed.length > all.length - kFound[kind]) throw new Error(`not among the first three hits:\n${missed.join('\n')}`);
});

it('has the headings that answer, in guides two clicks from the first page at most', () => {
  const linked = (text: string) => [...text.matchAll(/\]\((?:docs\/)?(\w+)\.md[#)]/g)].map(([, name]) => name as string);
  const slugOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-');
  const first = linked(readFileSync(join(root, 'README.md'), 'utf8')).filter((name) => existsSync(join(root, `docs/${name}.md`)));
  const near = new Set([...first, ...first.flatMap((name) => linked(textOf(name)))]);
  for (const { question, guides } of questions) {
    for (const { name, heading } of guides) {
      expect([question, name, near.has(name)]).toEqual([question, name, true]);
      const headings = [...textOf(name).matchAll(/^##+ (.*)/gm)].map(([, title]) => slugOf(title as string));
      if (heading) expect({ question, name, headings }).toEqual({ question, name, headings: expect.arrayContaining([heading]) });
    }
  }
});
