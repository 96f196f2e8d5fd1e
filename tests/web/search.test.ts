// Index: results, changes, storage, and rejected arguments.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Index,
  InputError,
  ModelFormatError,
  pipeline,
  StateError,
  UnsupportedError,
  type EmbedFunction,
  type IndexDocument,
} from 'wattn';
import { memoryStore } from '../../web/search/stores.js';
import { root, tiny } from './support.js';

/** A vector that says which letters a text has, so that tests know what is near. */
const letters: EmbedFunction = async (texts) =>
  texts.map((text) =>
    Float32Array.from({ length: 26 }, (_, i) => text.toLowerCase().split(String.fromCharCode(97 + i)).length - 1 + 0.01),
  );
/** The same, counted. */
function counted(): { embed: EmbedFunction; texts: string[] } {
  const all: string[] = [];
  return { texts: all, embed: (texts, kind) => (all.push(...texts), letters(texts, kind)) };
}

const documents: IndexDocument[] = [
  { id: 'bakery', text: 'The bakery opens at seven.', lang: 'en', year: 2001 },
  { id: 'train', text: 'The train leaves at noon.', title: 'Berlin', lang: 'en', year: 2002 },
  { id: 'brot', text: 'Die B\u00e4ckerei \u00f6ffnet um sieben.', lang: 'de', year: 2001, tags: ['food', 'time'] },
];

/** Calls of setTimeout by a clock that moves with every look at it: how often there is a break then depends on the work alone. */
async function breaksOf(run: () => Promise<unknown>): Promise<number> {
  const { setTimeout: wait } = globalThis;
  let [now, breaks] = [0, 0];
  performance.now = () => (now += 10);
  globalThis.setTimeout = ((...args: Parameters<typeof wait>) => (++breaks, wait(...args))) as typeof wait;
  try {
    await run();
    return breaks;
  } finally {
    delete (performance as { now?: unknown }).now; // the prototype's shows again
    globalThis.setTimeout = wait;
  }
}

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'wattn-index-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const open = (options = {}) => Index.open('notes', { embed: letters, store: 'memory', ...options });
const idsOf = async (index: Index, query: string, options = {}) => (await index.search(query, options)).map(({ id }) => id);
const segmentsIn = (name = 'notes') =>
  readdirSync(join(folder, name))
    .filter((file) => !file.includes('.'))
    .sort();

