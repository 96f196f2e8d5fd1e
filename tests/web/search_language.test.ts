// Stemming by a language's name.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Index, pipeline, type IndexOptions } from 'wattn';
import { languageOf } from '../../web/search/detect.js';
import { kLanguageNames } from '../../web/search/language_names.js';
import { loadLanguage } from '../../web/search/languages.js';
import { readJson, root } from './support.js';

const documents = [
  { id: 'birds', text: 'Many birds were singing in the garden, and it was not yet morning when they began with their songs.' },
  {
    id: 'bakery',
    text: 'The bakeries of the town are closed on Sundays, but the one at the station is open for those who have to travel.',
  },
  { id: 'hamlet', text: 'To be or not to be is what he asks himself.' },
];
const idsOf = async (index: Index, query: string, options = {}) => (await index.search(query, options)).map(({ id }) => id);
const open = async (options: IndexOptions = {}, name = 'words') => {
  const index = await Index.open(name, { store: 'memory', ...options });
  await index.add(documents);
  return index;
};

it('finds words by their stems, and finds nothing by words that mean little unless there are no others', async () => {
  const index = await open({ language: 'en' });
  expect(index.info().language).toBe('en');
  expect(await idsOf(index, 'the bird sings')).toEqual(['birds']);
  expect(await idsOf(index, 'bakery')).toEqual(['bakery']);
  expect((await idsOf(index, 'to be or not to be'))[0]).toBe('hamlet');
  expect(await idsOf(index, '"not to be"')).toEqual(['hamlet']);
  expect(await idsOf(index, '"bird"')).toEqual([]); // as it is written
  const [hit] = await index.search('the song of a bird');
  expect(hit!.highlights.map(({ start, end }) => hit!.text.slice(start, end))).toEqual(['birds', 'songs']);
  expect(await idsOf(await open(), 'bakery')).toEqual([]);
});

it('lets words that mean little decide between texts that are else alike', async () => {
  const index = await Index.open('alike', { store: 'memory', language: 'en' });
  const texts = ['the boat is under a bridge', 'that boat was over our bridge', 'a boat, and no more', 'the the the is that a'];
  await index.add(texts.map((text, i) => ({ id: String(i), text })));
  const order = async (query: string) => (await index.search(query)).map(({ id }) => id);
  expect(await order('the boat is under a bridge')).toEqual(['0', '1', '2']); // not the last one, which has nothing but such words
  expect(await order('that boat was over our bridge')).toEqual(['1', '0', '2']);
  expect(await order('is the boat')).toEqual(expect.not.arrayContaining(['3']));
  // Two parts of one document: only the one that has the boat is found.
  const text = 'The boat is under a bridge today.\n\nThe sky is the same as it was, and so is the sea.';
  const middle = text.indexOf('\n\n');
  const chunk = () => [
    { start: 0, end: middle },
    { start: middle + 2, end: text.length },
  ];
  const embed = await pipeline('feature-extraction');
  const parts = await Index.open('parts', { embed, store: 'memory', language: 'en', chunk });
  await parts.add({ id: 'long', text });
  const found = await parts.search('the boat is', { group_by: 'chunk', mode: 'words' });
  expect(found.map(({ text }) => text.trim())).toEqual(['The boat is under a bridge today.']);
  await embed.dispose();
});

it('completes and corrects words of stems', async () => {
  const index = await open({ language: 'en' });
  expect(await idsOf(index, 'bakeri', { prefix: true })).toEqual(['bakery']);
  expect(await idsOf(index, 'singin', { prefix: true })).toEqual(['birds']);
  expect(await idsOf(index, 'gadren', { fuzzy: true })).toEqual(['birds']);
});

it('leaves a stemmer and stop words of the caller in place', async () => {
  const stem = (word: string) => word.slice(0, 3);
  expect(await idsOf(await open({ language: 'en', words: { stem } }), 'garlic')).toEqual(['birds']);
  const stopped = await open({ language: 'en', words: { stopwords: ['bird'] } });
  expect(await idsOf(stopped, 'bird')).toEqual([]);
  expect(await idsOf(stopped, 'birds')).toEqual(['birds']); // another word
  expect((await idsOf(stopped, 'the')).sort()).toEqual(['bakery', 'birds']);
  expect(await idsOf(await open({ words: { stopwords: 'en' } }), 'the not')).toEqual([]);
  await expect(open({ words: { stopwords: 'xx' as never } })).rejects.toThrow("option 'words': stopwords: expected one of ar, da,");
  await expect(open({ language: 'english' as never })).rejects.toThrow("option 'language': expected one of 'auto', 'none', 'ar'");
});

