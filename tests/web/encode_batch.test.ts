// encode_batch: many texts on this thread and in workers, with the ids of encode.
import { AutoTokenizer, pipeline, type Tokenizer } from 'wattn';
import * as inline from 'wattn/inline';
import * as small from 'wattn/tokenizer';
import { join } from 'node:path';
import { expectError, goldens, tiny } from './support.js';

const kTexts = [
  '',
  'the old boat',
  'an unknown \ud800 half, 東京 and \u{1f600}',
  ...Array.from({ length: 500 }, (_, i) => `boat ${i} `.repeat(i % 40)),
  'river '.repeat(100_000), // longer than a job
  'the end',
];

describe('encode_batch', () => {
  let tokenizer: Tokenizer;
  let expected: number[][];
  beforeAll(async () => {
    tokenizer = await AutoTokenizer.from_pretrained(tiny);
    expected = kTexts.map((text) => tokenizer.encode(text));
  });
  afterAll(() => tokenizer.dispose());

  const listsOf = (rows: readonly Int32Array[]) => rows.map((row) => [...row]);

  it.each([undefined, false, true, 2, 3])('has the ids of encode, in order: worker %s', async (worker) => {
    const options = worker === undefined ? {} : { worker };
    expect(listsOf(await tokenizer.encode_batch(kTexts, options))).toEqual(expected);
    expect(await tokenizer.encode_batch([], options)).toEqual([]);
  });

  it.each([false, 2])('takes pairs and what encode takes: worker %s', async (worker) => {
    const pairs = kTexts.map((_, i) => `a boat ${i}`);
    const some = { add_special_tokens: false, truncation: 'only_first', max_length: 30 } as const;
    const rows = await tokenizer.encode_batch(kTexts, { ...some, text_pair: pairs, worker });
    expect(listsOf(rows)).toEqual(kTexts.map((text, i) => tokenizer.encode(text, { ...some, text_pair: pairs[i] as string })));
  });

  it('works in the package with everything inside', async () => {
    const own = await inline.AutoTokenizer.from_pretrained(join(goldens, 'decoders/llama'));
    const texts = ['the old boat', 'on the river'];
    const rows = await own.encode_batch(texts, { worker: 2 });
    expect(listsOf(rows)).toEqual(texts.map((text) => own.encode(text)));
    await own.dispose();
  });

  it('knows tokens that were added after the workers began', async () => {
    const own = await AutoTokenizer.from_pretrained(tiny);
    const [before] = await own.encode_batch(['a <boat>'], { worker: 2 });
    own.add_tokens(['<boat>']);
    const [after] = await own.encode_batch(['a <boat>'], { worker: 2 });
    expect([...(after as Int32Array)]).toEqual(own.encode('a <boat>'));
    expect(after!.length).toBeLessThan(before!.length);
    await own.dispose();
  });

  it('leaves time for other things on this thread, and ends when the signal says so', async () => {
    const long = Array.from({ length: 400 }, () => 'the old boat on the river '.repeat(1000));
    const controller = new AbortController();
    const call = tokenizer.encode_batch(long, { worker: false, signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough'))); // it runs only if the call makes breaks
    await expect(call).rejects.toThrow('enough');
    const inWorkers = new AbortController();
    const other = tokenizer.encode_batch(long, { worker: 2, signal: inWorkers.signal });
    inWorkers.abort(new Error('enough'));
    await expect(other).rejects.toThrow('enough');
    expect(listsOf(await tokenizer.encode_batch(['the old boat'], { worker: 2 }))).toEqual([tokenizer.encode('the old boat')]);
  });

  it('says what is wrong', async () => {
    const batch = (texts: unknown, options?: object) => tokenizer.encode_batch(texts as string[], options as object);
    await expectError(batch('a'), 'InputError', /encode_batch: expected an array of texts, found a string/);
    await expectError(batch(['a', 5]), 'InputError', /found 5/);
    await expectError(batch(['a'], { workers: 2 }), 'InputError', /unknown option 'workers'; did you mean 'worker'/);
    for (const worker of [0, 65, 1.5, '2']) {
      await expectError(
        batch(['a'], { worker }),
        'InputError',
        /encode_batch: option 'worker': expected true, false or a number from 1 to 64, found /,
      );
    }
    await expectError(batch(['a', 'b'], { text_pair: ['c'], worker: 2 }), 'InputError', /expected an array of 2 strings/);
    const alone = await small.AutoTokenizer.from_pretrained(tiny);
    expect(listsOf(await alone.encode_batch(kTexts))).toEqual(expected);
    await expectError(alone.encode_batch(['a'], { worker: 2 }), 'UnsupportedError', /import AutoTokenizer from 'wattn'/);
    await alone.dispose();
    const embed = await pipeline('feature-extraction', tiny);
    expect(listsOf(await embed.tokenizer.encode_batch(kTexts))).toEqual(expected);
    await expectError(embed.tokenizer.encode_batch(['a'], { worker: 2 }), 'UnsupportedError', /AutoTokenizer\.from_pretrained/);
    await embed.dispose();
  });

  it('ends with the tokenizer', async () => {
    const own = await AutoTokenizer.from_pretrained(tiny);
    const waiting = own.encode_batch(kTexts, { worker: 2 });
    await own.dispose();
    await expectError(waiting, 'StateError', /disposed/);
    await expectError(own.encode_batch(['a'], { worker: 2 }), 'StateError', /disposed/);
  });
});
