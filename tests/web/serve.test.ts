// wattn serve: its routes. Each answer is bit-identical to the library's, whatever else is requested at the same time.
import { join } from 'node:path';
import { pipeline } from 'wattn';
import { chatFiles } from './guide_models.js';
import { endServers, folderOf, startServer, type Served } from './serve_support.js';
import { filesOf, goldens, headFiles, mixedTexts, tiny, tinyFiles } from './support.js';

afterAll(endServers);

const floats = (embedding: number[]) => Float32Array.from(embedding);
const ofBase64 = (text: string) => new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer);
const errorOf = (reply: { json: any }) => reply.json.error.message ?? reply.json.error;

describe('a model that embeds', () => {
  let server: Served;
  let embed: Awaited<ReturnType<typeof pipeline<'feature-extraction'>>>;
  beforeAll(async () => {
    [server, embed] = await Promise.all([startServer(['--model', tiny]), pipeline('feature-extraction', tiny)]);
  });
  afterAll(async () => {
    await embed.dispose();
    expect(await server.stop()).toBe(0);
    expect(server.errors()).toBe('');
  });
  const embeddings = (body: object) => server.ask('/v1/embeddings', { body });

  it('says where it listens and what it serves', async () => {
    expect(server.said).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      model: 'model',
      task: 'feature-extraction',
    });
    const { json } = await server.ask('/v1/models');
    expect(json).toEqual({
      object: 'list',
      data: [{ id: 'model', object: 'model', created: expect.any(Number), owned_by: 'wattn' }],
    });
    expect((await server.ask('/v1/models/model')).json).toEqual(json.data[0]);
    expect((await server.ask('/health')).status).toBe(200);
  });

  it('answers /v1/embeddings in both formats', async () => {
    const texts = ['the', 'A small boat waits below the old bridge.'];
    const out = await embed(texts);
    const tokens = out.tokens.reduce((sum, count) => sum + count, 0);
    const { json } = await embeddings({ input: texts, model: 'model', user: 'ada' });
    expect(json).toMatchObject({ object: 'list', model: 'model', usage: { prompt_tokens: tokens, total_tokens: tokens } });
    json.data.forEach((each: any, i: number) => {
      expect(each).toMatchObject({ object: 'embedding', index: i });
      expect(floats(each.embedding)).toEqual(out.get(i).data);
    });
    const packed = await embeddings({ input: 'the', encoding_format: 'base64', dimensions: null });
    expect(ofBase64(packed.json.data[0].embedding)).toEqual(out.get(0).data);
    const short = await embeddings({ input: 'the', dimensions: 8 });
    expect(floats(short.json.data[0].embedding)).toEqual((await embed('the', { truncate_dim: 8, normalize: true })).data);
  });

  it('answers /embed, with its own normalisation and prompts', async () => {
    const texts = mixedTexts(3);
    for (const [body, options] of [
      [{}, { normalize: true }],
      [{ normalize: false }, { normalize: false }],
      [{ prompt_name: 'query' }, { normalize: true, prompt_name: 'query' }],
    ] as const) {
      const { json } = await server.ask('/embed', {
        body: { inputs: texts, truncate: true, truncation_direction: 'Right', ...body },
      });
      const out = await embed(texts, options);
      expect(json.map((row: number[]) => floats(row))).toEqual(texts.map((_, i) => out.get(i).data));
    }
    const { json } = await server.ask('/', { body: { inputs: 'the' } });
    expect(floats(json[0])).toEqual((await embed('the', { normalize: true })).data);
    expect((await server.ask('/info')).json).toMatchObject({
      model_id: 'model',
      model_dtype: 'f32',
      model_type: { embedding: { pooling: expect.any(String) } },
      max_input_length: embed.info().max_length,
      auto_truncate: false,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it('gives the bits of single calls to many requests at the same time', async () => {
    const texts = mixedTexts(60);
    const kinds = [{}, { normalize: false }, { prompt_name: 'query' }, { dimensions: 8 }];
    const wanted = async (text: string, { dimensions: truncate_dim, ...rest }: any) =>
      (await embed(text, { normalize: true, ...rest, ...(truncate_dim && { truncate_dim }) })).data.slice();
    const asked = texts.map((text, i) => ({ text, kind: kinds[i % kinds.length] as object }));
    const before = await server.metric('batches_total');
    const replies = await Promise.all(
      asked.map(({ text, kind }, i) =>
        // Requests of one text, and of several.
        server.ask('/embed', { body: { inputs: i % 5 === 0 ? [text, 'the', text] : text, truncate: true, ...kind } }),
      ),
    );
    for (const [i, { text, kind }] of asked.entries()) {
      const rows = replies[i]!.json.map((row: number[]) => floats(row));
      const each = await Promise.all((i % 5 === 0 ? [text, 'the', text] : [text]).map((one) => wanted(one, kind)));
      expect(rows).toEqual(each);
    }
    expect((await server.metric('batches_total')) - before).toBeLessThan(asked.length); // they did share calls
  });

  it('refuses by name what it does not do', async () => {
    const long = 'boat '.repeat(200);
    for (const [path, body, status, message] of [
      ['/v1/embeddings', { input: 'a', model: 'other' }, 404, /^model: expected 'model', which is served here, found 'other'$/],
      ['/v1/embeddings', { input: 'a', imput: 1 }, 400, /unknown option 'imput'; did you mean 'input'\?/],
      ['/v1/embeddings', { input: 'a', encoding_format: 'hex' }, 400, /'encoding_format': expected one of 'float', 'base64'/],
      ['/v1/embeddings', { input: [1, 2, 3] }, 400, /^input: expected texts, found token ids/],
      ['/v1/embeddings', { input: [] }, 400, /^input: expected a text or a list of texts, found an empty list/],
      ['/v1/embeddings', {}, 400, /^input: expected a text or a list of texts, found undefined/],
      ['/v1/embeddings', { input: ['a', long] }, 400, /^input\[1\]: expected at most \d+ tokens, found more/],
      ['/v1/embeddings', { input: 'a', dimensions: 33 }, 400, /^dimensions: expected at most 32, found 33/],
      ['/v1/embeddings', Array.from({ length: 3 }), 400, /expected a JSON object, found an array/],
      ['/embed', { inputs: long }, 413, /^inputs: expected at most \d+ tokens, found more \("truncate": true or/],
      ['/embed', { inputs: 'a', truncation_direction: 'Left' }, 422, /'truncation_direction': expected one of 'Right'/],
      ['/embed', { inputs: 'a', prompt_name: 'no' }, 422, /prompt.*'no'/],
      ['/embed', { inputs: Array.from({ length: 2049 }, () => 'a') }, 413, /^inputs: expected at most 2048 texts/],
      ['/predict', { inputs: 'a' }, 424, /^\/predict: expected a model served for text-classification \(--task\), found 'model'/],
      ['/rerank', { query: 'a', texts: ['b'] }, 424, /^\/rerank: expected a model served for text-classification/],
      ['/embed_sparse', { inputs: 'a' }, 424, /^\/embed_sparse: expected a model served for sparse-encoding/],
      ['/v1/chat/completions', { messages: [] }, 400, /^\/v1\/chat\/completions: expected a model served for text-generation/],
    ] as const) {
      const reply = await server.ask(path, { body });
      expect([path, reply.status, errorOf(reply)]).toEqual([path, status, expect.stringMatching(message)]);
      if (path.startsWith('/v1/')) expect(reply.json.error).toMatchObject({ type: 'invalid_request_error' });
      else expect(reply.json.error_type).toBe(status === 424 ? 'Backend' : 'Validation');
    }
    expect((await embeddings({ input: 'a', model: 'other' })).json.error).toMatchObject({
      param: 'model',
      code: 'model_not_found',
    });
  });

  it('lets one of several requests in a call fail alone', async () => {
    const wrong = server.ask('/embed', { body: { inputs: 'boat '.repeat(200) } });
    const right = Array.from({ length: 20 }, () => server.ask('/embed', { body: { inputs: 'the' } }));
    expect((await wrong).status).toBe(413);
    const wanted = (await embed('the', { normalize: true })).data;
    for (const { json } of await Promise.all(right)) expect(floats(json[0])).toEqual(wanted);
  });
});

describe('models that classify and rank', () => {
  it('answers /predict', async () => {
    const model = folderOf(headFiles('sequence'));
    const [server, classify] = await Promise.all([startServer(['--model', model]), pipeline('text-classification', model)]);
    const pair = { text: 'A boat.', text_pair: 'The river.' };
    const [one, two] = await classify(['A boat.', pair], { top_k: null });
    const predict = async (inputs: unknown, more = {}) => (await server.ask('/predict', { body: { inputs, ...more } })).json;
    expect(await predict('A boat.')).toEqual(one);
    expect(await predict(['A boat.', 'The river.'])).toEqual(two);
    expect(await predict([['A boat.'], ['A boat.', 'The river.']])).toEqual([one, two]);
    expect(await predict('A boat.', { raw_scores: true })).toEqual([
      ...(await classify(['A boat.'], { top_k: null, function_to_apply: 'none' }))[0]!,
    ]);
    const many = mixedTexts(40);
    const replies = await Promise.all(many.map((text) => predict([[text]], { truncate: true })));
    for (const [i, text] of many.entries()) expect(replies[i]).toEqual([(await classify([text], { top_k: null }))[0]]);
    const { json } = await server.ask('/info');
    expect(Object.keys(json.model_type)).toEqual(['classifier']);
    expect(Object.values(json.model_type.classifier.id2label)).toEqual(['contradiction', 'neutral', 'Entailment-yes']);
    expect((await server.ask('/predict', { body: { inputs: [['a', 'b', 'c']] } })).status).toBe(422);
    expect((await server.ask('/rerank', { body: { query: 'a', texts: ['b'] } })).json.error).toMatch(
      /expected a cross-encoder, with one label/,
    );
    await classify.dispose();
    expect(await server.stop()).toBe(0);
  });

  it('answers /rerank', async () => {
    const model = folderOf(headFiles('ranker'));
    const [server, rank] = await Promise.all([startServer(['--model', model]), pipeline('text-ranking', model)]);
    const texts = ['the old boat', 'birds sing', 'a river below the bridge', 'home'];
    const rerank = (body: object) => server.ask('/rerank', { body: { query: 'where is the boat', texts, ...body } });
    for (const [raw_scores, apply] of [
      [false, 'sigmoid'],
      [true, 'none'],
    ] as const) {
      // prettier-ignore
      const wanted = await rank('where is the boat', texts, { function_to_apply: apply });
      const { json } = await rerank({ raw_scores, return_text: true });
      expect(json).toEqual(wanted.map(({ corpus_id, score }) => ({ index: corpus_id, score, text: texts[corpus_id] })));
    }
    expect((await rerank({})).json[0]).not.toHaveProperty('text');
    expect((await rerank({ texts: ['a', ''] })).json.error).toBe('texts[1]: expected a text, found an empty one');
    expect((await rerank({ query: null })).json.error).toBe('query: expected a text, found none');
    expect((await rerank({ texts: 'a' })).json.error).toBe("texts: expected a list of texts, found 'a'");
    expect((await server.ask('/info')).json.model_type).toEqual({
      reranker: { id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 } },
    });
    await rank.dispose();
    expect(await server.stop()).toBe(0);
  });

  it('answers /embed_sparse', async () => {
    const model = join(goldens, 'sparse/splade');
    const [server, encode] = await Promise.all([
      startServer(['--model', model, '--task', 'sparse-encoding', '--workers', '2']),
      pipeline('sparse-encoding', model),
    ]);
    const texts = ['the old boat', 'birds'];
    const { json } = await server.ask('/embed_sparse', { body: { inputs: texts } });
    const wanted = await encode(texts);
    expect(json).toEqual(wanted.map(({ indices, values }) => Array.from(indices, (index, i) => ({ index, value: values[i] }))));
    expect((await server.ask('/info')).json).toMatchObject({
      model_type: { embedding: { pooling: 'splade' } },
      tokenization_workers: 2,
    });
    await encode.dispose();
    expect(await server.stop()).toBe(0);
  });
});

describe('a model that writes', () => {
  let server: Served;
  let generate: Awaited<ReturnType<typeof pipeline<'text-generation'>>>;
  beforeAll(async () => {
    const model = folderOf(chatFiles());
    [server, generate] = await Promise.all([
      startServer(['--model', model, '--served-model-name', 'boat-writer']),
      pipeline('text-generation', model),
    ]);
  });
  afterAll(async () => {
    await generate.dispose();
    expect(await server.stop()).toBe(0);
  });
  const messages = [{ role: 'user', content: 'The old boat' }];
  const chat = (body: object) => server.ask('/v1/chat/completions', { body: { model: 'boat-writer', messages, ...body } });
  /** The events of a stream. */
  const events = (text: string) =>
    text
      .trimEnd()
      .split('\n\n')
      .map((event) => (event === 'data: [DONE]' ? 'done' : JSON.parse(event.replace(/^data: /, ''))));

  it('answers a chat with what the library makes of it', async () => {
    for (const [body, options] of [
      [{ max_tokens: 12 }, { max_new_tokens: 12 }],
      [
        { max_completion_tokens: 9, temperature: 0 },
        { max_new_tokens: 9, do_sample: false },
      ],
      [
        { max_tokens: 9, temperature: 1.2, top_p: 0.9, seed: 7 },
        { max_new_tokens: 9, do_sample: true, temperature: 1.2, top_p: 0.9, seed: 7 },
      ],
      [
        { max_tokens: 6, temperature: 1, seed: 3, n: 2 },
        { max_new_tokens: 6, do_sample: true, temperature: 1, seed: 3, num_return_sequences: 2 },
      ],
    ] as const) {
      const wanted = await generate(messages, { ...options, return_full_text: false });
      const { json } = await chat(body);
      expect(json).toMatchObject({ object: 'chat.completion', model: 'boat-writer', id: expect.stringMatching(/^chatcmpl-/) });
      expect(json.choices.map(({ index, message, finish_reason }: any) => [index, message, finish_reason])).toEqual(
        wanted.map(({ generated_text, finish_reason }, i) => [
          i,
          { role: 'assistant', content: generated_text, refusal: null },
          finish_reason === 'length' ? 'length' : 'stop',
        ]),
      );
      const completion_tokens = wanted.reduce((sum, { tokens }) => sum + tokens.length, 0);
      const { prompt_tokens } = wanted[0]!;
      const prompt_tokens_details = { cached_tokens: expect.any(Number) };
      const total_tokens = prompt_tokens + completion_tokens;
      expect(json.usage).toEqual({ prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details });
      const again = await chat(body);
      expect(again.json.usage.prompt_tokens_details).toEqual({ cached_tokens: prompt_tokens - 1 });
    }
  });

  it('streams the same text, up to a stop text', async () => {
    const whole = (await chat({ max_tokens: 20 })).json;
    const { content } = whole.choices[0].message;
    const reply = await chat({ max_tokens: 20, stream: true, stream_options: { include_usage: true } });
    expect(reply.headers['content-type']).toBe('text/event-stream');
    const all = events(reply.text);
    expect(all.pop()).toBe('done');
    expect(all.pop()).toMatchObject({ object: 'chat.completion.chunk', choices: [], usage: whole.usage });
    expect(all.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(content);
    expect(all[0].choices[0].delta).toEqual({ role: 'assistant', content: '' });
    expect(all.at(-1).choices[0]).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: 'length' });
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    const stop = content.slice(6, 9) as string;
    const cut = content.slice(0, content.indexOf(stop));
    const stopped = await chat({ max_tokens: 20, stop });
    expect(stopped.json.choices[0]).toMatchObject({ message: { content: cut }, finish_reason: 'stop' });
    const streamed = events((await chat({ max_tokens: 20, stop: [stop], stream: true })).text).slice(0, -1);
    expect(streamed.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(cut);
  });

  it('has the same bits for many chats at the same time', async () => {
    const all = Array.from({ length: 24 }, (_, i) => ({
      messages: [{ role: 'user', content: `The boat ${'and the river '.repeat(i % 5)}` }],
      max_tokens: 4 + (i % 3),
      seed: i,
      temperature: i % 2,
      stream: i % 4 === 3,
    }));
    const replies = await Promise.all(all.map((body) => chat(body)));
    for (const [i, { messages: own, max_tokens, seed, temperature, stream }] of all.entries()) {
      const sampling = temperature ? { do_sample: true, temperature } : { do_sample: false };
      const [wanted] = await generate(own, { max_new_tokens: max_tokens, seed, ...sampling, return_full_text: false });
      const reply = replies[i]!;
      const text = stream
        ? events(reply.text).map((event) => event.choices?.[0].delta.content ?? '').join('') // prettier-ignore
        : reply.json.choices[0].message.content;
      expect([i, text]).toEqual([i, wanted!.generated_text]);
    }
  });

  it('computes chats that wait together in one call, each with the bits of its own', async () => {
    const before = await server.metric('batches_total');
    const chats = Array.from({ length: 9 }, (_, i) => [
      { role: 'user', content: `The boat ${'and the river '.repeat(i % 4)}${i}` },
    ]);
    const body = { max_tokens: 24, temperature: 0 };
    const replies = await Promise.all(chats.map((messages) => chat({ messages, ...body })));
    for (const [i, messages] of chats.entries()) {
      const [wanted] = await generate(messages, { max_new_tokens: 24, do_sample: false, return_full_text: false });
      const { choices, usage } = replies[i]!.json;
      expect([i, choices[0].message.content]).toEqual([i, wanted!.generated_text]);
      expect(usage).toMatchObject({ prompt_tokens: wanted!.prompt_tokens, completion_tokens: wanted!.tokens.length });
    }
    expect((await server.metric('batches_total')) - before).toBeLessThan(9);
    const drawing = { max_tokens: 24, temperature: 1, seed: 7 };
    const drawn = await Promise.all(chats.slice(0, 4).map((messages) => chat({ messages, ...drawing })));
    for (const [i, messages] of chats.slice(0, 4).entries()) {
      const how = { max_new_tokens: 24, do_sample: true, temperature: 1, seed: 7, return_full_text: false };
      expect([i, drawn[i]!.json.choices[0].message.content]).toEqual([i, (await generate(messages, how))[0]!.generated_text]);
    }
    // Without a seed all texts of a call would have the same draws.
    const calls = await server.metric('batches_total');
    await Promise.all(chats.slice(0, 4).map((messages) => chat({ messages, max_tokens: 24, temperature: 1 })));
    expect((await server.metric('batches_total')) - calls).toBe(4);
    // One that is too long fails alone.
    const long = [{ role: 'user', content: 'boat '.repeat(5000) }];
    const mixed = await Promise.all([chats[0]!, long, chats[1]!, chats[2]!].map((messages) => chat({ messages, ...body })));
    expect(mixed.map(({ status }) => status)).toEqual([200, 400, 200, 200]);
  });

  it('constrains answers by response_format, as the library does', async () => {
    const response_format = { type: 'regex' as const, regex: '(the|boat)( [a-z]{1,9}){3,4}' }; // the tiny model has no braces
    const [wanted] = await generate(messages, { max_new_tokens: 60, do_sample: false, return_full_text: false, response_format });
    const body = { response_format, max_tokens: 60, temperature: 0 };
    const { json } = await chat(body);
    expect(json.choices[0]).toMatchObject({ message: { content: wanted!.generated_text }, finish_reason: 'stop' });
    expect(json.choices[0].message.content).toMatch(/^(the|boat)( [a-z]{1,9}){3,4}$/);
    const streamed = events((await chat({ ...body, stream: true })).text).slice(0, -1);
    expect(streamed.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(wanted!.generated_text);
    // What the length ends is an answer here, with all its tokens.
    const half = (await chat({ ...body, max_tokens: 3 })).json;
    expect(half).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3, prompt_tokens: json.usage.prompt_tokens } }); // prettier-ignore
    expect(wanted!.generated_text.startsWith(half.choices[0].message.content)).toBe(true);
    const all = events((await chat({ ...body, max_tokens: 3, stream: true })).text);
    expect(all.at(-2)).toMatchObject({ choices: [{ finish_reason: 'length' }] });
  });

  it('takes messages in OpenAI\u2019s forms, and what asks for nothing', async () => {
    const plain = (await chat({ max_tokens: 5 })).json.choices[0].message.content;
    const parts = [
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'The old ' },
          { type: 'text', text: 'boat' },
        ],
      },
    ];
    const nothing = {
      tools: [],
      tool_choice: 'none',
      response_format: { type: 'text' },
      logit_bias: {},
      logprobs: false,
      frequency_penalty: 0,
      presence_penalty: null,
      user: 'ada',
      store: false,
      n: 1,
    };
    expect((await chat({ messages: parts, max_tokens: 5, ...nothing })).json.choices[0].message.content).toBe(plain);
    const answered = [...messages, { role: 'assistant', content: 'waits', refusal: null, annotations: [] }, ...messages];
    expect((await chat({ messages: answered, max_tokens: 2 })).status).toBe(200);
  });

  it('gives the logarithms of probabilities, and takes biases and penalties', async () => {
    const ask = { messages, max_tokens: 5, logprobs: true, top_logprobs: 2 };
    const { choices } = (await chat(ask)).json;
    const { content, refusal } = choices[0].logprobs;
    expect(refusal).toBeNull();
    expect(content).toHaveLength(5);
    for (const { token, logprob, bytes, top_logprobs } of content) {
      expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token);
      expect(top_logprobs).toHaveLength(2);
      expect(top_logprobs[0].logprob).toBe(logprob); // the likeliest is chosen
    }
    expect((await chat({ messages, max_tokens: 5 })).json.choices[0].logprobs).toBeNull();
    // In chunks, with the text that they are of; a stop text holds text back, and loses none.
    for (const stop of [undefined, 'zzz', choices[0].message.content.slice(2, 4)]) {
      const whole = (await chat({ ...ask, stop })).json.choices[0];
      const chunks = events((await chat({ ...ask, stop, stream: true })).text).slice(0, -1);
      const own = chunks.map((chunk) => chunk.choices[0]);
      expect(own.flatMap(({ logprobs }) => logprobs?.content ?? [])).toEqual(whole.logprobs.content);
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe(whole.message.content);
      expect(own.some(({ delta, logprobs }) => delta.content && logprobs?.refusal === null)).toBe(true);
      expect(own.every(({ delta }) => !('logprobs' in delta))).toBe(true);
    }
    const biased = (await chat({ messages, max_tokens: 3, logit_bias: { 9: 100 } })).json.choices[0].message.content;
    expect(new Set(biased).size).toBe(1);
    const varied = (await chat({ messages, max_tokens: 9, logit_bias: { 9: 50 }, presence_penalty: 2, frequency_penalty: 2 })).json;
    expect(varied.choices[0].message.content).not.toBe('');
  });

  it('refuses by name what would be ignored', async () => {
    const format = (schema: object) => ({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } });
    for (const [body, message] of [
      [format({ uniqueItems: true }), /^response_format: schema, '#': keyword 'uniqueItems' is not supported: for elements/],
      [format({ type: 'nothing' }), /^response_format: schema, '#\/type'|keyword 'type'/],
      [
        { response_format: { type: 'xml' } },
        /option 'response_format': expected an object with type 'json_schema', .*, found 'xml'/,
      ],
      [{ tools: [{ type: 'function', function: {} }] }, /^tools: expected \{ type: 'function'/],
      [{ tools: 'a' }, /^tools: expected a list/],
      [{ tool_choice: 'required' }, /option 'tool_choice': expected the option 'tools' beside it/],
      [{ logprobs: true, n: 2 }, /^logprobs: expected n = 1/],
      [{ top_logprobs: 3 }, /^top_logprobs: expected logprobs: true/],
      [{ logprobs: true, top_logprobs: 21 }, /^top_logprobs: expected at most 20, found 21/],
      [{ presence_penalty: 3 }, /'presence_penalty': expected a number from -2 to 2, found 3/],
      [{ logit_bias: { a: 1 } }, /^logit_bias: expected ids with numbers/],
      [{ stream: true, tools: [{}] }, /^tools: expected/],
      [{ stream: true, n: 2 }, /^n: expected 1 with stream, found 2/],
      [{ max_tokens: 0 }, /'max_tokens': expected a whole number from 1 on, found 0/],
      [{ temperature: 3 }, /'temperature': expected a number from 0 to 2, found 3/],
      [{ stop: [''] }, /^stop: expected a text or a list of texts/],
      [{ messages: 'a' }, /^messages: expected a list of messages, found 'a'/],
      [{ messages: [] }, /^messages: expected a list of messages, found an empty list/],
      [
        { messages: [{ role: 'bot', content: 'a' }] },
        /^messages\[0\]\.role: expected one of system, developer, user, assistant, tool, found 'bot'/,
      ],
      [{ messages: [{ role: 'user' }] }, /^messages\[0\]\.content: expected text, found undefined/],
      [
        { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
        /^messages\[0\]\.content: expected text, found a part of type 'image_url'/,
      ],
      [
        { messages: [{ role: 'assistant', content: 'a', tool_calls: [{}] }] },
        /^messages\[0\]\.tool_calls\[0\]: expected \{ id, type/,
      ],
      [{ messages: [{ role: 'user', content: 'boat '.repeat(5000) }], stream: true }, /tokens/],
      [{ maximum: 1 }, /unknown option 'maximum'/],
    ] as const) {
      const reply = await chat(body);
      expect([reply.status, reply.json?.error.message]).toEqual([400, expect.stringMatching(message)]);
    }
    expect((await chat({ functions: [{}] })).json.error).toEqual({
      message: 'functions: not supported here, found [{}]',
      type: 'invalid_request_error',
      param: 'functions',
      code: 'unsupported_parameter',
    });
    expect((await server.ask('/info')).status).toBe(424);
  });
});

it('refuses to serve a model that cannot do the task, or without a template', async () => {
  await expect(startServer(['--model', tiny, '--task', 'text-generation'])).rejects.toThrow(
    /ended with 2: wattn: .*expected a decoder/,
  );
  const untold = folderOf(filesOf(join(goldens, 'decoders/smollm')).set('tokenizer_config.json', new TextEncoder().encode('{}')));
  await expect(startServer(['--model', untold])).rejects.toThrow(/ended with 2: wattn: .*chat_template/);
  const unpooled = folderOf(tinyFiles({ 'modules.json': null }));
  await expect(startServer(['--model', unpooled])).rejects.toThrow(/ended with 2: wattn: .*--pooling/);
  const server = await startServer(['--model', unpooled, '--pooling', 'mean']);
  const embed = await pipeline('feature-extraction', unpooled);
  const { json } = await server.ask('/embed', { body: { inputs: 'the old boat' } });
  expect(floats(json[0])).toEqual((await embed('the old boat', { pooling: 'mean', normalize: true })).data);
  await embed.dispose();
  expect(await server.stop('SIGINT')).toBe(0);
});
