import { pipeline } from 'wattn';
import { changed, floats, withoutTensors, writeTensors, type Tensors } from './safetensors.js';
import { edited, expectError, failure, readJson, textOf, tiny, tinyFiles, type Files } from './support.js';

const load = (files: Files) => pipeline('feature-extraction', files);
const weights = tinyFiles().get('model.safetensors') as Uint8Array;
const kKinds = ['ModelFormatError', 'UnsupportedError', 'OutOfMemoryError', 'InputError'];

let expected: Float32Array;
async function expectLaterLoadsWork(): Promise<void> {
  const embed = await pipeline('feature-extraction', tiny);
  const { data } = await embed('the old bridge');
  await embed.dispose();
  expected ??= data;
  expect(data).toEqual(expected);
}
beforeAll(expectLaterLoadsWork);

async function expectTyped(files: Files, what: string): Promise<void> {
  const error = await failure(load(files));
  if (!kKinds.includes(error.name)) throw new Error(`${what}: ${error.stack}`);
}

/** The smallest model there can be: one layer, hidden 4, five tokens. */
function smallest(): Files {
  const shapes: Record<string, number[]> = {
    'embeddings.word_embeddings.weight': [5, 4],
    'embeddings.position_embeddings.weight': [4, 4],
    'embeddings.token_type_embeddings.weight': [2, 4],
    'embeddings.LayerNorm.weight': [4],
    'embeddings.LayerNorm.bias': [4],
  };
  const layer = 'encoder.layer.0';
  for (const part of ['query', 'key', 'value']
    .map((name) => `attention.self.${name}`)
    .concat('attention.output.dense', 'intermediate.dense', 'output.dense')) {
    shapes[`${layer}.${part}.weight`] = [4, 4];
    shapes[`${layer}.${part}.bias`] = [4];
  }
  for (const norm of ['attention.output.LayerNorm', 'output.LayerNorm']) {
    shapes[`${layer}.${norm}.weight`] = [4];
    shapes[`${layer}.${norm}.bias`] = [4];
  }
  const tensors: Tensors = new Map(
    Object.entries(shapes).map(([name, shape], i) => [name, floats(shape, (j) => Math.sin(7 * i + j))]),
  );
  const config = edited('config.json', {
    vocab_size: 5, hidden_size: 4, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 4, max_position_embeddings: 4,
  }); // prettier-ignore
  const tokenizer = edited('tokenizer.json', {
    model: {
      type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 100,
      vocab: { '[PAD]': 0, '[UNK]': 1, '[CLS]': 2, '[SEP]': 3, '[MASK]': 4 },
    },
  }); // prettier-ignore
  const encode = (text: string) => new TextEncoder().encode(text);
  return new Map([
    ['config.json', encode(config)],
    ['tokenizer.json', encode(tokenizer)],
    ['model.safetensors', writeTensors(tensors)],
  ]);
}

