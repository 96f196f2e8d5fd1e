// Options that are written out of habit: those of Python's pipelines and tokenizers, of sentence-transformers and of transformers.js that wattn does not have
// and that change no answer here. Loaded when an option was refused. tests/web/habits.test.ts tries every row of the table.
import { InputError } from './errors.js';
import { ownCopy } from './options.js';
import { warnOnce } from './warn.js';

/** What takes the options: a task, a tokenizer's method, a model or its `generate`, or what loads one. */
export type HabitualCall = (typeof kCalls)[number];

export interface Habit {
  options: readonly string[];
  calls: readonly HabitualCall[];
  /** The accepted values, or their type. Any other value is refused as before. */
  values: readonly unknown[] | 'boolean' | 'number' | 'string' | 'function' | 'object' | 'any';
  /**
   * `'same'`: it is what happens anyway. `'idle'`: it has no effect here, and one warning says so. `as`: another name for this option. `set`: these
   * options say the same.
   */
  means: 'same' | 'idle' | { readonly as: string } | { readonly set: Readonly<Record<string, unknown>> };
  /** Refused beside this option, which says something else. */
  unless?: string;
}

const kJudged = ['text-classification', 'zero-shot-classification', 'token-classification', 'fill-mask', 'text-ranking'] as const;
const kVectors = ['feature-extraction', 'late-interaction', 'sparse-encoding'] as const;
const kWritten = ['text2text-generation', 'translation', 'summarization'] as const;
/** Tasks that cut a text at the model's limit. */
const kCutting = [...kJudged, ...kVectors, ...kWritten] as const;
const kTexts = [...kCutting, 'question-answering', 'zero-shot-ner', 'information-extraction'] as const;
const kAllTasks = [...kTexts, 'text-generation'] as const;
const kGenerating = [...kWritten, 'text-generation'] as const;
const kLoading = ['load', 'load_files'] as const;
const kCalls = [...kAllTasks, 'tokenizer', 'encode', 'chat', 'model', 'generate', ...kLoading] as const;

/** How Python's callers name a library of tensors. There is one kind of Tensor here. */
const kTensors = ['pt', 'np', 'tf', 'jax', 'mlx', true];
const kHere = ['cpu', 'wasm', 'auto'];

