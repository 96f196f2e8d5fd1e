// `wattn tokenize --train`: trains a tokenizer on the lines of files and writes its tokenizer.json.
import { count, flag, given, jsonOptions, required, text, type Values } from './args.js';
import { items } from './lines.js';
import { writeOut } from './output.js';
import { counted, Progress } from './progress.js';
import { AutoTokenizer, InputError, type TrainingProgress, type TrainOptions } from '../entries/index.js';

/** A bar for the reading, and one for each stage. */
function shower(values: Values): (info: TrainingProgress) => void {
  let bar: Progress | undefined;
  let of = '';
  return (info) => {
    const stage = info.status === 'train' ? info.stage : info.status;
    if (stage !== of) {
      bar?.end();
      bar = new Progress(values, counted(info.status === 'read' ? 'texts' : 'percent'));
    }
    of = stage;
    if (info.status === 'read') bar?.show({ done: info.texts, more: `${info.words} distinct words` });
    if (info.status === 'train') bar?.show({ done: Math.floor(info.progress), total: 100, what: info.stage });
  };
}

export async function trainTokenizer(values: Values, files: string[]): Promise<void> {
  const out = required(values, 'out', 'the file to write');
  for (const name of ['model', 'max-length', 'offsets', 'no-special', 'split-special-tokens']) {
    if (values[name] !== undefined) throw new InputError(`--${name}: not allowed with --train`);
  }
  if (files.length > 0 && values['file']) throw new InputError('expected files or --file, found both');
  const from: Values = { input: 'text', ...values, ...(files.length > 0 && { file: files }) };
  async function* texts(): AsyncGenerator<string> {
    for await (const portion of items(from, [], false)) for (const item of portion) yield item.text;
  }
  const shown = process.stderr.isTTY || flag(values, 'progress');
  const flags = given({
    model: text(values, 'train'),
    vocab_size: count(values, 'vocab-size'),
    min_frequency: count(values, 'min-frequency'),
    special_tokens: values['special-token'] as string[] | undefined,
    progress_callback: shown ? shower(values) : undefined,
  });
  const tokenizer = await AutoTokenizer.train(texts(), { ...jsonOptions(values), ...flags } as TrainOptions);
  await writeOut('out', out, tokenizer.save());
}
