// Public types of embedding and of models without a task.
import type { OutputPrecision } from '../core/types.js';
import type { EmbedOptions, ForwardOptions, Loaded, ModelInputs, ModelOutput } from '../engine/types.js';
import type { Tokenizer } from '../tokenizer/types.js';
import type { Embeddings, QuantizedEmbeddings } from '../vectors/types.js';

interface Embed {
  (
    texts: string | readonly string[],
    options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> },
  ): Promise<QuantizedEmbeddings>;
  (texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
}

/** `await embed(text | texts, options)`. */
export interface FeatureExtractionPipeline extends Embed, Loaded {
  /** As in sentence-transformers: uses the model's prompt `'query'`, if any, unless the options set a prompt. */
  encode_query: Embed;
  /** The same with the prompt `'document'`. */
  encode_document: Embed;
  readonly task: 'feature-extraction';
  /** The model's tokenizer. It belongs to this pipeline: its own `dispose()` does nothing. With `worker`, an `UnsupportedError`. */
  readonly tokenizer: Tokenizer;
}

/** `await model({ input_ids, attention_mask }, options)`. */
export interface Model extends Loaded {
  (inputs: ModelInputs, options?: ForwardOptions): Promise<ModelOutput>;
  /** The parsed config.json. */
  readonly config: Readonly<Record<string, any>>;
}
