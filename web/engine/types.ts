// Public types of a loaded model and of its forward pass.
import type { Tensor } from '../core/tensor.js';
import type { AbortSignalLike, OutputPrecision, WasmKind } from '../core/types.js';
import type { SourceOptions } from '../source/types.js';

export interface LoadOptions extends SourceOptions {
  /**
   * How weights are held and multiplied, quantised while they load. `'f32'` (default; `'fp32'` means the same): Python's numbers.
   * `'q16'`: half the memory, more than twice the speed, f32's answers for practical purposes. `'q8'`: a quarter of the memory,
   * vectors a little off (README has the figures). `'q4'`: the largest matrices in half of q8's memory, for size alone. Each gives
   * the same bits on every engine.
   */
  dtype?: 'f32' | 'fp32' | 'q16' | 'q8' | 'q4';
  /** `'exact'` (default): the same bits on every engine. `'fast'`: may use fused multiply-add where the engine has it. */
  precision?: 'exact' | 'fast';
  /**
   * `true`: the model lives in a Web Worker (in Node a worker thread), and the page never waits for it. A number: in that many, each
   * with a copy of the weights, which share the work of a call. Default `false`.
   */
  worker?: boolean | number;
  /**
   * Threads that compute, the caller's included; more change no bit. Default: the machine's cores, at most 4, where memory can be
   * shared (Node, cross-origin isolated pages), else 1; with several workers 1. A number is waited for; by default the model is there
   * at once, and the threads join it when they have started (`warmup()` waits). What came of it and why is in `info()`.
   */
  threads?: number;
  /**
   * Of models that generate text: tokens that a sequence may have, prompt and answer, at most the model's own
   * `max_position_embeddings`. Default: that, at most 4096. The memory of a call grows with what it asks for, not with this.
   */
  context_length?: number;
}

/** sentence-transformers' names, and transformers.js's `'first_token'` (= cls), `'last_token'` and `'eos'` (= lasttoken). */
export type PoolingMode =
  'mean' | 'cls' | 'max' | 'mean_sqrt_len_tokens' | 'weightedmean' | 'lasttoken' | 'first_token' | 'last_token' | 'eos';

/** What a model is. Names that config.json has are config.json's. */
export interface ModelInfo {
  model_type: string;
  hidden_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  max_position_embeddings: number;
  /** Tokens a text may have, specials included: what the repository says, at most `max_position_embeddings`. */
  max_length: number;
  /** Tokens of one micro-batch. */
  token_budget: number;
  /** Whether the repository says how to pool. */
  pooled: boolean;
  /** Whether the repository asks for unit length. */
  normalize: boolean;
  /** The repository's own prompts by name. */
  prompts: Record<string, string>;
  dtype: 'f32' | 'q16' | 'q8' | 'q4';
  precision: 'exact' | 'fast';
  /** Which inner loops run. */
  kernels: string;
  /** Which WebAssembly file runs; `'given'`: the one in `env.wasm`. */
  wasm: WasmKind;
  /** Threads that compute now, in each worker where there are any. */
  threads: number;
  /** Why there is only one thread, when there is only one. */
  threads_reason?: string;
  /** Workers that hold the model; 0: it is on the caller's own thread. */
  workers: number;
  /** The build of wattn. */
  build_id: string;
}

/** Bytes. */
export interface MemoryInfo {
  /** The weights, as they are held. */
  weights: number;
  /** The arena that every run works in; taken at the first run, and never grows. */
  activations: number;
  /** weights + activations. */
  total: number;
}

/** Rows of ids or of 0 and 1, all of one length. */
export type TokenRows = Tensor | readonly (readonly number[])[] | readonly (readonly bigint[])[];

/** What `tokenizer(...)` gives fits; of its further entries the model takes no notice. */
export interface ModelInputs {
  /** `[batch, seq]`. */
  input_ids: TokenRows;
  /** `[batch, seq]` of 0 and 1. Tokens with 0 do not run, and come back as zeros. Default: all 1. */
  attention_mask?: TokenRows;
  /** `[batch, seq]`. Default: all 0. */
  token_type_ids?: TokenRows;
}

