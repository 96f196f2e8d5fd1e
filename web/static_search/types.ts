// Types of `wattn/static-search`.
import type { AbortSignalLike } from '../core/types.js';

/** Options of `openStaticIndex`. */
export interface StaticIndexOptions {
  /** URL of the site's pages, absolute or relative to the page. Default: the one stored in the index, relative to its folder. */
  site?: string | URL | undefined;
  /** Fetches a file of the index. Default: the global `fetch`. */
  fetch?: ((url: string, init: { signal: AbortSignal }) => Promise<Response>) | undefined;
  /** Cancels opening with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of a search in a static index. */
export interface StaticSearchOptions {
  /** Maximum number of hits. Default 10, at most 100. */
  limit?: number | undefined;
  /** Treats the last word as unfinished: words that begin with it match, too. Default `true`, except after a space. */
  prefix?: boolean | undefined;
  /** `'words'`: keyword search only; the table for semantic search is not loaded. Default `'hybrid'`. */
  mode?: 'hybrid' | 'words' | undefined;
  /** Cancels the search with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** A page that was found, with its best chunk. */
export interface StaticHit {
  /** URL of the chunk: its page, with the fragment of the heading above it. */
  url: string;
  /** The page's title. */
  title: string;
  /** The headings above the chunk, outermost first, without the title. */
  headings: string[];
  /** The text of the chunk. */
  text: string;
  /** Offsets of the query's words in `text`. */
  highlights: { start: number; end: number }[];
  /** The score, from 0 to 1. */
  score: number;
  /** Whether the hit is close to the query. If no hit is, the site probably has nothing about it. */
  close: boolean;
  /** `coverage`: how much of the query its words cover, from 0 to 1. `meaning`: the cosine; null if it was not computed. */
  why: { coverage: number; meaning: number | null };
}

/** The results of one stage of a search. */
export interface StaticResults {
  /** `'words'` after the keyword search, `'hybrid'` after the semantic search. */
  stage: 'words' | 'hybrid';
  /** The hits so far, best first. */
  hits: StaticHit[];
}