describe('a safetensors file', () => {
  // Every prefix of every length is the parser's own test (tests/native/io), at a thousandth of the price.
  it('that is cut anywhere is an error: prefixes of the smallest model', async () => {
    const files = smallest();
    const whole = files.get('model.safetensors') as Uint8Array;
    const embed = await load(files);
    expect((await embed('the', { pooling: 'mean' })).dims).toEqual([1, 4]);
    await embed.dispose();
    const header = 8 + Number(new DataView(whole.buffer).getBigUint64(0, true));
    for (let length = 0; length < whole.length; ++length) {
      if (length > 64 && Math.abs(length - header) > 16 && length % 5 !== 0 && length < whole.length - 5) continue;
      files.set('model.safetensors', whole.slice(0, length));
      await expectTyped(files, `prefix of ${length} bytes`);
    }
    await expectLaterLoadsWork();
  });

  it('that is cut is an error: prefixes of the tiny model', async () => {
    const header = 8 + Number(new DataView(weights.buffer).getBigUint64(0, true));
    const lengths = [header - 1, header, header + 1, weights.length - 1];
    for (let length = 0; length < weights.length; length += 2999) lengths.push(length);
    for (const length of lengths) {
      await expectError(
        load(tinyFiles({ 'model.safetensors': weights.slice(0, length) })),
        'ModelFormatError',
        /model\.safetensors/,
      );
    }
    await expectLaterLoadsWork();
  });

  it('with any bit of its length flipped is an error', async () => {
    for (let bit = 0; bit < 64; ++bit) {
      const broken = weights.slice();
      broken[bit >> 3]! ^= 1 << (bit & 7);
      await expectTyped(tinyFiles({ 'model.safetensors': broken }), `bit ${bit} of the length`);
    }
    await expectLaterLoadsWork();
  });

  it('with bytes behind its end is an error', async () => {
    const longer = new Uint8Array(weights.length + 1);
    longer.set(weights);
    await expectError(load(tinyFiles({ 'model.safetensors': longer })), 'ModelFormatError', /model\.safetensors/);
  });

  it('with a wrong offset, dtype or shape in its header is an error', async () => {
    const length = Number(new DataView(weights.buffer).getBigUint64(0, true));
    const header = new TextDecoder().decode(weights.subarray(8, 8 + length));
    const changes: [RegExp, string][] = [
      [/"data_offsets":\[(\d+),(\d+)\]/, '"data_offsets":[$2,$1]'],
      [/"data_offsets":\[(\d+),(\d+)\]/, '"data_offsets":[$1,99999999999999]'],
      [/"data_offsets":\[(\d+),(\d+)\]/, '"data_offsets":[-1,$2]'],
      [/"dtype":"F32"/, '"dtype":"F99"'],
      [/"dtype":"F32"/, '"dtype":"I64"'],
      [/"shape":\[(\d+)/, '"shape":[4294967296'],
      [/"shape":\[/, '"shape":[0,'],
      [/\}$/, ''],
    ];
    for (const [pattern, by] of changes) {
      const text = header.trimEnd().replace(pattern, by);
      const json = new TextEncoder().encode(text);
      const broken = new Uint8Array(8 + json.length + weights.length - 8 - length);
      new DataView(broken.buffer).setBigUint64(0, BigInt(json.length), true);
      broken.set(json, 8);
      broken.set(weights.subarray(8 + length), 8 + json.length);
      await expectTyped(tinyFiles({ 'model.safetensors': broken }), `${pattern} by ${by}`);
    }
    await expectLaterLoadsWork();
  });

  it('with a missing, an extra or a misshapen tensor is an error that names it', async () => {
    const name = 'encoder.layer.1.output.dense.weight';
    const cases: [Uint8Array, RegExp][] = [
      [
        withoutTensors(weights, /^encoder\.layer\.1\.output\.dense\.weight$/),
        /expected tensor 'encoder\.layer\.1\.output\.dense\.weight'/,
      ],
      [
        changed(weights, (tensors) =>
          tensors.set(
            'encoder.extra',
            floats([2], () => 1),
          ),
        ),
        /tensor 'encoder\.extra' .*this architecture has no such tensor/,
      ],
      [
        changed(weights, (tensors) =>
          tensors.set(
            name,
            floats([64, 32], () => 1),
          ),
        ),
        /output\.dense\.weight': expected shape \[32, 64\], found \[64, 32\]/,
      ],
      [
        changed(weights, (tensors) => tensors.set(name, { ...tensors.get(name)!, dtype: 'I32' })),
        /expected F32, F16, BF16 or F64, found I32/,
      ],
    ];
    for (const [file, message] of cases) {
      const error = await failure(load(tinyFiles({ 'model.safetensors': file })));
      expect(`${error.name}: ${error.message}`).toMatch(message);
      expect(kKinds).toContain(error.name);
    }
    await expectLaterLoadsWork();
  });

  it('with NaN or infinity is an error that names the place', async () => {
    for (const [value, word] of [
      [NaN, 'NaN'],
      [Infinity, 'infinity'],
      [-Infinity, 'infinity'],
    ] as const) {
      // prettier-ignore
      const file = changed(weights, (tensors) => tensors.set('pooler.dense.weight', floats([32, 32], (i) => (i === 70 ? value : 0.5))));
      const message = new RegExp(`'pooler\\.dense\\.weight': expected finite numbers, found ${word} at row 2, column 6`);
      await expectError(load(tinyFiles({ 'model.safetensors': file })), 'ModelFormatError', message);
    }
    await expectLaterLoadsWork();
  });

  it('or an index of shards that names no such file, or a file elsewhere, is an error', async () => {
    const index = readJson('bert-tiny/model-sharded/model.safetensors.index.json');
    const withIndex = (shard: string) => {
      const map = Object.fromEntries(Object.keys(index.weight_map).map((name) => [name, shard]));
      return tinyFiles({
        'model.safetensors': null,
        'model.safetensors.index.json': JSON.stringify({ ...index, weight_map: map }),
      });
    };
    await expectError(load(withIndex('gone.safetensors')), 'ModelFormatError', /gone\.safetensors: expected this file/);
    await expectError(load(withIndex('../../secret.safetensors')), 'ModelFormatError', /model\.safetensors\.index\.json/);
    await expectError(load(withIndex('')), 'ModelFormatError', /model\.safetensors\.index\.json/);
  });
});

describe('config.json', () => {
  it('of an unknown architecture or with an unknown switch is an error that names it', async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ model_type: 'gizmo' }, /config\.json.*model_type.*gizmo/],
      [{ model_type: undefined, architectures: undefined }, /config\.json.*model_type/],
      [{ hidden_act: 'sparkle' }, /hidden_act.*sparkle/],
      [{ hidden_size: 0 }, /hidden_size/],
      [{ hidden_size: '32' }, /hidden_size.*'?32'?/],
      [{ num_attention_heads: 5 }, /num_attention_heads|hidden_size/],
      [{ num_hidden_layers: 1e9 }, /num_hidden_layers|memory/],
      [{ vocab_size: -1 }, /vocab_size/],
      [{ vocab_size: 1e12 }, /vocab_size|memory/],
      [{ position_embedding_type: 'relative_key' }, /position_embedding_type/],
    ];
    for (const [change, message] of cases) {
      const error = await failure(load(tinyFiles({ 'config.json': edited('config.json', change) })));
      expect(`${error.name}: ${error.message}`).toMatch(message);
      expect(kKinds).toContain(error.name);
    }
    await expectLaterLoadsWork();
  });
});

