// Adapters as PEFT saves them, read and written: adapter_config.json and adapter_model.safetensors. A tensor is named after the
// module of the checkpoint that it changes.
import { InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { TensorBase } from '../core/tensor_base.js';
import { readFields, readJson, type NamedBytes } from './model_files.js';
import { checkConfig, isTarget, kAdapterConfig, kFields, tokensOf, type Json } from './peft_config.js';
import { kKinds } from './peft_kinds.js';
import { floatsOf, kAdapterWeights, kParts, shapeOf, whereOf, type AdapterTensor, type Tensors } from './peft_tensor.js';
import { readSafetensors, type StoredTensor } from './safetensors.js';
import { checkSealed, saveSealed } from './sealed.js';
import { sha256Of } from './sha256.js';

export { kAdapterConfig, kAdapterWeights, type AdapterTensor };
const kLabels = 'config.json';
const kPrefix = 'base_model.model.';

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

function wholeOf(name: string, tensor: StoredTensor, parts = 0): AdapterTensor {
  const { shape } = tensor;
  const [rows, columns] = shape.length === 1 ? [0, shape[0]] : shape;
  if (shape.length > 2 || rows === undefined || columns === undefined) {
    throw new UnsupportedError(`${whereOf(tensor)}: expected a vector or a matrix, found ${shapeOf(tensor)}`);
  }
  return { name, rows, columns, rank: 0, parts: rows > 0 ? parts : 0, isWhole: rows > 0, values: [floatsOf(tensor)] };
}

/** Rows of a table, or of a linear layer, by the tokens that the configuration names. */
function rowsOf(config: Json, module: string, tensor: StoredTensor): AdapterTensor {
  const ids = tokensOf(config, module);
  const [rows = 0, columns = 0] = tensor.shape;
  if (!ids || tensor.shape.length !== 2 || rows !== ids.length) {
    const expected = ids ? `[${ids.length}, width]` : `no rows of tokens, as ${kAdapterConfig} names none for this module`;
    throw new ModelFormatError(`${whereOf(tensor)}: expected ${expected}, found ${shapeOf(tensor)}`);
  }
  const all = floatsOf(tensor);
  const order = ids.map((_, i) => i).sort((i, j) => (ids[i] as number) - (ids[j] as number));
  const values = new Float32Array(all.length);
  order.forEach((from, to) => values.set(all.subarray(from * columns, (from + 1) * columns), to * columns));
  const sorted = Float32Array.from(order, (i) => ids[i] as number);
  const given = config['trainable_token_indices'];
  const lists = given && !Array.isArray(given) ? Object.values(given).filter((each) => Array.isArray(each)) : [];
  const differs = lists.some((each: number[]) => String([...each].sort((i, j) => i - j)) !== String(sorted));
  return {
    name: `${module}.weight`,
    rows,
    columns,
    rank: 0,
    parts: kParts.rows | (differs ? kParts.alone : 0),
    values: [values, sorted],
  };
}

/** Names of an adapter's own tensors: a module, and what they are to it. */
const kOwn = /^(.*?)\.((?:lora_[A-Z]|lora_[a-z]|ranknum|hada_|lokr_|ia3_l|token_adapter\.|trainable_tokens_delta).*)$/;

/** The tensors of a file, as changes of the checkpoint's. */
function readTensors(config: Json, stored: readonly StoredTensor[]): AdapterTensor[] {
  const all = new Map(
    stored.map((tensor) => [tensor.name.startsWith(kPrefix) ? tensor.name.slice(kPrefix.length) : tensor.name, tensor]),
  );
  const modules = new Map<string, Tensors>();
  const wholes: AdapterTensor[] = [];
  for (const [name, tensor] of all) {
    const [, module, part] = kOwn.exec(name) ?? [];
    if (module !== undefined) {
      const parts = modules.get(module) ?? new Map();
      modules.set(module, parts.set(part as string, tensor));
    } else {
      // With bias 'all', PEFT saves a head's bias three times.
      const own = name.replace('.base_layer.', '.').replace(/\.(modules_to_save|ln_tuning_layers)\./, '.');
      // Below a module that is saved, with the adapter's name: pooler.modules_to_save.default.dense.bias.
      const nested = name.replace(/\.modules_to_save\.[^.]+\./, '.');
      const isBase = name.includes('.base_layer.');
      if (!name.includes('.original_module.') && (own === name || !(all.has(own) || (nested !== name && all.has(nested)))))
        wholes.push(wholeOf(own, tensor, isBase ? kParts.base : 0));
    }
  }
  // PEFT then adapts what is tied to embeddings too, whatever target_modules says.
  const ties = config['ensure_weight_tying'] === true && [...modules.values()].some((parts) => parts.has('lora_embedding_A'));
  const out = [...modules].flatMap(([module, parts]) => changesOf(config, module, parts, ties));
  const isVector = ({ rows, parts }: AdapterTensor) => rows === 0 && parts === 0;
  if (out.length + wholes.length > 0) return [...wholes.filter((each) => !isVector(each)), ...out, ...wholes.filter(isVector)];
  throw new ModelFormatError(`${kAdapterWeights}: expected tensors of lora_A and lora_B, found none`);
}

function changesOf(config: Json, module: string, parts: Tensors, ties: boolean): AdapterTensor[] {
  const [any] = [...parts.values()] as [StoredTensor];
  const rows = parts.get('token_adapter.trainable_tokens_delta') ?? parts.get('trainable_tokens_delta');
  const out = rows ? [rowsOf(config, module, rows)] : [];
  const others = new Map([...parts].filter(([, tensor]) => tensor !== rows && !tensor.name.includes('.token_adapter.')));
  if (others.size === 0) return out;
  if (!ties && !isTarget(config, module)) {
    throw new ModelFormatError(`${whereOf(any)}: expected a module that target_modules of ${kAdapterConfig} names, found another`);
  }
  const kind = kKinds[config['peft_type'] as string];
  if (kind) return [kind(config, module, others), ...out];
  throw new ModelFormatError(`${whereOf(any)}: expected a tensor of ${String(config['peft_type'])}, found one of another kind`);
}

/** The tensors of an adapter, from its two files. */
export function readAdapter(files: readonly NamedBytes[]): AdapterTensor[] {
  const config = readFields(files, kAdapterConfig);
  checkConfig(config);
  return readTensors(config, readSafetensors(files.find(([name]) => name === kAdapterWeights)?.[1] as Uint8Array, kAdapterWeights));
}

/** Fields of PEFT's `LoraConfig`. All other fields are written with PEFT's values for a plain LoRA. */
export interface AdapterConfig {
  /** The rank. Default 8. */
  r?: number;
  /** The product of LoRA's matrices is multiplied by `lora_alpha / r`. Default 8. */
  lora_alpha?: number;
  /** LoRA dropout: the fraction of a module's inputs that LoRA drops in training. Default 0. */
  lora_dropout?: number;
  /** Names of modules, or the ends of their names: `['query', 'value']`. */
  target_modules: readonly string[] | string;
  /** Modules that match `target_modules` but get no LoRA. */
  exclude_modules?: readonly string[] | string | null;
  /** The biases that the adapter changes. Default `'none'`. */
  bias?: 'none' | 'all' | 'lora_only';
  /** `true` multiplies by `lora_alpha / sqrt(r)` instead (arXiv 2312.03732). */
  use_rslora?: boolean;
  /** Uses DoRA (arXiv 2402.09353): each row of `W + s B A` is scaled to the length in `lora_magnitude_vector`. */
  use_dora?: boolean;
  /** Whether `lora_B` has a bias, which is scaled like it. */
  lora_bias?: boolean;
  /** Tokens whose rows are saved as `..token_adapter.trainable_tokens_delta`: ids for the embeddings, or ids by module name. */
  trainable_token_indices?: readonly number[] | Readonly<Record<string, readonly number[]>> | null;
  /** Whether tied embeddings are also the head's weights; both are saved. */
  ensure_weight_tying?: boolean;
  /** Whether the base model stores weights as `[in, out]`, like GPT-2. */
  fan_in_fan_out?: boolean;
  /** Modules that are saved completely in addition to LoRA's matrices, such as the classification head. */
  modules_to_save?: readonly string[] | null;
  /** Ranks for individual modules, by name. */
  rank_pattern?: Readonly<Record<string, number>>;
  /** Values of `lora_alpha` for individual modules, by name. */
  alpha_pattern?: Readonly<Record<string, number>>;
  /** Indices of the layers that get LoRA. Default: all. */
  layers_to_transform?: readonly number[] | number | null;
  /** The part of a module's name that precedes the layer's index. */
  layers_pattern?: readonly string[] | string | null;
  /** How LoRA's matrices were initialised. It has no effect once they are trained. */
  init_lora_weights?: boolean | string;
  /** `'SEQ_CLS'`, `'TOKEN_CLS'`, `'CAUSAL_LM'`, `'SEQ_2_SEQ_LM'`, `'QUESTION_ANS'`, `'FEATURE_EXTRACTION'`. */
  task_type?: string | null;
  /** The base model that the adapter was trained on. */
  base_model_name_or_path?: string | null;
  /** The base model's revision. */
  revision?: string | null;
}

/** Labels of an adapter's classification head. They are written to a config.json, which PEFT ignores. */
export interface AdapterLabels {
  /** Label names by index. */
  id2label?: Readonly<Record<number, string>>;
  /** How scores are computed from the head's logits. */
  problem_type?: 'regression' | 'single_label_classification' | 'multi_label_classification';
}

const kSettable = [
  'r lora_alpha lora_dropout target_modules exclude_modules bias use_rslora fan_in_fan_out modules_to_save rank_pattern alpha_pattern',
  'layers_to_transform layers_pattern init_lora_weights task_type base_model_name_or_path revision',
  'use_dora lora_bias trainable_token_indices ensure_weight_tying',
].flatMap((line) => line.split(' '));

/**
 * Creates the files of an adapter, which Python's PEFT and wattn load. `tensors` are float32, under the checkpoint's module names:
 * `'bert.encoder.layer.0.attention.self.query.lora_A.weight'` `[r, in]`, `..lora_B.weight` `[out, r]`, and whole tensors such as `'classifier.weight'`.
 * Throws an `InputError` if they do not match the config.
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
