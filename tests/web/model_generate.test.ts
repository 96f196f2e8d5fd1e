// model.generate(), streamers and stopping criteria, as transformers.js's programs use them. The tokens are transformers' (tests/goldens).
import { join } from 'node:path';
import {
  AutoConfig,
  AutoModelForCausalLM,
  AutoModelForSeq2SeqLM,
  AutoTokenizer,
  BaseStreamer,
  DynamicCache,
  EosTokenCriteria,
  GenerationConfig,
  InterruptableStoppingCriteria,
  MaxLengthCriteria,
  pipeline,
  StoppingCriteria,
  StoppingCriteriaList,
  Tensor,
  TextStreamer,
  type CausalModel,
  type TextGenerationPipeline,
} from 'wattn';
import { expectError, goldens, readJson } from './support.js';

const llama = join(goldens, 'decoders/llama');
const ids = (rows: number[][]) => new Tensor('int64', rows.flat(), [rows.length, rows[0]!.length]);

class Collected extends BaseStreamer {
  puts: bigint[][] = [];
  ended = 0;
  override put(value: bigint[][]) {
    this.puts.push(...value);
  }
  override end() {
    ++this.ended;
  }
}

/** Ends a text after so many tokens. */
class After extends StoppingCriteria {
  calls = 0;
  constructor(readonly count: number) {
    super();
  }
  override _call(input_ids: bigint[][]) {
    ++this.calls;
    return input_ids.map(() => this.calls >= this.count);
  }
}

