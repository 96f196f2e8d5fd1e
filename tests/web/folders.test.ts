// Random folders of tokenizer files, against transformers' AutoTokenizer (tests/goldens/folders): equal results, or an error that names the
// reason.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { AutoTokenizer, env } from 'wattn/tokenizer';
import { differences } from './folder_answers.mjs';
import { goldens, root } from './support.js';

type Files = { [name: string]: Uint8Array };
const { blobs, folders } = JSON.parse(gunzipSync(readFileSync(join(goldens, 'folders/folders.json.gz'))).toString());
const bytes = (blobs as string[]).map((blob) => new Uint8Array(Buffer.from(blob, 'base64')));
const filesOf = (row: any): Files =>
  Object.fromEntries(Object.entries<number>(row.files).map(([name, i]) => [name, bytes[i] as Uint8Array]));
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const shown = (files: Files) =>
  Object.fromEntries(Object.entries(files).map(([name, data]) => [name, new TextDecoder().decode(data)]));

describe('a folder of files', () => {
  let read = 0;
  for (const row of folders.filter(({ answer }: any) => !answer.error)) {
    it(`that a generator made (${row.seed}) is read as Python reads it, or refused by name`, async () => {
      const files = filesOf(row);
      let tokenizer;
      try {
        tokenizer = await AutoTokenizer.from_pretrained(files);
      } catch (error) {
        expect((error as Error).name).toMatch(/^(Unsupported|ModelFormat)Error$/);
        return;
      }
      ++read;
      expect(differences(tokenizer, { ...row, files: shown(files) })).toEqual([]);
      await tokenizer.dispose();
    });
  }

  it('is refused in few cases', () => expect(read).toBeGreaterThan(0.7 * folders.length));

  it('says which files decided what', async () => {
    const row = folders.find(({ files, answer }: any) => files['sentencepiece.bpe.model'] !== undefined && !answer.error);
    const model = bytes[row.files['sentencepiece.bpe.model']] as Uint8Array;
    const files = {
      'sentencepiece.bpe.model': model,
      'config.json': json({ model_type: 'xlm-roberta' }),
      'added_tokens.json': json({}),
    };
    const tokenizer = await AutoTokenizer.from_pretrained(files);
    expect(tokenizer.info()).toEqual({
      tokenizer_class: 'XLMRobertaTokenizer',
      class_from: 'config.json: model_type',
      vocabulary: 'sentencepiece.bpe.model',
      rules: 'class',
      added_tokens: [],
    });
    await tokenizer.dispose();
  });

  it.each([
    ['BertJapaneseTokenizer', /"BertJapaneseTokenizer" is not supported/],
    ['PhobertTokenizer', /"PhobertTokenizer" is not supported/],
    ['OwnTokenizer', /"OwnTokenizer" is not supported: without a tokenizer.json, wattn reads only classes that it knows/],
  ])('of the class %s is refused by its name', async (tokenizer_class, message) => {
    const files = {
      'vocab.txt': new TextEncoder().encode('[UNK]\n[CLS]\n[SEP]\na\n'),
      'tokenizer_config.json': json({ tokenizer_class }),
    };
    await expect(AutoTokenizer.from_pretrained(files)).rejects.toThrow(message);
  });

  it('has its added tokens at the ids that the files give them, or is refused', async () => {
    const vocab = {
      'vocab.txt': new TextEncoder().encode('[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n'),
      'config.json': json({ model_type: 'bert' }),
    };
    const tokenizer = await AutoTokenizer.from_pretrained({ ...vocab, 'added_tokens.json': json({ '[x]': 6 }) });
    expect(tokenizer.encode('a [x]')).toEqual([2, 5, 6, 3]);
    const saved = await tokenizer.save_pretrained();
    const again = await AutoTokenizer.from_pretrained(saved);
    expect(again.encode('a [x]')).toEqual([2, 5, 6, 3]);
    await tokenizer.dispose();
    await again.dispose();
    await expect(AutoTokenizer.from_pretrained({ ...vocab, 'added_tokens.json': json({ '[x]': 9 }) })).rejects.toThrow(
      'added_tokens.json: expected the id 6 for the added token "[x]" (the id that it gets), found 9',
    );
  });

  it('is left to the full WebAssembly unless one file says all', async () => {
    const text = (lines: string[]) => new TextEncoder().encode(lines.join('\n'));
    const bert = {
      'vocab.txt': text(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a']),
      'config.json': json({ model_type: 'bert' }),
    };
    env.wasm = { binary: readFileSync(join(root, 'dist/wattn-tokenizer.wasm')) };
    try {
      const tokenizer = await AutoTokenizer.from_pretrained(bert);
      expect(tokenizer.encode('A [x]')).toEqual([2, 5, 1, 1, 1, 3]);
      expect(tokenizer.info()).toEqual({
        tokenizer_class: 'BertTokenizer',
        class_from: 'config.json: model_type',
        vocabulary: 'vocab.txt',
        rules: 'class',
        added_tokens: [],
      });
      await tokenizer.dispose();
      const others: Files[] = [
        { 'added_tokens.json': json({ '[x]': 6 }) },
        { 'special_tokens_map.json': json({ additional_special_tokens: ['[x]'] }) },
        { 'tokenizer_config.json': json({ tokenizer_class: 'DPRReaderTokenizer' }) },
      ];
      for (const more of others) {
        const files = { ...bert, ...more };
        await expect(AutoTokenizer.from_pretrained(files)).rejects.toThrow(
          /expected wattn-full-simd\.wasm or wattn-full-relaxed\.wasm/,
        );
      }
    } finally {
      env.wasm = {};
    }
    const tokenizer = await AutoTokenizer.from_pretrained({ ...bert, 'added_tokens.json': json({ '[x]': 6 }) });
    expect(tokenizer.encode('A [x]')).toEqual([2, 5, 6, 3]);
    await tokenizer.dispose();
  });
});
