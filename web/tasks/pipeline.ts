import { Engine, type AnyEngine } from '../engine/engine.js';
import type { Opened } from '../engine/task.js';
import { asLoaded } from '../engine/loaded.js';
import { loadEngine } from '../engine/load_engine.js';
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { env } from '../core/env.js';
import type { HabitualCall } from '../core/habits.js';
import { withFacts } from '../core/facts.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { kPrecisions } from '../core/precisions.js';
import type { Overflow, SeamEmbedOptions, SeamModel } from '../host/seam.js';
import { kPoolingModeWords } from '../host/wire.js';
import { Tensor } from '../core/tensor.js';
import type { Disposable_ } from '../core/types.js';
import { kAliases } from './aliases.js';
import { kTaskNames, loadTask } from './tasks.js';
import type { Pipelines } from './task_types.js';
import { readTexts } from '../core/texts.js';
import { readJson } from '../source/model_files.js';
import type { Extras } from '../tokenizer/make_tokenizer.js';
import type { Tokenizer } from '../tokenizer/types.js';
import type { Embeddings, QuantizedEmbeddings } from '../vectors/types.js';
import type { FeatureExtractionPipeline } from './embed_types.js';
import type { ExplainTextOptions } from '../engine/explain_types.js';
import type { EmbedOptions, ModelOptions, PoolingMode } from '../engine/types.js';
import type { ModelSpecifier, ProgressInfo } from '../source/types.js';

const kEmbedRules: Rules = {
  adapter: 'any',
  task: 'string',
  pooling: 'any',
  normalize: 'boolean',
  prompt: 'string',
  prompt_name: 'string',
  max_length: 'count',
  truncate_dim: 'count',
  precision: kPrecisions,
  quantize: 'boolean',
  on_overflow: ['truncate', 'error', 'window'],
  windows: ['mean', 'each'],
  overlap: 'index',
  split_special_tokens: 'boolean',
  signal: 'signal',
};

function toModes(pooling: EmbedOptions['pooling'] | null): PoolingMode[] | undefined {
  if (pooling === undefined || pooling === null) return undefined;
  if (pooling === 'none') return [];
  const list: readonly unknown[] = Array.isArray(pooling) ? pooling : [pooling];
  const known = kPoolingModeWords.join(', ');
  if (list.length === 0) throw new InputError(`embed: option 'pooling': expected 'none' or some of ${known}, found an empty array`);
  const bad = list.findIndex((mode) => !(kPoolingModeWords as readonly unknown[]).includes(mode));
  const none = list.length > 1 ? '' : 'none, ';
  if (bad >= 0) throw new InputError(`embed: option 'pooling': expected ${none}${known}, found ${describe(list[bad])}`);
  return list as PoolingMode[];
}

function toOverflow({ on_overflow, windows, overlap }: EmbedOptions): Overflow {
  if (on_overflow === 'window') return windows === 'each' ? 'windows' : 'window_mean';
  const beside = windows ? 'windows' : overlap ? 'overlap' : undefined;
  if (beside)
    throw new InputError(`embed: option '${beside}': expected on_overflow 'window' with it, found ${describe(on_overflow)}`);
  return on_overflow ?? 'truncate';
}

function toSeamOptions(options: EmbedOptions): SeamEmbedOptions {
  const { prompt, prompt_name, max_length } = options;
  if (typeof prompt === 'string' && typeof prompt_name === 'string') {
    throw new InputError("embed: expected one of the options 'prompt' and 'prompt_name', found both");
  }
  const pooling = toModes(options.pooling);
  const normalize = options.normalize ?? (pooling?.length === 0 ? false : undefined);
  const { truncate_dim, overlap, split_special_tokens } = options;
  const overflow = toOverflow(options);
  return { pooling, normalize, truncate_dim, prompt, prompt_name, max_length, overflow, overlap, split_special_tokens };
}

