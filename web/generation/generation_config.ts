// Options of generation: the caller's, those of generation_config.json, and unsupported ones.
import { ownCopy } from '../core/options.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import type { GenerateOptions } from './generation_types.js';
import type { SeamGenerateOptions } from '../host/seam.js';
import type { Rules } from '../core/options.js';
import { readJson } from '../source/model_files.js';
import { readConfig } from '../engine/labels.js';
import type { TaskEngine } from '../engine/task.js';
import type { RowOptions } from './rows/types.js';
import type { SpeculationOptions } from './speculation.js';

const kSeamRules: Rules = {
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

/** Options that are followed in JavaScript: between the phases of a step, or between steps. */
const kOwnRules: Rules = {
  sequence_bias: 'any',
  encoder_repetition_penalty: 'number',
  encoder_no_repeat_ngram_size: 'index',
  presence_penalty: 'number',
  frequency_penalty: 'number',
  exponential_decay_length_penalty: 'any',
  suppress_tokens: 'any',
  begin_suppress_tokens: 'any',
  top_h: 'number',
  typical_p: 'number',
  epsilon_cutoff: 'number',
  eta_cutoff: 'number',
  max_time: 'number',
  prompt_lookup_num_tokens: 'index',
  max_matching_ngram_size: 'count',
  num_assistant_tokens: 'count',
};

/** Those of a caller alone. */
const kCallersRules: Rules = {
  logits_processor: 'any',
  assistant: 'any',
  top_logprobs: 'index',
  output_scores: 'boolean',
  output_logits: 'boolean',
};

export const kGenerateRules: Rules = { ...kSeamRules, ...kOwnRules, logits_processor: 'any', assistant_model: 'any' };

const kMoved = 'transformers 5 has it in a repository of custom code';

/** Fields of generation_config.json that would change the tokens but are not supported: the value without an effect, and the reason. */
const kRefused: Record<string, readonly [off: unknown, reason: string]> = {
  num_beam_groups: [1, kMoved],
  diversity_penalty: [0, kMoved],
  penalty_alpha: [0, kMoved],
  constraints: [null, kMoved],
  force_words_ids: [null, kMoved],
  guidance_scale: [1, 'it needs a second pass for each token'],
  watermarking_config: [null, 'its marks depend on the random numbers of PyTorch'],
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
  for (const name of Object.keys(kSeamRules)) {
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

/** What is done in JavaScript for a generation. */
export interface OwnOptions extends RowOptions, SpeculationOptions {
  /** Seconds. */
  max_time?: number;
}

export interface GenerationPlan {
  seam: SeamGenerateOptions;
  own: OwnOptions;
  /** Whether the rows of scores are read or changed. */
  pauses: boolean;
  /** What is read is to be kept, which the processor alone does. */
  keeps?: true;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Pairs of tokens and a bias, as in transformers: a list of [ids, bias], or an object with ids, joined by commas, as names. */
function sequenceBias(where: string, value: unknown): [number[], number][] {
  const expected = "pairs of ids and a number, such as [[[5, 6], -2.5]] or { '5,6': -2.5 }";
  const wrong = (found: unknown) => new InputError(`${where}: 'sequence_bias': expected ${expected}, found ${describe(found)}`);
  if (typeof value !== 'object') throw wrong(value);
  const pairs: unknown[] = Array.isArray(value)
    ? value
    : Object.entries(value as object).map(([ids, bias]) => [ids.split(',').map(Number), bias]);
  return pairs.map((pair) => {
    const [ids, bias] = (Array.isArray(pair) ? pair : []) as [unknown, unknown];
    if (!Array.isArray(ids) || ids.length === 0 || !ids.every(isId) || !isNumber(bias)) throw wrong(pair);
    return [ids as number[], bias];
  });
}

/** The numbers of options within their bounds. */
const isShare = (value: number) => value > 0 && value <= 1;
const isCutoff = (value: number) => value >= 0 && value < 1;
const kBounds: Record<string, [fits: (value: number) => boolean, expected: string]> = {
  encoder_repetition_penalty: [(value) => value > 0, 'a number above 0'],
  top_h: [isShare, 'a number above 0, at most 1'],
  typical_p: [isShare, 'a number above 0, at most 1'],
  epsilon_cutoff: [isCutoff, 'a number from 0, below 1'],
  eta_cutoff: [isCutoff, 'a number from 0, below 1'],
  max_time: [(value) => value > 0, 'seconds above 0'],
};

/** The options of one source that are followed in JavaScript. */
function toOwn(where: string, given: Record<string, unknown>): OwnOptions {
  const out: Record<string, unknown> = {};
  for (const name of [...Object.keys(kOwnRules), ...Object.keys(kCallersRules)]) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    const bound = kBounds[name];
    if (bound && !(isNumber(value) && bound[0](value))) {
      throw new InputError(`${where}: '${name}': expected ${bound[1]}, found ${describe(value)}`);
    }
    if (name === 'sequence_bias') out[name] = sequenceBias(where, value);
    else if (name.endsWith('suppress_tokens')) out[name] = ids(where, name, value);
    else if (name === 'exponential_decay_length_penalty') {
      const [start, factor] = (Array.isArray(value) ? value : []) as unknown[];
      if (!isNumber(start) || !isNumber(factor)) {
        throw new InputError(`${where}: '${name}': expected [start, factor], found ${describe(value)}`);
      }
      out[name] = [start, factor];
    } else out[name] = value;
  }
  return out;
}

/**
 * The options that transformers' generate() would use. Each comes from the caller, else the task (config.json's task_specific_params),
 * else generation_config.json, else the default.
 */
export function readGenerateOptions(
  engine: TaskEngine,
  options: GenerateOptions,
  ofTask: Record<string, unknown> = {},
): GenerationPlan {
  const file = 'generation_config.json';
  const config = readConfig(engine);
  const own = ownCopy<Record<string, unknown>>({ ...(readJson(engine.files, file) ?? config), ...ofTask }); // config.json in older repositories
  for (const [name, [off, reason]] of Object.entries(kRefused)) {
    const value = own[name];
    const isOff = value === undefined || value === null || (Array.isArray(value) && value.length === 0) || value === off;
    if (!isOff) throw new UnsupportedError(`${file}: ${name}: expected no value (${reason}), found ${describe(value)}`);
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
  const seam = ownCopy({ ...defaults, ...given });
  return { seam, ...ownPlan(seam, { ...toOwn(file, own), ...toOwn('generate', ownCopy(options) as Record<string, unknown>) }) };
}

/** Values without an effect. */
const kOff: Record<string, unknown> = {
  encoder_repetition_penalty: 1,
  encoder_no_repeat_ngram_size: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  typical_p: 1,
  epsilon_cutoff: 0,
  eta_cutoff: 0,
  prompt_lookup_num_tokens: 0,
  output_scores: false,
  output_logits: false,
};
const kWithoutRows = ['assistant', 'max_time', 'prompt_lookup_num_tokens', 'max_matching_ngram_size', 'num_assistant_tokens'];

/** What of a plan is done in JavaScript. */
function ownPlan(seam: SeamGenerateOptions, all: OwnOptions): Omit<GenerationPlan, 'seam'> {
  const { do_sample = false, temperature = 1, forced_bos_token_id, num_beams = 1, num_return_sequences = 1 } = seam;
  const isOn = ([name, value]: [string, unknown]) => value !== kOff[name] && !(Array.isArray(value) && value.length === 0);
  const entries = Object.entries(all).filter(isOn);
  const own = ownCopy<OwnOptions>(Object.fromEntries(entries));
  if (Math.max(num_beams, num_return_sequences) > 1 && (own.top_logprobs !== undefined || own.output_scores || own.output_logits)) {
    throw new InputError(
      'generate: logprobs, top_logprobs, output_scores and output_logits need num_beams 1 and num_return_sequences 1',
    );
  }
  if (own.top_h !== undefined && do_sample) seam.temperature = 1; // it comes before top_h, in JavaScript
  const pauses = entries.some(([name]) => !kWithoutRows.includes(name));
  return { own: ownCopy({ ...own, do_sample, temperature, has_forced_bos: forced_bos_token_id !== undefined }), pauses };
}
