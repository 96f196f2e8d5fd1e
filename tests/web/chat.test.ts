// Chats rendered by templates, against transformers (tests/goldens/chats), and templates that fail or never end.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AutoTokenizer, env, pipeline, type Tokenizer } from 'wattn';
import { expectError, filesOf, goldens, readJson, serveHub, textOf, tinyFiles, type Files } from './support.js';

const { templates, cases } = readJson('chats/cases.json');
const model = join(goldens, 'decoders/llama');
const chat = [{ role: 'user', content: 'abc' }];

describe('apply_chat_template', () => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await AutoTokenizer.from_pretrained(model);
  });
  afterAll(() => tokenizer.dispose());
  const render = (template: string, options = {}, messages: any = chat) =>
    tokenizer.apply_chat_template(messages, { chat_template: template, tokenize: false, ...options });

  it.each(
    cases.map((one: any, i: number): [number, string, string] => [i, one.template, JSON.stringify(one.options)]) as [
      number,
      string,
      string,
    ][],
  )('renders case %i as transformers does: %s %s', async (i) => {
    const { template, chat: messages, options, text } = cases[i];
    expect(await render(templates[template], options, messages)).toBe(text);
  });

  it('loads with a pipeline that asks for no file of sentence-transformers', async () => {
    const hub = await serveHub(filesOf(model), '/model/');
    const pipe = await pipeline('text-generation', `${hub.url}/model/`);
    const missing = hub.requests.filter((request) => !existsSync(join(model, request.split('/').at(-1) as string)));
    const beside = ['chat_template.jinja', 'special_tokens_map.json', 'added_tokens.json'];
    expect(missing.sort()).toEqual(beside.map((file) => `GET /model/${file}`).sort());
    await pipe.dispose();
    await hub.close();
  });

  it('leaves the chat as it was', async () => {
    const parts = [{ role: 'user', content: [{ type: 'text', text: 'What' }] }];
    const before = structuredClone(parts);
    await render(templates.parts, { continue_final_message: true }, parts);
    expect(parts).toEqual(before);
  });

  it('refuses options that it does not know, and messages that cannot be continued', async () => {
    const of = (options: object, template = templates.marks, messages: any = chat) => render(template, options, messages);
    await expectError(
      () => of({ enable_thinking: false }),
      'InputError',
      /^InputError: apply_chat_template: unknown option 'enable_thinking'/,
    );
    await expectError(() => of({ add_generation_promt: true }), 'InputError', /did you mean 'add_generation_prompt'\?/);
    await expectError(() => of({ add_generation_prompt: true, continue_final_message: true }), 'InputError', /found both$/);
    await expectError(
      () => of({ continue_final_message: 'thoughts' }),
      'InputError',
      /expected text in the last message's 'thoughts', found undefined$/,
    );
    const image = [{ role: 'user', content: [{ type: 'image' }] }];
    await expectError(
      () => of({ continue_final_message: true }, templates.parts, image),
      'InputError',
      /expected text in the last message's 'content'/,
    );
    await expectError(
      () => of({ continue_final_message: true }, '{{ messages[0].role }}'),
      'InputError',
      /does not show the last message as it is$/,
    );
    const cut = "{{ messages[0].content.split('b')[1] }}";
    await expectError(() => of({ continue_final_message: true }, cut), 'InputError', /does not show the last message as it is$/);
  });

  it('answers at once, with what transformers.js returns on request', async () => {
    const text = tokenizer.apply_chat_template(chat, { tokenize: false });
    expect(text).toBe('user: abc\n');
    const ids = tokenizer.encode(text, { add_special_tokens: false });
    expect(tokenizer.apply_chat_template(chat)).toEqual(ids);
    const inputs = tokenizer.apply_chat_template(chat, { return_dict: true });
    expect([inputs.input_ids.dims, inputs.attention_mask?.tolist()]).toEqual([[1, ids.length], [ids.map(() => 1)]]);
    const cut = { return_dict: true, return_tensor: false, truncation: true, max_length: 2 } as const;
    expect(tokenizer.apply_chat_template(chat, cut).input_ids).toEqual(ids.slice(0, 2));
    expect(tokenizer.apply_chat_template(chat, { return_tensor: true }).tolist()).toEqual([ids]);
    const kwargs = { return_dict: true, return_tensor: false, tokenizer_kwargs: { return_attention_mask: false } } as const;
    expect(tokenizer.apply_chat_template(chat, kwargs).attention_mask).toBe(undefined);
    await expectError(() => tokenizer.apply_chat_template(chat, { tokenizer_kwargs: { pad: true } as any }), 'InputError');
    env.compat = true;
    try {
      const theirs = tokenizer.apply_chat_template(chat) as any;
      expect([theirs.input_ids.type, theirs.input_ids.tolist().flat().map(Number)]).toEqual(['int64', ids]);
      const options = { tokenize: false, chat_template: '{{ word }}', word: 'what' } as const;
      expect(tokenizer.apply_chat_template(chat, options)).toBe('what');
    } finally {
      env.compat = false;
    }
  });

  it('has the template, which may be set, and several by name', async () => {
    const several = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: 'with tools' },
    ];
    const files = filesOf(model);
    const config = { ...JSON.parse(textOf(files, 'tokenizer_config.json')), chat_template: several };
    files.set('tokenizer_config.json', new TextEncoder().encode(JSON.stringify(config)));
    const own = await AutoTokenizer.from_pretrained(files);
    const text = (options: object = {}) => own.apply_chat_template(chat, { tokenize: false, ...options });
    expect(own.chat_template).toEqual({ default: 'plain', tool_use: 'with tools' });
    expect([text(), text({ tools: [{}] }), text({ chat_template: 'tool_use' })]).toEqual(['plain', 'with tools', 'with tools']);
    own.chat_template = '{{ eos_token }}';
    expect([text(), own.get_chat_template()]).toEqual(['</s>', '{{ eos_token }}']);
    own.eos_token = '<s>';
    expect(text()).toBe('<s>');
    own.chat_template = null;
    await expectError(() => text(), 'InputError', /chat template: expected chat_template in .* found none/);
    expect(text({ chat_template: 'given' })).toBe('given');
    await expectError(() => void (own.chat_template = 7 as any), 'InputError', /tokenizer\.chat_template: expected/);
    await own.dispose();
  });

  it('asks for chat_template.jinja only where it may be', async () => {
    const requests: string[] = [];
    const from = async (files: Files) => {
      const hub = await serveHub(files, '/');
      const tokenizer = await AutoTokenizer.from_pretrained(hub.url);
      requests.push(...hub.requests.filter((request) => request.includes('jinja')));
      await tokenizer.dispose();
      await hub.close();
    };
    await from(tinyFiles());
    expect(requests).toEqual([]);
    await from(filesOf(model));
    expect(requests).toHaveLength(1);
  });

  it('ends templates that never would', async () => {
    const loop = (depth: number, body: string): string =>
      depth === 0 ? body : `{% for i${depth} in range(1000) %}${loop(depth - 1, body)}{% endfor %}`;
    await expectError(
      () => render(loop(4, '{{ i1 }}')),
      'InputError',
      /^InputError: chat template: expected a template that ends, found more than 1001000 steps$/,
    );
    await expectError(
      () => render('{{ range(100001) | length }}'),
      'InputError',
      /range: expected at most 100000 numbers, found 100001$/,
    );
    await expectError(() => render('{{ range(5, 1, 0) | length }}'), 'InputError', /range: expected at most 100000 numbers/);
    await expectError(
      () => render('{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'),
      'InputError',
      /^InputError: chat template: /,
    );
    expect(await render('{{ range(100000) | length }}')).toBe('100000'); // and the next one runs
    const many = Array.from({ length: 10_000 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `${i}` }));
    expect((await render(templates.marks, {}, many)).length).toBeGreaterThan(100_000);
  });
});

