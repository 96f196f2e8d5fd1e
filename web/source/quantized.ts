// Models whose weights are quantized, by their config.json: MLX's `quantization`, or `quantization_config`. The method becomes a layout, the
// configuration one of a model that is not quantized. Loaded when there is one of the two.
import { describe, UnsupportedError } from '../core/errors.js';
import { readFields, readOptional, Progress, type ModelFiles, type NamedBytes } from './model_files.js';
import { elsewhere, findOriginal } from './original.js';
import { bitsandbytesLayout } from './quantized_bitsandbytes.js';
import { awqLayout, gptqLayout } from './quantized_columns.js';
import { QuantizedFiles, type Method } from './quantized_file.js';
import { bytesLayout, compressedLayout, mlxLayout } from './quantized_rows.js';
import type { ModelSource } from './source.js';

const kConfig = 'config.json';
const kIndex = 'model.safetensors.index.json';

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

/** Why a method is not read: which field, what it may be, what it is. */
class Refusal {
  constructor(
    readonly field: string,
    readonly expected: string,
    readonly found: unknown,
  ) {}
}

const oneOf = (field: string, values: readonly unknown[], found: unknown): void => {
  if (!values.includes(found)) throw new Refusal(field, values.map((value) => describe(value)).join(' or '), found);
};

/** A scale of activations or of the cache, which plain weights do not need. */
const kActivations = /\.(input|output|activation|[qkv])_(scale|scale_inv|zero_point|global_scale)$/;

const isScale: Method['isCompanion'] = (name, has) => {
  const [, of] = /^(.*)_(scale_inv|scale|zero_point|shape|g_idx)$/.exec(name) ?? [];
  return (of !== undefined && (has(of) || has(`${of}_packed`))) || kActivations.test(name);
};

const isBeside =
  (main: string, ...parts: string[]): Method['isCompanion'] =>
  (name, has) =>
    parts.some((part) => name.endsWith(part) && has(name.slice(0, -part.length) + main));

const isPair = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every((size) => Number.isInteger(size) && size > 0);

function fp8(config: Fields): Method {
  const block = config.weight_block_size;
  if (block != null && !isPair(block)) throw new Refusal('weight_block_size', 'two numbers of rows and columns', block);
  return { layout: bytesLayout, settings: block ? { block: block as [number, number] } : {}, isCompanion: isScale };
}

function modelopt(config: Fields): Method {
  oneOf('quant_algo', ['FP8'], config.quant_algo);
  return fp8({});
}

function bitsandbytes(): Method {
  const isState = /\.(absmax|nested_absmax|quant_map|nested_quant_map|quant_state\.bitsandbytes__\w+)$/;
  const isCompanion: Method['isCompanion'] = (name, has) =>
    isBeside('weight', 'SCB', 'weight_format')(name, has) || (isState.test(name) && has(name.replace(isState, '')));
  return {
    layout: bitsandbytesLayout,
    settings: {},
    isCompanion,
    isEarly: (name) => /\.quant_state\.bitsandbytes__\w+$/.test(name),
  };
}

function gptq(config: Fields): Method {
  const { bits, group_size = -1, checkpoint_format = 'gptq' } = config;
  oneOf('bits', [2, 4, 8], bits);
  oneOf('checkpoint_format', ['gptq', 'gptq_v2'], checkpoint_format);
  const settings = { bits: bits as number, groupSize: Number(group_size), zeroLess1: checkpoint_format === 'gptq' };
  return { layout: gptqLayout, settings, isCompanion: isBeside('qweight', 'scales', 'qzeros', 'g_idx') };
}

function awq(config: Fields): Method {
  const { bits = config.w_bit, group_size = config.q_group_size, version = 'gemm', zero_point = true } = config;
  oneOf('bits', [4], bits);
  oneOf('version', ['gemm'], String(version).toLowerCase());
  oneOf('zero_point', [true], zero_point);
  return {
    layout: awqLayout,
    settings: { groupSize: Number(group_size ?? 128) },
    isCompanion: isBeside('qweight', 'scales', 'qzeros'),
  };
}

function mlx(config: Fields): Method {
  const { bits, group_size, mode = 'affine', ...layers } = config;
  oneOf('mode', ['affine'], mode);
  oneOf('bits', [2, 3, 4, 5, 6, 8], bits);
  const settings = { bits: bits as number, groupSize: Number(group_size), layers };
  return { layout: mlxLayout, settings, isCompanion: isBeside('weight', 'scales', 'biases', 'qbiases') };
}

