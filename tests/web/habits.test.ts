// Options that people pass out of habit (web/core/habits.ts): every accepted value of every row leaves the results unchanged.
import { AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer, env, InputError, pipeline } from 'wattn';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as jinja from '@huggingface/jinja';
import { kHabits, type Habit, type HabitualCall } from '../../web/core/habits.js';
import { writeModels } from '../compat/models.mjs';
import { goldens, readJson } from './support.js';

const { warn } = console;
const settings = { ...env };
let place: string;
let warnings: string[] = [];

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'wattn-habits-'));
  writeModels(goldens, place);
});
beforeEach(() => {
  Object.assign(env, { allowRemoteModels: false, localModelPath: place, jinja });
  warnings = [];
  console.warn = (text) => void warnings.push(text);
});
afterEach(() => {
  console.warn = warn;
  Object.assign(env, settings);
});
afterAll(() => rmSync(place, { recursive: true }));

const kText = 'A small boat waits below the old bridge.';
const chat = [{ role: 'user', content: kText }];
const kTemplate = '{% for message in messages %}{{ message.content }} {% endfor %}';
type Ask = (options?: object) => unknown;
const ofTask = async (task: string, model: string, ...args: unknown[]): Promise<Ask> => {
  const pipe = (await pipeline(task as never, model)) as (...args: unknown[]) => unknown;
  return (options) => pipe(...args, ...(options ? [options] : []));
};
/** Each call of the table, with the options that it needs. */
const kCalls: Record<HabitualCall, () => Promise<Ask>> = {
  'feature-extraction': () => ofTask('feature-extraction', 'local/embed', [kText, 'Home.']),
  'text-classification': () => ofTask('text-classification', 'local/sequence', kText),
  'zero-shot-classification': () => ofTask('zero-shot-classification', 'local/nli', kText, ['a river', 'birds']),
  'token-classification': () => ofTask('token-classification', 'local/token', kText),
  'fill-mask': () => ofTask('fill-mask', 'local/masked', 'The [MASK] runs.'),
  'text-ranking': () => ofTask('text-ranking', 'local/ranker', 'a boat', ['a bridge', kText]),
  'question-answering': () => ofTask('question-answering', 'local/answer', 'Where?', kText),
  'late-interaction': () => ofTask('late-interaction', join(goldens, 'late-interaction/bert'), 'a boat', [kText, 'Home.']),
  'sparse-encoding': () => ofTask('sparse-encoding', join(goldens, 'sparse/splade'), kText),
  'zero-shot-ner': () => ofTask('zero-shot-ner', join(goldens, 'spans/deberta'), kText, ['boat', 'bridge']),
  'information-extraction': () =>
    ofTask('information-extraction', join(goldens, 'schemas/bert'), kText, { relations: ['is below'] }),
  'text2text-generation': () => ofTask('text2text-generation', 'local/translate', kText),
  translation: () => ofTask('translation', 'local/translate', kText),
  summarization: () => ofTask('summarization', 'local/translate', kText),
  'text-generation': async () => {
    const pipe = await pipeline('text-generation', 'local/chat');
    return (options) => pipe(chat, { max_new_tokens: 6, chat_template: kTemplate, ...options });
  },
  tokenizer: async () => {
    const tokenizer = await AutoTokenizer.from_pretrained('local/embed');
    return (options) => tokenizer(kText, options as never);
  },
  encode: async () => {
    const tokenizer = await AutoTokenizer.from_pretrained('local/embed');
    return (options) => tokenizer.encode(kText, options as never);
  },
  chat: async () => {
    const tokenizer = await AutoTokenizer.from_pretrained('local/chat');
    return (options) => tokenizer.apply_chat_template(chat, { chat_template: kTemplate, ...options } as never);
  },
  model: async () => {
    const [tokenizer, model] = [await AutoTokenizer.from_pretrained('local/embed'), await AutoModel.from_pretrained('local/embed')];
    return (options) => model(tokenizer(kText), options as never);
  },
  generate: async () => {
    const model = await AutoModelForCausalLM.from_pretrained('local/chat');
    return (options) => model.generate({ input_ids: [[1, 5, 9]], max_new_tokens: 5, ...options });
  },
  load: async () => async (options) => {
    const embed = await pipeline('feature-extraction', 'local/embed', options as never);
    const vectors = await embed(kText);
    await embed.dispose();
    return vectors;
  },
  load_files: async () => async (options) => {
    const tokenizer = await AutoTokenizer.from_pretrained('local/embed', options as never);
    return [tokenizer.encode(kText), await AutoConfig.from_pretrained('local/embed', options as never)];
  },
};

const kSamples: Record<string, unknown[]> = {
  boolean: [true, false],
  number: [2],
  string: ['webgpu'],
  function: [() => {}],
  object: [{}],
  any: ['any', true],
};
const valuesOf = ({ values, options }: Habit) =>
  options.includes('tokenizer_encode_kwargs')
    ? [{ enable_thinking: false }]
    : typeof values === 'string'
      ? kSamples[values]!
      : values;
const asText = (answer: unknown) =>
  JSON.stringify(answer, (_, each) => (ArrayBuffer.isView(each) ? [...(each as never as number[])] : each));

