// Which repository a model was made from. It replaces those that hold only ONNX, such as those made for transformers.js, and is named for quantized
// weights that are not read. Loaded when that is so.
import { plainCallback } from '../core/callback.js';
import { ModelFormatError, WattnError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { TaskScope } from '../core/signal.js';
import { warnOnce } from '../core/warn.js';
import { Progress, readOptional } from './model_files.js';
import { isHubId, openModel } from './model_source.js';
import type { ModelSource } from './source.js';
import type { SourceOptions } from './types.js';
import { weightsAt, type WeightsAt } from './weights_at.js';

const kCard = 'base_model in README.md';
const kOnnx = ['onnx/model.onnx', 'onnx/model_quantized.onnx', 'model.onnx'];

/** A repository without weights whose card names its original. load_from.ts reads the name. config: its config.json. */
class OriginalElsewhere extends ModelFormatError {
  constructor(
    message: string,
    readonly original: string,
    readonly config: string,
  ) {
    super(message);
  }
}

/** A folder as `wattn pack --hub` writes it, if its file is there. engine.ts looks for that. */
class PackedHere extends ModelFormatError {
  readonly packed = true;
}

/** The lines between the two --- at the beginning of a README.md. */
export const headOf = (readme: string) => /^---\r?\n(.*?\n)---/s.exec(readme)?.[1] ?? '';

/** base_model of a README's head: one name, or a list of one. */
export function baseModel(head: string): string | undefined {
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
  if (isOther(base, source)) return { id: base, where: kCard };
  const path = nameOrPath(config as string);
  return isOther(path, source) ? { id: path, where: '_name_or_path in config.json' } : undefined;
}

/** A message whose way out is the original. */
export function elsewhere(message: string, original: Original | undefined): string {
  if (!original) return `${message}; load the repository that it was made from, which it does not name`;
  const { id, where } = original;
  return `${message}; load its original (${where}): pipeline(.., '${id}')`;
}

/** The error for a model without weights. missing: the error if it does not have ONNX either. read: a small file as text. */
export async function noWeights(
  source: ModelSource,
  signal: AbortSignal,
  missing: ModelFormatError,
  read: (file: string) => Promise<string>,
): Promise<ModelFormatError> {
  const head = headOf(await read('README.md').catch(() => ''));
  if (/^library_name:\s*['"]?wattn\b/m.test(head)) return new PackedHere(missing.message);
  let onnx: string | undefined;
  for (const file of kOnnx) onnx ??= (await source.size(file, signal).catch(() => undefined)) === undefined ? undefined : file;
  if (onnx === undefined && !/transformers\.js|onnx/i.test(head)) return missing;
  const found = `expected weights in the model '${source.name}', found only ONNX${onnx ? ` (${onnx})` : ''}, which wattn does not read`;
  const original = await findOriginal(source, read);
  const message = elsewhere(`model.safetensors: ${found}`, original);
  // config.json of a copy may name the model that the original was trained from.
  if (original?.where !== kCard || !isHubId(source.name)) return new ModelFormatError(message);
  return new OriginalElsewhere(message, original.id, await read('config.json').catch(() => ''));
}

/** What a copy in another format has in common with its original: the kind of model, its size, and what its labels mean. */
const kSame = ['model_type', 'architectures', 'hidden_size', 'num_hidden_layers', 'vocab_size', 'id2label'];

/** The first field in which two config.json differ: then one is not a copy of the other, but trained from it. */
function differenceOf(a: string, b: string): string | undefined {
  try {
    const [one, other] = [a, b].map((text) => parseJson(text) as Record<string, unknown>);
    const isSet = (name: string) => one?.[name] != null && other?.[name] != null;
    return kSame.find((name) => isSet(name) && JSON.stringify(one?.[name]) !== JSON.stringify(other?.[name]));
  } catch {
    return undefined; // the load says what is wrong with it
  }
}

/**
 * The original in the place of a repository that holds only ONNX, which a warning and a progress event say. Throws `error`, with the reason, if a
 * revision is asked for, which is one of the copy, or if the two are not the same model.
 */
export async function openOriginal(
  error: unknown,
  copy: ModelSource,
  options: SourceOptions & { weights_at?: WeightsAt },
): Promise<{ source: ModelSource; options: SourceOptions }> {
  const { original, config } = error as OriginalElsewhere;
  const refuse = (why: string): never => {
    (error as WattnError).message += `. It is not loaded automatically, because ${why}`;
    throw error;
  };
  const { revision, weights_at: at, ...rest } = options;
  // 'main' is the newest of both.
  if (revision && revision !== 'main') refuse(`the option 'revision' ('${revision}') names one of '${copy.name}'`);
  const opened = openModel(original, rest, copy.copies);
  const scope = new TaskScope(options.signal ?? undefined);
  // Where it cannot be read, the load says why.
  const read = readOptional(opened, 'config.json', new Progress(opened, undefined), scope.signal);
  const own = new TextDecoder().decode((await read.catch(() => []))[0]?.[1]);
  scope.close();
  const other = own && config ? differenceOf(config, own) : undefined;
  if (other) refuse(`config.json differs in '${other}': '${copy.name}' may have been trained further`);
  warnOnce(`'${copy.name}' has only ONNX files: its original '${original}' is loaded (env.resolveOriginal = false throws instead)`);
  plainCallback(options.progress_callback)({ status: 'original', name: copy.name, original });
  const named = at?.config ? weightsAt(opened, { config: at.config }) : opened;
  return {
    source: Object.assign(named, { replaces: copy.name }),
    options: { ...rest, ...(at && { weights_at: at }) } as SourceOptions,
  };
}
