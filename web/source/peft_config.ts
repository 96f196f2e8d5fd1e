// adapter_config.json: its fields as PEFT 0.21 writes them, which of them are known, and which modules they name.
import { describe, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { Pattern, PatternLimit } from './pattern.js';

export const kAdapterConfig = 'adapter_config.json';
export type Json = Record<string, unknown>;

/** PEFT 0.21's fields in its order, with the values that it writes for a plain LoRA. */
export const kFields = {
  alora_invocation_tokens: null,
  alpha_pattern: {},
  arrow_config: null,
  auto_mapping: null,
  base_model_name_or_path: null,
  bias: 'none',
  corda_config: null,
  ensure_weight_tying: false,
  eva_config: null,
  exclude_modules: null,
  fan_in_fan_out: false,
  inference_mode: true,
  init_lora_weights: true,
  kasa_config: null,
  layer_replication: null,
  layers_pattern: null,
  layers_to_transform: null,
  loftq_config: {},
  lora_alpha: 8,
  lora_bias: false,
  lora_dropout: 0,
  lora_ga_config: null,
  megatron_config: null,
  megatron_core: 'megatron.core',
  modules_to_save: null,
  monteclora_config: null,
  peft_type: 'LORA',
  peft_version: '0.21.2',
  qalora_group_size: 16,
  r: 8,
  rank_pattern: {},
  revision: null,
  target_modules: null,
  target_parameters: null,
  task_type: null,
  trainable_token_indices: null,
  use_bdlora: null,
  use_dora: false,
  use_qalora: false,
  use_rslora: false,
  velora_config: null,
};

// Known fields that change the arithmetic. Of unknown ones, those that are named like them are refused too.
const kRefused = ['alora_invocation_tokens', 'layer_replication', 'target_parameters'];
const kHarmless = /^(auto_mapping|(corda|eva|lora_ga|runtime)_config|use_(dora|rslora))$/;
// Others change the base's weights too.
const kInitialValues = [undefined, null, true, false, 'gaussian', 'eva', 'orthogonal'];

export const isOff = (value: unknown) =>
  value === undefined || value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0);

export function wrong(field: string, expected: string, found: unknown): ModelFormatError {
  return new ModelFormatError(`${kAdapterConfig}: ${field}: expected ${expected}, found ${describe(found)}`);
}

/** What Python makes of an adapter that wattn does not read. */
const kMerged =
  "in Python, PeftModel.from_pretrained(base, adapter).merge_and_unload().save_pretrained('merged') writes a model that loads";

/** Kinds that are no formula over the weights, so that Python cannot merge them either. */
const kUnmergeable: Record<string, string> = {
  PROMPT_TUNING: 'adds tokens before the text',
  MULTITASK_PROMPT_TUNING: 'adds tokens before the text',
  P_TUNING: 'adds tokens before the text',
  CPT: 'adds tokens before the text',
  PREFIX_TUNING: 'adds keys and values to attention',
  CARTRIDGE: 'adds keys and values to attention',
  ADAPTION_PROMPT: 'adds keys and values to attention',
  XLORA: 'mixes adapters by the text',
  POLY: 'mixes adapters by the task',
};
const kOwnKinds = ['LORA', 'ADALORA', 'IA3', 'LN_TUNING', 'LOHA', 'LOKR', 'TRAINABLE_TOKENS'];

export function checkConfig(config: Json): void {
  const refuse = (field: string, expected: string, way = kMerged) => {
    throw new UnsupportedError(`${kAdapterConfig}: ${field}: expected ${expected}, found ${JSON.stringify(config[field])}; ${way}`);
  };
  const kind = config['peft_type'] as string;
  if (!kOwnKinds.includes(kind)) {
    const why = Object.hasOwn(kUnmergeable, kind) ? `this kind ${kUnmergeable[kind]}, and cannot be merged into weights` : kMerged;
    refuse('peft_type', `one of ${kOwnKinds.map((each) => `'${each}'`).join(', ')}`, why);
  }
  for (const [field, value] of Object.entries(config)) {
    const changes = kRefused.includes(field) || (/^use_|_config$/.test(field) && !kHarmless.test(field));
    if (changes && !isOff(value)) refuse(field, 'no value (not supported)');
  }
  if (kind === 'LORA' && !kInitialValues.includes(config['init_lora_weights'] as string)) {
    refuse('init_lora_weights', "true, false, 'gaussian', 'eva' or 'orthogonal' (others change the base's weights)");
  }
  if (config['use_dora'] === true && config['lora_bias'] === true) refuse('lora_bias', 'no bias with use_dora, as in PEFT');
  const { bias } = config;
  if (bias !== undefined && !['none', 'all', 'lora_only'].includes(bias as string)) {
    throw wrong('bias', "'none', 'all' or 'lora_only'", bias);
  }
}