/** [sum of tokens, dim] to [texts, longest, dim], padded with zeros. */
function padRows(data: Float32Array, tokens: Int32Array, dim: number): Tensor<'float32'> {
  const longest = tokens.reduce((most, count) => Math.max(most, count), 0);
  const dims = [tokens.length, longest, dim];
  if (data.length === tokens.length * longest * dim) return new Tensor('float32', data, dims);
  const out = new Float32Array(tokens.length * longest * dim);
  let at = 0;
  tokens.forEach((count, i) => {
    out.set(data.subarray(at, at + count * dim), i * longest * dim);
    at += count * dim;
  });
  return new Tensor('float32', out, dims);
}

/** The options with what a task of the model's own means: its adapter, and its instruction in place of no prompt. */
function withTask(engine: AnyEngine, options: EmbedOptions): EmbedOptions {
  const { task, adapter, prompt, prompt_name } = options;
  if (task === undefined || task === null) return options;
  const { tasks } = engine.info;
  if (!tasks?.includes(task)) {
    const known = tasks ? `one of ${tasks.map((name) => `'${name}'`).join(', ')}` : 'none, as this model has no tasks';
    throw new InputError(`embed: option 'task': expected ${known}, found ${describe(task)}`);
  }
  if (adapter !== undefined && adapter !== null)
    throw new InputError("embed: expected one of the options 'task' and 'adapter', found both");
  const instructions = readJson(engine.files, 'config.json')?.['task_instructions'] as Record<string, string> | undefined;
  const isSet = typeof prompt === 'string' || typeof prompt_name === 'string';
  return ownCopy({ ...options, adapter: task, ...(!isSet && { prompt: instructions?.[task] ?? '' }) });
}

export async function embed(
  engine: AnyEngine,
  texts: unknown,
  options: EmbedOptions | null = {},
): Promise<Embeddings | QuantizedEmbeddings> {
  const list = readTexts('embed', texts);
  options = readOptions('embed', options, kEmbedRules);
  const own = withTask(engine, options);
  const seamOptions = toSeamOptions(own);
  const { quantize } = options;
  const precision = quantize ? (options.precision ?? 'binary') : quantize === false ? undefined : options.precision;
  if (precision && precision !== 'float32' && seamOptions.pooling?.length === 0) {
    throw new InputError(`embed: option 'precision': expected a pooling with '${precision}', found 'none'`);
  }
  const { data, dim, pooled, tokens, truncated, windows, unknown } = await engine.embed(
    list,
    { ...seamOptions, adapter: own.adapter ?? engine.adapters?.active },
    options.signal ?? undefined,
  );
  const tensor = pooled ? new Tensor('float32', data, [data.length / dim, dim]) : padRows(data, tokens, dim);
  const out = precision ? (await import('../vectors/quantize.js')).quantize_embeddings(tensor, precision) : tensor;
  return withFacts(out, { tokens, truncated, windows, unknown }) as unknown as Embeddings | QuantizedEmbeddings;
}

type Role = 'query' | 'document';

/** How a model's own task for queries, or for what is searched, is named: jina-embeddings-v3 has 'retrieval.query' and 'retrieval.passage'. */
const kTaskOf = { query: /\bquery$/, document: /\b(document|passage)$/ };

/**
 * As in sentence-transformers' encode_query and encode_document: the prompt of that name if there is one. A model with tasks of its own uses the one
 * for that, unless the caller chose an adapter or a task.
 */
function asRole(engine: AnyEngine, role: Role, given: EmbedOptions): EmbedOptions {
  const options = ownCopy(given);
  const { prompt, prompt_name, task, adapter } = options;
  const { route, routes } = engine.info;
  if (routes && routes[role] !== route) {
    const instead = routes[role] === undefined ? 'there is none for this role' : `load it with { route: '${role}' } for this role`;
    throw new UnsupportedError(`encode_${role}: the model has its route '${route}'; ${instead}`);
  }
  if (task !== undefined) return options;
  const { active, held } = engine.adapters ?? {};
  const isFree = adapter === undefined && !active;
  const own = isFree ? engine.info.tasks?.find((name) => kTaskOf[role].test(name) && held?.has(name)) : undefined;
  const known = engine.info.prompts[role];
  const before = prompt === undefined && prompt_name === undefined ? (own ? known : (known ?? '')) : undefined;
  return { ...options, ...(own && { task: own }), ...(before !== undefined && { prompt: before }) };
}

