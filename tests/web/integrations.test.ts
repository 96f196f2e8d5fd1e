// The entries for other libraries, tested with the libraries: the AI SDK and LangChain. tools/check_fixtures.mjs has LlamaIndex.TS and Orama.
import { join } from 'node:path';
import type { EmbeddingModelV4, LanguageModelV4, ProviderV4, RerankingModelV4 } from '@ai-sdk/provider';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { Document } from '@langchain/core/documents';
import { FakeVectorStore } from '@langchain/core/utils/testing';
import { embed, embedMany, generateObject, generateText, jsonSchema, Output, rerank, streamText } from 'ai';
import { AutoTokenizer, env, InputError, pipeline } from 'wattn';
import type {
  AbortSignalLike,
  Chat,
  FeatureExtractionPipeline,
  TextGenerationOptions,
  TextGenerationPipeline,
  TextRankingPipeline,
  Tokenizer,
} from 'wattn';
import { wattn } from 'wattn/ai-sdk';
import { WattnEmbeddings, WattnTextSplitter } from 'wattn/langchain';
import { WattnEmbedding } from 'wattn/llamaindex';
import { spellingModel } from './structured_models.js';
import { expectError, filesOf, goldens, headFiles, serveHub, tiny, until } from './support.js';

const texts = ['the river', 'a boat on the water'];
const decoder = join(goldens, 'decoders/llama');
const rowsOf = ({ data, dims }: { data: ArrayLike<number>; dims: readonly number[] }) =>
  texts.map((_, i) => Array.from(data).slice(i * (dims[1] as number), (i + 1) * (dims[1] as number)));

let encode: FeatureExtractionPipeline;
let rank: TextRankingPipeline;
let generate: TextGenerationPipeline;
let tokenizer: Tokenizer; // of generate
beforeAll(async () => {
  encode = await pipeline('feature-extraction');
  rank = await pipeline('text-ranking', headFiles('ranker'));
  generate = await pipeline('text-generation', decoder);
  tokenizer = await AutoTokenizer.from_pretrained(decoder);
});
afterAll(() => Promise.all([encode, rank, generate, tokenizer].map((pipe) => pipe.dispose())));

