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
  /** Encoder, decoder, or both. */
  kind: ModelKind;
  /** The heads in its files: `'sequence'` for text classification, `'causal_lm'` for text generation, ... */
  heads: HeadKind[];
  /** Bytes of the weight files to download, if the Hub reports them. Absent if they are cached. */
  bytes?: number;
  /** A smaller file of the same model in its repository. To load it, set `dtype: 'q8'` and `prefer: 'packed'`. */
  packed?: { file: string; bytes: number };
}

/** Data type of the weights in memory. */
export type Dtype = 'f32' | 'f16' | 'q16' | 'q8' | 'q4';

/**
 * Options under the names of transformers.js, in addition to wattn's own.
 *
 *     const embed = await pipeline('feature-extraction', './model', { dtype: 'fp16', device: 'wasm' });
 *     embed.info(); // { dtype: 'f16', dtype_asked: 'fp16', .. }
 */
export interface FamiliarOptions {
  /**
   * Data type of the weights in memory, see `LoadOptions.dtype`. Names of transformers.js map to the nearest of wattn's: `'fp16'` to f16; `'int8'`,
   * `'uint8'` to q8; `'q4f16'`, `'bnb4'` and fewer bits to q4; `'auto'` to the default. `info()` reports both. From an object with one type per file,
   * the most precise is used.
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
  /** `true` means `dtype: 'q8'`, `false` means `'f32'`. */
  quantized?: boolean;
  /**
   * Where the layers run, in tasks that read texts, in `text-generation`, and in `AutoModel` and its variants. Heads run on the processor, except the language-model head. `'wasm'` (default),
   * `'cpu'`: the processor. `'webgpu'`, `'gpu'`: a GPU, if a check while loading shows that its results match the processor's within the rounding of the dtype. If
   * it fails, or no GPU supports the model or dtype, the processor is used and `info().device_reason` says why. `'auto'`: the GPU for calls that it should
   * finish sooner, after a short measurement. Any other, such as `'cuda'`: the processor, with one warning. See docs/gpu.md.
   */
  device?: string | { readonly [file: string]: string } | null;
  /** The folder of the weights within the model. Default: its root; `'onnx'` means the root, too. */
  subfolder?: string;
  /** Loads the weights from `<model_file_name>.safetensors` instead of `model.safetensors`. */
  model_file_name?: string;
  /** Used instead of the model's config.json. */
  config?: Record<string, unknown> | null;
  /** An option of ONNX Runtime. It has no effect, and a warning says so once. */
  session_options?: Record<string, unknown>;
  /** An option of ONNX Runtime. It has no effect, and a warning says so once. */
  use_external_data_format?: unknown;
}

/** The options of `pipeline` and `AutoModel..from_pretrained`. */
export type ModelOptions = Omit<LoadOptions, 'dtype' | 'device'> & FamiliarOptions;

