// Quality of a static index, and how much of it a page reads. Test collections as HTML sites: nDCG@10 of keyword and hybrid search, compared with
// an `Index` of the same pages and model. Then bytes of files for a first search and for further ones.
// Usage: node bench/web/static_search.mjs [FOLDER..]: folders in BEIR's layout; default: CISI, MED and XQuAD in DATA (../shared/data).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Index, pipeline } from '../../dist/node.js';
import { openStaticIndex } from '../../dist/static_search_entry.js';
import { ndcg, readBeir, readXquad } from './lib/collections.mjs';

const data = process.env.DATA ?? new URL('../../../shared/data/', import.meta.url).pathname;
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** Fetches from a folder, and counts. */
export function counting(folder) {
  const counts = { bytes: 0, files: 0 };
  const fetch = async (url) => {
    const bytes = readFileSync(join(folder, decodeURIComponent(new URL(url).pathname)));
    counts.bytes += bytes.length;
    ++counts.files;
    return new Response(bytes);
  };
  return { counts, fetch };
}

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
const sets =
  process.argv.length > 2
    ? process.argv.slice(2).map((folder) => [basename(folder), readBeir(folder)])
    : [...['cisi', 'med'].map((name) => [name, readBeir(join(data, 'retrieval', name))]), ['xquad', readXquad(data, 'en')]];
const embed = await pipeline('feature-extraction', undefined, { dtype: 'q8' });
for (const [name, { documents, queries, judged }] of sets) {
  const site = mkdtempSync(join(tmpdir(), 'site-'));
  try {
    mkdirSync(join(site, 'p'));
    documents.forEach(({ id, title, text }) => {
      const html = `<!doctype html><html lang="en"><title>${escaped(title ?? '')}</title><main><p>${escaped(text)}</p></main>`;
      writeFileSync(join(site, 'p', `${encodeURIComponent(id)}.html`), html);
    });
    const started = performance.now();
    execFileSync(process.execPath, [cli, 'index', site, '--static', join(site, 'search')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const seconds = (performance.now() - started) / 1000;
    const live = await Index.open(name, { embed, store: 'memory' });
    await live.add(documents);
    const { counts, fetch } = counting(site);
    const index = await openStaticIndex('http://site/search/', { fetch });
    const sums = { 'live words': 0, 'live both': 0, 'static words': 0, 'static both': 0 };
    for (const { _id, text } of queries) {
      const score = (ids) => ndcg(ids, judged.get(_id)) / queries.length;
      const idOf = ({ url }) => decodeURIComponent(new URL(url).pathname.slice(3, -5));
      sums['live words'] += score((await live.search(text, { mode: 'words' })).map(({ id }) => id));
      sums['live both'] += score((await live.search(text)).map(({ id }) => id));
      sums['static words'] += score((await index.search(text, { mode: 'words' })).map(idOf));
      sums['static both'] += score((await index.search(text)).map(idOf));
    }
    console.log(
      `${name}: ${Object.entries(sums)
        .map(([way, sum]) => `${way} ${sum.toFixed(3)}`)
        .join(
          ', ',
        )}; built in ${seconds.toFixed(0)} s, ${counts.files} files of ${(counts.bytes / 1e6).toFixed(1)} MB read by ${queries.length} queries`,
    );
    await live.dispose();
  } finally {
    rmSync(site, { recursive: true });
  }
}
await embed.dispose();
