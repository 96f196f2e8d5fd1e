// The options of generating: what a caller may say, what generation_config.json says, and what is not there.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import type { GenerateOptions } from './generation_types.js';
import type { SeamGenerateOptions } from '../engine/generate_seam.js';
import type { Rules } from '../core/options.js';
import { readConfig, readJson } from './labels.js';
import type { TaskEngine } from '../engine/task.js';

export const kGenerateRules: Rules = {
  max_new_tokens: 'index',
  max_length: 'count',
  min_new_tokens: 'index',
  min_length: 'index',
  do_sample: 'boolean',
  temperature: 'number',
  top_k: 'index',
  top_p: 'number',
  min_p: 'number',
  repetition_penalty: 'number',
  no_repeat_ngram_size: 'index',
  num_beams: 'count',
  num_return_sequences: 'count',
  length_penalty: 'number',
  renormalize_logits: 'boolean',
  early_stopping: 'any',
  eos_token_id: 'any',
  bad_words_ids: 'any',
  decoder_start_token_id: 'index',
  forced_bos_token_id: 'index',
  forced_eos_token_id: 'index',
  stop_strings: 'any',
  seed: 'index',
};

/** Of generation_config.json: what would change the tokens and is not there, with the values that ask for nothing. */
const kRefused: Record<string, readonly unknown[]> = {
  num_beam_groups: [1],
  diversity_penalty: [0],
  typical_p: [1],
  epsilon_cutoff: [0],
  eta_cutoff: [0],
  encoder_repetition_penalty: [1],
  encoder_no_repeat_ngram_size: [0],
  penalty_alpha: [0],
  guidance_scale: [1],
  sequence_bias: [],
  suppress_tokens: [],
  begin_suppress_tokens: [],
  exponential_decay_length_penalty: [],
  watermarking_config: [],
  constraints: [],
  force_words_ids: [],
  top_h: [],
};

function ids(where: string, name: string, value: unknown): number[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const bad = list.findIndex((id) => !Number.isInteger(id) || (id as number) < 0 || (id as number) >= 2 ** 31);
  if (bad < 0) return list as number[];
  throw new InputError(`${where}: '${name}': expected an id or a list of ids, found ${describe(list[bad])}`);
}

function texts(where: string, value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const bad = list.findIndex((text) => typeof text !== 'string' || text === '');
  if (bad < 0) return list as string[];
  throw new InputError(`${where}: 'stop_strings': expected strings of one character at least, found ${describe(list[bad])}`);
}

function earlyStopping(where: string, value: unknown): 'no' | 'yes' | 'never' {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value === 'never') return 'never';
  throw new InputError(`${where}: 'early_stopping': expected true, false or 'never', found ${describe(value)}`);
}

/** Options of one source; its names were checked. */
function toSeam(where: string, given: Record<string, unknown>): SeamGenerateOptions {
  const out: Record<string, unknown> = {};
  for (const name of Object.keys(kGenerateRules)) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    if (name === 'eos_token_id') out[name] = ids(where, name, value);
    else if (name === 'bad_words_ids' && Array.isArray(value)) out[name] = value.map((word) => ids(where, name, word));
    else if (name === 'stop_strings') out[name] = texts(where, value);
    else if (name === 'early_stopping') out[name] = earlyStopping(where, value);
    else if (typeof value === 'number' || typeof value === 'boolean') out[name] = value;
    else throw new InputError(`${where}: '${name}': expected a number, found ${describe(value)}`);
  }
  return out as SeamGenerateOptions;
}

/**
 * What transformers' generate() would take: the caller's word, else that of the task (config.json's task_specific_params), else
 * generation_config.json's, else its own default.
 */
export function readGenerateOptions(
  engine: TaskEngine,
  options: GenerateOptions,
  ofTask: Record<string, unknown> = {},
): SeamGenerateOptions {
  const file = 'generation_config.json';
  const config = readConfig(engine);
  let own: Record<string, unknown>;
  try {
    own = { ...(readJson(engine, file) ?? config), ...ofTask }; // older repositories say it in config.json
  } catch (cause) {
    throw new ModelFormatError(`${file}: ${(cause as Error).message}`, { cause });
  }
  for (const [name, off] of Object.entries(kRefused)) {
    const value = own[name];
    const isOff = value === undefined || value === null || (Array.isArray(value) && value.length === 0) || off.includes(value);
    if (!isOff) throw new UnsupportedError(`${file}: ${name}: expected nothing (not supported), found ${describe(value)}`);
  }
  const defaults = toSeam(file, { ...own, eos_token_id: own.eos_token_id ?? config.eos_token_id });
  const said = toSeam('generate', options as Record<string, unknown>);
  // One way of saying the length goes before the other by who says it.
  if (said.max_new_tokens !== undefined || said.max_length !== undefined) {
    delete defaults.max_new_tokens;
    delete defaults.max_length;
  }
  if (said.max_new_tokens !== undefined) delete said.max_length;
  defaults.decoder_start_token_id ??= (config.decoder_start_token_id ?? own.bos_token_id) as number;
  const all = { ...defaults, ...said };
  if (all.do_sample && all.seed === undefined) all.seed = Math.floor(Math.random() * 2 ** 31);
  return all;
}
