// Models that are loaded once more for an adapter. A repository of PEFT that is given as the model has an adapter in place of a model, and
// names its base. What few adapters change needs the WebAssembly with all that is rare.
import { InputError, ModelFormatError, NetworkError } from '../core/errors.js';
import { TaskScope } from '../core/signal.js';
import { fullWasm } from '../host/wasm_loader.js';
import { kTokenizerFiles, type AdaptedBase } from '../source/adapted_base.js';
import { openGguf } from '../source/gguf_file.js';
import { Progress, readJson, readOptional, type NamedBytes } from '../source/model_files.js';
import { isHubId, openModel } from '../source/model_source.js';
import { kAdapterConfig, readAdapter } from '../source/peft.js';
import { kParts } from '../source/peft_tensor.js';
import type { ModelSource } from '../source/source.js';
import type { ModelSpecifier } from '../source/types.js';
import { mayBeRare, readWeights, taskOf } from './adapters.js';
import type { LoadOptions } from './types.js';

/** Another load in place of one that failed. */
export interface Again {
  model: ModelSpecifier;
  /** More options. */
  options: LoadOptions & { adapted_base: AdaptedBase };
  /** The error of that load, with what to write in its place. */
  withLine(error: unknown): unknown;
}

/**
 * How to load a model for an adapter after this error of a load. The repository of an adapter is loaded by the base that it names. undefined: there is
 * no adapter, or it does not say how to get its base: then the error says so. adapts: an adapter was asked for already.
 */
export async function baseOf(
  error: unknown,
  model: ModelSpecifier,
  options: LoadOptions & { adapted_base?: AdaptedBase },
  adapts: boolean,
): Promise<Again | undefined> {
  const { adapted_base: before } = options;
  if (adapts && mayBeRare(error) && !before?.full && fullWasm())
    return { model, options: { adapted_base: { ...before, full: true } }, withLine: (cause) => cause };
  if (!(error instanceof ModelFormatError) || openGguf(model, options)) return undefined;
  const failed = error;
  const source = openModel(model, options);
  const scope = new TaskScope(options.signal ?? undefined);
  let again: Again | undefined;
  try {
    return (again = await find(source, new Progress(source, undefined), scope.signal));
  } finally {
    scope.close();
    // What this has read anew is of a model that was refused, unless it is an adapter.
    await (again ? source.accepted?.() : source.refused?.(error));
  }

  async function find(from: ModelSource, progress: Progress, signal: AbortSignal): Promise<Again | undefined> {
    const read = (file: string) => readOptional(from, file, progress, signal).catch((): NamedBytes[] => []);
    const config = await read('config.json');
    const hasModel = config.length > 0 && readJson(config, 'config.json')?.['model_type'] !== undefined;
    const files = hasModel && from.phase === 'download' ? [] : await read(kAdapterConfig);
    if (files.length === 0) return undefined;
    const { base_model_name_or_path: named, revision } = readJson(files, kAdapterConfig) as Record<string, unknown>;
    const task = taskOf(files);
    const given = typeof model === 'string' ? `'${model}'` : 'the adapter';
    const line = `pipeline(task, base, { adapter: ${given} })`;
    const isNamed = typeof named === 'string' && named !== '';
    if (hasModel || adapts || !isNamed || !isReachable(named, model, source)) {
      const what = `${task ? `, for ${task}` : ''}${isNamed ? ` (its base: '${named}')` : ''}`;
      failed.message += `; there is an adapter${what}: load its base model, and this with the option 'adapter': ${line}`;
      return undefined;
    }
    const tensors = readAdapter([...files, await readWeights(from, progress, signal)]);
    const wholes = tensors.filter(({ isWhole }) => isWhole);
    const sizes = await Promise.all(kTokenizerFiles.map((file) => from.size(file, signal)));
    const words = { adapted_names: wholes.map(({ name }) => name), adapted_rows: wholes.map(({ rows }) => rows) };
    const tokenizer = sizes.some((size) => size !== undefined) ? model : undefined;
    const full = tensors.some(({ isWhole, parts }) => isWhole || (parts & ~(kParts.magnitude | kParts.more)) !== 0);
    return {
      model: named,
      options: {
        adapter: model,
        revision: typeof revision === 'string' && isHubId(named) ? revision : undefined,
        adapted_base: { full, tokenizer, revision: options.revision ?? undefined, words },
      } as Again['options'],
      withLine(cause) {
        if ([ModelFormatError, NetworkError, InputError].some((kind) => cause instanceof kind) && cause instanceof Error) {
          cause.message += `; '${named}' is the base model that ${kAdapterConfig} of ${given} names: if it is elsewhere, load it by ${line}`;
        }
        return cause;
      },
    };
  }
}

/** A hub id, or a folder if the adapter is in one too: the files of others do not name folders of this machine. */
function isReachable(base: string, model: ModelSpecifier, source: ModelSource): boolean {
  return isHubId(base) || (source.phase === 'read' && typeof model === 'string' && !/^[a-z]{2,}:/i.test(base));
}
