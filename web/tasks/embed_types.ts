// Public types of embedding and of bare models.
import type { Disposable_, OutputPrecision } from '../core/types.js';
import type { EmbedOptions, ForwardOptions, MemoryInfo, ModelInfo, ModelInputs, ModelOutput } from '../engine/types.js';
import type { Tokenizer } from '../tokenizer/types.js';
import type { Embeddings, QuantizedEmbeddings } from '../vectors/types.js';

/** `await embed(text | texts, options)`. */
export interface FeatureExtractionPipeline extends Disposable_ {
  (texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  (texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  /** As sentence-transformers': with the model's prompt named `'query'` (`'document'`), or none, where options say nothing of prompts. */
  encode_query(texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  encode_query(texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  encode_document(texts: string | readonly string[], options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> }): Promise<QuantizedEmbeddings>; // prettier-ignore
  encode_document(texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
  readonly task: 'feature-extraction';
  /** The model's tokenizer. It belongs to this pipeline: its own `dispose()` does nothing. With `worker`: an `UnsupportedError`. */
  readonly tokenizer: Tokenizer;
  info(): ModelInfo;
  memory(): MemoryInfo;
  /**
   * Runs made-up texts until the engine has compiled what is busy, up to 2 seconds; the first calls after it are as fast as all
   * later ones. Never needed.
   */
  warmup(): Promise<void>;
}

/** `await model({ input_ids, attention_mask }, options)`. */
export interface Model extends Disposable_ {
  (inputs: ModelInputs, options?: ForwardOptions): Promise<ModelOutput>;
  /** config.json, parsed. */
  readonly config: Readonly<Record<string, any>>;
  info(): ModelInfo;
  memory(): MemoryInfo;
  /**
   * Runs made-up texts until the engine has compiled what is busy, up to 2 seconds; the first calls after it are as fast as all
   * later ones. Never needed.
   */
  warmup(): Promise<void>;
}
