// Tools, reasoning and structured output of chats through the AI SDK, LangChain and `wattn serve`, with those libraries and a client of OpenAI's routes.
import { AIMessage, HumanMessage, ToolMessage, type AIMessageChunk } from '@langchain/core/messages';
import { tool as langTool } from '@langchain/core/tools';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { pipeline, type Chat, type TextGenerationOptions, type TextGenerationPipeline } from 'wattn';
import { wattn } from 'wattn/ai-sdk';
import { chatModel } from 'wattn/langchain';
import { endServers, folderOf, startServer, type Served } from './serve_support.js';
import { callingModel, callingTemplate } from './structured_models.js';

const files = () => callingModel(callingTemplate('<tool_call>'), ['<tool_call>', '</tool_call>', '<think>', '</think>']);
const parameters = {
  type: 'object',
  properties: { q: { type: 'string', maxLength: 3 }, n: { type: 'integer', minimum: 0, maximum: 9 } },
  required: ['q', 'n'],
  additionalProperties: false,
} as const;
const sampled = { do_sample: true, temperature: 2 };

let generate: TextGenerationPipeline;
beforeAll(async () => {
  generate = await pipeline('text-generation', files());
});
afterAll(async () => {
  await generate.dispose();
  endServers();
});

/** The pipeline, whose calls are kept. */
function spied() {
  const chats: Chat[] = [];
  const own = (chat: Chat, options: TextGenerationOptions) => {
    chats.push(chat);
    return generate(chat, options);
  };
  const stream_deltas = (chat: Chat, options: TextGenerationOptions) => {
    chats.push(chat);
    return generate.stream_deltas(chat, options);
  };
  return { chats, pipe: Object.assign(own, { task: 'text-generation', stream_deltas }) as unknown as TextGenerationPipeline };
}

describe('wattn/ai-sdk', () => {
  const find = tool({
    inputSchema: jsonSchema<{ q: string; n: number }>(parameters),
    execute: async ({ q, n }) => ({ found: q.length + n }),
  });
  const settings = {
    prompt: 'abc',
    tools: { find },
    toolChoice: 'required',
    maxOutputTokens: 400,
    seed: 4,
    providerOptions: { wattn: sampled },
  } as const;

  it('calls tools, and gives their results to the model', async () => {
    const { chats, pipe } = spied();
    const model = wattn(pipe);
    const { steps } = await generateText({ ...settings, model, stopWhen: stepCountIs(2) });
    expect(steps).toHaveLength(2);
    const [first] = steps;
    expect(first?.finishReason).toBe('tool-calls');
    const results = first?.toolResults.map(({ input, output }) => [input, output]) as [any, any][];
    expect(results.length).toBeGreaterThan(0);
    for (const [input, output] of results) expect(output).toEqual({ found: input.q.length + input.n });
    const [, said, ...told] = chats[1] as Chat;
    expect(said).toMatchObject({ role: 'assistant', content: '' });
    expect(said?.tool_calls?.map((call) => call.function.arguments)).toEqual(results.map(([input]) => input));
    expect(told.map(({ role, content, name }) => [role, content, name])).toEqual(
      results.map(([, output]) => ['tool', JSON.stringify(output), 'find']),
    );
  });

  it('streams calls and reasoning', async () => {
    const wanted = await generateText({ ...settings, model: wattn(generate) });
    const parts: any[] = [];
    for await (const part of streamText({ ...settings, model: wattn(generate) }).fullStream) parts.push(part);
    const calls = parts.filter(({ type }) => type === 'tool-call');
    expect(calls.map(({ toolName, input }) => [toolName, input])).toEqual(
      wanted.toolCalls.map(({ toolName, input }) => [toolName, input]),
    );
    for (const { toolCallId, input } of calls) {
      const own = parts.filter(({ id }) => id === toolCallId);
      expect(own.map(({ type }) => type)).toEqual([
        'tool-input-start',
        ...own.slice(2).map(() => 'tool-input-delta'),
        'tool-input-end',
      ]);
      expect(JSON.parse(own.map(({ delta = '' }) => delta).join(''))).toEqual(input);
    }
    const thinking = { chat_template: `${callingTemplate('<tool_call>')}{% if add_generation_prompt %}<think>{% endif %}` };
    const own = { prompt: 'abc', maxOutputTokens: 60, seed: 2, providerOptions: { wattn: { ...sampled, ...thinking } } };
    const thought = await generateText({ ...own, model: wattn(generate) });
    expect(thought.reasoningText).toBeTruthy();
    const streamed = streamText({ ...own, model: wattn(generate) });
    expect([await streamed.reasoningText, await streamed.text]).toEqual([thought.reasoningText, thought.text]);
  });

  it('gives the probabilities that are asked for', async () => {
    const own = { prompt: 'abc', maxOutputTokens: 6, providerOptions: { wattn: { top_logprobs: 2 } } };
    const options = { max_new_tokens: 6, top_logprobs: 2, parse_response: true };
    const [wanted] = await generate([{ role: 'user', content: 'abc' }], options);
    expect(wanted.logprobs).toHaveLength(wanted.tokens.length);
    const whole = await generateText({ ...own, model: wattn(generate) });
    expect(whole.providerMetadata).toEqual({ wattn: { logprobs: wanted.logprobs } });
    const streamed = streamText({ ...own, model: wattn(generate) });
    expect([await streamed.text, await streamed.providerMetadata]).toEqual([whole.text, whole.providerMetadata]);
    expect((await generateText({ ...own, providerOptions: {}, model: wattn(generate) })).providerMetadata).toBeUndefined();
  });
});