describe('wattn/ai-sdk', () => {
  it('has the form of a provider', () => {
    const provider: ProviderV4 = wattn;
    const models: [EmbeddingModelV4, RerankingModelV4, LanguageModelV4] = [wattn(encode), wattn(rank), wattn(generate)];
    for (const { specificationVersion } of [provider, ...models]) expect(specificationVersion).toBe('v4');
    expect(wattn.languageModel(decoder)).toMatchObject({ provider: 'wattn', modelId: decoder });
    expect(() => wattn.imageModel('a')).toThrow(/wattn makes no images/);
    expect(() => wattn.languageModel(encode as never)).toThrow(InputError);
  });

  it('embeds', async () => {
    const own = await encode(texts);
    const { embeddings, usage } = await embedMany({ model: wattn(encode), values: texts });
    expect(embeddings).toEqual(rowsOf(own));
    expect(usage.tokens).toBe(own.tokens.reduce((sum, count) => sum + count, 0));
    const one = await embed({ model: wattn.embeddingModel(), value: texts[0] as string });
    expect(one.embedding).toEqual(embeddings[0]);
    const short = { wattn: { truncate_dim: 8 } };
    expect((await embed({ model: wattn(encode), value: 'a', providerOptions: short })).embedding).toHaveLength(8);
    const bad = embed({ model: wattn(encode), value: 'a', providerOptions: { wattn: { poling: 'mean' } } });
    await expectError(bad, 'InputError', /unknown option 'poling'/);
    const aborted = embedMany({ model: wattn(encode), values: texts, abortSignal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('loads again after a load that failed', async () => {
    const model = wattn.embeddingModel(join(goldens, 'no such folder'));
    for (let i = 0; i < 2; ++i) await expect(embed({ model, value: 'a', maxRetries: 0 })).rejects.toThrow(/no such folder/);
  });

  it('ends a call while the model loads, and keeps the load for the next one', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve)); // the weights come after the abort
    const hub = await serveHub(filesOf(tiny), '/org/tiny/resolve/main/', {
      'model.safetensors': async (_, response, bytes) => {
        await held;
        response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      },
    });
    const { remoteHost } = env;
    env.remoteHost = hub.url;
    try {
      const model = wattn.embeddingModel('org/tiny');
      const control = new AbortController();
      const first = embed({ model, value: 'a', abortSignal: control.signal });
      await until(() => hub.requests.length > 0);
      control.abort();
      await expect(first).rejects.toMatchObject({ name: 'AbortError' });
      answer();
      expect((await embed({ model, value: 'a' })).embedding).toHaveLength(32);
      expect(new Set(hub.requests).size).toBe(hub.requests.length);
    } finally {
      answer();
      env.remoteHost = remoteHost;
      await hub.close();
    }
  });

  const messages = [{ role: 'user' as const, content: 'abc' }];
  const chat = async (options: object) =>
    (await generate([{ role: 'user', content: 'abc' }], { return_full_text: false, ...options }))[0];

  it('generates', async () => {
    const own = await chat({ max_new_tokens: 12 });
    const { text, usage, finishReason } = await generateText({ model: wattn(generate), messages, maxOutputTokens: 12 });
    expect([text, usage.outputTokens]).toEqual([own?.generated_text, own?.tokens.length]);
    const rendered = await tokenizer.apply_chat_template(messages, { add_generation_prompt: true, tokenize: false });
    expect(usage.inputTokens).toBe(tokenizer.count(rendered, { add_special_tokens: false }));
    expect(finishReason).toBe(own?.finish_reason === 'length' ? 'length' : 'stop');
    const sampled = { temperature: 1.3, topP: 0.9, topK: 20, seed: 7, maxOutputTokens: 12 };
    const same = await chat({ max_new_tokens: 12, do_sample: true, temperature: 1.3, top_p: 0.9, top_k: 20, seed: 7 });
    expect((await generateText({ model: wattn(generate), messages, ...sampled })).text).toBe(same?.generated_text);
    const beams = { max_new_tokens: 12, num_beams: 3 };
    const searched = await generateText({ model: wattn(generate), messages, providerOptions: { wattn: beams } });
    expect(searched.text).toBe((await chat(beams))?.generated_text);
    const parts = ['a', 'bc'].map((text) => ({ type: 'text' as const, text }));
    const joined = await generateText({
      model: wattn(generate),
      messages: [{ role: 'user', content: parts }],
      maxOutputTokens: 12,
    });
    expect(joined.text).toBe(text);
  });

  it('streams, and leaves stop sequences out', async () => {
    const whole = (await chat({ max_new_tokens: 24 }))?.generated_text as string;
    const at = Math.floor(whole.length / 2);
    const stop = whole.slice(at, at + 3);
    expect(stop).toHaveLength(3);
    const call = { model: wattn(generate), messages, maxOutputTokens: 24 };
    const pieces = [];
    const stream = streamText(call);
    for await (const piece of stream.textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(whole);
    const expected = whole.slice(0, whole.indexOf(stop));
    const stopped = streamText({ ...call, stopSequences: [stop] });
    expect([await stopped.text, await stopped.finishReason]).toEqual([expected, 'stop']);
    const { inputTokens, outputTokens } = await stopped.usage;
    expect([inputTokens, outputTokens]).toEqual([(await stream.usage).inputTokens, expect.any(Number)]);
    expect((await generateText({ ...call, stopSequences: [stop] })).text).toBe(expected);
  });

  it('ends a stream by a signal', async () => {
    const control = new AbortController();
    const parts: string[] = [];
    const { fullStream } = streamText({
      model: wattn(generate),
      messages,
      maxOutputTokens: 60,
      abortSignal: control.signal,
      onChunk: () => control.abort(),
    });
    for await (const { type } of fullStream) parts.push(type);
    expect(parts.at(-1)).toBe('abort');
    expect(parts).not.toContain('finish');
  });

  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'abc' }] }];

  it('ends the generation of a stream that is cancelled', async () => {
    let signal: AbortSignalLike | undefined;
    const spied = Object.assign(
      (chat: Chat, options: TextGenerationOptions) => {
        signal = options.signal;
        return generate(chat, options);
      },
      { task: 'text-generation' },
    ) as unknown as TextGenerationPipeline;
    const { stream } = await wattn(spied).doStream({ prompt, maxOutputTokens: 24 });
    const reader = stream.getReader();
    expect((await reader.read()).value?.type).toBe('stream-start');
    await until(() => signal !== undefined);
    expect(signal?.aborted).toBe(false);
    await reader.cancel();
    expect(signal?.aborted).toBe(true);
  });

  it('streams an error as a part', async () => {
    const { stream } = await wattn(generate).doStream({ prompt, providerOptions: { wattn: { max_new_tokens: 0 } } });
    const parts = [];
    for await (const part of stream) parts.push(part);
    expect(parts.map(({ type }) => type)).toEqual(['stream-start', 'error', 'finish']);
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'error' }, usage: { outputTokens: { total: undefined } } });
  });

  it('says what it cannot do', async () => {
    const { content, warnings } = await wattn(generate).doGenerate({
      prompt,
      maxOutputTokens: 2,
      presencePenalty: 1,
      frequencyPenalty: 0,
      reasoning: 'high',
      tools: [{ type: 'provider', id: 'a.now', name: 'now', args: {} }],
    });
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }]);
    const features = warnings.map((warning) => warning.type === 'unsupported' && warning.feature);
    expect(features).toEqual(['tools', 'reasoning']);
    const image = { type: 'file' as const, mediaType: 'image/png', data: new Uint8Array([137, 80, 78, 71]) };
    const call = generateText({ model: wattn(generate), messages: [{ role: 'user', content: [image] }] });
    await expectError(call, 'UnsupportedError', /found a part of type 'file'/);
  });

  it('generates objects, and streams them', async () => {
    const files = spellingModel('byte-level');
    const template = '{% for message in messages %}{{ message.content }}{% endfor %}';
    const config = { ...JSON.parse(new TextDecoder().decode(files.get('tokenizer_config.json'))), chat_template: template };
    files.set('tokenizer_config.json', new TextEncoder().encode(JSON.stringify(config)));
    const pipe = await pipeline('text-generation', files);
    type Person = { name: string; age: number };
    const schema = jsonSchema<Person>({
      type: 'object',
      properties: { name: { type: 'string', maxLength: 4 }, age: { type: 'integer', minimum: 0, maximum: 99 } },
      required: ['name', 'age'],
      additionalProperties: false,
    });
    const { object } = await generateObject({ model: wattn(pipe), schema, prompt: 'a' });
    expect(Object.keys(object).sort()).toEqual(['age', 'name']);
    const { partialOutputStream, output } = streamText({ model: wattn(pipe), output: Output.object({ schema }), prompt: 'a' });
    const parts: unknown[] = [];
    for await (const part of partialOutputStream) parts.push(part);
    expect(parts.at(-1)).toEqual(object);
    expect(await output).toEqual(object);
    const short = generateObject({ model: wattn(pipe), schema, prompt: 'a', maxOutputTokens: 3, maxRetries: 0 });
    await expect(short).rejects.toMatchObject({ name: 'AI_NoObjectGeneratedError', finishReason: 'length' });
    await pipe.dispose();
  });

  it('reranks', async () => {
    const own = await rank('a boat', texts);
    const { ranking } = await rerank({ model: wattn(rank), query: 'a boat', documents: texts });
    expect(ranking.map(({ originalIndex, score }) => [originalIndex, score])).toEqual(
      own.map(({ corpus_id, score }) => [corpus_id, score]),
    );
    const objects = texts.map((text) => ({ text }));
    const best = await rerank({ model: wattn(rank), query: 'a boat', documents: objects, topN: 1 });
    expect(best.ranking).toHaveLength(1);
    expect(objects).toContainEqual(best.rerankedDocuments[0]);
  });
});

