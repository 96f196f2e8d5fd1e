import { AutoTokenizer, InputError, Tensor, type Tokenizer } from 'wattn';
import { edited, expectError, failure, readJson, tiny, tinyFiles } from './support.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await AutoTokenizer.from_pretrained(tiny);
});
afterAll(() => tokenizer.dispose());

const text = 'A small boat waits below the old bridge.';

describe('tokenizer', () => {
  it('gives the ids, type ids and tokens of the reference, for texts and pairs', () => {
    const { inputs } = readJson('bert-tiny/taps.json');
    for (const { text, text_pair, input_ids, token_type_ids, tokens } of inputs) {
      const out = tokenizer(text, { return_tensor: false, ...(text_pair && { text_pair }) });
      expect(out).toMatchObject({
        input_ids,
        token_type_ids,
        attention_mask: input_ids.map(() => 1),
        truncated: [false],
        unknown: [0],
      });
      expect(tokenizer.convert_ids_to_tokens(input_ids)).toEqual(tokens);
      expect(tokenizer.encode(text, { ...(text_pair && { text_pair }) })).toEqual(input_ids);
    }
  });

  it('cuts nothing unless asked, then keeps the special tokens', () => {
    const { rows } = readJson('bert-tiny/embeddings.json');
    for (const { text, input_ids, tokens_before_truncation } of rows) {
      expect(tokenizer.encode(text).length).toBe(tokens_before_truncation);
      expect(tokenizer.encode(text, { truncation: true })).toEqual(input_ids);
      expect(tokenizer.encode(text, { max_length: 48 })).toEqual(input_ids);
    }
    expect(tokenizer.model_max_length).toBe(48);
    expect(tokenizer.vocab_size).toBe(512);
  });

  it('gives int32 Tensors of padded rows', () => {
    const out = tokenizer([text, 'the'], { padding: true });
    expect(out.input_ids).toBeInstanceOf(Tensor);
    expect([out.input_ids.type, out.input_ids.dims]).toEqual(['int32', [2, 14]]);
    expect(out.input_ids.get(1).tolist()).toEqual([2, 158, 3, ...new Array(11).fill(0)]);
    expect(out.attention_mask?.get(1).tolist()).toEqual([1, 1, 1, ...new Array(11).fill(0)]);
    expect(out.token_type_ids?.dims).toEqual([2, 14]);
    expect(tokenizer('the').input_ids.dims).toEqual([1, 3]);
    expect(tokenizer([]).input_ids.dims).toEqual([0, 0]);
    expect(tokenizer(['the', 'a'], { padding: 'max_length', max_length: 5 }).input_ids.dims).toEqual([2, 5]);
    expect(tokenizer('the', { padding: 'max_length' }).input_ids.dims).toEqual([1, 48]);
  });

  it('gives lists, padded or not', () => {
    const ragged = tokenizer([text, 'the'], { return_tensor: false });
    expect(ragged.input_ids.map((row) => row.length)).toEqual([14, 3]);
    const padded = tokenizer([text, 'the'], { return_tensor: false, padding: 'longest', return_special_tokens_mask: true });
    expect(padded.input_ids.map((row) => row.length)).toEqual([14, 14]);
    expect(padded.special_tokens_mask?.[1]).toEqual([1, 0, ...new Array(12).fill(1)]);
    expect(tokenizer('the', { return_tensor: false, return_attention_mask: false, return_token_type_ids: false })).toEqual({
      input_ids: [2, 158, 3], // and what it says of the text, which is not enumerable
    });
    expect(tokenizer('the', { return_tensor: false })).toMatchObject({ truncated: [false], unknown: [0] });
  });

  it('pads on the side that tokenizer_config.json names', async () => {
    const left = await AutoTokenizer.from_pretrained(
      tinyFiles({ 'tokenizer_config.json': edited('tokenizer_config.json', { padding_side: 'left' }) }),
    );
    const out = left(['a boat', 'the'], { padding: true, return_offsets_mapping: true });
    expect(out.input_ids.get(1).tolist()).toEqual([0, 2, 158, 3]);
    expect(out.attention_mask?.get(1).tolist()).toEqual([0, 1, 1, 1]);
    expect(out.offset_mapping?.get(1).tolist()).toEqual([[0, 0], [0, 0], [0, 3], [0, 0]]); // prettier-ignore
    await left.dispose();
  });

  it('gives offsets whose slices are the text of the tokens', () => {
    const original = 'Na\u00efve \ud83d\ude00 boat, \u4e2d\u6587 \ud835\udc00 old!';
    const { offset_mapping, input_ids } = tokenizer(original, {
      return_tensor: false,
      return_offsets_mapping: true,
      add_special_tokens: false,
    });
    const slices = offset_mapping?.map(([start, end]) => original.slice(start, end));
    expect(slices?.join('')).toBe(original.replaceAll(' ', ''));
    expect(slices).toContain('\ud83d\ude00');
    const points = tokenizer(original, {
      return_tensor: false,
      return_offsets_mapping: true,
      add_special_tokens: false,
      offsets: 'codepoint',
    });
    expect(points.offset_mapping?.map(([start, end]) => [...original].slice(start, end).join(''))).toEqual(slices);
    expect(points.input_ids).toEqual(input_ids);
    const pair = tokenizer('\ud83d\ude00 a', {
      text_pair: '\ud83d\ude00\ud83d\ude00 the',
      return_tensor: false,
      return_offsets_mapping: true,
      offsets: 'codepoint',
    });
    expect(pair.offset_mapping).toEqual([[0, 0], [0, 1], [2, 3], [0, 0], [0, 2], [3, 6], [0, 0]]); // prettier-ignore
  });

  it('gives what was cut off in rows of their own', () => {
    const out = tokenizer(['the', text], {
      truncation: true, max_length: 8, overlap: 2, return_overflowing_tokens: true, padding: true, return_special_tokens_mask: true,
    }); // prettier-ignore
    const rows = out.input_ids.tolist<number[][]>();
    expect(out.overflow_to_sample_mapping?.tolist()).toEqual([0, 1, 1, 1]);
    const whole = tokenizer.encode(text, { add_special_tokens: false });
    expect(rows.slice(1).map((row) => row.filter((id) => id > 4))).toEqual([whole.slice(0, 6), whole.slice(4, 10), whole.slice(8)]);
    expect(out.truncated[0]).toBe(false);
    expect(out.truncated[1]).toBe(true);
    const one = tokenizer(text, { max_length: 8, return_overflowing_tokens: true, return_tensor: false });
    expect([one.input_ids.length, one.overflow_to_sample_mapping]).toEqual([2, [0, 0]]);
  });

  it('truncates pairs as asked', () => {
    const pair = { text_pair: 'The birds, unbelievably, 42 times.', return_tensor: false, max_length: 12 } as const;
    const count = (truncation: any) => tokenizer(text, { ...pair, truncation }).token_type_ids?.filter((type) => type === 1).length;
    const whole = tokenizer(text, { text_pair: pair.text_pair, return_tensor: false });
    expect(tokenizer(text, { ...pair, truncation: true }).input_ids.length).toBe(12);
    expect(count('longest_first')).toBeLessThan(whole.token_type_ids?.filter((type) => type === 1).length as number);
    expect(tokenizer('the', { ...pair, truncation: 'only_second' }).input_ids.length).toBe(12);
  });

  it('decodes', () => {
    const ids = tokenizer.encode(text);
    expect(tokenizer.decode(ids)).toBe('[CLS] a small boat waits below the old bridge. [SEP]');
    expect(tokenizer.decode(ids, { skip_special_tokens: true })).toBe('a small boat waits below the old bridge.');
    const same = [
      Int32Array.from(ids),
      BigInt64Array.from(ids, BigInt),
      ids.map(BigInt),
      tokenizer(text).input_ids,
      tokenizer(text).input_ids.get(0),
    ];
    for (const form of same) expect(tokenizer.decode(form)).toBe(tokenizer.decode(ids));
    expect(tokenizer.batch_decode([[158], [96, 275]])).toEqual(['the', 'a small']);
    expect(tokenizer.batch_decode(tokenizer(['the', 'a'], { padding: true }).input_ids, { skip_special_tokens: true })).toEqual([
      'the',
      'a',
    ]);
    expect(tokenizer.tokenize('A small boat')).toEqual(['a', 'small', 'boat']);
    expect(tokenizer.tokenize('a', { add_special_tokens: true })).toEqual(['[CLS]', 'a', '[SEP]']);
    expect(tokenizer.tokenize('')).toEqual([]);
  });

  it('takes an empty second text for none, but not in an array, as Python does', () => {
    const plain = tokenizer.encode('a');
    expect(tokenizer.encode('a', { text_pair: '' })).toEqual(plain);
    const { input_ids } = tokenizer(['a', 'a'], { text_pair: ['', 'a'], return_tensor: false });
    expect(input_ids).toEqual([[...plain, 3], tokenizer.encode('a', { text_pair: 'a' })]);
  });

  it('reads special-token strings as Python does, or as text', () => {
    expect(tokenizer.encode('a [SEP] b')).toContain(3);
    expect(tokenizer.encode('a [SEP] b').filter((id) => id === 3).length).toBe(2);
    expect(tokenizer.encode('a [SEP] b', { split_special_tokens: true }).filter((id) => id === 3).length).toBe(1);
    expect(tokenizer.encode('', { add_special_tokens: false })).toEqual([]);
  });

  it('takes lone surrogates as they are', () => {
    expect(tokenizer.encode('a \ud800 b').length).toBeGreaterThan(3);
    expect(tokenizer(['\ud83d', '\ude00'], { return_tensor: false }).input_ids[0]).toEqual(tokenizer.encode('\ud83d'));
  });

  it('refuses wrong texts and options by name', async () => {
    const wrong: [unknown, unknown, RegExp][] = [
      [3, {}, /tokenizer: expected a string or an array of strings, found 3/],
      [['a', null], {}, /at index 1, found null/],
      ['a', { pad: true }, /unknown option 'pad'; known options: text_pair, truncation/],
      ['a', { padding: 'left' }, /'padding': expected false, true, 'longest', 'max_length', found 'left'/],
      ['a', { truncation: 'first' }, /'truncation': expected false, true, 'longest_first'/],
      ['a', { text_pair: ['b'] }, /'text_pair': expected a string like the first argument, found an array of 1/],
      [['a'], { text_pair: ['b', 'c'] }, /expected an array of 1 strings .*found an array of 2/],
      [['a'], { text_pair: 'b' }, /found a string/],
      [
        ['a', 'b'],
        { max_length: 1e8, padding: 'max_length' },
        /2 texts padded to it to have at most 134217728 ids, found 100000000 ids each/,
      ],
      ['a', { max_length: 4, padding: true }, /'max_length' has no effect here/],
      ['a', { max_length: 4, truncation: false }, /'max_length' has no effect here/],
      ['a', { overlap: 2, truncation: true }, /'overlap' has no effect without return_overflowing_tokens/],
      [text, { overlap: 9, max_length: 8, return_overflowing_tokens: true }, /overlap/],
      ['a', { max_length: 1 }, /special/],
      ['a', { offsets: 'bytes' }, /'offsets': expected one of 'utf16', 'codepoint', found 'bytes'/],
      [['a', 'the old boat'], {}, /expected rows of one length for a Tensor, found 3 and 5 tokens: set padding: true/],
    ];
    for (const [texts, options, message] of wrong)
      await expectError(() => (tokenizer as any)(texts, options), 'InputError', message);
    await expectError(() => tokenizer.decode([1, -1]), 'InputError', /decode: expected a token id at index 1, found -1/);
    await expectError(() => tokenizer.decode([1.5]), 'InputError', /found 1.5/);
    await expectError(() => tokenizer.decode('the' as any), 'InputError', /found 'the'/);
    await expectError(() => tokenizer.decode([1], { skip: true } as any), 'InputError', /unknown option 'skip'/);
    await expectError(() => tokenizer.convert_ids_to_tokens([5, 512]), 'InputError', /found 512 at index 1/);
    await expectError(() => tokenizer.encode(['a'] as any), 'InputError', /found an array/);
    expect(await failure(() => tokenizer.decode(new Tensor('int32', [1, 2, 3, 4], [2, 2])))).toBeInstanceOf(InputError);
  });
});

