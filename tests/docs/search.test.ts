// The documentation's own search: what newcomers ask, with the page that answers, noted before anything was tuned; and what a page says of its box.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../web/support.js';
import { askAll } from './ask.mjs';

if (!existsSync(join(root, 'build/docs/search/index.json'))) throw new Error('build/docs/search is missing: npm run docs makes it');

/** How many of the fifty questions have their page among the first three hits; the goal is 45. */
const kFound = 43;

it('answers what newcomers ask', async () => {
  const all = await askAll();
  expect(all).toHaveLength(50);
  const missed = all.filter(({ place }) => place === 0 || place > 3).map(({ question }) => question);
  if (missed.length > all.length - kFound) throw new Error(`not among the first three hits:\n${missed.join('\n')}`);
});
