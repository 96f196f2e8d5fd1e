// Types of `wattn/static-search`.
import type { AbortSignalLike } from '../core/types.js';

/** Options of `openStaticIndex`. */
export interface StaticIndexOptions {
  /** Where the site's pages are: an address, or one relative to the page. Default: what the index says, relative to its folder. */
  site?: string | URL | undefined;
  /** Fetches a file of the index. Default: the global `fetch`. */
  fetch?: ((url: string, init: { signal: AbortSignal }) => Promise<Response>) | undefined;
  /** Ends the opening with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of a search in a static index. */
export interface StaticSearchOptions {
  /** How many hits. Default 10, at most 100. */
  limit?: number | undefined;
  /** The last word may be unfinished: words that begin with it count as it. Default `true`, except after a space. */
  prefix?: boolean | undefined;
  /** `'words'`: meaning is not asked, and its table not loaded. Default `'hybrid'`. */
  mode?: 'hybrid' | 'words' | undefined;
  /** Ends the search with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** A page that was found, with the part of it that fits best. */
export interface StaticHit {
  /** The address of the part: of its page, with the fragment of the heading above it. */
  url: string;
  /** The page's title. */
  title: string;
  /** The headings above the part, outermost first, without the title. */
  headings: string[];
  /** The text of the part. */
  text: string;
  /** The places of the query's words in `text`. */
  highlights: { start: number; end: number }[];
  /** From 0 to 1. */
  score: number;
  /** Whether it is near: if no hit is, the site probably has nothing on the question. */
  close: boolean;
  /** coverage: how much of the query its words hold, from 0 to 1. meaning: the cosine; null if it was not asked. */
  why: { coverage: number; meaning: number | null };
}

/** What is known at a time. */
export interface StaticResults {
  /** `'words'` until meaning has been asked, then `'hybrid'`. */
  stage: 'words' | 'hybrid';
  /** The best so far, best first. */
  hits: StaticHit[];
}