describe('search', () => {
  it('finds words, with their places', async () => {
    const index = await open({ embed: undefined });
    await index.add(documents);
    const [hit, ...rest] = await index.search('BACKEREI');
    expect(rest).toEqual([]);
    expect(hit).toMatchObject({ id: 'brot', start: 0, end: documents[2]!.text.length, why: { meaning: null, rank: null } });
    expect(hit!.highlights.map(({ start, end }) => hit!.text.slice(start, end))).toEqual(['B\u00e4ckerei']);
    expect(hit!.document).toEqual(documents[2]);
    expect(await idsOf(index, 'berlin')).toEqual(['train']); // a title
    expect(await idsOf(index, '')).toEqual([]);
    expect(await idsOf(index, 'bakery', { top_k: 2 ** 31 - 1 })).toEqual(['bakery']);
    expect(await idsOf(index, 'zebra')).toEqual([]);
    await expect(index.search('x', { mode: 'meaning' })).rejects.toThrow("mode 'meaning' needs the option 'embed'");
  });

  it('joins words and meaning, and says why', async () => {
    const index = await open();
    await index.add(documents);
    const hits = await index.search('bakery');
    expect(hits.map(({ id }) => id)).toContain('brot');
    expect(hits[0]).toMatchObject({ id: 'bakery', why: { rank: null } });
    expect(hits[0]!.why.words).toBeGreaterThan(0);
    expect(hits[0]!.why.meaning).toBeGreaterThan(hits[1]!.why.meaning!);
    expect(await idsOf(index, 'bakery', { top_k: 2 ** 31 - 1 })).toHaveLength(3);
    expect(await idsOf(index, ' \n')).toEqual([]);
    expect(await idsOf(index, 'bakery', { weights: { words: 0 } })).toEqual(await idsOf(index, 'bakery', { mode: 'meaning' }));
  });

  it('filters by a function or by fields', async () => {
    const index = await open();
    await index.add(documents);
    const of = async (filter: unknown) => (await idsOf(index, 'bakery', { filter })).sort();
    expect(await of({ lang: 'en' })).toEqual(['bakery', 'train']);
    expect(await of({ lang: ['de', 'fr'] })).toEqual(['brot']);
    expect(await of({ lang: 'en', year: 2002 })).toEqual(['train']);
    expect(await of({ tags: 'food' })).toEqual(['brot']);
    expect(await of({ lang: 'fr' })).toEqual([]);
    expect(await of(({ year }: IndexDocument) => (year as number) < 2002)).toEqual(['bakery', 'brot']);
    await expect(index.search('x', { filter: 3 as never })).rejects.toThrow("option 'filter'");
  });

  it('says that nothing is close', async () => {
    const index = await open();
    await index.add(documents);
    expect(await idsOf(index, 'zzz', { min_score: { words: 0.1, meaning: 0.5 } })).toEqual([]);
    expect(await idsOf(index, 'noon', { min_score: { words: 0.1, meaning: 2 } })).toEqual(['train']);
    expect(await idsOf(index, 'noon', { min_score: { meaning: 2 } })).toEqual([]);
    expect(await idsOf(index, 'noon', { min_score: 1e9 })).toEqual([]);
    await expect(index.search('x', { min_score: { word: 1 } as never })).rejects.toThrow("did you mean 'words'?");
    await expect(index.search('x', { weights: { words: NaN } })).rejects.toThrow(
      "option 'words': expected a finite number, found NaN",
    );
  });

  it('reranks the best candidates', async () => {
    const index = await open();
    await index.add(documents);
    const seen: string[][] = [];
    const rerank = async (_query: string, texts: string[]) => (seen.push(texts), texts.map((text) => text.length));
    const hits = await index.search('bakery', { rerank });
    expect(hits.map(({ score }) => score)).toEqual(
      hits.map(({ text, document }) => text.length + (document.title ? document.title.length + 1 : 0)),
    );
    expect(hits[0]!.why.rank).toBe(hits[0]!.score);
    expect(seen[0]).toContain('Berlin\nThe train leaves at noon.');
    expect((await index.search('bakery', { rerank, rerank_depth: 1 })).map(({ id }) => id)).toEqual(['bakery']);
    // Rows get other numbers while it judges.
    const many = Array.from({ length: 1500 }, (_, i) => ({ id: `m${i}`, text: `many ${i}` }));
    const moving = await open();
    await moving.add(many);
    await moving.add(documents);
    const late = async (_query: string, texts: string[]) => {
      await moving.delete(many.map(({ id }) => id));
      return texts.map((text) => text.length);
    };
    const after = await moving.search('bakery', { rerank: late, mode: 'words' });
    const { text } = documents[0]!;
    expect(after.map(({ text, start, end }) => [text, start, end])).toEqual([[text, 0, text.length]]);
    await expect(index.search('bakery', { rerank: async () => [1] })).rejects.toThrow('expected it to return 3 numbers, found 1');
    const ranker = await pipeline('text-ranking', join(tiny, '../../tasks/ranker')).catch(() => undefined);
    if (ranker) expect(await index.search('bakery', { rerank: ranker })).toHaveLength(3);
    await ranker?.dispose();
  });

  it('finds parts of long texts, one of each document or all', async () => {
    const embed = await pipeline('feature-extraction', tiny);
    const index = await Index.open('parts', { embed, store: 'memory', chunk: { max_tokens: 12 } });
    const text = 'The old bridge stands.\n\n'.repeat(8) + 'Silver stones by the sea.\n\n' + 'Cold wind at home.\n\n'.repeat(8);
    await index.add([
      { id: 'long', text, title: 'the path' },
      { id: 'short', text: 'the sea' },
    ]);
    expect(index.info().chunks).toBeGreaterThan(8);
    const [first] = await index.search('silver stones', { mode: 'words' });
    expect(first!.text).toContain('Silver stones');
    expect(text.slice(first!.start, first!.end)).toBe(first!.text);
    expect(await idsOf(index, 'the', { top_k: 50 })).toHaveLength(2);
    expect(await idsOf(index, 'bridge', { top_k: 50, group_by: 'chunk' })).toHaveLength(index.info().chunks);
    await index.dispose();
    await embed.dispose();
  });

  it('scores the words of a document, and finds the part that holds them', async () => {
    const lines = (text: string) =>
      [...text.matchAll(/[^\n]+/g)].map(({ index, 0: line }) => ({ start: index, end: index + line.length }));
    const index = await open({ embed: letters, chunk: lines });
    const whole = await open({ embed: undefined });
    const all = [
      { id: 'far', text: 'stone\nriver\nriver and stone and sand' },
      { id: 'title', title: 'A river', text: 'one\ntwo stones\nthree' },
      { id: 'other', text: 'nothing of it' },
    ];
    await index.add(all);
    await whole.add(all);
    const of = async (each: Index, query: string, options = {}) =>
      (await each.search(query, { mode: 'words', top_k: 50, ...options })).map(({ id, score }) => [id, score.toFixed(4)]);
    for (const query of ['river', 'river stone', 'stones', 'sand nothing']) {
      expect(await of(index, query)).toEqual(await of(whole, query));
    }
    const part = async (query: string) => (await index.search(query, { mode: 'words', top_k: 1 }))[0]!.text;
    expect(await part('river stone')).toBe('river and stone and sand');
    expect(await part('two river stones')).toBe('two stones');
    // Each line of a document whose title has the word.
    expect(await idsOf(index, 'a', { mode: 'words', group_by: 'chunk' })).toEqual(['title', 'title', 'title']);
  });

  it('asks for more candidates while they are parts of the same documents', async () => {
    const chunk = (text: string) =>
      Array.from({ length: 400 }, (_, i) => ({ start: 2 * i, end: 2 * i + 1 })).filter(({ end }) => end <= text.length);
    const index = await open({ chunk });
    await index.add([
      { id: 'many', text: 'a '.repeat(400) },
      { id: 'few', text: 'a b' },
    ]);
    expect(index.info().chunks).toBe(402);
    expect((await idsOf(index, 'a', { top_k: 2 })).sort()).toEqual(['few', 'many']);
  });

  it.each(['int8', 'binary', 'float32'] as const)('keeps a part of the vectors with %s', async (precision) => {
    const index = await open({ precision, truncate_dim: 8 });
    await index.add(documents);
    expect(index.info()).toMatchObject({ dim: 8, precision, chunks: 3 });
    expect(await idsOf(index, 'bakery', { mode: 'meaning' })).toHaveLength(3);
  });
});

