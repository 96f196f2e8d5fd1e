// Adapters as PEFT saves them, read and written: adapter_config.json and adapter_model.safetensors. A tensor is named after the
// module of the checkpoint that it changes.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { TensorBase } from '../core/tensor_base.js';
import { readFields, readJson, type NamedBytes } from './model_files.js';
import { Pattern, PatternLimit } from './pattern.js';
import { isFloat, readSafetensors, toFloats, type StoredTensor } from './safetensors.js';
import { checkSealed, saveSealed } from './sealed.js';
import { sha256Of } from './sha256.js';

export const kAdapterConfig = 'adapter_config.json';
export const kAdapterWeights = 'adapter_model.safetensors';
const kLabels = 'config.json';
const kPrefix = 'base_model.model.';

/** What an adapter has for one tensor of the checkpoint; see src/models/adapter.h. */
export interface AdapterTensor {
  name: string;
  /** Of the tensor; 0 rows: a vector. */
  rows: number;
  columns: number;
  /** 0: values are the whole tensor. */
  rank: number;
  values: Float32Array; // [rows, columns], or lora_A [rank, columns]
  b?: Float32Array; // [rows, rank]: lora_B times alpha / r
}

type Json = Record<string, unknown>;

/** PEFT 0.21's fields in its order, with the values that it writes for a plain LoRA. */
const kFields = {
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
const kRefused = ['alora_invocation_tokens', 'layer_replication', 'lora_bias', 'target_parameters', 'trainable_token_indices'];
const kHarmless = /^(auto_mapping|(corda|eva|lora_ga|runtime)_config|use_rslora)$/;
// Others change the base's weights too.
const kInitialValues = [undefined, null, true, false, 'gaussian', 'eva', 'orthogonal'];

const isOff = (value: unknown) =>
  value === undefined || value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0);

function wrong(field: string, expected: string, found: unknown): ModelFormatError {
  return new ModelFormatError(`${kAdapterConfig}: ${field}: expected ${expected}, found ${describe(found)}`);
}

