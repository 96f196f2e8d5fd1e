// The pages of a built site, as a static index has them: what a reader sees of the main part, by its headings. They take time in proportion to the file.
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { Parser } from 'htmlparser2';
import { InputError } from '../core/errors.js';
import type { PageSection, SitePage } from '../static_search/chunks.js';
import { kHtml, kMarkdown, readMarkdown } from './markup.js';

/** What hosts show for an address without a page. */
const kNotFound = /(^|[\\/])(404|_not-found)(\.|[\\/]index\.)x?html?$/i;
const kHidden = new Set('script style noscript template svg head nav header footer aside button select dialog iframe'.split(' '));
const kHiddenRoles = new Set('navigation banner contentinfo search complementary'.split(' '));
/** What is before the page's own headings: `<header>` of an article is kept. */
const kMainRoles = new Set(['main']);
const kBlocks = new Set(
  'address article blockquote dd details div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 hr li main ol p pre section summary table td th tr ul'.split(
    ' ',
  ),
);
const kParagraphs = new Set('p pre ul ol dl table blockquote section article div details h1 h2 h3 h4 h5 h6'.split(' '));
const kEmpty = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
/** Tags inside each other. What is nested more deeply is left out: a parser's time would grow with the square of it. */
const kDeepest = 512;

interface Open {
  name: string;
  hidden: boolean;
  /** 2: marked as what is to be indexed; 1: the page's main part. */
  main: number;
}

interface Heading {
  level: number;
  text: string;
}

/** A page, and whether it says itself which part of it is to be indexed. */
export interface ReadPage {
  page: Omit<SitePage, 'url'>;
  isMarked: boolean;
  language?: string | undefined;
}

/** Lines without blanks around them, and at most one empty line between two. */
const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Sections of one level of importance: all that was seen, or what the main part or a mark holds. */
class Sections {
  readonly list: PageSection[] = [];
  title = '';
  private readonly path: Heading[] = [];
  private parts: string[] = [];
  private fragment = '';

  /** isPre: its spaces are its own. */
  add(text: string, isPre: boolean): void {
    const isBegin = !isPre && /^(\n|\n\n)?$/.test(this.parts.at(-1) ?? '');
    const own = isBegin ? text.trimStart() : text;
    if (own !== '') this.parts.push(own);
  }

  /** Begins a line, or a paragraph. */
  line(isParagraph: boolean): void {
    const last = this.parts.at(-1);
    if (last !== '\n' && last !== '\n\n') this.parts.push(isParagraph ? '\n\n' : '\n');
    else if (isParagraph) this.parts[this.parts.length - 1] = '\n\n';
  }

  end(): void {
    const text = tidy(this.parts.join(''));
    this.parts = [];
    const headings = this.path.map((heading) => heading.text);
    if (text !== '' || headings.length > 0) this.list.push({ fragment: this.fragment, headings, text });
  }

  heading(level: number, text: string, fragment: string): void {
    this.end();
    if (level === 1 && this.title === '') {
      this.title = text;
      this.path.length = 0;
      this.fragment = '';
      return;
    }
    while (this.path.length > 0 && this.path.at(-1)!.level >= level) this.path.pop();
    this.path.push({ level, text });
    this.fragment = fragment;
  }
}