export const kHabits: readonly Habit[] = [
  // Cutting a text that is too long.
  { options: ['truncation'], calls: kCutting, values: [true, 'longest_first'], means: 'same', unless: 'on_overflow' },
  { options: ['truncation'], calls: ['zero-shot-classification'], values: ['only_first'], means: 'same', unless: 'on_overflow' },
  {
    options: ['truncation'],
    calls: [...kJudged, ...kWritten, 'feature-extraction', 'sparse-encoding'],
    values: [false, 'do_not_truncate'],
    means: { set: { on_overflow: 'error' } },
  },
  { options: ['truncation'], calls: ['question-answering'], values: ['only_second', true], means: 'idle' }, // reads all, in windows
  // A prompt that does not fit is an error, whatever this says.
  { options: ['truncation'], calls: ['text-generation'], values: 'boolean', means: 'same' },
  {
    options: ['truncation'],
    calls: ['tokenizer', 'encode', 'chat'],
    values: ['do_not_truncate'],
    means: { set: { truncation: false } },
  },
  // Padding: none is computed, and no answer depends on it.
  { options: ['padding'], calls: kAllTasks, values: [true, false, 'longest', 'do_not_pad'], means: 'same' },
  { options: ['padding'], calls: [...kJudged, ...kWritten, 'question-answering'], values: ['max_length'], means: 'idle' },
  { options: ['padding'], calls: ['tokenizer', 'chat'], values: ['do_not_pad'], means: { set: { padding: false } } },
  { options: ['padding'], calls: ['encode'], values: [false, 'do_not_pad'], means: 'same' },
  { options: ['pad_token_id'], calls: kGenerating, values: 'number', means: 'same' },
  // Tensors and lists.
  { options: ['return_tensors'], calls: kVectors, values: kTensors, means: 'same' },
  { options: ['return_tensors'], calls: [...kJudged, 'question-answering'], values: ['pt', 'np', 'tf', 'jax'], means: 'idle' },
  { options: ['return_tensors'], calls: kGenerating, values: [false], means: 'same' },
  { options: ['return_tensors'], calls: ['tokenizer'], values: kTensors, means: { set: { return_tensor: true } } },
  { options: ['return_tensors'], calls: ['chat'], values: kTensors, means: { set: { return_tensor: true } } },
  { options: ['return_tensors'], calls: ['tokenizer', 'chat'], values: [false], means: { set: { return_tensor: false } } },
  { options: ['return_tensors'], calls: ['encode'], values: [false], means: 'same' },
  { options: ['convert_to_tensor', 'convert_to_numpy'], calls: ['feature-extraction'], values: [true], means: 'same' },
  { options: ['return_dict'], calls: ['model'], values: [true], means: 'same' },
  // Special tokens and masks.
  { options: ['add_special_tokens'], calls: kTexts, values: [true], means: 'same' },
  { options: ['skip_special_tokens'], calls: kGenerating, values: [true], means: 'same' },
  { options: ['return_token_type_ids', 'return_attention_mask'], calls: kAllTasks, values: 'boolean', means: 'idle' },
  { options: ['return_token_type_ids', 'return_attention_mask'], calls: ['encode'], values: 'boolean', means: 'idle' },
  { options: ['is_split_into_words'], calls: ['token-classification', 'tokenizer', 'encode'], values: [false], means: 'same' },
  { options: ['stride'], calls: ['tokenizer'], values: 'number', means: { as: 'overlap' } },
  { options: ['verbose'], calls: ['tokenizer', 'encode'], values: 'boolean', means: 'idle' },
  // How a call is run.
  { options: ['batch_size', 'num_workers'], calls: kAllTasks, values: 'number', means: 'idle' },
  { options: ['show_progress_bar'], calls: ['feature-extraction'], values: 'boolean', means: 'idle' },
  { options: ['progress_callback'], calls: [...kAllTasks, 'generate'], values: 'function', means: 'idle' },
  { options: ['device'], calls: [...kAllTasks, 'model', 'generate'], values: kHere, means: 'same' },
  { options: ['device'], calls: [...kAllTasks, 'model', 'generate'], values: 'string', means: 'idle' },
  { options: ['session_options'], calls: [...kAllTasks, 'model', 'generate'], values: 'object', means: 'idle' },
  { options: ['use_cache'], calls: ['text-generation', ...kWritten, 'model'], values: 'boolean', means: 'same' },
  // Older or other names.
  { options: ['normalize_embeddings'], calls: ['feature-extraction'], values: [true], means: { set: { normalize: true } } },
  { options: ['normalize_embeddings'], calls: ['feature-extraction'], values: [false], means: 'same' }, // the model's own
  { options: ['output_value'], calls: ['feature-extraction'], values: ['sentence_embedding'], means: 'same' },
  { options: ['return_all_scores'], calls: ['text-classification'], values: [true], means: { set: { top_k: null } } },
  { options: ['return_all_scores'], calls: ['text-classification'], values: [false], means: 'same', unless: 'top_k' },
  { options: ['multi_class'], calls: ['zero-shot-classification'], values: 'boolean', means: { as: 'multi_label' } },
  {
    options: ['grouped_entities'],
    calls: ['token-classification'],
    values: [true],
    means: { set: { aggregation_strategy: 'simple' } },
  },
  {
    options: ['grouped_entities'],
    calls: ['token-classification'],
    values: [false],
    means: 'same',
    unless: 'aggregation_strategy',
  },
  { options: ['max_answer_length'], calls: ['question-answering'], values: 'number', means: { as: 'max_answer_len' } },
  { options: ['return_text'], calls: kGenerating, values: [true], means: 'same' },
  { options: ['stop_sequence'], calls: ['text-generation'], values: 'string', means: { as: 'stop_strings' } },
  { options: ['tokenizer_encode_kwargs'], calls: ['text-generation'], values: 'object', means: { as: 'chat_template_kwargs' } },
  { options: ['output_scores', 'output_attentions', 'output_hidden_states', 'return_dict_in_generate', 'synced_gpus'], calls: kGenerating, values: [false], means: 'same' }, // prettier-ignore
  // Loading: a model, or only its tokenizer or its configuration.
  { options: ['session_options', 'use_external_data_format', 'device_map', 'attn_implementation'], calls: kLoading, values: 'any', means: 'idle' }, // prettier-ignore
  { options: ['trust_remote_code', 'low_cpu_mem_usage', 'use_safetensors', 'use_fast', 'legacy'], calls: kLoading, values: 'boolean', means: 'idle' }, // prettier-ignore
  { options: ['framework'], calls: kLoading, values: ['pt', 'tf', 'np', 'jax', 'onnx'], means: 'idle' },
  { options: ['force_download'], calls: kLoading, values: [false], means: 'same' },
  { options: ['use_auth_token'], calls: kLoading, values: 'string', means: { as: 'token' } },
  { options: ['config'], calls: ['load_files'], values: 'any', means: 'same' },
];