describe('model.generate', () => {
  let model: CausalModel;
  const { searches } = readJson('decoders/llama/expected.json');
  beforeAll(async () => void (model = await AutoModelForCausalLM.from_pretrained(llama)));
  afterAll(() => model.dispose());

  it('makes the tokens of transformers, padded at the end', async () => {
    for (const { input_ids, options, tokens } of searches.slice(0, 12)) {
      const out = await model.generate({ input_ids: ids([input_ids]), max_new_tokens: 24, ...options, pad_token_id: 57 });
      expect(out.type).toBe('int64');
      const longest = Math.max(...tokens.map((list: number[]) => list.length));
      const padded = (list: number[]) => [...input_ids, ...list, ...Array(longest - list.length).fill(57)];
      expect(out.tolist()).toEqual(tokens.map((list: number[]) => padded(list).map(BigInt)));
    }
  });

  it('takes the result of a tokenizer, a config, and rows with padding before them', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(llama);
    const inputs = tokenizer('abc what');
    const alone = await model.generate({ ...inputs, generation_config: { max_new_tokens: 9, transformers_version: '4' } });
    expect(alone.type).toBe('int32');
    const row = inputs.input_ids.tolist<number[][]>()[0]!;
    const padded = [
      [0, 0, ...row],
      [1, 7, ...row],
    ];
    const attention_mask = padded.map((list, i) => list.map((_, at) => (i === 0 && at < 2 ? 0 : 1)));
    const both = await model.generate({ inputs: padded, attention_mask, max_new_tokens: 9 });
    expect(both.slice(0, [2, 2 + alone.dims[1]!]).tolist()).toEqual(alone.tolist()[0]);
    await tokenizer.dispose();
  });

  it('takes a GenerationConfig, and tokens that are never chosen', async () => {
    const { input_ids, tokens } = searches[0];
    const generation_config = new GenerationConfig({ max_new_tokens: 6, suppress_tokens: [tokens[0][0]] });
    const out = await model.generate({ input_ids: [input_ids], generation_config });
    const bad = await model.generate({ input_ids: [input_ids], max_new_tokens: 6, bad_words_ids: [[tokens[0][0]]] });
    expect(out.tolist()).toEqual(bad.tolist());
    expect(out.slice(null, [input_ids.length, null]).indexOf(tokens[0][0])).toBe(-1);
  });

  it('returns what a chat passes on', async () => {
    const { input_ids } = searches[0];
    const first = await model.generate({ input_ids: [input_ids], max_new_tokens: 4, return_dict_in_generate: true });
    const { sequences, past_key_values } = first;
    expect([past_key_values instanceof DynamicCache, past_key_values.get_seq_length()]).toEqual([true, input_ids.length + 3]);
    const more = await model.generate({ input_ids: sequences, past_key_values, max_new_tokens: 4 });
    const whole = await model.generate({ input_ids: [input_ids], past_key_values: null, max_new_tokens: 8 });
    expect(more.tolist()).toEqual(whole.tolist());
    await past_key_values.dispose();
  });

  it.each([false, true])('tells a streamer of the prompt and of each token (worker: %s)', async (worker) => {
    const one = worker ? await AutoModelForCausalLM.from_pretrained(llama, { worker }) : model;
    const { input_ids, tokens } = searches[0];
    const streamer = new Collected();
    await one.generate({ input_ids: [input_ids], max_new_tokens: 24, streamer });
    expect(streamer.puts.map((put) => put.map(Number))).toEqual([input_ids, ...tokens[0].map((token: number) => [token])]);
    expect(streamer.ended).toBe(1);
    if (worker) await one.dispose();
  });

  it.each([false, true])('ends where criteria say so (worker: %s)', async (worker) => {
    const one = worker ? await AutoModelForCausalLM.from_pretrained(llama, { worker }) : model;
    const { input_ids, tokens } = searches[0];
    const length = input_ids.length;
    const stopped = async (stopping_criteria: any, rows = [input_ids]) =>
      (await one.generate({ input_ids: rows, max_new_tokens: 24, stopping_criteria })).tolist<number[][]>();
    expect(await stopped(new MaxLengthCriteria(length + 3))).toEqual([[...input_ids, ...tokens[0].slice(0, 3)]]);
    expect(await stopped([new EosTokenCriteria([tokens[0][5]])])).toEqual([[...input_ids, ...tokens[0].slice(0, 6)]]);
    const list = new StoppingCriteriaList();
    list.push(new MaxLengthCriteria(1000));
    list.extend([new After(2), (rows: bigint[][]) => rows.map(() => false)]);
    expect([[...list].length, await stopped(list)]).toEqual([3, [[...input_ids, ...tokens[0].slice(0, 2)]]]);
    const other = [...input_ids].reverse();
    const [first, second] = await stopped(new EosTokenCriteria(tokens[0][5]), [input_ids, other]);
    expect(first!.slice(length, length + 6)).toEqual(tokens[0].slice(0, 6));
    const [alone] = await stopped(new EosTokenCriteria(tokens[0][5]), [other]);
    expect(second!.slice(0, alone!.length)).toEqual(alone);
    if (worker) await one.dispose();
  });

  it('is interrupted from a callback, and goes on after reset()', async () => {
    const { input_ids, tokens } = searches[0];
    const stop = new InterruptableStoppingCriteria();
    const streamer = new Collected();
    streamer.put = (value) => {
      streamer.puts.push(...value);
      if (streamer.puts.length === 4) stop.interrupt();
    };
    const options = { input_ids: [input_ids], max_new_tokens: 24, streamer, stopping_criteria: stop };
    expect((await model.generate(options)).tolist()).toEqual([[...input_ids, ...tokens[0].slice(0, 3)]]);
    expect([stop.interrupted, streamer.ended]).toEqual([true, 1]);
    stop.reset();
    expect((await model.generate({ ...options, streamer: null })).tolist()).toEqual([[...input_ids, ...tokens[0]]]);
    const controller = new AbortController();
    streamer.put = () => controller.abort();
    await expectError(model.generate({ ...options, signal: controller.signal }), 'AbortError');
  });

  it('says what is missing, and what does not fit', async () => {
    const input_ids = [searches[0].input_ids];
    const refused = (options: object, name: string, message: RegExp) =>
      expectError(model.generate({ input_ids, max_new_tokens: 2, ...options }), name, message);
    for (const option of ['output_attentions', 'encoder_outputs', 'guidance_scale', 'inputs_embeds']) {
      await refused({ [option]: [1] }, 'UnsupportedError', new RegExp(`option '${option}' is not supported: .`));
    }
    await refused({ max_tokens: 3 }, 'InputError', /unknown option 'max_tokens'/);
    await refused({ streamer: {} }, 'InputError', /'streamer': expected an object with put\(\) and end\(\)/);
    await refused({ streamer: new Collected(), input_ids: [...input_ids, ...input_ids] }, 'InputError', /one prompt, found 2/);
    await refused({ stopping_criteria: [3] }, 'InputError', /expected a StoppingCriteria or a list of them, found 3/);
    await refused({ stopping_criteria: () => [true], num_beams: 2 }, 'InputError', /need num_beams 1/);
    await refused(
      { stopping_criteria: (_: unknown, scores: number[][]) => [scores[0]![0]! > 1] },
      'UnsupportedError',
      /criteria cannot read scores/,
    );
    await refused({ streamer: new BaseStreamer() }, 'UnsupportedError', /put/);
    await refused({ stopping_criteria: new StoppingCriteria() }, 'UnsupportedError', /_call/);
    await expectError(model.generate({}), 'InputError', /input_ids: expected a Tensor/);
    const past = { input_ids, past_key_values: new DynamicCache(3) };
    await expectError(model(past as never), 'UnsupportedError', /past_key_values: keys and values do not leave/);
  });

  it.each(['t5', 'marian'])('of an encoder-decoder: %s', async (name) => {
    const folder = join(goldens, 'seq2seq', name);
    const seq2seq = await AutoModelForSeq2SeqLM.from_pretrained(folder);
    const translate = await pipeline('text2text-generation', folder);
    const { inputs, runs } = readJson('seq2seq', name, 'expected.json');
    const { text, input_ids, generated } = inputs[0];
    expect(Object.keys(runs)).toContain('greedy');
    const streamer = new Collected();
    const out = await seq2seq.generate({ input_ids: ids([input_ids]), ...runs.greedy, streamer });
    const [start, ...rest] = out.tolist<bigint[][]>()[0]!;
    expect([start, ...rest.slice(0, generated.greedy.tokens[0].length)].map(Number)).toEqual([
      Number(streamer.puts[0]![0]),
      ...generated.greedy.tokens[0],
    ]);
    const [one] = await translate(text, { ...runs.greedy, stopping_criteria: new After(2) });
    expect(one).toMatchObject({ tokens: generated.greedy.tokens[0].slice(0, 2), finish_reason: 'stop' });
    for (const each of [seq2seq, translate]) await each.dispose();
  });
});

