// Makes the files of a static index from a site's pages.
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import { Analyser } from '../search/words.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import { packRows } from './bytes.js';
import { cutPage, type PageRow, type SitePage } from './chunks.js';
import { cluster } from './cluster.js';
import { ByteWriter } from './bytes.js';
import { gzipped, hashOf } from './packing.js';
import { kFormat, kNames, Pages, writeTexts, type Head } from './layout.js';
import { writeWords, type Postings } from './postings.js';
import { makeTable } from './make_table.js';

export interface BuildOptions {
  /** Makes the site's vectors. None: words alone. */
  embed?: FeatureExtractionPipeline | undefined;
  /** Where the pages are, relative to the folder of `index.json`, or from the root. */
  site: string;
  language?: string | undefined;
  report?: (progress: { done: number; total: number }) => void;
  signal?: AbortSignalLike | undefined;
}

/** Characters in a file of texts: about three chunks. */
const kTextChars = 3000;
/** A word whose postings take more bytes is common: a page asks for it only if the query has little else. */
const kCommonRows = 6000;

/** Files that are packed at once. */
const kAtOnce = 64;

interface Row extends PageRow {
  page: SitePage;
}

/** How often a word of a title or a heading counts: they say what the rest is about. */
const kTitleTimes = 1;
const kHeadingTimes = 2;

/** The words of all rows: a page's title counts with its first row. */
async function wordsOf(
  rows: readonly Row[],
  pages: Pages,
  breather: Breather,
  signal: AbortSignalLike | undefined,
): Promise<Map<string, Postings>> {
  const analyser = new Analyser({});
  const words = new Map<string, Postings>();
  let last: SitePage | undefined;
  let length = 0;
  for (const [row, { page, heading, text }] of rows.entries()) {
    if (last && last !== page) pages.lengths.push(length);
    if (last !== page) length = 0;
    const parts = [
      [last === page ? '' : page.title, kTitleTimes],
      [heading, kHeadingTimes],
      [text, 1],
    ] as const;
    for (const [part, times] of parts) {
      for (const some of analyser.batches(part)) {
        for (const { term } of some) {
          length += times;
          let list = words.get(term);
          if (!list) words.set(term, (list = { rows: [], times: [] }));
          if (list.rows.at(-1) === row) list.times[list.times.length - 1]! += times;
          else {
            list.rows.push(row);
            list.times.push(times);
          }
        }
        await breather.breathe(signal);
      }
    }
    last = page;
  }
  pages.lengths.push(length);
  return words;
}

/** The files by name, `index.json` among them. pages: those with words, at least one. */
export async function buildStaticIndex(
  sitePages: readonly SitePage[],
  { embed, site, language, report, signal }: BuildOptions,
): Promise<Map<string, Uint8Array>> {
  const breather = new Breather();
  const files = new Map<string, Uint8Array>();
  const pages = new Pages();
  const rows: Row[] = [];
  for (const page of sitePages) {
    rows.push(...cutPage(page).map((row) => ({ ...row, page })));
    pages.firsts.push(rows.length);
    pages.weights.push(page.weight ?? 1);
    await breather.breathe(signal);
  }
  const words = await wordsOf(rows, pages, breather, signal);
  const { begins, files: wordFiles } = writeWords(words);
  wordFiles.forEach((bytes, i) => files.set(kNames.words(i), bytes));
  const common: Head['common'] = {};
  for (const [term, list] of words)
    if (list.rows.length > kCommonRows) common[term] = new Set(list.rows.map((row) => pages.pageOf(row))).size;

  const head: Omit<Head, 'folder'> = {
    format: kFormat,
    site,
    ...(language !== undefined && { language }),
    pages: sitePages.length,
    rows: rows.length,
    mean: pages.lengths.reduce((sum, length) => sum + length, 0) / pages.lengths.length,
    words: begins,
    common,
  };
  let vectors: Float32Array | undefined;
  let dims = 0;
  if (embed) {
    const texts = rows.map(({ page, headings, text }) => [page.title, ...headings, text].join('\n'));
    const made = await makeTable(embed, texts, report ?? (() => {}), breather, signal);
    ({ dims } = made.table);
    vectors = new Float32Array(rows.length * dims);
    for (const [row, text] of texts.entries()) {
      vectors.set(made.table.embed(text), row * dims);
      await breather.breathe(signal);
    }
    const { centres, members } = await cluster(vectors, dims, breather, signal);
    files.set(kNames.table, made.table.write());
    files.set(kNames.centres, packRows(centres, dims));
    for (const [i, list] of members.entries()) {
      const out = new ByteWriter().number(list.length);
      list.forEach((row, at) => out.number(row - (list[at - 1] ?? 0)));
      for (const row of list) out.raw(packRows(vectors.subarray(row * dims, (row + 1) * dims), dims));
      files.set(kNames.cluster(i), out.done());
    }
    const { scale, offset, trust } = made;
    head.meaning = { dims, scale, offset, trust, sizes: members.map((list) => list.length) };
  }
  for (let first = 0, end = 0; first < rows.length; first = end) {
    for (let chars = 0; end < rows.length && (end === first || chars + rows[end]!.text.length <= kTextChars); ++end)
      chars += rows[end]!.text.length;
    const part = rows.slice(first, end).map(({ page, ...row }) => ({ ...row, url: page.url, title: page.title }));
    const own = vectors ? packRows(vectors.subarray(first * dims, end * dims), dims) : new Uint8Array();
    files.set(kNames.texts(pages.texts.length - 1), writeTexts(part, own));
    pages.texts.push(end);
  }
  files.set(kNames.pages, pages.write());

  const folder = await hashOf(files, JSON.stringify(head));
  const out = new Map<string, Uint8Array>();
  const all = [...files];
  for (let at = 0; at < all.length; at += kAtOnce) {
    const some = all.slice(at, at + kAtOnce);
    const packed = await Promise.all(some.map(([, bytes]) => gzipped(bytes)));
    some.forEach(([name], i) => out.set(`${folder}/${name}`, packed[i]!));
    await breather.breathe(signal);
  }
  out.set('index.json', new TextEncoder().encode(JSON.stringify({ ...head, folder })));
  return out;
}