describe('AutoTokenizer', () => {
  it('needs only tokenizer.json', async () => {
    const files = new Map([['tokenizer.json', tinyFiles().get('tokenizer.json') as Uint8Array]]);
    const alone = await AutoTokenizer.from_pretrained(files);
    expect(alone.encode('the')).toEqual([2, 158, 3]);
    expect(alone.model_max_length).toBe(Infinity);
    expect(alone(['a', 'the old'], { padding: true }).input_ids.dims).toEqual([2, 4]);
    await expectError(() => alone('a', { truncation: true }), 'InputError', /'max_length': expected a number/);
    await alone.dispose();
    await expectError(() => alone.encode('a'), 'StateError', /this tokenizer was disposed/);
  });

  it('takes defaults from tokenizer_config.json', async () => {
    const config = edited('tokenizer_config.json', {
      model_input_names: ['input_ids', 'attention_mask'], truncation_side: 'left', pad_token: { content: '[MASK]' }, clean_up_tokenization_spaces: true,
    }); // prettier-ignore
    const other = await AutoTokenizer.from_pretrained(tinyFiles({ 'tokenizer_config.json': config }));
    const out = other(['a small boat', 'the'], { padding: true, truncation: true, max_length: 4 });
    expect(out.token_type_ids).toBeUndefined();
    expect(out.input_ids.tolist()).toEqual([[2, 275, 305, 3], [2, 158, 3, 4]]); // prettier-ignore
    await other.dispose();
    const wrong = tinyFiles({ 'tokenizer_config.json': edited('tokenizer_config.json', { padding_side: 'up' }) });
    await expectError(
      AutoTokenizer.from_pretrained(wrong),
      'ModelFormatError',
      /padding_side: expected 'left' or 'right', found "up"/,
    );
  });

  it('names unknown options and components', async () => {
    await expectError(
      AutoTokenizer.from_pretrained(tiny, { dtype: 'f32' } as any),
      'InputError',
      /from_pretrained: unknown option 'dtype'/,
    );
    const files = tinyFiles({
      'tokenizer.json': edited('tokenizer.json', { normalizer: { type: 'Sparkle' } }),
      'tokenizer_config.json': edited('tokenizer_config.json', { tokenizer_class: 'PreTrainedTokenizerFast' }), // others have their own normalizer
    });
    await expectError(AutoTokenizer.from_pretrained(files), 'UnsupportedError', /tokenizer\.json.*Sparkle/);
  });
});