/** What is made once of the fields of each configuration, for all modules. */
const made = new WeakMap<Json, { patterns: Map<string, Pattern>; names: Map<string, Set<string>>; limit: PatternLimit }>();

function madeOf(config: Json) {
  const own = made.get(config) ?? { patterns: new Map(), names: new Map(), limit: new PatternLimit() };
  made.set(config, own);
  return own;
}

/** A regular expression of a field. */
function patternOf(config: Json, field: string, source: string): Pattern {
  const { patterns, limit } = madeOf(config);
  const pattern = patterns.get(source) ?? new Pattern(source, `${kAdapterConfig}: ${field}`, limit);
  patterns.set(source, pattern);
  return pattern;
}

function strings(config: Json, field: string): readonly string[] {
  const value = config[field] ?? [];
  const list = Array.isArray(value) ? value : [value];
  if (list.every((each) => typeof each === 'string')) return list as string[];
  throw wrong(field, 'a string or a list of strings', value);
}

/** Whether a field, a list of modules or an expression, names a module. */
function names(config: Json, field: string, module: string): boolean {
  if (typeof config[field] === 'string') return patternOf(config, field, config[field] as string).isFullMatch(module);
  const { names: sets } = madeOf(config);
  const set = sets.get(field) ?? new Set(strings(config, field));
  sets.set(field, set);
  for (let rest = module; ; rest = rest.slice(rest.indexOf('.') + 1)) {
    if (set.has(rest) || !rest.includes('.')) return set.has(rest);
  }
}

/** PEFT's check_target_module_exists. */
export function isTarget(config: Json, module: string): boolean {
  const { target_modules, layers_to_transform } = config;
  if (names(config, 'exclude_modules', module)) return false;
  const isSaved = (each: string) => patternOf(config, 'modules_to_save', `(?:^|.*\\.)${each}(?:$|\\..*)`).match(module);
  if (strings(config, 'modules_to_save').some(isSaved)) return false;
  if (isOff(target_modules) || target_modules === 'all-linear') return true;
  if (!names(config, 'target_modules', module)) return false;
  if (typeof target_modules === 'string' || isOff(layers_to_transform)) return true;
  if (strings(config, 'target_modules').includes(module)) return true; // by its whole name, whatever its layer
  const layers = [layers_to_transform].flat();
  if (layers.length === 0) return true;
  const patterns = strings(config, 'layers_pattern');
  const places = patterns.length > 0 ? patterns.map((each) => `(?:^|.*?\\.)${each}\\.(\\d+)\\.`) : ['.*?\\.[^.]*\\.(\\d+)\\.'];
  const found = places
    .map((place) => patternOf(config, 'layers_pattern', place).match(module))
    .find((match) => match !== undefined);
  return found !== undefined && layers.includes(Number(found.group));
}

/** The value of a pattern for a module, else the field's. */
export function numberFor(config: Json, module: string, field: string, patternField: string): number {
  const pattern = (config[patternField] ?? {}) as Record<string, unknown>;
  const key = Object.keys(pattern).find((each) => patternOf(config, patternField, `(?:.*\\.)?(?:${each})`).isFullMatch(module));
  const value = key === undefined ? (config[field] ?? 8) : pattern[key];
  const least = field === 'r' ? 1 : -Infinity;
  if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value;
  throw wrong(key === undefined ? field : `${patternField}['${key}']`, 'a number', value);
}

/** The tokens whose rows a module has, in the order of the rows. undefined: no field names them. */
export function tokensOf(config: Json, module: string): readonly number[] | undefined {
  const field = config['peft_type'] === 'TRAINABLE_TOKENS' ? 'token_indices' : 'trainable_token_indices';
  const value = config[field];
  const isNamed = ([name]: [string, unknown]) => module === name || module.endsWith(`.${name}`);
  const list = Array.isArray(value) ? value : Object.entries((value ?? {}) as object).find(isNamed)?.[1];
  if (list === undefined) return undefined;
  const areIds = Array.isArray(list) && list.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 24);
  if (areIds && list.length > 0 && new Set(list).size === list.length) return list as number[];
  throw wrong(field, 'ids of tokens, each once', list);
}