const embedAs = (engine: AnyEngine, role: Role, texts: unknown, options: EmbedOptions | null | undefined) =>
  embed(engine, texts, asRole(engine, role, options ?? {}));

/** What is put before each text that is searched. */
export const documentPrompt = (engine: AnyEngine): string => withTask(engine, ownCopy(asRole(engine, 'document', {}))).prompt ?? '';

// A part of its own: a page with a worker needs none of it.
const tokenizers = () => Promise.all([import('../tokenizer/make_tokenizer.js'), import('../tokenizer/extras.js')]);

/** pipe with the members `model` and `tokenizer`, of which the latter is synchronous and so not available across a worker boundary. */
async function withTokenizer<Pipe extends object>(engine: AnyEngine, pipe: Pipe): Promise<Pipe> {
  const local = engine instanceof Engine ? engine : undefined;
  if (local) readJson(local.files, 'tokenizer_config.json'); // a broken one fails here, not when the tokenizer is first used
  const [part, extras] = local ? await tokenizers() : [];
  let tokenizer: Tokenizer | undefined;
  const json = (name: string) => ({ ...readJson(engine.files, name) });
  let config: object | undefined;
  const model = {
    get config() {
      return (config ??= json('config.json'));
    },
    get generation_config() {
      return json('generation_config.json');
    },
    dispose: () => (pipe as unknown as Disposable_).dispose(),
  };
  Object.assign(pipe, { model });
  return Object.defineProperty(pipe, 'tokenizer', {
    get() {
      if (!local) {
        throw new UnsupportedError(
          'pipeline: with the option worker, the tokenizer is in the worker: use AutoTokenizer.from_pretrained(model)',
        );
      }
      if (!tokenizer) {
        const handle = { call: local.call.bind(local), describe: (model: SeamModel) => model.describe_tokenizer() };
        const made = (tokenizer = part!.makeTokenizer<SeamModel>(handle, [...local.files], extras as Extras));
        local.chatTemplates = () => made.chat_template;
      }
      return tokenizer;
    },
  });
}

/** call, which is asked again in wattn's words where it refuses options that are written out of habit. */
const familiar =
  <A extends unknown[], R>(task: HabitualCall, call: (...args: A) => R | Promise<R>) =>
  async (...args: A): Promise<R> => {
    try {
      return await call(...args);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return call(...(await import('../core/habits.js')).argumentsAgain(task, args, error));
    }
  };

const explaining = (engine: AnyEngine, task: string) => ({
  explain: async (text: unknown, options?: ExplainTextOptions | null) =>
    (await import('./explain.js')).explain(engine, task, text, options),
});

async function featureExtraction(engine: AnyEngine): Promise<FeatureExtractionPipeline> {
  const theirs = { pooling: 'none', normalize: false } as const;
  const pipe = familiar('feature-extraction', (texts: unknown, options?: EmbedOptions) =>
    embed(engine, texts, env.compat ? { ...theirs, ...options } : options),
  );
  const as = (role: Role) =>
    familiar('feature-extraction', (texts: unknown, options?: EmbedOptions | null) => embedAs(engine, role, texts, options));
  Object.assign(await withTokenizer(engine, pipe), { encode_query: as('query'), encode_document: as('document') });
  return asLoaded(engine, pipe, {
    task: 'feature-extraction',
    ...explaining(engine, 'feature-extraction'),
  }) as unknown as FeatureExtractionPipeline;
}

