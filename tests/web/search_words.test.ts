// Index: words stored in segments, so that texts are not read again.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Index, type EmbedFunction, type IndexOptions } from 'wattn';
import { makeRandom } from '../../web/core/random.js';
import { Bm25 } from '../../web/search/bm25.js';
import { kLanguageNames } from '../../web/search/language_names.js';
import { loadLanguage } from '../../web/search/languages.js';
import { mannerOf } from '../../web/search/manner.js';
import { StoredWords } from '../../web/search/stored_words.js';
import { Analyser } from '../../web/search/words.js';
import { sha256Of } from '../../web/source/sha256.js';
import { root } from './support.js';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'wattn-words-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const letters: EmbedFunction = async (texts) =>
  texts.map((text) => Array.from({ length: 8 }, (_, i) => [...text].filter((c) => c.codePointAt(0)! % 8 === i).length + 0.5));
/** Parts of four words, of which each has the last word of the one before. */
const chunk = (text: string) => {
  const words = [...text.matchAll(/\S+/g)].map(({ index, 0: word }) => [index, index + word.length] as const);
  const parts = Math.max(1, Math.ceil((words.length - 1) / 3));
  return Array.from({ length: parts }, (_, i) => ({
    start: words[3 * i]![0],
    end: words[Math.min(3 * i + 3, words.length - 1)]![1],
  }));
};
const kWords =
  'walk walking walked walks dog dogs rolls bakery bakeries singing song the of not sieben B\u00e4ckerei \u00f6ffnet 3.14 \u5317\u4eac\u5927\u5b66 \ufdfa caf\u00e9s'.split(
    ' ',
  );

/** Whether an index that is opened knows the words of all its texts, without a look at them. */
async function knowsWords(options: IndexOptions = {}): Promise<boolean> {
  const index = await Index.open('notes', { ...options, store: folder });
  const { contents } = Reflect.get(index, 'kept') as { contents: { isRead: boolean } };
  const { isRead } = contents;
  await index.dispose();
  return isRead;
}

/** Writes of every kind, the same for the same seed. */
async function written(index: Index, seed: number): Promise<void> {
  const random = makeRandom(seed);
  const below = (most: number) => Math.floor(most * random());
  const some = (most: number) => Array.from({ length: 1 + below(most) }, () => kWords[below(kWords.length)]).join(' ');
  const make = (id: number) => ({ id: String(id), text: some(12), ...(random() < 0.4 && { title: some(3) }) });
  for (let write = 0; write < 24; ++write) {
    const size = write % 8 === 0 ? 40 : 1 + below(4);
    await index.add(Array.from({ length: size }, (_, i) => make(write % 3 === 0 ? 100 * write + i : 7 * below(300) + 1000 * i)));
    if (write % 5 === 4) await index.delete(index.ids().filter(() => random() < 0.2));
    if (write % 7 === 6) await index.update({ id: index.ids()[0]!, n: write });
  }
}

const kQueries = [
  'walk',
  'the dog',
  'walked bakery song',
  'sieben \u00f6ff',
  '\u5317\u4eac',
  'caf',
  '"singing song"',
  '-dog walk',
  'bakry',
  '3.14 not',
];
async function answers(index: Index, more: object): Promise<unknown[]> {
  const out: unknown[] = [];
  for (const query of kQueries) {
    for (const options of [{}, { prefix: true }, { fuzzy: true }, { group_by: 'chunk' as const }]) {
      const hits = await index.search(query, { top_k: 30, syntax: 'always', ...more, ...options });
      out.push(hits.map(({ id, score, start, end, why, highlights }) => ({ id, score, start, end, why, highlights })));
    }
    out.push(await index.suggest(query, { limit: 20 }));
  }
  return out;
}

