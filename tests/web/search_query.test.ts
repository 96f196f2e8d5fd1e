// Queries as people type them: phrases, exclusions, fields.
import { Index, type EmbedFunction, type IndexDocument } from 'wattn';
import { hasWords } from '../../web/search/conditions.js';
import { isTyped, readQuery } from '../../web/search/query.js';

/** Numbers from 0 to 1 (Park and Miller 1988). */
function randomFrom(seed: number): () => number {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647;
}

const fields = ['title', 'author', 'tags', 'note'];
const read = (text: string) => readQuery(text, { isField: (name) => fields.includes(name), hasWords });
const conditionsOf = (text: string) =>
  read(text).conditions.map(
    ({ words, field, isExcluded, isQuoted }) =>
      `${isExcluded ? '-' : ''}${field === undefined ? '' : `${field}:`}${isQuoted ? `<${words}>` : words}`,
  );

describe('a query', () => {
  it.each([
    ['fresh rolls', 'fresh rolls', []],
    ['"fresh rolls" today', 'fresh rolls today', ['<fresh rolls>']],
    ['\u201efrische Br\u00f6tchen\u201c heute', 'frische Br\u00f6tchen heute', ['<frische Br\u00f6tchen>']],
    ['\u00ab pain frais \u00bb', 'pain frais', ['< pain frais >']],
    ['\u00bbBrot\u00ab und \u201cbread\u201d', 'Brot und bread', ['<Brot>', '<bread>']],
    ['rolls -butter -"old bread"', 'rolls', ['-butter', '-<old bread>']],
    ['title:Berlin weather', 'Berlin weather', ['title:Berlin']],
    ['title:"New York" -author:smith', 'New York', ['title:<New York>', '-author:smith']],
    ['author:smith bread', 'bread', ['author:smith']],
    ['(title:rolls) and more', 'rolls) and more', ['title:rolls)']],
    ['-state-of-the-art models', 'models', ['-state-of-the-art']],
    ['bread, "rolls", and -butter!', 'bread, rolls , and', ['<rolls>', '-butter!']],
  ])('%p has operators', (text, plain, conditions) => {
    expect(read(text).text.replace(/ (?=[),])/g, ' ')).toBe(plain);
    expect(conditionsOf(text)).toEqual(conditions);
  });

  it.each([
    'well-known state-of-the-art',
    'it is -5 degrees, -12.5 at night',
    'npm install -g wattn --save -D',
    'a - b -- c \u2013 d',
    'opens at 12:30, see https://example.org/a?b=c#d',
    'title://x',
    'title: a word',
    'unknown:word',
    'a 5" pipe and a 6" pipe',
    'the "unbalanced',
    '"" "  " -"" title:""',
    "rock 'n' roll, don't",
    'C++ -',
    '\u201eoffen',
    'say"hello"now',
  ])('%p is text alone', (text) => {
    expect(read(text)).toEqual({ text, conditions: [], hasMore: true });
  });

  it('is typed if it is short and has one line', () => {
    expect([isTyped('"a" -b'), isTyped('Hello,\n-- Ann'), isTyped('a '.repeat(129))]).toEqual([true, false, false]);
  });

  it('can be any text', () => {
    const random = randomFrom(7);
    const pieces = '- -- " \u201e \u201c \u201d \u00ab \u00bb \u300c : title: author: -title: ( ) [ a the bread 12:30 -5 \ud800 \ud83d\ude00 \u6771\u4eac \u0000 . ,'.split(' '); // prettier-ignore
    for (let run = 0; run < 20_000; ++run) {
      const text = Array.from(
        { length: 1 + Math.floor(random() * 12) },
        () => pieces[Math.floor(random() * pieces.length)]! + (random() < 0.5 ? ' ' : ''),
      ).join('');
      const { text: plain, conditions } = read(text);
      for (const { words } of conditions) {
        expect(text).toContain(words);
        expect(hasWords(words)).toBe(true);
      }
      if (conditions.length === 0) expect(plain).toBe(text);
      else expect(plain.length).toBeLessThanOrEqual(text.length + 2 * conditions.length);
    }
  });
});

const letters: EmbedFunction = async (texts) =>
  texts.map((text) =>
    Float32Array.from({ length: 26 }, (_, i) => text.toLowerCase().split(String.fromCharCode(97 + i)).length - 1 + 0.01),
  );
const documents: IndexDocument[] = [
  { id: 'bakery', text: 'The bakery opens at seven. Fresh rolls and bread.', author: 'Ann Smith', tags: ['food', 'early birds'] },
  { id: 'train', text: 'The train leaves at noon. No bread, and rolls that are not fresh.', title: 'New Berlin', author: 'Bo' },
  { id: 'brot', text: 'Die B\u00e4ckerei \u00f6ffnet um sieben. Bread rolls.', title: 'Berlin, new', author: 'Ann' },
];