describe.each(Object.keys(kCalls) as HabitualCall[])('%s', (call) => {
  let ask: Ask;
  beforeEach(async () => void (ask ??= await kCalls[call]()));

  const rows = kHabits.filter(({ calls }) => calls.includes(call));
  it.each<[string, unknown, Habit]>(
    rows.flatMap((row) =>
      row.options.flatMap((option) => valuesOf(row).map((value): [string, unknown, Habit] => [option, value, row])),
    ),
  )('%s: %j', async (option, value, { means }) => {
    const set = typeof means === 'string' ? undefined : 'as' in means ? { [means.as]: value } : means.set;
    const before = warnings.length;
    const beside = option === 'stride' ? { max_length: 6, return_overflowing_tokens: true } : undefined;
    const own = asText(await ask(set || beside ? { ...beside, ...set } : undefined));
    const answer = asText(await ask({ ...beside, [option]: value }));
    expect(answer).toBe(own);
    // Whether it says so where it has no effect; each text is written once.
    expect(warnings.slice(before).every((text) => means === 'idle' || call === 'load' || !text.includes(option))).toBe(true);
  });
});

it('one warning names the options without effect', async () => {
  const ask = await kCalls['text-classification']();
  await ask({ batch_size: 3, num_workers: 1 });
  await ask({ batch_size: 3, num_workers: 1 });
  expect(warnings).toEqual(['wattn: text-classification: no effect here: batch_size, num_workers']);
});

describe('stays refused', () => {
  const cases: [HabitualCall, object, RegExp][] = [
    ['feature-extraction', { padding: 'max_length', pooling: 'none' }, /unknown option 'padding'/],
    ['feature-extraction', { add_special_tokens: false }, /unknown option 'add_special_tokens'/],
    ['feature-extraction', { truncation: true, on_overflow: 'error' }, /unknown option 'truncation'/],
    ['feature-extraction', { normalize_embeddings: true, normalize: false }, /unknown option 'normalize_embeddings'/],
    ['feature-extraction', { truncation: true, trunkation: true }, /unknown option 'trunkation'/],
    ['feature-extraction', { dtype: 'q8' }, /unknown option 'dtype'/],
    ['text-classification', { truncation: 'only_first' }, /unknown option 'truncation'/],
    ['text-classification', { return_all_scores: true, top_k: 1 }, /unknown option 'return_all_scores'/],
    ['token-classification', { is_split_into_words: true }, /unknown option 'is_split_into_words'/],
    ['zero-shot-ner', { truncation: true }, /unknown option 'truncation'/],
    ['text-generation', { return_tensors: true }, /unknown option 'return_tensors'/],
    ['text-generation', { num_beam_groups: 3 }, /unknown option 'num_beam_groups'/],
    ['tokenizer', { return_tensors: 'pt', return_tensor: false }, /unknown option 'return_tensors'/],
    ['tokenizer', { pad_to_multiple_of: 8 }, /unknown option 'pad_to_multiple_of'/],
    ['encode', { return_tensors: 'pt' }, /unknown option 'return_tensors'/],
    ['chat', { enable_thinking: false }, /unknown option 'enable_thinking'.*variables that the template reads/],
    ['load', { device: 'gpuu' }, /'device': expected one of.*did you mean 'gpu'\?/],
  ];
  it.each(cases)('%s %j', async (call, options, message) => {
    const ask = await kCalls[call]();
    const error = await (async () => ask(options))().catch((each: unknown) => each);
    expect(error).toBeInstanceOf(InputError);
    expect((error as Error).message).toMatch(message);
  });
});

it('a chat template reads variables under their names', async () => {
  const tokenizer = await AutoTokenizer.from_pretrained('local/chat');
  const chat_template =
    "{# quiet #}{% if loud is defined and loud %}!{% endif %}{{ messages[0].content }}{{ 'word' }}{{ messages[0].role }}";
  const render = (options: object) => tokenizer.apply_chat_template(chat, { chat_template, tokenize: false, ...options } as never);
  expect([render({}), render({ loud: true }), render({ loud: false })]).toEqual([
    `${kText}worduser`,
    `!${kText}worduser`,
    `${kText}worduser`,
  ]);
  for (const name of ['quiet', 'word', 'content', 'role', 'Loud'])
    expect(() => render({ [name]: true })).toThrow(new RegExp(`unknown option '${name}'`));
  env.compat = true; // transformers.js takes any
  expect(render({ quiet: true })).toBe(`${kText}worduser`);
});

it('answers as Python does with these options', async () => {
  // Recorded: tests/goldens/tasks/cases.json has `truncation: true` among the options of transformers' pipelines.
  const cases = readJson('tasks/cases.json') as Record<
    string,
    { args: unknown[]; options: Record<string, unknown>; answer: any }[]
  >;
  const found = (cases['text-classification'] ?? []).filter(({ options }) => options['truncation'] === true);
  expect(found.length).toBeGreaterThan(0);
  const pipe = await pipeline('text-classification', 'local/sequence');
  for (const { args, options, answer } of found) {
    const all = (await pipe(...(args as [string]), options as never)) as { label: string; score: number }[];
    expect(all.map(({ label }) => label)).toEqual([answer].flat().map(({ label }: any) => label));
    all.forEach(({ score }, i) => expect(score).toBeCloseTo([answer].flat()[i].score, 5));
  }
});
