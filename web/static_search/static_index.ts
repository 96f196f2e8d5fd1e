// An index in files of a static site, searched by a page that reads a few of them.
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import { Progress } from '../core/progress.js';
import { abortable, throwIfAborted } from '../core/signal.js';
import { isClose, kMeaningWeight } from '../search/ranking.js';
import { Analyser, type Word } from '../search/words.js';
import { cosineOf } from './bytes.js';
import { Files, MissingFileError, readHead, type Fetch } from './files.js';
import { kNames, Pages, readTexts, type Head, type Texts } from './layout.js';
import { nearRows } from './near_rows.js';
import { scoreWords, type ScoredWords } from './score_words.js';
import { Table } from './table.js';
import type { StaticHit, StaticIndexOptions, StaticResults, StaticSearchOptions } from './types.js';

/** Pages that words alone bring into the ranking. */
const kWordPages = 200;
const kMostHits = 100;
const kLongestQuery = 1000;
const kUnspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;

/** A page with its best part. */
interface Candidate {
  row: number;
  score: number;
  close: boolean;
  coverage: number;
  meaning: number | null;
}

/** How much of a query a page holds: half of it anywhere, half in one part, as a long page holds many words by chance. */
const coverageOf = (page: number, part: number, whole: number): number =>
  whole > 0 ? (Math.min(1, page / whole) + Math.min(1, part / whole)) / 2 : 0;

/** What one build of a site has. */
class Build {
  private readonly files: Files;
  private readonly analyser = new Analyser({});

  constructor(
    readonly head: Head,
    readonly folder: URL,
    private readonly site: URL,
    fetch: Fetch,
  ) {
    this.files = new Files(new URL(`${head.folder}/`, folder), fetch);
  }

  pages(): Promise<Pages> {
    return this.files.get(kNames.pages, (bytes) => Pages.read(bytes, kNames.pages, this.head));
  }

  table(): Promise<Table> {
    return this.files.get(kNames.table, (bytes) => Table.read(bytes, kNames.table));
  }

  centres(): Promise<unknown> {
    return this.files.get(kNames.centres, (bytes) => bytes);
  }

  private texts(i: number): Promise<Texts> {
    const name = kNames.texts(i);
    return this.files.get(name, (bytes) => readTexts(bytes, name));
  }

  async words(query: string, prefix: boolean): Promise<ScoredWords> {
    const wanted = new Map<string, number>();
    let last: Word | undefined;
    for (const words of this.analyser.batches(query)) {
      for (const word of words) wanted.set((last = word).term, (wanted.get(word.term) ?? 0) + 1);
    }
    const isOpen = prefix && last?.end === query.length && last.term.length > 1 && !kUnspaced.test(last.term);
    return scoreWords(this.files, this.head, this.pages(), wanted, isOpen ? last!.term : undefined);
  }

  /** The pages that hold the words best. */
  async byWords({ scores, shares, found, whole }: ScoredWords, limit: number): Promise<Candidate[]> {
    const { firsts, weights } = await this.pages();
    return found.slice(0, limit).map((page) => {
      let row = firsts[page]!;
      for (let other = row + 1; other < firsts[page + 1]!; ++other) if (shares[other]! > shares[row]!) row = other;
      const coverage = coverageOf(scores[page]!, shares[row]!, whole);
      return {
        row,
        score: Math.min(1, coverage * weights[page]!),
        close: isClose(coverage, undefined, 1),
        coverage,
        meaning: null,
      };
    });
  }

