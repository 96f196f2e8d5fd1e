// Tool calls and reasoning in each model family's format: parsed whole, cut off at every character, and piece by piece.
import { kFormats, kReasoning } from '../../web/generation/calls/formats.js';
import { formatOf, readTools } from '../../web/generation/calls/chat_plan.js';
import { MessageReader, readParts, type MessageFormat } from '../../web/generation/calls/message_reader.js';
import type { Callable } from '../../web/generation/calls/types.js';
import type { ChatDelta } from 'wattn';

type Arguments = Record<string, any>;
type Call = { name: string; arguments: Arguments };

/** JSON as Python's json.dumps() writes it, with its spaces. */
const dumps = (value: any): string =>
  Array.isArray(value)
    ? `[${value.map(dumps).join(', ')}]`
    : typeof value === 'object' && value !== null
      ? `{${Object.entries(value)
          .map(([key, each]) => `${JSON.stringify(key)}: ${dumps(each)}`)
          .join(', ')}}`
      : JSON.stringify(value);

/** Values as Python writes them: its quotes are chosen as repr() does. */
function repr(value: any): string {
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `${repr(key)}: ${repr(each)}`)
      .join(', ')}}`;
  if (typeof value !== 'string') return String(value);
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const own = value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`);
  return `${quote}${own.replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')}${quote}`;
}
const python = ({ name, arguments: own }: Call) =>
  `${name}(${Object.entries(own)
    .map(([key, value]) => `${key}=${repr(value)}`)
    .join(', ')})`;

const gemma =
  (quote: string) =>
  (value: any): string =>
    Array.isArray(value)
      ? `[${value.map(gemma(quote)).join(',')}]`
      : typeof value === 'string'
        ? `${quote}${value}${quote}`
        : typeof value === 'object' && value !== null
          ? `{${Object.entries(value)
              .map(([key, each]) => `${key}:${gemma(quote)(each)}`)
              .join(',')}}`
          : String(value);

const json = ({ name, arguments: own }: Call, key = 'arguments') => `{"name": ${JSON.stringify(name)}, "${key}": ${dumps(own)}}`;
const wrapped = (open: string, close: string) => (calls: Call[]) => calls.map((call) => `${open}${json(call)}${close}`).join('\n');
const xmlValue = (value: any) => (typeof value === 'string' ? value : JSON.stringify(value));

interface Family {
  /** Its format. */
  format: string;
  write(calls: Call[]): string;
  /** Keys are identifiers. */
  plainKeys?: boolean;
  /** Texts have none of these. */
  without?: RegExp;
  /** Text may come before calls. */
  prose?: false;
}