describe('an index that is opened', () => {
  it.each([
    ['words', {}],
    ['words in English', { language: 'en' }],
    ['words without some', { language: 'en', words: { stopwords: ['the', 'Not'] } }],
    ['words by a function', { words: { stem: (word: string) => word.slice(0, 3) } }],
    ['parts', { embed: letters, chunk }],
    ['parts in English', { embed: letters, chunk, language: 'en' }],
  ] as [string, IndexOptions][])('finds what it found before: %s', async (_, options) => {
    const from = await Index.open('notes', { ...options, store: 'memory' });
    const to = await Index.open('notes', { ...options, store: folder });
    for (const seed of [1, 2]) {
      await written(from, seed);
      await written(to, seed);
      const wanted = await answers(from, { mode: 'words' });
      expect(await answers(to, { mode: 'words' })).toEqual(wanted);
      const again = await Index.open('notes', { ...options, store: folder });
      expect(again.ids().sort()).toEqual(from.ids().sort());
      expect(await answers(again, { mode: 'words' })).toEqual(wanted);
      await again.dispose();
    }
  });

  it('reads no text again, whatever was written and made one', async () => {
    for (const options of [{}, { language: 'en' as const }, { words: { stopwords: ['The'] } }]) {
      rmSync(join(folder, 'notes'), { recursive: true, force: true });
      const index = await Index.open('notes', { ...options, store: folder });
      for (let i = 0; i < 30; ++i)
        await index.add([0, 1, 2].map((j) => ({ id: `${i} ${j}`, text: `walking dogs ${i} ${j}`, title: `T${i}` })));
      await index.dispose();
      expect(readdirSync(join(folder, 'notes')).length).toBeLessThan(20);
      expect(await knowsWords(options)).toBe(true);
      // Nor does one that goes on writing, and the next.
      const again = await Index.open('notes', { ...options, store: folder });
      await again.add({ id: 'new', text: 'one more dog' });
      expect((await again.search('more dogs', { fuzzy: true }))[0]!.id).toBe('new');
      await again.delete('3 1');
      await again.dispose();
      expect(await knowsWords(options)).toBe(false); // the text that went is read once more, to forget its words
      const merged = await Index.open('notes', { ...options, store: folder });
      for (let i = 0; i < 20; ++i) await merged.add({ id: '0 0', text: `walking ${i}` });
      expect((await merged.search('walking', { top_k: 100 })).length).toBe(89);
      await merged.dispose();
    }
  });

  it('reads them if it reads words in another way', async () => {
    const index = await Index.open('notes', { store: folder, language: 'en' });
    await index.add({ id: 'a', text: 'walking dogs' });
    await index.dispose();
    const idsOf = async (query: string, options: IndexOptions) => {
      const other = await Index.open('notes', { store: folder, ...options });
      return (await other.search(query)).map(({ id }) => id);
    };
    expect(await knowsWords()).toBe(true);
    const others: IndexOptions[] = [
      { language: 'none' },
      { language: 'de' },
      { words: { stopwords: ['dogs'] } },
      { words: { stem: (word) => word } },
    ];
    for (const options of others) expect(await knowsWords(options)).toBe(false);
    expect(await idsOf('walks', {})).toEqual(['a']);
    expect(await idsOf('walks', { language: 'none' })).toEqual([]);
    expect(await idsOf('dogs', { words: { stopwords: ['dogs'] } })).toEqual([]);
    expect(await idsOf('wa', { words: { stem: (word) => word.slice(0, 2) } })).toEqual(['a']);
  });
});

