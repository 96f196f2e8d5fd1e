// The inner seam: what bindings/*.cpp register, typed by hand. Only wasm_loader.ts and the
// files that own a handle use it.
// Every call answers {code, message}; the other fields are there when code is 0.

export interface Answer {
  code: number;
  message: string;
}

export interface EncodeAnswer extends Answer {
  ids: Int32Array; // [sum of lengths], as are the next ones, which are there when SeamEncodeOptions.arrays names them
  type_ids: Int32Array;
  offsets: Int32Array; // two numbers a token, UTF-16 units
  special_tokens_mask: Uint8Array;
  word_ids: Int32Array; // -1: none
  sequence_ids: Int32Array; // -1: none
  lengths: Int32Array; // [encodings]
  untruncated: Int32Array; // [encodings]
  text: Int32Array; // [encodings] the text an encoding came from; its overflow windows follow it
}

export interface SeamEncodeOptions {
  add_special_tokens?: boolean;
  split_special_tokens?: boolean;
  max_length?: number;
  strategy?: 'longest_first' | 'only_first' | 'only_second';
  truncation_side?: 'left' | 'right';
  overlap?: number;
  return_overflowing?: boolean;
  /** Which arrays of the answer are wanted beside those that are always there; undefined: all. */
  arrays?: OptionalArray[];
}

/** Arrays of EncodeAnswer that may be left out. */
export type OptionalArray = 'type_ids' | 'offsets' | 'special_tokens_mask' | 'word_ids' | 'sequence_ids';

/** Several texts come joined, in UTF-8, with their lengths in UTF-16 units. */
export interface SeamTokenizer {
  encode(
    text: Uint8Array,
    lengths: Int32Array,
    pairText: Uint8Array | null,
    pairLengths: Int32Array | null,
    options: SeamEncodeOptions,
  ): EncodeAnswer;
  count(text: Uint8Array, lengths: Int32Array, options: SeamEncodeOptions): Answer & { counts: Int32Array };
  decode(ids: Int32Array, skipSpecialTokens: boolean, cleanUpSpaces: boolean): Answer & { text: string };
  ids_to_tokens(ids: Int32Array): Answer & { tokens: string[] };
  delete(): void;
}

export interface SeamTokenizerHandle extends SeamTokenizer {
  load(files: [string, Uint8Array][]): Answer;
  /** is_cut_off: more of the file is needed; never when isWhole. */
  load_gguf(bytes: Uint8Array, isWhole: boolean): Answer & { is_cut_off: boolean };
  describe(): Answer & { vocab_size: number; model_max_length?: number };
}

export interface SeamEmbedOptions {
  pooling?: string[]; // undefined: the repository's own; []: one vector a token
  normalize?: boolean;
  prompt?: string;
  prompt_name?: string;
  max_length?: number;
  truncate_dim?: number;
  overflow?: 0 | 1 | 2 | 3; // truncate, error, the mean of windows, windows
  overlap?: number;
  split_special_tokens?: boolean;
  first_text?: number; // number of the first text, for messages
}

export interface SeamForwardOptions {
  hidden_states?: boolean;
  attentions?: boolean;
  qkv?: boolean;
  /** Of a head over the vocabulary; default true. */
  logits?: boolean;
  logit_lens?: number; // tokens a layer and position, of a head over the vocabulary
  head_mask?: Float32Array | undefined; // [layers, heads]
  cross_head_mask?: Float32Array | undefined; // the same
  encoder_head_mask?: Float32Array | undefined; // [encoder's layers, its heads]
  patches?: [tap: string, values: Float32Array][]; // [tokens, width]
  /** Ids that the encoder of an encoder-decoder reads. */
  source?: Int32Array;
}

export interface ForwardAnswer extends Answer {
  last_hidden_state: Float32Array; // [tokens, hidden]
  pooler_output: Float32Array; // [batch, hidden], or empty
  logits: Float32Array; // of the head: [batch or tokens, labels], or empty
  hidden_states: Float32Array[]; // [layers + 1] of [tokens, hidden]
  attentions: Float32Array[]; // [layers], sequence after sequence [heads, seq, seq]
  queries: Float32Array[]; // [layers] of [tokens, heads * head_dim], or empty
  keys: Float32Array[]; // [layers] of [tokens, kv_heads * head_dim], or empty
  values: Float32Array[];
  lens_ids: Int32Array; // [layers + 1, tokens, logit_lens]
  lens_logits: Float32Array;
  // Of encoder-decoders:
  cross_attentions: Float32Array[]; // [layers] of [heads, tokens, source]
  cross_queries: Float32Array[];
  cross_keys: Float32Array[]; // [layers] of [source, heads * head_dim]
  cross_values: Float32Array[];
  encoder_last_hidden_state: Float32Array; // [source, hidden]
  encoder_hidden_states: Float32Array[];
  encoder_attentions: Float32Array[]; // [layers] of [heads, source, source]
  encoder_queries: Float32Array[];
  encoder_keys: Float32Array[];
  encoder_values: Float32Array[];
}

/** Of encode; the model's own max_length when there is none. */
export interface SeamPredictOptions extends SeamEncodeOptions {
  /** Logits only of the tokens of this name. */
  at_token?: string;
}

export interface PredictAnswer extends EncodeAnswer {
  logits: Float32Array; // [sum of rows, labels]
  rows: Int32Array; // [encodings]: 1 for a sequence head, else tokens
  labels: number;
}