/** Options of every function that loads a model. */
export interface LoadOptions extends SourceOptions {
  /** What remains of the devices of `FamiliarOptions`: a GPU, or the sooner of both. @internal */
  device?: 'webgpu' | 'auto';
  /**
   * Data type of the weights in memory. Weights are converted while loading. `'f32'` (or `'fp32'`): matches Python. `'f16'`: half the memory at about
   * the same speed. Results are identical to f32 if the file has f16 or bf16; a file in f32 is rounded. `'q16'`: half the memory, more than twice the
   * speed, nearly the results of f32. `'q8'`: a quarter of the memory, slightly different vectors (see docs/loading.md). `'q4'`: half the memory of q8
   * for the largest matrices, no faster. Each gives the same bits on every engine. Any type works with any model. Default: `'q8'` for the bundled model,
   * the other `wattn-*` models and `.gguf` files packed as `W8`; otherwise `'f32'`.
   */
  dtype?: Dtype | 'fp32';
  /**
   * `'packed'`: loads a `.gguf` file from the model's repository instead of its weights, and downloads nothing else. `dtype` selects the file: `'q8'`
   * W8 (wattn's own format), then Q8_0; `'q4'` Q4_K_M or Q4_0; `'f16'` and `'q16'` F16; none: the first that exists. If there is no such file, a warning
   * says so once, and the weights are loaded.
   */
  prefer?: 'packed' | undefined;
  /**
   * The route of a sentence-transformers model with a `Router` (or `Asym`): its name, or the role `'query'` or `'document'`. Default: the route for
   * texts without a role, as in Python's `encode`. A loaded model has one route; load it twice to use both roles.
   */
  route?: string;
  /** `'exact'` (default): the same bits on every engine. `'fast'`: may use fused multiply-add if the engine supports it. */
  precision?: 'exact' | 'fast';
  /**
   * `true`: runs the model in a Web Worker (in Node, a worker thread), so that the page is never blocked. A number: uses that many workers, which share
   * the work of a call; each holds a copy of the weights. Default `false`.
   */
  worker?: boolean | number;
  /**
   * A PEFT adapter (`adapter_config.json`, `adapter_model.safetensors`), see `ModelSpecifier`. It becomes active under the name `'default'`. It may
   * provide a head that the task needs and the model lacks.
   */
  adapter?: ModelSpecifier;
  /** Several adapters by name, instead of `adapter`. The first one becomes active. */
  adapters?: { readonly [name: string]: ModelSpecifier };
  /**
   * Number of threads, including the calling one. Results do not depend on it. Default: the number of cores, at most 4, where memory can be shared
   * (Node, cross-origin isolated pages); otherwise, and with several workers, 1. With a number, loading waits for the threads; by default they start
   * after loading (`warmup()` waits for them). `info()` reports how many are in use and, if only one, why.
   */
  threads?: number;
  /**
   * For models that generate text: maximum tokens of a sequence, prompt and answer together, up to the model's `max_position_embeddings`. Default:
   * that value, at most 4096. A call only uses memory for its own length.
   */
  context_length?: number;
  /**
   * For decoders that generate text: maximum bytes of keys and values to keep, so that later calls compute only new tokens. 0 keeps nothing. The least
   * recently used are dropped first. Default: enough for one sequence of `context_length` tokens, at most 512 MB.
   */
  prefix_cache_bytes?: number;
  /**
   * For models that generate text: data type of keys and values. `'q8'`: 8 bits with one scale per 32 numbers, which takes 28 % of the memory. Results
   * change slightly (docs/generation.md), and long texts take more time. Default `'f32'`.
   */
  kv_cache_dtype?: 'f32' | 'q8';
}

export type { PoolingMode };

/** Facts about a loaded model, and how it runs. */
export interface ModelInfo extends ModelFacts {
  /** The data type of the weights in memory. */
  dtype: Dtype;
  /** The requested data type, if `dtype` is only the nearest of wattn's. */
  dtype_asked?: string;
  /** The repository that was loaded, if the requested one has only ONNX files: see `Env.resolveOriginal`. */
  original?: string;
  /** The route that was loaded, for a model with a Router. */
  route?: string;
  /** The routes of the two roles, for a model with a Router. A missing one: the model has no route for that role. */
  routes?: { readonly query?: string | undefined; readonly document?: string | undefined };
  /** `'exact'`: the same bits on every engine. `'fast'`: may use the engine's fused multiply-add. */
  precision: 'exact' | 'fast';
  /** The WebAssembly in use; `'given'`: the one in `env.wasm`. */
  wasm: WasmKind;
  /** Threads in use (per worker, if there are workers). */
  threads: number;
  /** Why there is only one thread. */
  threads_reason?: string;
  /** Why a text gives one vector per token, if `pooled` is `false`; for models without a head. */
  pooled_reason?: string;
  /** Number of workers that run the model; 0: it runs on the calling thread. */
  workers: number;
  /** With the option `device`: where the model runs now; with `worker`: where it ran when it was loaded. */
  device?: 'webgpu' | 'wasm';
  /** Why the requested GPU is not used. */
  device_reason?: string;
  /** The GPU in use, or the last one that was tried. */
  gpu?: GpuFacts;
  /** The build id of wattn. */
  build_id: string;
  /** What the model keeps for later calls, once it has generated text. */
  prefixes?: PrefixInfo;
}

