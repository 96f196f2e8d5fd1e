import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer, env, pipeline, type Tokenizer } from 'wattn';
import { edited, expectError, goldens, headFiles, root, textOf, tiny, tinyFiles } from './support.js';

const real = join(root, '../shared/data/tokenizers');
const kNames = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const;

async function using(model: string | Map<string, Uint8Array>, run: (tokenizer: Tokenizer) => unknown): Promise<void> {
  const tokenizer = await AutoTokenizer.from_pretrained(model);
  try {
    await run(tokenizer);
  } finally {
    await tokenizer.dispose();
  }
}

describe('vocabulary', () => {
  // The values are those of Python's transformers.
  it.each([
    ['bert-tiny/model', [null, null, 1, 3, 0, 2, 4], ['[UNK]', '[SEP]', '[PAD]', '[CLS]', '[MASK]'], 512],
    ['late-interaction/modernbert', [null, null, 1, 3, 4, 2, 4], ['[UNK]', '[SEP]', '[MASK]', '[CLS]'], 81],
    ['long/decoders/llama', [1, 2, null, null, null, null, null], ['<s>', '</s>'], 59],
    ['static/encoders/unigram', [0, 2, 3, null, 1, null, 4], ['<s>', '</s>', '<unk>', '<pad>', '<mask>'], 45],
    ['static/encoders/byte-bpe', [0, 2, 3, null, 1, null, 4], ['<s>', '</s>', '<unk>', '<pad>', '<mask>'], 330],
  ])('of %s is that of the reference', (path, ids, all, size) =>
    using(join(goldens, path), (tokenizer) => {
      expect(kNames.map((name) => tokenizer[`${name}_id`])).toEqual(ids);
      expect(tokenizer.all_special_tokens).toEqual(all);
      expect(tokenizer.all_special_ids).toEqual(tokenizer.convert_tokens_to_ids(all));
      const vocab = tokenizer.get_vocab();
      expect([vocab.size, tokenizer.vocab_size]).toEqual([size, size]);
      const tokens = [...vocab.keys()];
      expect(tokenizer.convert_tokens_to_ids(tokens)).toEqual([...vocab.values()]);
      expect(tokenizer.convert_ids_to_tokens([...vocab.values()])).toEqual(tokens);
      const named = kNames.map((_, i) => (ids[i] === null ? null : tokenizer.convert_ids_to_tokens([ids[i] as number])[0]));
      expect(kNames.map((name) => tokenizer[name])).toEqual(named);
      expect(tokenizer.convert_tokens_to_ids('no such token')).toBe(tokenizer.unk_token_id);
      expect(tokenizer.convert_tokens_to_ids([])).toEqual([]);
    }),
  );

  const kReal = ['bert-base-uncased', 'roberta-base', 't5-small', 'llama2-repaired', 'phi-2'];
  const found = kReal.filter((name) => existsSync(join(real, name, 'tokenizer.json')));
  if (found.length === 0) console.warn(`skipped: no real tokenizers in ${real}`);
  (found.length > 0 ? it.each(found) : it.skip.each(kReal))('of %s is that of its tokenizer.json', (name) =>
    using(join(real, name), (tokenizer) => {
      const { model, added_tokens } = JSON.parse(readFileSync(join(real, name, 'tokenizer.json'), 'utf8'));
      const pieces: [string, number][] = Array.isArray(model.vocab)
        ? model.vocab.map(([text]: [string], id: number) => [text, id])
        : Object.entries(model.vocab);
      const vocab = new Map([...pieces, ...added_tokens.map(({ content, id }: any) => [content, id])]);
      const own = tokenizer.get_vocab();
      expect(own.size).toBe(vocab.size);
      expect([...own].filter(([token, id]) => vocab.get(token) !== id)).toEqual([]);
    }),
  );

  // Python has these names in its classes, which it chooses by config.json.
  it.each([
    ['bert-base-uncased', [null, null, '[UNK]', '[SEP]', '[PAD]', '[CLS]', '[MASK]']],
    ['roberta-base', ['<s>', '</s>', '<unk>', '</s>', '<pad>', '<s>', '<mask>']],
    ['gpt2', ['<|endoftext|>', '<|endoftext|>', '<|endoftext|>', null, null, null, null]],
  ])('of %s, whose files name no special tokens, has the usual names', async (name, tokens) => {
    if (!existsSync(join(real, name))) return console.warn(`skipped: no ${name} in ${real}`);
    await using(join(real, name), (tokenizer) => expect(kNames.map((each) => tokenizer[each])).toEqual(tokens));
  });

  it('is in the pipeline of every task, but not across a worker', async () => {
    for (const task of ['feature-extraction', 'fill-mask'] as const) {
      const pipe = await pipeline(task, headFiles('masked_lm'));
      expect([pipe.tokenizer.mask_token, pipe.tokenizer.mask_token_id]).toEqual(['[MASK]', 4]);
      expect(pipe.tokenizer.encode('the boat')).toHaveLength(4);
      expect(pipe.tokenizer).toBe(pipe.tokenizer);
      await pipe.dispose();
      await expectError(() => pipe.tokenizer.encode('the'), 'StateError');
    }
    const remote = await pipeline('fill-mask', headFiles('masked_lm'), { worker: true });
    await expectError(() => remote.tokenizer, 'UnsupportedError', /AutoTokenizer\.from_pretrained/);
    await remote.dispose();
  });

  it('gives fill-mask the mask that the files name', async () => {
    const files = headFiles('masked_lm');
    files.set('tokenizer.json', new TextEncoder().encode(textOf(files, 'tokenizer.json').replaceAll('[MASK]', '<mask>')));
    files.set(
      'tokenizer_config.json',
      new TextEncoder().encode('{"tokenizer_class":"PreTrainedTokenizerFast","mask_token":"<mask>"}'),
    );
    const fill = await pipeline('fill-mask', files);
    expect(await fill('the <mask>', { top_k: 2 })).toHaveLength(2);
    await fill.dispose();
  });

  it('of the model in the package is complete', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained();
    expect(tokenizer.all_special_tokens).toEqual(['[UNK]', '[SEP]', '[PAD]', '[CLS]', '[MASK]']);
    expect(tokenizer.get_vocab().size).toBe(tokenizer.vocab_size);
    await tokenizer.dispose();
  });

  it('with env.compat, pads with the end token where there is none for padding', () =>
    using(join(goldens, 'long/decoders/llama'), async (tokenizer) => {
      await expectError(() => tokenizer(['a', 'a b'], { padding: true }), 'InputError', /no padding token/);
      env.compat = true;
      try {
        expect([tokenizer.pad_token, tokenizer.pad_token_id]).toEqual(['</s>', 2]);
        expect(Number(tokenizer(['a', 'a b'], { padding: true }).input_ids.get(0).tolist().at(-1))).toBe(2);
      } finally {
        env.compat = false;
      }
      expect(tokenizer.pad_token_id).toBe(null);
      tokenizer.pad_token_id = 1;
      expect(tokenizer.pad_token).toBe('<s>');
      await expectError(() => void (tokenizer.pad_token_id = 1e6), 'InputError', /expected a token .* found 1000000/);
    }));

  it('has the special tokens without a name, once each', async () => {
    const config = { extra_special_tokens: ['the', { content: 'a' }, '[SEP]'] };
    await using(tinyFiles({ 'tokenizer_config.json': edited('tokenizer_config.json', config) }), (tokenizer) =>
      expect(tokenizer.all_special_tokens).toEqual(['[UNK]', '[SEP]', '[PAD]', '[CLS]', '[MASK]', 'the', 'a']),
    );
  });

  it('takes another special token of the vocabulary', () =>
    using(tiny, async (tokenizer) => {
      tokenizer.pad_token = tokenizer.mask_token;
      expect([tokenizer.pad_token, tokenizer.pad_token_id]).toEqual(['[MASK]', 4]);
      expect(tokenizer(['the', 'a boat'], { padding: true }).input_ids.get(0).tolist()).toEqual([2, 158, 3, 4]);
      tokenizer.eos_token = '[SEP]';
      expect(tokenizer.all_special_tokens).toEqual(['[SEP]', '[UNK]', '[MASK]', '[CLS]']);
      tokenizer.eos_token = null;
      expect(tokenizer.eos_token_id).toBe(null);
      await expectError(() => void (tokenizer.pad_token = 'no such token'), 'InputError', /tokenizer\.pad_token: expected a token/);
      await expectError(() => void (tokenizer.pad_token = 7 as any), 'InputError', /tokenizer\.pad_token: expected a token/);
      expect(tokenizer.pad_token).toBe('[MASK]');
      await expectError(() => tokenizer.convert_tokens_to_ids(7 as any), 'InputError', /convert_tokens_to_ids: expected/);
    }));

  it('pads on the side that the call names, else on its own', () =>
    using(tiny, async (tokenizer) => {
      const first = (options: object) =>
        tokenizer(['the', 'a boat'], { padding: true, ...options })
          .input_ids.get(0)
          .tolist();
      const [left, right] = [[0, 2, 158, 3], [2, 158, 3, 0]]; // prettier-ignore
      expect([tokenizer.padding_side, first({}), first({ padding_side: 'left' })]).toEqual(['right', right, left]);
      tokenizer.padding_side = 'left';
      expect([first({}), first({ padding_side: undefined }), first({ padding_side: 'right' })]).toEqual([left, left, right]);
      await expectError(() => tokenizer('the', { padding_side: 'top' as any }), 'InputError', /padding_side/);
      await expectError(() => void (tokenizer.padding_side = 'top' as any), 'InputError', /padding_side/);
      expect(tokenizer.padding_side).toBe('left');
    }));
});
