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

/** The result of `pipeline('feature-extraction')`. `await embed(text | texts, options)` returns embeddings. */
export interface FeatureExtractionPipeline extends Embed, LoadedPipeline {
  /**
   * Embeds queries, as in sentence-transformers: with the model's prompt `'query'`, if it has one, unless the options set a prompt. A model with its own
   * tasks (`info().tasks`) uses `'retrieval.query'`, unless the options set `task` or `adapter`, or `set_adapter` was called.
   */
  encode_query: Embed;
  /** Embeds documents: like `encode_query`, with the prompt `'document'` and the task `'retrieval.passage'`. */
  encode_document: Embed;
  /** The task's name. */
  readonly task: 'feature-extraction';
}

/** Progress of a distillation. */
export interface DistillProgress {
  /** `'encode'`: running tokens through the encoder. `'reduce'`: computing principal components. */
  phase: 'encode' | 'reduce';
  /** Tokens so far, out of `total`; with `'reduce'`, steps without a unit. */
  done: number;
  /** Number of tokens to embed. */
  total: number;
}

/** Options of `distill`, under model2vec's names and with its defaults. */
export interface DistillOptions {
  /**
   * Number of principal components to keep. Default 256, at most the encoder's width. Below 1: as many as explain this fraction of the variance.
   * `'auto'`: all, rotated. `null`: no reduction.
   */
  pca_dims?: number | 'auto' | null | undefined;
  /** Weights rare tokens higher, by their rank in the vocabulary. Above 0 and below 1, default 1e-4; `null`: equal weights. */
  sif_coefficient?: number | null | undefined;
  /** Leaves out tokens that match this regular expression at their beginning; a string is converted. Default `'\\[unused\\d+\\]'`; `null`: none. */
  token_remove_pattern?: string | RegExp | null | undefined;
  /** How a token's vector is computed: the mean over it and the special tokens around it, the first, the last, or the pooler's output. Default `'mean'`. */
  pooling?: 'mean' | 'first' | 'last' | 'pooler' | undefined;
  /** Data type of the stored rows. Default `'float16'`. */
  quantize_to?: 'float16' | 'float32' | 'int8' | undefined;
  /** Called while tokens are embedded. An exception from it stops the distillation. */
  progress_callback?: ((progress: DistillProgress) => void) | undefined;
  /** Cancels the distillation with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Static embeddings: the result of `distill`. */
export interface DistilledPipeline extends FeatureExtractionPipeline {
  /** The model's files by name, for model2vec, sentence-transformers and wattn. */
  save(): Record<string, Uint8Array>;
}

/** A loaded model. `await model({ input_ids, attention_mask }, options)` runs a forward pass. */
export interface Model extends Loaded {
  <Options extends ForwardOptions = {}>(inputs: ModelInputs, options?: Options): Promise<OutputWith<ModelOutput, Options>>;
  /** Rejects with an `UnsupportedError`. To generate, use `AutoModelForCausalLM` or `AutoModelForSeq2SeqLM`. */
  generate(options: ModelGenerateOptions): Promise<Tensor>;
  /** The parsed config.json. */
  readonly config: Readonly<Record<string, any>>;
}
