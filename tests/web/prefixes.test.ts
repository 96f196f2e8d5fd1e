// Prefixes cached across calls: results equal those computed from the start, and report what was reused. Also held, saved and loaded prefixes.
import {
  AutoModelForCausalLM,
  DynamicCache,
  pipeline,
  type ChatMessage,
  type GeneratedText,
  type ModelOptions,
  type TextGenerationOptions,
  type TextGenerationPipeline,
} from 'wattn';
import { spellingModel } from './structured_models.js';
import { expectError, madeMemories } from './support.js';

// WATTN_SCALE (npm run check:scale): 1,000 chats.
const kChats = process.env['WATTN_SCALE'] === undefined ? 60 : 1000;

const kTemplate =
  "{% for m in messages %}<s>{{ m['role'] }}:{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant:{% endif %}";
function files(): Map<string, Uint8Array> {
  const out = spellingModel('byte-level');
  out.set('chat_template.jinja', new TextEncoder().encode(kTemplate));
  return out;
}
const load = (options: ModelOptions = {}) => pipeline('text-generation', files(), { threads: 1, ...options });

const kShort = { return_full_text: false, max_new_tokens: 12, eos_token_id: [] as never } as const;
const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
/** A text of so many tokens, one each. */
const letters = (count: number, seed = 0) =>
  Array.from({ length: count }, (_, i) => String.fromCharCode(97 + ((i * i + seed * 7 + (i >> 3)) % 26))).join('');
const tokensOf = ({ tokens }: GeneratedText) => tokens;

