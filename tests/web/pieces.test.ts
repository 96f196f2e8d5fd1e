// Decoding with cached token strings (web/tokenizer/pieces.ts), compared with WebAssembly.
import { AutoTokenizer, type Tokenizer } from 'wattn';
import { Pieces } from '../../web/tokenizer/pieces.js';
import { expectError, readJson, tiny } from './support.js';

/** No tokenizer has it, and it is too large to be kept: a text with it comes from WebAssembly. */
const kNoId = 2 ** 31 - 1;

/** A sequence of numbers below `most`, the same in each run. */
function numbers(count: number, most: number): number[] {
  let state = 1;
  return Array.from({ length: count }, () => (state = (state * 48271) % 2147483647) % most);
}

function sameTexts(tokenizer: Tokenizer, rows: readonly number[][]): void {
  for (const skip_special_tokens of [false, true]) {
    for (const clean_up_tokenization_spaces of [false, true]) {
      const options = { skip_special_tokens, clean_up_tokenization_spaces };
      for (const ids of rows) {
        const expected = tokenizer.decode([...ids, kNoId], options);
        expect(tokenizer.decode(ids, options)).toBe(expected);
        expect(tokenizer.decode(ids, options)).toBe(expected);
      }
    }
  }
}

const filesWith = (tokenizer: object) => new Map([['tokenizer.json', new TextEncoder().encode(JSON.stringify(tokenizer))]]);

/** Words of so many ids, in marks of Metaspace. */
const wordsOf = (count: number) =>
  filesWith({
    version: '1.0',
    added_tokens: [{ id: 0, content: '<s>', special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }],
    normalizer: null,
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    post_processor: null,
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    model: {
      type: 'WordLevel',
      unk_token: '<s>',
      vocab: Object.fromEntries(Array.from({ length: count }, (_, i) => [i === 0 ? '<s>' : `▁${i}${i % 7 ? '' : ' .'}`, i])),
    },
  });

describe('decode', () => {
  it('gives the texts of WebAssembly with every decoder', async () => {
    const cases = readJson('tokenizers', 'components.json') as { tokenizer: object }[];
    expect(cases.length).toBeGreaterThan(50);
    for (const { tokenizer: file } of cases) {
      const tokenizer = await AutoTokenizer.from_pretrained(filesWith(file));
      const ids = numbers(120, tokenizer.vocab_size + 2);
      sameTexts(tokenizer, [...Array.from({ length: 12 }, (_, i) => ids.slice(10 * i, 10 * i + 10)), ids, []]);
      await tokenizer.dispose();
    }
  });

  it('keeps apart ids that fall on one place', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(wordsOf(70_000));
    const k = 2 ** 15;
    expect(tokenizer.decode([4, 4 + k, 4, 4 + 2 * k, 4 + k, 0, 4])).toBe(`4 ${4 + k} 4 ${4 + 2 * k} ${4 + k}<s> 4`);
    const ids = numbers(3000, 70_000);
    sameTexts(tokenizer, [
      ids,
      ids.slice(0, 30),
      ...[1, 2, 3].map((flags) => [9, 9 ^ (flags << 13), 9, 9 ^ (flags << 13)]), // a first token, and the place of a later one
      Array.from({ length: 40 }, (_, i) => 7 + (i % 2) * k), // too many that push each other out
      [0, 0, 14, 0, 21],
    ]);
    await tokenizer.dispose();
  });

  it('asks for a token once, and after one on its place again', () => {
    let asked = 0;
    const pieces = new Pieces((ids, flags) => (++asked, ids.map((id) => `${id}/${flags} `)), true);
    const ids = numbers(20_000, 200_000);
    const textOf = (id: number) => pieces.of(id, false, false);
    for (const id of ids) expect(textOf(id)).toBe(`${id}/0 `);
    const before = asked;
    for (const id of ids) textOf(id);
    expect(pieces.join(ids, false, false)).toBe(ids.map((id) => `${id}/0 `).join(''));
    expect(asked).toBe(before);
    const far = 5 * 2 ** 18;
    for (let i = 0; i < 3; ++i) for (const id of [7, 7 + far, 9 + far, 9]) expect(textOf(id)).toBe(`${id}/0 `);
    textOf(7);
    expect(pieces.of(7, true, true)).toMatch(/^7\/[1-3] $/); // without special tokens it is another
    expect(textOf(7 ^ (1 << 16))).toBe(`${7 ^ (1 << 16)}/0 `);
  });

  it('forgets the texts of a vocabulary that has changed, and ends with its tokenizer', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const size = tokenizer.vocab_size;
    const [a] = tokenizer.encode('a', { add_special_tokens: false }) as [number];
    expect(tokenizer.decode([a, size, a])).toBe('a a');
    tokenizer.add_tokens(['newword']);
    expect(tokenizer.decode([a, size, a])).toBe('a newword a');
    await tokenizer.dispose();
    await expectError(() => tokenizer.decode([a]), 'StateError', /this tokenizer was disposed/);
  });
});