export interface ForwardOptions {
  /** Adds `attentions`. Default `false`, which costs nothing. */
  output_attentions?: boolean;
  /** Adds `hidden_states`. Default `false`, which costs nothing. */
  output_hidden_states?: boolean;
  /** Adds `queries`, `keys` and `values`. Default `false`, which costs nothing. */
  output_qkv?: boolean;
  /** What each head's attentions are multiplied by, `[layers, heads]`, or `[heads]` for all layers: 0 takes a head out. */
  head_mask?: Tensor | readonly number[] | readonly (readonly number[])[];
  /**
   * Activation patching: numbers put in place of the model's own, and the rest of the pass computed from them. Names:
   * `'embeddings.output'`, `'layer.N.attention.query'` (`key`, `value`, `context`, `output`), `'layer.N.intermediate'`,
   * `'layer.N.output'`; each a float32 Tensor `[batch, seq, width]`, such as another call's `hidden_states[N + 1]`. An unknown name or
   * another shape is an `InputError`.
   */
  patch?: { readonly [tap: string]: Tensor };
  /**
   * So many of the tokens that each layer would put in each place: its output through the head (nostalgebraist 2020). Default 0: none.
   * Of `AutoModelForMaskedLM` alone, elsewhere an `InputError`.
   */
  logit_lens?: number;
  /** Ends the call with an `AbortError`, between two runs. */
  signal?: AbortSignalLike | undefined;
}

/** `[layers + 1, batch, seq, logit_lens]`, of the embeddings and each layer: ids, the likeliest first, and their logits. */
export interface LogitLens {
  ids: Tensor<'int32'>;
  logits: Tensor<'float32'>;
}

export interface ModelOutput {
  /** `[batch, seq, hidden]`. */
  last_hidden_state: Tensor<'float32'>;
  /** `[batch, hidden]`, of each row's first token that runs; absent when the checkpoint has no pooler. */
  pooler_output?: Tensor<'float32'>;
  /** Of models with a head (`AutoModelFor..`): `[batch, labels]`, `[batch, seq, labels]` or `[batch, seq, vocab]`. */
  logits?: Tensor<'float32'>;
  /** Of `AutoModelForQuestionAnswering`: `[batch, seq]`. */
  start_logits?: Tensor<'float32'>;
  end_logits?: Tensor<'float32'>;
  /** `[layers + 1]` of `[batch, seq, hidden]`: the embeddings, then each layer's output. */
  hidden_states?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, seq]`, after softmax; the last index is the token that is looked at. */
  attentions?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, head_dim]`, as the scores are made of them (turned, with rotary positions). */
  queries?: Tensor<'float32'>[];
  keys?: Tensor<'float32'>[];
  values?: Tensor<'float32'>[];
  logit_lens?: LogitLens;
}

export interface EmbedOptions {
  /** How token vectors become one; several are concatenated. `'none'`: one vector a token. Default: the model's own, else none. */
  pooling?: 'none' | PoolingMode | readonly PoolingMode[];
  /** Unit length for each vector. Default: the model's own; `false` with `pooling: 'none'`. */
  normalize?: boolean;
  /** Put before every text. Default: the model's default prompt, which few have. An `InputError` beside `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's own prompts (`info().prompts`), such as `'query'`; an unknown one is an `InputError`. */
  prompt_name?: string;
  /** Tokens, specials included. Default: the model's own limit. Beyond the model's positions: an `InputError`. */
  max_length?: number;
  /** The first so many components (Matryoshka); the model's own unit length comes before it, `normalize: true` after it. */
  truncate_dim?: number;
  /** `'float32'` (default), or fewer bits: see `quantize_embeddings`; `'int8'` and `'uint8'` find their ranges in this call's texts. */
  precision?: OutputPrecision;
  /**
   * A text beyond `max_length`: `'truncate'` (default; the result says so in `truncated`), `'error'` (an `InputError`), or `'window'`: it
   * runs in windows of `max_length` tokens. A prompt stands before the text, so in its first window.
   */
  on_overflow?: 'truncate' | 'error' | 'window';
  /** Of `on_overflow: 'window'`: a text's vector is the mean of its windows' (default), or each window has its own. */
  windows?: 'mean' | 'each';
  /** Of `on_overflow: 'window'`: tokens that neighbouring windows share. Default 0. */
  overlap?: number;
  /** `true`: strings like `[SEP]` inside a text are ordinary text. Default `false`, as in Python: they are special tokens. */
  split_special_tokens?: boolean;
  /** Ends the call with an `AbortError`, between two micro-batches. */
  signal?: AbortSignalLike | undefined;
}
