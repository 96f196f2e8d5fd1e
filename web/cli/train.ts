// `wattn tokenize --train`: files in, a tokenizer.json out.
import { writeFile } from 'node:fs/promises';
import { count, flag, text, type Values } from './args.js';
import { items } from './lines.js';
import { AutoTokenizer, InputError, type TrainingProgress, type TrainOptions } from '../entries/index.js';

/** --options: what `AutoTokenizer.train` takes and has no switch of its own. */
function otherOptions(values: Values): Partial<TrainOptions> {
  const json = text(values, 'options') ?? '{}';
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // told below
  }
  throw new InputError(`--options: expected a JSON object, found ${json.slice(0, 60)}`);
}

function showProgress(): (info: TrainingProgress) => void {
  let told = '';
  return (info) => {
    const line =
      info.status === 'read'
        ? `${info.texts} texts, ${info.words} different words`
        : info.status === 'train'
          ? `${info.stage}: ${Math.floor(info.progress)}%`
          : '';
    if (line !== told) process.stderr.write(`\r\x1b[K${line}`);
    told = line;
  };
}

export async function train(values: Values, files: string[]): Promise<void> {
  const out = text(values, 'out');
  if (out === undefined) throw new InputError('--out: expected the file to write, found none');
  for (const name of ['model', 'max-length', 'offsets', 'no-special', 'split-special-tokens']) {
    if (values[name] !== undefined) throw new InputError(`--${name}: expected without --train`);
  }
  const given = values['file'] as string[] | undefined;
  if (files.length > 0 && given) throw new InputError('expected files or --file, found both');
  const from: Values = { input: 'text', ...values, ...(files.length > 0 && { file: files }) };
  async function* texts(): AsyncGenerator<string> {
    for await (const portion of items(from, [])) for (const item of portion) yield item.text;
  }
  const special = values['special-token'] as string[] | undefined;
  const shown = process.stderr.isTTY || flag(values, 'progress');
  const switches = {
    model: text(values, 'train'),
    vocab_size: count(values, 'vocab-size'),
    min_frequency: count(values, 'min-frequency'),
    ...(special && { special_tokens: special }),
    ...(shown && { progress_callback: showProgress() }),
  };
  const options = {
    ...otherOptions(values),
    ...Object.fromEntries(Object.entries(switches).filter(([, value]) => value !== undefined)),
  };
  const tokenizer = await AutoTokenizer.train(texts(), options as TrainOptions);
  await writeFile(out, tokenizer.save()).catch((error: { code?: string }) => {
    throw new InputError(`--out: cannot write ${out}: ${error.code}`);
  });
}