function checkConfig(config: Json): void {
  const refuse = (field: string, expected: string) => {
    throw new UnsupportedError(`${kAdapterConfig}: ${field}: expected ${expected}, found ${JSON.stringify(config[field])}`);
  };
  if (config['peft_type'] !== 'LORA') refuse('peft_type', "'LORA' (other kinds of adapters are not supported)");
  for (const [field, value] of Object.entries(config)) {
    const changes = kRefused.includes(field) || (/^use_|_config$/.test(field) && !kHarmless.test(field));
    if (changes && !isOff(value)) refuse(field, 'no value (not supported)');
  }
  if (!kInitialValues.includes(config['init_lora_weights'] as string)) {
    refuse('init_lora_weights', "true, false, 'gaussian', 'eva' or 'orthogonal' (others change the base's weights)");
  }
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
function isTarget(config: Json, module: string): boolean {
  const { target_modules, layers_to_transform } = config;
  if (names(config, 'exclude_modules', module)) return false;
  if (isOff(target_modules) || target_modules === 'all-linear') return true;
  if (!names(config, 'target_modules', module)) return false;
  if (typeof target_modules === 'string' || isOff(layers_to_transform)) return true;
  const layers = [layers_to_transform].flat();
  if (layers.length === 0) return true;
  const patterns = strings(config, 'layers_pattern');
  const places = patterns.length > 0 ? patterns.map((each) => `.*\\.${each}\\.(\\d+)\\.`) : ['.*\\.[^.]*\\.(\\d+)\\.'];
  const found = places
    .map((place) => patternOf(config, 'layers_pattern', place).match(module))
    .find((match) => match !== undefined);
  return found !== undefined && layers.includes(Number(found.group));
}

/** The value of a pattern for a module, else the field's. */
function numberFor(config: Json, module: string, field: 'r' | 'lora_alpha', patternField: string): number {
  const pattern = (config[patternField] ?? {}) as Record<string, unknown>;
  const key = Object.keys(pattern).find((each) => patternOf(config, patternField, `(?:.*\\.)?(?:${each})`).isFullMatch(module));
  const value = key === undefined ? (config[field] ?? 8) : pattern[key];
  const least = field === 'r' ? 1 : -Infinity;
  if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value;
  throw wrong(key === undefined ? field : `${patternField}['${key}']`, 'a number', value);
}

function floatsOf(tensor: StoredTensor): Float32Array {
  const where = `${kAdapterWeights}: tensor '${tensor.name}'`;
  if (!isFloat(tensor.dtype)) throw new UnsupportedError(`${where}: expected F32, F16, BF16 or F64, found ${tensor.dtype}`);
  const values = toFloats(tensor);
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new ModelFormatError(`${where}: expected finite numbers, found ${values[bad]} at index ${bad}`);
  return values;
}

/** lora_A and lora_B of a module. */
function pairOf(config: Json, module: string, a: StoredTensor, b: StoredTensor | undefined): AdapterTensor {
  const where = `${kAdapterWeights}: tensor '${a.name}'`;
  const [rank = 0, columns = 0] = a.shape;
  const [rows = 0, rankOfB] = b?.shape ?? [];
  if (!b || a.shape.length !== 2 || b.shape.length !== 2 || rank !== rankOfB) {
    const found = `[${a.shape.join(', ')}] and ${b ? `[${b.shape.join(', ')}]` : 'no lora_B'}`;
    throw new ModelFormatError(`${where}: expected lora_A [r, in] and lora_B [out, r], found ${found}`);
  }
  if (!isTarget(config, module)) {
    throw new ModelFormatError(`${where}: expected a module that target_modules of ${kAdapterConfig} names, found another`);
  }
  const r = numberFor(config, module, 'r', 'rank_pattern');
  if (r !== rank) throw new ModelFormatError(`${where}: expected rank ${r} as in ${kAdapterConfig}, found ${rank}`);
  const scale = numberFor(config, module, 'lora_alpha', 'alpha_pattern') / (config['use_rslora'] === true ? Math.sqrt(r) : r);
  return { name: `${module}.weight`, rows, columns, rank, values: floatsOf(a), b: floatsOf(b).map((value) => value * scale) };
}

function wholeOf(name: string, tensor: StoredTensor): AdapterTensor {
  const { shape } = tensor;
  const [rows, columns] = shape.length === 1 ? [0, shape[0]] : shape;
  if (shape.length > 2 || rows === undefined || columns === undefined) {
    throw new UnsupportedError(
      `${kAdapterWeights}: tensor '${tensor.name}': expected a vector or a matrix, found [${shape.join(', ')}]`,
    );
  }
  return { name, rows, columns, rank: 0, values: floatsOf(tensor) };
}

/** Fields of adapter_config.json that say where an adapter is from, which people fill in. */
const kOrigin = ['base_model_name_or_path', 'revision', 'peft_version', 'task_type', 'auto_mapping', 'inference_mode'];

/** What the weights say of the files beside them: hashes of what changes answers, whatever the order of the fields. */
async function besideOf(files: readonly NamedBytes[]): Promise<Record<string, string>> {
  const hash = (json: Json, names: readonly string[]) =>
    sha256Of(new TextEncoder().encode(JSON.stringify(names.map((name) => [name, json[name]]))));
  const [config, labels] = [readJson(files, kAdapterConfig) ?? {}, readJson(files, kLabels)];
  const names = Object.keys(config).filter((name) => !kOrigin.includes(name));
  return {
    [kAdapterConfig]: await hash(config, names.sort()),
    ...(labels && { [kLabels]: await hash(labels, ['id2label', 'problem_type']) }),
  };
}

/** A ModelFormatError if the files are not what save_adapter() made. Those of other programs say no hashes, and are read as they are. */
export async function checkAdapter(files: readonly NamedBytes[]): Promise<void> {
  const sealed = await checkSealed(files.find(([name]) => name === kAdapterWeights)?.[1] as Uint8Array, kAdapterWeights);
  if (!sealed) return;
  const beside = await besideOf(files);
  for (const name of [kAdapterConfig, kLabels]) {
    if (sealed[name] === undefined || sealed[name] === beside[name]) continue;
    const found = beside[name] === undefined ? 'no such file' : 'other values: it is damaged, or was changed later';
    throw new ModelFormatError(`${name}: expected what ${kAdapterWeights} was saved with (by its SHA-256), found ${found}`);
  }
}

/** The tensors of an adapter, from its two files. */
export function readAdapter(files: readonly NamedBytes[]): AdapterTensor[] {
  const config = readFields(files, kAdapterConfig);
  checkConfig(config);
  const stored = readSafetensors(files.find(([name]) => name === kAdapterWeights)?.[1] as Uint8Array, kAdapterWeights);
  const all = new Map(
    stored.map((tensor) => [tensor.name.startsWith(kPrefix) ? tensor.name.slice(kPrefix.length) : tensor.name, tensor]),
  );
  const out: AdapterTensor[] = [];
  for (const [name, tensor] of all) {
    const [, module, part] = /^(.*)\.(lora_[A-Z]\w*|lora_[a-z]\w*|ranknum)(\..*)?$/.exec(name) ?? [];
    if (module === undefined) {
      // With bias 'all', PEFT saves a head's bias three times.
      const own = name.replace('.base_layer.', '.').replace('.modules_to_save.', '.');
      if (!name.includes('.original_module.') && (own === name || !all.has(own))) out.push(wholeOf(own, tensor));
    } else if (name === `${module}.lora_A.weight`) {
      out.push(pairOf(config, module, tensor, all.get(`${module}.lora_B.weight`)));
    } else if (name !== `${module}.lora_B.weight` || !all.has(`${module}.lora_A.weight`)) {
      const what = `${kAdapterWeights}: tensor '${tensor.name}': expected lora_A and lora_B of a linear layer`;
      if (part === 'lora_B') throw new ModelFormatError(`${what}, found no lora_A`);
      throw new UnsupportedError(`${what}, found ${part}`);
    }
  }
  if (out.length > 0) return out.sort((a, b) => Number(a.rows === 0) - Number(b.rows === 0)); // vectors last
  throw new ModelFormatError(`${kAdapterWeights}: expected tensors of lora_A and lora_B, found none`);
}

/** PEFT's `LoraConfig`: the fields that an adapter may have. The others are written as PEFT writes them for a plain LoRA. */
export interface AdapterConfig {
  /** Default 8, like `lora_alpha`. */
  r?: number;
  /** The product of LoRA's matrices is multiplied by `lora_alpha / r`. Default 8. */
  lora_alpha?: number;
  /** Default 0. */
  lora_dropout?: number;
  /** Names of modules, or ends of them: `['query', 'value']`. */
  target_modules: readonly string[] | string;
  /** Modules that `target_modules` names but that get no LoRA. */
  exclude_modules?: readonly string[] | string | null;
  /** Default `'none'`. */
  bias?: 'none' | 'all' | 'lora_only';
  /** `true`: multiplies by `lora_alpha / sqrt(r)` instead (arXiv 2312.03732). */
  use_rslora?: boolean;
  /** Whether the base model stores weights as `[in, out]`, as GPT-2 does. */
  fan_in_fan_out?: boolean;
  /** Modules saved whole beside LoRA's matrices, such as the classification head. */
  modules_to_save?: readonly string[] | null;
  /** An `r` of their own for some modules, by name. */
  rank_pattern?: Readonly<Record<string, number>>;
  /** A `lora_alpha` of their own for some modules, by name. */
  alpha_pattern?: Readonly<Record<string, number>>;
  /** Numbers of the layers that get LoRA. Default: all. */
  layers_to_transform?: readonly number[] | number | null;
  /** The part of a module's name that comes before the number of its layer. */
  layers_pattern?: readonly string[] | string | null;
  /** How LoRA's matrices were filled at first. It does not matter once they are trained. */
  init_lora_weights?: boolean | string;
  /** `'SEQ_CLS'`, `'TOKEN_CLS'`, `'CAUSAL_LM'`, `'SEQ_2_SEQ_LM'`, `'QUESTION_ANS'`, `'FEATURE_EXTRACTION'`. */
  task_type?: string | null;
  /** The base model that the adapter was trained on. */
  base_model_name_or_path?: string | null;
  /** The revision of the base model. */
  revision?: string | null;
}

/** What an adapter's classification head gives, for a config.json beside it, which PEFT ignores. */
export interface AdapterLabels {
  /** The name of each label by its number. */
  id2label?: Readonly<Record<number, string>>;
  /** How scores are computed from the head's logits. */
  problem_type?: 'regression' | 'single_label_classification' | 'multi_label_classification';
}

const kSettable = [
  'r lora_alpha lora_dropout target_modules exclude_modules bias use_rslora fan_in_fan_out modules_to_save rank_pattern alpha_pattern',
  'layers_to_transform layers_pattern init_lora_weights task_type base_model_name_or_path revision',
].flatMap((line) => line.split(' '));

/**
 * The files of an adapter, which Python's PEFT and wattn load. tensors: float32, by the checkpoint's names of modules:
 * `'bert.encoder.layer.0.attention.self.query.lora_A.weight'` `[r, in]`, `..lora_B.weight` `[out, r]`, and whole tensors such as
 * `'classifier.weight'`. An `InputError` if they do not fit config.
 */
export async function save_adapter(
  tensors: Readonly<Record<string, TensorBase>>,
  config: AdapterConfig,
  labels: AdapterLabels = {},
): Promise<Map<string, Uint8Array>> {
  config = readOptions('save_adapter', config, kSettable);
  labels = readOptions('save_adapter', labels, ['id2label', 'problem_type']);
  const known = config as unknown as Json;
  const all = Object.entries(kFields).map(([field, value]) => [field, known[field] ?? value]);
  const encode = (json: object) => new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`);
  const named = Object.entries(tensors).map(
    ([name, tensor]) => [name.startsWith(kPrefix) ? name : kPrefix + name, tensor] as const,
  );
  const sorted = Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)));
  const { id2label } = labels;
  const label2id = id2label && Object.fromEntries(Object.entries(id2label).map(([id, label]) => [label, Number(id)]));
  const beside: NamedBytes[] = [[kAdapterConfig, encode(Object.fromEntries(all))]];
  if (Object.keys(labels).length > 0) beside.push([kLabels, encode({ ...labels, ...(label2id && { label2id }) })]);
  const weights = await saveSealed(sorted, { format: 'pt', ...(await besideOf(beside)) });
  const files: NamedBytes[] = [beside[0] as NamedBytes, [kAdapterWeights, weights], ...beside.slice(1)];
  try {
    readAdapter(files);
  } catch (cause) {
    throw new InputError(`save_adapter: ${(cause as Error).message}`, { cause });
  }
  return new Map(files);
}