async function loadTaskPipeline(task: string, model: ModelSpecifier | undefined | null, options: ModelOptions) {
  const { head, prepare, extend, instead, open } = await loadTask(task);
  const name = kAliases[task] ?? task;
  const hint = instead === undefined ? '' : `; ${instead}`;
  model ??= (await import('./defaults.js')).defaultModel(name);
  const load = (wanted = head) => loadEngine('pipeline', model, options, wanted);
  const opening: Promise<Opened<AnyEngine>> = open ? open(load, model, options, embed) : load().then((engine) => ({ engine }));
  const { engine, call } = await opening.catch((error) => {
    if (error instanceof UnsupportedError || error instanceof ModelFormatError) error.message += hint;
    throw error;
  });
  const own = call && familiar(name as HabitualCall, call);
  const ready = familiar(name as HabitualCall, (...args: unknown[]) => prepare(args, engine));
  const pipe = async (...args: unknown[]) => {
    if (own) return own(...args);
    const active = engine.adapters?.active; // when the call begins
    const { items, options: prepared, signal, onPiece, stopped, finish } = await ready(...args);
    const set = ownCopy(prepared);
    const results = engine.run(task, items, { ...set, adapter: set.adapter ?? active }, signal, onPiece);
    return finish(await (stopped ? results.catch(stopped) : results));
  };
  return asLoaded(engine, await withTokenizer(engine, pipe), {
    task: name,
    ...explaining(engine, name),
    ...extend?.(pipe, engine),
  });
}

/**
 * Loads a model for a task.
 *
 * `'feature-extraction'` computes sentence embeddings, with the model's own pooling, normalisation, prompts and maximum length. Other tasks need a
 * checkpoint trained for them: `'text-classification'` (`'sentiment-analysis'`), `'zero-shot-classification'`, `'token-classification'` (`'ner'`),
 * `'zero-shot-ner'`, `'information-extraction'`, `'question-answering'`, `'fill-mask'`, `'text-ranking'`, `'text-generation'`. For encoder-decoders: `'text2text-generation'`,
 * `'translation'`, `'summarization'`.
 *
 *     const embed = await pipeline('feature-extraction'); // the bundled model
 *     const vectors = await embed(['A man is eating food.', 'Someone has lunch.']); // Tensor [2, dim]
 *     const rank = await pipeline('text-ranking', 'cross-encoder/ms-marco-MiniLM-L6-v2', { dtype: 'q8' });
 *
 * @param task the task's name.
 * @param model a Hub id, a folder, a URL, or the files themselves: see `ModelSpecifier`. Default: the bundled model for embeddings and sentiment; for other
 *   tasks a model of the Hub, which a warning names (docs/tasks.md lists them).
 * @param options wattn's options, and those of transformers.js (`FamiliarOptions`).
 * @returns a function that runs the task on texts. Its methods report facts and memory of the model. Throws an `InputError` for an unknown task or option, or if
 *   the model does not exist, and an `UnsupportedError` if the model cannot do the task.
 *
 * @example
 * const embed = await pipeline('feature-extraction'); // the bundled model
 * (await embed(['The bakery opens at six.', 'Trains leave every hour.'])).dims; // => [2, 384]
 */
export async function pipeline<Task extends keyof Pipelines>(
  task: Task,
  model?: ModelSpecifier | null,
  options?: ModelOptions | null,
): Promise<Pipelines[Task]> {
  // translation_en_to_de is a translation, whose languages are those of the model or of a call.
  const name: string = /^translation_\w+_to_\w+$/.test(task) ? 'translation' : task;
  const own = ownCopy(options);
  const tell = own?.progress_callback;
  const told = (info: ProgressInfo) => tell?.(info.status === 'ready' ? { ...info, task } : info);
  const load = typeof tell === 'function' ? { ...own, progress_callback: told } : (own ?? {});
  if (!own?.worker) tokenizers().catch(() => {}); // while the model loads; an error is that of the second call
  if (name === 'feature-extraction' || name === 'embeddings') {
    return (await featureExtraction(await loadEngine('pipeline', model, load))) as Pipelines[Task];
  }
  const known = ['feature-extraction', ...kTaskNames];
  if (known.includes(name)) return (await loadTaskPipeline(name, model, load)) as unknown as Pipelines[Task];
  throw (await import('./defaults.js')).unknownTask(task, [...known, 'embeddings']);
}
