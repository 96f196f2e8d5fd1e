// Texts of any shape take time in proportion to their length, and none blocks a page for long.
import { AutoTokenizer, Classifier, Index, nn, redact, Tensor, type Tokenizer } from 'wattn';
import { readHtml, toDocument } from '../../web/cli/markup.js';
import { Analyser } from '../../web/search/words.js';
import { chunk } from '../../web/tasks/chunk.js';
import { cutInSteps, cutText } from '../../web/tokenizer/chunk.js';
import { tiny } from './support.js';

/** Texts of about so many units, each of one shape. */
const kShapes: [name: string, text: (units: number) => string][] = [
  ['one word', (n) => 'a'.repeat(n)],
  ['one word with accents', (n) => '\u00e9'.repeat(n)],
  ['one word beyond 16 bits', (n) => '\u{10400}'.repeat(n / 2)],
  ['marks', (n) => `a${'\u0301'.repeat(n)}`],
  ['marks that change places', (n) => `a${'\u0301\u0327'.repeat(n / 2)}`],
  ['marks of a Han character', (n) => `\u6f22${'\u3099\u0301'.repeat(n / 2)}`],
  ['one run of Han characters', (n) => '\u6f22'.repeat(n)],
  ['one run of Thai', (n) => '\u0e01\u0e34'.repeat(n / 2)],
  ['scripts in turn', (n) => 'a\u6f22'.repeat(n / 2)],
  ['one number', (n) => '1.'.repeat(n / 2)],
  ['spaces', (n) => `a${' '.repeat(n)}a`],
  ['lines', (n) => `a${'\n'.repeat(n)}a`],
  ['lines of a letter', (n) => 'a\n'.repeat(n / 2)],
  ['points', (n) => `a${'.'.repeat(n)}a`],
  ['sentence ends', (n) => '\u3002\u300d'.repeat(n / 2)],
  ['lone surrogates', (n) => `a${'\ud800'.repeat(n)}`],
  ['replacement characters', (n) => `${'\ufffd'.repeat(n)}a`],
  ['brackets', (n) => '['.repeat(n)],
  ['closed brackets', (n) => '[a]'.repeat(n / 3)],
  ['at signs', (n) => '@'.repeat(n)],
  ['an address with points', (n) => `a@${'.'.repeat(n)}a`],
  ['digits', (n) => '1 '.repeat(n / 2)],
  ['asterisks', (n) => '*'.repeat(n)],
  ['backticks', (n) => '`'.repeat(n)],
  ['nested tags', (n) => '<div>'.repeat(n / 5)],
  ['nested tags with text', (n) => '<b>a'.repeat(n / 4)],
  ['tags that close nothing', (n) => '<div>'.repeat(n / 9) + '</x>'.repeat(n / 9)],
  ['unclosed tags', (n) => '<'.repeat(n)],
  ['unclosed attributes', (n) => '<a b="'.repeat(n / 6)],
  ['tags of many names', (n) => Array.from({ length: n / 8 }, (_, i) => `<t${i}>`).join('')],
  ['nested drawings', (n) => '<svg><desc>'.repeat(n / 11)],
  ['characters by number', (n) => `a${'&#32;'.repeat(n / 5)}a`],
  ['comments', (n) => '<!--'.repeat(n / 4)],
  ['headings', (n) => '# '.repeat(n / 2)],
  ['a heading with spaces', (n) => `# a${' '.repeat(n)}b`],
  ['a heading with signs', (n) => `# a${' #'.repeat(n / 2)}b`],
  ['front matter', (n) => `---\ntitle: a${' '.repeat(n)}b\n---\n`],
  ['rulers', (n) => '---\n'.repeat(n / 4)],
];

