// The model that a server serves, with what it can be asked for.
import { sigmoid } from '../core/scores.js';
import { readBeginning } from '../generation/answers.js';
import type { GeneratedLogprob } from '../generation/generation_types.js';
import { endOf, untilStop } from '../generation/stop_texts.js';
import {
  AutoConfig,
  describeModel,
  InputError,
  pipeline,
  type ChatDelta,
  type ChatMessage,
  type FeatureExtractionPipeline,
  type GeneratedText,
  type LabelScore,
  type LoadOptions,
  type ModelInfo,
  type PoolingMode,
  type SparseEncodingPipeline,
  type TextClassificationPipeline,
  type TextGenerationOptions,
  type TextGenerationPipeline,
  type ToolCall,
} from '../entries/index.js';
import { Batches, type Answer } from './batches.js';

export const kServedTasks = ['feature-extraction', 'sparse-encoding', 'text-classification', 'text-generation'] as const;
export type ServedTask = (typeof kServedTasks)[number];

export interface ModelSettings {
  model: string | undefined;
  /** Default: what the model's files say. */
  task: ServedTask | undefined;
  /** How it is called in requests. */
  name: string;
  pooling: PoolingMode | undefined;
  workers: number;
  /** Tokens of a call of the model. */
  batchTokens: number;
  load: LoadOptions;
  onCall(texts: number, tokens: number): void;
}

/** Options of texts that may share a call. */
export interface VectorOptions {
  normalize?: boolean | undefined;
  truncate_dim?: number | undefined;
  prompt_name?: string | undefined;
}
export type Vectors = Batches<string, VectorOptions, Float32Array>;

/** Words of the vocabulary and their weights. */
export interface Weights {
  indices: Int32Array;
  values: Float32Array;
}
export type SparseVectors = Batches<string, { prompt_name?: string | undefined }, Weights>;

/** A text, or a text and a second one, and its labels, best first. */
export type Pair = string | { text: string; text_pair: string };
export type Labels = Batches<Pair, { function_to_apply?: 'none' | undefined }, LabelScore[]>;

/** A chat that is continued. onDelta: receives what is added to the message as it is made, its text up to a stop text. */
export interface ChatOptions {
  options: TextGenerationOptions;
  onDelta?: ((delta: ChatDelta) => void) | undefined;
}
export interface Continued {
  text: string;
  tokens: number;
  prompt_tokens: number;
  cached_tokens: number;
  finish_reason: 'stop' | 'length' | 'tool_calls';
  tool_calls?: ToolCall[] | undefined;
  reasoning_content?: string | undefined;
  logprobs?: GeneratedLogprob[] | undefined;
}
export type Chats = Batches<ChatMessage[], ChatOptions, Continued[]>;

/** What can be asked for, by the task of the model. */
export type Asked =
  | { task: 'feature-extraction'; batches: Vectors }
  | { task: 'sparse-encoding'; batches: SparseVectors }
  | { task: 'text-classification'; batches: Labels; labels: readonly string[] }
  | { task: 'text-generation'; batches: Chats };

export type Served = Asked & {
  name: string;
  info: ModelInfo;
  dispose(): Promise<void>;
};

/** Chats of a call, at most: those that generation computes together. */
const kChats = 8;

/** The task that a model's files are for, as far as they say it. */
async function taskOf({ model, load }: ModelSettings): Promise<ServedTask> {
  if (model === undefined) return 'feature-extraction';
  const { revision, local_files_only, cache_dir } = load;
  const source = Object.fromEntries(
    Object.entries({ revision, local_files_only, cache_dir }).filter(([, value]) => value !== undefined),
  );
  const { kind, heads } = await describeModel(model, source);
  if (kind === 'decoder') return 'text-generation';
  return heads.includes('sequence') ? 'text-classification' : 'feature-extraction';
}

/** English has about four characters a token; a text is cut where the model's maximum is. */
const sizeOf = (most: number) => (item: Pair) => {
  const characters = typeof item === 'string' ? item.length : item.text.length + item.text_pair.length;
  return Math.min(most, 2 + Math.ceil(characters / 4));
};

/** Without the members that are undefined. */
const set = <T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;

const runVectors =
  (pipe: FeatureExtractionPipeline, pooling: PoolingMode | undefined) =>
  async (texts: readonly string[], options: VectorOptions, signal: AbortSignal): Promise<Answer<Float32Array>[]> => {
    const out = await pipe(texts, set({ ...options, pooling, signal }));
    const dim = out.dims[1] as number;
    return texts.map((_, i) => ({
      result: out.data.subarray(i * dim, (i + 1) * dim),
      tokens: out.tokens[i] as number,
      truncated: out.truncated[i] as boolean,
    }));
  };

const runSparse =
  (pipe: SparseEncodingPipeline) =>
  async (
    texts: readonly string[],
    options: { prompt_name?: string | undefined },
    signal: AbortSignal,
  ): Promise<Answer<Weights>[]> => {
    const out = await pipe(texts, set({ ...options, signal }));
    return out.map(({ tokens, truncated, ...result }) => ({ result, tokens, truncated }));
  };

const runLabels =
  (pipe: TextClassificationPipeline) =>
  async (
    items: readonly Pair[],
    options: { function_to_apply?: 'none' | undefined },
    signal: AbortSignal,
  ): Promise<Answer<LabelScore[]>[]> => {
    const out = await pipe(items, set({ ...options, top_k: null, signal }));
    return out.map((result, i) => ({ result, tokens: out.tokens[i] as number, truncated: out.truncated[i] as boolean }));
  };

