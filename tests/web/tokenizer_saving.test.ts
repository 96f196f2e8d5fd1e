// save_pretrained, add_tokens and add_special_tokens, and the tokenizers of GGUF files. Python's answers are those of transformers 5.3.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as jinja from '@huggingface/jinja';
import { AutoTokenizer, env, packModel, pipeline, type Tokenizer } from 'wattn';
import { edited, expectError, filesOf, goldens, textOf, tiny, tinyFiles } from './support.js';

type Model = Parameters<typeof AutoTokenizer.from_pretrained>[0];
async function using(model: Model, run: (tokenizer: Tokenizer) => unknown): Promise<void> {
  const tokenizer = await AutoTokenizer.from_pretrained(model);
  try {
    await run(tokenizer);
  } finally {
    await tokenizer.dispose();
  }
}

const kText = 'An MRI of ECGs,  new one<a> ';
const added = [
  ['bert-tiny/model', '##a', [96, 25, 513, 109, 18, 512, 113, 69, 514, 516, 13, 113]],
  ['static/encoders/unigram', 've', [5, 3, 10, 5, 46, 5, 11, 3, 5, 45, 36, 3, 47, 49, 5, 19, 36]],
  ['static/encoders/byte-bpe', 'Ġs', [37, 82, 225, 331, 225, 83, 74, 225, 330, 87, 16, 332, 334, 225, 261, 87]],
] as const;

describe('tokens that are added', () => {
  it.each(added)('to %s have the ids of the reference, also after saving', (path, known, ids) =>
    using(join(goldens, path), async (tokenizer) => {
      const size = tokenizer.vocab_size;
      expect(tokenizer.get_vocab().size).toBe(size); // so that what is known before is not what counts
      expect(tokenizer.add_tokens(['ECG', 'MRI', 'ECG'])).toBe(2);
      expect(tokenizer.add_tokens('MRI')).toBe(0);
      expect(tokenizer.add_tokens([known])).toBe(1); // a token that was not an added one
      expect(tokenizer.add_tokens({ content: 'new one', lstrip: true, single_word: true })).toBe(1);
      expect(tokenizer.add_special_tokens({ pad_token: '<fill>' })).toBe(1);
      expect(tokenizer.add_special_tokens({ eos_token: 'ECG', extra_special_tokens: ['<a>', '<b>'] })).toBe(3);
      const check = (one: Tokenizer) => {
        expect([one.vocab_size, one.get_vocab().size]).toEqual([size + 6, size + 6]);
        expect(one.encode(`${kText}${known}s`, { add_special_tokens: false })).toEqual(ids);
        expect([one.pad_token, one.pad_token_id, one.eos_token, one.eos_token_id]).toEqual(['<fill>', size + 3, 'ECG', size]);
        expect(one.all_special_tokens.slice(-2)).toEqual(['<a>', '<b>']);
        expect(one.decode([size, size + 1, size + 4, size + 5], { skip_special_tokens: true }).trim()).toMatch(/^MRI$/i);
      };
      check(tokenizer);
      await using(await tokenizer.save_pretrained(), check);
    }),
  );

  it('have their own texts in the vocabulary, though the normalizer changes them (tokenizers 0.23.3)', () => {
    const words = ['[UNK]', 'a', 'scan', 'mri', '##s', 'the', '[PAD]'];
    const file = {
      added_tokens: [],
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: null,
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model: {
        type: 'WordPiece',
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      },
    };
    const files = { 'tokenizer.json': file, 'tokenizer_config.json': { unk_token: '[UNK]', pad_token: '[PAD]' } };
    const bytes = Object.entries(files).map(([name, json]) => [name, new TextEncoder().encode(JSON.stringify(json))] as const);
    return using(new Map(bytes), async (tokenizer) => {
      expect(tokenizer.convert_tokens_to_ids('MRI')).toBe(0); // and so the vocabulary is known before
      expect(tokenizer.add_tokens(['MRI', 'NaCl ', '\u00dcn\u00ef', ' Deep Sea', '[NEW]'])).toBe(5);
      expect(tokenizer.add_tokens([{ content: '<X>', special: true, normalized: false }, 'the'])).toBe(2);
      const check = (one: Tokenizer) => {
        const asked = [
          'MRI',
          'mri',
          'NaCl ',
          'nacl',
          'nacl ',
          '\u00dcn\u00ef',
          'uni',
          ' Deep Sea',
          ' deep sea',
          '<X>',
          'the',
          'THE',
          'zzz',
        ];
        expect(one.convert_tokens_to_ids(asked)).toEqual([7, 3, 8, 0, 0, 9, 0, 10, 0, 12, 5, 0, 0]);
        const all = [...words, 'MRI', 'NaCl ', '\u00dcn\u00ef', ' Deep Sea', '[NEW]', '<X>'];
        expect(one.get_vocab()).toEqual(new Map(all.map((word, id) => [word, id])));
        const shown = [...words, 'mri', 'nacl ', 'uni', ' deep sea', '[new]', '<X>'];
        expect(one.convert_ids_to_tokens([...all.keys()])).toEqual(shown);
        expect([...all.keys()].map((id) => one.decode([id]))).toEqual(shown);
        expect(one.encode('the MRI scans deep sea Uni')).toEqual([5, 7, 2, 4, 10, 9]);
        expect(one.tokenize('the MRI mri scans NACL Uni uni  Deep Sea')).toEqual([
          'the',
          'mri',
          'mri',
          'scan',
          '##s',
          'nacl ',
          'uni',
          'uni',
          ' deep sea',
        ]);
        expect(one.convert_tokens_to_string(['MRI', 'scan', '##s', 'mri', ' Deep Sea'])).toBe('mri scans mri  deep sea');
      };
      check(tokenizer);
      await using(await tokenizer.save_pretrained(), check);
    });
  });

  it('are refused where they cannot be', async () => {
    const pipe = await pipeline('feature-extraction', tiny);
    expect(() => pipe.tokenizer.add_tokens('ECG')).toThrow(/belongs to a loaded model/);
    await pipe.dispose();
    await using(tiny, async (tokenizer) => {
      expect(() => tokenizer.add_tokens([1 as never])).toThrow(/expected a string or \{ content, \.\. \} as each token, found 1/);
      expect(() => tokenizer.add_tokens([{ content: 'a', stripped: true } as never])).toThrow(/unknown option 'stripped'/);
      expect(() => tokenizer.add_special_tokens({ end_token: 'a' } as never)).toThrow(/unknown option 'end_token'/);
      expect(() => tokenizer.add_special_tokens({ extra_special_tokens: 'a' as never })).toThrow(/expected an array/);
      expect(tokenizer.vocab_size).toBe(512);
    });
    const vocab = Object.entries(JSON.parse(textOf(tinyFiles(), 'tokenizer.json')).model.vocab as Record<string, number>);
    const lines = vocab.sort(([, a], [, b]) => a - b).map(([token]) => token);
    await using(tinyFiles({ 'tokenizer.json': null, 'vocab.txt': lines.join('\n') }), async (tokenizer) => {
      await expectError(() => tokenizer.add_tokens('ECG'), 'UnsupportedError', /expected a tokenizer with tokenizer\.json, found one with vocab\.txt/); // prettier-ignore
      expect(Object.keys(await tokenizer.save_pretrained())).toEqual(['vocab.txt', 'tokenizer_config.json']);
    });
  });

  it('are in what a trained tokenizer saves', async () => {
    const own = await AutoTokenizer.train(['a boat', 'two boats'], { model: 'word' });
    own.add_tokens('ship');
    expect(own.toJSON().added_tokens.at(-1)).toMatchObject({ content: 'ship', special: false });
    await own.dispose();
  });
});