/** Milliseconds of processor time of this thread's process. */
function cpu(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Whether four times the text takes about four times as long, and not sixteen. Other load can only make a run longer, so the best of many counts. */
function takesLinearTime(run: (text: string) => unknown, text: (units: number) => string, units: number): boolean {
  let [once, fourTimes] = [Infinity, Infinity];
  for (let i = 0; i < 12; ++i) {
    once = Math.min(
      once,
      cpu(() => run(text(units))),
    );
    fourTimes = Math.min(
      fourTimes,
      cpu(() => run(text(4 * units))),
    );
    if (fourTimes < 10 * once + 50) return true;
    if (i > 0 && fourTimes > 12 * once && fourTimes > 2000) return false; // no load explains that
  }
  return false;
}

const kUnits = 50_000;

describe('time grows as the text does', () => {
  const analyser = new Analyser({});
  const readWords = (text: string) => {
    for (const batch of analyser.batches(text)) void batch;
  };
  it.each(kShapes)('where words are read: %s', (_, text) => expect(takesLinearTime(readWords, text, kUnits)).toBe(true));
  it.each(kShapes)('where HTML is read: %s', (_, text) => expect(takesLinearTime(readHtml, text, kUnits)).toBe(true));
  it.each(kShapes)('where words of a dictionary are read: %s', (_, text) => {
    const dictionary = new nn.Dictionary([]);
    expect(takesLinearTime((each) => dictionary.split(each), text, kUnits)).toBe(true);
  });

  let tokenizer: Tokenizer;
  beforeAll(async () => (tokenizer = await AutoTokenizer.from_pretrained(tiny)));
  afterAll(() => tokenizer.dispose());
  it.each(kShapes)('where texts are cut: %s', (_, text) => {
    expect(takesLinearTime((each) => tokenizer.chunk(each, { max_tokens: 64 }), text, kUnits / 10)).toBe(true);
  });

  it.each(kShapes)('where files are read: %s', (_, text) => {
    const read = (content: string) => [toDocument('a.md', content), toDocument('a.html', content), toDocument('a.txt', content)];
    expect(takesLinearTime(read, text, kUnits)).toBe(true);
  });

  it.each(kShapes)('where patterns are looked for: %s', async (_, text) => {
    const find = async (units: number) => {
      const made = text(units);
      const start = process.cpuUsage();
      await redact(null, made, { patterns: { email: true, phone: true, card: true } });
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000;
    };
    let [once, fourTimes] = [Infinity, Infinity];
    for (let i = 0; i < 12 && !(fourTimes < 10 * once + 50); ++i) {
      once = Math.min(once, await find(kUnits));
      fourTimes = Math.min(fourTimes, await find(4 * kUnits));
    }
    expect(fourTimes).toBeLessThan(10 * once + 50);
  });
});

describe('very long texts', () => {
  it.each(kShapes)('are read in small steps: %s', (_, text) => {
    const made = text(200_000);
    const steps = [...new Analyser({}).batches(made)].length;
    expect(steps).toBeGreaterThan(made.length / 25_000);
  });

  it.each([
    ['a word of 50 million letters', () => `${'a'.repeat(50e6)} bread`],
    ['5 million marks', () => `a${'\u0301\u0327'.repeat(2.5e6)} bread`],
  ])('are found: %s', async (_, text) => {
    const index = await Index.open('long', { store: 'memory' });
    await index.add([
      { id: 'long', text: text() },
      { id: 'short', text: 'fresh bread' },
    ]);
    expect((await index.search('bread')).map(({ id }) => id).sort()).toEqual(['long', 'short']);
    expect((await index.search(`${'a'.repeat(1e6)} fresh`)).map(({ id }) => id)).toContain('short');
    await index.dispose();
  });

  it('end as others do where a word is read whole', async () => {
    const letters = '\u00e9'.repeat(20e6);
    expect(new nn.Dictionary([]).split(`${letters} a`)).toEqual([letters, 'a']);
    const embed = async (texts: string[]) =>
      new Tensor('float32', Float32Array.from(texts.flatMap(({ length }) => [length > 9 ? 1 : 0, 1])), [texts.length, 2]);
    const vectors = new Tensor('float32', [1, 0, 0, 1], [2, 2]);
    const classifier = await Classifier.fit(embed as never, vectors, ['a', 'b']);
    const { words } = await classifier.explain(`${letters} a!`);
    expect(words.map(({ start, end }) => [start, end])).toEqual([
      [0, letters.length],
      [letters.length + 1, letters.length + 2],
      [letters.length + 2, letters.length + 3],
    ]);
  });

  it('are parts of HTML: 300,000 nested divs, and what they hide', () => {
    const deep = (inside: string) => readHtml('<div>'.repeat(300_000) + inside).text.trim();
    expect(deep('a<script>b</script>c<p>d')).toBe('ac\n\nd');
    expect(readHtml(`${'<div>'.repeat(300_000)}a<nav>b${'</div>'.repeat(300_000)}<p>c`).text.trim()).toBe('a\n\nc');
  });

  it('are pushed to a stream of tokens at once', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const stream = tokenizer.decode_stream();
    expect(stream.push(new Array<number>(300_000).fill(5)) + stream.end()).toBe(
      tokenizer.decode(new Array<number>(300_000).fill(5)),
    );
    await tokenizer.dispose();
  });
});

