// Search as you type: word prefixes, and typos.
import { Index, type EmbedFunction } from 'wattn';
import { edits, editsOf } from '../../web/search/expand.js';

const texts = {
  bakery: 'The bakery opens at seven.',
  baker: 'A baker bakes bread, and the baker sells it.',
  bakers: 'Bakers sleep late.',
  harbour: 'Ships leave the harbour at noon.',
  committee: 'The committee decides on accommodation.',
};
const documents = Object.entries(texts).map(([id, text]) => ({ id, text }));

describe('search as you type', () => {
  let index: Index;
  const seen: string[] = [];
  const embed: EmbedFunction = async (all, kind) => {
    if (kind === 'query') seen.push(...all);
    return all.map((text) => [text.length, 1]);
  };
  const hitsOf = (query: string, options = {}) => index.search(query, { mode: 'words', ...options });
  const found = async (query: string, options = {}) => (await hitsOf(query, options)).map(({ id }) => id);
  beforeAll(async () => {
    index = await Index.open('typed', { embed, store: 'memory' });
    await index.add(documents);
  });
  afterAll(() => index.dispose());

  it('finds words that begin with the last one, the word itself first', async () => {
    expect(await found('bak')).toEqual([]);
    expect((await found('bak', { prefix: true })).sort()).toEqual(['baker', 'bakers', 'bakery']);
    expect(await found('baker', { prefix: true })).toEqual(['baker', 'bakers', 'bakery']);
    expect((await found('late bak', { prefix: true }))[0]).toBe('bakers');
    expect(await found('bak ', { prefix: true })).toEqual([]); // the word is finished
    expect(await found('bak late', { prefix: true })).toEqual(['bakers']);
    expect(await found('"late" bak', { prefix: true })).toEqual(['bakers']);
  });

  it('highlights what it found', async () => {
    const [hit] = await hitsOf('bakes bre', { prefix: true });
    expect(hit!.highlights.map(({ start, end }) => hit!.text.slice(start, end))).toEqual(['bakes', 'bread']);
  });

  it('finds words that are misspelt', async () => {
    expect(await found('harbuor')).toEqual([]);
    for (const query of ['harbuor', 'harbor', 'harrbour', 'harbovr', 'jarbour'])
      expect(await found(query, { fuzzy: true })).toEqual(['harbour']);
    expect(await found('comittee', { fuzzy: true })).toEqual(['committee']);
    expect(await found('acommodatoin', { fuzzy: true })).toEqual(['committee']);
    expect(await found('hrabuor', { fuzzy: true })).toEqual([]); // two edits in 7 letters
    expect(await found('seve', { fuzzy: true })).toEqual(['bakery']);
    expect(await found('sev', { fuzzy: true })).toEqual([]);
    expect(await found('2003', { fuzzy: true })).toEqual([]); // numbers are what they are
    expect(await found('bakery', { fuzzy: true })).toEqual(['bakery']); // it is there, so it is meant
    const [hit] = await hitsOf('harbuor', { fuzzy: true });
    expect(hit!.highlights).toEqual([{ start: 16, end: 23 }]);
    expect(hit!.why.coverage).toBeLessThan((await hitsOf('harbour'))[0]!.why.coverage!);
  });

  it('finds misspelt beginnings', async () => {
    expect(await found('harbuo', { prefix: true, fuzzy: true })).toEqual(['harbour']);
    expect(await found('acomodat', { prefix: true, fuzzy: true })).toEqual(['committee']);
  });

  it('gives the model words of the index in place of those that it has not', async () => {
    seen.length = 0;
    await index.search('leave the harbuor at no', { prefix: true, fuzzy: true });
    await index.search('leave the harbuor', {});
    await index.search('leave the harbour -late "at noon"', { prefix: true, fuzzy: true });
    expect(seen).toEqual(['leave the harbour at noon', 'leave the harbuor', 'leave the harbour at noon']);
  });

  it('changes nothing where all words are known and finished', async () => {
    for (const query of ['the baker sells bread ', 'noon. ']) {
      expect(await index.search(query, { prefix: true, fuzzy: true })).toEqual(await index.search(query));
    }
  });

  it('works with stems', async () => {
    const stemmed = await Index.open('stems', {
      store: 'memory',
      words: { stem: (word) => word.replace(/(ing|ers?|y|es|s)$/, '') },
    });
    await stemmed.add(documents);
    const found = async (query: string, options = {}) => (await stemmed.search(query, options)).map(({ id }) => id).sort();
    expect(await found('bakeri', {})).toEqual([]);
    expect(await found('decid', { prefix: true })).toEqual(['committee']);
    expect(await found('committe', { prefix: true })).toEqual(['committee']);
    expect(await found('hrabour', { fuzzy: true })).toEqual(['harbour']);
    await stemmed.dispose();
  });
});

/** Optimal string alignment, the whole table. */
function slow(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= a.length; ++i) {
    for (let j = 1; j <= b.length; ++j) {
      const row = table[i]!;
      row[j] = Math.min(table[i - 1]![j]! + 1, row[j - 1]! + 1, table[i - 1]![j - 1]! + Number(a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j]!, table[i - 2]![j - 2]! + 1);
    }
  }
  return table[a.length]![b.length]!;
}

it('counts edits as a whole table does', () => {
  let seed = 3;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const word = () => Array.from({ length: random(9) }, () => 'abc'[random(3)]).join('');
  for (let run = 0; run < 20_000; ++run) {
    const [a, b, most] = [word(), word(), random(3)];
    expect([a, b, most, edits(a, b, most, false)]).toEqual([a, b, most, Math.min(slow(a, b), most + 1)]);
    const least = Math.min(...Array.from({ length: b.length + 1 }, (_, i) => slow(a, b.slice(0, i))));
    expect([a, b, most, edits(a, b, most, true)]).toEqual([a, b, most, Math.min(least, most + 1)]);
  }
  expect(edits('a'.repeat(200), 'a'.repeat(200), 2, false)).toBe(3);
  expect([3, 4, 7, 8, 30].map(editsOf)).toEqual([0, 1, 1, 2, 2]);
});
