// Between the steps of generation: logits processors, scores and probabilities, speculative decoding, max_time, and scores of given texts.
import { join } from 'node:path';
import {
  AutoModelForCausalLM,
  AutoTokenizer,
  LogitsProcessor,
  LogitsProcessorList,
  pipeline,
  StructuredOutputProcessor,
  Tensor,
  type CausalModel,
  type ChatDelta,
  type GeneratedLogprob,
  type GeneratedText,
  type TextGenerationPipeline,
} from 'wattn';
import { namedProcessors } from '../../web/generation/rows/named.js';
import { expectError, goldens, readJson } from './support.js';

const llama = join(goldens, 'decoders/llama');
const ids = (rows: number[][]) => new Tensor('int64', rows.flat(), [rows.length, rows[0]!.length]);
const numbers = (tensor: Tensor) => Array.from(tensor.data as BigInt64Array, Number);
const kPrompts: number[][] = [
  [1, 7, 19, 4, 30, 11],
  [1, 8, 8, 8, 5, 9],
];

/** Releases what a call holds, and returns what it made. */
function released<T extends { past_key_values: { dispose(): Promise<void> } }>(made: T): T {
  void made.past_key_values.dispose();
  return made;
}

describe('rows of scores', () => {
  let model: CausalModel;
  const { searches, rows, warped } = readJson('processors/expected.json');
  beforeAll(async () => void (model = await AutoModelForCausalLM.from_pretrained(llama)));
  afterAll(() => model.dispose());
  const made = async (options: object, prompt = kPrompts[0]!) =>
    numbers(await model.generate({ input_ids: ids([prompt]), max_new_tokens: 12, ...options })).slice(prompt.length);

  it('are changed as by the processors of transformers', async () => {
    expect(searches).toHaveLength(20);
    for (const { input_ids, options, tokens, ...expected } of searches) {
      const shown = !options.num_beams;
      const out = released(
        await model.generate({
          input_ids: ids([input_ids]),
          max_new_tokens: 12,
          return_dict_in_generate: true,
          output_scores: shown,
          output_logits: shown,
          ...(options as object),
        }),
      );
      expect({ options, tokens: numbers(out.sequences).slice(input_ids.length) }).toEqual({ options, tokens });
      for (const name of ['scores', 'logits'] as const) {
        if (!shown) continue;
        expect(out[name]!.length).toBe(tokens.length);
        expected[name].forEach((row: (number | null)[], step: number) =>
          row.forEach((value, id) => {
            const own = out[name]![step]!.data[id] as number;
            if (value === null) expect(own).toBe(-Infinity);
            else expect(Math.abs(own - value)).toBeLessThan(2e-5 * (1 + Math.abs(value)));
          }),
        );
      }
      if (!shown) expect(out.sequences_scores!.data[0]).toBeCloseTo(expected.sequences_scores[0], 4);
    }
  });

  it('are cut for sampling as by the warpers of transformers', () => {
    for (const { row, options, kept } of warped) {
      const scores = Float32Array.from(rows[row] as (number | null)[], (value) => value ?? -Infinity);
      const named = namedProcessors({ ...options, do_sample: true }, []);
      for (const each of [...named.processed, ...named.scores]) each(scores, { ids: [], prompt: 0, source: new Int32Array(0) });
      const own = Array.from(scores.keys()).filter((id) => scores[id]! > -Infinity);
      expect({ row, options, kept: own }).toEqual({ row, options, kept });
    }
    expect(warped).toHaveLength(36);
  });

  it('sampling draws only what each warper keeps', async () => {
    for (const options of [{ typical_p: 0.2 }, { epsilon_cutoff: 0.3 }, { eta_cutoff: 0.3 }, { top_h: 0.2, temperature: 3 }]) {
      const out = released(
        await model.generate({
          input_ids: ids(kPrompts),
          max_new_tokens: 5,
          do_sample: true,
          seed: 4,
          top_k: 0,
          return_dict_in_generate: true,
          output_scores: true,
          ...options,
        }),
      );
      const vocab = out.scores![0]!.dims[1] as number;
      out.scores!.forEach((step, t) => {
        for (const row of [0, 1]) {
          const own = step.data.subarray(row * vocab, (row + 1) * vocab);
          if (Number.isNaN(own[0])) continue;
          expect(own.some((value) => value === -Infinity)).toBe(true);
          expect(own[Number(out.sequences.data[row * out.sequences.dims[1]! + 6 + t])]).toBeGreaterThan(-Infinity);
        }
      });
    }
  });

  it('go through functions, which see the ids so far', async () => {
    const plain = await made({});
    const seen: number[][] = [];
    const watching = (input_ids: bigint[][], logits: Tensor<'float32'>) => {
      seen.push(input_ids[0]!.map(Number));
      expect(logits.dims).toEqual([1, 59]);
      return undefined;
    };
    expect(await made({ logits_processor: watching })).toEqual(plain);
    expect(seen).toEqual(plain.map((_, t) => [...kPrompts[0]!, ...plain.slice(0, t)]));

    class Only extends LogitsProcessor {
      constructor(readonly id: number) {
        super();
      }
      override _call(_ids: bigint[][], logits: Tensor<'float32'>) {
        const scores = logits.data.map((_, i) => (i % logits.dims[1]! === this.id ? 1 : -1));
        return new Tensor('float32', scores, logits.dims);
      }
    }
    expect(await made({ logits_processor: new Only(9), max_new_tokens: 3 })).toEqual([9, 9, 9]);
    const list = new LogitsProcessorList();
    list.push(new Only(9));
    list.extend([new Only(12)]); // the last one decides
    expect([...list]).toHaveLength(2);
    expect(await made({ logits_processor: list, max_new_tokens: 2 })).toEqual([12, 12]);
    expect(await made({ logits_processor: [list, new Only(3)], max_new_tokens: 2, num_beams: 3 })).toEqual([3, 3]);
    // After the named options, before those of sampling.
    expect(await made({ logits_processor: new Only(9), bad_words_ids: [[9]], max_new_tokens: 1 })).toEqual([9]);
    const drawn = await made({ logits_processor: new Only(9), do_sample: true, top_k: 1, seed: 1, max_new_tokens: 2 });
    expect(drawn).toEqual([9, 9]);
  });

  it('of several texts, beams and samples are shown with their own ids', async () => {
    const keyOf = (list: readonly (number | bigint)[]) => list.map(Number).join();
    for (const options of [{}, { num_beams: 3 }, { do_sample: true, num_return_sequences: 3, seed: 2 }]) {
      const seen = new Set<string>();
      const logits_processor = (input_ids: bigint[][]) => void input_ids.forEach((row) => seen.add(keyOf(row)));
      const given = { input_ids: ids(kPrompts), max_new_tokens: 6, ...options };
      const plain = await model.generate(given);
      const out = await model.generate({ ...given, logits_processor });
      expect(out.data).toEqual(plain.data);
      for (let row = 0; row < out.dims[0]!; ++row) {
        const whole = numbers(out).slice(row * out.dims[1]!, (row + 1) * out.dims[1]!);
        const end = whole.indexOf(2, 6);
        for (let t = 6; t < (end < 0 ? whole.length : end + 1); ++t) expect(seen).toContain(keyOf(whole.slice(0, t)));
      }
    }
  });

  it('an error says what is wrong', async () => {
    const given = { input_ids: ids([kPrompts[0]!]), max_new_tokens: 2 };
    await expectError(
      model.generate({ ...given, logits_processor: 5 as never }),
      'InputError',
      /'logits_processor': expected a LogitsProcessor/,
    );
    await expectError(
      model.generate({ ...given, logits_processor: (() => 'x') as never }),
      'InputError',
      /'logits_processor': expected it to return nothing, or a float32 Tensor \[1,59\], found a string 'x'|found 'x'/,
    );
    await expectError(model.generate({ ...given, logits_processor: new LogitsProcessor() }), 'UnsupportedError', /subclass/);
    const two = [1, 2].map(() => new StructuredOutputProcessor(null, { type: 'regex', regex: 'a' }));
    await expectError(model.generate({ ...given, logits_processor: two }), 'InputError', /found more/);
    await expectError(model.generate({ ...given, num_beams: 2, output_scores: true }), 'InputError', /need num_beams 1/);
    for (const [name, value] of Object.entries({
      typical_p: 1.5,
      top_h: 0,
      epsilon_cutoff: 1,
      eta_cutoff: -0.1,
      encoder_repetition_penalty: 0,
      max_time: 0,
      sequence_bias: [[[], 1]],
      exponential_decay_length_penalty: [1],
      suppress_tokens: ['x'],
    })) {
      await expectError(model.generate({ ...given, [name]: value }), 'InputError', new RegExp(name));
    }
    await expectError(model.generate({ ...given, guidance_scale: 2 } as never), 'UnsupportedError', /guidance_scale/);
  });

  it.each([
    [0.5, 1.5],
    [-1, -1.5], // tokens occur again and again
  ])('the penalties of written tokens are those of OpenAI: %d, %d', async (presence_penalty, frequency_penalty) => {
    const out = released(
      await model.generate({
        input_ids: ids([kPrompts[0]!]),
        max_new_tokens: 10,
        presence_penalty,
        frequency_penalty,
        return_dict_in_generate: true,
        output_logits: true,
        output_scores: true,
      }),
    );
    const written = numbers(out.sequences).slice(6);
    written.forEach((_, t) => {
      const [raw, scores] = [out.logits![t]!.data, out.scores![t]!.data];
      raw.forEach((value, id) => {
        const count = written.slice(0, t).filter((each) => each === id).length;
        expect(scores[id]).toBeCloseTo(value - (count > 0 ? presence_penalty : 0) - frequency_penalty * count, 4);
      });
    });
    expect(new Set(written).size === written.length).toBe(frequency_penalty > 0);
  });
});

