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
  logit_lens?: number; // tokens a layer and position, of a masked_lm head
  head_mask?: Float32Array | undefined; // [layers, heads]
  patches?: [tap: string, values: Float32Array][]; // [tokens, width]
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

/** The head of the checkpoint that is wanted; 'causal_lm', 'seq2seq_lm': a decoder, an encoder with one, which have a module of their own. */
export type HeadKind = 'none' | 'sequence' | 'token' | 'answer' | 'masked_lm' | 'causal_lm' | 'seq2seq_lm';

export interface SeamEngineHandle extends SeamTokenizer {
  gguf_files(beginning: Uint8Array): Answer & { is_cut_off: boolean; files: [string, Uint8Array][] };
  /** Of decoders; before begin. */
  use_context_length?(tokens: number): Answer;
  begin(files: [string, Uint8Array][], precision: string, dtype: string, head: HeadKind): Answer & { weight_files: string[] };
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
  forward(
    inputIds: Int32Array,
    tokenTypeIds: Int32Array,
    positionIds: Int32Array,
    seqStart: Int32Array,
    options: SeamForwardOptions,
  ): Answer & {
    last_hidden_state: Float32Array; // [tokens, hidden]
    pooler_output: Float32Array; // [batch, hidden], or empty
    logits: Float32Array; // of the head: [batch or tokens, labels], or empty
    hidden_states: Float32Array[]; // [layers + 1] of [tokens, hidden]
    attentions: Float32Array[]; // [layers], sequence after sequence [heads, seq, seq]
    queries: Float32Array[]; // [layers] of [tokens, hidden], or empty
    keys: Float32Array[];
    values: Float32Array[];
    lens_ids: Int32Array; // [layers + 1, tokens, logit_lens]
    lens_logits: Float32Array;
  };
  tokens_to_string(tokens: string[]): Answer & { text: string };
  token_to_id(token: string): Answer & { id: number }; // -1: none
  describe_tokenizer(): Answer & { vocab_size: number; model_max_length?: number };
  info(): Answer & {
    model_type: string;
    hidden_size: number;
    num_hidden_layers: number;
    num_attention_heads: number;
    max_length: number;
    max_position_embeddings: number;
    token_budget: number;
    pooled: boolean;
    normalize: boolean;
    kernels: string;
    weight_bytes: number;
    arena_bytes: number;
    prompts: Record<string, string>;
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

/** The module that the Emscripten glue makes; the tokenizer's own has no Engine, and none of its callers asks for it. */
export interface SeamModule {
  Engine: new () => SeamEngineHandle;
  Tokenizer: new () => SeamTokenizerHandle;
  Training: new () => SeamTrainingHandle;
  build_id(): string;
}
