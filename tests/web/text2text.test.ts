// Encoder-decoders in JavaScript: the same texts as transformers' generate() (tests/goldens/seq2seq), task prefixes and parameters, and internals.
import { join } from 'node:path';
import { AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline } from 'wattn';
import { linesOf, wattn } from './cli_support.js';
import { failure, filesOf, goldens, largestDifference, readFloats, readJson } from './support.js';

const folder = (name: string) => join(goldens, 'seq2seq', name);

/** A Unigram tokenizer as the BPE that NllbTokenizer takes: pieces grow letter by letter. Ids differ where a letter alone was unknown. */
function asBpe(tokenizer: any): unknown {
  const pieces: string[] = tokenizer.model.vocab.map(([piece]: [string]) => piece);
  const first = ['an', '▁sing']; // before pieces that would take their letters
  const grown = [...first, ...pieces.filter((piece, id) => id > 3 && !piece.endsWith('_Latn'))];
  const merges = [
    ...new Set(grown.flatMap((piece) => [...piece].slice(1).map((letter, i) => `${piece.slice(0, i + 1)} ${letter}`))),
  ];
  const parts = merges.flatMap((merge) => [...merge.split(' '), merge.replace(' ', '')]);
  const vocab = Object.fromEntries([...new Set([...pieces, ...parts])].map((piece, id) => [piece, id]));
  return { ...tokenizer, model: { type: 'BPE', unk_token: '<unk>', vocab, merges } };
}

/** The files of a case, some members of its config.json replaced. */
function withConfig(name: string, change: Record<string, unknown>): Map<string, Uint8Array> {
  const files = filesOf(folder(name));
  const config = { ...readJson('seq2seq', name, 'config.json'), ...change };
  files.set('config.json', new TextEncoder().encode(JSON.stringify(config)));
  return files;
}