describe('text-generation over chats', () => {
  it("continues an assistant's message, and another's on request", async () => {
    const files = filesOf(model);
    files.set('chat_template.jinja', new TextEncoder().encode(templates.marks));
    const generate = await pipeline('text-generation', files);
    expect(generate.tokenizer.apply_chat_template(chat, { tokenize: false })).toBe('<s><|user|>abc<|end|>\n');
    const plain = async (text: string) => {
      const [out] = await generate(text, { max_new_tokens: 6, return_full_text: false, add_special_tokens: false });
      return out?.generated_text;
    };
    const begun = [...chat, { role: 'assistant', content: 'so' }];
    const start = '<|user|>abc<|end|>\n<|assistant|>';
    const bos = '<s>';
    const [continued] = await generate(begun, { max_new_tokens: 6 });
    const more = await plain(`${bos}${start}so`);
    expect(continued?.generated_text).toEqual([...chat, { role: 'assistant', content: `so${more}` }]);
    const [fresh] = await generate(begun, { max_new_tokens: 6, continue_final_message: false });
    const next = await plain(`${bos}${start}so<|end|>\n<|assistant|>`);
    expect(fresh?.generated_text).toEqual([...begun, { role: 'assistant', content: next }]);
    const [user] = await generate(chat, { max_new_tokens: 6, continue_final_message: true });
    expect(user?.generated_text).toEqual([{ role: 'user', content: `abc${await plain(`${bos}<|user|>abc`)}` }]);
    const kwargs = { chat_template: '{{ word }}', chat_template_kwargs: { word: 'what' }, max_new_tokens: 6 };
    const [worded] = await generate(chat, kwargs);
    expect(worded?.generated_text.at(-1)).toEqual({ role: 'assistant', content: await plain('what') });
    await generate.dispose();
  });
});
