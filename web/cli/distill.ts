// `wattn distill`: makes static embeddings from an encoder.
import { join } from 'node:path';
import { choice, computeOptions, given, modelOf, noTexts, number, required, text, type Values } from './args.js';
import { write } from './lines.js';
import { makeFolder } from './train.js';
import { writeOut } from './output.js';
import { counted, Progress } from './progress.js';
import { distill, pipeline, type DistillOptions, type DistillProgress } from '../entries/index.js';

/** 'none' and 'auto' as the option writes them, else a number. */
function numberOr(values: Values, name: string, words: Record<string, unknown>): unknown {
  const word = text(values, name);
  return word !== undefined && Object.hasOwn(words, word) ? words[word] : number(values, name);
}

/** A bar for each phase. */
function shower(values: Values): (progress: DistillProgress | undefined) => void {
  let bar: Progress | undefined;
  let of = '';
  return (at) => {
    if (at?.phase !== of) {
      bar?.end();
      bar = at && new Progress(values, counted(at.phase === 'encode' ? 'tokens' : 'steps'));
    }
    of = at?.phase ?? '';
    if (at) bar?.show({ done: at.done, total: at.total, what: at.phase === 'encode' ? 'vectors' : 'components' });
  };
}

export async function distillModel(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const out = required(values, 'out', 'the folder to write');
  const show = shower(values);
  const options = given({
    pca_dims: numberOr(values, 'pca-dims', { auto: 'auto', none: null }),
    sif_coefficient: numberOr(values, 'sif-coefficient', { none: null }),
    pooling: choice(values, 'pooling', ['mean', 'first', 'last', 'pooler']),
    quantize_to: choice(values, 'quantize-to', ['float16', 'float32', 'int8']),
    progress_callback: show,
  }) as DistillOptions;
  await makeFolder(out);
  const encoder = await pipeline('feature-extraction', modelOf(values), computeOptions(values));
  const made = await distill(encoder, options);
  show(undefined);
  const files = made.save();
  for (const [name, bytes] of Object.entries(files)) await writeOut('out', join(out, name), bytes);
  await Promise.all([made.dispose(), encoder.dispose()]);
  await write(`${JSON.stringify({ out, files: Object.keys(files) })}\n`);
}
