/**
 * wattn as a provider of the AI SDK (specification `v4`): embeddings, language models, reranking.
 *
 * @module
 */
import { UnsupportedError } from '../core/errors.js';
import type { ModelSpecifier } from '../source/types.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { TextGenerationPipeline } from '../generation/generation_types.js';
import type { TextRankingPipeline } from '../tasks/task_types.js';
import type {
  AiEmbeddingModel,
  AiEmbedOptions,
  AiGenerateOptions,
  AiLanguageModel,
  AiRankOptions,
  AiRerankingModel,
  CallOptions,
} from './ai_sdk_types.js';
import { given, isPipeline, rowsOf, type Given } from './given_model.js';

export type {
  AiContent,
  AiEmbeddingModel,
  AiEmbedOptions,
  AiFinishReason,
  AiGenerateOptions,
  AiLanguageModel,
  AiRankOptions,
  AiRerankingModel,
  AiStreamPart,
  AiTool,
  AiToolCall,
  AiUsage,
  AiWarning,
} from './ai_sdk_types.js';

/** The provider. Call it with a pipeline or a model's name to get the matching model. A name alone gives a language model. */
export interface WattnProvider {
  (pipe: FeatureExtractionPipeline, options?: AiEmbedOptions): AiEmbeddingModel;
  (pipe: TextRankingPipeline, options?: AiRankOptions): AiRerankingModel;
  (model: TextGenerationPipeline | ModelSpecifier, options?: AiGenerateOptions): AiLanguageModel;
  /** The provider specification of AI SDK version 7. */
  readonly specificationVersion: 'v4';
  /** An embedding model. `options` apply to each call of the pipeline. Default model: the bundled one. */
  embeddingModel(model?: Given<'feature-extraction'>, options?: AiEmbedOptions): AiEmbeddingModel;
  /** A language model. `options` apply to each call of the pipeline. */
  languageModel(model: Given<'text-generation'>, options?: AiGenerateOptions): AiLanguageModel;
  /** A reranking model, from a cross-encoder. `options` apply to each call of the pipeline. */
  rerankingModel(model: Given<'text-ranking'>, options?: AiRankOptions): AiRerankingModel;
  /** Throws an `UnsupportedError`: wattn does not generate images. */
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

function languageModel(model: Given<'text-generation'>, options?: AiGenerateOptions): AiLanguageModel {
  const load = given('wattn.languageModel', 'text-generation', model);
  const chat = () => import('./ai_sdk_chat.js');
  return {
    ...header(model),
    supportedUrls: {},
    doGenerate: async (call) => (await chat()).answer(load, options, call),
    async doStream(call) {
      await load(call.abortSignal);
      return { stream: (await chat()).answerStream(load, options, call) };
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
 * The wattn provider for the AI SDK. Call `wattn(pipe)` with a pipeline of `'feature-extraction'`, `'text-generation'` or `'text-ranking'`; any other
 * task throws an `InputError`. Or call its methods with a model's name: the model is loaded at the first call. Pass options of a call in
 * `providerOptions.wattn`.
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
