// Public types of embedding and of models without a task.
import type { AbortSignalLike, OutputPrecision } from '../core/types.js';
import type {
  EmbedOptions,
  ForwardOptions,
  Loaded,
  LoadedPipeline,
  ModelInputs,
  ModelOutput,
  OutputWith,
} from '../engine/types.js';
import type { Tensor } from '../core/tensor.js';
import type { ModelGenerateOptions } from '../generation/generation_types.js';
import type { Embeddings, QuantizedEmbeddings } from '../vectors/types.js';

interface Embed {
  (
    texts: string | readonly string[],
    options: EmbedOptions & { precision: Exclude<OutputPrecision, 'float32'> },
  ): Promise<QuantizedEmbeddings>;
  (texts: string | readonly string[], options?: EmbedOptions): Promise<Embeddings>;
}

/** `await embed(text | texts, options)`. */
export interface FeatureExtractionPipeline extends Embed, LoadedPipeline {
  /**
   * As in sentence-transformers: uses the model's prompt `'query'`, if any, unless the options set a prompt. A model with tasks of its own
   * (`info().tasks`) uses the one for queries, `'retrieval.query'`, unless the options set `task` or `adapter`, or `set_adapter` did.
   */
  encode_query: Embed;
  /** The same with the prompt `'document'` and the task `'retrieval.passage'`. */
  encode_document: Embed;
  /** The task's name. */
  readonly task: 'feature-extraction';
}

/** What a distillation has done. */
export interface DistillProgress {
  /** `'encode'`: tokens through the encoder. `'reduce'`: their principal components. */
  phase: 'encode' | 'reduce';
  /** Tokens so far, of `total`; with `'reduce'`, steps without a unit. */
  done: number;
  /** All tokens that have to be embedded. */
  total: number;
}

/** Options of `distill`, with model2vec's names and defaults. */
export interface DistillOptions {
  /**
   * Principal components to keep. Default 256, at most the encoder's width; below 1: as many as explain this share of the variance.
   * `'auto'`: all, turned. `null`: the encoder's own components.
   */
  pca_dims?: number | 'auto' | null | undefined;
  /** Above 0 and below 1. Rare tokens, by their place in the vocabulary, weigh more. Default 1e-4; `null`: all weigh the same. */
  sif_coefficient?: number | null | undefined;
  /** Tokens that match at their beginning are left out; a string is a regular expression. Default `'\\[unused\\d+\\]'`; `null`: none. */
  token_remove_pattern?: string | RegExp | null | undefined;
  /** The vector of a token: the mean of all tokens with the special ones around it, the first, the last, or the pooler's. Default `'mean'`. */
  pooling?: 'mean' | 'first' | 'last' | 'pooler' | undefined;
  /** How the rows are stored. Default `'float16'`. */
  quantize_to?: 'float16' | 'float32' | 'int8' | undefined;
  /** Called while the tokens are embedded. An exception from it ends the distillation. */
  progress_callback?: ((progress: DistillProgress) => void) | undefined;
  /** Ends the distillation with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Static embeddings that `distill` made. */
export interface DistilledPipeline extends FeatureExtractionPipeline {
  /** The files of the model by name, as model2vec, sentence-transformers and wattn load them. */
  save(): Record<string, Uint8Array>;
}

/** `await model({ input_ids, attention_mask }, options)`. */
export interface Model extends Loaded {
  <Options extends ForwardOptions = {}>(inputs: ModelInputs, options?: Options): Promise<OutputWith<ModelOutput, Options>>;
  /** Rejects with an `UnsupportedError`: `AutoModelForCausalLM` and `AutoModelForSeq2SeqLM` generate. */
  generate(options: ModelGenerateOptions): Promise<Tensor>;
  /** The parsed config.json. */
  readonly config: Readonly<Record<string, any>>;
}