describe.each(['hybrid', 'words', 'meaning'] as const)('operators with %s', (mode) => {
  let index: Index;
  const found = async (query: string, options = {}) => (await index.search(query, { mode, ...options })).map(({ id }) => id).sort();
  beforeAll(async () => {
    index = await Index.open('notes', { embed: letters, store: 'memory' });
    await index.add(documents);
  });
  afterAll(() => index.dispose());

  it('ask for words in a row', async () => {
    expect(await found('"fresh rolls"')).toEqual(['bakery']);
    expect(await found('"FRESH rolls and" opens')).toEqual(['bakery']);
    expect(await found('"new berlin" bread')).toEqual(['train']);
    expect(await found('"bread rolls"')).toEqual(['brot']);
    expect(await found('"seven fresh"')).toEqual(['bakery']); // punctuation is no word
    expect(await found('"backerei \u00f6ffnet"')).toEqual(['brot']);
  });

  it('leave out documents', async () => {
    expect(await found('bread -train')).toEqual(['bakery', 'brot']);
    expect(await found('bread -"bread rolls" -noon')).toEqual(['bakery']);
    expect(await found('bread -title:berlin')).toEqual(['bakery']);
    expect(await found('-bread')).toEqual([]); // nothing is looked for
    expect(await found('bread -zebra')).toHaveLength(3);
  });

  it('name fields', async () => {
    expect(await found('title:berlin')).toEqual(['brot', 'train']);
    expect(await found('title:"new berlin"')).toEqual(['train']);
    expect(await found('author:ann bread')).toEqual(['bakery', 'brot']);
    expect(await found('author:"ann smith"')).toEqual(['bakery']);
    expect(await found('tags:birds')).toEqual(['bakery']);
    expect(await found('text:berlin')).toEqual([]);
    expect(await found('author:nobody bread')).toEqual([]);
    const [hit] = await index.search('author:bo', { mode });
    expect(hit).toMatchObject({ id: 'train', score: 1, close: true, why: { coverage: 1, words: null, meaning: null } });
  });

  it('join filters', async () => {
    expect(await found('"berlin" bread', { filter: { author: 'Bo' } })).toEqual(['train']);
  });

  it('are text where nothing has the phrase, unless they always count, and where they never do', async () => {
    expect(await found('bread "rolls fresh"')).toHaveLength(3);
    expect(await found('bread "rolls fresh"', { syntax: 'always' })).toEqual([]);
    expect(await found('"rolls fresh"')).toEqual([]); // there is nothing else
    expect(await found('"fresh rolls"', { syntax: 'never' })).toHaveLength(3);
    expect(await found('Hello,\nbread\n-train')).toHaveLength(3);
    expect(await found('Hello,\nbread\n-train', { syntax: 'always' })).toEqual(['bakery', 'brot']);
  });
});

it('shows the part in which a phrase begins', async () => {
  const chunk = (text: string) =>
    [...text.matchAll(/[^\n]+/g)].map(({ index, 0: line }) => ({ start: index, end: index + line.length }));
  const index = await Index.open('parts', { embed: letters, store: 'memory', chunk });
  await index.add([
    { id: 'a', text: 'rolls rolls fresh fresh rolls\nbread and fresh\nrolls of bread, fresh rolls of it' },
    { id: 'b', text: 'fresh bread', title: 'fresh rolls of it' },
  ]);
  const shown = async (query: string, group_by: 'document' | 'chunk' = 'document') =>
    (await index.search(query, { group_by })).map(({ id, text }) => `${id} ${text}`).sort();
  expect(await shown('"rolls of bread"')).toEqual(['a rolls of bread, fresh rolls of it']);
  expect(await shown('"bread and fresh rolls"')).toEqual(['a bread and fresh']);
  expect(await shown('"rolls of it"', 'chunk')).toEqual(['a rolls of bread, fresh rolls of it', 'b fresh bread']);
  await index.dispose();
});

it('takes any text as a query', async () => {
  const index = await Index.open('any', { embed: letters, store: 'memory', words: { stopwords: ['the'] } });
  await index.add(documents);
  const random = randomFrom(11);
  const pieces =
    '- " \u201e \u201c \u00ab \u00bb title: author:ann -the the -bread bread rolls "the" 12:30 -5 \ud800 \u6771\u4eac \u0000'.split(
      ' ',
    );
  for (let run = 0; run < 1500; ++run) {
    const query = Array.from(
      { length: 1 + Math.floor(random() * 6) },
      () => pieces[Math.floor(random() * pieces.length)]! + (random() < 0.6 ? ' ' : ''),
    ).join('');
    for (const { score } of await index.search(query, { syntax: run % 2 ? 'auto' : 'always' }))
      expect(score).toBeGreaterThanOrEqual(0);
  }
  await index.dispose();
});
