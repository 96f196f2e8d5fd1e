// Types of what bindings/*.cpp register. Only wasm_loader.ts and the owners of a handle use them.
// Every call returns { code, message }. The other fields are present if code is 0.
import type { DecodingOptions } from '../core/types.js';

export interface Answer {
  code: number;
  message: string;
}

/** The answer of a call that runs in steps. Its other fields are present when more is false, unless said otherwise. */
export interface JobAnswer extends Answer {
  job: number;
  more: boolean;
  steps: number; // taken
}

export interface EncodeAnswer extends Answer {
  ids: Int32Array; // [sum of lengths], like the next ones, which are empty unless SeamEncodeOptions.arrays has their bits
  type_ids: Int32Array;
  offsets: Int32Array; // two numbers per token, UTF-16 units
  special_tokens_mask: Int32Array;
  word_ids: Int32Array; // -1: none
  sequence_ids: Int32Array; // -1: none
  tokens?: string[] | undefined; // with return_tokens
  lengths: Int32Array; // [encodings], like the next ones, with kArrays.per_encoding
  untruncated: Int32Array;
  unknown: Float32Array; // the share of unknown tokens
  text: Int32Array; // index of the text; its overflow windows follow it
}

export interface SeamEncodeOptions {
  add_special_tokens?: boolean | undefined;
  split_special_tokens?: boolean | undefined;
  max_length?: number | undefined;
  strategy?: 'longest_first' | 'only_first' | 'only_second' | undefined;
  truncation_side?: 'left' | 'right' | undefined;
  overlap?: number | undefined;
  return_overflowing?: boolean | undefined;
  return_tokens?: boolean | undefined;
  /** Which optional arrays the answer should contain: bits, see kArrays in text_calls.ts. Default: all. */
  arrays?: number;
}

export type Piece = string | null | undefined;

/** Calls that text_calls.ts adds to a handle. */
export interface TextCalls {
  encode(texts: readonly string[], pairs: readonly string[] | undefined, options: SeamEncodeOptions): EncodeAnswer;
  decode(ids: ArrayLike<number>, skipSpecialTokens: boolean, cleanUpSpaces: boolean): Answer & { text: string };
  /**
   * What each token adds to a decoded text; null for one that is skipped, undefined where other tokens matter. flags: 1 skips special
   * tokens, 2: they are the first of their texts.
   */
  decode_pieces(ids: ArrayLike<number>, flags: number): Answer & { pieces: Piece[] };
  ids_to_tokens(ids: ArrayLike<number>): Answer & { tokens: string[] };
}

export interface SeamTokenizer extends TextCalls {
  /** The address of the tokenizer, which stays where it is. */
  tokenizer(): number;
  delete(): void;
}

/** src/tokenizer/tokenizer.h: TokenizerOrigin, and sizes. */
export interface TokenizerFacts {
  vocab_size: number;
  model_max_length?: number;
  name: string;
  from: string;
  vocabulary: string;
  added_tokens: string;
  is_of_class: boolean;
  pads_left: boolean;
  is_bpe: boolean;
  /** Each token with a '\0' after it. */
  roles: string;
  extra: string;
}

export interface SeamTokenizerHandle extends SeamTokenizer {
  load(files: [string, Uint8Array][]): Answer;
  /** is_cut_off: more bytes are needed; never if isWhole. */
  load_gguf(bytes: Uint8Array, isWhole: boolean): Answer & { is_cut_off: boolean };
  describe(): Answer & TokenizerFacts;
}

export interface SeamEmbedOptions {
  pooling?: string[]; // undefined: the repository's own; []: one vector per token
  normalize?: boolean;
  prompt?: string;
  prompt_name?: string;
  max_length?: number;
  truncate_dim?: number;
  overflow?: 0 | 1 | 2 | 3; // truncate, error, the mean of windows, windows
  overlap?: number;
  split_special_tokens?: boolean;
  first_text?: number; // index of the first text, for messages
  adapter?: string | false | undefined; // for web/
}

export interface SeamForwardOptions {
  adapter?: string | false | undefined; // for web/
  hidden_states?: boolean;
  attentions?: boolean;
  qkv?: boolean;
  /** Logits of a head over the vocabulary; default true. */
  logits?: boolean;
  logit_lens?: number; // tokens per layer and position, from the head over the vocabulary
  head_mask?: Float32Array | undefined; // [layers, heads]
  cross_head_mask?: Float32Array | undefined; // the same
  encoder_head_mask?: Float32Array | undefined; // [encoder's layers, its heads]
  patches?: [tap: string, values: Float32Array][]; // [tokens, width]
  /** Input ids of the encoder of an encoder-decoder. */
  source?: Int32Array;
}