describe('text2text-generation', () => {
  it.each(['t5', 'flan-t5', 'bart', 'marian'])('makes the texts of transformers: %s', async (name) => {
    const { runs, inputs } = readJson('seq2seq', name, 'expected.json');
    const run = await pipeline('text2text-generation', folder(name));
    const texts = inputs.map((input: any) => input.text);
    for (const [kind, options] of Object.entries(runs)) {
      const out = await run(texts, options as object);
      const expected = inputs.flatMap((input: any) =>
        input.generated[kind].tokens.map((tokens: number[], i: number) => [input.generated[kind].texts[i], tokens]),
      );
      expect([kind, out.map((one) => [one.generated_text, one.tokens])]).toEqual([kind, expected]);
    }
    const [alone] = await run(texts[1], runs.greedy);
    const { tokens, texts: made } = inputs[1].generated.greedy;
    expect(Object.keys(alone!)).toEqual(['generated_text']); // its facts are not enumerable
    expect(alone).toMatchObject({
      generated_text: made[0],
      tokens: tokens[0],
      finish_reason: tokens[0].at(-1) === 1 ? 'eos' : 'length',
    });
    await run.dispose();
  });

  it('reads T5 out of GGUF files of llama.cpp', async () => {
    const { runs, seq2seq } = readJson('gguf-decoders/expected.json');
    for (const [name, { texts, tokens }] of Object.entries<any>(seq2seq)) {
      const run = await pipeline('text2text-generation', join(goldens, `gguf-decoders/${name}.gguf`));
      for (const kind of Object.keys(runs)) {
        const out = await run(texts, runs[kind]);
        expect([name, kind, out.map((one) => one.tokens)]).toEqual([name, kind, tokens[kind]]);
      }
      await run.dispose();
    }
  });

  it('translates with the files of an OPUS-MT repository', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(join(goldens, 'marian-tokenizer'));
    const files = filesOf(folder('marian')); // its vocabulary is as large, its </s> is another
    for (const [name, bytes] of filesOf(join(goldens, 'marian-tokenizer'))) files.set(name, bytes);
    files.delete('tokenizer.json');
    const run = await pipeline('translation', files);
    const [out] = await run('>>fra<< the old boat', { max_new_tokens: 8 });
    expect(out?.translation_text).toBe(tokenizer.decode(out?.tokens as number[], { skip_special_tokens: true }));
    expect(out?.tokens.length).toBeGreaterThan(0);
    tokenizer.dispose();
    await run.dispose();
  });

  it('says what was cut', async () => {
    const run = await pipeline('text2text-generation', folder('bart'));
    const long = 'the old boat waits below the bridge. '.repeat(20);
    const [out] = await run(long, { max_new_tokens: 3 });
    expect(out?.truncated).toBe(true);
    const error = await failure(run(long, { max_new_tokens: 3, on_overflow: 'error' }));
    expect([error.name, error.message]).toEqual([
      'InputError',
      expect.stringMatching(/^text 0: expected at most 48 tokens, found \d+/),
    ]);
    expect((await failure(run(3 as never))).name).toBe('InputError');
    expect((await failure(run('a', { max_new_tokens: 0 }))).name).toBe('InputError');
    expect((await failure(run('a', { src_lang: 'en' } as never))).message).toMatch(/src_lang/);
    await run.dispose();
  });

  it('ends at once when it is told to', async () => {
    const run = await pipeline('text2text-generation', folder('t5'));
    const controller = new AbortController();
    controller.abort();
    expect((await failure(run('a bird sings', { signal: controller.signal }))).name).toBe('AbortError');
    await run.dispose();
  });

  it.each([false, true])('streams its text, in a worker: %s', async (worker) => {
    const { inputs } = readJson('seq2seq', 'flan-t5', 'expected.json');
    const run = await pipeline('text2text-generation', folder('flan-t5'), { worker });
    const { text, generated } = inputs[0];
    const options = { max_new_tokens: 14, no_repeat_ngram_size: 2, repetition_penalty: 1.3 };
    const pieces: string[] = [];
    for await (const piece of run.stream(text, options)) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(generated.greedy_no_repeat.texts[0]);
    for await (const piece of run.stream(text, options)) {
      expect(piece).toBe(pieces[0]);
      break;
    }
    expect((await failure(run(text, { num_beams: 2, callback() {} }))).name).toBe('InputError');
    await run.dispose();
  });

  it('runs in a worker', async () => {
    const { runs, inputs } = readJson('seq2seq', 'marian', 'expected.json');
    const run = await pipeline('translation', folder('marian'), { worker: true });
    const [out] = await run(inputs[0].text, runs.beams);
    expect(out?.translation_text).toBe(inputs[0].generated.beams.texts[0]);
    await run.dispose();
  });

  it('refuses decoders, as text-generation refuses encoder-decoders', async () => {
    const decoder = join(goldens, 'decoders', 'llama');
    const error = await failure(pipeline('text2text-generation', decoder));
    expect([error.name, error.message]).toEqual(['UnsupportedError', expect.stringMatching(/expected an encoder-decoder/)]);
    expect((await failure(pipeline('text-generation', folder('t5')))).message).toMatch(/text2text-generation/);
    expect((await failure(AutoModelForCausalLM.from_pretrained(folder('t5')))).name).toBe('UnsupportedError');
  });
});

describe('translation and summarization', () => {
  const params = {
    summarization: { prefix: 'summarize ', max_length: 5, num_beams: 1 },
    translation_en_to_de: { prefix: 'translate ', max_length: 6 },
  };

  it('take prefixes and parameters from task_specific_params', async () => {
    const plain = await pipeline('text2text-generation', folder('t5'));
    const files = withConfig('t5', { task_specific_params: params });
    const summarize = await pipeline('summarization', files);
    const [summary] = await summarize('a bird sings');
    const [expected] = await plain('summarize a bird sings', { max_length: 5 });
    expect(summary?.summary_text).toBe(expected?.generated_text);
    expect(summary?.tokens).toEqual(expected?.tokens);
    expect((await summarize('a bird sings', { max_new_tokens: 9 }))[0]?.tokens.length).toBeGreaterThan(4); // the caller's word rules

    const translate = await pipeline('translation', files);
    const [german] = await translate('a bird sings', { src_lang: 'en', tgt_lang: 'de' });
    const [same] = await plain('translate a bird sings', { max_length: 6 });
    expect(german?.translation_text).toBe(same?.generated_text);
    const error = await failure(translate('a bird sings', { src_lang: 'en', tgt_lang: 'fr' }));
    expect([error.name, error.message]).toEqual(['UnsupportedError', expect.stringMatching(/translation_en_to_de/)]);
    expect((await failure(translate('a', { src_lang: 'en' }))).name).toBe('InputError');
    await Promise.all([plain.dispose(), summarize.dispose(), translate.dispose()]);
  });
});

