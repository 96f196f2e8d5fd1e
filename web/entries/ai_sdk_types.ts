// The AI SDK's types as wattn/ai-sdk uses them.
import type { EmbedOptions } from '../engine/types.js';
import type { TextGenerationOptions } from '../generation/generation_types.js';
import type { TextRankingOptions } from '../tasks/task_types.js';

// The specification's types as far as wattn uses them, so that programs without the SDK need none of its packages.

/** A setting that a call ignored or changed. */
export interface AiWarning {
  /** `'unsupported'`: ignored. `'compatibility'`: applied in a different way. */
  type: 'unsupported' | 'compatibility';
  /** The name of the setting, such as `'tools'`. */
  feature: string;
  /** What to do instead. */
  details?: string;
}

/** Options for the calls of an embedding model: those of the pipeline. Cancel with the SDK's `abortSignal`. */
export type AiEmbedOptions = Omit<EmbedOptions, 'signal'>;
/** Options for the calls of a language model: those of the pipeline, except what the SDK sets. */
export type AiGenerateOptions = Omit<TextGenerationOptions, 'signal' | 'callback' | 'return_full_text'>;
/** Options for the calls of a reranking model: those of the pipeline, except what the SDK sets. */
export type AiRankOptions = Omit<TextRankingOptions, 'signal' | 'top_k'>;

/** Members of every call's options. */
export interface CallOptions {
  abortSignal?: AbortSignal | undefined;
  /** Options of the pipeline's call, as `providerOptions.wattn`. */
  providerOptions?: Record<string, Record<string, any>> | undefined;
  headers?: unknown;
}

/** Members of every model. */
export interface Model {
  /** The provider specification of AI SDK version 7. */
  readonly specificationVersion: 'v4';
  /** The provider's name, `'wattn'`. */
  readonly provider: string;
  /** The model's name; `'wattn'` if it has none. */
  readonly modelId: string;
}

/** A model for the AI SDK's `embed` and `embedMany`. */
export interface AiEmbeddingModel extends Model {
  /** Infinity: the pipeline makes its own batches. */
  readonly maxEmbeddingsPerCall: number;
  /** `false`: one call uses all threads. */
  readonly supportsParallelCalls: boolean;
  /** Embeds texts, one vector per text. `usage` counts tokens. */
  doEmbed(options: CallOptions & { values: string[]; dimensions?: number | undefined }): Promise<{
    embeddings: number[][];
    usage: { tokens: number };
    warnings: AiWarning[];
  }>;
}

/** A part of a message. */
export type Part = { type: string; text?: string; [more: string]: any };
/** The messages of a call. */
export type Prompt = { role: string; content: string | Part[] }[];

/** A tool as the SDK passes it. */
export interface AiTool {
  /** `'function'`; other types are specific to a provider. */
  type: string;
  /** The name that calls use. */
  name: string;
  /** What the tool does, for the model. */
  description?: string | undefined;
  /** A JSON Schema of the arguments. */
  inputSchema?: object | undefined;
  /** Whether calls must satisfy the schema even if the model may choose to make them. */
  strict?: boolean | undefined;
  [more: string]: any;
}

/** Options of a call of a language model. */
export interface GenerateCallOptions extends CallOptions {
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
  tools?: AiTool[] | undefined;
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string } | undefined;
  [more: string]: any;
}

/** Token counts of a generation; `undefined` if it failed. */
export interface AiUsage {
  /** Tokens of the prompt. */
  inputTokens: { total: number | undefined; noCache: number | undefined; cacheRead: undefined; cacheWrite: undefined };
  /** Tokens of the answer, including a stop sequence. */
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: undefined };
}

/** Why a generation ended. `raw` is wattn's `finish_reason`. */
export interface AiFinishReason {
  /** The SDK's name for the reason. */
  unified: 'stop' | 'length' | 'tool-calls' | 'error';
  /** wattn's name for the reason. */
  raw: string | undefined;
}

/** A tool call; `input` has the arguments as JSON. */
export interface AiToolCall {
  /** The type of the part. */
  type: 'tool-call';
  /** The call's id: nine letters and digits, or the id that the model wrote. */
  toolCallId: string;
  /** The tool's name. */
  toolName: string;
  /** The arguments as JSON. */
  input: string;
}

/** Metadata of this provider: `wattn.logprobs`, a `GeneratedLogprob` for each token, if `providerOptions.wattn` requests them. */
export type AiMetadata = Record<string, Record<string, any>>;

/** A part of an answer. */
export type AiContent =
  | {
      /** Whether this is the answer or the model's reasoning. */
      type: 'text' | 'reasoning';
      /** The generated text. */
      text: string;
    }
  | AiToolCall;

/** A part of a streamed answer. */
export type AiStreamPart =
  | {
      /** The type of the part. */
      type: 'stream-start';
      /** Settings that have no effect on this model. */
      warnings: AiWarning[];
    }
  | {
      type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' | 'tool-input-end';
      /** The id shared by all parts of one block. */
      id: string;
    }
  | {
      type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta';
      id: string;
      /** The text to append. */
      delta: string;
    }
  | {
      type: 'tool-input-start';
      id: string;
      /** The tool that is called. */
      toolName: string;
    }
  | AiToolCall
  | {
      type: 'error';
      /** What went wrong. */
      error: unknown;
    }
  | {
      type: 'finish';
      /** How many tokens were used. */
      usage: AiUsage;
      /** Why the generation ended. */
      finishReason: AiFinishReason;
      /** Metadata of this provider. */
      providerMetadata?: AiMetadata;
    };

/** A model for the AI SDK's `generateText` and `streamText`. */
export interface AiLanguageModel extends Model {
  /** Empty: the model only accepts text. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /** Generates the whole answer. */
  doGenerate(options: GenerateCallOptions): Promise<{
    content: AiContent[];
    finishReason: AiFinishReason;
    usage: AiUsage;
    providerMetadata?: AiMetadata;
    warnings: AiWarning[];
  }>;
  /** Generates the answer as a stream. */
  doStream(options: GenerateCallOptions): Promise<{ stream: ReadableStream<AiStreamPart> }>;
}

/** A model for the AI SDK's `rerank`. */
export interface AiRerankingModel extends Model {
  /** Ranks documents, best first. Objects are ranked as JSON, with a warning. */
  doRerank(
    options: CallOptions & {
      documents: { type: 'text'; values: string[] } | { type: 'object'; values: any[] };
      query: string;
      topN?: number | undefined;
    },
  ): Promise<{ ranking: { index: number; relevanceScore: number }[]; warnings: AiWarning[] }>;
}
