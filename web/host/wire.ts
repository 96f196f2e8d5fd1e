// Types of what crosses to WebAssembly. tools/wire.mjs writes this file out of src/core/wire.def.

/** Every call returns { code, message }. The other fields are there if code is 0. */

export interface Answer {
  code: number;
  message: string;
}

/** sentence-transformers' names, and transformers.js's `'first_token'` (= cls), `'last_token'` and `'eos'` (= lasttoken). */
export type PoolingMode =
  'mean' | 'cls' | 'max' | 'mean_sqrt_len_tokens' | 'weightedmean' | 'lasttoken' | 'first_token' | 'last_token' | 'eos';

export const kPoolingModeWords = [
  'mean',
  'cls',
  'max',
  'mean_sqrt_len_tokens',
  'weightedmean',
  'lasttoken',
  'first_token',
  'last_token',
  'eos',
] as const;

export type TruncationStrategy = 'longest_first' | 'only_first' | 'only_second';

export const kTruncationStrategyWords = ['longest_first', 'only_first', 'only_second'] as const;

export type Side = 'left' | 'right';

export const kSideWords = ['left', 'right'] as const;

export type Precision = 'exact' | 'fast';

export const kPrecisionWords = ['exact', 'fast'] as const;

/** How weights are stored in memory. */
export type WeightType = 'f32' | 'q16' | 'q8' | 'q4' | 'f16';

export const kWeightTypeWords = ['f32', 'q16', 'q8', 'q4', 'f16'] as const;

/** The head that the checkpoint must contain. 'causal_lm' needs a decoder, 'seq2seq_lm' an encoder-decoder. */
export type HeadKind = 'none' | 'sequence' | 'token' | 'answer' | 'masked_lm' | 'causal_lm' | 'seq2seq_lm' | 'spans' | 'labels';

export const kHeadKindWords = [
  'none',
  'sequence',
  'token',
  'answer',
  'masked_lm',
  'causal_lm',
  'seq2seq_lm',
  'spans',
  'labels',
] as const;

/** What begin() accepts in addition to heads. 'own_lm': the head over the vocabulary if the model generates text, else none. 'ranking': 'sequence', or 'causal_lm' where that is all. */
export type OtherHead = 'own_lm' | 'token_vectors' | 'sparse' | 'ranking' | 'new_sequence';

export const kOtherHeadWords = ['own_lm', 'token_vectors', 'sparse', 'ranking', 'new_sequence'] as const;

/** How keys and values are kept. */
export type KvCacheType = 'f32' | 'q8';

export const kKvCacheTypeWords = ['f32', 'q8'] as const;

/** What a model consists of: an encoder reads a whole text at once, a decoder writes token by token. */
export type ModelKind = 'encoder' | 'decoder' | 'encoder-decoder';

export const kModelKindWords = ['encoder', 'decoder', 'encoder-decoder'] as const;

/** What happens to a text that is longer than max_length. */
export type Overflow = 'truncate' | 'error' | 'window_mean' | 'windows';

export const kOverflowWords = ['truncate', 'error', 'window_mean', 'windows'] as const;

export type EarlyStopping = 'no' | 'yes' | 'never';

export const kEarlyStoppingWords = ['no', 'yes', 'never'] as const;

/** Why a sequence ended. */
export type FinishReason = 'eos' | 'stop' | 'length' | 'time';

export const kFinishReasonWords = ['eos', 'stop', 'length', 'time'] as const;

/** What the rows of a paused generation are at this moment. */
export type GenerationPhase = 'none' | 'logits' | 'processed' | 'scores' | 'prompt';

export const kGenerationPhaseWords = ['none', 'logits', 'processed', 'scores', 'prompt'] as const;

/** What a part of a schema of GLiNER2 asks for. */
export type SchemaPartKind = 'structure' | 'entities' | 'relation' | 'classes';

export const kSchemaPartKindWords = ['structure', 'entities', 'relation', 'classes'] as const;

export type TrainMethod = 'lora' | 'full' | 'last_layers' | 'head';

export const kTrainMethodWords = ['lora', 'full', 'last_layers', 'head'] as const;

export type TrainLoss =
  | 'MultipleNegativesRankingLoss'
  | 'CoSENTLoss'
  | 'CosineSimilarityLoss'
  | 'ContrastiveLoss'
  | 'TripletLoss'
  | 'BatchAllTripletLoss'
  | 'SupConLoss'
  | 'own_of_vectors'
  | 'CrossEntropyLoss'
  | 'BCEWithLogitsLoss'
  | 'MSELoss'
  | 'own_of_logits';

