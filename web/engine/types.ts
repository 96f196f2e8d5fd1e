// Public types of a loaded model and of its forward pass.
import type { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { AbortSignalLike, Disposable_, OutputPrecision, WasmKind } from '../core/types.js';
import type { HeadKind, ModelFacts, ModelKind, PoolingMode } from '../host/seam.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';
import type { GpuFacts } from '../gpu/types.js';
import type { Tokenizer } from '../tokenizer/types.js';
import type { ExplainedText, ExplainTextOptions } from './explain_types.js';

export type { GpuFacts, HeadKind, ModelFacts, ModelKind };

/** The result of `describeModel`. */
export interface ModelDescription {
  /** The architecture, as in config.json: `'bert'`. */
  model_type: string;
  /** Encoder, decoder or both. */
  kind: ModelKind;
  /** Heads in its files: `'sequence'` for text classification, `'causal_lm'` for text generation, ... */
  heads: HeadKind[];
  /** Bytes of the weight files that a load downloads, if the hub says so. Absent if they are in the cache. */
  bytes?: number;
  /** A smaller file of the same model in its repository, which the options `dtype: 'q8'` and `prefer: 'packed'` load. */
  packed?: { file: string; bytes: number };
}

/** How weights are held in memory. */
export type Dtype = 'f32' | 'f16' | 'q16' | 'q8' | 'q4';

/**
 * Options that transformers.js has under these names, beside wattn's own.
 *
 *     const embed = await pipeline('feature-extraction', './model', { dtype: 'fp16', device: 'wasm' });
 *     embed.info(); // { dtype: 'f16', dtype_asked: 'fp16', .. }
 */
export interface FamiliarOptions {
  /**
   * Their data types mean the nearest of wattn's, which `info()` names beside the requested one: `'fp16'` f16; `'int8'`, `'uint8'` q8; `'q4f16'`, `'bnb4'` and
   * fewer bits q4; `'auto'` the default. An object with one for each file: the most exact of them.
   */
  dtype?:
    | Dtype
    | 'fp32'
    | 'fp16'
    | 'int8'
    | 'uint8'
    | 'q4f16'
    | 'bnb4'
    | 'q2'
    | 'q2f16'
    | 'q1'
    | 'q1f16'
    | 'auto'
    | { readonly [file: string]: string };
  /** `true`: `dtype: 'q8'`; `false`: `'f32'`. */
  quantized?: boolean;
  /**
   * Where the layers run, in tasks that read texts and in `text-generation`; heads are the processor's, but for that over the vocabulary. `'wasm'` (default), `'cpu'`: the processor. `'webgpu'`, `'gpu'`: a GPU,
   * if it shows while loading that it computes what the processor does, within the rounding of the dtype; else the processor, and `info().device_reason` says why. So does a model or dtype
   * that no GPU runs. `'auto'`: the GPU for calls that it is expected to finish sooner, after a short measurement, of models that it runs. See docs/gpu.md. Any other, such as
   * `'cuda'`, is the processor, and a warning says so once.
   */
  device?: string | { readonly [file: string]: string } | null;
  /** The folder of the weights in the model. Default: its root, which `'onnx'` means too. */
  subfolder?: string;
  /** The weights' file is `<model_file_name>.safetensors` instead of `model.safetensors`. */
  model_file_name?: string;
  /** Used instead of the model's config.json. */
  config?: Record<string, unknown> | null;
  /** An option of ONNX Runtime; no effect here, and a warning says so once. */
  session_options?: Record<string, unknown>;
  /** An option of ONNX Runtime; no effect here, and a warning says so once. */
  use_external_data_format?: unknown;
}

/** The options of `pipeline` and of `AutoModel..from_pretrained`. */
export type ModelOptions = Omit<LoadOptions, 'dtype' | 'device'> & FamiliarOptions;

/** Options of everything that loads a model. */
export interface LoadOptions extends SourceOptions {
  /** What remains of the devices of `FamiliarOptions`: a GPU, or the sooner of both. @internal */
  device?: 'webgpu' | 'auto';
  /**
   * Data type of the weights in memory; they are converted while loading. `'f32'` (also `'fp32'`): Python's numbers. `'f16'`: half the
   * memory at about the same speed; the bits of f32's results if the file has f16 or bf16 (a file in f32 is rounded to f16). `'q16'`: half the
   * memory, more than twice the speed, practically the results of f32. `'q8'`: a quarter of the memory, slightly different vectors (see
   * docs/loading.md). `'q4'`: half the memory of q8 for the largest matrices, no faster. Each gives the same bits on every engine. Default: `'q8'`
   * for the bundled model (no model argument), `'f32'` for every other.
   */
  dtype?: Dtype | 'fp32';
  /**
   * `'packed'`: a `.gguf` file in the model's own repository is loaded in place of its weights, and it is all that is downloaded. `dtype` says which:
   * for `'q8'` wattn's own (`W8` in its name), else Q8_0; for `'q4'` Q4_K_M or Q4_0; without it the first of these. If there is none, a warning says so once, and the
   * weights are loaded.
   */
  prefer?: 'packed' | undefined;
  /**
   * The route to load of a model of sentence-transformers with a `Router` (or `Asym`), by its name, or `'query'` or `'document'` as the role of its texts.
   * Default: the one of texts without a role, as in Python's `encode`. A model has one route at a time: load it twice for both roles.
   */
  route?: string;
  /** `'exact'` (default): the same bits on every engine. `'fast'`: may use fused multiply-add if the engine has it. */
  precision?: 'exact' | 'fast';
  /**
   * `true`: runs the model in a Web Worker (in Node a worker thread), so that the page is never blocked. A number: in that many workers,
   * each with a copy of the weights, which share the work of a call. Default `false`.
   */
  worker?: boolean | number;
  /**
   * An adapter of PEFT (`adapter_config.json`, `adapter_model.safetensors`): see `ModelSpecifier`. It is named `'default'` and active. It may
   * bring the head that the task needs and the model lacks.
   */
  adapter?: ModelSpecifier;
  /** Several adapters by their names, instead of `adapter`. The first one is active. */
  adapters?: { readonly [name: string]: ModelSpecifier };
  /**
   * Number of threads, the caller's included; it does not change results. Default: the machine's cores, at most 4, if memory can be shared
   * (Node, cross-origin isolated pages). Otherwise, and with several workers, 1. With a number, loading waits for the threads; by default they
   * start after loading (`warmup()` waits for them). `info()` reports how many are in use and, if only one, why.
   */
  threads?: number;
  /**
   * For models that generate text: maximum tokens of a sequence, prompt and answer together, up to the model's
   * `max_position_embeddings`. Default: that value, at most 4096. A call's memory depends on its own length, not on this.
   */
  context_length?: number;
  /**
   * For decoders that generate text: most bytes of keys and values that are kept for later calls, which then read only what is new; 0 keeps
   * nothing. What was used least recently goes first. Default: as many as one sequence of `context_length` tokens takes, at most 512 MB.
   */
  prefix_cache_bytes?: number;
  /**
   * For models that generate text: how keys and values are held. `'q8'`: in 8 bits, with a scale for each 32 numbers, which takes 0.28 of their memory; the
   * numbers change a little (docs/generation.md), and a long text takes more time. Default `'f32'`.
   */
  kv_cache_dtype?: 'f32' | 'q8';
}

export type { PoolingMode };

/** Facts about a loaded model, and how it runs. */
export interface ModelInfo extends ModelFacts {
  /** The data type of the weights, requested or default. */
  dtype: Dtype;
  /** The requested data type, if it was one of transformers.js's for which `dtype` is the nearest. */
  dtype_asked?: string;
  /** The repository that was loaded, if the one that was named holds only ONNX: see `Env.resolveOriginal`. */
  original?: string;
  /** The route that was loaded, for a model with a Router. */
  route?: string;
  /** Likewise: the routes of the two roles; none: the model has none for that role. */
  routes?: { readonly query?: string | undefined; readonly document?: string | undefined };
  /** `'exact'`: the same bits on every engine. `'fast'`: the engine's fused multiply-add may be used. */
  precision: 'exact' | 'fast';
  /** The WebAssembly in use; `'given'`: the one in `env.wasm`. */
  wasm: WasmKind;
  /** Threads in use, per worker if there are any. */
  threads: number;
  /** The reason if there is only one thread. */
  threads_reason?: string;
  /** Why a text gives one vector for each token, if `pooled` is `false`; for a model without a head. */
  pooled_reason?: string;
  /** Workers that run the model; 0: it runs on the caller's thread. */
  workers: number;
  /** With the option `device`: where the model runs now. With `worker`: when it was loaded. */
  device?: 'webgpu' | 'wasm';
  /** Why not on the GPU that was asked for. */
  device_reason?: string;
  /** The GPU in use, or the last one that was tried. */
  gpu?: GpuFacts;
  /** The build id of wattn. */
  build_id: string;
  /** What the model keeps for later calls, once it has generated. */
  prefixes?: PrefixInfo;
}

/** What a decoder keeps of its calls (`prefix_cache_bytes`), and what the last call had of it; with several workers, their sums. */
export interface PrefixInfo {
  /** Sequences that later ones may begin with. What several begin with is kept once. */
  sequences: number;
  /** Tokens of all. */
  tokens: number;
  /** Their keys and values, in bytes. */
  bytes: number;
  /** The limit of bytes, in whole blocks of 32 tokens. */
  max_bytes: number;
  /** Tokens of the last call's prompts that were kept from earlier calls. */
  reused: number;
  /** Tokens of its prompts that were computed. */
  computed: number;
}

/** Memory in bytes. */
export interface MemoryInfo {
  /** The weights in their loaded data type, and the adapters. */
  weights: number;
  /** The arena for activations; allocated at the first run, it never grows. */
  activations: number;
  /** The limit of what a decoder that generates text keeps of its calls, see `prefix_cache_bytes`. */
  prefixes?: number;
  /** The sum of all. */
  total: number;
}

/** What every loaded model has. */
export interface Loaded extends Disposable_ {
  /** Facts about the model, and how it runs: sizes, data type, threads. */
  info(): ModelInfo;
  /** What the model takes in memory. */
  memory(): MemoryInfo;
  /** Runs sample texts, for up to 2 seconds, until the engine has optimised its code. It only makes the first calls faster. */
  warmup(): Promise<void>;
  /**
   * Loads an adapter of PEFT and names it; default `'default'`. The first one becomes active. An `InputError` if the name is in use, an
   * `UnsupportedError` for a kind of adapter other than LoRA, a `ModelFormatError` if it does not fit the model. The model then stays as it was.
   *
   *     await classify.load_adapter('./trec-lora', 'questions');
   *     await classify('How far is the moon?', { adapter: 'questions' });
   */
  load_adapter(source: ModelSpecifier, name?: string, options?: SourceOptions): Promise<void>;
  /** Makes an adapter active: calls use it unless they name another. `null`: none. */
  set_adapter(name: string | null): Promise<void>;
  /** No adapter is active. */
  disable_adapters(): Promise<void>;
  /** Makes the adapter active that was so before `disable_adapters()`. */
  enable_adapters(): Promise<void>;
  /** The names of the active adapters: one or none. */
  active_adapters(): Promise<string[]>;
  /** Releases an adapter and its memory. */
  delete_adapter(name: string): Promise<void>;
  /** Makes the active adapter part of the weights, rounded to their data type, and releases all adapters. */
  merge_and_unload(): Promise<void>;
}

/** What the pipeline of every task has. */
export interface LoadedPipeline extends Loaded {
  /**
   * The model's tokenizer. It belongs to the pipeline: its own `dispose()` does nothing. With `worker`, an `UnsupportedError`, because a
   * tokenizer answers at once and a worker cannot: load one with `AutoTokenizer.from_pretrained(model)`.
   *
   * @example
   * const embed = await pipeline('feature-extraction');
   * embed.tokenizer.encode('How many tokens is this?').length; // => 9
   */
  readonly tokenizer: Tokenizer;
  /** What the model's files say of it. `pipe.model.config.id2label` has the names of labels. */
  readonly model: PipelineModel;
  /**
   * What the pipeline makes of a text before the model computes anything: its tokens, which of them are unknown, what is cut off, and the prompt. It
   * also says how the model was loaded, and what of all that may surprise. Look here first when an answer seems wrong. With `worker`, too. An
   * `InputError`: no text, or an option that the task does not have.
   *
   * @example
   * const embed = await pipeline('feature-extraction');
   * const { tokens, left_out, notes } = await embed.explain('The bakery opens at six.');
   * left_out; // => ""
   */
  explain(text: string, options?: ExplainTextOptions | null): Promise<ExplainedText>;
}

/** The member `model` of a pipeline. */
export interface PipelineModel {
  /** The contents of config.json. */
  readonly config: Readonly<Record<string, any>>;
  /** The contents of generation_config.json; `{}` if there is none. */
  readonly generation_config: Readonly<Record<string, any>>;
  /** `dispose()` of the pipeline. */
  dispose(): Promise<void>;
}

/** Rows of ids, or of 0 and 1, all of one length. */
export type TokenRows = TensorBase | readonly (readonly number[])[] | readonly (readonly bigint[])[];

/** The result of `tokenizer(...)` fits; its further entries are not used. */
export interface ModelInputs {
  /** `[batch, seq]`. */
  input_ids: TokenRows;
  /** `[batch, seq]` of 0 and 1. Tokens with 0 are skipped, and their outputs are zeros. Default: all 1. */
  attention_mask?: TokenRows;
  /** `[batch, seq]`. Default: all 0. */
  token_type_ids?: TokenRows;
}

/** Options of a model's forward pass. */
export interface ForwardOptions {
  /** Adds `attentions`. Default `false`, which costs nothing. */
  output_attentions?: boolean;
  /** Adds `hidden_states`. Default `false`, which costs nothing. */
  output_hidden_states?: boolean;
  /** Adds `queries`, `keys` and `values`. Default `false`, which costs nothing. */
  output_qkv?: boolean;
  /** Factors of the heads' attention weights, `[layers, heads]`, or `[heads]` for all layers: 0 removes a head. */
  head_mask?: TensorBase | readonly number[] | readonly (readonly number[])[];
  /**
   * Activation patching: replaces activations, from which the rest of the pass is computed. Names:
   * `'embeddings.output'`, `'layer.N.attention.query'` (`key`, `value`, `context`, `output`), `'layer.N.intermediate'`,
   * `'layer.N.output'`; each a float32 Tensor `[batch, seq, width]`, such as another call's `hidden_states[N + 1]`. An unknown name or a
   * wrong shape is an `InputError`.
   */
  patch?: { readonly [tap: string]: TensorBase };
  /**
   * Adds `logit_lens`: this many of the most likely tokens at each layer and position, from the layer's output passed through the head
   * (nostalgebraist 2020). Default 0. Only for models with a head over the vocabulary; otherwise an `InputError`.
   */
  logit_lens?: number;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Ends the call with an `AbortError`, between two runs. */
  signal?: AbortSignalLike | undefined;
}

/** `[layers + 1, batch, seq, logit_lens]`, for the embeddings and each layer: ids, the most likely first, and their logits. */
export interface LogitLens {
  /** The ids of the likeliest tokens. */
  ids: Tensor<'int32'>;
  /** The logits of these tokens. */
  logits: Tensor<'float32'>;
}

/** The result of a model's forward pass. */
export interface ModelOutput {
  /** `[batch, seq, hidden]`. */
  last_hidden_state: Tensor<'float32'>;
  /** `[batch, hidden]`, from each row's first unmasked token; absent if the checkpoint has no pooler. */
  pooler_output?: Tensor<'float32'>;
  /** With a head (`AutoModelFor..`): `[batch, labels]`, `[batch, seq, labels]` or `[batch, seq, vocab]`. */
  logits?: Tensor<'float32'>;
  /** With `AutoModelForQuestionAnswering`: `[batch, seq]`. */
  start_logits?: Tensor<'float32'>;
  /** The logit of each token as the end of the answer; `start_logits` as its beginning. */
  end_logits?: Tensor<'float32'>;
  /** `[layers + 1]` of `[batch, seq, hidden]`: the embeddings, then each layer's output. */
  hidden_states?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, seq]`, after softmax; the last index is the key's token. */
  attentions?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, head_dim]`, as used for the scores (after rotary positions, if any). */
  queries?: Tensor<'float32'>[];
  /** As `queries`. With grouped-query attention there are fewer heads. */
  keys?: Tensor<'float32'>[];
  /** The values that attention adds up, in the layout of `keys`. */
  values?: Tensor<'float32'>[];
  /** With the option `logit_lens`. */
  logit_lens?: LogitLens;
}