describe('words', () => {
  const found = async (text: string, query: string, words = {}) => {
    const index = await open({ embed: undefined, words });
    await index.add({ id: 'a', text });
    const [hit] = await index.search(query);
    return hit?.highlights.map(({ start, end }) => text.slice(start, end));
  };

  it('are compared without case, accents and forms of letters', async () => {
    expect(await found('L\u2019\u00c9T\u00c9 commence', 'ete')).toEqual(['\u00c9T\u00c9']);
    expect(await found('Stra\u00dfe', 'STRASSE')).toEqual(['Stra\u00dfe']);
    expect(await found('\ufb01ne \uff21\uff22\uff23', 'fine abc')).toEqual(['\ufb01ne', '\uff21\uff22\uff23']);
    expect(await found('\u041c\u043e\u0441\u043a\u0432\u0430\u0301', '\u043c\u043e\u0441\u043a\u0432\u0430')).toEqual([
      '\u041c\u043e\u0441\u043a\u0432\u0430\u0301',
    ]);
    expect(await found('\u039f\u03b4\u03cc\u03c2', '\u03bf\u03b4\u03bf\u03c3')).toEqual(['\u039f\u03b4\u03cc\u03c2']);
    expect(await found('\u0939\u093f\u0902\u0926\u0940', '\u0939\u093f\u0902\u0926')).toBeUndefined(); // vowels of Hindi are marks, and count
    expect(await found('pi is 3.14, not 3', '3.14')).toEqual(['3.14']);
  });

  it('are pairs of neighbours in scripts without spaces', async () => {
    expect(await found('\u6771\u4eac\u90fd\u306b\u884c\u304f', '\u4eac\u90fd')).toEqual(['\u4eac\u90fd']);
    expect(await found('\u6771\u4eac\u90fd\u306b\u884c\u304f', '\u6771\u4eac\u90fd')).toEqual(['\u6771\u4eac\u90fd']);
    expect(await found('\u6771', '\u6771')).toEqual(['\u6771']);
    expect(await found('\u{20000}\u{20001}\u{20002}', '\u{20001}\u{20002}')).toEqual(['\u{20001}\u{20002}']);
    expect(await found('\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22', '\u0e44\u0e17\u0e22')).toEqual(['\u0e44\u0e17\u0e22']);
    expect(await found('GPT\u6a21\u578b 4', 'gpt')).toEqual(['GPT']);
  });

  it('may be stems, and some may be left out', async () => {
    const stem = (word: string) => word.replace(/(ing|s)$/, '');
    expect(await found('Birds are singing', 'sings bird', { stem })).toEqual(['Birds', 'singing']);
    expect(await found('the bird', 'The', { stopwords: ['THE'] })).toBeUndefined();
    await expect(open({ words: { stems: stem } })).rejects.toThrow("did you mean 'stem'?");
  });

  it('survive lone surrogates, NUL and emoji', async () => {
    expect(await found('a\ud800b \u0000 c \ud83d\ude00', 'c')).toEqual(['c']);
  });
});

