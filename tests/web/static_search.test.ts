// A static index: reading and cutting pages, results, and how few bytes a page reads.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutoTokenizer, InputError, ModelFormatError, NetworkError, pipeline, type FeatureExtractionPipeline } from 'wattn';
import { StaticIndex, type StaticHit } from 'wattn/static-search';
import { buildStaticIndex } from '../../web/static_search/build.js';
import { cosineOf, packRows } from '../../web/static_search/bytes.js';
import { cutPage, type SitePage } from '../../web/static_search/chunks.js';
import { toPieces } from '../../web/static_search/make_table.js';
import { Pieces } from '../../web/static_search/pieces.js';
import { filesOf, readPostings, readWords, writeWords } from '../../web/static_search/postings.js';
import { makeRandom } from '../../web/core/random.js';
import { readMarkdownPage, readSite, readSitePage } from '../../web/cli/site_pages.js';
import { tiny } from './support.js';

const page = (url: string, title: string, text: string): SitePage => ({
  url,
  title,
  sections: [{ fragment: '', headings: [], text }],
});
const kPages: SitePage[] = [
  page('a.html', 'Opening hours', 'The bakery opens at seven in the morning.'),
  page('b/', 'Trains', 'The train to Berlin leaves at noon from platform nine.'),
  {
    url: 'c.html',
    title: 'Cats',
    sections: [
      { fragment: '', headings: [], text: 'Cats sleep most of the day. '.repeat(12) },
      { fragment: 'food', headings: ['Care', 'Food'], text: 'They eat fish & mice, and drink water. '.repeat(12) },
    ],
  },
];

let model: FeatureExtractionPipeline;
beforeAll(async () => (model = await pipeline('feature-extraction', tiny)));
afterAll(() => model.dispose());

/** An index of these files, and what is asked of them. */
async function served(files: Map<string, Uint8Array>, options = {}) {
  const asked: { name: string; bytes: number }[] = [];
  const fetch = async (url: string) => {
    const name = new URL(url).pathname.replace('/search/', '');
    const bytes = files.get(name);
    asked.push({ name, bytes: bytes?.length ?? 0 });
    return new Response((bytes as Uint8Array<ArrayBuffer>) ?? null, { status: bytes ? 200 : 404 });
  };
  const index = await StaticIndex.open('http://site.test/search/', { fetch, ...options });
  const sum = () => asked.splice(0).reduce((all, { bytes }) => all + bytes, 0);
  return { index, asked, sum };
}
const urls = (hits: readonly StaticHit[]) => hits.map(({ url }) => url.replace('http://site.test/', ''));