describe('translation between the languages of a tokenizer', () => {
  const name = 'variants/languages';
  const { tokenizer, rows } = readJson(name, 'languages.json');
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const load = (settings: { tokenizer_class: string; legacy_behaviour?: boolean }) => {
    const file = settings.tokenizer_class === 'NllbTokenizer' ? asBpe(tokenizer) : tokenizer;
    const files = filesOf(join(goldens, name)).set('tokenizer.json', json(file)).set('tokenizer_config.json', json(settings));
    return pipeline('translation', files);
  };

  it('begins or ends a text with its language, and the answer with the other one', async () => {
    const classes = { NllbTokenizer: 'prefix', MBart50TokenizerFast: 'prefix', MBartTokenizer: 'suffix' };
    for (const [tokenizer_class, layout] of Object.entries(classes)) {
      const translate = await load({ tokenizer_class });
      const isBpe = tokenizer_class === 'NllbTokenizer';
      for (const row of rows.filter((one: any) => one.layout === layout && (!isBpe || one.text === 'a bird sings'))) {
        const [made] = await translate(row.text, {
          src_lang: 'eng_Latn',
          tgt_lang: 'deu_Latn',
          max_new_tokens: 8,
          no_repeat_ngram_size: 1,
        });
        expect(made?.tokens).toEqual(row.tokens);
      }
      await translate.dispose();
    }
    const legacy = await load({ tokenizer_class: 'NllbTokenizer', legacy_behaviour: true });
    const row = rows.find((one: any) => one.layout === 'suffix' && one.text === 'a bird sings');
    const [made] = await legacy(row.text, {
      src_lang: 'eng_Latn',
      tgt_lang: 'deu_Latn',
      max_new_tokens: 8,
      no_repeat_ngram_size: 1,
    });
    expect(made?.tokens).toEqual(row.tokens);
    await legacy.dispose();
  });

  it('has places for the languages that change the answer', () => {
    const answers = new Map<string, Set<string>>();
    for (const { text, tokens } of rows) answers.set(text, (answers.get(text) ?? new Set()).add(String(tokens)));
    expect([...answers.values()].map(({ size }) => size)).toEqual([2, 2, 2]);
  });

  it('takes the languages of M2M-100 by their codes', async () => {
    const renamed = JSON.parse(JSON.stringify(tokenizer).replaceAll('eng_Latn', '__en__').replaceAll('deu_Latn', '__de__'));
    const files = filesOf(join(goldens, name))
      .set('tokenizer.json', json(renamed))
      .set('tokenizer_config.json', json({ tokenizer_class: 'M2M100Tokenizer' }));
    const translate = await pipeline('translation', files);
    const how = { max_new_tokens: 8, no_repeat_ngram_size: 1 };
    for (const row of rows.filter((one: any) => one.layout === 'prefix')) {
      const [made] = await translate(row.text, { src_lang: 'en', tgt_lang: 'de', ...how });
      expect(made?.tokens).toEqual(row.tokens);
    }
    const error = await failure(translate('a bird', { src_lang: 'en', tgt_lang: 'fr' }));
    expect(error).toMatchObject({ name: 'InputError', message: expect.stringMatching(/tgt_lang: .*such as .*'en', found 'fr'/) });
    await translate.dispose();
  });

  it('needs both languages, and names one that the tokenizer lacks', async () => {
    const translate = await load({ tokenizer_class: 'NllbTokenizer' });
    for (const given of [{}, { src_lang: 'eng_Latn' }, { tgt_lang: 'deu_Latn' }]) {
      expect(await failure(translate('a bird', given))).toMatchObject({
        name: 'InputError',
        message: expect.stringMatching(/src_lang and tgt_lang/),
      });
    }
    for (const [src_lang, tgt_lang, found] of [
      ['eng_Latn', 'fra_Latn', 'tgt_lang'],
      ['the', 'deu_Latn', 'src_lang'],
    ] as const) {
      const error = await failure(translate('a bird', { src_lang, tgt_lang }));
      expect(error).toMatchObject({
        name: 'InputError',
        message: expect.stringMatching(new RegExp(`${found}: expected a language`)),
      });
    }
    await translate.dispose();
  });
});

