/**
 * wattn as a provider of the AI SDK (specification `v4`): embeddings, language models, reranking.
 *
 * @module
 */
import { UnsupportedError } from '../core/errors.js';
import { readBeginning } from '../generation/answers.js';
import type { EmbedOptions } from '../engine/types.js';
import type { ModelSpecifier } from '../source/types.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { GeneratedText, TextGenerationOptions, TextGenerationPipeline } from '../generation/generation_types.js';
import type { TextRankingOptions, TextRankingPipeline } from '../tasks/task_types.js';
import type { ChatMessage } from '../tokenizer/types.js';
import { TaskScope, throwIfAborted } from '../core/signal.js';
import { endOf, untilStop } from '../generation/stop_texts.js';
import { given, isPipeline, rowsOf, type Given } from './given_model.js';

// The specification's types as far as wattn uses them, so that programs without the SDK need none of its packages.

/** What a call could not take, or changed. */
export interface AiWarning {
  /** `'unsupported'`: it was ignored. `'compatibility'`: it was taken in another way. */
  type: 'unsupported' | 'compatibility';
  /** The name of the setting, such as `'tools'`. */
  feature: string;
  /** What to do instead. */
  details?: string;
}

/** Options of the calls that an embedding model makes: those of the pipeline, which end by the SDK's `abortSignal`. */
export type AiEmbedOptions = Omit<EmbedOptions, 'signal'>;
/** Options of the calls that a language model makes: those of the pipeline but for what the SDK sets. */
export type AiGenerateOptions = Omit<TextGenerationOptions, 'signal' | 'callback' | 'return_full_text'>;
/** Options of the calls that a reranking model makes: those of the pipeline but for what the SDK sets. */
export type AiRankOptions = Omit<TextRankingOptions, 'signal' | 'top_k'>;

interface CallOptions {
  abortSignal?: AbortSignal | undefined;
  /** `providerOptions.wattn`: options of the pipeline's call. */
  providerOptions?: Record<string, Record<string, any>> | undefined;
  headers?: unknown;
}

interface Model {
  /** The form of providers in version 7 of the AI SDK. */
  readonly specificationVersion: 'v4';
  /** `'wattn'`. */
  readonly provider: string;
  /** The model's name; `'wattn'` where it has none. */
  readonly modelId: string;
}

/** For `embed` and `embedMany`. */
export interface AiEmbeddingModel extends Model {
  /** No limit: the pipeline makes its own batches. */
  readonly maxEmbeddingsPerCall: number;
  /** `false`: one call uses all threads. */
  readonly supportsParallelCalls: boolean;
  /** A vector for each text. `usage` counts tokens. */
  doEmbed(options: CallOptions & { values: string[]; dimensions?: number | undefined }): Promise<{
    embeddings: number[][];
    usage: { tokens: number };
    warnings: AiWarning[];
  }>;
}

type Part = { type: string; text?: string; [more: string]: any };
type Prompt = { role: string; content: string | Part[] }[];

interface GenerateCallOptions extends CallOptions {
  prompt: Prompt;
  maxOutputTokens?: number | undefined;
  temperature?: number | undefined;
  stopSequences?: string[] | undefined;
  topP?: number | undefined;
  topK?: number | undefined;
  presencePenalty?: number | undefined;
  frequencyPenalty?: number | undefined;
  responseFormat?: { type: string; schema?: object | undefined } | undefined;
  seed?: number | undefined;
  tools?: unknown[] | undefined;
  [more: string]: any;
}

/** Tokens of a generation. They are `undefined` if it failed. */
export interface AiUsage {
  /** Tokens of the prompt. */
  inputTokens: { total: number | undefined; noCache: number | undefined; cacheRead: undefined; cacheWrite: undefined };
  /** Tokens of the answer, those of a stop sequence included. */
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: undefined };
}

/** Why a generation ended; `raw`: wattn's `finish_reason`. */
export interface AiFinishReason {
  /** The SDK's name. */
  unified: 'stop' | 'length' | 'error';
  /** wattn's name. */
  raw: string | undefined;
}

/** A part of a streamed answer. */
export type AiStreamPart =
  | { type: 'stream-start'; warnings: AiWarning[] }
  | { type: 'text-start' | 'text-end'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'error'; error: unknown }
  | { type: 'finish'; usage: AiUsage; finishReason: AiFinishReason };

/** For `generateText` and `streamText`. */
export interface AiLanguageModel extends Model {
  /** None: it takes texts alone. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /** The whole answer. */
  doGenerate(options: GenerateCallOptions): Promise<{
    content: { type: 'text'; text: string }[];
    finishReason: AiFinishReason;
    usage: AiUsage;
    warnings: AiWarning[];
  }>;
  /** The answer in pieces. */
  doStream(options: GenerateCallOptions): Promise<{ stream: ReadableStream<AiStreamPart> }>;
}

