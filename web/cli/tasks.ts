// The commands classify, rank and run.
import { choice, computeOptions, count, flag, given, jsonOptions, list, modelOf, required, text, type Values } from './args.js';
import { answerAll, factFields, items, toLine, write, type Item } from './lines.js';
import { readSchema } from './generate.js';
import { InputError, pipeline, type Pipelines } from '../entries/index.js';

const kRunTasks = [
  'text-classification',
  'sentiment-analysis',
  'token-classification',
  'ner',
  'question-answering',
  'fill-mask',
  'zero-shot-classification',
  'zero-shot-ner',
  'information-extraction',
  'sparse-encoding',
] as const;

const scored = (list: { label: string; score: number }[]) => JSON.stringify(list.map(({ label, score }) => ({ label, score })));

function textOptions(values: Values) {
  return given({
    max_length: count(values, 'max-length'),
    on_overflow: choice(values, 'on-overflow', ['truncate', 'error']),
    split_special_tokens: flag(values, 'split-special-tokens'),
  });
}

/** The text of an item, with the text_pair of its JSON object if there is one. */
function toInput({ text, members }: Item): string | { text: string; text_pair: string } {
  const pair = members?.['text_pair'];
  if (pair === undefined) return text;
  if (typeof pair === 'string') return { text, text_pair: pair };
  throw new InputError(`expected a string "text_pair", found ${JSON.stringify(pair)}`);
}

export async function classify(values: Values, positionals: string[]): Promise<void> {
  const labels = list(values, 'labels');
  const model = modelOf(values);
  const top_k = count(values, 'top-k') ?? null;
  if (labels) {
    const run = await pipeline('zero-shot-classification', model, computeOptions(values));
    const options = given({
      ...textOptions(values),
      multi_label: flag(values, 'multi-label'),
      hypothesis_template: text(values, 'hypothesis'),
    });
    return answerAll(values, positionals, async (portion) => {
      const texts = portion.map((item) => item.text);
      const out = await run(texts, labels, options);
      const line = (item: Item, i: number) => {
        const { labels, scores, truncated, unknown } = out[i] as (typeof out)[number];
        const all = labels.map((label, j) => ({ label, score: scores[j] as number }));
        return toLine(item, { labels: scored(all.slice(0, top_k ?? all.length)), ...factFields(truncated, unknown) });
      };
      return portion.map(line);
    });
  }
  const run = await pipeline('text-classification', model, computeOptions(values));
  const apply = choice(values, 'function', ['softmax', 'sigmoid', 'none']);
  const options = { ...textOptions(values), top_k: top_k ?? Infinity, ...(apply && { function_to_apply: apply }) };
  return answerAll(values, positionals, async (portion) => {
    const out = await run(portion.map(toInput), options);
    const lists = top_k === 1 ? out.map((label) => [label].flat()) : out; // one label each comes without a list
    const line = (item: Item, i: number) =>
      toLine(item, {
        labels: scored([lists[i] as never].flat()),
        ...factFields(out.truncated[i], out.unknown[i], out.tokens[i]),
      });
    return portion.map(line);
  });
}

export async function rank(values: Values, positionals: string[]): Promise<void> {
  const query = required(values, 'query', 'a query');
  const task = flag(values, 'late-interaction') ? 'late-interaction' : 'text-ranking';
  const run = await pipeline(task, modelOf(values), computeOptions(values));
  const options = textOptions(values);
  const top_k = count(values, 'top-k') ?? Infinity;
  const found: { item: Item; score: number; corpus_id: number; truncated: boolean; unknown: number }[] = [];
  let seen = 0;
  const line = ({ item, score, corpus_id, truncated, unknown }: (typeof found)[number]) =>
    toLine(item, { corpus_id: String(corpus_id), score: String(score), ...factFields(truncated, unknown) });
  for await (const portion of items(values, positionals)) {
    const texts = portion.map((item) => item.text);
    const ranked = await run(query, texts, options);
    const scores = ranked.map(({ corpus_id, ...rest }) => ({
      item: portion[corpus_id] as Item,
      ...rest,
      corpus_id: seen + corpus_id,
    }));
    seen += portion.length;
    if (flag(values, 'stream')) {
      await write(
        scores
          .sort((a, b) => a.corpus_id - b.corpus_id)
          .map(line)
          .join(''),
      );
      continue;
    }
    found.push(...scores);
    // Keep only those that may be among the best.
    found.sort((a, b) => b.score - a.score || a.corpus_id - b.corpus_id).splice(Math.min(top_k, found.length));
  }
  await write(found.map(line).join(''));
}

/** A function that runs a task on items, with one result each. */
async function runTask(task: keyof Pipelines, values: Values, options: Record<string, unknown>) {
  if (task === 'sparse-encoding') {
    const encode = await pipeline(task, modelOf(values), computeOptions(values));
    return async (portion: Item[]): Promise<unknown[]> => {
      const vectors = await encode(portion.map((item) => item.text), options); // prettier-ignore
      return encode.decode(vectors);
    };
  }
  const run = (await pipeline(task, modelOf(values), computeOptions(values))) as unknown as (
    ...args: unknown[]
  ) => Promise<unknown[]>;
  const labels = list(values, 'labels');
  const schema = task === 'information-extraction' ? await readSchema(values) : undefined;
  return (portion: Item[]): Promise<unknown[]> => {
    const texts = portion.map((item) => item.text);
    if (task === 'question-answering') {
      const questions = portion.map(({ text: context, members }) => ({
        question: text(values, 'question') ?? members?.['question'],
        context,
      }));
      return run(questions, options);
    }
    if (task === 'information-extraction') return run(texts, schema, options);
    if (task === 'zero-shot-classification' || task === 'zero-shot-ner') return run(texts, labels, options);
    return run(task === 'text-classification' || task === 'sentiment-analysis' ? portion.map(toInput) : texts, options);
  };
}

export async function run(values: Values, positionals: string[]): Promise<void> {
  const task = choice(values, 'task', kRunTasks);
  if (!task) throw new InputError(`--task: expected one of ${kRunTasks.join(', ')}, found none`);
  const answer = await runTask(task, values, { ...textOptions(values), ...jsonOptions(values) });
  return answerAll(values, positionals, async (portion) => {
    const out = await answer(portion);
    return portion.map((item, i) => toLine(item, { result: JSON.stringify(out[i]) }));
  });
}
