// Repositories that hold only ONNX, such as those made for transformers.js: which repository they were made from. Loaded when there are no weights.
import { ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import type { ModelSource } from './source.js';

const kOnnx = ['onnx/model.onnx', 'onnx/model_quantized.onnx', 'model.onnx'];

/** A model without weights whose original is named. load_from.ts reads the name. */
class OriginalElsewhere extends ModelFormatError {
  constructor(
    message: string,
    readonly original: string,
  ) {
    super(message);
  }
}

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

/** The error for a model without weights. missing: the error if it does not have ONNX either. read: a small file as text. */
export async function noWeights(
  source: ModelSource,
  signal: AbortSignal,
  missing: ModelFormatError,
  read: (file: string) => Promise<string>,
): Promise<ModelFormatError> {
  const [readme, config] = await Promise.all(['README.md', 'config.json'].map((file) => read(file).catch(() => '')));
  const head = headOf(readme as string);
  let onnx: string | undefined;
  for (const file of kOnnx) onnx ??= (await source.size(file, signal).catch(() => undefined)) === undefined ? undefined : file;
  if (onnx === undefined && !/transformers\.js|onnx/i.test(head)) return missing;
  const base = baseModel(head);
  const path = nameOrPath(config as string);
  const [original, where] = isOther(base, source)
    ? [base, 'base_model in README.md']
    : isOther(path, source)
      ? [path, '_name_or_path in config.json']
      : [];
  const found = `expected weights in the model '${source.name}', found only ONNX${onnx ? ` (${onnx})` : ''}, which wattn does not read`;
  if (original === undefined) {
    return new ModelFormatError(`model.safetensors: ${found}; load the repository that it was made from, which it does not name`);
  }
  const line = `pipeline(.., '${original}')`;
  const message = `model.safetensors: ${found}; load its original (${where}): ${line}, or set env.resolveOriginal = true`;
  return new OriginalElsewhere(message, original);
}
