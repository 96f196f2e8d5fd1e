// The position of a hit in its document, and documents without text.
import { Index } from 'wattn';
import { toDocument } from '../../web/cli/markup.js';

const lines = (text: string) =>
  [...text.matchAll(/[^\n]+/g)].map(({ index, 0: line }) => ({ start: index, end: index + line.length }));
const embed = async (texts: string[]) => texts.map((text) => [text.length, 1]);
const markdown = `# Guide

Apples first.

## Installation ##

Pears here.

\`\`\`sh
# no heading
plums
\`\`\`

### Offline

Cherries now.

## Use

Quinces last.
`;
const html = `<title>Fruit</title><nav><h2>Menu</h2></nav><h1>Guide &amp; more</h1><p>Apples, Installation of.</p><h2>In<b>stalla</b>tion</h2><p>Pears</p>
<h3>Offline</h3><p>Cherries</p><h2>Use</h2><p>Quinces</p>`;

it('names the headings above a hit, of Markdown and HTML', async () => {
  const index = await Index.open('headings', { store: 'memory', embed, chunk: lines });
  await index.add([toDocument('a.md', markdown)!, toDocument('b.html', html)!, { id: 'c', text: 'Medlars.' }]);
  const paths = async (query: string) =>
    (await index.search(query, { mode: 'words' })).map(({ id, headings }) => `${id} ${headings.join(' > ')}`).sort();
  expect(await paths('apples')).toEqual(['a.md Guide', 'b.html Guide & more']);
  expect(await paths('pears')).toEqual(['a.md Guide > Installation', 'b.html Guide & more > Installation']);
  expect(await paths('plums')).toEqual(['a.md Guide > Installation']);
  expect(await paths('cherries')).toEqual(['a.md Guide > Installation > Offline', 'b.html Guide & more > Installation > Offline']);
  expect(await paths('quinces')).toEqual(['a.md Guide > Use', 'b.html Guide & more > Use']);
  expect(await paths('use')).toEqual(['a.md Guide > Use', 'b.html Guide & more > Use']); // the heading itself
  expect(await paths('medlars')).toEqual(['c ']);
  await index.dispose();
});

it('takes documents that have only a title, and empty ones', async () => {
  for (const options of [{}, { embed }, { embed, precision: 'float32' as const }]) {
    const index = await Index.open('empty', { store: 'memory', ...options });
    await index.add([
      { id: 'title', text: '', title: 'Opening hours' },
      { id: 'nothing', text: ' \n' },
      { id: 'text', text: 'The bakery opens.' },
    ]);
    expect(index.size).toBe(3);
    const [hit] = await index.search('hours');
    expect(hit).toMatchObject({ id: 'title', text: '', start: 0, end: 0, highlights: [], headings: [] });
    const file = await index.export();
    const other = await Index.open('other', { store: 'memory', ...options });
    expect(await other.import_file(file)).toBe(3);
    expect((await other.search('"opening hours"')).map(({ id }) => id)).toEqual(['title']);
    if ('embed' in options) {
      const empty = (await other.search('hours')).find(({ id }) => id === 'nothing');
      expect(empty?.why.meaning ?? 0).toBeCloseTo(0, 6);
    }
    await Promise.all([index.dispose(), other.dispose()]);
  }
});

it('makes documents of files with a title alone', () => {
  expect(toDocument('a.html', '<title>Only this</title>')).toEqual({ id: 'a.html', text: '', title: 'Only this' });
  expect(toDocument('b.html', '<p> </p>')).toBeUndefined();
});

it('tells the sentence nearest in meaning, on request', async () => {
  const letters = async (texts: string[]) =>
    texts.map((text) =>
      Float32Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => text.toLowerCase().split(letter).length - 0.99),
    );
  const index = await Index.open('sentences', { store: 'memory', embed: letters });
  const text = 'Zebras graze.  A cab had a bad cab back. Very fuzzy.';
  await index.add([
    { id: 'a', text },
    { id: 'empty', text: '' },
  ]);
  const hits = await index.search('abba cab', { sentences: true });
  const { sentence } = hits.find(({ id }) => id === 'a')!;
  expect(text.slice(sentence!.start, sentence!.end)).toBe('A cab had a bad cab back.');
  expect(sentence!.score).toBeGreaterThan(0.8);
  expect(hits.find(({ id }) => id === 'empty')?.sentence).toBeUndefined();
  expect((await index.search('cab'))[0]).not.toHaveProperty('sentence');
  expect((await index.search('cab', { mode: 'words', sentences: true }))[0]).not.toHaveProperty('sentence');
  await index.dispose();
});