/** What a decoder keeps between calls (`prefix_cache_bytes`), and how much of it the last call used. With several workers: the sums. */
export interface PrefixInfo {
  /** Number of sequences kept. Prefixes that they share are stored once. */
  sequences: number;
  /** Tokens of all kept sequences. */
  tokens: number;
  /** Bytes of their keys and values. */
  bytes: number;
  /** The limit of bytes, in whole blocks of 32 tokens. */
  max_bytes: number;
  /** Tokens of the last call's prompts that were reused from earlier calls. */
  reused: number;
  /** Tokens of the last call's prompts that were computed. */
  computed: number;
}

/** Memory of a loaded model, in bytes. */
export interface MemoryInfo {
  /** The weights in their data type in memory, and adapters. */
  weights: number;
  /** Working memory for activations. It is allocated at the first run and never grows. */
  activations: number;
  /** The limit for keys and values kept between calls, see `prefix_cache_bytes`. */
  prefixes?: number;
  /** The sum of all. */
  total: number;
}

/** Methods of every loaded model. */
export interface Loaded extends Disposable_ {
  /** Facts about the model, and how it runs: sizes, data type, threads. */
  info(): ModelInfo;
  /** The memory that the model uses, in bytes. */
  memory(): MemoryInfo;
  /** Runs sample texts for up to 2 seconds, so that the engine optimises its code. This only makes the first calls faster. */
  warmup(): Promise<void>;
  /**
   * Loads a PEFT adapter under a name, by default `'default'`. The first one becomes active. Throws an `InputError` if the name is in use, an
   * `UnsupportedError` for a type of adapter that is not supported, and a `ModelFormatError` if it does not fit the model. The model is then unchanged.
   *
   *     await classify.load_adapter('./trec-lora', 'questions');
   *     await classify('How far is the moon?', { adapter: 'questions' });
   */
  load_adapter(source: ModelSpecifier, name?: string, options?: SourceOptions): Promise<void>;
  /** Activates an adapter: calls use it unless they name another. `null`: none. */
  set_adapter(name: string | null): Promise<void>;
  /** Deactivates all adapters. */
  disable_adapters(): Promise<void>;
  /** Reactivates the adapter that was active before `disable_adapters()`. */
  enable_adapters(): Promise<void>;
  /** The names of the active adapters: at most one. */
  active_adapters(): Promise<string[]>;
  /** Removes an adapter and frees its memory. */
  delete_adapter(name: string): Promise<void>;
  /** Merges the active adapter into the weights, rounded to their data type, and removes all adapters. */
  merge_and_unload(): Promise<void>;
}

/** Members of every pipeline. */
export interface LoadedPipeline extends Loaded {
  /**
   * The model's tokenizer. It belongs to the pipeline, so its own `dispose()` does nothing. With `worker` it throws an `UnsupportedError`, because a
   * tokenizer is synchronous: load one with `AutoTokenizer.from_pretrained(model)`.
   *
   * @example
   * const embed = await pipeline('feature-extraction');
   * embed.tokenizer.encode('How many tokens is this?').length; // => 9
   */
  readonly tokenizer: Tokenizer;
  /** The model's config. `pipe.model.config.id2label` has the names of labels. */
  readonly model: PipelineModel;
  /**
   * Shows the model's input for a text: its tokens, which are unknown, what is truncated, and the prompt. It also reports how the model was loaded and
   * anything unexpected. Look here first when an answer seems wrong. Works with `worker`. Throws an `InputError` if there is no text, or for an option
   * that the task does not have.
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
  /** The same as the pipeline's `dispose()`. */
  dispose(): Promise<void>;
}