/** Undefined: a page that asks not to be found, or leads elsewhere. */
export function readSitePage(html: string): ReadPage | undefined {
  const kinds = [new Sections(), new Sections(), new Sections()];
  const found = [false, false, false];
  const open: Open[] = [];
  let language: string | undefined;
  let [title, isTitle, isLeft, pre, links, weight] = ['', false, false, 0, 0, 1];
  let heading: { level: number; text: string; fragment: string; depth: number } | undefined;
  /** Ids that stand before a heading or around it, which lead to it. */
  let id = '';
  const state = () => open.at(-1) ?? { hidden: false, main: 0 };
  const targets = () => kinds.slice(0, state().main + 1);
  const seen = (run: (sections: Sections) => void) => {
    if (!state().hidden) targets().forEach(run);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      const { hidden, main } = state();
      const mark = attributes['data-wattn'];
      const isBody = mark === 'include' || 'data-pagefind-body' in attributes;
      const isOut = mark === 'exclude' || 'data-pagefind-ignore' in attributes;
      const role = attributes['role'] ?? '';
      const isMain = name === 'main' || name === 'article' || kMainRoles.has(role);
      const isHeader = name === 'header' && main > 0; // of an article: its title
      const own = {
        name,
        hidden:
          hidden ||
          isOut ||
          (!isBody && !isHeader && kHidden.has(name)) ||
          kHiddenRoles.has(role) ||
          'hidden' in attributes ||
          (attributes['aria-hidden'] === 'true' && name !== 'a'),
        main: Math.max(main, isBody ? 2 : isMain ? 1 : 0),
      };
      if (name === 'html') language = attributes['lang'];
      if (name === 'title' && title === '') isTitle = true;
      if (name === 'meta') {
        const isRobots = /^(robots|wattn)$/i.test(attributes['name'] ?? '') && /noindex/i.test(attributes['content'] ?? '');
        const own = Number(attributes['content']);
        if (attributes['name'] === 'wattn-weight' && own >= 0 && own <= 2) weight = own;
        if (isRobots || /^refresh$/i.test(attributes['http-equiv'] ?? '')) isLeft = true;
      }
      if (open.length >= kDeepest) own.hidden = true;
      open.push(own);
      if (own.main > 0) for (let i = 1; i <= own.main; ++i) found[i] = true;
      if (own.hidden) return;
      const anchor = attributes['id'] ?? (name === 'a' ? attributes['name'] : undefined);
      if (anchor && heading) heading.fragment ||= anchor;
      else if (anchor) id = anchor;
      const [, level] = /^h([1-6])$/.exec(name) ?? [];
      if (level && !heading) {
        heading = { level: Number(level), text: '', fragment: attributes['id'] ?? '', depth: open.length };
        if (heading.fragment === '') heading.fragment = id;
        return;
      }
      if (name === 'pre') ++pre;
      // A link to the heading itself has a sign for a text.
      if (heading && name === 'a' && (attributes['href'] ?? '').startsWith('#')) ++links;
      if (name === 'br') seen((sections) => sections.line(false));
      else if (kBlocks.has(name)) seen((sections) => sections.line(kParagraphs.has(name)));
    },
    ontext(data) {
      if (isTitle) {
        title += data;
        return;
      }
      if (state().hidden) return;
      if (heading) {
        if (!(links > 0 && /^[\s#\u00b6\u00a7\u{1f517}\u200b]*$/u.test(data))) heading.text += data;
        return;
      }
      const text = pre > 0 ? data : data.replace(/\s+/g, ' ');
      if (text.trim() !== '') id = '';
      seen((sections) => sections.add(text, pre > 0));
    },
    onclosetag(name) {
      const own = open.at(-1);
      if (name === 'title') isTitle = false;
      if (!own || kEmpty.has(name)) {
        if (own?.name === name) open.pop();
        return;
      }
      if (!own.hidden) {
        if (heading && name === 'a' && links > 0) --links;
        if (heading && heading.depth === open.length) {
          const { level, fragment } = heading;
          const text = oneLine(heading.text.replace(/[\s#\u00b6]+$/u, ''));
          heading = undefined;
          links = 0;
          id = '';
          if (text !== '') seen((sections) => sections.heading(level, text, fragment));
        } else if (!heading) {
          if (name === 'pre') --pre;
          if (name === 'td' || name === 'th') seen((sections) => sections.add(' ', false));
          else if (kBlocks.has(name)) seen((sections) => sections.line(kParagraphs.has(name)));
        }
      }
      open.pop();
    },
  });
  parser.write(html);
  parser.end();
  if (isLeft) return undefined;
  const chosen = found.lastIndexOf(true);
  const sections = kinds[Math.max(0, chosen)]!;
  sections.end();
  // A site's name is often put behind each page's title, so the page's own heading is better.
  const page = { weight, title: sections.title || oneLine(title), sections: sections.list };
  return { page, isMarked: chosen === 2, language };
}

/** Markdown by its headings. Fragments are as GitHub, VitePress and Docusaurus make them. */
export function readMarkdownPage(markdown: string): Omit<SitePage, 'url'> {
  const { title, text } = readMarkdown(markdown);
  const sections = new Sections();
  let isCode = false;
  const used = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    const [, signs, words] = (!isCode && /^(#{1,6})[ \t]+(\S.*)$/.exec(line)) || [];
    if (signs === undefined || words === undefined) {
      sections.add(`${line}\n`, true);
      continue;
    }
    const [, plain = words, own] = /^(.*?)\s*\{#([\w-]+)\}\s*$/.exec(words) ?? [];
    const heading = oneLine(plain.replace(/\s+#+\s*$/, '').replace(/[*`]/g, ''));
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const times = used.get(slug) ?? 0;
    used.set(slug, times + 1);
    sections.heading(signs.length, heading, own ?? (times > 0 ? `${slug}-${times}` : slug));
  }
  sections.end();
  return { title: oneLine(title) || sections.title, sections: sections.list };
}

const cannotRead = (path: string) => (error: { code?: string }) => {
  throw new InputError(`cannot read ${path}: ${error.code}`);
};

/** The pages of a folder, in the order of their names. left: how many files have no words, or ask not to be found. */
export async function readSite(
  folder: string,
  except: string,
): Promise<{ pages: SitePage[]; left: number; language: string | undefined }> {
  if (!(await stat(folder).catch(cannotRead(folder))).isDirectory())
    throw new InputError(`expected the folder of a site, found the file ${folder}`);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(cannotRead(folder));
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => [...kHtml, ...kMarkdown].includes(extname(file).toLowerCase()))
    .filter(
      (file) =>
        !relative(folder, file)
          .split(sep)
          .some((part) => part.startsWith('.') || part === 'node_modules'),
    )
    .filter((file) => relative(except, file).startsWith('..') && !kNotFound.test(file))
    .sort();
  const html = files.filter((file) => kHtml.includes(extname(file).toLowerCase()));
  const read: ({ file: string } & ReadPage)[] = [];
  for (const file of html.length > 0 ? html : files) {
    const text = await readFile(file, 'utf8').catch(cannotRead(file));
    const found = html.length > 0 ? readSitePage(text) : { page: readMarkdownPage(text), isMarked: false };
    if (found && found.page.sections.some((section) => section.text !== '')) read.push({ file, ...found });
  }
  // Where some pages say which part is to be found, the others have none.
  const some = read.some(({ isMarked }) => isMarked) ? read.filter(({ isMarked }) => isMarked) : read;
  const pages = some.map(({ file, page }) => ({
    ...page,
    title: page.title || relative(folder, file),
    url: urlOf(relative(folder, file)),
  }));
  return { pages, left: files.length - pages.length, language: some.find((one) => one.language)?.language };
}

/** The address of a file, as static hosts have it. */
const urlOf = (file: string): string =>
  file
    .split(sep)
    .map(encodeURIComponent)
    .join('/')
    .replace(/(^|\/)index\.x?html?$/i, '$1');
