// `wattn distill`: makes static embeddings from an encoder.
import { join } from 'node:path';
import { choice, computeOptions, flag, given, modelOf, noTexts, number, required, text, type Values } from './args.js';
import { write } from './lines.js';
import { makeFolder } from './train.js';
import { writeOut } from './output.js';
import { distill, pipeline, type DistillOptions, type DistillProgress } from '../entries/index.js';

/** 'none' and 'auto' as the option writes them, else a number. */
function numberOr(values: Values, name: string, words: Record<string, unknown>): unknown {
  const word = text(values, name);
  return word !== undefined && Object.hasOwn(words, word) ? words[word] : number(values, name);
}

function shower(values: Values): (progress: DistillProgress) => void {
  const { stderr } = process;
  let shown = -1;
  return ({ phase, done, total }) => {
    const percent = Math.floor((100 * done) / total);
    if ((!stderr.isTTY && !flag(values, 'progress')) || percent === shown) return;
    shown = percent;
    const line = `${phase === 'encode' ? 'tokens' : 'components'} ${percent} %`;
    stderr.write(stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  };
}

export async function distillModel(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const out = required(values, 'out', 'the folder to write');
  const options = given({
    pca_dims: numberOr(values, 'pca-dims', { auto: 'auto', none: null }),
    sif_coefficient: numberOr(values, 'sif-coefficient', { none: null }),
    pooling: choice(values, 'pooling', ['mean', 'first', 'last', 'pooler']),
    quantize_to: choice(values, 'quantize-to', ['float16', 'float32', 'int8']),
    progress_callback: shower(values),
  }) as DistillOptions;
  await makeFolder(out);
  const encoder = await pipeline('feature-extraction', modelOf(values), computeOptions(values));
  const made = await distill(encoder, options);
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  const files = made.save();
  for (const [name, bytes] of Object.entries(files)) await writeOut('out', join(out, name), bytes);
  await Promise.all([made.dispose(), encoder.dispose()]);
  await write(`${JSON.stringify({ out, files: Object.keys(files) })}\n`);
}
