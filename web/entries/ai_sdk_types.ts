// The AI SDK's types as wattn/ai-sdk uses them.
import type { EmbedOptions } from '../engine/types.js';
import type { TextGenerationOptions } from '../generation/generation_types.js';
import type { TextRankingOptions } from '../tasks/task_types.js';

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

/** What every call of a model may have. */
export interface CallOptions {
  abortSignal?: AbortSignal | undefined;
  /** `providerOptions.wattn`: options of the pipeline's call. */
  providerOptions?: Record<string, Record<string, any>> | undefined;
  headers?: unknown;
}

/** What every model has. */
export interface Model {
  /** The form of providers in version 7 of the AI SDK. */
  readonly specificationVersion: 'v4';
  /** The provider's name, `'wattn'`. */
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

/** A part of a message. */
export type Part = { type: string; text?: string; [more: string]: any };
/** The messages of a call. */
export type Prompt = { role: string; content: string | Part[] }[];

/** A tool as the SDK hands it on. */
export interface AiTool {
  /** `'function'`; others are a provider's own. */
  type: string;
  /** What calls name it by. */
  name: string;
  /** For the model. */
  description?: string | undefined;
  /** A JSON Schema of the arguments. */
  inputSchema?: object | undefined;
  /** Whether calls that the model makes on its own satisfy the schema, too. */
  strict?: boolean | undefined;
  [more: string]: any;
}

/** What a call of a language model has. */
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
  unified: 'stop' | 'length' | 'tool-calls' | 'error';
  /** The same in wattn's words. */
  raw: string | undefined;
}

/** A call of a tool; `input`: its arguments as JSON. */
export interface AiToolCall {
  /** What it is. */
  type: 'tool-call';
  /** Nine letters and digits, or what the model wrote. */
  toolCallId: string;
  /** The tool's name. */
  toolName: string;
  /** The arguments as JSON. */
  input: string;
}

/** What only this provider says: `wattn.logprobs`, a `GeneratedLogprob` for each token, if `providerOptions.wattn` asks for them. */
export type AiMetadata = Record<string, Record<string, any>>;

/** A part of an answer. */
export type AiContent =
  | {
      /** Whether the model answers, or thinks to itself. */
      type: 'text' | 'reasoning';
      /** What the model wrote. */
      text: string;
    }
  | AiToolCall;

/** A part of a streamed answer. */
export type AiStreamPart =
  | {
      /** Which part this is. */
      type: 'stream-start';
      /** Options that have no effect on this model. */
      warnings: AiWarning[];
    }
  | {
      type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' | 'tool-input-end';
      /** The same in all parts that belong together. */
      id: string;
    }
  | {
      type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta';
      id: string;
      /** What is added to the text. */
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
      /** How many tokens were read and written. */
      usage: AiUsage;
      /** Why the answer ended. */
      finishReason: AiFinishReason;
      /** What only this provider says. */
      providerMetadata?: AiMetadata;
    };

/** For `generateText` and `streamText`. */
export interface AiLanguageModel extends Model {
  /** None: it takes texts alone. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /** The whole answer. */
  doGenerate(options: GenerateCallOptions): Promise<{
    content: AiContent[];
    finishReason: AiFinishReason;
    usage: AiUsage;
    providerMetadata?: AiMetadata;
    warnings: AiWarning[];
  }>;
  /** The answer in pieces. */
  doStream(options: GenerateCallOptions): Promise<{ stream: ReadableStream<AiStreamPart> }>;
}

/** A model for the AI SDK's `rerank`. */
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