export interface ForwardAnswer extends Answer {
  last_hidden_state: Float32Array; // [tokens, hidden]
  pooler_output: Float32Array; // [batch, hidden], or empty
  logits: Float32Array; // [batch or tokens, labels], or empty
  // If requested; absent if empty:
  hidden_states?: Float32Array[]; // [layers + 1] of [tokens, hidden]
  attentions?: Float32Array[]; // [layers] of the sequences' [heads, seq, seq]
  queries?: Float32Array[]; // [layers] of [tokens, heads * head_dim]
  keys?: Float32Array[]; // [layers] of [tokens, kv_heads * head_dim]
  values?: Float32Array[];
  lens_ids?: Int32Array; // [layers + 1, tokens, logit_lens]
  lens_logits?: Float32Array;
  // For encoder-decoders:
  cross_attentions?: Float32Array[]; // [layers] of [heads, tokens, source]
  cross_queries?: Float32Array[];
  cross_keys?: Float32Array[]; // [layers] of [source, heads * head_dim]
  cross_values?: Float32Array[];
  encoder_last_hidden_state: Float32Array; // [source, hidden]
  encoder_hidden_states?: Float32Array[];
  encoder_attentions?: Float32Array[]; // [layers] of [heads, source, source]
  encoder_queries?: Float32Array[];
  encoder_keys?: Float32Array[];
  encoder_values?: Float32Array[];
}

/** max_length defaults to the model's own. */
export interface SeamPredictOptions extends SeamEncodeOptions {
  /** The options as flags: toFlags() of text_calls.ts. */
  flags?: number;
  /** Computes logits only at tokens with this text. */
  at_token?: string;
  /** With the head 'causal_lm': a text's logits are those of these tokens after its last one. */
  label_ids?: Int32Array;
  /** The last tokens of a text that is truncated. */
  tail?: Int32Array;
  first_text?: number; // index of the first text, for messages
}

export interface EmbedAnswer extends JobAnswer {
  data: Float32Array;
  dim: number;
  pooled: boolean;
  tokens: Int32Array;
  untruncated: Int32Array;
  windows: Int32Array;
  unknown: Float32Array;
}

export interface SeamRetrievalOptions {
  is_query: boolean;
  max_length?: number | undefined;
  max_active_dims?: number | undefined; // of sparse vectors
  split_special_tokens?: boolean | undefined;
  first_text: number; // index of the first text, for messages
}

export interface TokenVectorsAnswer extends JobAnswer {
  data: Float32Array; // [sum of rows, dim]
  dim: number;
  ids: Int32Array; // [sum of rows]
  offsets: Int32Array; // two numbers per row, UTF-16 units
  rows: Int32Array; // [texts], like the next ones
  tokens: Int32Array;
  untruncated: Int32Array;
  unknown: Float32Array;
  // A model with all three kinds of vectors also gives:
  dense?: Float32Array; // [texts, hidden]
  indices?: Int32Array; // [sum of counts]
  values?: Float32Array; // [sum of counts]
  counts?: Int32Array; // [texts]
}

export interface SparseVectorsAnswer extends JobAnswer {
  indices: Int32Array; // [sum of counts]
  values: Float32Array; // [sum of counts]
  counts: Int32Array; // [texts], like the next ones
  tokens: Int32Array;
  untruncated: Int32Array;
  unknown: Float32Array;
}

export interface PredictAnswer extends EncodeAnswer, JobAnswer {
  logits: Float32Array; // [sum of rows, labels]
  rows: Int32Array; // [encodings]: 1 for a sequence head, else tokens
  labels: number;
}

export interface SpansAnswer extends JobAnswer {
  spans: Int32Array; // [spans, 4]: text, start, end (UTF-16 units), label
  scores: Float32Array; // [spans]
  windows: Int32Array; // [texts]
  truncated: Uint8Array; // [texts]
  unknown: Float32Array; // [texts]
}

/** Memory for helper threads, as addresses. */
export interface Helpers {
  team: number;
  stacks: number[];
  stack_bytes: number;
}

