// Tools in chats: template inputs, constrained calls of each family, streaming, and results passed back. Ajv validates the arguments.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { AutoTokenizer, env, IncompleteError, InputError, pipeline, UnsupportedError } from 'wattn';
import type { Chat, ChatDelta, ChatMessage, TextGenerationOptions, TextGenerationPipeline } from 'wattn';
import { callingModel, callingTemplate } from './structured_models.js';
import { failure } from './support.js';

const find = {
  type: 'function',
  function: {
    name: 'find',
    description: 'finds a place',
    parameters: {
      type: 'object',
      properties: {
        q: { type: 'string', maxLength: 4 },
        n: { type: 'integer', minimum: 0, maximum: 9 },
        near: { type: 'boolean' },
        kind: { enum: ['shop', 'bar'] },
      },
      required: ['q', 'kind'],
      additionalProperties: false,
    },
  },
};
const stop = {
  type: 'function',
  function: { name: 'stop', parameters: { type: 'object', properties: {}, additionalProperties: false } },
};
const tools = [find, stop];
const chat: Chat = [{ role: 'user', content: 'abc' }];
const ajv = new Ajv2020({ strict: false });
const validators: Record<string, (value: unknown) => boolean> = {
  find: ajv.compile(find.function.parameters),
  stop: ajv.compile(stop.function.parameters),
};

