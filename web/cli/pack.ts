// `wattn pack`: writes a model's files as one .gguf file.
import { createHash } from 'node:crypto';
import { choice, loadOptions, modelOf, noTexts, required, writeOut, type Values } from './args.js';
import { write } from './lines.js';
import { InputError, packModel, type PackOptions } from '../entries/index.js';

export async function pack(values: Values, positionals: string[]): Promise<void> {
  noTexts(positionals);
  const out = required(values, 'out', 'the file to write');
  const model = modelOf(values);
  if (model === undefined) throw new InputError('--model: expected a model to pack, found none');
  const dtype = choice(values, 'dtype', ['f32', 'q8', 'q4']) as PackOptions['dtype'];
  const bytes = await packModel(model, { ...loadOptions(values), ...(dtype && { dtype }) });
  await writeOut(out, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await write(`${JSON.stringify({ file: out, bytes: bytes.length, sha256 })}\n`);
}
