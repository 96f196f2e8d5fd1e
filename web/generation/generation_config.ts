// Options of generation: the caller's, those of generation_config.json, and unsupported ones.
import { ownCopy } from '../core/options.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { GenerateOptions } from './generation_types.js';
import type { SeamGenerateOptions } from '../host/seam.js';
import type { Rules } from '../core/options.js';
import { readJson } from '../source/model_files.js';
import { readConfig } from '../engine/labels.js';
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

/** Fields of generation_config.json that would change the tokens but are not supported, with the values that have no effect. */
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

/** A value or a list of values as a list, each of which must fit. */
function listOf<T>(where: string, name: string, value: unknown, fits: (each: unknown) => boolean, expected: string): T[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const bad = list.findIndex((each) => !fits(each));
  if (bad < 0) return list as T[];
  throw new InputError(`${where}: '${name}': expected ${expected}, found ${describe(list[bad])}`);
}
const isId = (id: unknown) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;
const ids = (where: string, name: string, value: unknown) => listOf<number>(where, name, value, isId, 'an id or a list of ids');
const texts = (where: string, value: unknown) =>
  listOf<string>(where, 'stop_strings', value, (text) => typeof text === 'string' && text !== '', 'non-empty strings');

function earlyStopping(where: string, value: unknown): 'no' | 'yes' | 'never' {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value === 'never') return 'never';
  throw new InputError(`${where}: 'early_stopping': expected true, false or 'never', found ${describe(value)}`);
}

/** The options of one source, whose names were checked. */
function toSeam(where: string, given: Record<string, unknown>): SeamGenerateOptions {
  const out = ownCopy<Record<string, unknown>>({});
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
 * The options that transformers' generate() would use. Each comes from the caller, else the task (config.json's task_specific_params),
 * else generation_config.json, else the default.
 */
export function readGenerateOptions(
  engine: TaskEngine,
  options: GenerateOptions,
  ofTask: Record<string, unknown> = {},
): SeamGenerateOptions {
  const file = 'generation_config.json';
  const config = readConfig(engine);
  const own = ownCopy<Record<string, unknown>>({ ...(readJson(engine.files, file) ?? config), ...ofTask }); // config.json in older repositories
  for (const [name, off] of Object.entries(kRefused)) {
    const value = own[name];
    const isOff = value === undefined || value === null || (Array.isArray(value) && value.length === 0) || off.includes(value);
    if (!isOff) throw new UnsupportedError(`${file}: ${name}: expected no value (not supported), found ${describe(value)}`);
  }
  const defaults = toSeam(file, ownCopy({ ...own, eos_token_id: own.eos_token_id ?? config.eos_token_id }));
  const given = toSeam('generate', ownCopy(options) as Record<string, unknown>);
  // A caller's limit of either kind overrides both defaults.
  if (given.max_new_tokens !== undefined || given.max_length !== undefined) {
    delete defaults.max_new_tokens;
    delete defaults.max_length;
  }
  if (given.max_new_tokens !== undefined) delete given.max_length;
  defaults.decoder_start_token_id ??= (config.decoder_start_token_id ?? own.bos_token_id) as number;
  const all = ownCopy({ ...defaults, ...given });
  if (all.do_sample && all.seed === undefined) all.seed = Math.floor(Math.random() * 2 ** 31);
  return all;
}
