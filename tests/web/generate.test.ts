// Text generation as pages and programs use it: texts, chats, streams, signals, workers; and a decoder's internals.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AutoModelForCausalLM, AutoTokenizer, env, pipeline, Tensor } from 'wattn';
import type { ChatMessage, TextGenerationPipeline } from 'wattn';
import { expectError, failure, filesOf, goldens, largestDifference, readFloats, readJson, root } from './support.js';

const model = join(goldens, 'decoders/llama');
const longCases: string[] = readJson('long/decoders/cases.json');
const stories = join(root, '../shared/data/weights/stories260K-llama');

async function pieces(stream: AsyncIterable<string>): Promise<string[]> {
  const out: string[] = [];
  for await (const piece of stream) out.push(piece);
  return out;
}

describe('text-generation', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline('text-generation', model);
  });
  afterAll(() => generate.dispose());

  it('makes the tokens of transformers', async () => {
    const { searches } = readJson('decoders/llama/expected.json');
    const tokenizer = await AutoTokenizer.from_pretrained(model);
    for (const { input_ids, options, tokens } of searches.slice(0, 8)) {
      const text = tokenizer.decode(input_ids.slice(1));
      const out = await generate(text, { max_new_tokens: 24, ...options });
      expect(out.map((one) => one.tokens)).toEqual(tokens);
      expect(out[0]?.generated_text).toBe(text + tokenizer.decode(tokens[0], { skip_special_tokens: true }));
    }
    await tokenizer.dispose();
  });

  it.each(longCases)('makes the tokens of transformers after a long prompt: %s', async (name) => {
    const long = await AutoModelForCausalLM.from_pretrained(join(goldens, 'long/decoders', name));
    for (const { input_ids, options, max_new_tokens, tokens } of readJson('long/decoders', name, 'expected.json').searches) {
      const out = await long.generate({ input_ids: [input_ids], max_new_tokens, ...options, pad_token_id: 0 });
      const answers = out.tolist().map((row: unknown) => (row as number[]).slice(input_ids.length).map(Number));
      const padded = (list: number[]) => [...list, ...Array((answers[0] as number[]).length - list.length).fill(0)];
      expect(answers).toEqual(tokens.map(padded));
    }
    await long.dispose();
  });

  it('answers lists with lists, each as alone, and leaves the prompt out when asked', async () => {
    const texts = ['abc', 'what is it', '', 'Ab'];
    const options = { max_new_tokens: 12, return_full_text: false };
    const all = await generate(texts, options);
    for (const [i, text] of texts.entries()) expect(all[i]).toEqual(await generate(text, options));
    expect(all[0]?.[0]?.generated_text.startsWith('abc')).toBe(false);
    expect(['eos', 'length']).toContain(all[0]?.[0]?.finish_reason);
  });

  it('draws for each prompt by itself without a seed, and with one as if it were alone', async () => {
    const options = { do_sample: true, temperature: 3, max_new_tokens: 12 };
    const texts = (results: any[]) => results.map(([{ generated_text }]) => generated_text as string);
    const prompts = Array.from({ length: 20 }, () => 'abc'); // more than run together
    expect(new Set(texts(await generate(prompts, options))).size).toBe(20);
    const [alone] = texts([await generate('abc', { ...options, seed: 5 })]);
    expect(new Set(texts(await generate(prompts, { ...options, seed: 5 })))).toEqual(new Set([alone]));
  });

  it('draws the same with the same seed', async () => {
    const options = { max_new_tokens: 16, do_sample: true, temperature: 1.4, top_p: 0.95, num_return_sequences: 2 };
    const one = await generate('abc', { ...options, seed: 5 });
    expect(await generate('abc', { ...options, seed: 5 })).toEqual(one);
    expect(await generate('abc', { ...options, seed: 6 })).not.toEqual(one);
    expect(one[0]?.tokens).not.toEqual(one[1]?.tokens);
  });

  it('streams what it answers, and ends when the reader leaves or the signal fires', async () => {
    const options = { max_new_tokens: 40, eos_token_id: [] };
    const [whole] = await generate('abc', { ...options, return_full_text: false });
    const streamed = await pieces(generate.stream('abc', options));
    expect(streamed.join('')).toBe(whole?.generated_text);
    expect(streamed.length).toBeGreaterThan(20);
    let count = 0;
    for await (const _piece of generate.stream('abc', options)) if (++count === 3) break;
    expect(count).toBe(3);
    const controller = new AbortController();
    const aborted = await failure(async () => {
      for await (const _piece of generate.stream('abc', { ...options, signal: controller.signal })) controller.abort();
    });
    expect(aborted.name).toBe('AbortError');
    expect(await generate('abc', { ...options, return_full_text: false })).toEqual([whole]);
  });

  it('runs several calls one after the other', async () => {
    const options = { max_new_tokens: 10 };
    const [a, b] = await Promise.all([generate('abc', options), generate('what', options)]);
    expect(a).toEqual(await generate('abc', options));
    expect(b).toEqual(await generate('what', options));
  });

  it('puts chats into the template', async () => {
    const chat = [{ role: 'user', content: 'abc' }];
    const options = { max_new_tokens: 8 };
    const [out] = await generate(chat, options);
    const [plain] = await generate('user: abc\nassistant: ', { ...options, return_full_text: false, add_special_tokens: false });
    expect(out?.generated_text).toEqual([...chat, { role: 'assistant', content: plain?.generated_text }]);
    const tokenizer = await AutoTokenizer.from_pretrained(model);
    const text = await tokenizer.apply_chat_template(chat, { tokenize: false, add_generation_prompt: true });
    expect(text).toBe('user: abc\nassistant: ');
    expect(await tokenizer.apply_chat_template(chat)).toEqual(tokenizer.encode('user: abc\n', { add_special_tokens: false }));
    const files = filesOf(model);
    files.set('chat_template.jinja', new TextEncoder().encode('{{ messages[0].content }}, from the file'));
    const other = await AutoTokenizer.from_pretrained(files);
    expect(await other.apply_chat_template(chat, { tokenize: false })).toBe('abc, from the file');
    await other.dispose();
    env.jinja = { Template: class { render = () => 'what' } }; // prettier-ignore
    expect(await tokenizer.apply_chat_template(chat, { tokenize: false })).toBe('what');
    env.jinja = undefined;
    const [none] = [await failure(() => generate([{ role: 'user' } as unknown as ChatMessage]))];
    expect(none.name).toBe('InputError');
    await tokenizer.dispose();
  });

  it('says what is wrong', async () => {
    const refused = async (options: object, pattern: RegExp, text: unknown = 'abc') => {
      const error = await failure(() => generate(text as string, options));
      expect([error.name, pattern.test(error.message) || error.message]).toEqual(['InputError', true]);
    };
    await refused({ max_new_tokens: 0 }, /max_new_tokens/);
    await refused({ max_new_tokens: 1000 }, /context_length = 96/);
    await refused({}, /context_length = 96/, 'a'.repeat(200));
    await refused({ temperature: 0, do_sample: true }, /temperature/);
    await refused({ num_beams: 2, do_sample: true }, /num_beams/);
    await refused({ stop_strings: [''] }, /stop_strings/);
    await refused({ top_q: 1 }, /unknown option 'top_q'/);
    await refused({}, /expected a text/, 5);
    await refused({ num_beams: 2, callback() {} }, /num_beams 1/);
    const bert = await failure(() => pipeline('text-generation', join(goldens, 'bert-tiny/model')));
    expect([bert.name, bert.message]).toEqual(['UnsupportedError', expect.stringContaining('expected a decoder')]);
  });

  it('takes defaults from generation_config.json, and refuses there what it cannot do', async () => {
    const files = filesOf(model);
    const put = (config: object) => files.set('generation_config.json', new TextEncoder().encode(JSON.stringify(config)));
    put({ max_new_tokens: 3, eos_token_id: [] });
    const short = await pipeline('text-generation', files);
    expect((await short('abc'))[0]?.tokens.length).toBe(3);
    expect((await short('abc', { max_length: 9 }))[0]?.tokens.length).toBe(5);
    await short.dispose();
    put({ watermarking_config: { bias: 2 } });
    const odd = await pipeline('text-generation', files);
    await expectError(odd('abc'), 'UnsupportedError', /watermarking_config: expected no value \(its marks depend on/);
    await odd.dispose();
    put({ suppress_tokens: [5, 6], max_time: 100 });
    const shy = await pipeline('text-generation', files);
    const own = { max_new_tokens: 9, return_full_text: false };
    expect((await shy('abc', own))[0].tokens).toEqual((await generate('abc', { ...own, bad_words_ids: [[5], [6]] }))[0].tokens);
    expect((await shy('abc', { ...own, suppress_tokens: [] }))[0].tokens).toEqual((await generate('abc', own))[0].tokens);
    await shy.dispose();
  });

  it('runs in a worker, and streams out of it', async () => {
    const away = await pipeline('text-generation', model, { worker: true });
    const options = { max_new_tokens: 30, eos_token_id: [] };
    expect(await away(['abc', 'b'], options)).toEqual(await generate(['abc', 'b'], options));
    expect((await pieces(away.stream('abc', options))).join('')).toBe((await pieces(generate.stream('abc', options))).join(''));
    for await (const _piece of away.stream('abc', options)) break;
    expect(await away('abc', options)).toEqual(await generate('abc', options));
    await away.dispose();
  });

  it('holds weights in fewer bits, and runs on several threads with the same bits', async () => {
    const two = await pipeline('text-generation', model, { threads: 2 });
    const options = { max_new_tokens: 20 };
    expect(await two('abc', options)).toEqual(await generate('abc', options));
    await two.dispose();
    const q8 = await pipeline('text-generation', model, { dtype: 'q8', context_length: 40 });
    expect(q8.info().max_length).toBe(40);
    expect((await q8('abc', options))[0]?.tokens.length).toBeGreaterThan(0);
    expect(q8.memory().weights).toBeLessThan(generate.memory().weights);
    await q8.dispose();
  });
});

