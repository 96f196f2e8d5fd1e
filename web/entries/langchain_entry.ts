/**
 * wattn in LangChain: embeddings, documents cut into chunks by tokens, and a chat model.
 *
 * @module
 */
import { AutoTokenizer } from './index.js';
import { InputError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { EmbedOptions } from '../engine/types.js';
import type { ModelSpecifier } from '../source/types.js';
import type { FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { ChunkOptions, Tokenizer } from '../tokenizer/types.js';
import type { TextGenerationOptions } from '../generation/generation_types.js';
import { given, once, rowsOf, type Given, type Load } from './given_model.js';
import type { ChatWattn, ChatWattnCallOptions } from './langchain_chat.js';

export type { ChatWattn, ChatWattnCallOptions };

/** Fields of `WattnEmbeddings`. */
export interface WattnEmbeddingsFields {
  /** A pipeline of `'feature-extraction'`, or a model, which is loaded at the first call. Default: the bundled model. */
  model?: Given<'feature-extraction'> | undefined;
  /** Options of each call of the pipeline. Default: none. */
  options?: EmbedOptions | undefined;
}

/** A document, as in LangChain. */
export interface WattnDocument {
  /** The document's text. */
  pageContent: string;
  /** Metadata of the document. */
  metadata: Record<string, any>;
  /** Its id in a store. */
  id?: string | undefined;
}

/** Fields of `WattnTextSplitter`. */
export interface WattnTextSplitterFields extends ChunkOptions {
  /**
   * What counts the tokens: a tokenizer, a pipeline that has one, or a model, whose tokenizer is loaded at the first call. Use the model that embeds the
   * chunks.
   */
  tokenizer: Tokenizer | FeatureExtractionPipeline | ModelSpecifier;
}

/**
 * Embeds texts for LangChain's vector stores and retrievers. Implements their `EmbeddingsInterface`. Throws an `InputError` for a pipeline of another
 * task or an unknown field.
 *
 * @example
 * const store = await MemoryVectorStore.fromTexts(texts, [], new WattnEmbeddings({ model: 'Xenova/all-MiniLM-L6-v2' }));
 */
export class WattnEmbeddings {
  readonly #load: Load<'feature-extraction'>;
  readonly #options: EmbedOptions | undefined;

  constructor(fields: WattnEmbeddingsFields = {}) {
    fields = readOptions('WattnEmbeddings', fields, ['model', 'options']);
    this.#load = given('WattnEmbeddings', 'feature-extraction', fields.model);
    this.#options = fields.options;
  }

  /** Embeds documents, one vector per text. Uses the model's prompt for documents, if it has one. */
  async embedDocuments(documents: string[]): Promise<number[][]> {
    if (documents.length === 0) return [];
    return rowsOf('WattnEmbeddings', await (await this.#load()).encode_document(documents, this.#options), documents.length);
  }

  /** Embeds a query. Uses the model's prompt for queries, if it has one. */
  async embedQuery(document: string): Promise<number[]> {
    return rowsOf('WattnEmbeddings', await (await this.#load()).encode_query([document], this.#options), 1)[0] as number[];
  }
}

/**
 * Splits documents into chunks of at most `max_tokens` tokens, between paragraphs, sentences or words if possible, like `tokenizer.chunk`. A chunk
 * keeps its document's metadata and adds `loc.characters`: its text is `pageContent.slice(from, to)` of the document. Throws an `InputError` for an
 * invalid field.
 *
 * @example
 * const splitter = new WattnTextSplitter({ tokenizer: embed, max_tokens: 200, overlap: 20 });
 * const chunks = await splitter.splitDocuments(documents);
 */
export class WattnTextSplitter {
  readonly #load: () => Promise<Tokenizer>;
  readonly #options: ChunkOptions;

  constructor(fields: WattnTextSplitterFields) {
    const rules = {
      tokenizer: 'any',
      max_tokens: 'count',
      overlap: 'index',
      add_special_tokens: 'boolean',
      split_special_tokens: 'boolean',
    } as const;
    fields = readOptions('WattnTextSplitter', fields, rules);
    const { tokenizer, ...options } = fields ?? {};
    for (const name of ['tokenizer', 'max_tokens'] as const)
      if (fields?.[name] === undefined) throw new InputError(`WattnTextSplitter: expected the field '${name}', found none`);
    this.#load = once(async () => {
      if (typeof tokenizer !== 'function') return AutoTokenizer.from_pretrained(tokenizer);
      return 'chunk' in tokenizer ? tokenizer : tokenizer.tokenizer;
    });
    this.#options = options;
  }

  /** Splits a text and returns the texts of the chunks. */
  async splitText(text: string): Promise<string[]> {
    return (await this.#load()).chunk(text, this.#options).map((chunk) => chunk.text);
  }

  /** Splits texts into documents. Each chunk has the metadata of its text. */
  createDocuments(texts: string[], metadatas: Record<string, any>[] = []): Promise<WattnDocument[]> {
    return this.splitDocuments(texts.map((pageContent, i) => ({ pageContent, metadata: metadatas[i] ?? {} })));
  }

  /** Splits documents, in order. Chunks do not keep the document's `id`, because a document may give several. */
  async splitDocuments(documents: WattnDocument[]): Promise<WattnDocument[]> {
    const tokenizer = await this.#load();
    return documents.flatMap(({ pageContent, metadata }) =>
      tokenizer.chunk(pageContent, this.#options).map(({ text, start, end }) => ({
        pageContent: text,
        metadata: { ...metadata, loc: { ...metadata?.loc, characters: { from: start, to: end } } },
      })),
    );
  }

  /** The same as `splitDocuments`, under the name that document transformers use. */
  transformDocuments(documents: WattnDocument[]): Promise<WattnDocument[]> {
    return this.splitDocuments(documents);
  }
}

/** Fields of `chatModel`. */
export interface ChatWattnFields {
  /** A pipeline of `'text-generation'`, or a model, which is loaded at the first call. */
  model: Given<'text-generation'>;
  /** Options of each call of the pipeline. Default: none. */
  options?: TextGenerationOptions | undefined;
}

/**
 * Creates a LangChain chat model with `bindTools`, `withStructuredOutput` and streaming. It extends `BaseChatModel` of `@langchain/core`, which this
 * call loads. Throws an `InputError` for a pipeline of another task or an unknown field.
 *
 * @example
 * const model = await chatModel({ model: 'HuggingFaceTB/SmolLM2-135M-Instruct', options: { max_new_tokens: 60 } });
 * const answer = await model.invoke('Why is the sky blue?');
 */
export async function chatModel(fields: ChatWattnFields): Promise<ChatWattn> {
  fields = readOptions('chatModel', fields, ['model', 'options']);
  if (fields.model === undefined) throw new InputError("chatModel: expected the field 'model', found none");
  const load = given('chatModel', 'text-generation', fields.model);
  const { ChatWattn } = await import('./langchain_chat.js').catch((error: Error) => {
    if (!error.message.includes('@langchain/core')) throw error;
    throw new UnsupportedError("chatModel: needs the package '@langchain/core', which was not found: npm install @langchain/core", {
      cause: error.cause,
    });
  });
  return new ChatWattn(load, fields.options ?? {});
}
