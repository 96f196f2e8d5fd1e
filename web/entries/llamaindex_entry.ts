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
  /** A pipeline of `'feature-extraction'`, or a model, which is loaded at the first call. Default: the bundled model. */
  model?: Given<'feature-extraction'> | undefined;
  /** Options of each call of the pipeline. Default: none. */
  options?: EmbedOptions | undefined;
  /** Number of texts per call of the pipeline; `progressCallback` is called after each. Default 64. */
  embedBatchSize?: number | undefined;
}

/** The part of a node that `WattnEmbedding` uses. */
export interface LlamaNode {
  /** The node's vector, which `WattnEmbedding` sets. */
  embedding?: number[] | undefined;
  /** The node's text with the metadata for embedding (`'EMBED'`). */
  getContent(mode: any): string;
}

/** Options of `getTextEmbeddingsBatch`. */
export interface LlamaBatchOptions {
  /** Called after each batch with the number of texts done and the total. */
  progressCallback?: ((current: number, total: number) => void) | undefined;
  [more: string]: unknown;
}

/** A step of an ingestion pipeline: call it with nodes to set their vectors. */
export interface WattnEmbedding {
  <Node extends LlamaNode>(nodes: Node[], options?: LlamaBatchOptions): Promise<Node[]>;
}

/**
 * Embeds texts for LlamaIndex.TS. It has the members of `BaseEmbedding` but does not extend it. Throws an `InputError` for a pipeline of another task
 * or an unknown field.
 *
 * @example
 * Settings.embedModel = new WattnEmbedding({ model: 'sentence-transformers/all-MiniLM-L6-v2' });
 */
export class WattnEmbedding {
  /** A unique id. */
  id!: string;
  /** Number of texts per call of the pipeline. Can be set. */
  embedBatchSize!: number;
  /** Embeds texts. Uses the model's prompt for documents, if it has one. */
  getTextEmbeddings!: (texts: string[]) => Promise<number[][]>;
  /** Embeds a query. Uses the model's prompt for queries, if it has one. `null` for content without text. */
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

  /** Embeds a text. Uses the model's prompt for documents, if it has one. */
  async getTextEmbedding(text: string): Promise<number[]> {
    return (await this.getTextEmbeddings([text]))[0] as number[];
  }

  /** Embeds texts in batches. */
  async getTextEmbeddingsBatch(texts: string[], options?: LlamaBatchOptions): Promise<number[][]> {
    const vectors: number[][] = [];
    for (let begin = 0; begin < texts.length; begin += this.embedBatchSize) {
      vectors.push(...(await this.getTextEmbeddings(texts.slice(begin, begin + this.embedBatchSize))));
      options?.progressCallback?.(vectors.length, texts.length);
    }
    return vectors;
  }

  /** The cosine similarity of two vectors; with another mode of LlamaIndex, their dot product or negative distance. Larger is more similar. */
  similarity(a: number[], b: number[], mode: string = 'cosine'): number {
    const dot = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] as number), 0);
    if (mode === 'euclidean') return -Math.hypot(...a.map((value, i) => value - (b[i] as number)));
    return dot(a, b) / (mode === 'dot_product' ? 1 : Math.sqrt(dot(a, a) * dot(b, b)));
  }

  /** Returns the texts unchanged: the model truncates them itself. */
  truncateMaxTokens(input: string[]): string[] {
    return input;
  }
}