const isOfType = (values: string, value: unknown) =>
  values === 'any' || (values === 'object' ? typeof value === 'object' : typeof value === values && !Number.isNaN(value));

const rowOf = (call: HabitualCall, option: string, given: Readonly<Record<string, unknown>>): Habit | undefined =>
  kHabits.find(
    ({ options, calls, values, unless }) =>
      options.includes(option) &&
      calls.includes(call) &&
      (typeof values === 'string' ? isOfType(values, given[option]) : values.includes(given[option])) &&
      (unless === undefined || given[unless] === undefined || given[unless] === null),
  );

const isHabit = (call: HabitualCall, option: string) =>
  kHabits.some(({ options, calls }) => options.includes(option) && calls.includes(call));

/** The options in wattn's words. `undefined`: no row of the table is about them. */
export function inOwnWords(call: HabitualCall, where: string, given: unknown): Record<string, unknown> | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  const all = ownCopy(given) as Record<string, unknown>;
  const own = ownCopy({ ...all });
  const idle: string[] = [];
  let found = false;
  for (const [option, value] of Object.entries(all)) {
    const isSet = value !== undefined && value !== null;
    const means = isSet ? rowOf(call, option, all)?.means : isHabit(call, option) ? 'same' : undefined;
    if (means === undefined) continue;
    const set: Record<string, unknown> = typeof means === 'string' ? {} : 'as' in means ? { [means.as]: value } : means.set;
    // Whoever says both must say the same.
    if (Object.entries(set).some(([name, each]) => name !== option && all[name] !== undefined && all[name] !== each)) continue;
    delete own[option];
    Object.assign(own, set);
    if (means === 'idle') idle.push(option);
    found = true;
  }
  if (idle.length > 0) warnOnce(`${where}: no effect here: ${idle.join(', ')}`);
  return found ? own : undefined;
}

/** The options in wattn's words, after `error` refused them. */
export function again<O>(call: HabitualCall, where: string, given: O, error: unknown): NonNullable<O> {
  const own = error instanceof InputError ? inOwnWords(call, where, given) : undefined;
  if (!own) throw error;
  return own as NonNullable<O>;
}

/** The same for the arguments of a task's call, of which the last are its options. */
export function argumentsAgain<A extends readonly unknown[]>(call: HabitualCall, args: A, error: unknown): A {
  const at = args.length - 1;
  if (at < 1) throw error;
  return [...args.slice(0, at), again(call, call, args[at], error)] as unknown as A;
}