  /** The pages that are best by words and meaning together; undefined: the table knows none of the query's words. */
  async byBoth(query: string, words: ScoredWords, limit: number): Promise<Candidate[] | undefined> {
    const { meaning } = this.head;
    const vector = (await this.table()).embed(query);
    if (!meaning || vector.every((value) => value === 0)) return undefined;
    const [pages, cosines] = await Promise.all([this.pages(), nearRows(this.files, meaning, vector)]);
    // Cosines of the best pages by words come with their texts, which are here already. Any other row is further away than most that are near.
    const listed = await this.byWords(words, kWordPages);
    for (const { row } of listed.slice(0, limit)) {
      const i = pages.textsOf(row);
      const { vectors } = await this.texts(i);
      for (let other = pages.texts[i]!; other < pages.texts[i + 1]!; ++other)
        cosines.set(other, cosineOf(vector, vectors, other - pages.texts[i]!));
    }
    const middle = [...cosines.values()].sort((a, b) => a - b)[cosines.size >> 1] ?? 0;
    const rowsOf = new Map<number, Set<number>>();
    for (const row of [...listed.map((one) => one.row), ...cosines.keys()]) {
      const page = pages.pageOf(row);
      if (!rowsOf.has(page)) rowsOf.set(page, new Set());
      rowsOf.get(page)!.add(row);
    }
    const weight = kMeaningWeight * meaning.trust;
    const out: Candidate[] = [];
    for (const [page, rows] of rowsOf) {
      let [cosine, most, best, row] = [-Infinity, 0, -Infinity, -1];
      for (const each of rows) {
        cosine = Math.max(cosine, cosines.get(each) ?? middle);
        most = Math.max(most, words.shares[each]!);
      }
      const coverage = coverageOf(words.scores[page]!, most, words.whole);
      for (const each of rows) {
        const own = (most > 0 ? (coverage * words.shares[each]!) / most : 0) + weight * (cosines.get(each) ?? middle);
        if (own > best) [best, row] = [own, each];
      }
      const near = Math.max(0, Math.min(1, meaning.scale * cosine + meaning.offset));
      const score = Math.min(1, (pages.weights[page]! * (coverage + weight * near)) / (1 + weight));
      out.push({ row, score, close: isClose(coverage, near, meaning.trust), coverage, meaning: near });
    }
    return out.sort((a, b) => b.score - a.score || a.row - b.row).slice(0, limit);
  }

  async hits(found: readonly Candidate[], { terms }: ScoredWords): Promise<StaticHit[]> {
    const pages = await this.pages();
    return Promise.all(
      found.map(async ({ row, score, close, coverage, meaning }) => {
        const i = pages.textsOf(row);
        const { url, title, headings, text } = (await this.texts(i)).rows[row - pages.texts[i]!]!;
        const highlights: StaticHit['highlights'] = [];
        for (const words of this.analyser.batches(text)) {
          for (const { term, start, end } of words) {
            const last = highlights.at(-1);
            if (!terms.has(term)) continue;
            if (last && start <= last.end) last.end = end;
            else highlights.push({ start, end });
          }
        }
        return { url: new URL(url, this.site).href, title, headings, text, highlights, score, close, why: { coverage, meaning } };
      }),
    );
  }
}

/**
 * A search index in the files of a static site. `wattn index SITE --static OUT` writes it, and `openStaticIndex` opens it.
 *
 * @example
 * const watch = async (show) => {
 *   const index = await openStaticIndex('/search/');
 *   for await (const { stage, hits } of index.search('how do I stop a download')) show(stage, hits);
 * };
 */
export class StaticIndex {
  private constructor(
    private build: Build,
    private readonly open: (signal: AbortSignal) => Promise<Build>,
  ) {}

  /** Opens the index in a folder. See `openStaticIndex`. */
  static async open(url: string | URL, options: StaticIndexOptions = {}): Promise<StaticIndex> {
    const where = 'openStaticIndex';
    const { site, fetch: own, signal } = readOptions(where, options, { site: 'any', fetch: 'function', signal: 'signal' });
    const base =
      (globalThis as { document?: { baseURI?: string } }).document?.baseURI ??
      (globalThis as { location?: { href: string } }).location?.href;
    const toUrl = (what: string, value: unknown, from: string | URL | undefined): URL => {
      if (typeof value === 'string' || value instanceof URL) {
        try {
          return new URL(value, from);
        } catch {
          // said below
        }
      }
      throw new InputError(`${where}: ${what}: expected an address, found ${describe(value)}`);
    };
    const folder = toUrl('url', url, base);
    if (!folder.pathname.endsWith('/')) folder.pathname += '/';
    const fetch: Fetch = own ?? ((...args) => globalThis.fetch(...args));
    const pages = site === undefined || site === null ? undefined : toUrl("option 'site'", site, base);
    const open = async (signal: AbortSignal) => {
      const head = await readHead(folder, fetch, signal);
      return new Build(head, folder, pages ?? new URL(head.site, folder), fetch);
    };
    const build = await abortable(open(new AbortController().signal), signal ?? undefined);
    return new StaticIndex(build, open);
  }

