// Asks the documentation's own search the questions of questions.tsv, in build/docs: `node tests/docs/ask.mjs [--all]` prints those whose page is not among the first three hits.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStaticIndex } from '../../dist/static_search_entry.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const docs = join(here, '../../build/docs');

/** [{ question, names, place, titles }]: names of the guides that answer, and the place of the first of them among the hits, from 1 on. */
export async function askAll() {
  const fetch = async (url) => new Response(readFileSync(join(docs, new URL(url).pathname)));
  const index = await openStaticIndex('http://docs/search/', { fetch });
  const titleOf = (name) => /^# (.*)/m.exec(readFileSync(join(here, `../../docs/${name}.md`), 'utf8'))[1].replace(/`/g, '');
  const out = [];
  for (const line of readFileSync(join(here, 'questions.tsv'), 'utf8').trim().split('\n')) {
    const [question, names] = line.split('\t');
    const wanted = names.split(',').map(titleOf);
    const hits = await index.search(question, { limit: 10 });
    const titles = hits.map(({ title }) => title);
    out.push({ question, names, place: titles.findIndex((title) => wanted.includes(title)) + 1, titles });
  }
  return out;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = await askAll();
  for (const { question, names, place, titles } of all) {
    if (place === 0 || place > 3) console.log(`${place}\t${question}\t${names}\n\t\t${titles.slice(0, 4).join(' | ')}`);
  }
  console.log(`${all.filter(({ place }) => place > 0 && place <= 3).length} of ${all.length} in the first three`);
}
