/**
 * wattn in LlamaIndex.TS: an embedding class.
 *
 * @module
 */
import { readOptions } from '../core/options.js';
import type { EmbedOptions } from '../engine/types.js';
import { given, rowsOf, type Given, type Load } from './given_model.js';

/** Fields of `WattnEmbedding`. */
export interface WattnEmbeddingFields {
  /** A pipeline of `'feature-extraction'`, or the model to load at the first call. Default: the model in the package. */
  model?: Given<'feature-extraction'> | undefined;
  /** Options of each call of the pipeline. Default: none. */
  options?: EmbedOptions | undefined;
  /** Texts that one call of the pipeline gets, between two calls of `progressCallback`. Default 64. */
  embedBatchSize?: number | undefined;
}

/** What `WattnEmbedding` uses of a node. */
export interface LlamaNode {
  /** Its vector, which is set. */
  embedding?: number[] | undefined;
  /** Its text with the metadata that an embedding reads (`'EMBED'`). */
  getContent(mode: any): string;
}

/** Options of `getTextEmbeddingsBatch`. */
export interface LlamaBatchOptions {
  /** Called after each batch with the texts done, and all. */
  progressCallback?: ((current: number, total: number) => void) | undefined;
  [more: string]: unknown;
}

/** Called with nodes, it sets their vectors, as a step of an ingestion pipeline. */
export interface WattnEmbedding {
  <Node extends LlamaNode>(nodes: Node[], options?: LlamaBatchOptions): Promise<Node[]>;
}

/**
 * Embeds texts for LlamaIndex.TS: it has the members of `BaseEmbedding`, without extending it. An `InputError` for a pipeline of another task or an
 * unknown field.
 *
 * @example
 * Settings.embedModel = new WattnEmbedding({ model: 'sentence-transformers/all-MiniLM-L6-v2' });
 */
export class WattnEmbedding {
  /** A name of its own. */
  id!: string;
  /** Texts that one call of the pipeline gets. May be set. */
  embedBatchSize!: number;
  /** The vectors of texts, with the model's prompt for documents, if it has one. */
  getTextEmbeddings!: (texts: string[]) => Promise<number[][]>;
  /** The vector of a query, with the model's prompt for queries, if it has one; `null` for what has no text. */
  getQueryEmbedding!: (query: string | { type: string; text?: string; [more: string]: any }) => Promise<number[] | null>;

  constructor(fields: WattnEmbeddingFields = {}) {
    fields = readOptions('WattnEmbedding', fields, { model: 'any', options: 'any', embedBatchSize: 'count' });
    const { options, embedBatchSize = 64 } = fields;
    const load: Load<'feature-extraction'> = given('WattnEmbedding', 'feature-extraction', fields.model);
    const self = async <Node extends LlamaNode>(nodes: Node[], more?: LlamaBatchOptions) => {
      const texts = nodes.map((node) => node.getContent('EMBED'));
      const vectors = await made.getTextEmbeddingsBatch(texts, more);
      nodes.forEach((node, i) => (node.embedding = vectors[i]));
      return nodes;
    };
    // LlamaIndex calls its embedding classes as functions, so `new` gives one.
    const made: WattnEmbedding = Object.setPrototypeOf(self, new.target.prototype);
    const own = {
      id: `wattn-${Math.random().toString(36).slice(2)}`, // randomUUID needs https
      embedBatchSize,
      async getTextEmbeddings(texts: string[]) {
        if (texts.length === 0) return [];
        return rowsOf('WattnEmbedding', await (await load()).encode_document(texts, options), texts.length);
      },
      async getQueryEmbedding(query: string | { type: string; text?: string }) {
        const text = typeof query === 'string' ? query : query.text;
        if (typeof text !== 'string') return null;
        return rowsOf('WattnEmbedding', await (await load()).encode_query([text], options), 1)[0] as number[];
      },
    };
    return Object.assign(made, own);
  }

  /** The vector of a text, with the model's prompt for documents, if it has one. */
  async getTextEmbedding(text: string): Promise<number[]> {
    return (await this.getTextEmbeddings([text]))[0] as number[];
  }

  /** The vectors of texts, in batches. */
  async getTextEmbeddingsBatch(texts: string[], options?: LlamaBatchOptions): Promise<number[][]> {
    const vectors: number[][] = [];
    for (let begin = 0; begin < texts.length; begin += this.embedBatchSize) {
      vectors.push(...(await this.getTextEmbeddings(texts.slice(begin, begin + this.embedBatchSize))));
      options?.progressCallback?.(vectors.length, texts.length);
    }
    return vectors;
  }

  /** The cosine of two vectors, or with a mode of LlamaIndex their dot product, or their distance below 0: larger is nearer. */
  similarity(a: number[], b: number[], mode: string = 'cosine'): number {
    const dot = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
    if (mode === 'euclidean') return -Math.hypot(...a.map((value, i) => value - (b[i] as number)));
    return dot(a, b) / (mode === 'dot_product' ? 1 : Math.sqrt(dot(a, a) * dot(b, b)));
  }

  /** The same texts: the model truncates them itself. */
  truncateMaxTokens(input: string[]): string[] {
    return input;
  }
}
