// `<wattn-search>`: a search box with a list of hits, over an `Index` or a static index.
import { showHit, urlOf } from './show_hit.js';
import { style } from './styles.js';
import type { SearchElementEvents, SearchSource, SearchTexts, ShownHit } from './types.js';

const kTexts: SearchTexts = {
  label: 'Search',
  placeholder: 'Search',
  results: 'Results',
  count: (hits) => (hits === 1 ? '1 result' : `${hits} results`),
  none: 'Nothing was found.',
  unsure: 'Nothing close was found. These are the nearest.',
  failed: 'The search failed. Check the connection, and try again.',
};
const kDebounceMs = 120;
const kLimit = 8;

/** On servers, where there are no elements, the class is there and does nothing. */
const Base = (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ?? (class {} as unknown as typeof HTMLElement);

const isWatchable = (value: unknown): value is AsyncIterable<{ hits: readonly ShownHit[] }> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/**
 * The element `<wattn-search>`: a search box with a list of hits. `src` is the folder of a static index; or set `index` to a static index or an `Index`.
 * Keyword hits are shown first.
 *
 * Attributes: `src`; `limit` (hits, default 8); `debounce` (ms after a key, default 120); `shortcut` (a key that focuses it, such as `/`);
 * `placeholder`; `label`; `theme` (`light` or `dark`; default: the system's). Events: `wattn-results`, `wattn-select`. Parts: `input`, `panel`, `list`,
 * `hit`, `title`, `path`, `text`, `mark`, `url`, `status`. Custom properties: `--wattn-search-color`, `-soft`, `-background`, `-border`, `-accent`,
 * `-active`, `-mark`, `-radius`, `-width`, `-height`, `-layer`.
 *
 * Keys: arrows select a hit, Enter opens it (or the first one), Escape closes the list, then clears the box.
 *
 * @example
 * const box = globalThis.document?.createElement('wattn-search');
 * if (box) Object.assign(box, { src: '/search/', texts: { placeholder: 'Search the manual' } });
 */
export class WattnSearchElement extends Base {
  /** The observed attributes. */
  static readonly observedAttributes = ['src', 'placeholder', 'label'];

  private readonly input!: HTMLInputElement;
  private readonly panel!: HTMLElement;
  private readonly list!: HTMLElement;
  private readonly status!: HTMLElement;
  private readonly name!: HTMLElement;
  private own: SearchSource | undefined;
  private opening: Promise<SearchSource> | undefined;
  private said: SearchTexts = kTexts;
  private hits: readonly ShownHit[] = [];
  /** What `hits` are of. */
  private shown = '';
  private active = -1;
  /** Its list was closed, and stays so when more hits come. */
  private isClosed = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | undefined;
  private unbind: (() => void) | undefined;

  constructor() {
    super();
    if (Base !== (globalThis as { HTMLElement?: unknown }).HTMLElement) return;
    const document = this.ownerDocument;
    const root = this.attachShadow({ mode: 'open', delegatesFocus: true });
    style(root);
    const make = <Name extends keyof HTMLElementTagNameMap>(name: Name, part: string, attributes: Record<string, string> = {}) => {
      const element = document.createElement(name);
      element.className = part;
      for (const [key, value] of Object.entries({ part, ...attributes })) element.setAttribute(key, value);
      return element;
    };
    this.name = make('label', 'label', { for: 'input' });
    this.input = make('input', 'input', {
      id: 'input',
      type: 'search',
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': 'false',
      'aria-controls': 'list',
      'aria-haspopup': 'listbox',
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      enterkeyhint: 'search',
    });
    this.panel = make('div', 'panel', { hidden: '' });
    this.list = make('div', 'list', { id: 'list', role: 'listbox' });
    this.status = make('p', 'status', { role: 'status', 'aria-live': 'polite' });
    this.panel.append(this.list, this.status);
    root.append(this.name, this.input, this.panel);
    this.sayTexts();
    this.input.addEventListener('focus', () => this.warm());
    this.input.addEventListener('input', () => this.later());
    this.input.addEventListener('keydown', (event) => this.onKey(event));
    this.input.addEventListener('click', () => this.show(true));
    this.list.addEventListener('click', (event) => this.onChoice(event));
    this.list.addEventListener('pointerdown', (event) => event.button === 0 && event.preventDefault()); // the box keeps the focus
    this.addEventListener('focusout', ({ relatedTarget }) => {
      if (relatedTarget === null || !this.contains(relatedTarget as Node)) this.show(false);
    });
  }

  /** The index to search. Default: the one that `src` names. */
  get index(): SearchSource | undefined {
    return this.own;
  }
  set index(index: SearchSource | undefined) {
    this.own = index;
    this.opening = undefined;
    if (this.value !== '') this.later();
  }

  /** The folder of a static index. */
  get src(): string {
    return this.getAttribute('src') ?? '';
  }
  set src(src: string) {
    this.setAttribute('src', src);
  }

  /** The text in the box. Setting it starts a search. */
  get value(): string {
    return this.input.value;
  }
  set value(value: string) {
    this.input.value = value;
    this.later();
  }

  /** Texts of the user interface. Texts that you do not set keep their defaults. */
  get texts(): Partial<SearchTexts> {
    return this.said;
  }
  set texts(texts: Partial<SearchTexts>) {
    this.said = { ...this.said, ...texts };
    this.sayTexts();
  }

  /** Registers the shortcut. Called by the browser. */
  connectedCallback(): void {
    // What was set before the class was there hides its accessors.
    for (const name of ['index', 'texts', 'src', 'value'] as const) {
      if (!Object.hasOwn(this, name)) continue;
      const { [name]: value } = this;
      delete (this as Partial<this>)[name];
      Object.assign(this, { [name]: value });
    }
    const onKey = (event: KeyboardEvent) => {
      const from = event.composedPath()[0] as Partial<HTMLElement>;
      if (!this.hasAttribute('shortcut')) return;
      const isTyping = from.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName ?? '');
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.key !== this.getAttribute('shortcut')) return;
      event.preventDefault();
      event.stopPropagation();
      this.input.focus();
    };
    this.ownerDocument.addEventListener('keydown', onKey, true);
    this.unbind = () => this.ownerDocument.removeEventListener('keydown', onKey, true);
  }

  /** Cancels running searches. Called by the browser. */
  disconnectedCallback(): void {
    this.unbind?.();
    this.stop();
    this.show(false);
  }

  /** Called by the browser. */
  attributeChangedCallback(name: string): void {
    if (name === 'src') this.opening = undefined;
    else this.sayTexts();
  }

  private sayTexts(): void {
    const { label, placeholder, results } = this.said;
    this.name.textContent = this.getAttribute('label') ?? label;
    this.input.placeholder = this.getAttribute('placeholder') ?? placeholder;
    this.list.setAttribute('aria-label', results);
  }

  private source(): Promise<SearchSource> {
    if (this.own) return Promise.resolve(this.own);
    this.opening ??= import('../static_search/static_index.js').then(({ openStaticIndex }) =>
      openStaticIndex(new URL(this.src, this.ownerDocument.baseURI)),
    );
    this.opening.catch(() => (this.opening = undefined));
    return this.opening;
  }

  /** Loads what the first search needs. */
  private warm(): void {
    if (!this.own && this.src === '') return;
    this.source()
      .then((source) => source.preload?.())
      .catch(() => {}); // a search says it
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = undefined;
  }

  private later(): void {
    this.stop();
    this.isClosed = false;
    const wait = Number(this.getAttribute('debounce') ?? kDebounceMs);
    this.timer = setTimeout(() => void this.run(), wait >= 0 ? wait : kDebounceMs);
  }

  private async run(): Promise<void> {
    const query = this.value.trim();
    if (query === '') {
      this.put('', [], true);
      return this.show(false);
    }
    const running = (this.running = new AbortController());
    const { signal } = running;
    const put = (hits: readonly ShownHit[], done: boolean) => {
      if (!signal.aborted) this.put(query, hits, done);
    };
    try {
      const source = await this.source();
      if (signal.aborted) return;
      const limit = Math.max(1, Math.floor(Number(this.getAttribute('limit')) || kLimit));
      if (typeof source.preload === 'function') {
        const search = source.search(this.value.trimStart(), { limit, signal });
        if (isWatchable(search)) for await (const { hits } of search) put(hits, false);
        put(await search, true);
      } else {
        put(await source.search(query, { top_k: limit, mode: 'words', signal }), false);
        put(await source.search(query, { top_k: limit, signal }), true);
      }
    } catch {
      if (signal.aborted) return;
      this.put(query, [], true);
      this.status.textContent = this.said.failed;
    }
  }

  private put(query: string, hits: readonly ShownHit[], done: boolean): void {
    // A hit that was chosen stays so while better ones come.
    const chosen = this.hits[this.active];
    this.hits = hits;
    this.shown = query;
    this.list.replaceChildren(...hits.map((hit, i) => showHit(hit, i, this.ownerDocument)));
    this.choose(chosen ? hits.findIndex((hit) => urlOf(hit) === urlOf(chosen)) : -1);
    const { none, unsure, count } = this.said;
    const isUnsure = hits.length > 0 && hits.every(({ close }) => close === false);
    if (done) this.status.textContent = query === '' ? '' : hits.length === 0 ? none : isUnsure ? unsure : count(hits.length);
    if (query !== '' && !this.isClosed && (done || hits.length > 0))
      this.show(this.matches(':focus-within') || this.shadowRoot?.activeElement === this.input);
    this.tell('wattn-results', { query, hits, done }, false);
  }

  private show(isOpen: boolean): void {
    if (this.shown === '' && isOpen) return;
    this.panel.hidden = !isOpen;
    this.input.setAttribute('aria-expanded', String(isOpen && this.hits.length > 0));
    if (!isOpen) this.choose(-1);
  }

  private choose(active: number): void {
    this.active = active;
    [...this.list.children].forEach((each, i) => each.setAttribute('aria-selected', String(i === active)));
    if (active < 0) return this.input.removeAttribute('aria-activedescendant');
    this.input.setAttribute('aria-activedescendant', `hit-${active}`);
    this.list.children[active]!.scrollIntoView({ block: 'nearest' });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const { length } = this.hits;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && length > 0) {
      this.show(true);
      // Before the first and after the last one is the box itself.
      this.choose(((this.active + 1 + step + length + 1) % (length + 1)) - 1);
    } else if (event.key === 'Enter' && length > 0 && !this.panel.hidden && this.shown === this.value.trim()) {
      (this.list.children[Math.max(0, this.active)] as HTMLElement).click();
    } else if (event.key === 'Escape' && !this.panel.hidden) {
      this.isClosed = true;
      this.show(false);
    } else if (event.key === 'Escape' && this.value !== '') {
      this.value = '';
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private onChoice(event: MouseEvent): void {
    const link = (event.target as Element).closest('a');
    const hit = this.hits[link ? [...this.list.children].indexOf(link) : -1];
    if (!hit) return;
    if (!this.tell('wattn-select', { query: this.shown, hit, url: urlOf(hit) }, true)) event.preventDefault();
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) this.show(false);
  }

  private tell<Name extends keyof SearchElementEvents>(
    name: Name,
    detail: SearchElementEvents[Name]['detail'],
    cancelable: boolean,
  ): boolean {
    return this.dispatchEvent(new CustomEvent(name, { detail, cancelable, bubbles: true, composed: true }));
  }
}