export const kTrainLossWords = [
  'MultipleNegativesRankingLoss',
  'CoSENTLoss',
  'CosineSimilarityLoss',
  'ContrastiveLoss',
  'TripletLoss',
  'BatchAllTripletLoss',
  'SupConLoss',
  'own_of_vectors',
  'CrossEntropyLoss',
  'BCEWithLogitsLoss',
  'MSELoss',
  'own_of_logits',
] as const;

export type LoraBias = 'none' | 'all' | 'lora_only';

export const kLoraBiasWords = ['none', 'all', 'lora_only'] as const;

export type Schedule = 'linear' | 'cosine' | 'constant' | 'constant_with_warmup';

export const kScheduleWords = ['linear', 'cosine', 'constant', 'constant_with_warmup'] as const;

export interface SeamLoadRequest {
  precision: Precision;
  dtype: WeightType;
  head: HeadKind | OtherHead;
  context_length?: number | undefined;
  prefix_cache_bytes?: number | undefined;
  kv_cache_dtype?: KvCacheType | undefined;
  /** adapters will supply the parts of the head that the checkpoint lacks */
  adapted_head?: boolean | undefined;
  /** whole matrices of an adapter */
  adapted_names?: string[] | undefined;
  /** their rows */
  adapted_rows?: number[] | undefined;
}

export interface SeamEmbedRequest {
  /** absent: the repository's own; []: one vector per token */
  pooling?: PoolingMode[] | undefined;
  normalize?: boolean | undefined;
  prompt?: string | undefined;
  prompt_name?: string | undefined;
  max_length?: number | undefined;
  truncate_dim?: number | undefined;
  overflow?: Overflow | undefined;
  overlap?: number | undefined;
  split_special_tokens?: boolean | undefined;
}

/** max_length defaults to the model's own. */
export interface SeamPredictOptions {
  add_special_tokens?: boolean | undefined;
  split_special_tokens?: boolean | undefined;
  max_length?: number | undefined;
  strategy?: TruncationStrategy | undefined;
  truncation_side?: Side | undefined;
  overlap?: number | undefined;
  return_overflowing?: boolean | undefined;
  /** logits at tokens with this text alone */
  at_token?: string | undefined;
  /** with the head 'causal_lm': a text's logits are those of these tokens after its last one */
  label_ids?: number[] | undefined;
  /** with the head 'labels': how many each text names */
  num_labels?: number | undefined;
  /** the last tokens of a text that is truncated */
  tail?: number[] | undefined;
  /** index of the first text, for messages */
  first_text?: number | undefined;
}

export interface SeamForwardRequest {
  hidden_states?: boolean | undefined;
  attentions?: boolean | undefined;
  qkv?: boolean | undefined;
  /** of a head over the vocabulary; default true */
  logits?: boolean | undefined;
  /** tokens per layer and position, from the head over the vocabulary */
  logit_lens?: number | undefined;
}

export interface SeamGenerateRequest {
  max_new_tokens?: number | undefined;
  max_length?: number | undefined;
  min_length?: number | undefined;
  min_new_tokens?: number | undefined;
  decoder_start_token_id?: number | undefined;
  stop_strings?: string[] | undefined;
  /** each step ends three times: with logits, once they are processed, and as scores */
  pauses?: boolean | undefined;
  /** the prompts are only read, with pauses for the logits of each prompt's tokens from this one on */
  rows_from?: number[] | undefined;
  /** most tokens of propose() */
  num_proposed?: number | undefined;
  /** numbers that hold the kept prefix of each prompt until release_prefix() */
  holds?: number[] | undefined;
  do_sample?: boolean | undefined;
  temperature?: number | undefined;
  top_k?: number | undefined;
  top_p?: number | undefined;
  min_p?: number | undefined;
  seed?: number | undefined;
  /** of each prompt, in place of seed */
  seeds?: number[] | undefined;
  repetition_penalty?: number | undefined;
  no_repeat_ngram_size?: number | undefined;
  bad_words_ids?: number[][] | undefined;
  renormalize_logits?: boolean | undefined;
  num_beams?: number | undefined;
  num_return_sequences?: number | undefined;
  length_penalty?: number | undefined;
  early_stopping?: EarlyStopping | undefined;
  eos_token_id?: number[] | undefined;
  forced_bos_token_id?: number | undefined;
  forced_eos_token_id?: number | undefined;
}