describe('chatModel of wattn/langchain', () => {
  const find = langTool(async ({ q }: { q: string }) => q, { name: 'find', description: 'finds', schema: parameters as never });
  const options = { ...sampled, seed: 4, max_new_tokens: 400 };

  it('answers, and streams the same', async () => {
    const model = await chatModel({ model: generate, options: { max_new_tokens: 12 } });
    const whole = await model.invoke('abc');
    const [wanted] = await generate([{ role: 'user', content: 'abc' }], { max_new_tokens: 12, return_full_text: false });
    expect(whole.content).toBe(wanted.generated_text);
    expect(whole.usage_metadata).toMatchObject({ input_tokens: wanted.prompt_tokens, output_tokens: wanted.tokens.length });
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await model.stream('abc')) streamed = streamed?.concat(chunk) ?? chunk;
    expect(streamed?.content).toBe(whole.content);
  });

  it('calls bound tools, and reads their results', async () => {
    const { chats, pipe } = spied();
    const model = (await chatModel({ model: pipe, options })).bindTools([find], { tool_choice: 'find' });
    const question = new HumanMessage('abc');
    const said = await model.invoke([question]);
    expect(said.tool_calls).toEqual([
      { type: 'tool_call', name: 'find', id: expect.any(String), args: { q: expect.any(String), n: expect.any(Number) } },
    ]);
    const [call] = said.tool_calls as NonNullable<AIMessage['tool_calls']>;
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([question])) streamed = streamed?.concat(chunk) ?? chunk;
    expect(streamed?.tool_calls?.map(({ name, args }) => ({ name, args }))).toEqual([{ name: 'find', args: call?.args }]);
    const result = new ToolMessage({ content: '3', tool_call_id: call?.id as string, name: 'find' });
    await model.invoke([question, said, result]);
    expect(chats.at(-1)).toEqual([
      { role: 'user', content: 'abc' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: call?.id, type: 'function', function: { name: 'find', arguments: call?.args } }],
      },
      { role: 'tool', content: '3', tool_call_id: call?.id, name: 'find' },
    ]);
  });

  it('gives values of a schema', async () => {
    const model = await chatModel({ model: generate, options });
    const schema = z.object({ name: z.string().max(3), age: z.number().int().min(0).max(9) }).strict();
    const value = await model.withStructuredOutput(schema).invoke('abc');
    expect(schema.parse(value)).toEqual(value);
    const { raw, parsed } = await model.withStructuredOutput(parameters as never, { includeRaw: true }).invoke('abc');
    expect(JSON.parse(raw.content as string)).toEqual(parsed);
    const called = await model
      .withStructuredOutput(parameters as never, { method: 'functionCalling' })
      .invoke('abc')
      .catch((error: Error) => error.message);
    expect(typeof called === 'string' ? called : Object.keys(called)).toBeTruthy();
  });

  it('refuses what it does not know', async () => {
    await expect(chatModel({ modell: generate } as never)).rejects.toThrow(/chatModel: unknown option 'modell'/);
    await expect(chatModel({} as never)).rejects.toThrow(/expected the field 'model'/);
    const image = new HumanMessage({ content: [{ type: 'image_url', image_url: 'a' }] });
    await expect((await chatModel({ model: generate })).invoke([image])).rejects.toThrow(/found a part of type 'image_url'/);
  });
});

describe('wattn serve', () => {
  let server: Served;
  beforeAll(async () => {
    server = await startServer(['--model', folderOf(files()), '--served-model-name', 'caller']);
  });
  const tools = [{ type: 'function', function: { name: 'find', parameters } }];
  const ask = (body: object, messages: object[] = [{ role: 'user', content: 'abc' }]) =>
    server.ask('/v1/chat/completions', {
      body: { model: 'caller', messages, tools, temperature: 2, seed: 4, max_tokens: 400, ...body },
    });

  it('calls tools, whole and in a stream, and takes their results', async () => {
    const { json } = await ask({ tool_choice: 'required' });
    const [{ message, finish_reason }] = json.choices;
    expect([message.content, finish_reason]).toEqual([null, 'tool_calls']);
    const values = message.tool_calls.map((call: any) => [call.type, call.function.name, JSON.parse(call.function.arguments)]);
    for (const [type, name, value] of values)
      expect([type, name, Object.keys(value).sort()]).toEqual(['function', 'find', ['n', 'q']]);
    const { text } = await ask({ tool_choice: 'required', stream: true });
    const events = text.trimEnd().split('\n\n').map((event) => event.replace(/^data: /, '')).filter((event) => event !== '[DONE]').map((event) => JSON.parse(event).choices[0]); // prettier-ignore
    const told: string[] = [];
    for (const { index, function: own } of events.flatMap(({ delta }) => delta.tool_calls ?? []))
      told[index] = (told[index] ?? '') + own.arguments;
    expect(told.map((each) => JSON.parse(each))).toEqual(values.map(([, , value]: unknown[]) => value));
    expect(events.at(-1).finish_reason).toBe('tool_calls');
    const results = message.tool_calls.map(({ id }: any) => ({ role: 'tool', tool_call_id: id, content: '3' }));
    const more = await ask({ max_tokens: 3 }, [{ role: 'user', content: 'abc' }, message, ...results]);
    expect(more.status).toBe(200);
    expect(more.json.usage.prompt_tokens).toBeGreaterThan(json.usage.prompt_tokens);
    expect((await ask({ tool_choice: 'none', max_tokens: 3 })).json.usage.prompt_tokens).toBeLessThan(json.usage.prompt_tokens);
    expect((await ask({ tool_choice: { type: 'function', function: { name: 'fly' } } })).json.error.message).toMatch(/found 'fly'/);
    const bad = [{ role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'find', arguments: '{' } }] }];
    expect((await ask({}, bad)).json.error.message).toMatch(/tool_calls\[0\].function.arguments: expected a JSON object/);
  });
});
