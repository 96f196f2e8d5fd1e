// Suggestions for a search box.
import { Index } from 'wattn';
import { makeRandom } from '../../web/core/random.js';

const documents = [
  { id: 'a', title: 'Fresh rolls every day', text: 'Fresh rolls and bread from the bakery.' },
  { id: 'b', text: 'Fresh rolls, roasted nuts.' },
  { id: 'c', text: 'Roasted chestnuts in Rome, and roasted almonds.' },
  { id: 'd', text: 'Die B\u00e4ckerei \u00f6ffnet.' },
];

it.each([{}, { language: 'en' as const }])(
  'completes the last word, by what the rest selects, and names titles (%p)',
  async (options) => {
    const index = await Index.open('box', { store: 'memory', ...options });
    expect(await index.suggest('ro')).toEqual([]);
    await index.add(documents);
    const of = async (text: string, limit = 5) =>
      (await index.suggest(text, { limit })).map((each) => `${each.kind} ${each.text} ${each.documents}`);
    expect(await of('ro')).toEqual(['word roasted 2', 'word rolls 2', 'word rome 1', 'title Fresh rolls every day 1']);
    expect(await of('ro', 1)).toEqual(['word roasted 2']);
    expect(await of('fresh ro')).toEqual(['word fresh rolls 2', 'word fresh roasted 1', 'title Fresh rolls every day 1']);
    expect(await of('back')).toEqual(['word b\u00e4ckerei 1']);
    expect(await of('fresh ')).toEqual(['title Fresh rolls every day 1']);
    expect(await of('')).toEqual([]);
    expect(await of('zzz')).toEqual([]);
    await index.delete('b');
    expect(await of('fresh roa')).toEqual([]);
    await expect(index.suggest(3 as never)).rejects.toThrow('Index.suggest: expected a text, found 3');
    await expect(index.suggest('a', { top_k: 3 } as never)).rejects.toThrow("unknown option 'top_k'");
    await index.dispose();
  },
);

it('says what a look at every document says, while documents come and go', async () => {
  const random = makeRandom(11);
  const words = Array.from({ length: 400 }, (_, i) => `${'abc'[i % 3]}${Math.floor(random() * 46656).toString(36)}`);
  const some = (count: number) => Array.from({ length: count }, () => words[Math.floor(400 ** random())]!).join(' ');
  const index = await Index.open('many', { store: 'memory' });
  await index.add(Array.from({ length: 500 }, (_, i) => ({ id: String(i), title: some(3), text: some(12) })));
  await index.delete(Array.from({ length: 120 }, (_, i) => String(4 * i)));
  await index.add(Array.from({ length: 60 }, (_, i) => ({ id: String(6 * i), title: some(4), text: some(9) })));
  const documents = index.ids().map((id) => index.get(id)!);
  const wordsOf = (text: string) => text.split(' ');
  const holders = (wanted: readonly string[]) =>
    documents.filter(({ title, text }) => wanted.every((word) => wordsOf(`${title} ${text}`).includes(word))).length;
  for (const text of ['a', 'b', 'c1', `${words[1]} a`, `${words[2]} ${words[0]} b`, `${words[0]} `, `${words[7]} c`, words[4]!]) {
    const before = wordsOf(text)
      .slice(0, -1)
      .filter((word) => holders([word]) > 0);
    const last = wordsOf(text).at(-1)!;
    const completed = [...new Set(words)].filter((word) => last !== '' && word.startsWith(last));
    const counted = completed
      .map((word) => ({ word, count: holders([...before, word]) }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1));
    const titled = documents.filter(({ title }) => {
      const own = wordsOf(title!);
      return wordsOf(text.trim()).every((word, i, all) =>
        i === all.length - 1 ? own.some((each) => each.startsWith(word)) : own.includes(word),
      );
    });
    const rest = text.slice(0, text.length - last.length);
    const wanted = [
      ...counted.slice(0, 20).map(({ word, count }) => ({ text: rest + word, kind: 'word', documents: count })),
      ...titled.slice(0, 20).map(({ title }) => ({ text: title!, kind: 'title', documents: 1 })),
    ];
    expect(await index.suggest(text, { limit: 20 })).toEqual(wanted.slice(0, 20));
  }
  await index.dispose();
});