describe('a page', () => {
  // What one call into WebAssembly is given, as no timer can tell on a busy machine what took long.
  it.each([
    ['one word', () => 'a'.repeat(2e6)],
    ['marks', () => `a${'\u0301\u0327'.repeat(5e5)}`],
    ['words', () => 'a river '.repeat(3e4)],
    ['spaces', () => `a${' '.repeat(1e6)}a`],
    ['characters beyond 16 bits', () => 'x\u{1f35e}'.repeat(4e5)],
  ])('has pauses while a long text is cut beside its model: %s', async (_, text) => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const given: string[] = [];
    const engine = {
      files: [],
      isOpen: true,
      call: (run: (handle: unknown) => unknown) =>
        run({
          encode([part]: string[], _pairs: unknown, { add_special_tokens = true }) {
            given.push(part as string);
            const { offset_mapping } = tokenizer(part as string, {
              add_special_tokens,
              return_offsets_mapping: true,
              return_tensor: false,
            });
            const offsets = Int32Array.from((offset_mapping as number[][]).flat());
            return { code: 0, message: '', offsets, lengths: Int32Array.of(offsets.length / 2) };
          },
        }),
    };
    const made = text();
    const [places] = await chunk.run(
      engine as never,
      [{ text: made, before: '' }],
      { max_tokens: 64, overlap: 0 },
      { first: 0, signal: undefined },
    );
    expect(Math.max(...given.map(({ length }) => length))).toBeLessThanOrEqual(1 << 15);
    expect(given.filter((part) => /[\ud800-\udbff]$|^[\udc00-\udfff]/.test(part))).toEqual([]);
    // All of the text is in a chunk, in its order.
    let before = 0;
    for (let i = 0; i < places!.length; i += 2) {
      expect(made.slice(before, places![i]).trim()).toBe('');
      before = places![i + 1]!;
    }
    expect(made.slice(before).trim()).toBe('');
    await tokenizer.dispose();
  });

  it('cuts a text at the same places wherever its windows begin', () => {
    const text = Array.from(
      { length: 40_000 },
      (_, i) => `w${i}${i % 7 === 0 ? '.\n\n' : i % 5 === 0 ? '\u3002\u300d' : '  '}`,
    ).join('');
    const cut = (shift: number) => {
      const shifted = ' '.repeat(shift) + text;
      const offsets = Int32Array.from([...shifted.matchAll(/w\d+/g)].flatMap(({ 0: word, index }) => [index, index + word.length]));
      const count = (part: string) => 2 + (part.match(/w\d+/g)?.length ?? 0);
      const steps = cutInSteps(shifted, { offsets, count }, { max_tokens: 20, overlap: 3 }, 1 << 15);
      let [paused, end] = [0, steps.next()];
      for (; !end.done; end = steps.next()) ++paused;
      expect(paused).toBeGreaterThan(end.value.length);
      expect(cutText(shifted, { offsets, count }, { max_tokens: 20, overlap: 3 })).toEqual(end.value);
      return end.value.map(({ start, end: last }) => [start - shift, last - shift]);
    };
    const places = cut(0);
    for (let shift = 1; shift < 8; ++shift) expect(cut(shift)).toEqual(places);
    expect(places.length).toBeGreaterThan(2000);
  });
});