/** Room for helper threads: addresses inside the memory. */
export interface Helpers {
  team: number;
  stacks: number[];
  stack_bytes: number;
}

/** The head that the checkpoint must bring; 'causal_lm' needs a decoder, 'seq2seq_lm' an encoder-decoder. */
export type HeadKind = 'none' | 'sequence' | 'token' | 'answer' | 'masked_lm' | 'causal_lm' | 'seq2seq_lm';
export type ModelKind = 'encoder' | 'decoder' | 'encoder-decoder';

export interface SeamLoadOptions {
  precision: string;
  dtype: string;
  /** 'own_lm': the head over the vocabulary of what generates text, none of what does not. */
  head: HeadKind | 'own_lm';
  context_length?: number;
}

export interface SeamGenerateOptions {
  max_new_tokens?: number;
  max_length?: number;
  min_length?: number;
  min_new_tokens?: number;
  do_sample?: boolean;
  temperature?: number;
  top_k?: number;
  top_p?: number;
  min_p?: number;
  repetition_penalty?: number;
  no_repeat_ngram_size?: number;
  num_beams?: number;
  num_return_sequences?: number;
  length_penalty?: number;
  renormalize_logits?: boolean;
  early_stopping?: 'no' | 'yes' | 'never';
  eos_token_id?: number[];
  bad_words_ids?: number[][];
  decoder_start_token_id?: number;
  forced_bos_token_id?: number;
  forced_eos_token_id?: number;
  stop_strings?: string[];
  seed?: number;
}

export interface SeamSequence {
  tokens: Int32Array;
  reason: 'eos' | 'stop' | 'length';
  score: number;
}

/** A model, from its first byte to delete(): begin; begin_weight_file and push for each weight file; finish; then any other call. */
export interface SeamModel extends SeamTokenizer {
  /** config.json is enough. heads: those that begin() takes beside 'none'. */
  describe(files: [string, Uint8Array][]): Answer & { model_type: string; kind: ModelKind; heads: HeadKind[] };
  gguf_files(beginning: Uint8Array): Answer & { is_cut_off: boolean; files: [string, Uint8Array][] };
  begin(files: [string, Uint8Array][], options: SeamLoadOptions): Answer & { weight_files: string[] };
  begin_weight_file(name: string, bytes: number): Answer;
  push(chunk: Uint8Array): Answer;
  make_room_for_helpers(count: number): Answer & Helpers;
  use_helpers(count: number): Answer;
  finish(): Answer;
  embed(
    text: Uint8Array,
    lengths: Int32Array,
    options: SeamEmbedOptions,
  ): Answer & {
    data: Float32Array;
    dim: number;
    pooled: boolean;
    tokens: Int32Array;
    untruncated: Int32Array;
    windows: Int32Array;
  };
  predict(
    text: Uint8Array,
    lengths: Int32Array,
    pairText: Uint8Array | null,
    pairLengths: Int32Array | null,
    options: SeamPredictOptions,
  ): PredictAnswer;
  /** A packed batch; of a model with a head over the vocabulary, or of an encoder-decoder, one sequence. */
  forward(
    inputIds: Int32Array,
    tokenTypeIds: Int32Array,
    positionIds: Int32Array,
    seqStart: Int32Array,
    options: SeamForwardOptions,
  ): ForwardAnswer;
  generate_begin(prompts: Int32Array[], options: SeamGenerateOptions): Answer;
  generate_step(steps: number): Answer & { more: boolean; steps: number };
  generate_new(prompt: number): Answer & { tokens: Int32Array };
  generate_end(): Answer & { results: SeamSequence[][] };
  tokens_to_string(tokens: string[]): Answer & { text: string };
  token_to_id(token: string): Answer & { id: number }; // -1: none
  describe_tokenizer(): Answer & { vocab_size: number; model_max_length?: number };
  info(): Answer & {
    model_type: string;
    kind: ModelKind;
    head: HeadKind;
    vocab_size: number;
    hidden_size: number;
    num_hidden_layers: number;
    num_attention_heads: number;
    num_key_value_heads: number;
    head_dim: number;
    max_length: number;
    max_position_embeddings: number;
    context_length: number;
    token_budget: number;
    pooled: boolean;
    normalize: boolean;
    kernels: string;
    weight_bytes: number;
    arena_bytes: number;
    prompts: Record<string, string>;
    // Of encoder-decoders whose decoder is loaded:
    encoder_layers?: number;
    encoder_attention_heads?: number;
    encoder_head_dim?: number;
    max_source_length?: number;
  };
  summary(seq: number): Answer & {
    rows: {
      name: string;
      type: string;
      kernel: number[];
      output: number[];
      parameters: number;
      mult_adds: number;
    }[];
  };
}

export interface SeamTrainingHandle {
  load(description: Uint8Array): Answer; // tokenizer/training.h says of what
  feed(text: Uint8Array, lengths: Int32Array): Answer & { words: number };
  step(): Answer & { more: boolean; stage?: string; done?: number; total?: number };
  result(): Answer & { tokenizer_json: Uint8Array };
  delete(): void;
}

/** The module that the Emscripten glue makes. wattn-tokenizer has no Model, and none of its callers uses one. */
export interface SeamModule {
  Model: new () => SeamModel;
  Tokenizer: new () => SeamTokenizerHandle;
  Training: new () => SeamTrainingHandle;
  build_id(): string;
}