/** Rows of ids, or of 0 and 1, all of the same length: `[batch, seq]`. */
export type TokenRows = TensorBase | readonly (readonly number[])[] | readonly (readonly bigint[])[];

/** Inputs of a model. You can pass the result of `tokenizer(...)`; its other members are ignored. */
export interface ModelInputs {
  /** Token ids, `[batch, seq]`. */
  input_ids: TokenRows;
  /** `[batch, seq]` of 0 and 1. Tokens with 0 are skipped, and their outputs are zeros. Default: all 1. */
  attention_mask?: TokenRows;
  /** Segment ids, `[batch, seq]`. Default: all 0. */
  token_type_ids?: TokenRows;
}

/** Options of a model's forward pass. */
export interface ForwardOptions {
  /** Adds `attentions` to the result. Default `false`. */
  output_attentions?: boolean;
  /** Adds `hidden_states` to the result. Default `false`. */
  output_hidden_states?: boolean;
  /** Adds `queries`, `keys` and `values` to the result. Default `false`. */
  output_qkv?: boolean;
  /** Factors for the heads' attention weights, `[layers, heads]`, or `[heads]` for all layers. 0 removes a head. */
  head_mask?: TensorBase | readonly number[] | readonly (readonly number[])[];
  /**
   * Activation patching: replaces activations by name; the rest of the pass is computed from them. Names: `'embeddings.output'`,
   * `'layer.N.attention.query'` (`key`, `value`, `context`, `output`), `'layer.N.intermediate'`, `'layer.N.output'`; each a float32 Tensor `[batch, seq,
   * width]`, such as another call's `hidden_states[N + 1]`. An unknown name or a wrong shape throws an `InputError`.
   */
  patch?: { readonly [tap: string]: TensorBase };
  /**
   * Adds `logit_lens`: this many of the most likely tokens at each layer and position, from the layer's output passed through the head (nostalgebraist
   * 2020). Default 0. Models without a language-model head throw an `InputError`.
   */
  logit_lens?: number;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Cancels the call between two passes, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Most likely tokens after the embeddings and after each layer, the most likely first. Both tensors are `[layers + 1, batch, seq, logit_lens]`. */
export interface LogitLens {
  /** The ids of the most likely tokens. */
  ids: Tensor<'int32'>;
  /** The logits of these tokens. */
  logits: Tensor<'float32'>;
}

/** The result of a model's forward pass. */
export interface ModelOutput {
  /** The output of the last layer, `[batch, seq, hidden]`. */
  last_hidden_state: Tensor<'float32'>;
  /** The pooler's output for each row's first unmasked token, `[batch, hidden]`; absent if the checkpoint has no pooler. */
  pooler_output?: Tensor<'float32'>;
  /** The head's output, for `AutoModelFor..`: `[batch, labels]`, `[batch, seq, labels]` or `[batch, seq, vocab]`. */
  logits?: Tensor<'float32'>;
  /** With `AutoModelForQuestionAnswering`: the logit of each token as the start of the answer, `[batch, seq]`. */
  start_logits?: Tensor<'float32'>;
  /** The logit of each token as the end of the answer, `[batch, seq]`. */
  end_logits?: Tensor<'float32'>;
  /** `[layers + 1]` of `[batch, seq, hidden]`: the embeddings, then each layer's output. */
  hidden_states?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, seq]`, after softmax; the last index is the key's token. */
  attentions?: Tensor<'float32'>[];
  /** `[layers]` of `[batch, heads, seq, head_dim]`, as used for the scores (after rotary positions, if any). */
  queries?: Tensor<'float32'>[];
  /** As `queries`. With grouped-query attention there are fewer heads. */
  keys?: Tensor<'float32'>[];
  /** The values that attention averages, in the layout of `keys`. */
  values?: Tensor<'float32'>[];
  /** Most likely tokens per layer, with the option `logit_lens`. */
  logit_lens?: LogitLens;
}

type Adding<Output, Options, Asked, Name> = Options extends Asked ? Required<Pick<Output, Extract<keyof Output, Name>>> : unknown;

/** A model's output with the members that its options ask for: `output_attentions: true` adds `attentions`. */
export type OutputWith<Output, Options> = Output &
  Adding<Output, Options, { output_attentions: true }, `${string}attentions`> &
  Adding<Output, Options, { output_hidden_states: true }, `${string}hidden_states`> &
  Adding<Output, Options, { output_qkv: true }, `${string}${'queries' | 'keys' | 'values'}`> &
  Adding<Output, Options, { logit_lens: number }, 'logit_lens'>;

/** Options of a call of a `feature-extraction` pipeline. */
export interface EmbedOptions {
  /** How token vectors become one vector; several modes are concatenated. `'none'`: one vector per token. Default: the model's own pooling, or else none. */
  pooling?: 'none' | PoolingMode | readonly PoolingMode[];
  /** Scales vectors to unit length. Default: the model's own setting; `false` with `pooling: 'none'`. */
  normalize?: boolean;
  /** Text to put before every text. Default: the model's default prompt, which few models have. Throws an `InputError` together with `prompt_name`. */
  prompt?: string;
  /** Name of one of the model's prompts (`info().prompts`), such as `'query'`. An unknown name throws an `InputError`. */
  prompt_name?: string;
  /** Maximum tokens, special tokens included. Default: the model's own limit. More than the model's positions throws an `InputError`. */
  max_length?: number;
  /** Keeps only the first components of each vector (Matryoshka). The model's own normalisation is applied before this, `normalize: true` after it. */
  truncate_dim?: number;
  /** `'float32'` (default), or quantised as by `quantize_embeddings`. `'int8'` and `'uint8'` take their ranges from the texts of this call. */
  precision?: OutputPrecision;
  /** As in transformers.js: `true` means `precision`, or `'binary'` if it is not set; `false` means `'float32'`. */
  quantize?: boolean;
  /**
   * What to do with a text longer than `max_length`. `'truncate'` (default): cut it, and report that as `truncated` in the result. `'error'`: throw an
   * `InputError`. `'window'`: run it in windows of `max_length` tokens; a prompt is part of the first window.
   */
  on_overflow?: 'truncate' | 'error' | 'window';
  /** With `on_overflow: 'window'`: `'mean'` (default) averages a text's windows, `'each'` returns one vector per window. */
  windows?: 'mean' | 'each';
  /** With `on_overflow: 'window'`: tokens that adjacent windows share. Default 0. */
  overlap?: number;
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /**
   * One of the model's own tasks (`info().tasks`), as in jina-embeddings-v3's `encode(texts, task=...)`. Uses the task's adapter, and its instruction
   * as the prompt unless the options set one (`prompt: ''`: none, as in sentence-transformers). An unknown task throws an `InputError`.
   */
  task?: string;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Cancels the call between two micro-batches, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}

/** Options of every task. */
export interface TaskTextOptions {
  /** Maximum tokens, special tokens included. Default: the model's own limit. More than the model's positions throws an `InputError`. */
  max_length?: number;
  /** What to do with a text longer than `max_length`: `'truncate'` (default; see `truncated` in the result) or `'error'` (throw an `InputError`). */
  on_overflow?: 'truncate' | 'error';
  /** `true`: treats strings like `[SEP]` in a text as ordinary text. Default `false`, as in Python. */
  split_special_tokens?: boolean;
  /** The name of the adapter to use; `false`: none. Default: the active one. Throws an `InputError` if there is no such adapter. */
  adapter?: string | false;
  /** Cancels the call between two micro-batches, with an `AbortError`. */
  signal?: AbortSignalLike | undefined;
}