describe('probabilities of a text', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => void (generate = await pipeline('text-generation', llama)));
  afterAll(() => generate.dispose());
  const softmax = (row: readonly number[]) => {
    const most = Math.max(...row);
    const sum = row.reduce((all, value) => all + Math.exp(value - most), 0);
    return row.map((value) => value - most - Math.log(sum));
  };

  it('logprobs are the logarithms of the softmax of the logits', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(llama);
    const model = await AutoModelForCausalLM.from_pretrained(llama);
    const texts = ['the boat', 'a bird in the wind'];
    const options = { max_new_tokens: 7, top_logprobs: 3, repetition_penalty: 1.3, return_full_text: false };
    const results = await generate(texts, options);
    for (const [i, [one]] of results.entries()) {
      expect(one.logprobs).toHaveLength(one.tokens.length);
      const whole = [...tokenizer.encode(texts[i] as string), ...one.tokens];
      const { logits } = await model({ input_ids: [whole] });
      const vocab = logits!.dims[2] as number;
      one.logprobs!.forEach(({ id, token, logprob, top_logprobs }, t) => {
        const at = (whole.length - one.tokens.length + t - 1) * vocab;
        const row = softmax(Array.from(logits!.data.subarray(at, at + vocab)));
        expect(id).toBe(one.tokens[t]);
        expect(token).toBe(tokenizer.decode([id], { skip_special_tokens: false }));
        expect(logprob).toBeCloseTo(row[id]!, 5);
        const order = Array.from(row.keys()).sort((a, b) => row[b]! - row[a]!);
        expect(top_logprobs.map((each) => each.id)).toEqual(order.slice(0, 3));
        top_logprobs.forEach((each) => expect(each.logprob).toBeCloseTo(row[each.id]!, 5));
      });
    }
    const [alone] = await generate(texts[0] as string, { max_new_tokens: 2, logprobs: true });
    expect(alone.logprobs![0]!.top_logprobs).toEqual([]);
    const [none] = await generate(texts[0] as string, { max_new_tokens: 2, logprobs: false, top_logprobs: 2 });
    expect(none.logprobs).toBeUndefined();
    await model.dispose();
    await tokenizer.dispose();
  });

  it('come with the deltas of a stream, in a worker too', async () => {
    const worker = await pipeline('text-generation', llama, { worker: true });
    const chat_template = '{% for message in messages %}{{ message.content }}{% endfor %}';
    const options = { max_new_tokens: 8, top_logprobs: 2 };
    for (const pipe of [generate, worker]) {
      for (const [prompt, more] of [
        ['the boat', {}],
        [[{ role: 'user', content: 'the boat' }], { chat_template }],
        ['the boat', { response_format: { type: 'regex', regex: '[abc]{6}' } }],
        ['the boat', { stop_strings: 'e' }],
      ] as const) {
        const own = { ...options, ...more } as object;
        const [one] = (await pipe(prompt as string, { ...own, return_full_text: false })) as GeneratedText[];
        const deltas: ChatDelta[] = [];
        for await (const delta of pipe.stream_deltas(prompt as string, own)) deltas.push(delta);
        expect(deltas.flatMap(({ logprobs }) => logprobs ?? [])).toEqual(one!.logprobs);
        expect(deltas.map(({ content = '' }) => content).join('')).toBe(one!.generated_text);
        expect(deltas.filter(({ content, logprobs }) => content && logprobs).length).toBeGreaterThan(1);
      }
      for await (const delta of pipe.stream_deltas('the boat', { max_new_tokens: 3 }))
        expect(delta).toEqual({ content: delta.content });
    }
    const batch: GeneratedLogprob[][] = [[], []];
    const delta_callback = ({ logprobs = [] }: ChatDelta, prompt: number) => void batch[prompt]!.push(...logprobs);
    const results = await generate(['the boat', 'a bird'], { ...options, delta_callback });
    expect(batch).toEqual(results.map(([one]) => one.logprobs));
    await worker.dispose();
  });

  it('are there with a constraint, in a worker and in a batch, and the tokens stay', async () => {
    const options = { max_new_tokens: 6, logprobs: true, response_format: { type: 'regex', regex: '[abc]{6}' } as const };
    const [one] = await generate('the boat', options);
    expect(one.logprobs!.map(({ token }) => token).join('')).toMatch(/^[abc]{5,6}/);
    const worker = await pipeline('text-generation', llama, { worker: true });
    const [other] = await worker('the boat', options);
    expect(other.logprobs).toEqual(one.logprobs);
    const given = { max_new_tokens: 2, logits_processor: () => undefined };
    await expectError(worker('a', given), 'UnsupportedError', /'logits_processor': expected a model without the option worker/);
    await expectError(
      worker('a', { assistant_model: generate }),
      'UnsupportedError',
      /'assistant_model': expected a model without/,
    );
    const [named] = await worker('the boat', { max_new_tokens: 6, typical_p: 0.3, do_sample: true, seed: 3 });
    const [same] = await generate('the boat', { max_new_tokens: 6, typical_p: 0.3, do_sample: true, seed: 3 });
    expect(named.tokens).toEqual(same.tokens);
    await worker.dispose();
  });
});