  /** Number of pages. */
  get pages(): number {
    return this.build.head.pages;
  }

  /** Whether the index supports semantic search. */
  get knows_meaning(): boolean {
    return this.build.head.meaning !== undefined;
  }

  /** Loads what every search needs. Call it when a search box gets focus, so that the first search is faster. */
  async preload(): Promise<void> {
    const { build } = this;
    await Promise.all([build.pages(), ...(build.head.meaning ? [build.table(), build.centres()] : [])]);
  }

  /**
   * Runs a keyword search, then a hybrid search. `await` it for the final hits, or use `for await` to receive `{ stage, hits }` of both. Leaving the
   * loop cancels it.
   *
   * Throws an `InputError` for invalid options, a `NetworkError` if a file cannot be fetched, and an `AbortError` after `signal` or `cancel()`.
   */
  search(query: string, options: StaticSearchOptions = {}): Progress<StaticResults, StaticHit[]> {
    const where = 'StaticIndex.search';
    if (typeof query !== 'string') throw new InputError(`${where}: expected a query, found ${describe(query)}`);
    const {
      limit = 10,
      prefix,
      mode,
      signal,
    } = readOptions(where, options, {
      limit: `[1,${kMostHits}]`,
      prefix: 'boolean',
      mode: ['hybrid', 'words'],
      signal: 'signal',
    });
    const count = Math.floor(limit ?? 10);
    const text = query.slice(0, kLongestQuery);
    const run = async (build: Build, report: (results: StaticResults) => Promise<void>, own: AbortSignal): Promise<StaticHit[]> => {
      if (text.trim() === '') return [];
      const asksMeaning = mode !== 'words' && build.head.meaning !== undefined;
      if (asksMeaning) for (const file of [build.table(), build.centres()]) file.catch(() => {}); // on their way; who awaits them is told
      const words = await abortable(build.words(text, prefix ?? true), own);
      let hits = await abortable(
        build.byWords(words, count).then((found) => build.hits(found, words)),
        own,
      );
      if (!asksMeaning) {
        await report({ stage: 'words', hits });
        return hits;
      }
      if (hits.length > 0) await report({ stage: 'words', hits });
      throwIfAborted(own);
      const found = await abortable(build.byBoth(text, words, count), own);
      if (found) hits = await abortable(build.hits(found, words), own);
      await report({ stage: 'hybrid', hits });
      return hits;
    };
    return new Progress(async (report, own) => {
      try {
        return await run(this.build, report, own);
      } catch (error) {
        if (!(error instanceof MissingFileError)) throw error;
        // The site was built anew, and its old files are gone.
        const next = await abortable(this.open(new AbortController().signal), own);
        if (next.head.folder === this.build.head.folder) throw error;
        this.build = next;
        return run(next, report, own);
      }
    }, signal ?? undefined);
  }
}

/**
 * Opens an index written by `wattn index SITE --static OUT`. `url` is its folder, relative to the page. Reads `index.json`, a few kilobytes; other files
 * are read when a search needs them.
 *
 * Throws a `NetworkError` if it does not exist, and a `ModelFormatError` if it is not an index or has another format.
 *
 * @example
 * const find = async (query) => {
 *   const index = await openStaticIndex('/search/');
 *   return index.search(query, { limit: 5 });
 * };
 */
export const openStaticIndex = (url: string | URL, options?: StaticIndexOptions): Promise<StaticIndex> =>
  StaticIndex.open(url, options);
