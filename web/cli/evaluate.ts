// `wattn evaluate`: scores a model on a data set.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { choice, computeOptions, count, given, list, modelOf, noTexts, required, text, type Values } from './args.js';
import { write } from './lines.js';
import { counted, Progress } from './progress.js';
import { readRows, type PlacedRow } from './rows.js';
import { evaluate, InputError, pipeline } from '../entries/index.js';
import type { EvaluateProgress, LabelledText, RetrievalSet, ScoredSentences } from '../entries/index.js';

const kTasks = ['sts', 'retrieval', 'classification', 'clustering'] as const;

function field(rows: readonly PlacedRow[], i: number, names: readonly string[]): unknown {
  const { row, place } = rows[i] as PlacedRow;
  const name = names.find((each) => Object.hasOwn(row, each));
  if (name !== undefined) return row[name];
  const found = Object.keys(row).slice(0, 8).join(', ');
  throw new InputError(
    `${place}: expected a field '${names[0]}', found ${found} (--columns names those of a file without a header)`,
  );
}

async function readSentences(file: string, columns: string[] | undefined): Promise<ScoredSentences[]> {
  const rows = await readRows('data', file, 'names', columns);
  return rows.map(({ place }, i) => {
    const score = field(rows, i, ['score', 'similarity_score']);
    if (typeof score !== 'number') throw new InputError(`${place}: score: expected a number, found ${JSON.stringify(score)}`);
    return { sentence1: String(field(rows, i, ['sentence1'])), sentence2: String(field(rows, i, ['sentence2'])), score };
  });
}

async function readLabelled(option: string, file: string, values: Values): Promise<LabelledText[]> {
  const rows = await readRows(option, file, 'names', list(values, 'columns'));
  const hasNames = text(values, 'labels') !== undefined;
  return rows.map(({ row }, i) => {
    const label = String(field(rows, i, ['label']));
    return {
      text: String(field(rows, i, ['text', 'sentence'])),
      ...(row['text_pair'] !== undefined && { text_pair: String(row['text_pair']) }),
      label: hasNames && /^\d+$/.test(label) ? Number(label) : label,
    };
  });
}

/** A folder in BEIR's layout; judgements above 0 are relevant. */
async function readCollection(folder: string): Promise<RetrievalSet> {
  const rows = async (name: string) => {
    const file = join(folder, name);
    return (await readRows('data', file, 'names')).map(({ row, place }) => {
      const { _id, title, text: body } = row;
      if (typeof _id !== 'string' || typeof body !== 'string')
        throw new InputError(`${place}: expected strings as '_id' and 'text', found ${Object.keys(row).join(', ')}`);
      return { id: _id, text: body, ...(typeof title === 'string' && { title }) };
    });
  };
  const judged = (await Promise.all(
    ['qrels.tsv', 'qrels/test.tsv'].map((name) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
  )).find((found) => found !== undefined); // prettier-ignore
  if (judged === undefined) throw new InputError(`--data: expected ${join(folder, 'qrels/test.tsv')} or qrels.tsv, found neither`);
  const relevant: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const line of judged.split(/\r?\n/)) {
    const [query, document, grade] = line.split('\t');
    if (Number(grade) > 0) (relevant[query as string] ??= []).push(document as string);
  }
  return { corpus: await rows('corpus.jsonl'), queries: await rows('queries.jsonl'), relevant: { ...relevant } };
}

function shower(values: Values): (progress: EvaluateProgress) => void {
  const bar = new Progress(values, counted('texts'));
  return (at) => {
    bar.show(at);
    if (at.done === at.total) bar.end();
  };
}

export async function evaluateModel(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const task = choice(values, 'task', kTasks);
  if (!task) throw new InputError(`--task: expected ${kTasks.join(', ')}, found none`);
  const file = required(values, 'data', 'the file or folder of the data set');
  const trainFile = text(values, 'train');
  const options = given({
    similarity: text(values, 'similarity'),
    seed: count(values, 'seed'),
    labels: list(values, 'labels'),
    progress_callback: shower(values),
  });
  const isFolder = (await stat(file).catch(() => undefined))?.isDirectory() ?? false;
  if (isFolder !== (task === 'retrieval'))
    throw new InputError(`--data: expected a ${task === 'retrieval' ? 'folder' : 'file'}, found ${file}`);
  const model = modelOf(values);
  const compute = computeOptions(values);
  if (task === 'classification') {
    const data = await readLabelled('data', file, values);
    const train = trainFile === undefined ? undefined : await readLabelled('train', trainFile, values);
    const pipe = await pipeline(train ? 'feature-extraction' : 'text-classification', model, compute);
    return write(`${JSON.stringify(await evaluate(pipe, task, data, { ...options, ...(train && { train }) }))}\n`);
  }
  const data =
    task === 'sts'
      ? await readSentences(file, list(values, 'columns'))
      : task === 'retrieval'
        ? await readCollection(file)
        : await readLabelled('data', file, values);
  const embed = await pipeline('feature-extraction', model, compute);
  const call = evaluate as (pipe: unknown, task: string, data: unknown, options: object) => Promise<object>;
  return write(`${JSON.stringify(await call(embed, task, data, options))}\n`);
}