export interface SeamSpansRequest {
  threshold?: number | undefined;
  /** of GLiNER2: the parts of its schema; none: the labels are of entities */
  kinds?: SchemaPartKind[] | undefined;
  /** of the parts */
  names?: string[] | undefined;
  /** labels of each part */
  sizes?: number[] | undefined;
  /** words before the text, each a span by itself */
  choices?: string[] | undefined;
  /** index of the first text, for messages */
  first_text?: number | undefined;
}

export interface SeamTokenVectorsOptions {
  is_query?: boolean | undefined;
  max_length?: number | undefined;
  split_special_tokens?: boolean | undefined;
  /** index of the first text, for messages */
  first_text?: number | undefined;
}

export interface SeamSparseVectorsOptions {
  is_query?: boolean | undefined;
  max_length?: number | undefined;
  max_active_dims?: number | undefined;
  split_special_tokens?: boolean | undefined;
  /** index of the first text, for messages */
  first_text?: number | undefined;
}

export interface SeamTrainOptions {
  method: TrainMethod;
  loss: TrainLoss;
  config: string;
  /** a new head; config has its details */
  head?: HeadKind | undefined;
  dropout?: boolean | undefined;
  r?: number | undefined;
  lora_alpha?: number | undefined;
  use_rslora?: boolean | undefined;
  use_dora?: boolean | undefined;
  lora_dropout?: number | undefined;
  bias?: LoraBias | undefined;
  target_modules?: string[] | undefined;
  modules_to_save?: string[] | undefined;
  freeze_embeddings?: boolean | undefined;
  last_layers?: number | undefined;
  scale?: number | undefined;
  margin?: number | undefined;
  temperature?: number | undefined;
  label_smoothing_factor?: number | undefined;
  learning_rate: number;
  adam_beta1?: number | undefined;
  adam_beta2?: number | undefined;
  adam_epsilon?: number | undefined;
  weight_decay?: number | undefined;
  lr_scheduler_type?: Schedule | undefined;
  warmup_steps?: number | undefined;
  max_steps?: number | undefined;
  max_grad_norm?: number | undefined;
  max_length?: number | undefined;
  checkpointing?: boolean | undefined;
  seed?: number | undefined;
}

/** What encode() does. The bits from strategy on are TruncationStrategy, and those from arrays on the bits of EncodedArrays. */
export const EncodeFlags = {
  add_special_tokens: 1,
  split_special_tokens: 2,
  truncates_left: 4,
  return_overflowing: 8,
  return_tokens: 16,
  has_max_length: 32,
  strategy: 64,
  arrays: 256,
} as const;

/** The optional arrays of an EncodeAnswer. per_encoding: lengths, untruncated, unknown and text. */
export const EncodedArrays = {
  type_ids: 1,
  offsets: 2,
  special_tokens_mask: 4,
  word_ids: 8,
  sequence_ids: 16,
  per_encoding: 32,
  all: 63,
} as const;

/** What decode() and decode_pieces() do. */
export const DecodeFlags = {
  skip_special_tokens: 1,
  clean_up_spaces: 2,
  /** of pieces */
  first_of_texts: 2,
} as const;

export interface TextAnswer extends Answer {
  text: string;
}

export interface IdAnswer extends Answer {
  /** -1: none */
  id: number;
}

/** src/tokenizer/tokenizer.h: TokenizerOrigin, and sizes. */
export interface TokenizerAnswer extends Answer {
  vocab_size: number;
  model_max_length?: number;
  name: string;
  from: string;
  vocabulary: string;
  added_tokens: string;
  is_of_class: boolean;
  pads_left: boolean;
  is_bpe: boolean;
  decodes_by_table: boolean;
  decodes_first_alike: boolean;
  roles: string[];
  extra: string[];
}

export interface CutOffAnswer extends Answer {
  /** more bytes are needed */
  is_cut_off: boolean;
}

export interface DescribeAnswer extends Answer {
  model_type: string;
  kind: ModelKind;
  /** those that begin() accepts beside 'none' */
  heads: HeadKind[];
}

export interface GgufAnswer extends CutOffAnswer {
  names: string[];
  contents: Uint8Array[];
}

export interface BeginAnswer extends Answer {
  weight_files: string[];
}

/** Memory for helper threads, as addresses. */
export interface HelpersAnswer extends Answer {
  team: number;
  stacks: Float64Array;
  stack_bytes: number;
}

export interface FinishAnswer extends Answer {
  /** how memory holds the tensors of each weight file; see src/io/weight_loader.h */
  held: Uint8Array;
}

