// `wattn index SITE --static OUT`: search for a static site, as files beside its pages.
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { computeOptions, flag, modelOf, text, type Values } from './args.js';
import { makeFolder } from './train.js';
import { report, writeOut } from './output.js';
import { counted, Progress } from './progress.js';
import { readSite } from './site_pages.js';
import { InputError, pipeline } from '../entries/index.js';
import { buildStaticIndex } from '../static_search/build.js';

/** A folder of an earlier index: sixteen digits. */
const kFolder = /^[0-9a-f]{16}$/;

/** Where the pages are, seen from the index. */
function siteFrom(values: Values, site: string, out: string): string {
  const base = text(values, 'base');
  if (base !== undefined) return base.endsWith('/') ? base : `${base}/`;
  const path = relative(resolve(out), resolve(site));
  const isInside = !relative(resolve(site), resolve(out)).startsWith('..');
  return isInside ? `${path === '' ? '.' : path.split(sep).join('/')}/` : '/';
}

export async function indexSite(values: Values, positionals: string[]): Promise<void> {
  const out = text(values, 'static') as string;
  const [site, ...others] = positionals;
  if (site === undefined || others.length > 0)
    throw new InputError(`--static: expected the folder of one site, found ${positionals.length}`);
  for (const name of ['out', 'overlap', 'max-tokens', 'vectors']) {
    if (values[name] !== undefined) throw new InputError(`--static: expected no --${name}, which is for an index in one file`);
  }
  const { pages, left, language } = await readSite(site, out);
  if (pages.length === 0) throw new InputError(`found no page with words in ${site}`);
  const embed = flag(values, 'words') ? undefined : await pipeline('feature-extraction', modelOf(values), computeOptions(values));
  const bar = new Progress(values, counted('texts'));
  const files = await buildStaticIndex(pages, { embed, language, site: siteFrom(values, site, out), report: (at) => bar.show(at) });
  bar.end();
  const folder = [...files.keys()][0]!.split('/')[0]!;
  await makeFolder(join(out, folder));
  let bytes = 0;
  for (const [name, content] of files) {
    bytes += content.length;
    // index.json is the last: what it names is there.
    if (name === 'index.json') await writeOut('static', join(out, name), content);
    else await writeFile(join(out, name), content);
  }
  for (const name of await readdir(out)) if (kFolder.test(name) && name !== folder) await rm(join(out, name), { recursive: true });
  const largest = files.get(`${folder}/table.bin`)?.length ?? 0;
  await report({ out, pages: pages.length, left, files: files.size, bytes, table: largest }, false);
  await embed?.dispose();
}