describe('AutoModelForCausalLM', () => {
  it("gives torch's logits, hidden states and attentions, and what each layer would say", async () => {
    const causal = await AutoModelForCausalLM.from_pretrained(model);
    const { inputs } = readJson('decoders/llama/expected.json');
    const all = readFloats('decoders/llama/expected.f32');
    const [{ input_ids, tensors }] = inputs;
    const options = { output_hidden_states: true, output_attentions: true, logit_lens: 2 };
    const out = await causal({ input_ids: [input_ids] }, options);
    const compare = (name: string, tensor: Tensor | undefined) => {
      const { offset, shape, max_abs } = tensors[name];
      expect(tensor?.dims).toEqual([1, ...shape]);
      const expected = all.subarray(offset, offset + (tensor as Tensor).data.length);
      // 64 roundings of the largest number: the native test has the exact bound.
      expect(largestDifference(tensor?.data as Float32Array, expected)).toBeLessThan(64 * max_abs * 2 ** -24);
    };
    compare('logits', out.logits);
    out.hidden_states?.forEach((state, i) => compare(`hidden_states.${i}`, state));
    out.attentions?.forEach((layer, i) => compare(`attentions.${i}`, layer));
    const { ids } = out.logit_lens as NonNullable<typeof out.logit_lens>;
    expect(ids.dims).toEqual([3, 1, input_ids.length, 2]);
    const row = (out.logits as Tensor<'float32'>).data.subarray(0, 59);
    expect(ids.data[2 * input_ids.length * 2]).toBe(row.indexOf(Math.max(...row)));
    // Beside a longer row, with padding before it.
    const padded = await causal({
      input_ids: [[0, 0, ...input_ids], [1, 5, 6, 7, 8, 9, 10, 11]],
      attention_mask: [[0, 0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1]],
    }); // prettier-ignore
    const logits = padded.logits?.data as Float32Array;
    expect(Array.from(logits.subarray(2 * 59, 8 * 59))).toEqual(Array.from(out.logits?.data as Float32Array));
    expect(logits.subarray(0, 2 * 59).every((x) => x === 0)).toBe(true);
    const [without] = [await causal({ input_ids: [input_ids] }, { head_mask: [0, 0, 0, 0] })];
    expect(without.logits?.data).not.toEqual(out.logits?.data);
    await causal.dispose();
  });
});

const trained = existsSync(stories) ? describe : describe.skip;
trained('a trained Llama (outside the repository)', () => {
  it("writes its author's story, in whole characters", async () => {
    const generate = await pipeline('text-generation', stories);
    const { ids } = JSON.parse(readFileSync(join(stories, 'greedy.expected.json'), 'utf8'));
    const [out] = await generate('', { max_new_tokens: ids.length });
    expect(out?.tokens).toEqual(ids);
    const streamed = await pieces(generate.stream('', { max_new_tokens: ids.length }));
    expect(streamed.join('').trim()).toBe(out?.generated_text.trim());
    const [stopped] = await generate('Once upon a time', { stop_strings: ['. '], max_new_tokens: 60 });
    expect(stopped?.finish_reason).toBe('stop');
    await generate.dispose();
  });
});