describe('prefixes of a pipeline', () => {
  let generate: TextGenerationPipeline;
  let anew: TextGenerationPipeline;
  beforeEach(async () => {
    generate = await load();
    anew = await load({ prefix_cache_bytes: 0 });
  });
  afterEach(async () => {
    await generate.dispose();
    await anew.dispose();
  });
  const same = async (prompt: string | ChatMessage[], options: TextGenerationOptions = {}) => {
    const [made] = await generate(prompt as string, { ...kShort, ...options });
    const [expected] = await anew(prompt as string, { ...kShort, ...options });
    expect(made.tokens).toEqual(expected.tokens);
    expect(expected.cached_tokens).toBe(0);
    return made;
  };

  it('let the second turn of a chat read what is new, and say so', async () => {
    expect(generate.info().prefixes).toBe(undefined);
    const chat = [user(letters(200))];
    const first = await same(chat);
    expect(first.cached_tokens).toBe(0);
    expect(generate.info().prefixes).toMatchObject({ sequences: 1, reused: 0, computed: first.prompt_tokens });
    const { prefixes = 0, total, weights, activations } = generate.memory();
    expect(total).toBe(weights + activations + prefixes);
    expect(generate.info().prefixes?.max_bytes).toBe(prefixes);
    expect(anew.info().prefixes).toBe(undefined);
    expect(anew.memory()).not.toHaveProperty('prefixes');

    const second = await same([...chat, assistant(first.generated_text), user(letters(20))]);
    expect(second.cached_tokens).toBeGreaterThanOrEqual(first.prompt_tokens);
    const { reused, computed, tokens, bytes, max_bytes } = generate.info().prefixes!;
    expect([reused, reused + computed]).toEqual([second.cached_tokens, second.prompt_tokens]);
    expect(computed).toBeLessThan(120); // the answer may be other tokens when its text is read
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(max_bytes);
    expect(tokens).toBeGreaterThanOrEqual(second.prompt_tokens + second.tokens.length - 1);
    // The whole prompt again: its last token alone is computed.
    expect((await same([...chat, assistant(first.generated_text), user(letters(20))])).cached_tokens).toBe(
      second.prompt_tokens - 1,
    );
  });

  it('reuse history up to where it was rewritten', async () => {
    const before = [user(letters(100))];
    const chat = [...before, assistant(`think${letters(80, 1)}thunk${letters(20, 2)}`), user(letters(9, 3))];
    const first = await same(chat);
    const cut = [...before, assistant(letters(20, 2)), user(letters(9, 3)), assistant(first.generated_text), user('more')];
    const kept = (await same(cut)).cached_tokens as number;
    // <s>, 'user:', the text, </s>, <s>, 'assistant:', and what both answers begin with
    expect(kept).toBeGreaterThanOrEqual(1 + 5 + 100 + 1 + 1 + 10);
    expect(kept).toBeLessThan(1 + 5 + 100 + 1 + 1 + 10 + 3);
  });

  it('are those of each prompt of a call, with beams and samples', async () => {
    const texts = [letters(90, 1), letters(40, 2), letters(90, 1).slice(0, 60) + letters(30, 5), letters(7, 4)];
    await generate(texts[0] as string, kShort);
    for (const options of [
      {},
      { num_beams: 3, num_return_sequences: 2 },
      { do_sample: true, seed: 4, num_return_sequences: 2 },
      { do_sample: true, seed: 5, top_k: 20 },
    ]) {
      const made = await generate(texts, { ...kShort, ...options });
      const expected = await anew(texts, { ...kShort, ...options });
      expect(made.map((list) => list.map(tokensOf))).toEqual(expected.map((list) => list.map(tokensOf)));
    }
    const again = await generate(texts, kShort);
    expect(again.map(([one]) => one.cached_tokens)).toEqual(again.map(([one]) => one.prompt_tokens - 1));
  });

  it('hold under a response_format, and after calls that were aborted', async () => {
    const response_format = {
      type: 'json_schema',
      json_schema: {
        type: 'object',
        properties: { name: { enum: ['abc', 'abd'] } },
        required: ['name'],
        additionalProperties: false,
      },
    } as const;
    const first = await same(letters(50), { response_format, eos_token_id: 2, max_new_tokens: 40 });
    expect(first.parsed).toBeDefined();
    const second = await same(letters(50) + first.generated_text + letters(8, 2), {
      response_format,
      eos_token_id: 2,
      max_new_tokens: 40,
    });
    expect(second.cached_tokens).toBeGreaterThanOrEqual(50);
    for (const after of [1, 2, 5]) {
      const chat = letters(70, after);
      const controller = new AbortController();
      let pieces = 0;
      const callback = () => void (++pieces === after && controller.abort());
      await expectError(generate(chat, { ...kShort, callback, signal: controller.signal }), 'AbortError');
      expect((await same(chat)).cached_tokens).toBe(69);
    }
  });

  it('make room for others at prefix_cache_bytes', async () => {
    await generate(letters(40), kShort);
    const { bytes } = generate.info().prefixes!; // two blocks of 32 tokens
    const small = await load({ prefix_cache_bytes: 2 * bytes });
    for (let i = 0; i < 8; ++i) {
      const [made] = await small(letters(60, i % 3), kShort);
      const [expected] = await anew(letters(60, i % 3), kShort);
      expect(made.tokens).toEqual(expected.tokens);
      expect(small.info().prefixes!.bytes).toBeLessThanOrEqual(2 * bytes);
    }
    expect(small.memory().prefixes).toBe(2 * bytes);
    await small.dispose();
    await expectError(load({ prefix_cache_bytes: -1 }), 'InputError', /prefix_cache_bytes/);
    await expectError(
      pipeline('feature-extraction', null, { prefix_cache_bytes: 9 }),
      'InputError',
      /expected a model that generates/,
    );
  });

  it('are saved, and loaded by a model of the same weights', async () => {
    const system = [{ role: 'system', content: letters(100) }];
    const saved = await generate.save_prefix(system);
    expect(saved).toBeInstanceOf(Uint8Array);
    const other = await load();
    expect(await other.load_prefix(saved)).toEqual({ tokens: 1 + 7 + 100 + 1 });
    const [made] = await other([...system, user('abc')], kShort);
    expect(made.cached_tokens).toBe(1 + 7 + 100 + 1);
    expect(made.tokens).toEqual((await same([...system, user('abc')])).tokens);
    expect(await other.save_prefix(system)).toEqual(saved);
    // A text has what the tokenizer adds.
    const text = await generate.save_prefix(letters(33));
    expect(await other.load_prefix(text)).toEqual({ tokens: 33 });
    const signal = AbortSignal.abort();
    await expectError(generate.save_prefix(letters(33), { signal }), 'AbortError');
    await expectError(generate.load_prefix(text, { signal }), 'AbortError');
    await expectError(generate.save_prefix(7 as never), 'InputError', /save_prefix/);
    await expectError(generate.save_prefix('abc', { max_new_tokens: 3 } as never), 'InputError', /unknown option 'max_new_tokens'/);
    await expectError(generate.save_prefix(letters(2048)), 'InputError', /context_length/);
    await expectError(anew.save_prefix('abc'), 'InputError', /raise prefix_cache_bytes/);
    expect(await anew.load_prefix(text)).toEqual({ tokens: 0 });
    await other.dispose();
  });

  it('are refused if they are damaged or of another model', async () => {
    const saved = await generate.save_prefix(letters(70));
    await expectError(generate.load_prefix(null as never), 'InputError', /expected the bytes of save_prefix/);
    for (const length of [0, 7, 8, 40, 100, 200, 400, saved.length >> 1, saved.length - 1]) {
      await expectError(generate.load_prefix(saved.slice(0, length)), 'ModelFormatError', /prefix/);
    }
    for (let at = 3; at < saved.length; at += saved.length / 40) {
      const damaged = saved.slice();
      damaged[Math.floor(at)]! ^= 16;
      await expectError(anew.load_prefix(damaged), 'ModelFormatError', /prefix/);
    }
    await expectError(generate.load_prefix(files().get('model.safetensors') as Uint8Array), 'ModelFormatError', /save_prefix/);
    const q8 = await load({ dtype: 'q8' });
    await expectError(q8.load_prefix(saved), 'ModelFormatError', /dtype: expected that of this model, q8, found "?'?f32/);
    expect(q8.info().prefixes).toBe(undefined);
    await q8.dispose();
    // Weights alone differ: one number of the first layer's norm.
    const changed = files();
    const weights = changed.get('model.safetensors') as Uint8Array;
    const { length } = weights;
    const header = JSON.parse(
      new TextDecoder().decode(weights.slice(8, 8 + Number(new DataView(weights.buffer).getBigUint64(0, true)))),
    );
    const [, { data_offsets }] = Object.entries<any>(header).find(([name]) => name.endsWith('layers.0.input_layernorm.weight'))!;
    weights[length - (Math.max(...Object.values<any>(header).map((each) => each.data_offsets?.[1] ?? 0)) - data_offsets[0]) + 2]! ^=
      64;
    const other = await pipeline('text-generation', changed, { threads: 1 });
    await expectError(other.load_prefix(saved), 'ModelFormatError', /saved by another model/);
    await other.dispose();
  });
});

describe.each([1, 2])('prefixes in %s workers', (count) => {
  it('give the same answers', async () => {
    const here = await load({ prefix_cache_bytes: 0 });
    const there = await load({ worker: count === 1 ? true : count });
    const saved = await there.save_prefix(letters(80));
    const prompt = letters(80) + letters(9, 2);
    const once = async (reads: number) => {
      const [made] = await there(prompt, kShort);
      expect(made.tokens).toEqual((await here(prompt, kShort))[0].tokens);
      expect(made.cached_tokens).toBeGreaterThanOrEqual(reads);
    };
    expect(await there.load_prefix(saved)).toEqual({ tokens: 80 });
    for (let i = 0; i < 3; ++i) await once(80); // every worker has it
    expect(there.info().prefixes!.sequences).toBeGreaterThanOrEqual(count);
    expect(there.memory().prefixes).toBe(count * (there.info().prefixes!.max_bytes / count));
    await expectError(there.load_prefix(saved.slice(0, 300)), 'ModelFormatError');
    await here.dispose();
    await there.dispose();
  });
});

describe('chats in several workers', () => {
  it('go to the worker that has read their beginning', async () => {
    const there = await load({ worker: 3 });
    const begun = await Promise.all([1, 2, 3].map((chat) => there(letters(40, chat), kShort))); // every worker has one
    expect(begun.map(([one]) => one.cached_tokens)).toEqual([0, 0, 0]);
    for (const length of [60, 80]) {
      for (const chat of [3, 1, 2]) {
        const [one] = await there(letters(length, chat), kShort);
        expect(one.cached_tokens).toBeGreaterThanOrEqual(length - 20);
      }
    }
    await there.dispose();
  });

  it('go to another worker while theirs is busy', async () => {
    const there = await load({ worker: 2 });
    const prompt = letters(60);
    await there(prompt, kShort);
    const both = await Promise.all([there(prompt, kShort), there(prompt, kShort)]);
    expect(both.map(([one]) => one.cached_tokens! > 0)).toEqual([true, false]);
    await there.dispose();
  });

  it('as ids too', async () => {
    const model = await AutoModelForCausalLM.from_pretrained(files(), { threads: 1, worker: 3 });
    const ids = (chat: number, length: number) => [Array.from({ length }, (_, i) => 3 + ((i * i + chat * 5) % 40))];
    const options = { max_new_tokens: 2, eos_token_id: [] as never, past_key_values: null };
    await Promise.all([1, 2, 3].map((chat) => model.generate({ input_ids: ids(chat, 40), ...options })));
    for (const chat of [2, 3, 1]) await model.generate({ input_ids: ids(chat, 60), ...options });
    expect(model.info().prefixes!.reused).toBeGreaterThanOrEqual(3 * 39); // the sum of each worker's last call
    await model.dispose();
  });
});

describe.each([false, true])('past_key_values (worker: %s)', (worker) => {
  it('hold what a call read until dispose()', async () => {
    const [first] = await generateBytes();
    const model = await AutoModelForCausalLM.from_pretrained(files(), { threads: 1, worker, prefix_cache_bytes: 4 * first });
    const ids = (seed: number, count = 60) => [Array.from({ length: count }, (_, i) => 3 + ((i * i + seed * 5) % 40))];
    const options = { max_new_tokens: 4, eos_token_id: [] as never };
    const { sequences, past_key_values } = await model.generate({ input_ids: ids(1), ...options, return_dict_in_generate: true });
    expect(past_key_values).toBeInstanceOf(DynamicCache);
    expect(past_key_values.get_seq_length()).toBe(63);
    for (let seed = 2; seed < 7; ++seed) await model.generate({ input_ids: ids(seed), ...options });
    const before = model.info().prefixes!;
    expect(before.bytes).toBe(before.max_bytes);
    const more = await model.generate({ input_ids: sequences, past_key_values, ...options });
    expect(model.info().prefixes).toMatchObject({ reused: 63, computed: 1 });
    const anew = await AutoModelForCausalLM.from_pretrained(files(), { threads: 1, prefix_cache_bytes: 0 });
    expect(more.tolist()).toEqual((await anew.generate({ input_ids: sequences, past_key_values: null, ...options })).tolist());
    // A cache of another model, or an empty one, gives the same answer.
    const empty = new DynamicCache();
    expect((await anew.generate({ input_ids: sequences, past_key_values, ...options })).tolist()).toEqual(more.tolist());
    expect((await anew.generate({ input_ids: sequences, past_key_values: empty, ...options })).tolist()).toEqual(more.tolist());
    await expectError(anew.generate({ input_ids: sequences, past_key_values: {} as never }), 'InputError', /past_key_values/);
    await past_key_values.dispose();
    await past_key_values.dispose();
    for (let seed = 2; seed < 7; ++seed) await model.generate({ input_ids: ids(seed), ...options });
    await model.generate({ input_ids: sequences, past_key_values, ...options });
    expect(model.info().prefixes).toMatchObject({ reused: 0, computed: 64 });
    const last = (await model.generate({ input_ids: ids(1), ...options, return_dict_in_generate: true })).past_key_values;
    await anew.dispose();
    await model.dispose();
    await last.dispose();
  });
});

describe('kv_cache_dtype', () => {
  it('holds keys and values in 8 bits, with the same bits over turns', async () => {
    const [f32, q8, anew] = await Promise.all(
      [{}, { kv_cache_dtype: 'q8' }, { kv_cache_dtype: 'q8', prefix_cache_bytes: 0 }].map((options) =>
        load(options as ModelOptions),
      ),
    );
    // The tiny heads have 8 numbers beside a scale: (8 + 4) / 32 of the bytes.
    expect(q8!.memory().prefixes! / f32!.memory().prefixes!).toBeCloseTo(0.375, 1);
    const [first] = await q8!(letters(90), kShort);
    expect(first.tokens).toEqual((await anew!(letters(90), kShort))[0].tokens);
    const longer = letters(90) + first.generated_text + letters(9, 3);
    const [second] = await q8!(longer, kShort);
    expect(second.tokens).toEqual((await anew!(longer, kShort))[0].tokens);
    expect(second.cached_tokens).toBeGreaterThanOrEqual(90);
    const saved = await q8!.save_prefix(letters(50));
    await expectError(f32!.load_prefix(saved), 'ModelFormatError', /bytes for 50 tokens/);
    for (const each of [f32, q8, anew]) await each!.dispose();
    await expectError(load({ kv_cache_dtype: 'q4' as never }), 'InputError', /kv_cache_dtype/);
  });
});

/** Bytes of a block of 32 tokens. */
async function generateBytes(): Promise<[number]> {
  const generate = await load();
  await generate('abc', { ...kShort, max_new_tokens: 1 });
  const { bytes } = generate.info().prefixes!;
  await generate.dispose();
  return [bytes];
}

describe('many chats', () => {
  const made = madeMemories();

  it(`equal those computed anew, in memory that stays: ${kChats}`, async () => {
    const [block] = await generateBytes();
    const anew = await load({ prefix_cache_bytes: 0 });
    const generate = await load({ prefix_cache_bytes: 20 * block });
    const { length } = made;
    const memory = made[length - 1] as WebAssembly.Memory;
    await generate(letters(800), { ...kShort, num_beams: 2 }); // the longest of all
    let seed = 1;
    const below = (most: number) => (seed = (seed * 48271) % 2147483647) % most;
    const formats = [
      undefined,
      undefined,
      { type: 'choice', choice: ['abc', 'abd', 'b'] },
      { type: 'regex', regex: '[a-f]{3,20}' },
    ] as const;
    let held = 0;
    let reused = 0;
    const chats: ChatMessage[][] = Array.from({ length: 6 }, () => []);
    for (let turn = 0; turn < kChats * 3; ++turn) {
      const i = below(chats.length);
      if (chats[i]!.length > 6) chats[i] = [];
      if (chats[i]!.length === 0 && below(2) === 0) chats[i]!.push({ role: 'system', content: letters(60) });
      chats[i]!.push(user(letters(1 + below(60), below(50))));
      const response_format = formats[below(4)];
      const options = {
        ...kShort,
        ...(response_format && { response_format, eos_token_id: 2, max_new_tokens: 30 }),
      } as TextGenerationOptions;
      if (below(8) === 0 && !response_format) options.num_beams = 2;
      if (below(4) === 0) {
        const controller = new AbortController();
        const after = below(6);
        let pieces = 0;
        const callback = () => void (++pieces > after && controller.abort());
        const single = { ...options, num_beams: 1, callback, signal: controller.signal };
        await generate(chats[i]!, single).catch((error) => expect(error.name).toBe('AbortError'));
        continue;
      }
      const [answer] = await generate(chats[i] as ChatMessage[], options);
      const [expected] = await anew(chats[i] as ChatMessage[], options);
      expect([turn, ...(answer as unknown as GeneratedText).tokens]).toEqual([
        turn,
        ...(expected as unknown as GeneratedText).tokens,
      ]);
      reused += answer.cached_tokens as number;
      chats[i]!.push(assistant(String(answer.generated_text)));
      if (turn >= kChats) held ||= memory.buffer.byteLength;
    }
    expect(reused).toBeGreaterThan(20 * kChats);
    expect(memory.buffer.byteLength).toBe(held);
    await generate.dispose();
    await anew.dispose();
  });
});