it('is stored with the index, and goes with its file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wattn-language-'));
  try {
    const first = await open({ store: folder, language: 'en' });
    await first.dispose();
    const again = await Index.open('words', { store: folder });
    expect(again.info().language).toBe('en');
    expect(await idsOf(again, 'bird')).toEqual(['birds']);
    const file = await again.export();
    await again.dispose();
    const off = await Index.open('words', { store: folder, language: 'none' });
    expect(off.info().language).toBeUndefined();
    expect(await idsOf(off, 'bird')).toEqual([]);
    await off.add({ id: 'more', text: 'a bird' });
    await off.dispose();
    const later = await Index.open('words', { store: folder });
    expect(await idsOf(later, 'birds')).toEqual(['birds']);
    await later.dispose();
    const other = await Index.open('other', { store: 'memory' });
    await other.import_file(file);
    expect(other.info().language).toBe('en');
    expect(await idsOf(other, 'bird')).toEqual(['birds']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('is found in the first documents', async () => {
  const index = await open({ language: 'auto' });
  expect(index.info().language).toBe('en');
  expect(await idsOf(index, 'bird')).toEqual(['birds']);
  const short = await Index.open('short', { store: 'memory', language: 'auto' });
  await short.add({ id: 'a', text: 'Two words' });
  expect(short.info().language).toBeUndefined();
  await short.add(documents);
  expect(short.info().language).toBe('en');
});

const goldenStems = readJson('search', 'stems.json') as Record<string, { words: string[]; stems: string[] }>;
/** Words that a newer revision of Snowball (3.1) stems in another way. */
const kDiffer: Record<string, number> = { en: 2, ro: 27 };

it('knows all languages with a golden', () => expect(Object.keys(goldenStems).sort()).toEqual([...kLanguageNames].sort()));

it.each(kLanguageNames)('%s has the stems of Snowball', async (language) => {
  const { words, stems } = goldenStems[language]!;
  const { stem } = await loadLanguage('test', language);
  expect(words.filter((word, i) => stem(word) !== stems[i])).toHaveLength(kDiffer[language] ?? 0);
});

/** The first paragraphs of XQuAD in a language; undefined: the data are not here. */
function xquad(language: string): string[] | undefined {
  const file = join(root, '../shared/data/qa/xquad', `xquad.${language}.json`);
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')).data.map(({ paragraphs }: any) => paragraphs[0].context);
}

it.each(['ar', 'de', 'el', 'en', 'es', 'hi', 'ro', 'ru', 'tr', 'zh', 'th', 'vi'])('texts in %s are known again', (language) => {
  const texts = xquad(language);
  if (!texts) return console.warn('skipped: ../shared/data has no XQuAD');
  const expected = ['zh', 'th', 'vi'].includes(language) ? undefined : language;
  expect(texts.map((text) => languageOf([text])).filter((found) => found !== expected)).toEqual([]);
});

const words = (...parts: [word: string, count: number][]) => parts.map(([word, count]) => `${word} `.repeat(count)).join('');
it.each<[what: string, text: string, language: string | undefined]>([
  ['20 words are enough', words(['auf', 20]), 'de'],
  ['19 are not', words(['auf', 19]), undefined],
  ['12 % of its words are enough', words(['auf', 3], ['zzz', 22]), 'de'],
  ['less are not', words(['auf', 3], ['zzz', 23]), undefined],
  ['5 % more of them than of any other are enough', words(['auf', 21], ['sont', 20]), 'de'],
  ['as many are not', words(['auf', 20], ['sont', 20]), undefined],
  ['half of the words in a script of its own are enough', words(['\u03b4\u03b5\u03bd', 10], ['auf', 10]), 'el'],
  ['less than half are not', words(['\u03b4\u03b5\u03bd', 9], ['auf', 11]), 'de'],
  ['two characters without spaces are a word', `${words(['auf', 3])}${'\u4e2d'.repeat(44)}`, 'de'],
  ['of more characters they are too few', `${words(['auf', 3])}${'\u4e2d'.repeat(46)}`, undefined],
])('languageOf: %s', (_, text, language) => expect(languageOf([text])).toBe(language));

it.each([
  '\u3053\u308c\u306f\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059\u3002'.repeat(30),
  'lorem ipsum dolor sit amet consectetur '.repeat(9),
  '12 34 56 '.repeat(90),
  '',
])('no language is found where it is none of these (%#)', (text) => expect(languageOf([text])).toBeUndefined());