describe('JSON files', () => {
  const names = [
    'config.json',
    'tokenizer.json',
    'tokenizer_config.json',
    'modules.json',
    '1_Pooling/config.json',
    'sentence_bert_config.json',
  ];

  it('that are broken, empty, of another kind or HTML are errors that name them', async () => {
    for (const name of names) {
      const text = textOf(tinyFiles(), name);
      for (const broken of [
        '',
        '{',
        text.slice(0, -3),
        `${text} x`,
        '3',
        '"text"',
        'null\0',
        '[]]',
        '\ufffe',
        '<!DOCTYPE html><p>no</p>',
        ' <html>',
      ]) {
        const error = await failure(load(tinyFiles({ [name]: broken }))).catch(
          () => new Error(`${name} taken as ${broken.slice(0, 20)}`),
        );
        expect(`${error.name}: ${error.message}`).toContain(name);
        expect(kKinds).toContain(error.name);
      }
      await expectTyped(tinyFiles({ [name]: '['.repeat(100_000) }), `${name} nested deeply`);
      await expectTyped(tinyFiles({ [name]: new Uint8Array([0xff, 0xfe, 0x7b, 0]) }), `${name} in UTF-16`);
    }
    await expectLaterLoadsWork();
  });

  it('with stages that let a text grow without end are OutOfMemoryErrors, and other texts still work', async () => {
    const file = JSON.parse(textOf(tinyFiles(), 'tokenizer.json'));
    const grow = { type: 'Replace', pattern: { String: '#' }, content: '#'.repeat(2 ** 10) };
    const normalizer = { type: 'Sequence', normalizers: [file.normalizer, grow, grow, grow] };
    const decoder = { type: 'Sequence', decoders: [file.decoder, grow, grow, grow] };
    const files = {
      'tokenizer.json': JSON.stringify({ ...file, normalizer, decoder }),
      'tokenizer_config.json': edited('tokenizer_config.json', { tokenizer_class: 'PreTrainedTokenizerFast' }),
    };
    const { tokenizer } = await load(tinyFiles(files));
    const tooLong = await failure((async () => tokenizer.encode('a # b'))());
    expect(`${tooLong.name}: ${tooLong.message}`).toMatch(/OutOfMemoryError: text: .* at most 2\^26 characters/);
    expect(tokenizer.decode(tokenizer.encode('a small boat'), { skip_special_tokens: true })).toBe('a small boat');
  });

  it('with unknown parts of a tokenizer, a pooling or a module are errors that name them', async () => {
    const tokenizer = JSON.parse(textOf(tinyFiles(), 'tokenizer.json'));
    const cases: [string, string, RegExp][] = [
      ...['normalizer', 'pre_tokenizer', 'model', 'post_processor', 'decoder'].map((stage): [string, string, RegExp] => [
        'tokenizer.json',
        JSON.stringify({ ...tokenizer, [stage]: { ...tokenizer[stage], type: 'Sparkle' } }),
        new RegExp(`tokenizer\\.json.*${stage}.*Sparkle`),
      ]),
      [
        '1_Pooling/config.json',
        edited('1_Pooling/config.json', { pooling_mode: 'sparkle' }),
        /1_Pooling\/config\.json.*pooling_mode.*sparkle/,
      ],
      ['modules.json', textOf(tinyFiles(), 'modules.json').replace('.Normalize', '.Sparkle'), /modules\.json.*Sparkle/],
      [
        'modules.json',
        textOf(tinyFiles(), 'modules.json').replace('1_Pooling', '../1_Pooling'),
        /modules\.json: expected a path inside the model, found '\.\.\/1_Pooling'/,
      ],
    ];
    const anyTokenizer = edited('tokenizer_config.json', { tokenizer_class: 'PreTrainedTokenizerFast' }); // BertTokenizer's stages are its own
    for (const [name, text, message] of cases) {
      const error = await failure(load(tinyFiles({ 'tokenizer_config.json': anyTokenizer, [name]: text })));
      expect(`${error.name}: ${error.message}`).toMatch(message);
      expect(kKinds).toContain(error.name);
    }
    await expectLaterLoadsWork();
  });
});
