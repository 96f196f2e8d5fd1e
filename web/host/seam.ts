// What a handle of WebAssembly offers: the calls of wire.ts, and those of texts (text_calls.ts). Only the owners of a handle use them.
import type {
  Answer,
  FinishReason,
  ForwardAnswer,
  FullModelCalls,
  HeadKind,
  KeptAnswer,
  ModelCalls,
  ModelKind,
  OtherHead,
  SeamEmbedRequest,
  SeamForwardRequest,
  SeamGenerateRequest,
  Side,
  TokenizerCalls,
  TrainingCalls,
  TruncationStrategy,
} from './wire.js';
import type { Released } from './wire_calls.js';

export type * from './wire.js';

export interface EncodeAnswer extends Answer {
  ids: Int32Array; // [sum of lengths], like the next ones, which are empty unless SeamEncodeOptions.arrays has their bits
  type_ids: Int32Array;
  offsets: Int32Array; // two numbers per token, UTF-16 units
  special_tokens_mask: Int32Array;
  word_ids: Int32Array; // -1: none
  sequence_ids: Int32Array; // -1: none
  tokens?: string[] | undefined; // with return_tokens
  lengths: Int32Array; // [encodings], like the next ones, with EncodedArrays.per_encoding
  untruncated: Int32Array;
  unknown: Float32Array; // the share of unknown tokens
  text: Int32Array; // index of the text; its overflow windows follow it
}

export interface SeamEncodeOptions {
  add_special_tokens?: boolean | undefined;
  split_special_tokens?: boolean | undefined;
  max_length?: number | undefined;
  strategy?: TruncationStrategy | undefined;
  truncation_side?: Side | undefined;
  overlap?: number | undefined;
  return_overflowing?: boolean | undefined;
  return_tokens?: boolean | undefined;
  /** Which optional arrays the answer should contain: bits of EncodedArrays. Default: all. */
  arrays?: number;
}

export type Piece = string | null | undefined;

/** Calls that text_calls.ts adds to a handle. */
export interface TextCalls {
  encode(texts: readonly string[], pairs: readonly string[] | undefined, options: SeamEncodeOptions): EncodeAnswer;
  decode(ids: ArrayLike<number>, skipSpecialTokens: boolean, cleanUpSpaces: boolean): Answer & { text: string };
  /**
   * What each token adds to a decoded text; null for one that is skipped, undefined where other tokens matter. flags: DecodeFlags, with
   * first_of_texts where the tokens are the first of their texts.
   */
  decode_pieces(ids: ArrayLike<number>, flags: number): Answer & { pieces: Piece[] };
  ids_to_tokens(ids: ArrayLike<number>): Answer & { tokens: string[] };
}

export type SeamTokenizer = TextCalls & Released;
export type SeamTokenizerHandle = SeamTokenizer & TokenizerCalls;
export type SeamModel = SeamTokenizer & ModelCalls & FullModelCalls;
export type SeamTrainingHandle = TrainingCalls & Released;

export interface SeamEmbedOptions extends SeamEmbedRequest {
  first_text?: number; // index of the first text, for messages
  adapter?: string | false | undefined; // for web/
}

export interface SeamForwardOptions extends SeamForwardRequest {
  adapter?: string | false | undefined; // for web/
  head_mask?: Float32Array | undefined; // [layers, heads]
  cross_head_mask?: Float32Array | undefined; // the same
  encoder_head_mask?: Float32Array | undefined; // [encoder's layers, its heads]
  patches?: [tap: string, values: Float32Array][]; // [tokens, width]
  /** Input ids of the encoder of an encoder-decoder. */
  source?: Int32Array;
}
export type ForwardResult = Omit<ForwardAnswer, keyof Answer>;

/** What is kept of earlier calls; see src/engine/prefixes.h. */
export type SeamPrefixes = Pick<KeptAnswer, 'kept_sequences' | 'kept_tokens' | 'kept_bytes'>;

export type LoadedHead = HeadKind | OtherHead;

export type SeamGenerateOptions = SeamGenerateRequest;

export interface SeamSequence {
  tokens: Int32Array;
  reason: FinishReason;
  score: number;
  /** Tokens of the prompt that were kept from earlier calls. */
  cached?: number;
}

/** Facts about a loaded model, under config.json's names where they exist. */
export interface ModelFacts {
  /** The architecture, as in config.json: `'bert'`. */
  model_type: string;
  /** Encoder, decoder, or both. */
  kind: ModelKind;
  /** The loaded head. */
  head: HeadKind;
  // For an encoder-decoder with its decoder loaded, these are the decoder's.
  /** Size of the vocabulary. */
  vocab_size: number;
  /** Width of a token's vector between layers. */
  hidden_size: number;
  /** Number of layers. */
  num_hidden_layers: number;
  /** Attention heads per layer. */
  num_attention_heads: number;
  /** Heads of keys and values per layer; fewer than `num_attention_heads` with grouped-query attention. */
  num_key_value_heads: number;
  /** Width of one head. */
  head_dim: number;
  // The encoder of such a model:
  /** Layers of the encoder, for an encoder-decoder. */
  encoder_layers?: number;
  /** Attention heads per encoder layer. */
  encoder_attention_heads?: number;
  /** Width of one encoder head. */
  encoder_head_dim?: number;
  /** Maximum tokens of the encoder. */
  max_source_length?: number;
  /** The longest sequence that the model's positions allow. */
  max_position_embeddings: number;
  /** Maximum tokens of a text, special tokens included: the repository's value, at most `max_position_embeddings`. */
  max_length: number;
  /** Maximum tokens of a micro-batch. */
  token_budget: number;
  /** Whether the repository specifies pooling. */
  pooled: boolean;
  /** Whether the repository specifies unit-length embeddings. */
  normalize: boolean;
  /** The model's own prompts, by name. */
  prompts: Record<string, string>;
  /** Tasks for which the checkpoint has its own adapter, such as jina-embeddings-v3: see the option `task` of a call. */
  tasks?: string[];
  /** The kernels in use. */
  kernels: string;
}
