// `wattn tokenize --train`: trains a tokenizer on the lines of files and writes its tokenizer.json.
import { count, flag, given, jsonOptions, required, text, type Values } from './args.js';
import { items } from './lines.js';
import { writeOut } from './output.js';
import { AutoTokenizer, InputError, type TrainingProgress, type TrainOptions } from '../entries/index.js';

function showProgress(): (info: TrainingProgress) => void {
  let shown = '';
  return (info) => {
    const line =
      info.status === 'read'
        ? `${info.texts} texts, ${info.words} distinct words`
        : info.status === 'train'
          ? `${info.stage}: ${Math.floor(info.progress)}%`
          : '';
    if (line !== shown) process.stderr.write(`\r\x1b[K${line}`);
    shown = line;
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
    for await (const portion of items(from, [])) for (const item of portion) yield item.text;
  }
  const shown = process.stderr.isTTY || flag(values, 'progress');
  const flags = given({
    model: text(values, 'train'),
    vocab_size: count(values, 'vocab-size'),
    min_frequency: count(values, 'min-frequency'),
    special_tokens: values['special-token'] as string[] | undefined,
    progress_callback: shown ? showProgress() : undefined,
  });
  const tokenizer = await AutoTokenizer.train(texts(), { ...jsonOptions(values), ...flags } as TrainOptions);
  await writeOut('out', out, tokenizer.save());
}
