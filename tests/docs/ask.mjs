// Asks the documentation's own search the questions of questions.tsv, in build/docs. `node tests/docs/ask.mjs` prints those whose page is not
// among the first three hits. A line has a question, the guides that answer it (with the heading that does), and the public thread that it is
// taken from; the first fifty have no thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStaticIndex } from '../../dist/static_search_entry.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const docs = join(here, '../../build/docs');

/** [{ question, guides: [{ name, heading }], source }] */
export const questions = readFileSync(join(here, 'questions.tsv'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const [question, guides, source] = line.split('\t');
    const parts = guides.split(',').map((guide) => guide.split('#'));
    return { question, guides: parts.map(([name, heading]) => ({ name, heading })), source };
  });

/** The questions, each with the titles of its hits and the place of the first guide that answers among them, from 1 on. */
export async function askAll() {
  const fetch = async (url) => new Response(readFileSync(join(docs, new URL(url).pathname)));
  const index = await openStaticIndex('http://docs/search/', { fetch });
  const titleOf = (name) => /^# (.*)/m.exec(readFileSync(join(here, `../../docs/${name}.md`), 'utf8'))[1].replace(/`/g, '');
  const out = [];
  for (const each of questions) {
    const wanted = each.guides.map(({ name }) => titleOf(name));
    const hits = await index.search(each.question, { limit: 10 });
    const titles = hits.map(({ title }) => title);
    out.push({ ...each, place: titles.findIndex((title) => wanted.includes(title)) + 1, titles });
  }
  return out;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = await askAll();
  for (const { question, guides, place, titles } of all) {
    const wanted = guides.map(({ name }) => name).join();
    if (place === 0 || place > 3) console.log(`${place}\t${question}\t${wanted}\n\t\t${titles.slice(0, 4).join(' | ')}`);
  }
  console.log(`${all.filter(({ place }) => place > 0 && place <= 3).length} of ${all.length} in the first three`);
}
