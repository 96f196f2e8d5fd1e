// Passing texts and ids to WebAssembly (web/host/text_calls.ts): unusual cases, and memory that grows while views exist.
import { AutoTokenizer, pipeline, Tensor, type Tokenizer } from 'wattn';
import { join } from 'node:path';
import { expectError, filesOf, goldens, madeMemories, textOf, tiny } from './support.js';

/** Bytes as tokens, and a decoder for them. */
function byteFiles() {
  const files = filesOf(join(goldens, 'static/encoders/byte-bpe'));
  const json = { ...JSON.parse(textOf(files, 'tokenizer.json')), decoder: { type: 'ByteLevel' } };
  return files.set('tokenizer.json', new TextEncoder().encode(JSON.stringify(json)));
}
/** UTF-8 of more bytes than the room that is kept, as 1 and as 3 bytes a character. */
const long = 'the small boat '.repeat(6000);
const longWide = '橋'.repeat(30_000);
const kPage = 65536;

const made = madeMemories();

/** What a tokenizer answers to all kinds of texts. */
const answers = (tokenizer: Tokenizer) =>
  ['', 'boat', 'Brücke 橋 🚢', long, longWide, '\ufeffa\0b', 'a'].map((text) => {
    const ids = tokenizer.encode(text);
    const { input_ids, token_type_ids } = tokenizer(text, { return_tensor: false });
    return [ids, input_ids, token_type_ids, tokenizer.decode(ids), tokenizer.tokenize(text).slice(0, 99), tokenizer.count(text)];
  });

describe.each([
  ['WordPiece', () => tiny],
  ['byte-level BPE', byteFiles],
])('a tokenizer of %s', (_, files) => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await AutoTokenizer.from_pretrained(files());
  });
  afterAll(() => tokenizer.dispose());

  it('reads a lone surrogate as U+FFFD', () => {
    for (const [text, same] of [
      ['a \ud83d b', 'a \ufffd b'],
      ['\udea2', '\ufffd'],
      ['\ud83d\ud83d\udea2', '\ufffd🚢'],
      [`${long}\ud83d`, `${long}\ufffd`],
    ] as const) {
      expect(tokenizer.encode(text)).toEqual(tokenizer.encode(same));
      expect(tokenizer(text, { return_offsets_mapping: true, return_tensor: false })).toEqual(
        tokenizer(same, { return_offsets_mapping: true, return_tensor: false }),
      );
    }
  });

  it('gives the same alone and in a batch, below and above the room that is kept', () => {
    const texts = ['', 'a boat', 'Brücke 橋 🚢', long, '\0', longWide, 'the', ''];
    const together = tokenizer(texts, { return_tensor: false });
    expect(together.input_ids).toEqual(texts.map((text) => tokenizer.encode(text)));
    expect(tokenizer.count(texts)).toEqual(together.input_ids.map(({ length }) => length));
    const pairs = [...texts].reverse();
    expect(tokenizer(texts, { text_pair: pairs, return_tensor: false }).input_ids).toEqual(
      // '' is no second text of a string, but is one in an array.
      texts.map((text, i) => tokenizer([text], { text_pair: [pairs[i] as string], return_tensor: false }).input_ids[0]),
    );
  });

  it('gives results of their own: a later call does not change them', () => {
    const first = tokenizer('a small boat');
    const before = first.input_ids.tolist();
    tokenizer('an old bridge over the river');
    tokenizer.decode(tokenizer.encode(long));
    expect(first.input_ids.tolist()).toEqual(before);
    expect(first.input_ids.data.buffer.byteLength).toBe(4 * first.input_ids.size);
  });

  it('answers the same after its memory has grown', () => {
    const before = answers(tokenizer);
    made.at(-1)?.grow(1); // as a call of another part of the module does
    expect(answers(tokenizer)).toEqual(before);
    const ids = tokenizer.encode('a small boat');
    made.at(-1)?.grow(3);
    expect(tokenizer.decode(ids)).toBe(tokenizer.decode(tokenizer.encode('a small boat')));
  });

  it('answers calls that make it grow', () => {
    const buffer = () => (made.at(-1) as WebAssembly.Memory).buffer.byteLength;
    const before = buffer();
    const text = long.repeat(Math.ceil((60 * kPage) / long.length));
    const ids = tokenizer.encode(text);
    expect(buffer()).toBeGreaterThan(before);
    expect(ids.slice(1, 400)).toEqual(tokenizer.encode(long).slice(1, 400));
    expect(tokenizer.decode(ids).length).toBeGreaterThanOrEqual(text.length - 1);
    expect(tokenizer.encode('a')).toEqual(tokenizer('a', { return_tensor: false }).input_ids);
  });

  it('reads ids as numbers or bigints, in arrays and Tensors', () => {
    const ids = tokenizer.encode('a small boat');
    const text = tokenizer.decode(ids);
    for (const same of [
      ids.map(BigInt),
      Int32Array.from(ids),
      BigInt64Array.from(ids.map(BigInt)),
      Float32Array.from(ids),
      [...ids.slice(0, 1).map(BigInt), ...ids.slice(1)],
      new Tensor('int32', ids, [1, ids.length]),
      new Tensor('int64', ids.map(BigInt), [ids.length]),
    ])
      expect(tokenizer.decode(same as number[])).toBe(text);
    expect(ids).toEqual(tokenizer.encode('a small boat'));
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.decode(new DataView(new ArrayBuffer(8)) as any)).toBe('');
  });

  it('skips ids that are no tokens, and takes more ids than fit into the room', () => {
    const [a] = tokenizer.encode('a', { add_special_tokens: false }) as [number];
    const text = tokenizer.decode([a, a]);
    expect(tokenizer.decode([a, 2 ** 31 - 1, tokenizer.vocab_size, -0 + a])).toBe(text);
    const many = tokenizer.decode(new Array(100_000).fill(a));
    expect(many.length).toBeGreaterThanOrEqual(100_000);
    expect(many.endsWith(text.slice(-1))).toBe(true);
    expect(tokenizer.decode([a, a])).toBe(text);
  });

  it('refuses what is no id', async () => {
    for (const [bad, shown] of [
      [-1, '-1'],
      [2 ** 31, '2147483648'],
      [1.5, '1.5'],
      [NaN, 'NaN'],
      [Infinity, 'Infinity'],
      ['5', "'5'"],
      [null, 'null'],
      [undefined, 'undefined'],
      [true, 'true'],
      [-1n, '-1'],
      [2n ** 40n, '1099511627776'],
      [[5], 'an array'],
    ] as const) {
      for (const first of [1, 1n]) {
        const message = `decode: expected a token id at index 1, found ${shown}`;
        const error = await expectError(() => tokenizer.decode([first, bad] as any), 'InputError');
        expect(error.message).toBe(message);
      }
    }
    // eslint-disable-next-line no-sparse-arrays
    await expectError(() => tokenizer.decode([1, , 2] as any), 'InputError', /at index 1, found undefined/);
    await expectError(() => tokenizer.decode('12' as any), 'InputError', /expected an array of token ids/);
  });
});