/** For `rerank`. */
export interface AiRerankingModel extends Model {
  /** The best documents first. Objects are ranked as JSON, with a warning. */
  doRerank(
    options: CallOptions & {
      documents: { type: 'text'; values: string[] } | { type: 'object'; values: any[] };
      query: string;
      topN?: number | undefined;
    },
  ): Promise<{ ranking: { index: number; relevanceScore: number }[]; warnings: AiWarning[] }>;
}

/** The provider. Called with a pipeline or a model's name, it makes the model for it; a name alone is a language model's. */
export interface WattnProvider {
  (pipe: FeatureExtractionPipeline, options?: AiEmbedOptions): AiEmbeddingModel;
  (pipe: TextRankingPipeline, options?: AiRankOptions): AiRerankingModel;
  (model: TextGenerationPipeline | ModelSpecifier, options?: AiGenerateOptions): AiLanguageModel;
  /** The form of providers in version 7 of the AI SDK. */
  readonly specificationVersion: 'v4';
  /** options: those of each call of the pipeline. Default model: the one in the package. */
  embeddingModel(model?: Given<'feature-extraction'>, options?: AiEmbedOptions): AiEmbeddingModel;
  /** options: those of each call of the pipeline. */
  languageModel(model: Given<'text-generation'>, options?: AiGenerateOptions): AiLanguageModel;
  /** model: a cross-encoder. options: those of each call of the pipeline. */
  rerankingModel(model: Given<'text-ranking'>, options?: AiRankOptions): AiRerankingModel;
  /** Throws an `UnsupportedError`: wattn makes no images. */
  imageModel(model: string): never;
}

const kName = 'wattn';
const own = ({ providerOptions }: CallOptions) => providerOptions?.[kName];
const header = (model: unknown) => ({
  specificationVersion: 'v4' as const,
  provider: kName,
  modelId: typeof model === 'string' ? model : kName,
});

function embeddingModel(model?: Given<'feature-extraction'>, options?: AiEmbedOptions): AiEmbeddingModel {
  const load = given('wattn.embeddingModel', 'feature-extraction', model);
  return {
    ...header(model),
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: false,
    async doEmbed(call) {
      if (call.values.length === 0) return { embeddings: [], usage: { tokens: 0 }, warnings: [] };
      const { dimensions: truncate_dim, abortSignal: signal, values } = call;
      const dimensions = truncate_dim === undefined ? {} : { truncate_dim };
      const pipe = await load(signal);
      const out = await pipe(values, { ...options, ...dimensions, ...own(call), signal });
      return {
        embeddings: rowsOf('wattn.embeddingModel', out, values.length),
        usage: { tokens: out.tokens.reduce((sum, count) => sum + count, 0) },
        warnings: [],
      };
    },
  };
}

/** A message's text. Reasoning is left out, as chat templates do with that of earlier turns. */
function textOf(role: string, content: string | Part[]): string {
  if (typeof content === 'string') return content;
  return content
    .filter(({ type }) => type !== 'reasoning')
    .map(({ type, text }) => {
      if (type === 'text') return text;
      throw new UnsupportedError(`wattn.languageModel: expected text in a message of '${role}', found a part of type '${type}'`);
    })
    .join('');
}

const usageOf = (prompt?: number, answer?: number): AiUsage => ({
  inputTokens: { total: prompt, noCache: prompt, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: answer, text: answer, reasoning: undefined },
});

function warningsOf(call: GenerateCallOptions): AiWarning[] {
  const warnings: AiWarning[] = [];
  const warn = (feature: string, details: string) => warnings.push({ type: 'unsupported', feature, details });
  for (const name of ['presencePenalty', 'frequencyPenalty'])
    if (call[name]) warn(name, 'Models have repetition_penalty, in providerOptions.wattn.');
  if (call.tools?.length) warn('tools', 'The model is not told of them.');
  if (call.reasoning !== undefined && call.reasoning !== 'provider-default')
    warn('reasoning', 'A template may have a variable for it, in providerOptions.wattn.chat_template_kwargs.');
  return warnings;
}

/** Only what the caller sets: the rest is the model's own. */
function generateOptionsOf(call: GenerateCallOptions) {
  const { maxOutputTokens, temperature, stopSequences, topP, topK, seed, responseFormat } = call;
  const out: TextGenerationOptions = {};
  if (responseFormat?.type === 'json') {
    const { schema } = responseFormat;
    out.response_format = schema ? { type: 'json_schema', json_schema: schema } : { type: 'json_object' };
  }
  if (maxOutputTokens !== undefined) out.max_new_tokens = maxOutputTokens;
  if (stopSequences?.length) out.stop_strings = stopSequences;
  if (seed !== undefined) out.seed = seed;
  if (topP !== undefined) out.top_p = topP;
  if (topK !== undefined) out.top_k = topK;
  if (temperature) out.temperature = temperature;
  if (temperature !== undefined) out.do_sample = temperature > 0;
  else if (topP !== undefined || topK !== undefined) out.do_sample = true;
  return out;
}

