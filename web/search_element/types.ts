// Types of `wattn/search-element`.

/** What `<wattn-search>` shows of a hit: those of an `Index` and of a static index have it. */
export interface ShownHit {
  /** Where it leads. Default: `document.url`, else `#` and the id. */
  url?: string | undefined;
  /** The document's, in an `Index`. */
  id?: string | undefined;
  /** Default: the document's, else the id. */
  title?: string | undefined;
  /** The headings above it. */
  headings?: readonly string[] | undefined;
  /** The part of the text that fits. */
  text: string;
  /** The places of the query's words in `text`. */
  highlights: readonly { start: number; end: number }[];
  /** Whether it is near. */
  close?: boolean | undefined;
  /** The document of an `Index`, whose `title` and `url` are shown. */
  document?: { readonly [name: string]: unknown } | undefined;
}

/** What `<wattn-search>` searches: an `Index`, a static index, or anything that answers like one. */
export interface SearchSource {
  /** The hits, best first. One that can be watched, too, reports `{ hits }` before: a static index does. */
  search(query: string, options: any): PromiseLike<readonly ShownHit[]>;
  /** Called when the box gets the focus. */
  preload?(): Promise<unknown>;
}

/** What `<wattn-search>` says, in the language of the page. */
export interface SearchTexts {
  /** The box's name, for screen readers. */
  label: string;
  /** In the box while it is empty. */
  placeholder: string;
  /** The name of the list of hits. */
  results: string;
  /** How many there are. */
  count: (hits: number) => string;
  /** None was found. */
  none: string;
  /** Some were found, but none is close. */
  unsure: string;
  /** The search failed. */
  failed: string;
}

/** Events of `<wattn-search>`. Both bubble, also out of shadow trees. */
export interface SearchElementEvents {
  /** Hits are shown: first of words, then of both. */
  'wattn-results': CustomEvent<{ query: string; hits: readonly ShownHit[]; done: boolean }>;
  /** A hit was chosen. `preventDefault()` keeps the page from going there. */
  'wattn-select': CustomEvent<{ query: string; hit: ShownHit; url: string }>;
}