describe('speculation', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => void (generate = await pipeline('text-generation', llama)));
  afterAll(() => generate.dispose());

  it('prompt_lookup_num_tokens changes no token', async () => {
    const texts = ['one two one two one two one', 'the boat', 'a', 'abc abc abc abd abc'];
    for (const options of [
      {},
      { do_sample: true, seed: 3, temperature: 0.5 },
      { repetition_penalty: 1.2 },
      { stop_strings: 'e' },
    ]) {
      const plain = await generate(texts, { max_new_tokens: 40, ...options });
      for (const prompt_lookup_num_tokens of [1, 3, 64]) {
        for (const max_matching_ngram_size of [1, 3]) {
          const own = { max_new_tokens: 40, ...options, prompt_lookup_num_tokens, max_matching_ngram_size };
          const pieces: string[] = texts.map(() => '');
          const out = await generate(texts, { ...own, callback: (piece, i) => void (pieces[i] += piece) });
          expect(out.map(([one]) => [one.tokens, one.finish_reason])).toEqual(
            plain.map(([one]) => [one.tokens, one.finish_reason]),
          );
          out.forEach(([one], i) => expect(one.generated_text.endsWith(pieces[i] as string)).toBe(true));
        }
      }
    }
  });

  it('prompt_lookup_num_tokens takes the steps of a search for the last two tokens, or one', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(llama);
    const most = 5;
    let saved = 0;
    for (const text of ['abc abc abc abd abc', 'one two one two', 'the boat waits']) {
      let steps = 0;
      // Each step has a text to tell: no special tokens.
      const options = { max_new_tokens: 50, eos_token_id: 55, bad_words_ids: [[0], [1], [2]], prompt_lookup_num_tokens: most };
      const counts: number[] = [];
      const [one] = await generate(text, {
        ...options,
        callback: () => void ++steps,
        stopping_criteria: (ids) => (counts.push(ids[0]!.length), [false]),
      });
      const prompt = tokenizer.encode(text);
      let expected = 1; // the prompt's step writes one token
      for (let made = 1; made < one.tokens.length; ++expected) {
        const ids = [...prompt, ...one.tokens.slice(0, made)];
        let proposed: number[] = [];
        for (let size = 2; size > 0 && proposed.length === 0; --size) {
          for (let at = ids.length - 1; at >= size && proposed.length === 0; --at) {
            if (ids.slice(at - size, at).join() === ids.slice(-size).join()) proposed = ids.slice(at, at + most);
          }
        }
        const next = one.tokens.slice(made);
        let right = 0;
        while (right < proposed.length && proposed[right] === next[right]) ++right;
        made += 1 + right;
      }
      expect(counts).toHaveLength(one.tokens.length);
      expect(steps).toBe(expected);
      saved += one.tokens.length - expected;
    }
    expect(saved).toBeGreaterThan(10);
    await tokenizer.dispose();
  });

  it('an assistant changes no token, and takes fewer steps', async () => {
    const assistant = await pipeline('text-generation', join(goldens, 'decoders/smollm'));
    const same = await pipeline('text-generation', llama);
    const text = 'the boat waits';
    const plain = await generate(text, { max_new_tokens: 30, eos_token_id: 55 });
    for (const assistant_model of [assistant, same]) {
      let steps = 0;
      const count = { put: () => void ++steps, end: () => {} };
      const own = { max_new_tokens: 30, eos_token_id: 55, assistant_model, num_assistant_tokens: 2 };
      const out = await generate(text, own);
      expect(out[0].tokens).toEqual(plain[0].tokens);
      let calls = 0;
      await generate(text, { ...own, callback: () => void ++calls });
      // The same model is always right: steps take 3 tokens, 5, 7, 9 and so on, up to 17, after the prompt's one.
      if (assistant_model === same) expect(calls).toBeLessThanOrEqual(6);
      await generate(text, { ...own, streamer: count });
      expect(steps).toBeGreaterThan(30); // each token is still told
    }
    await expectError(
      generate(text, { assistant_model: {} }),
      'InputError',
      /'assistant_model': expected a text-generation pipeline/,
    );
    await expectError(
      generate(text, { assistant_model: same, prompt_lookup_num_tokens: 3, max_new_tokens: 3 }),
      'InputError',
      /found both/,
    );
    await assistant.dispose();
    await same.dispose();
  });

  it('max_time ends a text with the next token', async () => {
    const slow = () => {
      const end = performance.now() + 5;
      while (performance.now() < end);
    };
    const options = { max_new_tokens: 60, max_time: 0.02, callback: slow, eos_token_id: 55, return_full_text: false };
    const [one] = await generate('the boat', options);
    expect(one.finish_reason).toBe('time');
    expect(one.tokens.length).toBeGreaterThan(0);
    expect(one.tokens.length).toBeLessThan(60);
    const [whole] = await generate('the boat', { ...options, max_time: 3600, max_new_tokens: 5 });
    expect(whole.finish_reason).toBe('length');
    expect(whole.tokens.slice(0, one.tokens.length)).toEqual(one.tokens.slice(0, 5));
    const beams = await generate('the boat', { max_new_tokens: 80, max_time: 1e-9, num_beams: 3, num_return_sequences: 2 });
    expect(beams.map(({ finish_reason }) => finish_reason)).toContain('time');
  });
});

