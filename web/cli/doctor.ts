// `wattn doctor`: what this machine offers, how a model was loaded, what it makes of a text, and what of that may surprise.
import { availableParallelism } from 'node:os';
import { readFileSync } from 'node:fs';
import { computeOptions, flag, given, loadOptions, modelOf, text, type Values } from './args.js';
import { write } from './lines.js';
import {
  cache,
  describeModel,
  InputError,
  pipeline,
  type Embeddings,
  type ExplainedText,
  type Pipelines,
} from '../entries/index.js';

const kText = 'The bakery opens at six.';
/** What a model is for that has a head, unless --task says it. */
const kTaskOfHead: readonly (readonly [string, keyof Pipelines])[] = [
  ['sequence', 'text-classification'],
  ['token', 'token-classification'],
  ['seq2seq_lm', 'text2text-generation'],
  ['causal_lm', 'text-generation'],
  ['spans', 'zero-shot-ner'],
  ['labels', 'zero-shot-classification'],
];
/** Labels for those tasks that ask for some. */
const kLabels = ['person', 'place', 'time'];
const kTasks = ['feature-extraction', 'fill-mask', ...kTaskOfHead.map(([, task]) => task), 'information-extraction'];
/** What each task reads beside a text. */
const besides = (task: string) =>
  task.includes('generation')
    ? { max_new_tokens: 16 }
    : task === 'information-extraction'
      ? { entities: kLabels, relations: ['is in'] }
      : task.startsWith('zero-shot')
        ? kLabels
        : {};

/** One thing that was tried. */
interface Check {
  name: string;
  ok: boolean;
  found: string;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const plural = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
const shorter = (line: string) => (line.length > 160 ? `${line.slice(0, 159)}…` : line);

async function taskOf(values: Values, model: string | undefined): Promise<keyof Pipelines> {
  const asked = text(values, 'task');
  if (asked !== undefined && !kTasks.includes(asked))
    throw new InputError(`--task: expected one of ${kTasks.join(', ')}, found '${asked}'`);
  if (asked !== undefined) return asked as keyof Pipelines;
  const heads = model === undefined ? [] : (await describeModel(model, loadOptions(values))).heads;
  return kTaskOfHead.find(([head]) => (heads as string[]).includes(head))?.[1] ?? 'feature-extraction';
}

/** The answer in short, and what can be judged of it. */
async function tried(pipe: any, task: string, sentence: string): Promise<{ result: string; checks: Check[] }> {
  if (task !== 'feature-extraction') {
    const answer: unknown = await pipe(
      task === 'fill-mask' && !sentence.includes(pipe.tokenizer.mask_token) ? `${sentence} ${pipe.tokenizer.mask_token}` : sentence,
      besides(task),
    );
    const numbers = JSON.stringify(answer).match(/null|NaN/g) ?? [];
    return {
      result: JSON.stringify(answer),
      checks: [{ name: 'all numbers are finite', ok: numbers.length === 0, found: numbers.length === 0 ? 'yes' : 'no' }],
    };
  }
  const alone = (await pipe(sentence)) as Embeddings;
  const together = (await pipe(['Something else, and longer than that.', sentence])) as Embeddings;
  const numbers = [...alone.data];
  const finite = numbers.every(Number.isFinite);
  const same = alone.dims.length > 2 || alone.tolist().flat().join() === together.get(1).tolist().flat().join();
  const length = Math.hypot(...numbers);
  return {
    result: `[${alone.dims.join(', ')}] of length ${length.toFixed(4)}: ${numbers
      .slice(0, 4)
      .map((value) => value.toFixed(4))
      .join(', ')}, ..`,
    checks: [
      { name: 'all numbers are finite', ok: finite, found: finite ? 'yes' : 'no' },
      { name: 'alone and in a list, the same bits', ok: same, found: same ? 'yes' : 'no' },
    ],
  };
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${shorter(value)}\n`).join('');
}

function tokensOf({ tokens, tokens_untruncated, tokens_per_word }: ExplainedText): string {
  const words = tokens.map(({ token, unknown }) => (unknown ? `${token}?` : token)).join(' ');
  return `${tokens.length} of ${tokens_untruncated} tokens, ${tokens_per_word.toFixed(1)} a word: ${words}`;
}

export async function doctor(values: Values, positionals: string[]): Promise<void> {
  const [sentence = kText, ...more] = positionals;
  if (more.length > 0) throw new InputError(`expected one text, also found '${more[0]}'`);
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  const model = modelOf(values);
  const task = await taskOf(values, model);
  const begin = performance.now();
  const pipe = await pipeline(task, model, computeOptions(values));
  const loaded = performance.now() - begin;
  const info = pipe.info();
  const explained = await pipe.explain(sentence);
  const first = performance.now();
  const { result, checks } = await tried(pipe, task, sentence);
  const answered = performance.now() - first;
  const memory = pipe.memory();
  await pipe.dispose();
  const kept = new Set(
    (await cache.list(undefined, given({ cache_dir: text(values, 'cache-dir') })).catch(() => [])).map((file) => file.model),
  ).size;
  const host = { node: process.version, platform: `${process.platform} ${process.arch}`, processors: availableParallelism() };
  const ms = { load: Math.round(loaded), first_answers: Math.round(answered) };
  if (flag(values, 'json')) {
    const { notes, ...rest } = explained;
    const all = {
      version,
      ...host,
      model: model ?? null,
      info,
      memory,
      ms,
      text: sentence,
      explained: rest,
      result,
      checks,
      notes,
    };
    return write(`${JSON.stringify(all)}\n`);
  }
  const { tokenizer, python, pooling, normalize, prompt, notes } = explained;
  const named = tokenizer.tokenizer_class ?? 'no class';
  const rows: [string, string][] = [
    ['wattn', `${version}, build ${info.build_id}, Node ${host.node}, ${host.platform}, ${plural(host.processors, 'processor')}`],
    ['WebAssembly', `${info.wasm}, ${plural(info.threads, 'thread')}${info.threads_reason ? ` (${info.threads_reason})` : ''}`],
    ['cache', plural(kept, 'model')],
    ['model', `${model ?? 'the bundled model'}: ${info.model_type}, ${info.num_hidden_layers} layers, ${info.hidden_size} wide`],
    ['held in', `${info.dtype}, ${megabytes(memory.total)} of memory`],
    ['task', `${task}, at most ${info.max_length} tokens`],
    [
      'tokenizer',
      `${named}${tokenizer.class_from ? `, from ${tokenizer.class_from}` : ''}; vocabulary ${tokenizer.vocabulary}; rules of ${tokenizer.rules === 'class' ? 'the class' : 'tokenizer.json'}`,
    ],
    ...(pooling
      ? ([['vector', `pooling ${pooling.join(', ') || 'none'}; ${normalize ? 'unit length' : 'any length'}`]] as [string, string][])
      : []),
    ...(prompt ? ([['prompt', prompt]] as [string, string][]) : []),
    ['text', sentence],
    ['read as', tokensOf(explained)],
    ['answer', result],
    ['loaded in', `${ms.load} ms; first answers ${ms.first_answers} ms`],
    ...(model === undefined ? [] : ([['in Python', python.replaceAll("'MODEL'", `'${model}'`)]] as [string, string][])),
    ...checks.map(({ name, ok, found }): [string, string] => [ok ? 'ok' : 'WRONG', `${name}: ${found}`]),
  ];
  const ends = notes.map((note) => `- ${note}\n`).join('');
  await write(`${table(rows)}${ends === '' ? '' : `\n${ends}`}`);
}