const kFamilies: Record<string, Family> = {
  'Qwen 2.5, Qwen 3 and Hermes': { format: 'hermes', write: wrapped('<tool_call>\n', '\n</tool_call>') },
  'SmolLM3 with xml_tools': { format: 'hermes', write: wrapped('<tool_call>', '</tool_call>') },
  'Qwen3-Coder': {
    format: 'qwen-xml',
    plainKeys: true,
    without: /^\n|\n$|<\/|^\s*(null|1|["[{]|$)/, // its texts are told from JSON by their schema alone
    write: (calls) =>
      calls
        .map(
          ({ name, arguments: own }) =>
            `<tool_call>\n<function=${name}>\n${Object.entries(own)
              .map(([key, value]) => `<parameter=${key}>\n${xmlValue(value)}\n</parameter>\n`)
              .join('')}</function>\n</tool_call>`,
        )
        .join('\n'),
  },
  'Llama 3': { format: 'llama', prose: false, write: (calls) => calls.map((call) => json(call, 'parameters')).join('; ') },
  'Llama 3 with its tag': {
    format: 'llama',
    write: (calls) => `<|python_tag|>${calls.map((call) => json(call, 'parameters')).join('; ')}`,
  },
  'Mistral': { format: 'mistral', write: (calls) => `[TOOL_CALLS] [${calls.map((call) => json(call)).join(', ')}]` },
  'Mistral since version 11': {
    format: 'mistral',
    write: (calls) => calls.map(({ name, arguments: own }) => `[TOOL_CALLS]${name}${dumps(own)}`).join(''),
  },
  'Mistral since version 13': {
    format: 'mistral',
    write: (calls) => calls.map(({ name, arguments: own }, i) => `[TOOL_CALLS]${name}[CALL_ID]abc${i}[ARGS]${dumps(own)}`).join(''),
  },
  'Granite 3': { format: 'granite', write: (calls) => `<|tool_call|>[${calls.map((call) => json(call)).join(', ')}]` },
  'Granite 3.1': { format: 'granite', write: (calls) => `<tool_call>[${calls.map((call) => json(call)).join(', ')}]` },
  'LFM2': {
    format: 'lfm2',
    plainKeys: true,
    write: (calls) => `<|tool_call_start|>[${calls.map(python).join(', ')}]<|tool_call_end|>`,
  },
  'SmolLM3 with python_tools': {
    format: 'smollm3',
    plainKeys: true,
    write: (calls) => `<code>\n${calls.map((call, i) => `x${i} = ${python(call)}\nprint(x${i})`).join('\n')}\n</code>`,
  },
  'FunctionGemma': {
    format: 'functiongemma',
    plainKeys: true,
    write: (calls) =>
      calls
        .map(({ name, arguments: own }) => `<start_function_call>call:${name}${gemma('<escape>')(own)}<end_function_call>`)
        .join(''),
  },
  'Gemma 4': {
    format: 'gemma4',
    plainKeys: true,
    write: (calls) => calls.map(({ name, arguments: own }) => `<|tool_call>call:${name}${gemma('<|"|>')(own)}<tool_call|>`).join(''),
  },
}; // prettier-ignore

/** Numbers from 0 to 1, the same each time. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const kPieces = [
  'a',
  'é',
  '😀',
  ' ',
  '"',
  "'",
  '\\',
  '\n',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  ',',
  ':',
  '=',
  ';',
  '</tool_',
  '<',
  '>',
  '\t',
  'null',
  '1',
];

function randomCalls(random: () => number, { plainKeys, without }: Family): Call[] {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const text = (): string => {
    const own = Array.from({ length: Math.floor(random() * 8) }, () => pick(kPieces)).join('');
    return without?.test(own) ? 'plain' : own;
  };
  const key = () => (plainKeys ? pick(['city', 'days', 'x_1', 'q']) : pick(['city', 'days', '"', 'a b', '{', 'é', 'name']));
  const value = (depth: number): any => {
    const kind = random() * (depth > 2 ? 4 : 6);
    if (kind < 2) return text();
    if (kind < 3) return pick([0, -1, 3, 1.5, 12345678]);
    if (kind < 4) return pick([true, false, null]);
    if (kind < 5) return Array.from({ length: Math.floor(random() * 3) }, () => value(depth + 1));
    return object(depth + 1);
  };
  const object = (depth: number): Arguments =>
    Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [key(), value(depth)]));
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    name: pick(['find', 'get_weather', 'f2']),
    arguments: object(0),
  }));
}

const tools: Callable[] = ['find', 'get_weather', 'f2'].map((name) => ({ name, parameters: {}, strict: false }));
const formatNamed = (name: string): MessageFormat => ({
  calls: kFormats.find((each) => each.name === name),
  reasoning: kReasoning[0],
  tools,
  isInside: false,
});

/** The parts of a message that deltas add up to. */
function added(deltas: readonly (ChatDelta | undefined)[]) {
  const out = { content: '', reasoning: '', calls: [] as { name: string; id: string; text: string }[] };
  for (const { content = '', reasoning_content = '', tool_calls = [] } of deltas.filter((each) => each !== undefined)) {
    out.content += content;
    out.reasoning += reasoning_content;
    for (const { index, id, function: own } of tool_calls) {
      const call = (out.calls[index] ??= { name: own.name as string, id: id as string, text: '' });
      call.text += own.arguments;
    }
  }
  return out;
}

/** What a text is when it comes in pieces. */
function streamed(text: string, format: MessageFormat, random: () => number) {
  const reader = new MessageReader(format);
  const deltas: (ChatDelta | undefined)[] = [];
  for (let at = 0; at < text.length;) {
    const length = 1 + Math.floor(random() * 4);
    deltas.push(reader.push(text.slice(at, at + length)));
    at += length;
  }
  const { message, delta } = reader.end(text);
  return { message, told: added([...deltas, delta]) };
}

describe.each(Object.entries(kFamilies))('calls of %s', (_, family) => {
  const format = formatNamed(family.format);

  it('are read with what is around them, and come to the same piece by piece', () => {
    const random = randoms(7);
    for (let i = 0; i < 40; ++i) {
      const calls = randomCalls(random, family);
      const thought = random() < 0.5 ? 'It is "sunny" {there}.' : '';
      const said = family.prose !== false && random() < 0.5 ? 'I look.\nNow:' : '';
      const text = `${thought && `<think>\n${thought}\n</think>\n\n`}${said && `${said}\n`}${family.write(calls)}`;
      const { message, told } = streamed(text, format, random);
      expect([text, message.tool_calls?.map((call) => call.function)]).toEqual([text, calls]);
      expect([message.content, message.reasoning_content ?? '']).toEqual([said, thought]);
      expect([told.content, told.reasoning]).toEqual([said, thought]);
      expect(told.calls.map(({ name, text }) => ({ name, arguments: JSON.parse(text) }))).toEqual(calls);
      expect(told.calls.map(({ id }) => id)).toEqual(message.tool_calls?.map(({ id }) => id));
    }
  });

  it('that end anywhere are never taken for others, and lose no text', () => {
    const random = randoms(11);
    for (let i = 0; i < 15; ++i) {
      const calls = randomCalls(random, family);
      const said = family.prose !== false ? 'Yes: ' : '';
      const text = said + family.write(calls);
      const wrong: string[] = [];
      const check = (isRight: boolean, end: number) => void (isRight || wrong.push(text.slice(0, end)));
      let before = readParts('', format, false);
      for (let end = 1; end <= text.length; ++end) {
        const now = readParts(text.slice(0, end), format, false);
        check(now.content.startsWith(before.content), end);
        check(
          before.calls.every((call, j) => now.calls[j]?.name === call.name && now.calls[j].text.startsWith(call.text)),
          end,
        );
        before = now;
        const cut = readParts(text.slice(0, end), format, true);
        const whole = cut.calls.map(({ name, value }) => ({ name, arguments: value }));
        check(dumps(whole) === dumps(calls.slice(0, whole.length)), end);
        check(cut.content.startsWith(said.trimEnd().slice(0, end)), end);
        check(cut.calls.length > 0 || cut.content.trimEnd() === text.slice(0, end).trimEnd(), end);
      }
      expect(wrong).toEqual([]);
      expect(before.calls).toHaveLength(calls.length);
    }
  });
});

describe('what is no call', () => {
  const read = (name: string, text: string) => readParts(text, formatNamed(name), true);
  const cases: [string, string][] = [
    ['hermes', 'a <tool_call> b'],
    ['hermes', '<tool_call>\n{"name": "find", "arguments": [1]}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": 1, "arguments": {}}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "find", "arguments": {"a": tru}}\n</tool_call>'],
    ['hermes', '<tool_call>\n{"name": "find", "arguments": {"a": 1'],
    ['llama', '{"answer": 42}'],
    ['llama', '{"name": "Ada", "parameters": {}}'],
    ['llama', '<|python_tag|>import os\nprint(os)'],
    ['mistral', '[TOOL_CALLS] none'],
    ['mistral', '[TOOL_CALLS]find {"a": }'],
    ['granite', '<|tool_call|>[1]'],
    ['lfm2', '<|tool_call_start|>[find(a=b)]<|tool_call_end|>'],
    ['smollm3', '<code>\nfor x in y:\n  pass\n</code>'],
    ['functiongemma', '<start_function_call>run:find{}<end_function_call>'],
    ['qwen-xml', '<tool_call>\n<function=find>\nno\n</function>\n</tool_call>'],
  ];
  it.each(cases)('is text: %s: %s', (name, text) => {
    expect(read(name, text)).toEqual({ reasoning: '', content: text, calls: [] });
    const { told } = streamed(text, formatNamed(name), randoms(3));
    expect(told.content).toBe(text);
  });

  it('stays text between calls that are whole', () => {
    const call = '<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call>';
    const { content, calls } = read('hermes', `a\n${call}\nb\n<tool_call>no</tool_call>\n${call}\nc`);
    expect(content).toBe('a\nb\n<tool_call>no</tool_call>\nc');
    expect(calls).toHaveLength(2);
  });
});

describe('what models write beside the form', () => {
  const read = (name: string, text: string, own = tools) =>
    readParts(text, { ...formatNamed(name), tools: own }, true).calls.map(({ name, value, id }) => [
      name,
      value,
      ...(id ? [id] : []),
    ]);
  const typed = readTools([
    {
      type: 'function',
      function: { name: 'find', parameters: { type: 'object', properties: { q: { type: 'string' }, n: { type: 'integer' } } } },
    },
  ]);
  it.each<[string, string, unknown[], Callable[]?]>([
    ['hermes', '<tool_call>{"name": "find", "arguments": "{\\"q\\": 1}"}</tool_call>', [['find', { q: 1 }]]],
    ['hermes', '<tool_call>{"name": "find"}</tool_call>', [['find', {}]]],
    ['hermes', '<tool_call>{"arguments": {"q": "x"}, "name": "find"}', [['find', { q: 'x' }]]],
    ['hermes', '<tool_call>{"name": "find", "arguments": null}</tool_call>', [['find', {}]]],
    ['hermes', '<tool_call>{"name": "find", "arguments": {"q": "a\nb"}}</tool_call>', [['find', { q: 'a\nb' }]]],
    ['hermes', '<tool_call>{"type": "function", "function": {"name": "find", "arguments": {"q": 1}}}</tool_call>', [['find', { q: 1 }]]],
    ['hermes', '<tool_call>[{"name": "find", "arguments": {}}, {"name": "f2", "arguments": {}}]</tool_call>', [['find', {}], ['f2', {}]]],
    ['llama', '{"type": "function", "function": "find", "parameters": {"q": "x"}}', [['find', { q: 'x' }]]],
    ['llama', '<|python_tag|>brave_search.call(query="a, b")', [['brave_search', { query: 'a, b' }]]],
    ['mistral', '[TOOL_CALLS] [{"name": "find", "arguments": {"q": 1}, "id": "VvvODy9mT"}]', [['find', { q: 1 }, 'VvvODy9mT']]],
    ['lfm2', '<|tool_call_start|>find(q="a")<|tool_call_end|>', [['find', { q: 'a' }]]],
    ['lfm2', '<|tool_call_start|>[{"name": "find", "arguments": {"q": "a"}}]<|tool_call_end|>', [['find', { q: 'a' }]]],
    ['lfm2', '<|tool_call_start|>[find("a", 2)]<|tool_call_end|>', [['find', { q: 'a', n: 2 }]], typed],
    ['lfm2', "<|tool_call_start|>[find(q='''a\n'b' ''', n=-1.5e3, r=(1, {'k': None}),)]<|tool_call_end|>", [['find', { q: "a\n'b' ", n: -1500, r: [1, { k: null }] }]]],
    ['lfm2', '<|tool_call_start|>[find(q="\\u00e9\\x41\\U0001F600\\\'")]<|tool_call_end|>', [['find', { q: "éA😀'" }]]],
    ['smollm3', '<code>print(find(q="a"))</code>', [['find', { q: 'a' }]]],
    ['smollm3', '<tool_call>{"name": "find", "arguments": {}}</tool_call>', [['find', {}]]],
    ['functiongemma', '<start_function_call>call:find{q:"a, b",r:word}<end_function_call>', [['find', { q: 'a, b', r: 'word' }]]],
    ['qwen-xml', '<tool_call>\n<function=find>\n<parameter=q>\n7\n</parameter>\n<parameter=n>\n7\n</parameter>\n</function>\n</tool_call>', [['find', { q: '7', n: 7 }]], typed],
  ])('%s: %s', (...[name, text, expected, own]) => expect(read(name, text, own)).toEqual(expected)); // prettier-ignore
});

describe('values in values', () => {
  it.each([
    ['lfm2', '<|tool_call_start|>[find(q=', ')]<|tool_call_end|>'],
    ['functiongemma', '<start_function_call>call:find{q:', '}<end_function_call>'],
  ])('are read to a depth of 200, and deeper ones are text: %s', (name, open, close) => {
    const read = (depth: number) => {
      const text = `${open}${'['.repeat(depth)}1${']'.repeat(depth)}${close}`;
      const { calls, content } = readParts(text, formatNamed(name), true);
      return [calls.map(({ value }) => JSON.stringify(value).length), content === text];
    };
    expect([read(200), read(201), read(100_000)]).toEqual([
      [['{"q":1}'.length + 400], false],
      [[], true],
      [[], true],
    ]);
  });
});

describe('reasoning', () => {
  const inside = (isInside: boolean): MessageFormat => ({ ...formatNamed('hermes'), isInside });
  const read = (text: string, isInside = false) => {
    const { message, told } = streamed(text, inside(isInside), randoms(5));
    expect([told.content, told.reasoning]).toEqual([message.content, message.reasoning_content ?? '']);
    return [message.reasoning_content, message.content];
  };
  it('comes before the answer, and may be open when the prompt ends', () => {
    expect(read('<think>\na < b\n</think>\n\nYes.')).toEqual(['a < b', 'Yes.']);
    expect(read('a </thin b\n</think>\n\nYes. ', true)).toEqual(['a </thin b', 'Yes. ']);
    expect(read('<think>\na\n</think>b', true)).toEqual(['a', 'b']);
    expect(read('<think>\n\n</think>\n\nYes.')).toEqual([undefined, 'Yes.']);
    expect(read('<think>no end </thi')).toEqual(['no end </thi', '']);
    expect(read('Yes. <think>no</think>')).toEqual([undefined, 'Yes. <think>no</think>']);
    expect(read('  ')).toEqual([undefined, '  ']);
  });
  it.each(kReasoning)('is between $open and $close', ({ open, close }) => {
    const format = { ...inside(false), reasoning: { open, close } };
    const { message, told } = streamed(`${open}a\nb${close}\nYes.`, format, randoms(1));
    expect(message).toEqual({ content: 'Yes.', reasoning_content: 'a\nb' });
    expect(told).toEqual({ content: 'Yes.', reasoning: 'a\nb', calls: [] });
  });
});

describe('the format of a model', () => {
  const file = (name: string, value: object): [string, Uint8Array] => [name, new TextEncoder().encode(JSON.stringify(value))];
  const named = (template: string, tokens: string[] = [], variables: string[] = []) => {
    const files = [file('tokenizer.json', { added_tokens: tokens.map((content, id) => ({ id, content })) })];
    const { calls, reasoning } = formatOf(template, files as never, (name) => variables.includes(name));
    return [calls?.name, reasoning?.open];
  };
  it('is known by its template, else by its tokens', () => {
    expect(named("{{ '<tool_call>\\n' }}")).toEqual(['hermes', undefined]);
    expect(named("{{ '<tool_call>' }}{{ content.split('</think>')[-1] }}")).toEqual(['hermes', '<think>']);
    expect(named('<tool_call>\n<function=name>\n<parameter=key>')).toEqual(['qwen-xml', undefined]);
    expect(named('[TOOL_CALLS]', ['<think>'])).toEqual(['mistral', '<think>']);
    expect(named('<|tool_call|> <tool_call>')).toEqual(['granite', undefined]);
    expect(named('\'{"name": "\' + name + \'", "parameters": \'<|eot_id|>')).toEqual(['llama', undefined]);
    expect(named('<|tool_list_start|>')).toEqual(['lfm2', undefined]);
    expect(named('{{ xml_tools }}{{ python_tools }}<code> <tool_call>')).toEqual(['hermes', undefined]);
    expect(named('{{ xml_tools }}{{ python_tools }}<code> <tool_call>', [], ['python_tools'])).toEqual(['smollm3', undefined]);
    expect(named('<start_function_call><escape>')).toEqual(['functiongemma', undefined]);
    expect(named('<|tool_call>call:<|channel>thought')).toEqual(['gemma4', '<|channel>thought\n']);
    expect(named('{{ messages }}', ['<tool_call>'])).toEqual(['hermes', undefined]);
    expect(named('{{ messages }}')).toEqual([undefined, undefined]);
  });
});
