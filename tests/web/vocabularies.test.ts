import { AutoTokenizer } from 'wattn';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectError, filesOf, goldens, readJson, root } from './support.js';

// The fuzzer's seeds begin with a byte that says what they are.
const seed = (name: string) => new Uint8Array(readFileSync(join(root, 'tests/fuzz/seeds/tokenizer_fuzz', name)).subarray(1));
const encode = (text: string) => new TextEncoder().encode(text);

async function tokensOf(files: any, text: string): Promise<string[]> {
  const tokenizer = await AutoTokenizer.from_pretrained(files);
  const tokens = tokenizer.tokenize(text, { add_special_tokens: true });
  tokenizer.dispose();
  return tokens;
}

describe('AutoTokenizer.from_pretrained', () => {
  it('takes the vocabularies of before tokenizer.json', async () => {
    expect(await tokensOf({ 'vocab.txt': seed('vocab_txt') }, 'ab')).toEqual(['[CLS]', 'a', '##b', '[SEP]']);
    const byteLevel = { 'vocab.json': encode('{"h": 0, "i": 1, "hi": 2, "Ġ": 3}'), 'merges.txt': encode('#version: 0.2\nh i\n') };
    expect(await tokensOf(byteLevel, 'hi h')).toEqual(['hi', 'Ġ', 'h']);
    const pieces = { 'spiece.model': seed('sentencepiece') };
    await expectError(tokensOf(pieces, 'a'), 'UnsupportedError', /spiece\.model: expected a tokenizer_class/);
    const ofT5 = { ...pieces, 'config.json': encode('{"model_type": "t5"}') };
    expect(await tokensOf(ofT5, '  a  ab ')).toEqual(['▁a', '▁a', 'b', '</s>']);
    const ofLlama = (settings: object) => ({
      'tokenizer.model': seed('sentencepiece'),
      'tokenizer_config.json': encode(JSON.stringify({ tokenizer_class: 'LlamaTokenizer', ...settings })),
    });
    expect(await tokensOf(ofLlama({ add_bos_token: true }), 'a')).toEqual(['<s>', '▁a']);
    expect(await tokensOf(ofLlama({ add_eos_token: false }), 'a')).toEqual(['▁a']); // Python adds none unless it is told to
  });

  it("reads DeBERTa's spm.model", async () => {
    const { texts, rows } = readJson('variants/deberta-tokenizer/cases.json');
    for (const { settings, ids } of rows) {
      const files = filesOf(join(goldens, 'variants/deberta-tokenizer'));
      files.set('tokenizer_config.json', encode(JSON.stringify({ tokenizer_class: 'DebertaV2Tokenizer', ...settings })));
      const tokenizer = await AutoTokenizer.from_pretrained(files);
      expect(texts.map((text: string) => tokenizer.encode(text))).toEqual(ids);
      tokenizer.dispose();
    }
  });

  it('reads the files of an OPUS-MT repository, as a folder and as bytes', async () => {
    const folder = join(goldens, 'marian-tokenizer');
    for (const model of [folder, filesOf(folder)]) {
      const tokenizer = await AutoTokenizer.from_pretrained(model);
      for (const { text, ids, decoded, plain } of readJson('marian-tokenizer/cases.json')) {
        expect(tokenizer.decode(ids, { skip_special_tokens: true })).toBe(decoded);
        if (text === undefined) continue;
        expect(tokenizer.encode(text)).toEqual(ids);
        expect(tokenizer.encode(text, { add_special_tokens: false })).toEqual(plain);
      }
      tokenizer.dispose();
    }
    const files = filesOf(folder);
    files.set('tokenizer_config.json', encode('{"separate_vocabs": true}'));
    await expectError(AutoTokenizer.from_pretrained(files), 'UnsupportedError', /separate_vocabs: expected one vocabulary/);
  });

  it('reads the files of an M2M-100 repository, as a folder and as bytes', async () => {
    const folder = join(goldens, 'm2m-100-tokenizer/bpe');
    const [{ cases, pair }] = readJson('m2m-100-tokenizer/bpe/cases.json');
    for (const files of [folder, filesOf(folder)]) {
      const tokenizer = await AutoTokenizer.from_pretrained(files);
      for (const { text, ids, decoded, shown } of cases) {
        expect(tokenizer.encode(text)).toEqual(ids);
        expect(tokenizer.decode(ids, { skip_special_tokens: true })).toBe(decoded);
        expect(tokenizer.decode(ids)).toBe(shown);
      }
      expect(tokenizer(cases[0].text, { text_pair: cases[8].text, return_tensor: false }).input_ids).toEqual(pair);
      tokenizer.dispose();
    }
  });

  it('reads the tokenizer inside a GGUF file, and no more of it than its metadata', async () => {
    const metadata = seed('gguf_gpt2');
    expect(await tokensOf({ 'm.gguf': metadata }, 'hih')).toEqual(['hi', 'h']);
    const path = join(mkdtempSync(join(tmpdir(), 'wattn-')), 'm.gguf');
    const weights = new Uint8Array(9 << 20);
    weights.set(metadata);
    writeFileSync(path, weights);
    expect(await tokensOf(path, 'hih')).toEqual(['hi', 'h']);
    writeFileSync(path, metadata.subarray(0, 100));
    await expectError(AutoTokenizer.from_pretrained(path), 'ModelFormatError', /GGUF: expected complete metadata/);
    await expectError(AutoTokenizer.from_pretrained('m.gguf'), 'InputError', /expected a path/);
  });

  it('names all that it looked for', async () => {
    await expectError(
      AutoTokenizer.from_pretrained({ 'config.json': encode('{}') }),
      'ModelFormatError',
      /tokenizer\.json: .*vocab\.json with merges\.txt or vocab\.json with source\.spm or vocab\.txt or spiece\.model/,
    );
  });
});