describe('documents', () => {
  it('are embedded once', async () => {
    const { embed, texts } = counted();
    const index = await open({ embed });
    expect(await index.add(documents)).toEqual({ added: 3, updated: 0, unchanged: 0 });
    const before = texts.length;
    expect(await index.add(documents)).toEqual({ added: 0, updated: 0, unchanged: 3 });
    expect(await index.add({ ...documents[0]!, year: 1999 })).toEqual({ added: 0, updated: 0, unchanged: 1 });
    expect(index.get('bakery')).toMatchObject({ year: 1999 });
    await index.update({ id: 'train', platform: 4 });
    expect(index.get('train')).toEqual({ ...documents[1], platform: 4 });
    expect(texts.length).toBe(before);
    expect(await index.add({ ...documents[0]!, text: 'The mill opens at eight.' })).toEqual({ added: 0, updated: 1, unchanged: 0 });
    expect(await index.add({ ...documents[1]!, title: 'Rome' })).toEqual({ added: 0, updated: 1, unchanged: 0 });
    expect(texts.slice(before)).toEqual(['The mill opens at eight.', 'Rome\nThe train leaves at noon.']);
    expect(await idsOf(index, 'bakery', { mode: 'words' })).toEqual([]);
    expect(await idsOf(index, 'mill', { mode: 'words' })).toEqual(['bakery']);
    expect(index.size).toBe(3);
    expect(() => index.update({ id: 'nobody' })).toThrow("there is no document 'nobody'");
  });

  it('go away', async () => {
    const index = await open();
    await index.add(documents);
    expect(await index.delete('train')).toBe(1);
    expect(await index.delete(['train', 'brot', 'brot', 'nobody'])).toBe(1);
    expect(index.ids()).toEqual(['bakery']);
    expect(await idsOf(index, 'train bakery sieben', { top_k: 50 })).toEqual(['bakery']);
    await expect(index.delete(3 as never)).rejects.toThrow('expected an id or an array of ids, found 3');
  });

  it('come and go many times, and the rest is as if only they had come', async () => {
    const index = await open({ store: folder });
    const text = (i: number) => `number ${i} ${'abcdefghij'.repeat(1 + (i % 3))} word${i % 17}`;
    for (let round = 0; round < 6; ++round) {
      await index.add(Array.from({ length: 500 }, (_, i) => ({ id: String(i), text: text(i + round) })));
    }
    await index.delete(Array.from({ length: 450 }, (_, i) => String(i)));
    const fresh = await open({ embed: letters });
    await fresh.add(Array.from({ length: 50 }, (_, i) => ({ id: String(450 + i), text: text(455 + i) })));
    const of = async (each: Index, query: string) =>
      (await each.search(query, { top_k: 30 })).map(({ id, score, why }) => [id, score.toFixed(4), why.words?.toFixed(4)]);
    for (const query of ['word3', 'number 470', 'abc']) expect(await of(index, query)).toEqual(await of(fresh, query));
    expect(index.info().chunks).toBe(50);
    await index.dispose();
    const again = await open({ store: folder });
    for (const query of ['word3', 'number 470']) expect(await of(again, query)).toEqual(await of(fresh, query));
    expect(segmentsIn().length).toBeLessThan(20);
    await again.dispose();
  });

  it('come with progress, are found meanwhile, and the work can be ended', async () => {
    const index = await open();
    const many = Array.from({ length: 1000 }, (_, i) => ({ id: String(i), text: `text ${i}` }));
    let last = 0;
    for await (const { done, total, seconds_left } of index.add(many)) {
      expect(done).toBeGreaterThan(last);
      expect(total).toBe(1000);
      expect(seconds_left).toBeGreaterThanOrEqual(0);
      expect(index.size).toBeGreaterThanOrEqual(done);
      if (done < 1000) expect(await idsOf(index, `text ${last}`, { mode: 'words', top_k: 1 })).toEqual([String(last)]);
      last = done;
    }
    expect(last).toBe(1000);
    const other = await open();
    for await (const _ of other.add(many)) break;
    expect(other.size).toBeGreaterThan(0);
    expect(other.size).toBeLessThan(1000);
    const size = other.size;
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    await expect(other.add(many, { signal: controller.signal })).rejects.toThrow(/AbortError|aborted.*enough/);
    expect(other.size).toBe(size);
    async function* source() {
      for (const each of many) yield each;
    }
    await other.add(source());
    expect(other.size).toBe(1000);
    const ended: string[] = [];
    const failed = other.add(many[0]!, { signal: controller.signal });
    await failed.catch(({ name }) => ended.push(name));
    await expect(failed.finally(() => ended.push('failed'))).rejects.toThrow('enough');
    await other.add(many[0]!).finally(() => ended.push('added'));
    expect(ended).toEqual(['AbortError', 'failed', 'added']);
  });

  it('that are long tell how far they are, and can be cancelled', async () => {
    const chunk = (text: string) => Array.from({ length: text.length }, (_, i) => ({ start: i, end: i + 1 }));
    const index = await open({ chunk });
    const book = { id: 'book', text: 'abcdefghij'.repeat(100) };
    const reports = [];
    for await (const report of index.add([documents[0]!, book])) reports.push(report);
    const chunks = reports.map((report) => report.chunks);
    expect(chunks).toEqual([...chunks].sort((a, b) => a - b));
    expect(chunks.length).toBeGreaterThan(3);
    expect(reports.at(-1)).toMatchObject({ done: 2, total: 2, chunks: 1026, seconds_left: 0 });
    expect(reports.filter(({ done }) => done < 2).every(({ seconds_left }) => seconds_left === undefined || seconds_left > 0)).toBe(
      true,
    );
    const work = index.add([documents[1]!, { ...book, text: `${book.text}!` }]);
    const watch = async () => {
      for await (const { chunks } of work) if (chunks > 256) work.cancel();
    };
    await expect(watch()).rejects.toThrow(/AbortError|cancelled/);
    await expect(work).rejects.toThrow(/AbortError|cancelled/);
    expect(index.get('book')).toEqual(book);
  });

  it('can be read as chunks with their vectors', async () => {
    const index = await open({
      chunk: (text: string) => [
        { start: 0, end: 3 },
        { start: 4, end: text.length },
      ],
    });
    await index.add(documents);
    await index.delete('train');
    const chunks = [...index.chunks()];
    expect(chunks.map(({ id, text }) => [id, text])).toEqual([
      ['bakery', 'The'],
      ['bakery', 'bakery opens at seven.'],
      ['brot', 'Die'],
      ['brot', 'B\u00e4ckerei \u00f6ffnet um sieben.'],
    ]);
    for (const { text, vector } of chunks) {
      const [exact] = (await letters([text], 'document')) as Float32Array[];
      const norm = Math.hypot(...exact!);
      vector!.forEach((x, i) => expect(Math.abs(x - exact![i]! / norm)).toBeLessThan(0.005));
    }
    const words = await open({ embed: undefined });
    await words.add(documents[0]!);
    expect([...words.chunks()]).toEqual([{ id: 'bakery', text: documents[0]!.text, start: 0, end: 26, vector: undefined }]);
    const reading = index.chunks();
    reading.next();
    await index.dispose();
    expect(reading.next().done).toBe(true);
    expect(() => [...index.chunks()]).toThrow(StateError);
  });

  it.each([
    [
      [
        { id: 'a', text: 'x' },
        { id: 'a', text: 'y' },
      ],
      "document 1: the id 'a' occurs twice",
    ],
    [[{ id: 7, text: 'x' }], "expected 'id' to be a string with characters, found 7"],
    [[{ id: '', text: 'x' }], "expected 'id' to be a string with characters, found ''"],
    [[{ id: 'a' }], "document 0 ('a'): expected 'text' to be a string, found undefined"],
    [[{ id: 'a', text: 'x', title: 3 }], "expected 'title' to be a string, found 3"],
    [[{ id: 'a', text: 'x', n: 3n }], 'expected fields that JSON can hold'],
    [['text'], 'expected { id, text }'],
    [3, 'expected documents, found 3'],
  ])('are refused: %p', async (wrong, message) => {
    const index = await open();
    await index.add(documents);
    await expect(index.add(wrong as never)).rejects.toThrow(message);
    expect(index.size).toBe(3);
  });

  it('may be long', async () => {
    const embed = await pipeline('feature-extraction');
    const index = await Index.open('long', { embed, store: 'memory', chunk: { max_tokens: 200 } });
    await index.add({ id: 'book', text: 'The old man walked along the river to the mill. '.repeat(1500) + 'Here is the needle.' });
    expect(index.info().chunks).toBeGreaterThan(50);
    expect((await index.search('needle', { mode: 'words' }))[0]!.text).toContain('needle');
    await index.dispose();
    await embed.dispose();
  });

  const kMany = Array.from({ length: 4000 }, (_, i) => ({ id: `d${i}`, text: `word ${i}`, tenant: i % 2 }));
  const busy = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end;);
  };

  it('are filtered in steps that leave time for other things', async () => {
    const index = await open({ embed: undefined });
    await index.add(kMany);
    await index.search('word'); // so that no words are left to be read
    const breaks = async (filter?: () => boolean) => breaksOf(() => index.search('word', { top_k: 5, ...(filter && { filter }) }));
    expect(await breaks(() => true)).toBeGreaterThan(3 + (await breaks()));
    await index.dispose();
  });

  it('may come and go while a filter looks at them', async () => {
    const index = await open({ embed: undefined });
    await index.add(kMany);
    await index.search('word');
    let going: Promise<number> | undefined;
    // Most documents go meanwhile, so rows get other numbers.
    const filter = ({ id, tenant }: IndexDocument) => {
      busy(0.05);
      if (id === 'd1500') going ??= index.delete(Array.from({ length: 3501 }, (_, i) => `d${i}`));
      return tenant === 1;
    };
    const hits = await index.search('word', { filter, top_k: 5000 });
    expect(await going).toBe(3501); // an odd number: rows of the others change places
    expect(hits.length).toBeGreaterThanOrEqual(250);
    expect(hits.every(({ document }) => document['tenant'] === 1)).toBe(true);
    expect((await index.search('word', { filter: { tenant: 1 }, top_k: 5000 })).length).toBe(250);
    await index.dispose();
  });

  it('are read and forgotten in steps that leave time for other things', async () => {
    const index = await open();
    const text = Array.from({ length: 1_200_000 }, (_, i) => `word${i % 5000}`).join(' ');
    expect(text.length).toBeGreaterThan(10_000_000);
    await index.add([...documents, { id: 'long', text }]);
    const find = (query: string) => () => index.search(query, { mode: 'words' });
    expect(await breaksOf(find('rolls'))).toBeGreaterThan(15);
    expect(await breaksOf(find('rolls'))).toBeLessThan(3);
    expect(await breaksOf(find('word7'))).toBeGreaterThan(15); // the highlights of the hit
    await index.delete('long');
    expect(await breaksOf(find('rolls'))).toBeGreaterThan(15);
    const never = await open();
    await never.add(documents);
    expect(await find('the seven')()).toEqual(await never.search('the seven', { mode: 'words' }));
    await index.dispose();
    await never.dispose();
  });

  it('may go while their words are read', async () => {
    let isRead = true;
    for (let length = 20_000; isRead; length *= 2) {
      const seen = new Set<string>();
      const index = await open({ words: { stem: (word: string) => (seen.add(word), word) } });
      const text = `first ${'word '.repeat(length)} last`;
      await index.add([{ id: 'long', text }, ...documents]);
      const search = breaksOf(() => index.search('seven', { mode: 'words' }));
      expect(await index.delete('long')).toBe(1);
      isRead = !seen.has('first') || seen.has('last'); // then it went too late
      await search;
      const never = await open();
      await never.add(documents);
      expect(await index.search('seven', { mode: 'words' })).toEqual(await never.search('seven', { mode: 'words' }));
      await index.dispose();
      await never.dispose();
    }
  });

  it('whose words a stemmer refuses can be read later', async () => {
    let isWrong = false;
    const stem = (word: string) => {
      if (isWrong && word === 'seven') throw new RangeError('no stem');
      return word;
    };
    const index = await open({ words: { stem } });
    await index.add(documents);
    isWrong = true;
    await expect(index.search('bakery', { mode: 'words' })).rejects.toThrow('no stem');
    await expect(index.search('bakery', { mode: 'words' })).rejects.toThrow('no stem');
    isWrong = false;
    expect(await index.search('seven', { mode: 'words' })).toHaveLength(1);
    await index.dispose();
  });

  it('that an embed function answers wrongly change nothing', async () => {
    const index = await open({ embed: async () => [[1, NaN]] });
    await expect(index.add(documents[0]!)).rejects.toThrow('expected finite numbers');
    const few = await open({ embed: async () => [[1, 2]] });
    await expect(few.add(documents)).rejects.toThrow('expected 3 vectors, found 1');
    expect([index.size, few.size]).toEqual([0, 0]);
  });
});