type Adding<Output, Options, Asked, Name> = Options extends Asked ? Required<Pick<Output, Extract<keyof Output, Name>>> : unknown;

/** A model's output with the members that its options ask for: `output_attentions: true` adds `attentions`. */
export type OutputWith<Output, Options> = Output &
  Adding<Output, Options, { output_attentions: true }, `${string}attentions`> &
  Adding<Output, Options, { output_hidden_states: true }, `${string}hidden_states`> &
  Adding<Output, Options, { output_qkv: true }, `${string}${'queries' | 'keys' | 'values'}`> &
  Adding<Output, Options, { logit_lens: number }, 'logit_lens'>;

/** Options of a `feature-extraction` pipeline's call. */
export interface EmbedOptions {
  /** Pooling of token vectors; several are concatenated. `'none'`: one vector per token. Default: the model's own, else none. */
  pooling?: 'none' | PoolingMode | readonly PoolingMode[];
  /** Scales vectors to unit length. Default: the model's own; `false` with `pooling: 'none'`. */
  normalize?: boolean;
  /** Prefix of every text. Default: the model's default prompt, which few have. An `InputError` with `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's prompts (`info().prompts`), such as `'query'`. An unknown name is an `InputError`. */
  prompt_name?: string;
  /** Maximum tokens, special tokens included. Default: the model's own limit. More than its positions: an `InputError`. */
  max_length?: number;
  /** Keeps the first components (Matryoshka). The model's own normalisation comes before it, `normalize: true` after it. */
  truncate_dim?: number;
  /** `'float32'` (default), or quantised as by `quantize_embeddings`; `'int8'` and `'uint8'` take their ranges from this call's texts. */
  precision?: OutputPrecision;
  /** As in transformers.js: `true`: `precision` or else `'binary'`; `false`: `'float32'`. */
  quantize?: boolean;
  /**
   * What to do with a text longer than `max_length`: `'truncate'` (default; see `truncated` in the result), `'error'` (an `InputError`), or
   * `'window'`: run it in windows of `max_length` tokens. A prompt is part of the first window.
   */
  on_overflow?: 'truncate' | 'error' | 'window';
  /** With `on_overflow: 'window'`: the mean of a text's windows (default), or one vector per window. */
  windows?: 'mean' | 'each';
  /** With `on_overflow: 'window'`: tokens that neighbouring windows share. Default 0. */
  overlap?: number;
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /**
   * One of the model's own tasks (`info().tasks`), as in jina-embeddings-v3's `encode(texts, task=...)`: uses its adapter, and its
   * instruction as the prompt, unless the options set one (`prompt: ''`: none, as in sentence-transformers). An `InputError` for others.
   */
  task?: string;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Ends the call with an `AbortError`, between two micro-batches. */
  signal?: AbortSignalLike | undefined;
}

/** Options of every task. */
export interface TaskTextOptions {
  /** Maximum tokens, special tokens included. Default: the model's own limit. More than its positions: an `InputError`. */
  max_length?: number;
  /** A text longer than `max_length`: `'truncate'` (default; see `truncated` in the result) or `'error'` (an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /** The adapter to use, by its name; `false`: none. Default: the active one. An `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Ends the call with an `AbortError`, between two micro-batches. */
  signal?: AbortSignalLike | undefined;
}