describe('reading pages', () => {
  const read = (html: string) => readSitePage(html)!.page;

  it('takes the main part, its headings, and where they are', () => {
    const { title, sections } = read(
      '<html lang=en><title>Boats - The site</title><body><header>logo</header><nav>menu</nav><main><h1>Boats <a href="#top">#</a></h1><p>On <b>wa</b>ter.<script>x</script>' +
        '<h2 id=oars>Oars &amp; sails<a class=headerlink href="#oars">\u00b6</a></h2><pre>a\n  b</pre><section id=wind><h3>Wind</h3><p>Blows.</section><aside>ad</aside></main><footer>end</footer>',
    );
    expect(title).toBe('Boats');
    expect(sections).toEqual([
      { fragment: '', headings: [], text: 'On water.' },
      { fragment: 'oars', headings: ['Oars & sails'], text: 'a\n  b' },
      { fragment: 'wind', headings: ['Oars & sails', 'Wind'], text: 'Blows.' },
    ]);
  });

  it('without a main part takes the body; leaves out what is hidden or excluded', () => {
    const { title, sections } = read(
      '<title>T</title><nav>menu</nav><p>seen</p><p hidden>no</p><p aria-hidden=true>no</p><div data-wattn=exclude>no<p>no</div><div data-pagefind-ignore>no</div><div role=navigation>no</div><p>too',
    );
    expect([title, sections.map(({ text }) => text)]).toEqual(['T', ['seen\n\ntoo']]);
  });

  it('takes marked parts alone, and leaves pages that ask for it', () => {
    const marked = readSitePage('<main>no<div data-wattn=include><h2>A</h2>yes</div>no</main>')!;
    expect(marked).toMatchObject({ isMarked: true, page: { sections: [{ headings: ['A'], text: 'yes' }] } });
    expect(readSitePage('<meta name=robots content="noindex, nofollow">text')).toBeUndefined();
    expect(readSitePage('<meta http-equiv=refresh content="0; url=x">text')).toBeUndefined();
    expect(read('<meta name=wattn-weight content=0.5>text').weight).toBe(0.5);
  });

  it('takes time in proportion to the file, however deep it is', () => {
    expect(read(`<main>${'<div>'.repeat(100_000)}deep`).sections).toEqual([]);
  });

  it('leaves out the page that hosts show where there is none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'site-'));
    try {
      for (const name of ['index.html', '404.html', '_not-found.html', 'http-404.html'])
        writeFileSync(join(folder, name), `<p>${name}`);
      const { pages, left } = await readSite(folder, join(folder, 'search'));
      expect([pages.map(({ url }) => url), left]).toEqual([['http-404.html', ''], 0]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('reads Markdown by its headings, not those in code', () => {
    expect(readMarkdownPage('---\ntitle: T\n---\n# H\none\n## A b!\n```\n# no\n```\n### C {#own}\n## A b!\nlast')).toEqual({
      title: 'T',
      sections: [
        { fragment: '', headings: [], text: 'one' },
        { fragment: 'a-b', headings: ['A b!'], text: '```\n# no\n```' },
        { fragment: 'own', headings: ['A b!', 'C'], text: '' },
        { fragment: 'a-b-1', headings: ['A b!'], text: 'last' },
      ],
    });
  });
});

describe('parts of pages', () => {
  const parts = (text: string) => cutPage(page('x', 'X', text)).map((row) => row.text);

  it('end at paragraphs, sentences or words, and lose nothing', () => {
    for (const text of [
      'One sentence of some words. '.repeat(200),
      'word '.repeat(2000),
      'x'.repeat(5000),
      `${'A paragraph.\n\n'.repeat(300)}`,
      '\u4e2d\u6587\u53e5\u5b50\u3002'.repeat(300),
    ]) {
      const cut = parts(text);
      expect(cut.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
      for (const part of cut) expect(part.length).toBeLessThanOrEqual(1100);
    }
    for (const part of parts('One sentence of some words. '.repeat(200))) expect(part).toMatch(/^One .*\.$/);
  });

  it('are not tiny where a section is', () => {
    const sections = ['A', 'B', 'C'].map((name) => ({ fragment: name, headings: [name], text: `${name} is short.` }));
    expect(cutPage({ url: 'x', title: 'X', sections })).toEqual([
      { fragment: 'A', headings: ['A'], heading: 'A', text: 'A is short.\n\nB\nB is short.\n\nC\nC is short.' },
    ]);
  });
});

describe('words', () => {
  it('come back from their files, each by a look into one', () => {
    const random = makeRandom(3);
    const words = new Map(
      Array.from({ length: 400 }, (_, i) => {
        const rows = [
          ...new Set(Array.from({ length: 1 + Math.floor(random() ** 8 * 9000) }, () => Math.floor(random() * 10_000))),
        ].sort((a, b) => a - b);
        return [
          `${String.fromCharCode(97 + (i % 26))}${i.toString(36)}`,
          { rows, times: rows.map(() => 1 + Math.floor(random() * 3)) },
        ] as const;
      }),
    );
    const { begins, files } = writeWords(words);
    expect(files.length).toBeGreaterThan(9);
    for (const [term, list] of words) {
      const { first, last } = filesOf(begins, term, true);
      expect(last).toBe(first);
      const word = readWords(files[first]!, 'w').find((each) => each.term === term)!;
      expect(readPostings(word, 'w')).toEqual(list);
    }
    for (const prefix of ['a', 'b1', 'zz', 'c2x', '']) {
      const { first, last } = filesOf(begins, prefix, false);
      const found = files
        .slice(first, last + 1)
        .flatMap((bytes) => readWords(bytes, 'w').map(({ term }) => term))
        .filter((term) => term.startsWith(prefix));
      expect(found).toEqual([...words.keys()].filter((term) => term.startsWith(prefix)).sort());
    }
  });

  it('of damaged files are refused', () => {
    const { files } = writeWords(new Map([['word', { rows: [1, 5], times: [1, 2] }]]));
    expect(() => readWords(files[0]!.subarray(0, 5), 'w0.bin')).toThrow('w0.bin is damaged at byte 2 of 5');
  });
});

describe('the table', () => {
  it("cuts words as the model's own tokenizer does", async () => {
    const tokenizer = await AutoTokenizer.from_pretrained();
    const pieces = new Pieces(toPieces(tokenizer.get_vocab()));
    const texts = [
      "Don't stop-it: 3.14% of caf\u00e9s (na\u00efve) cost $5+tax!",
      'tokenization, hyperparameters & self_attention',
      '\u4e2d\u6587 mixed \u00dcber GRO\u00df',
      'e-mail: a.b@c.org',
      'x'.repeat(120),
      '',
    ];
    for (const text of texts) {
      const own = tokenizer.tokenize(text).filter((token) => token !== '[UNK]');
      expect(pieces.idsOf(text).map((id) => pieces.pieces[id])).toEqual(own);
    }
  });

  it('makes pieces of other vocabularies', () => {
    const vocabulary = (tokens: string[]) => new Map(tokens.map((token, id) => [token, id]));
    expect(toPieces(vocabulary(['<s>', '\u2581The', 'ing', '\u2581the', '\u2581', ',']))).toEqual(['the', '##ing', ',']);
    expect(toPieces(vocabulary(['\u0120run', 'ning', '!']))).toEqual(['run', '##ning', '!']);
  });

  it('keeps directions of rows in bytes', () => {
    const random = makeRandom(5);
    const row = Float32Array.from({ length: 64 }, () => random() - 0.5);
    const length = Math.hypot(...row);
    const unit = row.map((value) => value / length);
    expect(cosineOf(unit, packRows(row, 64), 0)).toBeGreaterThan(0.9999);
    expect(
      cosineOf(
        unit.map((value) => -value),
        packRows(row, 64),
        0,
      ),
    ).toBeLessThan(-0.9999);
  });
});

describe('searching', () => {
  it('finds words first, then both, with the address of the heading', async () => {
    const { index } = await served(await buildStaticIndex(kPages, { embed: model, site: '../' }));
    const stages = [];
    for await (const { stage, hits } of index.search('drink water')) stages.push([stage, urls(hits)[0]]);
    expect(stages).toEqual([
      ['words', 'c.html#food'],
      ['hybrid', 'c.html#food'],
    ]);
    const [hit] = await index.search('mice');
    expect(hit).toMatchObject({
      title: 'Cats',
      headings: ['Care', 'Food'],
      close: expect.any(Boolean),
      why: { meaning: expect.any(Number) },
    });
    for (const { start, end } of hit!.highlights) expect(hit!.text.slice(start, end)).toBe('mice');
    expect([index.pages, index.knows_meaning]).toEqual([3, true]);
    // By meaning alone: no page has this word.
    expect((await index.search('railway')).length).toBeGreaterThan(0);
    expect(await index.search('  ')).toEqual([]);
  });

  it('completes the last word, unless a space ends it', async () => {
    const { index, asked } = await served(await buildStaticIndex(kPages, { site: '/pages/' }));
    expect(urls(await index.search('ber'))).toEqual(['pages/b/']);
    expect(await index.search('ber ')).toEqual([]);
    expect(await index.search('ber', { prefix: false })).toEqual([]);
    expect(urls(await index.search('cat'))).toEqual(['pages/c.html']);
    expect(urls(await index.search('cat train', { prefix: false, limit: 1 }))).toHaveLength(1);
    expect(asked.some(({ name }) => /table|centres|v\d/.test(name))).toBe(false);
  });

  it('scores words as BM25 does, half by the page and half by its part', async () => {
    const { index } = await served(await buildStaticIndex(kPages, { site: '../' }));
    const idf = Math.log(1 + (3 - 1 + 0.5) / 1.5);
    const [hit] = await index.search('berlin', { prefix: false });
    const lengths = [3 * 2 + 8, 3 + 10, 3 + 12 * 6 + 2 + 12 * 7];
    const mean = lengths.reduce((sum, length) => sum + length) / 3;
    const whole = idf / 2.5;
    const score = idf / (1 + 1.5 * (0.25 + (0.75 * lengths[1]!) / mean));
    expect(hit!.why.coverage).toBeCloseTo((Math.min(1, score / whole) + Math.min(1, idf / 2.5 / whole)) / 2, 5);
  });

  it("leaves a question's own words out, in a language that it knows", async () => {
    const { index } = await served(await buildStaticIndex(kPages, { site: '../', language: 'en-GB' }));
    expect(urls(await index.search('where is the train at '))).toEqual(['b/']);
    expect(urls(await index.search('the '))).not.toEqual([]);
  });

  it('weighs pages', async () => {
    const twins = [page('a', 'X', 'same words'), page('b', 'X', 'same words')];
    const { index } = await served(await buildStaticIndex([{ ...twins[0]!, weight: 0.5 }, twins[1]!], { site: '../' }));
    expect(urls(await index.search('same words'))).toEqual(['b', 'a']);
  });

  it('has the same files for the same pages, under names that change with them', async () => {
    const files = async (pages: SitePage[]) => [...(await buildStaticIndex(pages, { embed: model, site: '../' })).keys()];
    const [once, again, other] = [await files(kPages), await files(kPages), await files(kPages.slice(1))];
    expect(again).toEqual(once);
    expect(other[0]!.split('/')[0]).not.toBe(once[0]!.split('/')[0]);
  });

  it('goes on with a site that was built anew', async () => {
    const files = await buildStaticIndex(kPages, { site: '../' });
    const { index } = await served(files);
    files.clear();
    for (const [name, bytes] of await buildStaticIndex([page('new.html', 'New', 'A new bakery.')], { site: '../' }))
      files.set(name, bytes);
    expect(urls(await index.search('bakery'))).toEqual(['new.html']);
  });

  it('ends by a signal, and says what is wrong', async () => {
    const files = await buildStaticIndex(kPages, { site: '../' });
    const { index } = await served(files);
    const controller = new AbortController();
    controller.abort();
    await expect(index.search('cats', { signal: controller.signal })).rejects.toMatchObject({ code: 'abort' });
    expect(() => index.search('x', { limti: 3 } as object)).toThrow(InputError);
    expect(() => index.search('x', { limit: 101 })).toThrow('limit');
    expect(() => index.search(3 as unknown as string)).toThrow(InputError);
    await expect(served(new Map())).rejects.toThrow(NetworkError);
    await expect(served(new Map([['index.json', new TextEncoder().encode('<!doctype html>')]]))).rejects.toThrow(ModelFormatError);
    const head = JSON.parse(new TextDecoder().decode(files.get('index.json')));
    await expect(
      served(new Map([['index.json', new TextEncoder().encode(JSON.stringify({ ...head, format: 9 }))]])),
    ).rejects.toThrow('format 1');
    await expect(StaticIndex.open('no address', {})).rejects.toThrow(InputError);
    const cut = new Map([...files].map(([name, bytes]) => [name, name.endsWith('w0.bin') ? bytes.slice(0, 9) : bytes]));
    await expect((await served(cut)).index.search('cats')).rejects.toThrow(ModelFormatError);
  });
});

it('reads little of a large site', async () => {
  // Words by Zipf's law, in pages of several parts.
  const random = makeRandom(7);
  const word = () => `w${Math.floor(20_000 ** random()).toString(36)}`;
  const text = () => Array.from({ length: 300 }, word).join(' ');
  const pages = Array.from({ length: 3000 }, (_, i) => page(`p${i}.html`, `Page ${word()}`, text()));
  const { index, sum } = await served(await buildStaticIndex(pages, { site: '../' }));
  await index.search('w5z w7 wab', { mode: 'words' });
  expect(sum()).toBeLessThan(150_000);
  await index.search('w1 w9x w3k2', { mode: 'words' });
  expect(sum()).toBeLessThan(150_000);
});