describe('what is kept', () => {
  it('opens again as it was', async () => {
    const { embed, texts } = counted();
    const index = await open({ store: folder, embed });
    await index.add(documents);
    await index.delete('brot');
    const before = await index.search('bakery');
    const info = index.info();
    await index.dispose();
    texts.length = 0;
    const again = await open({ store: folder, embed });
    expect(await again.search('bakery')).toEqual(before);
    expect(again.info()).toEqual(info);
    expect(texts.filter((text) => text.includes('opens'))).toEqual([]);
    await expect(index.search('x')).rejects.toThrow(StateError);
    await again.dispose();
    await Index.delete('notes', { store: folder });
    const empty = await open({ store: folder, embed });
    expect(empty.size).toBe(0);
    await empty.dispose();
  });

  it('is followed by others that have it open', async () => {
    const [one, two] = [await open({ store: folder }), await open({ store: folder })];
    await one.add(documents);
    expect(await idsOf(two, 'bakery', { mode: 'words' })).toEqual(['bakery']);
    await two.delete('bakery');
    expect(await idsOf(one, 'bakery', { mode: 'words' })).toEqual([]);
    // Both write at once, and small segments become one meanwhile.
    const add = (index: Index, name: string) =>
      Promise.all(Array.from({ length: 12 }, (_, i) => index.add({ id: `${name}${i}`, text: `${name} ${i}` })));
    await Promise.all([add(one, 'left'), add(two, 'right')]);
    for (const index of [one, two]) {
      expect((await idsOf(index, 'left', { mode: 'words', top_k: 50 })).length).toBe(12);
      expect((await idsOf(index, 'right', { mode: 'words', top_k: 50 })).length).toBe(12);
      expect(index.size).toBe(26);
    }
    expect(segmentsIn().length).toBeLessThan(20);
    await Index.delete('notes', { store: folder });
    expect(await idsOf(one, 'left', { mode: 'words' })).toEqual([]);
    await one.add(documents);
    expect(await idsOf(two, 'train', { mode: 'words' })).toEqual(['train']);
    await Promise.all([one.dispose(), two.dispose()]);
  });

  it('loses nothing but a write that did not end', async () => {
    const index = await open({ store: folder });
    for (const document of documents.slice(0, 2)) await index.add(document);
    await index.dispose();
    const place = (file: string) => join(folder, 'notes', file);
    const heads = ['head-0', 'head-1'].map((file) => [file, readFileSync(place(file))] as const);
    const before = await open({ store: folder });
    await before.add(documents[2]!);
    await before.dispose();
    const [, , last] = segmentsIn();
    const whole = readFileSync(place(last!));
    for (const [file, bytes] of heads) writeFileSync(place(file), bytes); // it does not say yet that the last write was stored
    for (const size of [0, 1, 23, 56, 100, whole.length - 1]) {
      writeFileSync(place(last!), whole.subarray(0, size));
      const again = await open({ store: folder });
      expect(again.ids()).toEqual(['bakery', 'train']);
      await again.dispose();
    }
    const again = await open({ store: folder });
    await again.add(documents[2]!);
    expect(await idsOf(again, 'sieben', { mode: 'words' })).toEqual(['brot']);
    await again.dispose();
  });

  it('does without a larger segment that was not written to its end', async () => {
    const index = await open({ store: folder });
    for (const document of documents) await index.add(document);
    await index.dispose();
    const [first] = segmentsIn();
    const larger = first!.replace(/-\d{8}-(\d{8})$/, '-00000002-$1');
    for (const bytes of ['', 'wattnidx']) {
      writeFileSync(join(folder, 'notes', larger), bytes);
      const again = await open({ store: folder });
      expect(again.ids()).toEqual(['bakery', 'train', 'brot']);
      await again.dispose();
    }
    const again = await open({ store: folder });
    for (let i = 0; i < 8; ++i) await again.add({ id: `more${i}`, text: `more ${i}` });
    expect(segmentsIn().length).toBeLessThan(8);
    await again.dispose();
    const last = await open({ store: folder });
    expect(last.size).toBe(11);
    await last.dispose();
  });

  it('says what is damaged', async () => {
    const index = await open({ store: folder });
    for (const document of documents) await index.add(document);
    await index.dispose();
    const [first, second] = segmentsIn().map((file) => join(folder, 'notes', file)) as [string, string];
    const whole = readFileSync(second);
    const changed = new Uint8Array(whole);
    changed[whole.length - 3]! ^= 1;
    writeFileSync(second, changed);
    await expect(open({ store: folder })).rejects.toThrow(/is damaged: its SHA-256 does not match/);
    truncateSync(second, 40);
    await expect(open({ store: folder })).rejects.toThrow(ModelFormatError);
    rmSync(second);
    await expect(open({ store: folder })).rejects.toThrow('its write 1 is missing');
    writeFileSync(second, whole);
    const version = new Uint8Array(whole);
    version[8] = 9;
    writeFileSync(first, version);
    await expect(open({ store: folder })).rejects.toThrow(UnsupportedError);
    writeFileSync(first, 'something else altogether, longer than a head of a segment is');
    await expect(open({ store: folder })).rejects.toThrow('expected an index of wattn, found another file');
  });

  it('loses nothing when the disk is full', async () => {
    // The shell's limit of 32 kB for a file stands for the disk's.
    const program = `
      const { Index } = await import(${JSON.stringify(join(root, 'dist/node.js'))});
      const index = await Index.open('notes', { store: ${JSON.stringify(folder)} });
      await index.add({ id: 'before', text: 'some bread' });
      const said = await index.add({ id: 'large', text: 'bread '.repeat(20_000) }).catch(({ name, message }) => name + ': ' + message);
      await index.add({ id: 'after', text: 'more bread' });
      console.log(JSON.stringify([said, index.ids()]));`;
    const limited = ['-c', 'ulimit -f 64; exec "$0" --input-type=module -e "$1"', process.execPath, program];
    const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const [said, ids] = JSON.parse(stdout);
    expect(said).toMatch(/^StateError: Index: 'notes' cannot store 120\d+ bytes \(EFBIG\); stored data is unchanged$/);
    expect(ids).toEqual(['before', 'after']);
    const index = await open({ store: folder });
    expect((await index.search('bread', { mode: 'words' })).map(({ id }) => id).sort()).toEqual(['after', 'before']);
    await index.dispose();
  });

  it('refuses other models, or embeds again', async () => {
    const index = await open({ store: folder, model: 'letters' });
    await index.add(documents);
    await index.dispose();
    const digits: EmbedFunction = async (texts) => texts.map((text) => [text.length, 1, 2, 3]);
    await expect(open({ store: folder, embed: digits, model: 'digits' })).rejects.toThrow(
      /has vectors of letters \(26 numbers\), and the option 'embed' is digits \(4\)/,
    );
    const alike: EmbedFunction = async (texts) =>
      ((await letters(texts, 'document')) as Float32Array[]).map((row) => row.map((x) => 1.01 * x + 0.001));
    const same = await open({ store: folder, embed: alike }); // as another data type of the weights
    expect(same.info().stale).toBe(0);
    await same.dispose();

    const other = await open({ store: folder, embed: digits, model: 'digits', other_model: 're-embed' });
    expect(await idsOf(other, 'bakery', { mode: 'words' })).toEqual(['bakery']);
    expect(await other.reembedding).toEqual({ added: 0, updated: 3, unchanged: 0 });
    expect(other.info()).toMatchObject({ model: 'digits', dim: 4, stale: 0, documents: 3 });
    expect(other.reembedding).toBeUndefined();
    await other.dispose();
    const again = await open({ store: folder, embed: digits, model: 'digits' });
    expect(again.info()).toMatchObject({ model: 'digits', stale: 0 });
    expect((await again.search('x', { mode: 'meaning' }))[0]!.why.meaning).toBeGreaterThan(0);
    await again.dispose();
  });

  it('gets vectors later', async () => {
    const index = await open({ store: folder, embed: undefined });
    await index.add(documents);
    expect(index.info()).toMatchObject({ dim: 0, stale: 0 });
    await index.dispose();
    const later = await open({ store: folder });
    await later.reembedding;
    expect(later.info()).toMatchObject({ dim: 26, stale: 0 });
    expect((await later.search('bakery', { mode: 'meaning' }))[0]!.id).toBe('bakery');
    await later.dispose();
    const without = await open({ store: folder, embed: undefined });
    await without.add({ id: 'new', text: 'a new one' });
    await without.dispose();
    const last = await open({ store: folder });
    await last.reembedding;
    expect((await last.search('a new one', { mode: 'meaning' }))[0]).toMatchObject({ id: 'new' });
    await last.dispose();
  });

  it('does not bring back what was removed while it was embedded again', async () => {
    const index = await open({ store: folder, embed: undefined });
    await index.add(documents);
    await index.dispose();
    let go!: () => void;
    const gate = new Promise<void>((resolve) => (go = resolve));
    let asked!: () => void;
    const begun = new Promise<void>((resolve) => (asked = resolve));
    const slow: EmbedFunction = async (texts, kind) => {
      if (texts.length > 1) {
        asked();
        await gate;
      }
      return letters(texts, kind);
    };
    const later = await open({ store: folder, embed: slow });
    await begun;
    await later.delete('brot');
    go();
    await later.reembedding;
    expect(later.ids().sort()).toEqual(['bakery', 'train']);
    expect((await later.search('bakery', { mode: 'meaning' }))[0]!.id).toBe('bakery');
    await later.dispose();
  });

  it('holds vectors once in memory, with at most a fifth more', async () => {
    const dim = 1024;
    const some = Array.from({ length: 60 }, (_, n) => Float32Array.from({ length: dim }, (__, i) => ((i + 1) * n) % 7));
    const embed: EmbedFunction = async (texts) => texts.map((text) => some[text.length]!);
    const many = Array.from({ length: 5000 }, (_, i) => ({ id: String(i), text: 'x'.repeat(1 + (i % 9)) }));
    for (const [precision, bytes] of [
      ['int8', dim + 4],
      ['binary', dim + 4 + dim / 8],
    ] as const) {
      const index = await open({ embed, precision });
      await index.add(many);
      expect(index.info().memory / (many.length * bytes)).toBeLessThan(1.2);
      await index.dispose();
    }
    // What is stored nowhere is not held a second time as segments either.
    const store = memoryStore();
    await store.add('a-segment', new Uint8Array(10));
    expect([await store.list(), await store.read('a-segment')]).toEqual([['a-segment'], undefined]);
    expect(await store.add('a-segment', new Uint8Array(10))).toBe(false);
  });

  it('goes to another place as one file', async () => {
    const index = await open();
    await index.add(documents);
    const file = await index.export();
    for (const precision of ['int8', 'binary', 'float32'] as const) {
      const { embed, texts } = counted();
      const other = await open({ store: folder, embed, precision });
      expect(await other.import_file(file)).toBe(3);
      expect(texts.filter((text) => text.includes('bakery'))).toEqual([]);
      expect((await other.search('bakery')).map(({ id }) => id)).toEqual(await idsOf(index, 'bakery'));
      expect(await other.import_file(file)).toBe(3);
      expect(other.size).toBe(3);
      await other.dispose();
      await Index.delete('notes', { store: folder });
    }
    const words = await open({ embed: undefined });
    await words.import_file(file);
    expect(words.info()).toMatchObject({ dim: 26, documents: 3 });
    expect(await (await open()).import_file(await (await open()).export())).toBe(0);

    const other = await open({ embed: async (texts: string[]) => texts.map((text) => [text.length, 1]) });
    await other.add({ id: 'x', text: 'x' });
    await expect(other.import_file(file)).rejects.toThrow(InputError);
    for (const size of [1, 20, 56, file.length - 1]) {
      await expect(index.import_file(file.subarray(0, size))).rejects.toThrow(/damaged|expected an index/);
    }
    await expect(index.import_file(new Uint8Array(100))).rejects.toThrow('expected an index of wattn');
    await expect(index.import_file('x' as never)).rejects.toThrow(InputError);
    expect(other.size).toBe(1);
  });

  it('names what is wrong with a call', async () => {
    await expect(Index.open('')).rejects.toThrow('expected a name of 1 to 200 characters');
    await expect(open({ store: 'opfs' })).rejects.toThrow("expected a folder's path or 'memory', found 'opfs'");
    await expect(open({ embd: letters })).rejects.toThrow("did you mean 'embed'?");
    await expect(open({ embed: 3 })).rejects.toThrow('expected a pipeline or a function');
    await expect(open({ chunk: { max_tokens: 3 } })).rejects.toThrow('a function that embeds has no tokenizer');
    const index = await open();
    await expect(index.search(3 as never)).rejects.toThrow('expected a query, a string, found 3');
    await expect(index.search('x', { topk: 3 } as never)).rejects.toThrow("did you mean 'top_k'?");
    writeFileSync(join(folder, 'file'), '');
    await expect(open({ store: join(folder, 'file') })).rejects.toThrow('cannot be kept in');
  });
});