describe('score', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => void (generate = await pipeline('text-generation', llama)));
  afterAll(() => generate.dispose());

  it('is the sum of the logarithms that a forward pass gives', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(llama);
    const model = await AutoModelForCausalLM.from_pretrained(llama);
    const continuations = ['a', ' to', ' by the sea', 'a', ...Array.from({ length: 12 }, (_, i) => 'xyz and more'.slice(0, i + 1))];
    const scored = await generate.score('the boat', continuations);
    expect(scored.map(({ text }) => text)).toEqual(continuations);
    expect(scored[0]).toEqual(scored[3]);
    const prompt = tokenizer.encode('the boat');
    for (const one of scored) {
      const whole = [...prompt, ...one.tokens];
      const { logits } = await model({ input_ids: [whole] });
      const vocab = logits!.dims[2] as number;
      let sum = 0;
      let isGreedy = true;
      one.tokens.forEach((id, t) => {
        const row = logits!.data.subarray((prompt.length + t - 1) * vocab, (prompt.length + t) * vocab);
        const log = row[id]! - Math.log(row.reduce((all, value) => all + Math.exp(value), 0));
        expect(one.logprobs[t]).toBeCloseTo(log, 5);
        sum += log;
        isGreedy &&= row[id] === Math.max(...row);
      });
      expect(one.score).toBeCloseTo(sum, 4);
      expect(one.mean).toBeCloseTo(sum / one.tokens.length, 4);
      expect(one.perplexity).toBeCloseTo(Math.exp(-sum / one.tokens.length), 2);
      expect(one.is_greedy).toBe(isGreedy);
    }
    await model.dispose();
    await tokenizer.dispose();
  });

  it('knows what is greedy', async () => {
    const letters = Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM0123456789.,!? ');
    const scored = await generate.score('the boat', letters);
    const [{ tokens }] = await generate('the boat', { max_new_tokens: 1, bad_words_ids: [[0], [1], [2]] });
    const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
    expect(best.tokens).toEqual(tokens);
    expect(scored.filter(({ is_greedy }) => is_greedy).length).toBeLessThanOrEqual(1);
  });

  it('takes several prompts and chats, and does not depend on what is kept', async () => {
    const none = await pipeline('text-generation', llama, { prefix_cache_bytes: 0 });
    const prompts = ['the boat', 'a bird in the wind and in the rain, over the sea'];
    const lists = [['a', 'be'], [' sings']];
    const expected = [await generate.score(prompts[0]!, lists[0]!), await generate.score(prompts[1]!, lists[1]!)];
    expect(await generate.score(prompts, lists)).toEqual(expected);
    expect(await none.score(prompts, lists)).toEqual(expected);
    const shared = await none.score(prompts, ['a', 'be']);
    expect(shared[0]).toEqual(expected[0]);
    const chat = [{ role: 'user' as const, content: 'hi' }];
    const [ofChat] = await generate.score(chat, ['yes']);
    const [ofText] = await generate.score('user: hi\nassistant: ', ['yes'], { add_special_tokens: false });
    expect(ofChat).toEqual(ofText);
    expect(await generate.score(prompts[0]!, [])).toEqual([]);
    const worker = await pipeline('text-generation', llama, { worker: true });
    expect(await worker.score(prompts, lists)).toEqual(expected);
    await worker.dispose();
    await none.dispose();
  });

  it('says what is wrong', async () => {
    await expectError(generate.score('a', ['']), 'InputError', /prompt 0: continuation 0: expected at least one token, found none/);
    await expectError(generate.score('a', 'b' as never), 'InputError', /continuations: expected a list of texts/);
    await expectError(generate.score(['a', 'b'], [['c']]), 'InputError', /for each of 2 prompts, found 1/);
    await expectError(generate.score('a', ['b'], { temperature: 1 } as never), 'InputError', /unknown option 'temperature'/);
    await expectError(generate.score('a', ['b'.repeat(200)]), 'InputError', /context_length = 96/);
    const controller = new AbortController();
    controller.abort();
    await expectError(generate.score('a', ['b'], { signal: controller.signal }), 'AbortError', /abort/i);
  });
});
