// Programs written for transformers.js run with only the import changed (tests/compat/programs).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as jinja from '@huggingface/jinja';
import * as wattn from 'wattn';
import { AutoModel, AutoModelForCausalLM, AutoTokenizer, env, pipeline } from 'wattn';
import { kArguments, withImport, writeModels } from '../compat/models.mjs';
import { goldens, readJson, root } from './support.js';

const folder = join(root, 'tests/compat/programs');
const files = readdirSync(folder);
const names = files.map((file) => file.replace(/\.[cm]js$/, ''));
const settings = { ...env };
const { warn } = console;
let place: string;

beforeAll(() => {
  place = mkdtempSync(join(root, 'node_modules/.compat-')); // where packages are found
  writeModels(goldens, place);
});
beforeEach(() => {
  Object.assign(env, { compat: true, allowRemoteModels: false, localModelPath: place, jinja });
  console.warn = () => {};
});
afterEach(() => {
  console.warn = warn;
  Object.assign(env, settings, { backends: { onnx: { wasm: {} } } });
});
afterAll(() => rmSync(place, { recursive: true }));

/** Programs that import another entry, and why: see the table of docs/migration.md. */
const kEntries: Record<string, string> = { extension_background: 'wattn/inline' };

async function run(name: string): Promise<any> {
  if (files.includes(`${name}.cjs`)) return runCommonJs(name);
  const file = join(place, `${name}.mjs`);
  writeFileSync(file, withImport(join(folder, `${name}.mjs`), kEntries[name] ?? 'wattn'));
  if (kEntries[name]) Object.assign((await import(kEntries[name])).env, env); // a copy of its own
  return (await import(file)).default(kArguments);
}