describe('a tokenizer', () => {
  it('keeps NUL characters and byte order marks', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(byteFiles());
    for (const text of ['\0', 'a\0b\0', '\ufeff', '\ufeffa boat', 'é', '橋🚢', `${long}\0é`])
      expect(tokenizer.decode(tokenizer.encode(text, { add_special_tokens: false }))).toBe(text);
    await tokenizer.dispose();
  });

  it('answers the same with memory that threads share, and after it has grown', async () => {
    const alone = await AutoTokenizer.from_pretrained(tiny);
    const embed = await pipeline('feature-extraction', tiny, { threads: 2 });
    const memory = made.at(-1) as WebAssembly.Memory;
    expect(Object.prototype.toString.call(memory.buffer)).toBe('[object SharedArrayBuffer]');
    const expected = answers(alone);
    expect(answers(embed.tokenizer)).toEqual(expected);
    memory.grow(1);
    expect(answers(embed.tokenizer)).toEqual(expected);
    const { input_ids } = embed.tokenizer('a boat');
    expect(Object.prototype.toString.call(input_ids.data.buffer)).toBe('[object ArrayBuffer]');
    await embed('a boat');
    expect(answers(embed.tokenizer)).toEqual(expected);
    await embed.dispose();
    await alone.dispose();
  });

  it('refuses every call after dispose()', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const ids = tokenizer.encode('a boat');
    const encoding = tokenizer('a boat');
    await tokenizer.dispose();
    for (const call of [
      () => tokenizer.encode('a boat'),
      () => tokenizer('a boat'),
      () => tokenizer.decode(ids),
      () => tokenizer.count('a boat'),
      () => tokenizer.tokenize('a boat'),
      () => tokenizer.convert_ids_to_tokens(ids),
      () => encoding.tokens(),
    ])
      await expectError(call, 'StateError', /this tokenizer was disposed/);
    await expectError(() => tokenizer.encode(5 as any), 'InputError', /expected a string/);
    expect(encoding.input_ids.tolist()).toEqual([ids]);
  });

  it('goes on after an error of WebAssembly', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const ids = tokenizer.encode('a boat');
    await expectError(() => tokenizer.encode('a boat', { max_length: 1 }), 'InputError', /max_length/);
    expect(tokenizer.encode('a boat')).toEqual(ids);
    await tokenizer.dispose();
  });

  it('shows the arrays of a result alone, whose other members can be taken off and replaced', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(tiny);
    const encoding = tokenizer('a boat', { return_tensor: false });
    const names = ['input_ids', 'attention_mask', 'token_type_ids'];
    expect(Object.keys(encoding)).toEqual(names);
    const all: string[] = [];
    for (const name in encoding) all.push(name);
    expect(all).toEqual(names);
    expect(encoding.constructor).toBe(Object);
    const { tokens, truncated, unknown } = encoding;
    expect([tokens()[0], truncated, unknown]).toEqual(['[CLS]', [false], [0]]);
    encoding.truncated = [true];
    expect([encoding.truncated, Object.keys(encoding)]).toEqual([[true], names]);
    const seen = new Proxy(encoding, {}); // as frameworks wrap objects
    expect([seen.tokens()[0], seen.unknown]).toEqual(['[CLS]', [0]]);
    await tokenizer.dispose();
  });
});