describe('an index of version 2', () => {
  const golden = (file: string) => join(root, 'tests/goldens/index_v2', file);
  const documents = (kind: string) => JSON.parse(readFileSync(golden(`${kind}.json`), 'utf8')) as { id: string }[];
  const sorted = (all: readonly { id: string }[]) => [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
  it.each(['words', 'vectors'])('opens, is searched, and is written on: %s', async (kind) => {
    cpSync(golden(kind), join(folder, 'notes'), { recursive: true });
    const embed = kind === 'vectors' ? letters : undefined;
    expect(await Index.check('notes', { store: folder })).toMatchObject({ sound: true, problems: [] });
    for (const added of [0, 12]) {
      const index = await Index.open('notes', { store: folder, embed });
      if (added > 0) for (let i = 0; i < added; ++i) await index.add({ id: `new${i}`, text: `one cat ${i}` });
      const old = index.ids().filter((id) => !id.startsWith('new'));
      expect(sorted(old.map((id) => index.get(id)!))).toEqual(sorted(documents(kind)));
      for (const [query, wanted] of [
        [kind === 'words' ? 'walks' : 'walking', /^d(?!4)/],
        ['cat', /^(d4|new)/],
      ] as const) {
        const found = await index.search(query, { mode: 'words', top_k: 50 });
        expect(found.map(({ id }) => id).sort()).toEqual(index.ids().filter((id) => wanted.test(id)).sort()); // prettier-ignore
      }
      await index.dispose();
    }
  });

  it.each(['words', 'vectors'])('is taken in from its file: %s', async (kind) => {
    const index = await Index.open('notes', { store: folder, embed: kind === 'vectors' ? letters : undefined });
    expect(await index.import_file(readFileSync(golden(`${kind}.wattnidx`)))).toBe(documents(kind).length);
    expect(index.ids().map((id) => index.get(id))).toEqual(documents(kind));
  });
});

describe('stored words', () => {
  /** Two documents, of which the second has two parts. */
  function words(): Bm25 {
    const made = new Bm25(new Analyser({}));
    const part = { title: undefined, shared: 0 };
    const all = [
      { ...part, first: 0, count: 1, text: 'one two two', title: 'a title' },
      { ...part, first: 1, count: 2, text: 'two three' },
      { ...part, first: 1, count: 2, text: 'three four', shared: 5 },
    ];
    for (const each of all) for (const _ of made.add(each));
    return made;
  }
  const bytesOf = (made: Bm25) => {
    const steps = made.stored('a manner');
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value.bytes;
    }
  };

  it('are read as they were written', () => {
    const read = StoredWords.read(bytesOf(words()), 2, 3)!;
    expect([read.manner, read.lengths, read.titles, read.titled]).toEqual(['a manner', [5, 3], ['a', 'title'], [[0], [0]]]);
    const placesOf = (term: string) => {
      const places: number[][] = [];
      read.visit(read.terms.indexOf(term), (...place) => places.push(place));
      return places;
    };
    expect(placesOf('two')).toEqual([[0, 2], [1, 1], [~1, 1]]); // prettier-ignore
    expect(placesOf('three')).toEqual([[1, 1], [~1, 1], [~2, 1]]); // prettier-ignore
    expect(read.holders[read.terms.indexOf('two')]).toBe(2);
  });

  it('are refused or harmless, whatever their bytes are', () => {
    const bytes = bytesOf(words());
    let refused = 0;
    for (let at = 0; at < bytes.length; ++at) {
      expect(StoredWords.read(bytes.subarray(0, at), 2, 3)).toBeUndefined();
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const changed = Uint8Array.from(bytes);
        changed[at]! ^= bit;
        const read = StoredWords.read(changed, 2, 3);
        if (!read) {
          ++refused;
          continue;
        }
        const rows = read.titled.flat();
        for (let term = 0; term < read.terms.length; ++term) read.visit(term, (place) => rows.push(place < 0 ? ~place : place));
        expect(rows.every((row) => row >= 0 && row < 3)).toBe(true);
      }
    }
    expect(refused).toBeGreaterThan(100);
    expect(StoredWords.read(bytes, 2, 1)).toBeUndefined();
  });

  it('have a manner for each way to read', () => {
    const manners = [undefined, 'de', 'en'].flatMap((language) =>
      [[], ['a'], ['b'], ['a', 'b'], ['B', 'a']].map(
        (stopwords) => new Analyser({ stopwords }, undefined, mannerOf(language)).manner,
      ),
    );
    expect(new Set(manners).size).toBe(3 * 4); // the last two say the same
    expect(new Analyser({ stem: (word) => word }, undefined, mannerOf('en')).manner).toBeUndefined();
  });

  it('are of the manner that reads so: another hash here means another kReading in manner.ts', async () => {
    const parallel = ['the dogs were walking', 'die H\u00e4user und B\u00e4ume wuchsen', '\u0431\u0435\u0433\u0443\u0449\u0438\u0435 \u0441\u043e\u0431\u0430\u043a\u0438', '\u5317\u4eac\u5927\u5b66\u751f', '3.14 e\u0301te\u0301 \ufb01n \uff21\uff22', '\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e', '\u03bb\u03cc\u03b3\u03bf\u03c2 \u03bb\u03cc\u03b3\u03bf\u03b9']; // prettier-ignore
    let read = '';
    for (const language of [undefined, ...kLanguageNames]) {
      const stem = language && (await loadLanguage('test', language)).stem;
      const own = language ? (await loadLanguage('test', language)).stopwords.join(' ') : '';
      const analyser = new Analyser({}, stem);
      for (const text of [...parallel, own])
        for (const some of analyser.batches(text)) read += `${some.map(({ term }) => term).join(' ')}\n`;
    }
    expect(await sha256Of(new TextEncoder().encode(read))).toBe('a1adf82a4d2f8655e77f9b5b523c3729774c6cb9bd0839e64779488832df3278');
  });
});