const runChats =
  (pipe: TextGenerationPipeline) =>
  async (
    chats: readonly ChatMessage[][],
    { options, onDelta }: ChatOptions,
    signal: AbortSignal,
  ): Promise<Answer<Continued[]>[]> => {
    const stops = (options.stop_strings ?? []) as readonly string[];
    const likely: GeneratedLogprob[] = []; // not told yet
    const tell =
      onDelta &&
      ((delta: ChatDelta) => {
        const logprobs = likely.splice(0);
        onDelta({ ...delta, ...(logprobs.length > 0 && { logprobs }) });
      });
    const pieces = tell && untilStop(stops, (content) => tell({ content }));
    const delta_callback =
      pieces &&
      (({ content, logprobs = [], ...delta }: ChatDelta) => {
        likely.push(...logprobs);
        if (delta.reasoning_content !== undefined || delta.tool_calls) tell(delta);
        if (content !== undefined) pieces.push(content);
      });
    const all = set({ ...options, delta_callback, signal, return_full_text: false });
    const [first] = chats;
    const lists =
      chats.length > 1
        ? ((await pipe([...chats], all as never)) as GeneratedText[][])
        : [await (pipe(first as ChatMessage[], all as never) as Promise<GeneratedText[]>).catch(readBeginning)];
    pieces?.end();
    if (likely.length > 0) tell?.({});
    return lists.map(continuedFrom(stops));
  };

/** The answer to a chat, up to a stop text. */
const continuedFrom =
  (stops: readonly string[]) =>
  (made: readonly GeneratedText[]): Answer<Continued[]> => {
    const result = made.map((one) => {
      const {
        generated_text,
        tokens,
        prompt_tokens,
        cached_tokens = 0,
        finish_reason,
        tool_calls,
        reasoning_content,
        logprobs,
      } = one;
      const stopped = tool_calls ? ('tool_calls' as const) : ('stop' as const);
      return {
        text: generated_text.slice(0, endOf(generated_text, stops)),
        tokens: tokens.length,
        prompt_tokens,
        cached_tokens,
        finish_reason: finish_reason === 'length' ? ('length' as const) : stopped,
        tool_calls,
        reasoning_content,
        logprobs,
      };
    });
    return { result, tokens: result.reduce((sum, { tokens }) => sum + tokens, 0), truncated: false };
  };

/** The names of labels in the order of their numbers. */
async function labelsOf(pipe: TextClassificationPipeline, { model, load }: ModelSettings): Promise<string[]> {
  const [best] = await pipe(['a'], { top_k: null });
  const names = (best as LabelScore[]).map(({ label }) => label);
  const { revision, local_files_only, cache_dir } = load;
  const config = await AutoConfig.from_pretrained(model as string, set({ revision, local_files_only, cache_dir }) as never).catch(
    () => undefined, // a classifier on vectors has no such file
  );
  const numbered = Object.values((config?.['id2label'] ?? {}) as Record<string, string>);
  return names.every((name) => numbered.includes(name)) ? numbered : names.sort();
}

/** What would fail in every request fails here. */
async function tryOut(task: ServedTask, pipe: unknown, { pooling }: ModelSettings): Promise<void> {
  if (task === 'text-generation') await (pipe as TextGenerationPipeline)([{ role: 'user', content: 'a' }], { max_new_tokens: 1 });
  if (task !== 'feature-extraction') return;
  const { pooled, pooled_reason } = (pipe as FeatureExtractionPipeline).info();
  if (!pooled && pooling === undefined)
    throw new InputError(
      `--pooling: expected one, as the model names none: ${pooled_reason ?? 'it gives one vector for each token'}`,
    );
}

/** Loads the model. */
export async function loadServed(settings: ModelSettings): Promise<Served> {
  const { model, name, workers, batchTokens, onCall, pooling } = settings;
  const task = settings.task ?? (await taskOf(settings));
  const load = { ...settings.load, worker: workers };
  const pipe = await pipeline(task, model, load);
  const info = pipe.info();
  await tryOut(task, pipe, settings).catch(async (error: unknown) => {
    await pipe.dispose();
    throw error;
  });
  const shared = { name, info, dispose: async () => pipe.dispose() };
  const limits = { tokens: batchTokens, calls: workers, onCall };
  const ofTexts = { ...limits, sizeOf: sizeOf(info.max_length) };
  if (task === 'feature-extraction') {
    const batches: Vectors = new Batches(runVectors(pipe as FeatureExtractionPipeline, pooling), ofTexts);
    return { task, batches, ...shared };
  }
  if (task === 'sparse-encoding') {
    const batches: SparseVectors = new Batches(runSparse(pipe as SparseEncodingPipeline), ofTexts);
    return { task, batches, ...shared };
  }
  if (task === 'text-classification') {
    const own = pipe as TextClassificationPipeline;
    const batches: Labels = new Batches(runLabels(own), ofTexts);
    return { task, batches, labels: await labelsOf(own, settings), ...shared };
  }
  const batches: Chats = new Batches(runChats(pipe as TextGenerationPipeline), { ...limits, tokens: kChats, sizeOf: () => 1 });
  return { task, batches, ...shared };
}

/** The score of a cross-encoder, from its logit: as `text-ranking` has it with the function 'sigmoid'. */
export const scoreOf = (logit: number): number => sigmoid(logit);