/** In a process of its own, because Jest cannot require an ES module. */
function runCommonJs(name: string): unknown {
  const file = join(place, `${name}.cjs`);
  const library = join(root, 'dist/node.cjs');
  writeFileSync(file, withImport(join(folder, `${name}.cjs`), library));
  const script = `
    const { env } = require(${JSON.stringify(library)});
    Object.assign(env, { compat: true, allowRemoteModels: false, localModelPath: ${JSON.stringify(place)} });
    require(${JSON.stringify(file)})(${JSON.stringify(kArguments)}).then((out) => console.log(JSON.stringify(out)));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

const kCases = readJson('tasks/cases.json') as Record<string, { args: unknown[]; options: object; answer: any }[]>;
/** What transformers answers to a case of tests/goldens/tasks. */
function answered(task: string, args: unknown[], options: object): any {
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const found = kCases[task]?.find((each) => isSame(each.args, args) && isSame(each.options, options));
  if (!found) throw new Error(`no case of ${task} with ${JSON.stringify([args, options])}`);
  return found.answer;
}

/** Equal but for rounding. */
function expectSame(got: unknown, want: unknown): void {
  const rounded = (value: unknown) =>
    JSON.parse(JSON.stringify(value, (_, each) => (typeof each === 'number' ? Math.round(each * 1e5) / 1e5 : each)));
  expect(rounded(got)).toEqual(rounded(want));
}

/** What each program must give: transformers' answers, or those of wattn's own functions, which other tests compare with it. */
const kChecks: Record<string, (out: any) => void | Promise<void>> = {
  async semantic_search({ dims, type, ranked }) {
    expect([dims, type]).toEqual([
      [
        [3, 32],
        [1, 32],
      ],
      'float32',
    ]);
    const embed = await pipeline('feature-extraction', 'local/embed');
    const options = { pooling: 'mean', normalize: true } as const;
    const query = (await embed('Where is the boat?', options)).data;
    for (const { text, score } of ranked) {
      const { data } = await embed(text, options);
      expect(score).toBeCloseTo(
        data.reduce((sum, value, i) => sum + value * query[i]!, 0),
        5,
      );
    }
    expect(ranked.map(({ score }: any) => score)).toEqual(
      ranked.map(({ score }: any) => score).sort((a: number, b: number) => b - a),
    );
    await embed.dispose();
  },
  async sentence_similarity({ tokens, similarities, nearest, mean, lengths }) {
    const texts = ['A small boat waits below the old bridge.', 'Small birds sing in the wind.', 'The boat waits.'];
    const embed = await pipeline('feature-extraction', 'local/embed');
    const rows = (await embed(texts, { pooling: 'mean', normalize: true })).tolist<number[][]>();
    expectSame(
      similarities,
      rows.map((a) => rows.map((b) => a.reduce((sum, value, i) => sum + value * b[i]!, 0))),
    );
    expectSame(
      mean,
      rows[0]!.map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / 3),
    );
    expectSame(lengths, [1, 1, 1]);
    expect([tokens[0], nearest.length]).toEqual([3, 3]);
    await embed.dispose();
  },
  zero_shot({ one, several }) {
    const labels = ['a river', 'birds', 'unbelievable letters', 'the city at night'];
    const args = ['A small boat waits below the old bridge.', labels];
    expectSame(one, answered('zero-shot-classification', args, {}));
    expectSame(several, answered('zero-shot-classification', args, { multi_label: true }));
  },
  server_route({ codes, bodies, ready }) {
    expect([codes, bodies[0], ready]).toEqual([[400, 200, 200], { error: 'Missing text parameter' }, true]);
    for (const [i, text] of ['The river runs under the bridge.', 'query'].entries()) {
      const all = answered('text-classification', [text], { top_k: null, truncation: true });
      expectSame(bodies[i + 1], all.slice(0, 2));
    }
  },
  async cross_encoder({ dims, best, ranking }) {
    const rank = await pipeline('text-ranking', 'local/ranker');
    const passages = ['The boat waits below the old bridge.', 'Small birds sing in the wind.', 'Home in the dark.'];
    const want = await rank('Where is the boat?', passages);
    expect(dims).toEqual([3, 1]);
    expectSame(
      ranking.map(({ corpus_id }: any) => corpus_id),
      want.map(({ corpus_id }) => corpus_id),
    );
    expect(best).toBe(want[0]!.corpus_id);
    await rank.dispose();
  },
  classify_tokens({ found, answer, filled }) {
    const plain = answered('token-classification', ['A small boat waits below the old bridge.'], { aggregation_strategy: 'none' });
    const isLabelled = ({ entity }: any) => entity !== 'O';
    expectSame(
      found.filter(isLabelled),
      plain.map(({ entity, score, index, word }: any) => ({ entity, score, index, word })),
    );
    const { cases } = readJson('tasks/answers.json');
    expect(answer).toBe(cases[0].answer.answer.toLowerCase());
    expectSame(filled, answered('fill-mask', ['The [MASK] runs under the bridge.'], { top_k: 5 }).slice(0, 2));
  },
  translator_worker({ loaded, streamed, output }) {
    const { generated } = readJson('seq2seq/marian/expected.json').inputs[0];
    expect(output).toEqual([{ translation_text: generated.greedy.texts[0] }]);
    expect([loaded, streamed]).toEqual([true, generated.greedy.texts[0].trim()]);
  },
  async chat_worker({ whole, interrupted, second }) {
    const generate = await pipeline('text-generation', 'local/chat');
    const { chat_template } = kArguments;
    const options = { max_new_tokens: 12, do_sample: false, return_full_text: false, chat_template };
    const question = [{ role: 'user', content: 'The boat waits.' }];
    const [{ generated_text, tokens }] = (await generate(question, options)) as any;
    expect([whole.count, whole.output.trim(), whole.streamed]).toEqual([tokens.length, generated_text.trim(), whole.output]);
    expect([interrupted.count, interrupted.streamed]).toEqual([5, interrupted.output]);
    expect(whole.output.startsWith(interrupted.output)).toBe(true);
    const next = [...question, { role: 'assistant', content: whole.output }, { role: 'user', content: 'Why?' }];
    expect(second.output.trim()).toBe(((await generate(next, options)) as any)[0].generated_text.trim());
    await generate.dispose();
  },
  async tokenizer_playground({ out, dims, type, mask }) {
    const tokenizer = await AutoTokenizer.from_pretrained('local/chat');
    expect(out[1].token_ids).toEqual(tokenizer.encode('the old boat, under the bridge.'));
    expect([out[1].decoded.join(''), out[1].whole]).toEqual([
      tokenizer.decode(out[1].token_ids),
      'the old boat, under the bridge.',
    ]);
    expect([out[2], dims[0], type]).toEqual([out[0], 2, 'int64']);
    expect(mask[0].reduce((a: number, b: number) => a + b)).toBeLessThan(dims[1]);
  },
  async storyteller({ model_type, vocab_size, generated_text, streamed, short }) {
    const model = await AutoModelForCausalLM.from_pretrained('local/chat');
    const tokenizer = await AutoTokenizer.from_pretrained('local/chat');
    const inputs = tokenizer('The boat waits');
    const ids = await model.generate({ ...inputs, max_new_tokens: 16, do_sample: false });
    const text = (end: number | null) =>
      tokenizer.batch_decode(ids.slice(null, [inputs.input_ids.dims[1]!, end]), { skip_special_tokens: true })[0]!;
    expect([model_type, vocab_size]).toEqual([model.config['model_type'], model.config['vocab_size']]);
    expect([generated_text.trim(), streamed.trim()]).toEqual([text(null).trim(), text(null).trim()]);
    expect(short.trim()).toBe(text(inputs.input_ids.dims[1]! + 4).trim());
    await model.dispose();
  },
};

const kRiver = 'The river runs under the bridge.';
/** The likeliest label of a text, as transformers answers. */
const labelled = (text: string) => answered('text-classification', [text], { top_k: null, truncation: true }).slice(0, 1);
const kMean = { pooling: 'mean', normalize: true } as const;
/** Vectors of texts by the encoder. */
async function vectorsOf(...texts: string[]): Promise<number[][]> {
  const embed = await pipeline('feature-extraction', 'local/embed');
  const rows = (await embed(texts, kMean)).tolist<number[][]>();
  await embed.dispose();
  return rows;
}
const inner = (a: number[], b: number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

Object.assign(kChecks, {
  async adaptive_retrieval({ rows, size, ranked, told }) {
    const [query, ...texts] = await vectorsOf('Where is the boat?', 'A small boat waits below the old bridge.', 'Small birds sing in the wind.', kRiver); // prettier-ignore
    expect([rows, size, told]).toEqual([3, 32, true]);
    const cut = (row: number[], size: number) => row.slice(0, size);
    const cosine = (a: number[], b: number[]) => inner(a, b) / Math.sqrt(inner(a, a) * inner(b, b));
    expectSame(
      ranked,
      [32, 16, 8].map((size) => texts.map((row) => cosine(cut(row, size), cut(query!, size)))),
    );
  },
  async chat_script({ roles, answer, printed }) {
    const generate = await pipeline('text-generation', 'local/chat');
    const options = { max_new_tokens: 12, do_sample: false, return_full_text: false } as const;
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'The boat waits.' },
    ];
    const { chat_template } = kArguments;
    const [{ generated_text }] = (await generate(messages, { ...options, chat_template })) as any;
    expect([roles, answer.trim(), printed.trim()]).toEqual([['system', 'user', 'assistant'], generated_text.trim(), generated_text.trim()]); // prettier-ignore
    await generate.dispose();
  },
  async code_completion({ greedy, sampled, streamed, ready }) {
    const generate = await pipeline('text-generation', 'local/chat');
    const [{ generated_text }] = await generate('the boat', { max_new_tokens: 8, do_sample: false });
    expect([greedy, sampled, ready]).toEqual([generated_text, generated_text, true]);
    expect(`the boat${streamed.slice(0, streamed.length / 2)}`).toBe(generated_text);
    await generate.dispose();
  },
  electron_main({ answers, channels }) {
    expect(channels).toEqual(['transformers:run']);
    expectSame(answers, [labelled(kRiver), [labelled('query')[0], labelled(kRiver)[0]]]);
  },
  async embed_script({ dims, size, scores, tokens, first }) {
    const [source, ...rest] = await vectorsOf('A small boat waits below the old bridge.', 'The boat waits.', 'Small birds sing in the wind.'); // prettier-ignore
    expect([dims, size, tokens]).toEqual([[3, 32], 96, 3]);
    expectSame([scores, first], [rest.map((row) => inner(row, source!)), source!.slice(0, 4)]);
  },
  async embedding_benchmark(found) {
    const model = await AutoModel.from_pretrained('local/embed');
    const { last_hidden_state } = await model({ input_ids: [new Array(8).fill(1)] });
    const { dims } = last_hidden_state!;
    const first = last_hidden_state!.data[0];
    expect(found).toEqual([1, 2, 4].map((batch) => ({ dims: [batch, 8, dims[2]], type: 'int64', isMeasured: true, first })));
    await model.dispose();
  },
  extension_background({ answer, selected, waits, ignored }) {
    expect([waits, ignored]).toEqual([true, true]);
    expect(selected).toEqual(answer);
    // dtype 'q4' is near the original
    expect(answer[0].label).toBe(labelled(kRiver)[0].label);
    expect(answer[0].score).toBeCloseTo(labelled(kRiver)[0].score, 1);
  },
  async reasoning_chat({ prompts, begins, states, same, ids }) {
    const tokenizer = await AutoTokenizer.from_pretrained('local/chat');
    const model = await AutoModelForCausalLM.from_pretrained('local/chat');
    const bare = { add_special_tokens: false }; // a template writes its own
    const inputs = tokenizer('The boat waits. ', bare);
    const out = await model.generate({ ...inputs, max_new_tokens: 10, do_sample: false });
    const prompt = inputs.input_ids.dims[1]!;
    expect(prompts).toEqual([prompt, tokenizer('The boat waits. hm ', bare).input_ids.dims[1]]);
    expect(ids).toEqual(out.tolist<number[][]>()[0]!.slice(prompt).map(Number));
    expect([begins, states, same]).toEqual([true, ['thinking', 'answering'], true]);
    await model.dispose();
  },
  async vector_database({ sizes, found }) {
    const texts = ['A small boat waits below the old bridge.', 'Small birds sing in the wind.', kRiver];
    const rows = await vectorsOf(...texts);
    const all = rows.map((row, i) => ({ content: texts[i], inner: inner(row, rows[0]!) }));
    expect(sizes).toEqual([32, 32, 32]);
    expectSame(
      found,
      all
        .filter(({ inner }) => inner > 0.5)
        .sort((a, b) => b.inner - a.inner)
        .slice(0, 2),
    );
    expect(found[0].content).toBe(texts[0]);
  },
  node_server([first, ...others]) {
    expectSame(first, [200, labelled('query')]);
    expect(others).toEqual([[400, { error: 'Bad request' }], [400, { error: 'Bad request' }]]); // prettier-ignore
  },
  node_cjs({ answer, version }) {
    expectSame(answer, [labelled('query')[0], labelled(kRiver)[0]]);
    expect(version).toBe('string');
  },
} satisfies typeof kChecks);

it.each(names)('%s', async (name) => {
  const check = kChecks[name];
  if (!check) throw new Error(`${name}: expected a check of its answers in compat.test.ts`);
  await check(await run(name));
});

it('the table of programs in docs/migration.md has each, and no other', () => {
  const guide = readFileSync(join(root, 'docs/migration.md'), 'utf8');
  const [, table = ''] = /^## Tested programs\n([^]*?)^## /m.exec(guide) ?? [];
  const cells = [...table.matchAll(/^\|.*\| (.*) \|$/gm)].map(([, last]) => last!);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  expect([...new Set(named)].filter((name) => name !== 'page').sort()).toEqual([...names].sort());
});

it('the table of docs/migration.md names what is here', async () => {
  const guide = readFileSync(join(root, 'docs/migration.md'), 'utf8');
  const namesOf = (group: string) => {
    const [, row = ''] = guide.match(new RegExp(`^\\| ${group} \\| \\d+ of \\d+ \\| (.*) \\|$`, 'm')) ?? [];
    return row.split(' ').map((name) => name.replaceAll('`', ''));
  };
  const tokenizer = await AutoTokenizer.from_pretrained('local/embed');
  const places: [string, object][] = [
    ['exports', wattn],
    ['`env`', env],
    ['members of `Tensor`', new wattn.Tensor('float32', [1], [1])],
    ['members of a tokenizer', tokenizer],
  ];
  for (const [group, place] of places) {
    const names = namesOf(group);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect([group, name, name in place]).toEqual([group, name, true]);
  }
});
