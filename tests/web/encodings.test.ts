// The methods of a tokenizer's result for words, sequences and characters, against transformers' BatchEncoding (tests/goldens/encodings).
import { join } from 'node:path';
import { AutoTokenizer, type Tokenizer } from 'wattn';
import { expectError, goldens, readJson, tiny } from './support.js';

const { texts, models } = readJson('encodings/cases.json');

async function using(model: string, run: (tokenizer: Tokenizer) => unknown): Promise<void> {
  const tokenizer = await AutoTokenizer.from_pretrained(model);
  try {
    await run(tokenizer);
  } finally {
    await tokenizer.dispose();
  }
}

describe.each(Object.entries<any>(models))('an encoding of %s', (path, { cases, joined }) => {
  it.each(cases.map((one: any) => [JSON.stringify(one.options), one] as [string, any]) as [string, any][])(
    'with %s answers as transformers does',
    (_, one) =>
      using(join(goldens, path), (tokenizer) => {
        const encoding = tokenizer(texts, { ...one.options, offsets: 'codepoint', return_tensor: false });
        one.rows.forEach((row: any, i: number) => {
          const pair: string | undefined = one.options.text_pair?.[i];
          const size = row.tokens.length;
          const each = <Value>(count: number, of: (at: number) => Value) => Array.from({ length: count }, (_, at) => of(at));
          const places = [texts[i] as string, ...(pair === undefined ? [] : [pair])].flatMap((text, sequence) =>
            each([...text].length, (at) => [at, sequence] as const),
          );
          const words = row.word_to_tokens.length;
          expect({
            tokens: encoding.tokens(i),
            word_ids: encoding.word_ids(i),
            sequence_ids: encoding.sequence_ids(i),
            token_to_chars: each(size, (at) => encoding.token_to_chars(i, at)),
            token_to_word: each(size, (at) => encoding.token_to_word(i, at)),
            char_to_token: places.map(([at, sequence]) => encoding.char_to_token(i, at, sequence)),
            char_to_word: places.map(([at, sequence]) => encoding.char_to_word(i, at, sequence)),
            word_to_tokens: each(words, (at) => encoding.word_to_tokens(i, at)),
            word_to_chars: each(words, (at) => encoding.word_to_chars(i, at)),
          }).toEqual(row);
        });
      }),
  );

  it('joins tokens as transformers does', () =>
    using(join(goldens, path), (tokenizer) => {
      for (const [tokens, text] of joined) expect(tokenizer.convert_tokens_to_string(tokens)).toBe(text);
    }));
});

describe('an encoding', () => {
  it('counts UTF-16 units by default, so that slices are the words', () =>
    using(tiny, (tokenizer) => {
      const text = 'a 😀 the boat';
      const encoding = tokenizer(text);
      const words = encoding.word_ids().flatMap((word) => encoding.word_to_chars(word ?? -1) ?? []);
      expect([...new Set(words.map(({ start, end }) => text.slice(start, end)))]).toEqual(['a', '😀', 'the', 'boat']);
      expect(encoding.token_to_chars(1)).toEqual({ start: 0, end: 1 });
      expect(encoding.tokens()[encoding.char_to_token(text.indexOf('boat')) as number]).toBe('boat');
    }));

  it('shows its arrays alone', () =>
    using(tiny, (tokenizer) => {
      const encoding = tokenizer('the boat', { return_tensor: false });
      expect(Object.keys({ ...encoding })).toEqual(['input_ids', 'attention_mask', 'token_type_ids']);
      expect(Object.keys(encoding)).not.toContain('word_ids');
    }));

  it('refuses rows and tokens that it does not have', () =>
    using(tiny, async (tokenizer) => {
      const encoding = tokenizer('the boat');
      await expectError(() => encoding.word_ids(1), 'InputError', /word_ids: expected an index below 1, found 1/);
      await expectError(() => encoding.token_to_chars(99), 'InputError', /token_to_chars: expected an index below \d+, found 99/);
      await expectError(() => tokenizer.convert_tokens_to_string(['the', 'no such']), 'InputError', /found 'no such' at index 1/);
    }));
});
