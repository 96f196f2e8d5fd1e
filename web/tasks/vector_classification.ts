// text-classification by a classifier on sentence vectors, which trainer.save() writes beside an adapter or a whole model. Loaded where a model or
// an adapter without a head is to classify.
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { withFacts } from '../core/facts.js';
import type { Rules } from '../core/options.js';
import type { AnyEngine } from '../engine/engine.js';
import { takeOptions, takeTopK, type EmbedWith, type TextOptions } from '../engine/task.js';
import type { EmbedOptions, ModelOptions } from '../engine/types.js';
import { loadFrom } from '../source/load_from.js';
import { missingFile, readJson, readOptional } from '../source/model_files.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import { kAdapterConfig } from '../source/peft.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import { kJson, kWeights, readClassifier } from '../vectors/classifier/files.js';
import type { Fitted } from '../vectors/classifier/network.js';
import { makeTextClassifier } from '../vectors/classifier/text_classifier.js';
import type { Embeddings } from '../vectors/types.js';
import type { TextClassificationOptions } from './task_types.js';
import { toInput } from './predict.js';

/** By the names of adapters; that of a whole model by ''. */
export type Classifiers = ReadonlyMap<string, Fitted>;

/** As its metadata calls an adapter that changes vectors, and has no head. */
const kOfVectors = 'FEATURE_EXTRACTION';

function sourceOptions(options: ModelOptions): SourceOptions {
  const known = Object.entries(options).filter(([key]) => key in kSourceRules && key !== 'progress_callback');
  return Object.fromEntries(known) as SourceOptions;
}

/** The classifier of a folder; undefined: it has none. adapter: whether it is asked for only beside an adapter without a head. */
async function readFrom(place: ModelSpecifier, options: SourceOptions, adapter: boolean): Promise<Fitted | undefined> {
  return loadFrom(openModel(place, options), options, async (source, progress, signal) => {
    const read = (file: string) => readOptional(source, file, progress, signal);
    const config = adapter ? readJson(await read(kAdapterConfig), kAdapterConfig) : undefined;
    if (adapter && config?.['task_type'] !== kOfVectors) return undefined;
    const [json] = await read(kJson);
    if (!json) return undefined;
    const [weights] = await read(kWeights);
    if (!weights) throw missingFile(source, kWeights);
    return readClassifier(json[1], weights[1]);
  });
}

/** The classifiers beside the adapters of a load; undefined: the adapters have heads of their own. */
export async function classifiersOf(options: ModelOptions): Promise<Classifiers | undefined> {
  const { adapter, adapters } = options;
  const { revision: _revision, ...others } = sourceOptions(options);
  const places = Object.entries(adapter ? { default: adapter } : (adapters ?? {})) as [string, ModelSpecifier][];
  const found = new Map<string, Fitted>();
  for (const [name, place] of places) {
    const fitted = await readFrom(place, others, true);
    if (fitted) found.set(name, fitted);
  }
  const without = places.find(([name]) => !found.has(name));
  if (found.size === 0 || !without) return found.size > 0 ? found : undefined;
  const [other] = found.keys();
  throw new ModelFormatError(
    `pipeline: expected a classifier.json beside each adapter, as beside '${other}', found none beside '${without[0]}'`,
  );
}

/** The classifier of a model without a head, or of an adapter given as the model, in a folder or in files. On a server it is not asked for: most models have none, and a 404 is said. */
export async function classifierOf(model: ModelSpecifier, options: ModelOptions): Promise<Classifiers | undefined> {
  if (openModel(model, sourceOptions(options)).phase === 'download') return undefined;
  const fitted = await readFrom(model, sourceOptions(options), false).catch((error: unknown) => {
    if (error instanceof ModelFormatError) throw error;
    return undefined; // the error of the load says more
  });
  if (!fitted) return undefined;
  const source = openModel(model, sourceOptions(options));
  const isAdapter = await loadFrom(source, {}, async (from, _, signal) => (await from.size(kAdapterConfig, signal)) !== undefined);
  return new Map([[isAdapter ? 'default' : '', fitted]]);
}

const kRules: Rules = { top_k: 'any', topk: 'any', function_to_apply: ['softmax'] };

/** The call of the pipeline; its arguments and results are those of text_classification.ts. */
export function vectorClassification(engine: AnyEngine, classifiers: Classifiers, embed: EmbedWith<AnyEngine>) {
  const where = 'text-classification';
  const fittedFor = (adapter: string | false): Fitted => {
    const isMerged = engine.adapters?.held.size === 0;
    const fitted = classifiers.get(adapter || '') ?? (isMerged ? [...classifiers.values()][0] : undefined);
    if (fitted) return fitted;
    const known = [...classifiers.keys()].map((name) => `'${name}'`).join(', ');
    throw new InputError(`${where}: option 'adapter': expected one with a classifier (${known}), found ${describe(adapter)}`);
  };
  return async (inputs: unknown, given?: unknown) => {
    const { options, signal } = takeOptions<TextClassificationOptions & TextOptions>(where, given, kRules);
    const { max_length, on_overflow, split_special_tokens } = options as TextOptions;
    const adapter = (options as TextOptions).adapter ?? engine.adapters?.active ?? false;
    const texts = [inputs].flat().map((value, i) => {
      const { text, text_pair } = toInput(where, value, i);
      if (text_pair === undefined) return text;
      throw new InputError(`${where}: expected a single text at index ${i}, as the classifier learned, found { text, text_pair }`);
    });
    const facts = { tokens: [] as number[], truncated: [] as boolean[], unknown: [] as number[] };
    const own = {
      ...(max_length && { max_length }),
      ...(on_overflow && { on_overflow }),
      ...(split_special_tokens && { split_special_tokens }),
    };
    const embedder = async (some: string[], how?: EmbedOptions) => {
      const pooling = engine.info.pooled ? {} : ({ pooling: 'mean' } as const); // as the trainer's
      const out = (await embed(engine, some, { ...pooling, ...how, ...own, adapter })) as Embeddings;
      facts.tokens.push(...out.tokens);
      facts.truncated.push(...out.truncated);
      facts.unknown.push(...out.unknown);
      return out;
    };
    const classify = makeTextClassifier(embedder, fittedFor(adapter));
    const how = { top_k: takeTopK(where, given, 1), signal };
    return withFacts(await (Array.isArray(inputs) ? classify(texts, how) : classify(texts[0] as string, how)), facts);
  };
}