export interface AdapterAnswer extends Answer {
  adapter: number;
  /** of the head with it; 0: none */
  labels: number;
}

/** Config fields are of the decoder, else of the only stack. */
export interface InfoAnswer extends Answer {
  model_type: string;
  kind: ModelKind;
  head: HeadKind;
  vocab_size: number;
  hidden_size: number;
  num_hidden_layers: number;
  num_attention_heads: number;
  num_key_value_heads: number;
  head_dim: number;
  max_position_embeddings: number;
  max_length: number;
  context_length: number;
  token_budget: number;
  weight_bytes: number;
  arena_bytes: number;
  prefix_bytes: number;
  pooled: boolean;
  normalize: boolean;
  kernels: string;
  prompt_names: string[];
  prompt_texts: string[];
  /** that the checkpoint itself has */
  adapters: number;
  encoder_layers?: number;
  encoder_attention_heads?: number;
  encoder_head_dim?: number;
  max_source_length?: number;
}

/** A row for each layer. */
export interface SummaryAnswer extends Answer {
  names: string[];
  types: string[];
  kernels: Int32Array[];
  outputs: Int32Array[];
  parameters: Float64Array;
  macs: Float64Array;
}

/** The answer of a call that runs in steps. Its other fields are there when more is false, unless said otherwise. */
export interface JobAnswer extends Answer {
  job: number;
  more: boolean;
  /** taken */
  steps: number;
}

/** Facts about texts, [texts] each. */
export interface TextsAnswer extends JobAnswer {
  tokens: Int32Array;
  untruncated: Int32Array;
  unknown: Float32Array;
}

export interface EmbedAnswer extends TextsAnswer {
  data: Float32Array;
  dim: number;
  pooled: boolean;
  windows: Int32Array;
}

/** What a device runs of a model; see src/tasks/device.h. */
export interface DevicePlanAnswer extends Answer {
  /** [sections, 4]: first value, values, first step, steps */
  sections: Int32Array;
  /** [layers + 3, 2]: the embeddings, each layer, the final norm, the head over the vocabulary: a section or -1, and its first weight */
  uses: Int32Array;
  /** [layers] */
  score_divisors: Float32Array;
  /** [values, 4]: width, place (0: anywhere, 1: the stream, 3: the logits), the value that it is a view of or -1, rows (0: of tokens) */
  values: Int32Array;
  /** [steps], like the next ones */
  ops: string[];
  variants: string[];
  /** [steps, 5]: x, other, out, weight, attention; -1: none */
  steps: Int32Array;
  factors: Float32Array;
  /** [attentions, 8]: heads, heads of keys, width of a key, of a value, window before, after, causal, cross */
  attentions: Int32Array;
  /** [attentions, 2]: scale, softcap */
  attention_factors: Float32Array;
  /** [weights]: the first one that has the same memory */
  weights: Int32Array;
  hidden: number;
  positions: number;
}

export interface DeviceWeightAnswer extends Answer {
  type: WeightType;
  shape: Int32Array;
  epsilon: number;
  /** [parts] */
  names: string[];
  /** [parts], in bytes */
  sizes: Float64Array;
}

export interface DeviceBytesAnswer extends Answer {
  bytes: Uint8Array;
}

/** The windows of a job's next step, one after the other. */
export interface DeviceBatchAnswer extends Answer {
  /** the processor runs this step: the answer has no other fields */
  here: boolean;
  /** [tokens], like the next one */
  ids: Int32Array;
  type_ids: Int32Array;
  /** [windows + 1] */
  starts: Int32Array;
  /** with a pooling, [windows]: first tokens that it leaves out */
  skip: Int32Array;
  pooling: PoolingMode[];
}

export interface DeviceRowsAnswer extends Answer {
  /** [tokens, hidden], or with a pooling [windows, modes * hidden] */
  rows: Float32Array;
}

/** What the next step of a generation reads. */
export interface DeviceTokensAnswer extends Answer {
  /** there is nothing to read, or nothing that a device may read: the answer has no other fields */
  here: boolean;
  /** [tokens], like the next one */
  ids: Int32Array;
  positions: Int32Array;
  /** [sequences + 1] */
  starts: Int32Array;
  /** [sequences] */
  slots: Int32Array;
  /** tokens whose logits are wanted */
  wanted: Int32Array;
  /** [copies, 3], to be made before, in turn: from a slot, to a slot, and how many tokens */
  copies: Int32Array;
  /** the number of slots, and tokens of each */
  capacity: Int32Array;
  /** bytes that the processor has for slots and passes over them */
  reserved: number;
}

