// Types of `wattn/search-element`.

/** A hit as `<wattn-search>` shows it. Hits of an `Index` and of a static index have this form. */
export interface ShownHit {
  /** The link's target. Default: `document.url`, else `#` and the id. */
  url?: string | undefined;
  /** The document's id, in an `Index`. */
  id?: string | undefined;
  /** The title. Default: the document's, else the id. */
  title?: string | undefined;
  /** The headings above the chunk. */
  headings?: readonly string[] | undefined;
  /** The matching chunk of the text. */
  text: string;
  /** Offsets of the query's words in `text`. */
  highlights: readonly { start: number; end: number }[];
  /** Whether the hit is close to the query. */
  close?: boolean | undefined;
  /** The document of an `Index`; its `title` and `url` are shown. */
  document?: { readonly [name: string]: unknown } | undefined;
}

/** What `<wattn-search>` searches: an `Index`, a static index, or any object with the same `search` method. */
export interface SearchSource {
  /** Returns hits, best first. If the result is also an async iterable, it may report `{ hits }` earlier, as a static index does. */
  search(query: string, options: any): PromiseLike<readonly ShownHit[]>;
  /** Called when the box gets focus. */
  preload?(): Promise<unknown>;
}

/** Texts of `<wattn-search>`, in the language of the page. */
export interface SearchTexts {
  /** The label of the box, for screen readers. */
  label: string;
  /** The placeholder of the empty box. */
  placeholder: string;
  /** The label of the list of hits. */
  results: string;
  /** The number of hits, as a text. */
  count: (hits: number) => string;
  /** Shown if there are no hits. */
  none: string;
  /** Shown if there are hits, but none is close. */
  unsure: string;
  /** Shown if the search failed. */
  failed: string;
}

/** Events of `<wattn-search>`. Both bubble, also out of shadow trees. */
export interface SearchElementEvents {
  /** Hits are shown: first those of keyword search, then those of both. */
  'wattn-results': CustomEvent<{ query: string; hits: readonly ShownHit[]; done: boolean }>;
  /** A hit was selected. `preventDefault()` prevents navigation. */
  'wattn-select': CustomEvent<{ query: string; hit: ShownHit; url: string }>;
}