describe('AutoModelForSeq2SeqLM', () => {
  it('gives the insides, of rows beside each other as alone', async () => {
    const { inputs } = readJson('seq2seq', 'bart', 'expected.json');
    const all = readFloats('seq2seq', 'bart', 'expected.f32');
    const model = await AutoModelForSeq2SeqLM.from_pretrained(folder('bart'));
    const [first, second] = inputs;
    const width = Math.max(first.input_ids.length, second.input_ids.length);
    const pad = (ids: number[]) => [...ids, ...Array(width - ids.length).fill(0)];
    const rows = [first.input_ids, second.input_ids];
    const out = await model(
      {
        input_ids: rows.map(pad),
        attention_mask: rows.map((ids: number[]) => pad(ids.map(() => 1))),
        decoder_input_ids: [first.decoder_input_ids, second.decoder_input_ids],
      },
      { output_attentions: true, output_hidden_states: true },
    );
    const target = first.decoder_input_ids.length;
    const check = (got: ArrayLike<number>, about: any) => {
      const count = about.shape.reduce((a: number, b: number) => a * b, 1);
      const expected = all.subarray(about.offset, about.offset + count);
      // As in seq2seq_test.cpp, where every tensor is held to it: four times what torch's own float32 is off.
      expect(largestDifference(got, expected)).toBeLessThanOrEqual(4 * Math.max(about.f32_diff, about.max_abs * 2 ** -23) * 4);
    };
    check(out.logits.data.subarray(0, target * 96), first.tensors.logits);
    check(out.logits.data.subarray(target * 96), second.tensors.logits);
    expect(out.cross_attentions?.map(({ dims }) => dims)).toEqual(Array(3).fill([2, 2, target, width]));
    expect(out.encoder_attentions?.length).toBe(2);
    expect(out.decoder_hidden_states?.length).toBe(4);
    const cross = out.cross_attentions?.[1]?.data as Float32Array;
    const row = Array.from({ length: 2 * target }, (_, i) => {
      const from = (2 * target + i) * width; // of the second text
      return Array.from(cross.subarray(from, from + second.input_ids.length));
    }).flat();
    check(row, second.tensors['cross_attentions.1']);
    expect((await failure(model({ input_ids: [[1]], decoder_input_ids: [[1], [2]] }))).message).toMatch(/decoder_input_ids/);
    await model.dispose();
  });
});

describe('wattn generate', () => {
  it('writes what an encoder-decoder makes of a text, and what it is made of', async () => {
    const { inputs } = readJson('seq2seq', 'bart', 'expected.json');
    const { text, generated } = inputs[0];
    const args = ['generate', '--model', folder('bart'), '--max-new-tokens', '12', '--num-beams', '3'];
    const [line] = linesOf(await wattn([...args, text]));
    const tokens = generated.beams.tokens[0].length;
    const reason = generated.beams.tokens[0].at(-1) === 1 ? 'eos' : 'length';
    expect(line).toEqual({ text, generated_text: generated.beams.texts[0], tokens, finish_reason: reason });
    const [same] = linesOf(await wattn([...args, '--task', 'translation'], `{"id": 7, "text": ${JSON.stringify(text)}}\n`));
    expect(same).toEqual({ id: 7, text, translation_text: generated.beams.texts[0], tokens, finish_reason: reason });
    expect(await wattn([...args, '--chat', text])).toMatchObject({ code: 2, error: expect.stringMatching(/^wattn: --chat/) });

    const { parameters, layers } = JSON.parse((await wattn(['inspect', '--model', folder('bart'), '--json', '--seq', '8'])).out);
    const names = layers.map(({ name }: { name: string }) => name);
    expect(names).toContain('encoder.layers.1.self_attn.q_proj');
    expect(names).toContain('decoder.layers.2.encoder_attn.out_proj');
    const bytes = filesOf(folder('bart')).get('model.safetensors') as Uint8Array;
    const header = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    // Every number of the file.
    expect(parameters).toBe((bytes.length - 8 - header) / 4);
  });
});