describe('wattn/langchain', () => {
  it('embeds for a vector store', async () => {
    const embeddings: EmbeddingsInterface = new WattnEmbeddings({ model: encode });
    expect(await embeddings.embedDocuments(texts)).toEqual(rowsOf(await encode.encode_document(texts)));
    expect(await embeddings.embedDocuments([])).toEqual([]);
    expect(await new WattnEmbeddings().embedQuery('a boat')).toEqual(Array.from((await encode.encode_query('a boat')).data));
    const store = new FakeVectorStore(embeddings);
    await store.addDocuments(texts.map((pageContent, i) => new Document({ pageContent, metadata: { i } })));
    expect((await store.similaritySearch('a boat on water', 1))[0]?.metadata).toEqual({ i: 1 });
    expect(() => new WattnEmbeddings({ modle: 'a' } as never)).toThrow(/unknown option 'modle'/);
  });

  it('cuts documents into chunks', async () => {
    const pageContent = 'The river is wide. A boat is on the water. '.repeat(8);
    const document = new Document({ pageContent, metadata: { source: 'a.md', loc: { page: 2 } }, id: 'a' });
    const options = { max_tokens: 24, overlap: 6 };
    const expected = encode.tokenizer.chunk(pageContent, options);
    const ofTiny = await AutoTokenizer.from_pretrained(tiny);
    const splitter = new WattnTextSplitter({ tokenizer: encode, ...options });
    const chunks = await splitter.transformDocuments([document]);
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks).toEqual(
      expected.map(({ text, start, end }) => ({
        pageContent: text,
        metadata: { source: 'a.md', loc: { page: 2, characters: { from: start, to: end } } },
      })),
    );
    expect(await new WattnTextSplitter({ tokenizer: encode.tokenizer, ...options }).splitText(pageContent)).toEqual(
      expected.map(({ text }) => text),
    );
    const named = new WattnTextSplitter({ tokenizer: tiny, max_tokens: 12 });
    expect(await named.splitText(pageContent)).toEqual(ofTiny.chunk(pageContent, { max_tokens: 12 }).map(({ text }) => text));
    expect((await named.createDocuments(['a boat'], [{ n: 1 }]))[0]?.metadata).toMatchObject({ n: 1 });
    expect(() => new WattnTextSplitter({ tokenizer: tiny } as never)).toThrow(/expected the field 'max_tokens'/);
    ofTiny.dispose();
  });
});

