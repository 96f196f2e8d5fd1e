// `wattn pack`: a model's files in, one .gguf out.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { choice, loadOptions, modelOf, text, type Values } from './args.js';
import { write } from './lines.js';
import { InputError, packModel, type PackOptions } from '../entries/index.js';

export async function pack(values: Values, positionals: string[]): Promise<void> {
  if (positionals.length > 0) throw new InputError(`expected options only, found '${positionals[0]}'`);
  const out = text(values, 'out');
  if (out === undefined) throw new InputError('--out: expected the file to write, found none');
  const model = modelOf(values);
  if (model === undefined) throw new InputError('--model: expected a model to pack, found none');
  const dtype = choice(values, 'dtype', ['f32', 'q8', 'q4']) as PackOptions['dtype'];
  const bytes = await packModel(model, { ...loadOptions(values), ...(dtype && { dtype }) });
  await writeFile(out, bytes).catch((error: { code?: string }) => {
    throw new InputError(`--out: cannot write ${out}: ${error.code}`);
  });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await write(`${JSON.stringify({ file: out, bytes: bytes.length, sha256 })}\n`);
}