describe('save_pretrained', () => {
  it('writes a folder with what the program set', () =>
    using(tiny, async (tokenizer) => {
      const folder = join(mkdtempSync(join(tmpdir(), 'wattn-save-')), 'deep/folder');
      try {
        tokenizer.pad_token = tokenizer.mask_token;
        tokenizer.padding_side = 'left';
        tokenizer.chat_template = 'Hello {{ messages[0].content }}';
        const files = await tokenizer.save_pretrained(folder);
        expect(readdirSync(folder).sort()).toEqual(['chat_template.jinja', 'tokenizer.json', 'tokenizer_config.json']);
        for (const [name, bytes] of Object.entries(files)) expect(new Uint8Array(readFileSync(join(folder, name)))).toEqual(bytes);
        expect(files['tokenizer.json']).toEqual(new Uint8Array(readFileSync(join(tiny, 'tokenizer.json'))));
        const config = JSON.parse(readFileSync(join(folder, 'tokenizer_config.json'), 'utf8'));
        expect(config).toMatchObject({ pad_token: '[MASK]', padding_side: 'left' });
        expect(config).not.toHaveProperty('chat_template');
        await using(folder, (again) => {
          expect([again.pad_token, again.padding_side]).toEqual(['[MASK]', 'left']);
          expect(again.encode('two old boats')).toEqual(tokenizer.encode('two old boats'));
        });
        writeFileSync(join(folder, 'file'), '');
        await expectError(tokenizer.save_pretrained(join(folder, 'file')), 'InputError', /cannot write into .*: EEXIST/);
        await expectError(tokenizer.save_pretrained(1 as never), 'InputError', /expected the path of a folder, or none, found 1/);
      } finally {
        rmSync(join(folder, '../..'), { recursive: true });
      }
    }));

  it('keeps several templates by their names, and the tokens of its configuration', () => {
    const chat_template = [
      { name: 'default', template: 'a' },
      { name: 'tool_use', template: 'b' },
    ];
    const pad_token = { content: '[MASK]', lstrip: true };
    const files = tinyFiles({ 'tokenizer_config.json': edited('tokenizer_config.json', { chat_template, pad_token }) });
    return using(files, async (tokenizer) => {
      const saved = new Map(Object.entries(await tokenizer.save_pretrained()));
      expect(JSON.parse(textOf(saved, 'tokenizer_config.json'))).toMatchObject({ chat_template, pad_token });
      tokenizer.chat_template = null;
      const without = new Map(Object.entries(await tokenizer.save_pretrained()));
      expect(JSON.parse(textOf(without, 'tokenizer_config.json'))).not.toHaveProperty('chat_template');
    });
  });

  it('gives the tokenizer of a pipeline, too, without its weights', async () => {
    const pipe = await pipeline('feature-extraction');
    const files = await pipe.tokenizer.save_pretrained();
    expect(Object.keys(files)).toEqual(['vocab.txt', 'tokenizer_config.json']);
    await using(files, (tokenizer) => expect(tokenizer.encode('the river')).toEqual(pipe.tokenizer.encode('the river')));
    await pipe.dispose();
  });
});

