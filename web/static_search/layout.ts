// The files of a static index. `index.json` names the folder of all others, which is a hash of them: they never change, and can be cached for ever.
import { ModelFormatError } from '../core/errors.js';
import { ByteReader, ByteWriter } from './bytes.js';

export const kFormat = 1;

/** What `index.json` says. */
export interface Head {
  format: number;
  folder: string;
  /** Where the site's pages are, relative to the folder of `index.json`, or from the root. */
  site: string;
  /** The site's language, as `lang` of its pages has it. */
  language?: string;
  pages: number;
  rows: number;
  /** Words of a page in the mean. */
  mean: number;
  /** Where each file of words begins. */
  words: string[];
  /** How many pages have each of the words that are in very many rows. */
  common: Record<string, number>;
  meaning?: {
    dims: number;
    /** Rows of each cluster. */
    sizes: number[];
    /** A cosine of the table, as the model would have it: scale * cosine + offset. */
    scale: number;
    offset: number;
    /** How well the model reads the site, from 0 to 1. */
    trust: number;
  };
}

/** Names in the folder. */
export const kNames = {
  pages: 'pages.bin',
  table: 'table.bin',
  centres: 'centres.bin',
  words: (i: number) => `w${i}.bin`,
  texts: (i: number) => `t${i}.bin`,
  cluster: (i: number) => `v${i}.bin`,
};

/** A page's weight is a whole number of these. */
const kWeightSteps = 20;

/** Which rows belong to which page, and in which file of texts they are. */
export class Pages {
  /** [pages + 1] the first row of each. */
  readonly firsts: number[] = [0];
  /** [pages] words. */
  readonly lengths: number[] = [];
  /** [pages] what its score is multiplied with. */
  readonly weights: number[] = [];
  /** [texts + 1] the first row in each file of texts. */
  readonly texts: number[] = [0];

  static read(bytes: Uint8Array, name: string, head: Head): Pages {
    const reader = new ByteReader(bytes, name);
    const out = new Pages();
    for (let i = reader.number(); i > 0; --i) out.firsts.push(out.firsts.at(-1)! + reader.number());
    for (let i = 1; i < out.firsts.length; ++i) out.lengths.push(reader.number());
    for (let i = 1; i < out.firsts.length; ++i) out.weights.push(reader.number() / kWeightSteps);
    for (let i = reader.number(); i > 0; --i) out.texts.push(out.texts.at(-1)! + reader.number());
    const fits = out.lengths.length === head.pages && out.firsts.at(-1) === head.rows && out.texts.at(-1) === head.rows;
    if (!fits) throw new ModelFormatError(`static index: ${name} does not belong to its index.json`);
    return out;
  }

  write(): Uint8Array {
    const out = new ByteWriter();
    const steps = (list: readonly number[]) => list.slice(1).map((value, i) => value - list[i]!);
    const counts = steps(this.firsts);
    out.number(counts.length);
    for (const count of counts) out.number(count);
    for (const length of this.lengths) out.number(length);
    for (const weight of this.weights) out.number(Math.round(weight * kWeightSteps));
    const texts = steps(this.texts);
    out.number(texts.length);
    for (const count of texts) out.number(count);
    return out.done();
  }

  private static at(list: readonly number[], row: number): number {
    let [low, high] = [0, list.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle]! <= row) low = middle;
      else high = middle;
    }
    return low;
  }

  pageOf(row: number): number {
    return Pages.at(this.firsts, row);
  }

  textsOf(row: number): number {
    return Pages.at(this.texts, row);
  }
}

/** A part of a page, as a file of texts has it. */
export interface TextRow {
  url: string;
  title: string;
  headings: string[];
  text: string;
}

/** What a file of texts has: its rows, and their vectors as `packRows` makes them. */
export interface Texts {
  rows: TextRow[];
  vectors: Uint8Array;
}

/** A page and its rows: [url, title, [[fragment, headings, text], ..]]. */
type Written = [string, string, [string, string[], string][]][];

export function writeTexts(
  rows: readonly { url: string; title: string; fragment: string; headings: string[]; text: string }[],
  vectors: Uint8Array,
): Uint8Array {
  const pages: Written = [];
  for (const { url, title, fragment, headings, text } of rows) {
    if (pages.at(-1)?.[0] !== url) pages.push([url, title, []]);
    pages.at(-1)![2].push([fragment, headings, text]);
  }
  return new ByteWriter().text(JSON.stringify(pages)).raw(vectors).done();
}

export function readTexts(bytes: Uint8Array, name: string): Texts {
  const reader = new ByteReader(bytes, name);
  const pages = JSON.parse(reader.text()) as Written;
  const rows = pages.flatMap(([url, title, parts]) =>
    parts.map(([fragment, headings, text]) => ({ url: url + (fragment === '' ? '' : `#${fragment}`), title, headings, text })),
  );
  return { rows, vectors: reader.rest() };
}