export interface DeviceForwardAnswer extends Answer {
  pooler_output: Float32Array;
  logits: Float32Array;
}

export interface DeviceReadAnswer extends Answer {
  reserved: number;
}

export interface PredictAnswer extends JobAnswer {
  /** [sum of lengths], like the next ones */
  ids: Int32Array;
  type_ids: Int32Array;
  /** two numbers per token, UTF-16 units */
  offsets: Int32Array;
  special_tokens_mask: Int32Array;
  /** -1: none */
  word_ids: Int32Array;
  /** -1: none */
  sequence_ids: Int32Array;
  /** [encodings], like the next ones */
  lengths: Int32Array;
  untruncated: Int32Array;
  /** the share of unknown tokens */
  unknown: Float32Array;
  /** index of the text; its overflow windows follow it */
  text: Int32Array;
  /** [encodings]: 1 for a sequence head, else tokens */
  rows: Int32Array;
  /** [sum of rows, labels] */
  logits: Float32Array;
  labels: number;
}

export interface SparseVectorsAnswer extends TextsAnswer {
  /** [sum of counts] */
  indices: Int32Array;
  /** [sum of counts] */
  values: Float32Array;
  /** [texts] */
  counts: Int32Array;
}

export interface TokenVectorsAnswer extends TextsAnswer {
  /** [sum of rows, dim] */
  data: Float32Array;
  dim: number;
  /** [sum of rows] */
  ids: Int32Array;
  /** two numbers per row, UTF-16 units */
  offsets: Int32Array;
  /** [texts] */
  rows: Int32Array;
  /** [texts, hidden], of a model with all three kinds of vectors, like the next ones */
  dense?: Float32Array;
  indices?: Int32Array;
  values?: Float32Array;
  counts?: Int32Array;
}

export interface SpansAnswer extends JobAnswer {
  /** [spans, 6]: text, start, end (UTF-16 units), label, instance, whether it is the window's own; see src/tasks/find_spans.h */
  spans: Int32Array;
  /** [spans] */
  scores: Float32Array;
  /** of classes: [texts, classes] */
  logits: Float32Array;
  /** [texts] */
  windows: Int32Array;
  /** [texts] */
  truncated: Uint8Array;
  /** [texts] */
  unknown: Float32Array;
}

/** What is kept of earlier calls; see src/engine/prefixes.h. */
export interface KeptAnswer extends JobAnswer {
  kept_sequences: number;
  kept_tokens: number;
  kept_bytes: number;
}

export interface SavePrefixAnswer extends Answer {
  bytes: Uint8Array;
}

export interface LoadPrefixAnswer extends KeptAnswer {
  /** tokens */
  kept: number;
}

export interface GenerateAnswer extends KeptAnswer {
  /** [prompts] tokens that were kept from earlier calls */
  restored: Int32Array;
  /** always there, like the next one */
  phase: GenerationPhase;
  /** each prompt's tokens since the last answer; with several sequences, the row and token of each that continues */
  new_tokens: Int32Array[];
  /** the tokens of all sequences of all prompts */
  sequences: Int32Array[];
  /** [prompts] sequences of each */
  counts: Int32Array;
  /** [sequences], like the next one */
  reasons: FinishReason[];
  scores: Float32Array;
}

export interface RowsAnswer extends Answer {
  /** [rows, vocab] */
  rows: Float32Array;
  /** [rows] the prompt of each */
  prompts: Int32Array;
}

export interface ConstrainAnswer extends Answer {
  /** of the forced tokens */
  taken: number;
}

/** Packed like the batch. The fields that a call did not ask for are absent. */
export interface ForwardAnswer extends Answer {
  /** [tokens, hidden] */
  last_hidden_state: Float32Array;
  /** [batch, hidden], or empty */
  pooler_output: Float32Array;
  /** [batch or tokens, labels], or empty */
  logits: Float32Array;
  /** [layers + 1] of [tokens, hidden] */
  hidden_states?: Float32Array[];
  /** [layers] of the sequences' [heads, seq, seq] */
  attentions?: Float32Array[];
  /** [layers] of [tokens, heads * head_dim] */
  queries?: Float32Array[];
  /** [layers] of [tokens, kv_heads * head_dim] */
  keys?: Float32Array[];
  values?: Float32Array[];
  /** [layers + 1, tokens, logit_lens] */
  lens_ids?: Int32Array;
  lens_logits?: Float32Array;
  /** [layers] of [heads, tokens, source]; encoder-decoders alone have these and the next */
  cross_attentions?: Float32Array[];
  cross_queries?: Float32Array[];
  /** [layers] of [source, heads * head_dim] */
  cross_keys?: Float32Array[];
  cross_values?: Float32Array[];
  /** [source, hidden] */
  encoder_last_hidden_state?: Float32Array;
  encoder_hidden_states?: Float32Array[];
  /** [layers] of [heads, source, source] */
  encoder_attentions?: Float32Array[];
  encoder_queries?: Float32Array[];
  encoder_keys?: Float32Array[];
  encoder_values?: Float32Array[];
}