/** Each family: what its template shows, its special tokens, and further characters. */
const kFamilies: Record<string, { form: string; marks: string[]; more?: string; begins: RegExp; kwargs?: string }> = {
  hermes: { form: '<tool_call>', marks: ['<tool_call>', '</tool_call>'], begins: /^<tool_call>\n\{"name": "(find|stop)", "arguments": \{/ },
  'qwen-xml': { form: '<function=a><parameter=b>', marks: ['<tool_call>', '</tool_call>'], more: '<>/', begins: /^<tool_call>\n<function=(find|stop)>\n/ },
  llama: { form: '<|python_tag|>', marks: ['<|python_tag|>'], more: ';', begins: /^\{"name": "(find|stop)", "parameters": \{/ },
  mistral: { form: '[TOOL_CALLS]', marks: ['[TOOL_CALLS]'], begins: /^\[TOOL_CALLS\] \[\{"name": "(find|stop)", "arguments": \{/ },
  'mistral with [ARGS]': { form: '[TOOL_CALLS][ARGS]', marks: ['[TOOL_CALLS]', '[ARGS]'], begins: /^\[TOOL_CALLS\](find|stop)\[ARGS\]\{/ },
  granite: { form: '<|tool_call|>', marks: ['<|tool_call|>'], begins: /^<\|tool_call\|>\[\{"name": "(find|stop)", "arguments": \{/ },
  lfm2: { form: '<|tool_call_start|>', marks: ['<|tool_call_start|>', '<|tool_call_end|>'], more: '()TF', begins: /^<\|tool_call_start\|>\[(find|stop)\(/ },
  functiongemma: {
    form: '<start_function_call>',
    marks: ['<start_function_call>', '<end_function_call>', '<escape>'],
    begins: /^<start_function_call>call:(find|stop)\{/,
  },
  smollm3: { form: '<code>{{ python_tools }}', marks: ['<code>', '</code>'], more: '()TF', begins: /^<code>\n(find|stop)\(/, kwargs: 'python_tools' },
}; // prettier-ignore

const kOptions = { return_full_text: false, max_new_tokens: 300, do_sample: true, temperature: 2 } as const;

/** What deltas add up to. */
function added(deltas: readonly ChatDelta[]) {
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  for (const { index, function: own, ...first } of deltas.flatMap((each) => each.tool_calls ?? [])) {
    if (!calls[index])
      calls[index] = { ...(first as { id: string; type: string }), function: { name: own.name as string, arguments: '' } };
    (calls[index] as (typeof calls)[number]).function.arguments += own.arguments;
  }
  return { content: deltas.map(({ content = '' }) => content).join(''), calls };
}

describe.each(Object.entries(kFamilies))('tools of the family %s', (_, { form, marks, more, begins, kwargs }) => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline('text-generation', callingModel(callingTemplate(form), marks, more));
  });
  afterAll(() => generate.dispose());
  const offered = kwargs ? { chat_template_kwargs: { [kwargs]: tools } } : { tools };
  const ask = (options: TextGenerationOptions) => generate(chat, { ...kOptions, ...offered, ...options, return_full_text: false });

  it('must be called, with arguments that satisfy their schemas', async () => {
    let several = 0;
    let whole = 0;
    for (let seed = 1; seed < 10; ++seed) {
      const deltas: ChatDelta[] = [];
      try {
        const [one] = await ask({ tool_choice: 'required', seed, delta_callback: (delta) => deltas.push(delta) });
        const { tool_calls = [] } = one;
        expect(one.generated_text).toBe('');
        expect(tool_calls.length).toBeGreaterThan(0);
        for (const { id, type, function: own } of tool_calls) {
          expect([id, type]).toEqual([expect.stringMatching(/^[A-Za-z0-9]{9}$/), 'function']);
          expect([own.arguments, validators[own.name]?.(own.arguments)]).toEqual([own.arguments, true]);
        }
        const told = added(deltas).calls.map((call) => ({
          ...call,
          function: { ...call.function, arguments: JSON.parse(call.function.arguments) },
        }));
        expect(told).toEqual(tool_calls);
        if (tool_calls.length > 1) ++several;
        ++whole;
        const [raw] = await ask({ tool_choice: 'required', seed, parse_response: true });
        expect(raw.tool_calls?.map((call) => call.function)).toEqual(tool_calls.map((call) => call.function));
      } catch (error) {
        if (!(error instanceof IncompleteError)) throw error;
        expect(error.text).toMatch(begins);
      }
    }
    expect(whole).toBeGreaterThan(3);
    expect([several > 0, _]).toEqual([true, _]);
  });

  const isJson = ['<tool_call>', '<|python_tag|>', '<|tool_call|>', '[TOOL_CALLS]', '[TOOL_CALLS][ARGS]'].includes(form);
  if (isJson)
    it('may have white space between the tokens of their JSON', async () => {
      let spaces = 0;
      for (let seed = 1; seed < 20 && spaces === 0; ++seed) {
        const answer: unknown = await ask({ tool_choice: { name: 'find' }, seed, max_new_tokens: 60 }).catch(
          (error) => error as IncompleteError,
        );
        const text = answer instanceof IncompleteError ? answer.text : '';
        const rest = text.replace(begins, '').replace(/"(?:[^"\\]|\\.)*"?/g, '""');
        if (/\s/.test(rest)) ++spaces;
      }
      expect(spaces).toBeGreaterThan(0);
    });

  it('are one call where one is asked for by name, or several are refused', async () => {
    for (let seed = 1; seed < 5; ++seed) {
      const [named] = await ask({ tool_choice: { name: 'stop' }, seed });
      expect(named.tool_calls?.map((call) => call.function)).toEqual([{ name: 'stop', arguments: {} }]);
      const [one] = await ask({ tool_choice: { type: 'function', function: { name: 'find' } }, seed, max_new_tokens: 400 });
      expect(one.tool_calls?.map((call) => call.function.name)).toEqual(['find']);
      const [single] = await ask({ tool_choice: 'required', parallel_tool_calls: false, seed, max_new_tokens: 400 });
      expect(single.tool_calls).toHaveLength(1);
    }
  });
});

describe('tools', () => {
  let generate: TextGenerationPipeline;
  beforeAll(async () => {
    generate = await pipeline(
      'text-generation',
      callingModel(callingTemplate('<tool_call>'), ['<tool_call>', '</tool_call>', '<think>', '</think>']),
    );
  });
  afterAll(() => generate.dispose());
  const ask = (options: TextGenerationOptions, messages = chat) =>
    generate(messages, { ...kOptions, ...options, return_full_text: false });

  it('reach the template, but not with none', async () => {
    const tokenizer = await AutoTokenizer.from_pretrained(callingModel(callingTemplate('<tool_call>'), ['<tool_call>']));
    const count = (options: object) => tokenizer.apply_chat_template(chat, { add_generation_prompt: true, ...options }).length;
    const prompts = async (options: TextGenerationOptions) => (await ask({ ...options, max_new_tokens: 1 }))[0].prompt_tokens;
    expect(await prompts({ tools })).toBe(count({ tools }));
    expect(await prompts({ tools, tool_choice: 'none' })).toBe(count({}));
    expect(count({ tools })).toBeGreaterThan(count({}) + 100);
    await tokenizer.dispose();
  });

  it('are called as the model likes, and strictly from the beginning of a call on', async () => {
    const strict = [{ ...find, function: { ...find.function, strict: true } }];
    let calls = 0;
    let texts = 0;
    for (let seed = 1; seed < 30; ++seed) {
      try {
        const [one] = await ask({ tools: strict, seed, max_new_tokens: 300 });
        for (const call of one.tool_calls ?? []) expect(validators['find']?.(call.function.arguments)).toBe(true);
        expect(one.generated_text).not.toContain('<tool_call>');
        if (one.tool_calls) ++calls;
        else ++texts;
      } catch (error) {
        if (!(error instanceof IncompleteError)) throw error;
      }
    }
    expect(calls).toBeGreaterThan(2);
    expect(texts).toBeGreaterThan(2);
    const [free] = await ask({ tools, seed: 3, max_new_tokens: 60 });
    expect(free.generated_text).not.toBe('');
  });

  it('are part of the message, and their results are fed back', async () => {
    const full = { ...kOptions, return_full_text: true } as const;
    const [one] = await generate(chat, { ...full, tools, tool_choice: { name: 'stop' }, seed: 1 });
    const message = one.generated_text.at(-1) as ChatMessage;
    expect(message).toEqual({ role: 'assistant', content: '', tool_calls: one.tool_calls });
    const id = one.tool_calls?.[0]?.id as string;
    const more: Chat = [...one.generated_text, { role: 'tool', tool_call_id: id, name: 'stop', content: '{"ok":true}' }];
    const [two] = await generate(more, { ...full, tools, max_new_tokens: 3 });
    expect(two.generated_text).toHaveLength(4);
    expect(two.prompt_tokens).toBeGreaterThan(one.prompt_tokens + 20);
    const bare: Chat = [...chat, { role: 'assistant', tool_calls: message.tool_calls ?? [] }, { role: 'user', content: 'b' }];
    await expect(generate(bare, { max_new_tokens: 1 })).resolves.toHaveLength(1);
  });

  it('come the same in streams and in workers', async () => {
    const options = { ...kOptions, tools, tool_choice: { name: 'find' }, seed: 4 } as const;
    const [one] = await ask(options);
    const deltas: ChatDelta[] = [];
    for await (const delta of generate.stream_deltas(chat, options)) deltas.push(delta);
    expect(JSON.parse(added(deltas).calls[0]?.function.arguments as string)).toEqual(one.tool_calls?.[0]?.function.arguments);
    expect(deltas.length).toBeGreaterThan(3);
    const apart = await pipeline(
      'text-generation',
      callingModel(callingTemplate('<tool_call>'), ['<tool_call>', '</tool_call>', '<think>', '</think>']),
      { worker: true },
    );
    const [other] = await apart(chat, { ...options, return_full_text: false });
    expect(other.tokens).toEqual(one.tokens);
    expect(other.tool_calls?.map((call) => call.function)).toEqual(one.tool_calls?.map((call) => call.function));
    await apart.dispose();
  });

  it('wait for the end of the reasoning that the prompt begins', async () => {
    const template = `${callingTemplate('<tool_call>')}{% if add_generation_prompt %}<think>{{ '\\n' }}{% endif %}`;
    let thoughts = 0;
    for (let seed = 1; seed < 12; ++seed) {
      try {
        const [one] = await ask({ chat_template: template, tools, tool_choice: { name: 'stop' }, seed, max_new_tokens: 400 });
        expect(one.tool_calls).toHaveLength(1);
        expect(one.generated_text).toBe('');
        if (one.reasoning_content) ++thoughts;
      } catch (error) {
        if (!(error instanceof IncompleteError)) throw error;
      }
    }
    expect(thoughts).toBeGreaterThan(2);
  });

  it('are left to the program with parse_response: false, and with env.compat', async () => {
    const options = { tools, tool_choice: 'auto', seed: 2, max_new_tokens: 40 } as const;
    const [raw] = await ask({ ...options, parse_response: false });
    expect(raw).not.toHaveProperty('tool_calls');
    const [forced] = await ask({ tools, tool_choice: { name: 'stop' }, parse_response: false });
    expect(forced).not.toHaveProperty('tool_calls');
    expect(forced.generated_text).toMatch(/\{"name": "stop", "arguments": \{\s*\}\}/);
    env.compat = true;
    try {
      const [same] = await ask(options);
      expect(same.generated_text).toBe(raw.generated_text);
    } finally {
      env.compat = false;
    }
  });

  it('refuse what they cannot do', async () => {
    const plain = { chat_template: '{{ messages[0].content }}' };
    const other = await pipeline('text-generation', callingModel('{{ messages[0].content }}', []));
    const cases: [object, unknown, RegExp][] = [
      [{ tools, tool_choice: { name: 'fly' } }, InputError, /expected .* with one of 'find', 'stop', found 'fly'/],
      [{ tools, tool_choice: 'always' }, InputError, /found 'always'/],
      [{ tool_choice: 'required' }, InputError, /expected the option 'tools' beside it/],
      [{ tools: [{ type: 'function', function: {} }] }, InputError, /option 'tools': expected .* at index 0/],
      [{ tools: [{ name: 'a', parameters: 3 }] }, InputError, /'a': parameters: expected a JSON Schema/],
      [{ tools, tool_choice: 'required', response_format: { type: 'json_object' } }, InputError, /found both$/],
      [
        { tools: [{ name: 'a', parameters: { type: 'array', uniqueItems: true } }], tool_choice: 'required' },
        UnsupportedError,
        /uniqueItems/,
      ],
    ];
    for (const [options, type, message] of cases) {
      const error = await failure(ask(options as TextGenerationOptions));
      expect(error).toBeInstanceOf(type);
      expect(error.message).toMatch(message);
    }
    const error = await failure(other(chat, { ...plain, tools, tool_choice: 'required' }));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(/shows? how this model calls tools/);
    await other.dispose();
  });
});
