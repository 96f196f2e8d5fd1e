// Suggestions for a search box.
import { Index } from 'wattn';

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