export interface BlocksAnswer extends Answer {
  /** [names] HeldBlocks of src/io/weight_loader.h */
  blocks: Uint8Array;
}

export interface WatchAnswer extends Answer {
  /** [names] the number of the layer that computes y = x W^T with this matrix; -1: none */
  layers: Int32Array;
}

export interface MomentsAnswer extends Answer {
  /** [in, in] of x x^T over the tokens; empty if there were none */
  sums: Float32Array;
  tokens: number;
}

export interface TrainBegunAnswer extends Answer {
  target_modules: string[];
  /** modules that PEFT would also find under those names */
  excluded_modules: string[];
  /** of a head, which is saved with the adapter */
  head_modules: string[];
  /** LoRA's matrices are transposed in the checkpoint */
  fan_in_fan_out: boolean;
  /** the adapter has a head's weights too, which are the embeddings */
  ties_embeddings: boolean;
  fingerprint: string;
}

/** Numbers of weights, and bytes. */
export interface TrainPlanAnswer extends Answer {
  trainable: number;
  all: number;
  weights: number;
  gradients: number;
  optimizer: number;
  activations: number;
}

export interface WordsAnswer extends Answer {
  words: number;
}

export interface LearnedAnswer extends Answer {
  /** what the loss of the rows is a mean over */
  learned: number;
}

export interface LossAnswer extends Answer {
  loss: number;
}

/** What a loss reads. */
export interface TrainOutputsAnswer extends Answer {
  /** [rows, width] */
  values: Float32Array;
  width: number;
  /** of rows that are tokens */
  labels: Int32Array;
}

export interface EvaluateAnswer extends Answer {
  /** of the losses of tokens */
  sum: number;
  tokens: number;
}

export interface UpdateAnswer extends Answer {
  step: number;
  loss: number;
  grad_norm: number;
  learning_rate: number;
  tokens: number;
}

export interface StateAnswer extends Answer {
  state: Float32Array;
}

export interface InputGradientAnswer extends Answer {
  gradient: Float32Array;
}

export interface TensorsAnswer extends Answer {
  names: string[];
  shapes: Int32Array[];
  values: Float32Array[];
}

export interface TokenizerStepAnswer extends Answer {
  more: boolean;
  stage?: string;
  done?: number;
  total?: number;
}

export interface TokenizerJsonAnswer extends Answer {
  tokenizer_json: Uint8Array;
}

