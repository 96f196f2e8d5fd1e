// Which repository a model was made from: for those that hold only ONNX, such as those made for transformers.js, or quantized weights that are not
// read. Loaded when that is so.
import { ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import type { ModelSource } from './source.js';

const kOnnx = ['onnx/model.onnx', 'onnx/model_quantized.onnx', 'model.onnx'];

/** The lines between the two --- at the beginning of a README.md. */
const headOf = (readme: string) => /^---\r?\n(.*?\n)---/s.exec(readme)?.[1] ?? '';

/** base_model of a README's head: one name, or a list of one. */
function baseModel(head: string): string | undefined {
  const value = /^base_model:((?:.*)(?:\r?\n[ \t]*-.*)*)/m.exec(head)?.[1] ?? '';
  const names = value.split(/[\s,[\]'"]+/).filter((word) => word !== '' && word !== '-');
  return names.length === 1 ? names[0] : undefined;
}

function nameOrPath(config: string): unknown {
  try {
    return (parseJson(config) as { _name_or_path?: unknown } | null)?._name_or_path;
  } catch {
    return undefined;
  }
}

const isOther = (name: unknown, source: ModelSource): name is string =>
  typeof name === 'string' && name !== source.name && /^\w[\w.-]*\/[\w.-]+$/.test(name);

interface Original {
  id: string;
  /** Which file names it. */
  where: string;
}

/** The repository that a model was made from, if its card or configuration names it. read: a small file as text. */
export async function findOriginal(source: ModelSource, read: (file: string) => Promise<string>): Promise<Original | undefined> {
  const [readme, config] = await Promise.all(['README.md', 'config.json'].map((file) => read(file).catch(() => '')));
  const base = baseModel(headOf(readme as string));
  if (isOther(base, source)) return { id: base, where: 'base_model in README.md' };
  const path = nameOrPath(config as string);
  return isOther(path, source) ? { id: path, where: '_name_or_path in config.json' } : undefined;
}

/** An error whose way out is the original. load_from.ts reads `original`. */
export function elsewhere<E extends Error>(Kind: new (message: string) => E, message: string, original: Original | undefined): E {
  if (!original) return new Kind(`${message}; load the repository that it was made from, which it does not name`);
  const { id, where } = original;
  const line = `load its original (${where}): pipeline(.., '${id}'), or set env.resolveOriginal = true`;
  return Object.assign(new Kind(`${message}; ${line}`), { original: id });
}

/** The error for a model without weights. missing: the error if it does not have ONNX either. read: a small file as text. */
export async function noWeights(
  source: ModelSource,
  signal: AbortSignal,
  missing: ModelFormatError,
  read: (file: string) => Promise<string>,
): Promise<ModelFormatError> {
  const head = headOf(await read('README.md').catch(() => ''));
  let onnx: string | undefined;
  for (const file of kOnnx) onnx ??= (await source.size(file, signal).catch(() => undefined)) === undefined ? undefined : file;
  if (onnx === undefined && !/transformers\.js|onnx/i.test(head)) return missing;
  const found = `expected weights in the model '${source.name}', found only ONNX${onnx ? ` (${onnx})` : ''}, which wattn does not read`;
  const original = await findOriginal(source, read);
  return elsewhere(ModelFormatError, `model.safetensors: ${found}`, original);
}
