import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer, type TrainOptions, type TrainingProgress } from 'wattn';
import { AutoTokenizer as Alone, InputError } from 'wattn/tokenizer';
import { expectError, failure, goldens, readJson } from './support.js';

const texts: string[] = JSON.parse(readFileSync(join(goldens, 'minilm/texts.json'), 'utf8')).map((row: string[]) => row[1]);
const models = ['wordpiece', 'bpe', 'unigram', 'word', 'char'] as const;

describe('AutoTokenizer.train', () => {
  it('makes the vocabularies of the reference', async () => {
    for (const { name, texts: indices, description, vocab } of readJson('trainers/cases.json')) {
      if (vocab === undefined) continue;
      const { trainer, ...stages } = description;
      const { type, ...options } = trainer;
      const model = { BPE: 'bpe', WordPiece: 'wordpiece', WordLevel: 'word' }[type as 'BPE'] as 'bpe';
      const none = { normalizer: null, pre_tokenizer: null, decoder: null, unk_token: null };
      const trained = await Alone.train(
        indices.map((i: number) => texts[i]),
        { model, ...none, ...options, ...stages },
      );
      const ids = trained.toJSON().model.vocab;
      expect([name, Object.keys(ids).sort((a, b) => ids[a] - ids[b])]).toEqual([name, vocab]);
      await trained.dispose();
    }
  });

  it('has defaults for each model, in both entries', async () => {
    for (const model of models) {
      const [here, alone] = await Promise.all(
        [AutoTokenizer, Alone].map((entry) => entry.train(texts, { model, vocab_size: 1200 })),
      );
      expect(here!.save()).toBe(alone!.save());
      const ids = here!.encode('The old boat, the old bridge.');
      expect(here!.decode(ids, { skip_special_tokens: true }).toLowerCase().replace(/\s/g, '')).toMatch(/the.*,the.*\.$/);
      expect(here!.tokenize('the').length).toBeGreaterThan(0);
      const again = await AutoTokenizer.from_pretrained(new Map([['tokenizer.json', new TextEncoder().encode(here!.save())]]));
      expect(again.encode('The old boat')).toEqual(here!.encode('The old boat'));
      expect(JSON.parse(JSON.stringify(here))).toEqual(JSON.parse(here!.save()));
    }
    const word = await Alone.train('one two two', { model: 'word' });
    expect(word.toJSON().model.vocab).toEqual({ '<unk>': 0, '<pad>': 1, '<s>': 2, '</s>': 3, two: 4, one: 5 });
    const batch = word(['one', 'one two'], { padding: true, return_tensor: false });
    expect(batch).toEqual({ input_ids: [[5, 1], [5, 4]], attention_mask: [[1, 0], [1, 1]] }); // prettier-ignore
    expect([batch.truncated, batch.unknown]).toEqual([[false, false], [0, 0]]); // prettier-ignore
    expect((await Alone.train('a', { model: 'wordpiece' })).encode('a')).toEqual([2, 5, 3]);
    expect((await Alone.train('a', { model: 'word', special_tokens: ['[X]'], unk_token: '<u>' })).convert_ids_to_tokens([0, 1, 2])).toEqual(['<u>', '[X]', 'a']); // prettier-ignore
  });

  it('reads texts from any iterator, telling how far it is', async () => {
    async function* stream() {
      for (const text of texts) yield text;
    }
    const seen: TrainingProgress[] = [];
    const options: TrainOptions = { model: 'bpe', vocab_size: 2000 };
    const all = await Alone.train(stream(), { ...options, progress_callback: (info) => void seen.push(info) });
    expect(all.save()).toBe((await Alone.train(new Set(texts), options)).save());
    expect(seen.find((info) => info.status === 'read')).toEqual({ status: 'read', texts: texts.length, words: expect.any(Number) });
    expect(seen.at(-1)).toEqual({ status: 'ready' });
  });

  it('stops when its signal fires, and lets go of the iterator', async () => {
    for (const model of models) {
      const stop = new AbortController();
      let closed = false;
      let given = 0;
      const endless = (function* () {
        try {
          for (;;) yield texts[given++ % texts.length] as string;
        } finally {
          closed = true;
        }
      })();
      const options: TrainOptions = {
        model,
        signal: stop.signal,
        progress_callback: () => given > 5000 && stop.abort(new Error('enough')),
      };
      await expectError(Alone.train(endless, options), 'AbortError', /enough/);
      expect(closed).toBe(true);
    }
    const stop = new AbortController();
    const stages = new Set<string>();
    const long = Alone.train(
      Array.from({ length: 3000 }, (_, i) => `w${i}x${i * 7}y${(i * i) % 9973} `.repeat(20)),
      {
        model: 'unigram',
        pre_tokenizer: null,
        signal: stop.signal,
        progress_callback: (info) => {
          if (info.status !== 'train') return;
          stages.add(info.stage);
          if (info.stage === 'pieces') stop.abort();
        },
      },
    );
    await expectError(long, 'AbortError');
    expect([...stages]).toEqual(['seeds', 'pieces']);
    const error = new Error('mine');
    const thrown = await failure(Alone.train('a', { model: 'bpe', progress_callback: () => { throw error; } })); // prettier-ignore
    expect(thrown).toBe(error);
  });

  it('refuses wrong texts and options by name', async () => {
    const wrong: [unknown, unknown, RegExp][] = [
      ['a', undefined, /option 'model': expected one of 'wordpiece', 'bpe', 'unigram', 'word', 'char', found undefined/],
      ['a', { model: 'gpt' }, /option 'model': expected one of .*, found 'gpt'/],
      [3, { model: 'word' }, /expected a string or an \(async\) iterable of strings, found 3/],
      [['a', 3], { model: 'word' }, /expected a string as text 1, found 3/],
      ['a', { model: 'word', vocabulary: 3 }, /unknown option 'vocabulary'/],
      ['a', { model: 'word', shrinking_factor: 0.5 }, /unknown option 'shrinking_factor'; known options: vocab_size/],
      ['a', { model: 'word', special_tokens: 'x' }, /option 'special_tokens': expected an array of strings, found 'x'/],
      [
        'a',
        { model: 'bpe', vocab_size: 1, initial_alphabet: [], special_tokens: ['a', 'b'] },
        /'vocab_size': expected room for the special/,
      ],
    ];
    for (const [from, options, message] of wrong) {
      await expectError((Alone as any).train(from, options), 'InputError', message);
    }
    expect(await failure(Alone.train('a', { model: 'x' as any }))).toBeInstanceOf(InputError);
    await expectError(Alone.train('a', { model: 'bpe', decoder: { type: 'Sparkle' } }), 'UnsupportedError', /decoder.*Sparkle/);
  });
});