/** Calls of a model. In this order: begin; begin_weight_file and push for each weight file; finish; then any other. */
export interface ModelCalls {
  /** needs config.json alone */
  describe(files: readonly (readonly [name: string, bytes: Uint8Array])[]): DescribeAnswer;
  gguf_files(beginning: Uint8Array): GgufAnswer;
  begin(files: readonly (readonly [name: string, bytes: Uint8Array])[], options: SeamLoadRequest): BeginAnswer;
  begin_weight_file(name: string, bytes: number): Answer;
  push(chunk: Uint8Array): Answer;
  make_room_for_helpers(count: number): HelpersAnswer;
  use_helpers(count: number): Answer;
  finish(): FinishAnswer;
  /** sizes: rows, columns, rank and parts of each tensor; values: those of all; see src/models/adapter.h */
  add_adapter(names: readonly string[], sizes: ArrayLike<number>, values: ArrayLike<number>): AdapterAnswer;
  /** of the following calls; 0: none */
  use_adapter(adapter: number): Answer;
  delete_adapter(adapter: number): Answer;
  /** it becomes part of the weights; the others must be deleted before */
  merge_adapter(adapter: number): Answer;
  /** first_text: index of the first text, for messages */
  embed(texts: readonly string[], options: SeamEmbedRequest, first_text: number, steps: number): EmbedAnswer;
  predict(texts: readonly string[], pairs: readonly string[] | null, options: SeamPredictOptions, steps: number): PredictAnswer;
  /** a model runs one generation at a time: a second one ends the first */
  generate(prompts: readonly ArrayLike<number>[], options: SeamGenerateRequest, steps: number): GenerateAnswer;
  /** of the next step: mask, a bit for each token that may come, and tokens to append first. slot: prompt * the most rows of one + row */
  constrain(mask: ArrayLike<number>, forced: ArrayLike<number>, slot: number): ConstrainAnswer;
  /** what may follow; the next step takes the first ones, as far as the model chooses them */
  propose(ids: ArrayLike<number>, prompt: number): Answer;
  /** of a paused step: one for each running sequence of the prompts that were read */
  rows(): RowsAnswer;
  set_rows(rows: ArrayLike<number>): Answer;
  /** the next step ends all unfinished sequences, with the reason 'time' */
  end_generation(): Answer;
  /** keys and values of ids, all of which must be kept */
  save_prefix(ids: ArrayLike<number>): SavePrefixAnswer;
  /** keeps what save_prefix() gave, if this model would compute it; ends a generation */
  load_prefix(ids: ArrayLike<number>, bytes: Uint8Array, steps: number): LoadPrefixAnswer;
  /** ends a hold; no effect if there is none */
  release_prefix(hold: number): Answer;
  /** continues a job */
  run(job: number, steps: number): JobAnswer;
  /** ends a job; no effect if it has ended */
  cancel(job: number): Answer;
  /** a packed batch; only one sequence with a head over the vocabulary or an encoder-decoder. source: input ids of the encoder of an encoder-decoder. masks: [layers, heads]. patch_values: [tokens, width] for each tap */
  forward(
    input_ids: ArrayLike<number>,
    token_type_ids: ArrayLike<number>,
    position_ids: ArrayLike<number>,
    seq_start: ArrayLike<number>,
    source: ArrayLike<number> | null,
    head_mask: ArrayLike<number> | null,
    cross_head_mask: ArrayLike<number> | null,
    encoder_head_mask: ArrayLike<number> | null,
    patch_taps: readonly string[],
    patch_values: readonly ArrayLike<number>[],
    options: SeamForwardRequest,
  ): ForwardAnswer;
  describe_tokenizer(): TokenizerAnswer;
  tokens_to_string(tokens: readonly string[]): TextAnswer;
  token_to_id(token: string): IdAnswer;
  info(): InfoAnswer;
  summary(seq: number): SummaryAnswer;
}