function languageModel(model: Given<'text-generation'>, options?: AiGenerateOptions): AiLanguageModel {
  const load = given('wattn.languageModel', 'text-generation', model);

  /** With `give`, the text is passed on as it is made. */
  async function generate(call: GenerateCallOptions, signal: AbortSignal | undefined, give?: (text: string) => void) {
    const chat = call.prompt.map(({ role, content }): ChatMessage => ({ role, content: textOf(role, content) }));
    const all = { ...options, ...generateOptionsOf(call), ...own(call) };
    const stops = typeof all.stop_strings === 'string' ? [all.stop_strings] : (all.stop_strings ?? []);
    const pieces = give && untilStop(stops, give);
    const pipe = await load(signal);
    const stream = pieces && { callback: (piece: string) => pieces.push(piece) };
    // JSON that the length ended is for the SDK to judge.
    const [result] = await pipe(chat, { ...all, ...stream, return_full_text: false, signal }).catch(readBeginning);
    pieces?.end();
    const { generated_text, finish_reason: raw, prompt_tokens, tokens } = result as GeneratedText;
    const finishReason: AiFinishReason = { unified: raw === 'length' ? 'length' : 'stop', raw };
    const text = generated_text.slice(0, endOf(generated_text, stops));
    return { text, end: { finishReason, usage: usageOf(prompt_tokens, tokens.length) } };
  }

  return {
    ...header(model),
    supportedUrls: {},
    async doGenerate(call) {
      const { text, end } = await generate(call, call.abortSignal);
      return { content: [{ type: 'text', text }], ...end, warnings: warningsOf(call) };
    },
    async doStream(call) {
      await load(call.abortSignal);
      const scope = new TaskScope(call.abortSignal);
      const { signal } = scope;
      const id = '0';
      const stream = new ReadableStream<AiStreamPart>({
        start(controller) {
          const add = (part: AiStreamPart) => {
            if (!signal.aborted) controller.enqueue(part);
          };
          const run = async () => {
            add({ type: 'stream-start', warnings: warningsOf(call) });
            add({ type: 'text-start', id });
            const { end } = await generate(call, signal, (delta) => add({ type: 'text-delta', id, delta }));
            throwIfAborted(signal);
            add({ type: 'text-end', id });
            add({ type: 'finish', ...end });
          };
          const failed = (error: unknown) => {
            if (signal.aborted) return controller.error(error);
            add({ type: 'error', error });
            add({ type: 'finish', usage: usageOf(), finishReason: { unified: 'error', raw: undefined } });
            controller.close();
          };
          // Not returned: a stream cannot be read before its start has ended.
          void run()
            .then(() => controller.close(), failed)
            .finally(() => scope.close());
        },
        cancel: () => scope.close(),
      });
      return { stream };
    },
  };
}

function rerankingModel(model: Given<'text-ranking'>, options?: AiRankOptions): AiRerankingModel {
  const load = given('wattn.rerankingModel', 'text-ranking', model);
  return {
    ...header(model),
    async doRerank(call) {
      const { documents, query, topN, abortSignal: signal } = call;
      const isText = documents.type === 'text';
      const texts = isText ? documents.values : documents.values.map((each) => JSON.stringify(each));
      const limit = topN === undefined ? {} : { top_k: topN };
      const ranked = await (await load(signal))(query, texts, { ...options, ...limit, ...own(call), signal });
      const details = 'Objects are ranked as JSON.';
      return {
        ranking: ranked.map(({ corpus_id, score }) => ({ index: corpus_id, relevanceScore: score })),
        warnings: isText ? [] : [{ type: 'compatibility', feature: 'object documents', details }],
      };
    },
  };
}

function modelOf(model: any, options?: any): AiEmbeddingModel | AiLanguageModel | AiRerankingModel {
  if (isPipeline(model) && model.task === 'feature-extraction') return embeddingModel(model, options);
  if (isPipeline(model) && model.task === 'text-ranking') return rerankingModel(model, options);
  return languageModel(model, options);
}

/**
 * The provider: `wattn(pipe)` for a pipeline of `'feature-extraction'`, `'text-generation'` or `'text-ranking'`, or its methods with a model's
 * name, which load it at the first call. An `InputError` for a pipeline of another task. Options of a call are in `providerOptions.wattn`.
 *
 * @example
 * const { embedding } = await embed({ model: wattn.embeddingModel('Xenova/all-MiniLM-L6-v2'), value: 'a text' });
 */
export const wattn: WattnProvider = /* @__PURE__ */ Object.assign(modelOf as any, {
  specificationVersion: 'v4',
  embeddingModel,
  languageModel,
  rerankingModel,
  imageModel(model: string): never {
    throw new UnsupportedError(`wattn.imageModel: expected a model for texts, found '${model}'; wattn makes no images`);
  },
});