describe('pipelines', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => void (generate = await pipeline('text-generation', llama)));
  afterAll(() => generate.dispose());

  it('tell a TextStreamer, whose parts are the text in words', async () => {
    const options = { max_new_tokens: 20, return_full_text: false };
    const [{ generated_text, tokens }] = await generate('abc what', options);
    const [parts, seen]: [string[], bigint[]] = [[], []];
    const streamer = new TextStreamer(generate.tokenizer, {
      skip_prompt: true,
      callback_function: (text) => parts.push(text),
      token_callback_function: (all) => seen.push(...all),
    });
    const [streamed] = await generate('abc what', { ...options, streamer });
    expect(streamed.generated_text).toBe(generated_text);
    expect(parts.join('')).toBe(generate.tokenizer.decode(tokens, { skip_special_tokens: true }));
    for (const part of parts.slice(0, -1)) expect(part).toMatch(/\s$/);
    expect(seen.map(Number)).toEqual(tokens);
  });

  it('stop with the text so far', async () => {
    const texts: string[] = [];
    const options = { max_new_tokens: 20, return_full_text: false, callback: (piece: string) => texts.push(piece) };
    const [whole] = await generate('abc', { ...options, callback: undefined as never });
    const [part] = await generate('abc', { ...options, stopping_criteria: new After(6) });
    expect([part.tokens, part.finish_reason]).toEqual([whole.tokens.slice(0, 6), 'stop']);
    expect(whole.generated_text.startsWith(part.generated_text)).toBe(true);
    expect([texts.join(''), part.generated_text.length > 0]).toEqual([part.generated_text, true]);
  });
});

describe('TextStreamer', () => {
  const kWords = ['Hello', ' wor', 'ld', '.\n', ' 東', '京', '<eos>'];
  const tokenizer = {
    all_special_ids: [6],
    decode: (all: number[], { skip_special_tokens = false } = {}) =>
      all
        .filter((id) => !(skip_special_tokens && id === 6))
        .map((id) => kWords[id])
        .join(''),
  };
  const given = (options: object) => {
    const parts: string[] = [];
    const streamer = new TextStreamer(tokenizer, { callback_function: (text) => parts.push(text), ...options });
    for (const put of [[0, 1], [2], [3], [0], [1], [2], [4], [5], [6]]) streamer.put([put.map(BigInt)]);
    streamer.end();
    return parts;
  };

  it('gives whole words, lines, and ideographs', () => {
    expect(given({})).toEqual(['Hello wor', 'ld.\n', 'Hello ', 'world 東', '京']);
    expect(given({ skip_prompt: true })).toEqual(['ld.\n', 'Hello ', 'world 東', '京']);
    expect(given({ skip_special_tokens: false })).toEqual(['Hello wor', 'ld.\n', 'Hello ', 'world 東', '京', '<eos>']);
  });

  it('refuses what is no tokenizer, unknown options, and several prompts', async () => {
    await expectError(() => new TextStreamer({} as never), 'InputError', /expected a tokenizer/);
    await expectError(() => new TextStreamer(tokenizer, { skip: true } as never), 'InputError', /unknown option 'skip'/);
    await expectError(() => new TextStreamer(tokenizer).put([[1n], [2n]]), 'InputError', /expected one prompt, found 2/);
  });
});

it('AutoConfig reads config.json alone', async () => {
  const config = await AutoConfig.from_pretrained(llama);
  expect(config).toMatchObject({ model_type: 'llama', hidden_size: 24 });
  await expectError(
    AutoConfig.from_pretrained(new Map([['a.txt', new Uint8Array(1)]])),
    'ModelFormatError',
    /config.json: expected this file/,
  );
});