function compressedTensors(config: Fields): Method {
  const { format, config_groups, sparsity_config, transform_config } = config;
  const kFormats = ['float-quantized', 'int-quantized', 'naive-quantized', 'pack-quantized', 'dense'];
  oneOf('format', kFormats, format);
  const { format: sparse = 'dense' } = fieldsOf(sparsity_config) ?? {};
  oneOf('sparsity_config.format', ['dense'], sparse);
  if (Object.keys(fieldsOf(fieldsOf(transform_config)?.config_groups) ?? {}).length > 0)
    throw new Refusal('transform_config', 'none', transform_config);
  const groups = Object.values(fieldsOf(config_groups) ?? {}).map((group) => fieldsOf(fieldsOf(group)?.weights) ?? {});
  const [first = {}] = groups;
  const same = (field: string) => {
    const other = groups.find((group) => JSON.stringify(group[field]) !== JSON.stringify(first[field]));
    if (other) throw new Refusal(`config_groups..weights.${field}`, `${JSON.stringify(first[field])} in all groups`, other[field]);
    return first[field];
  };
  const settings: Method['settings'] = {};
  if (format === 'pack-quantized') {
    oneOf('config_groups..weights.num_bits', [2, 4, 8], same('num_bits'));
    settings.bits = first.num_bits as number;
  }
  const block = same('block_structure');
  const size = same('group_size');
  if (isPair(block)) settings.block = block;
  if (typeof size === 'number' && size > 0) settings.groupSize = size;
  return { layout: compressedLayout, settings, isCompanion: isScale, isEarly: (name) => name.endsWith('.weight_shape') };
}

const kMethods = new Map<unknown, (config: Fields) => Method>([
  ['awq', awq],
  ['bitsandbytes', bitsandbytes],
  ['compressed-tensors', compressedTensors],
  ['fbgemm_fp8', () => fp8({})],
  ['fp8', fp8],
  ['gptq', gptq],
  ['metal', mlx],
  ['modelopt', modelopt],
  ['mxfp8', (config) => fp8({ weight_block_size: [1, 32], ...config })],
]);

/** Architectures whose matrices are the other way round in safetensors. */
const kTransposed = ['gpt2'];

/** The method of a configuration; undefined: it has none. */
function methodOf(config: Fields): Method | undefined {
  const quantization = fieldsOf(config.quantization_config) ?? fieldsOf(config.compression_config) ?? fieldsOf(config.quantization);
  if (!quantization) return undefined;
  const { quant_method, load_in_4bit, load_in_8bit, bits, group_size } = quantization;
  const name = quant_method ?? (load_in_4bit || load_in_8bit ? 'bitsandbytes' : undefined);
  const isMlx = name === undefined && bits !== undefined && group_size !== undefined;
  const make = isMlx ? mlx : kMethods.get(name);
  if (!make) throw new Refusal('quant_method', `one of ${[...kMethods.keys()].join(', ')}`, name);
  if (kTransposed.includes(config.model_type as string))
    throw new Refusal('quant_method', `none where model_type is ${describe(config.model_type)}`, name ?? 'mlx');
  return make(quantization);
}

/** The error for a method that is not read. It names the model that was quantized, if the repository does. */
async function refuse({ field, expected, found }: Refusal, source: ModelSource, signal: AbortSignal): Promise<Error> {
  const silent = new Progress(source, undefined);
  const read = async (file: string) => new TextDecoder().decode((await readOptional(source, file, silent, signal))[0]?.[1]);
  const original = await findOriginal(source, read);
  const what = `${kConfig}: quantization_config.${field}: expected ${expected}, found ${describe(found)} (quantized weights)`;
  return new UnsupportedError(elsewhere(what, original));
}

/** The files of a configuration without its quantization, and the method. */
async function readMethod(
  source: ModelSource,
  files: readonly NamedBytes[],
  signal: AbortSignal,
): Promise<{ method: Method | undefined; plain: NamedBytes[] }> {
  const config = readFields(files, kConfig);
  let method: Method | undefined;
  try {
    method = methodOf(config);
  } catch (error) {
    throw error instanceof Refusal ? await refuse(error, source, signal) : error;
  }
  if (!method) return { method, plain: [...files] };
  const { quantization_config: _, quantization: __, compression_config: ___, ...rest } = config;
  const bytes = new TextEncoder().encode(JSON.stringify(rest));
  return { method, plain: files.map((file) => (file[0] === kConfig ? [kConfig, bytes] : file)) };
}

/** The configuration of a model that is not quantized. */
export const plainConfig = async (source: ModelSource, files: NamedBytes[], signal: AbortSignal): Promise<NamedBytes[]> =>
  (await readMethod(source, files, signal)).plain;

/** The files of the model in plain numbers. */
export async function openQuantized(source: ModelSource, opened: ModelFiles, signal: AbortSignal): Promise<ModelFiles> {
  const { single } = opened;
  const { method, plain } = await readMethod(source, opened.files, signal);
  if (!method) return opened;
  const files = new QuantizedFiles(method);
  if (single) {
    await files.add(single.name, single.open, true);
    return { ...opened, files: plain, single: { name: single.name, open: await files.present(single.name) } };
  }
  const map = fieldsOf(readFields(plain, kIndex).weight_map) ?? {};
  const shards = [...new Set(Object.values(map))].filter(
    (file): file is string => typeof file === 'string' && file.endsWith('.safetensors'),
  );
  let adding: Promise<void> | undefined;
  const addAll = async () => {
    for (const shard of shards) {
      const open = await source.open(shard, signal);
      if (open) await files.add(shard, open, false);
    }
  };
  const from: ModelSource = {
    name: source.name,
    phase: source.phase,
    async open(file, asked) {
      const open = await source.open(file, asked);
      if (!open || !shards.includes(file)) return open;
      await (adding ??= addAll());
      return files.present(file, open);
    },
    size: async (file, asked) => source.size(file, asked),
    place: (file) => source.place(file),
    ...(source.others && { others: source.others.bind(source) }),
  };
  return { ...opened, files: plain, from };
}
