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
  /** A pipeline of `'feature-extraction'`, or the model to load at the first call. Default: the model in the package. */
  model?: Given<'feature-extraction'> | undefined;
  /** Options of each call of the pipeline. Default: none. */
  options?: EmbedOptions | undefined;
}

/** A document with the members of LangChain's. */
export interface WattnDocument {
  /** The document's text. */
  pageContent: string;
  /** What is known of the text. */
  metadata: Record<string, any>;
  /** Its name in a store. */
  id?: string | undefined;
}

/** Fields of `WattnTextSplitter`. */
export interface WattnTextSplitterFields extends ChunkOptions {
  /**
   * What counts the tokens: a tokenizer, a pipeline that has one, or the model whose tokenizer to load at the first call. Take the model that
   * embeds the chunks.
   */
  tokenizer: Tokenizer | FeatureExtractionPipeline | ModelSpecifier;
}

/**
 * Embeds texts for LangChain's vector stores and retrievers. It has the members of their `EmbeddingsInterface`. An `InputError` for a pipeline
 * of another task or an unknown field.
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

  /** A vector for each text, with the model's prompt for documents, if it has one. */
  async embedDocuments(documents: string[]): Promise<number[][]> {
    if (documents.length === 0) return [];
    return rowsOf('WattnEmbeddings', await (await this.#load()).encode_document(documents, this.#options), documents.length);
  }

  /** The vector of a query, with the model's prompt for queries, if it has one. */
  async embedQuery(document: string): Promise<number[]> {
    return rowsOf('WattnEmbeddings', await (await this.#load()).encode_query([document], this.#options), 1)[0] as number[];
  }
}

/**
 * Cuts documents into chunks of at most `max_tokens` tokens, between paragraphs, sentences or words if possible, as `tokenizer.chunk` does.
 * A chunk keeps its document's metadata and adds `loc.characters`: its text is `pageContent.slice(from, to)` of the document. An `InputError`
 * for a wrong field.
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

  /** The texts of the chunks. */
  async splitText(text: string): Promise<string[]> {
    return (await this.#load()).chunk(text, this.#options).map((chunk) => chunk.text);
  }

  /** The chunks of texts, each with the metadata of its text. */
  createDocuments(texts: string[], metadatas: Record<string, any>[] = []): Promise<WattnDocument[]> {
    return this.splitDocuments(texts.map((pageContent, i) => ({ pageContent, metadata: metadatas[i] ?? {} })));
  }

  /** The chunks of documents, in order. A document's `id` is not kept, because its chunks are several. */
  async splitDocuments(documents: WattnDocument[]): Promise<WattnDocument[]> {
    const tokenizer = await this.#load();
    return documents.flatMap(({ pageContent, metadata }) =>
      tokenizer.chunk(pageContent, this.#options).map(({ text, start, end }) => ({
        pageContent: text,
        metadata: { ...metadata, loc: { ...metadata?.loc, characters: { from: start, to: end } } },
      })),
    );
  }

  /** The same as `splitDocuments`, by the name that document transformers have. */
  transformDocuments(documents: WattnDocument[]): Promise<WattnDocument[]> {
    return this.splitDocuments(documents);
  }
}

/** Fields of `chatModel`. */
export interface ChatWattnFields {
  /** A pipeline of `'text-generation'`, or the model to load at the first call. */
  model: Given<'text-generation'>;
  /** Options of each call of the pipeline. Default: none. */
  options?: TextGenerationOptions | undefined;
}

/**
 * A chat model of LangChain, with `bindTools`, `withStructuredOutput` and streams. It extends `BaseChatModel` of `@langchain/core`, which is loaded here.
 * An `InputError` for a pipeline of another task or an unknown field.
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