describe('wattn/llamaindex', () => {
  it('gives nodes their vectors, in batches', async () => {
    const own = rowsOf(await encode(texts));
    const embedding = new WattnEmbedding({ model: encode, embedBatchSize: 1 });
    const nodes = texts.map((text) => ({ embedding: undefined as number[] | undefined, getContent: () => text }));
    const done: number[][] = [];
    const made = await embedding(nodes, { progressCallback: (...counts) => done.push(counts) });
    expect(made.map((node) => node.embedding)).toEqual(own);
    expect(done).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(await embedding.getTextEmbedding(texts[1] as string)).toEqual(own[1]);
    expect(await embedding.getTextEmbeddings([])).toEqual([]);
    expect(embedding).toBeInstanceOf(WattnEmbedding);
    expect(new WattnEmbedding().id).not.toBe(embedding.id);
  });

  it('uses the prompts of the model, and refuses what it does not know', async () => {
    const calls: string[] = [];
    const pipe = Object.assign(async () => encode(texts), { task: 'feature-extraction' });
    for (const name of ['encode_query', 'encode_document'] as const) {
      Object.assign(pipe, { [name]: (given: string[]) => (calls.push(name), encode(given)) });
    }
    const embedding = new WattnEmbedding({ model: pipe as never });
    await embedding.getQueryEmbedding('a');
    await embedding.getTextEmbedding('a');
    expect(calls).toEqual(['encode_query', 'encode_document']);
    expect(() => new WattnEmbedding({ model: rank as never })).toThrow(
      /WattnEmbedding: expected a pipeline of 'feature-extraction'/,
    );
    expect(() => new WattnEmbedding({ batchSize: 1 } as never)).toThrow(/unknown option 'batchSize'/);
  });
});