/** The head that the checkpoint must contain. 'causal_lm' needs a decoder, 'seq2seq_lm' an encoder-decoder. */
export type HeadKind = 'none' | 'sequence' | 'token' | 'answer' | 'masked_lm' | 'causal_lm' | 'seq2seq_lm' | 'spans';
/** What begin() can be asked for beside a head. 'own_lm': the head over the vocabulary if the model generates text, else none. 'ranking': 'sequence', or 'causal_lm' where that is all. */
export type LoadedHead = HeadKind | 'own_lm' | 'token_vectors' | 'sparse' | 'ranking';
/** What a model consists of: an encoder reads a whole text at once, a decoder writes token by token. */
export type ModelKind = 'encoder' | 'decoder' | 'encoder-decoder';

export interface SeamLoadOptions {
  precision: string;
  dtype: string;
  head: LoadedHead;
  context_length?: number;
  /** Adapters will have what the checkpoint lacks of the head. */
  adapted_head: boolean;
  /** Whole matrices of an adapter, and their rows. */
  adapted_names?: string[];
  adapted_rows?: Int32Array;
}

export interface SeamGenerateOptions extends Omit<DecodingOptions, 'eos_token_id'> {
  max_new_tokens?: number;
  max_length?: number;
  min_length?: number;
  num_return_sequences?: number;
  renormalize_logits?: boolean;
  early_stopping?: 'no' | 'yes' | 'never';
  eos_token_id?: number[];
  bad_words_ids?: number[][];
  decoder_start_token_id?: number;
  stop_strings?: string[];
}

export interface SeamSequence {
  tokens: Int32Array;
  reason: 'eos' | 'stop' | 'length';
  score: number;
}

export interface GenerateAnswer extends JobAnswer {
  /** Always present. Of each prompt: its tokens since the last answer; with several sequences, the row and token of each that goes on. */
  new_tokens: Int32Array[];
  sequences: Int32Array[]; // the tokens of all sequences of all prompts
  counts: Int32Array; // [prompts] sequences of each
  reasons: Int32Array; // [sequences] indices of FinishReason in C++
  scores: Float32Array; // [sequences]
}

/** Facts about a loaded model, with config.json's names where it has them. */
export interface ModelFacts {
  /** The architecture, as in config.json: `'bert'`. */
  model_type: string;
  /** Encoder, decoder or both. */
  kind: ModelKind;
  /** The head that was loaded. */
  head: HeadKind;
  // For an encoder-decoder with its decoder loaded, these are the decoder's.
  /** Tokens of the vocabulary. */
  vocab_size: number;
  /** The width of a token's vector between layers. */
  hidden_size: number;
  /** The number of layers. */
  num_hidden_layers: number;
  /** Heads of attention in each layer. */
  num_attention_heads: number;
  /** Heads of keys and values; fewer than `num_attention_heads` with grouped-query attention. */
  num_key_value_heads: number;
  /** Width of one head. */
  head_dim: number;
  // The encoder of such a model:
  /** Layers of the encoder of such a model. */
  encoder_layers?: number;
  /** Heads of each of the encoder's layers. */
  encoder_attention_heads?: number;
  /** The width of one of the encoder's heads. */
  encoder_head_dim?: number;
  /** Maximum tokens of the encoder. */
  max_source_length?: number;
  /** The longest sequence that the positions allow. */
  max_position_embeddings: number;
  /** Maximum tokens of a text, special tokens included: the repository's value, at most `max_position_embeddings`. */
  max_length: number;
  /** Maximum tokens of a micro-batch. */
  token_budget: number;
  /** Whether the repository specifies a pooling. */
  pooled: boolean;
  /** Whether the repository specifies unit length. */
  normalize: boolean;
  /** The repository's own prompts by name. */
  prompts: Record<string, string>;
  /** Tasks for which the checkpoint itself has an adapter, as jina-embeddings-v3: see the option `task` of a call. */
  tasks?: string[];
  /** The kernels in use. */
  kernels: string;
}