/** A GGUF file with more metadata: texts, or ids. */
function withMetadata(bytes: Uint8Array, more: Record<string, string | number>): Uint8Array {
  const whole = (value: number, size: number) => {
    const out = Buffer.alloc(size);
    out.writeUInt32LE(value);
    return out;
  };
  const text = (value: string) => Buffer.concat([whole(Buffer.byteLength(value), 8), Buffer.from(value)]);
  const parts = Object.entries(more).flatMap(([key, value]) => [
    text(key),
    ...(typeof value === 'string' ? [whole(8, 4), text(value)] : [whole(4, 4), whole(value, 4)]),
  ]);
  const head = Buffer.from(bytes.slice(0, 24));
  head.writeUInt32LE(head.readUInt32LE(16) + Object.keys(more).length, 16);
  return new Uint8Array(Buffer.concat([head, ...parts, bytes.slice(24)]));
}

describe('a GGUF file', () => {
  it.each(['bert-tiny/model', 'decoders/gpt2', 'static/encoders/unigram'])('made of %s has its whole tokenizer', async (path) => {
    const files = filesOf(join(goldens, path));
    const packed = { 'model.gguf': await packModel(files) };
    await using(packed, (tokenizer) =>
      using(files, async (own) => {
        for (const name of ['all_special_tokens', 'all_special_ids', 'padding_side', 'chat_template', 'vocab_size'] as const)
          expect([name, tokenizer[name]]).toEqual([name, own[name]]);
        const json = (saved: Record<string, Uint8Array>) => JSON.parse(textOf(new Map(Object.entries(saved)), 'tokenizer.json'));
        const [found, expected] = [json(await tokenizer.save_pretrained()), json(await own.save_pretrained())];
        expect(found.model.vocab).toEqual(expected.model.vocab);
        expect(tokenizer.add_tokens('ECG')).toBe(1);
        expect(tokenizer.encode('ECG', { add_special_tokens: false })).toEqual([own.vocab_size]);
      }),
    );
  });

  it('of llama.cpp has its special tokens and its chat template, alone and in a pipeline', async () => {
    const file = readFileSync(join(goldens, 'gguf-decoders/llama.gguf'));
    const chat_template = '{{ bos_token }}{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}';
    const ids = { bos: 5, padding: 7, unknown: 0 };
    const keys = Object.fromEntries(Object.entries(ids).map(([name, id]) => [`tokenizer.ggml.${name}_token_id`, id]));
    const changed = { 'model.gguf': withMetadata(file, { ...keys, 'tokenizer.chat_template': chat_template }) };
    env.jinja = jinja;
    const pipe = await pipeline('text-generation', changed);
    await using(changed, async (tokenizer) => {
      for (const each of [tokenizer, pipe.tokenizer]) {
        expect([each.bos_token_id, each.pad_token_id, each.unk_token_id, each.mask_token]).toEqual([5, 7, 0, null]);
        const [bos, eos] = each.convert_ids_to_tokens([5, each.eos_token_id as number]);
        expect(each.apply_chat_template([{ role: 'user', content: 'a' }], { tokenize: false })).toBe(`${bos}a${eos}`);
        expect(each.chat_template).toBe(chat_template);
      }
      await expectError(tokenizer.save_pretrained(), 'UnsupportedError', /is only in its \.gguf file/);
    });
    await pipe.dispose();
  });
});
