// wattn index and wattn search.
import { mkdirSync, readdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Index, pipeline } from 'wattn';
import { linesOf, wattn as command } from './cli_support.js';

let folder: string;
const file = () => join(folder, 'notes.wattn');
const put = (name: string, text: string) => writeFileSync(join(folder, 'docs', name), text);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wattn-cli-search-'));
  mkdirSync(join(folder, 'docs/sub/.hidden'), { recursive: true });
  put('a.md', '---\ntitle: "Opening hours"\n---\n# Bakery\n\nThe bakery opens at seven.\n');
  put('b.txt', 'Cats sleep most of the day.');
  put('empty.txt', ' \n');
  put('picture.png', 'bakery');
  put('sub/.hidden/no.txt', 'bakery');
  put(
    'sub/c.html',
    '<!doctype html><title>Trains &amp; buses</title><style>p{color:red}</style><nav>menu</nav><h1>Times</h1><p>The train to <b>Ber</b>lin\nleaves.</p><script>var bakery</script><p>Ro&szlig;&nbsp;x<br>end',
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

const wattn = async (...args: string[]) => linesOf(await command(args, undefined, folder));

it('indexes texts, Markdown and HTML, and again only what changed', async () => {
  const [made] = await wattn('index', 'docs', '--out', file());
  expect(made).toMatchObject({ documents: 3, chunks: 3, added: 3, updated: 0, unchanged: 0, removed: 0, empty: 1 });
  expect(made.bytes).toBe(readFileSync(file()).length);
  put('b.txt', 'Dogs, too.');
  rmSync(join(folder, 'docs/a.md'));
  expect((await wattn('index', 'docs', '--out', file()))[0]).toMatchObject({
    documents: 2,
    added: 0,
    updated: 1,
    unchanged: 1,
    removed: 1,
  });
  const [hit] = await wattn('search', file(), 'berlin', '--mode', 'words');
  expect(hit).toMatchObject({
    id: 'docs/sub/c.html',
    title: 'Trains & buses',
    text: 'Times\n\nThe train to Berlin leaves.\n\nRo\u00df x\nend',
  });
});

it('has a title of at most 1,000 characters, and a longer one as text', async () => {
  const title = `${'word '.repeat(199)}words`;
  put('longest.html', `<title>${title}</title><p>Buses leave.`);
  put('longer.html', `<title>${title}x</title><p>Buses leave.`);
  await wattn('index', 'docs', '--out', file());
  const hits = await wattn('search', file(), 'word buses', '--mode', 'words');
  const titles = Object.fromEntries(hits.map(({ id, title: own = '' }: { id: string; title?: string }) => [id, own]));
  expect([title.length, titles]).toMatchObject([1000, { 'docs/longest.html': title, 'docs/longer.html': '' }]);
});

it('finds, and its file opens in programs', async () => {
  await wattn('index', 'docs', '--out', file());
  const [first] = await wattn('search', file(), 'when can I buy rolls in the bakery', '--top-k', '1');
  expect(first).toMatchObject({ id: 'docs/a.md', title: 'Opening hours', text: '# Bakery\n\nThe bakery opens at seven.' });
  const both = await wattn('search', file(), 'cats', 'train', '--mode', 'words');
  const typed = await wattn('search', file(), 'catz', 'trai -buses', '"cats day"', '--mode', 'words', '--prefix', '--fuzzy');
  expect(typed.map(({ query, id }) => [query, id])).toEqual([['catz', 'docs/b.txt']]);
  expect(both.map(({ query, id }) => [query, id])).toEqual([
    ['cats', 'docs/b.txt'],
    ['train', 'docs/sub/c.html'],
  ]);
  const embed = await pipeline('feature-extraction');
  const index = await Index.open('here', { embed, store: 'memory' });
  await index.import_file(readFileSync(file()));
  const [hit] = await index.search('when can I buy rolls in the bakery', { top_k: 1 });
  expect({ score: hit!.score, why: hit!.why }).toEqual({ score: first.score, why: first.why });
  await index.dispose();
  await embed.dispose();
  expect((await wattn('index', 'docs/b.txt', '--out', join(folder, 'words.wattn'), '--words'))[0]).toMatchObject({ documents: 1 });
  expect(await wattn('search', join(folder, 'words.wattn'), 'cats', '--words')).toHaveLength(1);
});

it('makes search for a static site, and removes the files of the last one', async () => {
  const [made] = await wattn('index', 'docs', '--static', 'docs/search', '--words');
  expect(made).toMatchObject({ out: 'docs/search', pages: 1, table: 0 });
  const folders = () => readdirSync(join(folder, 'docs/search')).sort();
  const [before] = folders();
  expect(folders()).toEqual([before, 'index.json']);
  const head = () => JSON.parse(readFileSync(join(folder, 'docs/search/index.json'), 'utf8'));
  expect(head()).toMatchObject({ folder: before, site: '../', pages: 1 });
  put('sub/d.html', '<title>More</title><p>Another page.');
  expect((await wattn('index', 'docs', '--static', 'docs/search', '--words', '--base', 'https://x.test/y'))[0]).toMatchObject({
    pages: 2,
  });
  expect(head()).toMatchObject({ site: 'https://x.test/y/', pages: 2 });
  expect(folders()).toHaveLength(2);
  expect(folders()).not.toContain(before);
});

it.each([
  [['index', 'docs', '--static', 'x', '--out', 'y'], '--static: expected no --out'],
  [['index', 'docs', 'more', '--static', 'x'], '--static: expected the folder of one site, found 2'],
  [['index', 'docs', '--out', 'x', '--base', '/'], '--base: expected --static'],
  [['index', 'docs'], '--out: expected the file to write, found none'],
  [['index', '--out', 'x'], 'expected the folder to index, found none'],
  [['index', 'nowhere', '--out', 'x'], 'cannot read nowhere: ENOENT'],
  [['index', 'docs/empty.txt', '--out', 'x'], 'found no .txt, .md or .html file with words in docs/empty.txt'],
  [['index', 'docs', '--out', 'docs/b.txt'], 'expected an index of wattn, found another file'],
  [['search', 'x'], 'expected the file of an index and a query'],
  [['search', 'x', 'y'], 'cannot read x: ENOENT'],
  [['search', 'docs/b.txt', 'y', '--words'], 'expected an index of wattn, found another file'],
])('%p is refused by name', async (args, message) => {
  expect(await command(args, undefined, folder)).toMatchObject({ code: 2, error: expect.stringContaining(message) });
});