/** Those that only the full WebAssembly has. */
export interface FullModelCalls {
  /** with the head 'spans' */
  find_spans(texts: readonly string[], labels: readonly string[], options: SeamSpansRequest, steps: number): SpansAnswer;
  /** with the head 'token_vectors' */
  token_vectors(texts: readonly string[], options: SeamTokenVectorsOptions, steps: number): TokenVectorsAnswer;
  /** with the head 'sparse' */
  sparse_vectors(texts: readonly string[], options: SeamSparseVectorsOptions, steps: number): SparseVectorsAnswer;
  /** the steps of a pass, one a line */
  plan(): TextAnswer;
  device_plan(): DevicePlanAnswer;
  /** a weight that this step reads */
  device_weight(step: number, weight: number): DeviceWeightAnswer;
  /** of the weight that was asked for last */
  device_bytes(part: number, begin: number, end: number): DeviceBytesAnswer;
  /** of a job over texts: the next step, of at most so many tokens or one window */
  device_batch(job: number, tokens: number): DeviceBatchAnswer;
  /** some windows of it, as the processor has them */
  device_rows(job: number, begin: number, end: number): DeviceRowsAnswer;
  /** takes it, with what a device has of all its windows */
  device_step(job: number, rows: ArrayLike<number>): JobAnswer;
  /** the next step of a generation; a device runs all of its steps, or the processor runs all from one on */
  device_tokens(job: number): DeviceTokensAnswer;
  /** takes it, with the logits that are wanted */
  device_logits(job: number, logits: ArrayLike<number>): JobAnswer;
  /** the processor reads what a device had read; its next step is the one that the device was asked for last */
  device_read(job: number, ids: ArrayLike<number>, slot: number, position: number): DeviceReadAnswer;
  /** of a batch as forward() has it: what follows a device's last states */
  device_forward(
    input_ids: ArrayLike<number>,
    token_type_ids: ArrayLike<number>,
    position_ids: ArrayLike<number>,
    seq_start: ArrayLike<number>,
    states: ArrayLike<number>,
    logits: boolean,
  ): DeviceForwardAnswer;
  /** between begin and finish */
  blocks_of(names: readonly string[]): BlocksAnswer;
  /** of these tensors' layers, from now on: see tasks/input_moments.h. None: no more */
  watch_inputs(names: readonly string[]): WatchAnswer;
  /** once for each watched layer */
  input_moments(layer: number): MomentsAnswer;
  /** of one text: see tasks/input_gradient.h. Empty lists are not given */
  input_gradient(
    input_ids: ArrayLike<number>,
    token_type_ids: ArrayLike<number>,
    position_ids: ArrayLike<number>,
    embeddings: ArrayLike<number>,
    d_hidden: ArrayLike<number>,
    d_logits: ArrayLike<number>,
    token: number,
  ): InputGradientAnswer;
  train_begin(options: SeamTrainOptions): TrainBegunAnswer;
  train_plan(tokens: number, max_seq: number, parts: number, words: number): TrainPlanAnswer;
  train_words(
    texts: readonly string[],
    pairs: readonly string[] | null,
    labels: ArrayLike<number>,
    scores: ArrayLike<number>,
    is_rendered: boolean,
  ): WordsAnswer;
  train_count(
    texts: readonly string[],
    pairs: readonly string[] | null,
    labels: ArrayLike<number>,
    scores: ArrayLike<number>,
    is_rendered: boolean,
  ): LearnedAnswer;
  train_accumulate(
    texts: readonly string[],
    pairs: readonly string[] | null,
    labels: ArrayLike<number>,
    scores: ArrayLike<number>,
    is_rendered: boolean,
    share: number,
  ): LossAnswer;
  train_outputs(
    texts: readonly string[],
    pairs: readonly string[] | null,
    labels: ArrayLike<number>,
    scores: ArrayLike<number>,
    is_rendered: boolean,
    is_whole: boolean,
    learns: boolean,
  ): TrainOutputsAnswer;
  train_gradient(d_values: ArrayLike<number>, loss: number): Answer;
  train_drop(): Answer;
  train_evaluate(
    texts: readonly string[],
    pairs: readonly string[] | null,
    labels: ArrayLike<number>,
    scores: ArrayLike<number>,
    is_rendered: boolean,
  ): EvaluateAnswer;
  train_update(): UpdateAnswer;
  train_state(): StateAnswer;
  train_set_state(state: ArrayLike<number>, step: number): Answer;
  train_adapter(): TensorsAnswer;
  checkpoint(): TensorsAnswer;
}

/** A tokenizer without a model. */
export interface TokenizerCalls {
  load(files: readonly (readonly [name: string, bytes: Uint8Array])[]): Answer;
  /** is_cut_off: never if is_whole */
  load_gguf(beginning: Uint8Array, is_whole: boolean): CutOffAnswer;
  describe(): TokenizerAnswer;
}

/** A tokenizer that is trained: load; feed any number of times; step until there is no more; result. */
export interface TrainingCalls {
  /** see tokenizer/training.h */
  load(description: Uint8Array): Answer;
  feed(texts: readonly string[]): WordsAnswer;
  step(): TokenizerStepAnswer;
  result(): TokenizerJsonAnswer;
}

/** The calls of each handle, in their order in C++, each with the kinds of its arguments: see kWrite in wire_calls.ts. */
export const kCalls = {
  Model:
    'describe l,gguf_files b,begin lo,begin_weight_file sn,push b,make_room_for_helpers n,use_helpers n,finish,add_adapter wif,use_adapter n,delete_adapter n,merge_adapter n,embed tonn,predict tton,generate Ion,constrain iin,propose in,rows,set_rows f,end_generation,save_prefix i,load_prefix ibn,release_prefix n,run nn,cancel n,forward iiiiifffwFo,describe_tokenizer,tokens_to_string w,token_to_id s,info,summary n,find_spans tton,token_vectors ton,sparse_vectors ton,plan,device_plan,device_weight nn,device_bytes nnn,device_batch nn,device_rows nnn,device_step nf,device_tokens n,device_logits nf,device_read ninn,device_forward iiiifn,blocks_of w,watch_inputs w,input_moments n,input_gradient iiifffn,train_begin o,train_plan nnnn,train_words ttifn,train_count ttifn,train_accumulate ttifnn,train_outputs ttifnnn,train_gradient fn,train_drop,train_evaluate ttifn,train_update,train_state,train_set_state fn,train_adapter,checkpoint',
  Tokenizer: 'load l,load_gguf bn,describe',
  Training: 'load b,feed t,step,result',
} as const;