/** A model. Order of calls: begin; begin_weight_file and push for each weight file; finish; then any other. */
export interface SeamModel extends SeamTokenizer {
  /** Needs only config.json. heads: those that begin() accepts beside 'none'. */
  describe(files: [string, Uint8Array][]): Answer & { model_type: string; kind: ModelKind; heads: HeadKind[] };
  gguf_files(beginning: Uint8Array): Answer & { is_cut_off: boolean; files: [string, Uint8Array][] };
  begin(files: [string, Uint8Array][], options: SeamLoadOptions): Answer & { weight_files: string[] };
  begin_weight_file(name: string, bytes: number): Answer;
  push(chunk: Uint8Array): Answer;
  make_room_for_helpers(count: number): Answer & Helpers;
  use_helpers(count: number): Answer;
  /** held: how memory has the tensors of each weight file; see src/io/weight_loader.h. */
  finish(): Answer & { held: Uint8Array };
  /** sizes: rows, columns, rank and parts of each tensor; values: those of all; see src/models/adapter.h. */
  add_adapter(names: string[], tensors: { sizes: Int32Array; values: Float32Array }): Answer & { adapter: number; labels: number };
  /** The adapter of the following calls; 0: none. */
  use_adapter(adapter: number): Answer;
  delete_adapter(adapter: number): Answer;
  /** It becomes part of the weights. The others must be deleted before. */
  merge_adapter(adapter: number): Answer;
  /** firstText: index of the first text, for messages. */
  embed(texts: readonly string[], options: SeamEmbedOptions, firstText: number, steps: number): EmbedAnswer;
  predict(
    text: Uint8Array,
    lengths: Int32Array,
    pairText: Uint8Array | null,
    pairLengths: Int32Array | null,
    options: SeamPredictOptions,
    steps: number,
  ): PredictAnswer;
  /** With the head 'spans', which only the full WebAssembly has. first_text: as in SeamPredictOptions. */
  find_spans(
    text: Uint8Array,
    lengths: Int32Array,
    labels: Uint8Array,
    labelLengths: Int32Array,
    options: { threshold: number; first_text: number },
    steps: number,
  ): SpansAnswer;
  /** Only with head 'token_vectors'. */
  token_vectors(text: Uint8Array, lengths: Int32Array, options: SeamRetrievalOptions, steps: number): TokenVectorsAnswer;
  /** Only with head 'sparse'. */
  sparse_vectors(text: Uint8Array, lengths: Int32Array, options: SeamRetrievalOptions, steps: number): SparseVectorsAnswer;
  /** A model runs one generation at a time: a second one ends the first. */
  generate(prompts: Int32Array[], options: SeamGenerateOptions, steps: number): GenerateAnswer;
  /**
   * What a constraint says of the next step: mask, a bit for each token that may come, and tokens to append first. slot: prompt * the most rows of one +
   * row. Returns how many tokens were appended.
   */
  constrain(mask: Int32Array, forced: Int32Array, slot: number): number;
  /** Continues a job. */
  run(job: number, steps: number): JobAnswer;
  /** Ends a job; nothing if it has ended. */
  cancel(job: number): Answer;
  /** Runs a packed batch; only one sequence with a head over the vocabulary or an encoder-decoder. */
  forward(
    inputIds: Int32Array,
    tokenTypeIds: Int32Array,
    positionIds: Int32Array,
    seqStart: Int32Array,
    options: SeamForwardOptions,
  ): ForwardAnswer;
  tokens_to_string(tokens: string[]): Answer & { text: string };
  token_to_id(token: string): Answer & { id: number }; // -1: none
  describe_tokenizer(): Answer & TokenizerFacts;
  /** adapters: how many the checkpoint itself has. */
  info(): Answer & ModelFacts & { context_length: number; weight_bytes: number; arena_bytes: number; adapters: number };
  /** The steps of a pass, one a line. Only the full WebAssembly has it. */
  plan?(): Answer & { text: string };
  summary(seq: number): Answer & {
    rows: {
      name: string;
      type: string;
      kernel: number[];
      output: number[];
      parameters: number;
      macs: number;
    }[];
  };
}

export interface SeamTrainingHandle {
  load(description: Uint8Array): Answer; // see tokenizer/training.h
  feed(text: Uint8Array, lengths: Int32Array): Answer & { words: number };
  step(): Answer & { more: boolean; stage?: string; done?: number; total?: number };
  result(): Answer & { tokenizer_json: Uint8Array };
  delete(): void;
}

/** The module that Emscripten's glue code creates. wattn-tokenizer has no Model, and its callers use none. */
export interface SeamModule {
  Model: new () => unknown; // see model_calls.ts
  Tokenizer: new () => Omit<SeamTokenizerHandle, keyof TextCalls>;
  Training: new () => SeamTrainingHandle;
  build_id(): string;
}
