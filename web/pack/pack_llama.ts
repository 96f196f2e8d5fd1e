// llama.cpp's names, keys and layout of a model (its gguf-py/gguf/constants.py and tensor_mapping.py, and what convert_hf_to_gguf.py does to weights), so
// that one file runs there too. wattn reads such tensors by src/models/registry.cpp.
import type { NamedBytes } from '../source/model_files.js';
import type { GgufValue } from '../source/gguf_writer.js';
import { jsonOf } from './pack_config.js';
import { familyOf, type Family } from './pack_llama_families.js';
import { tokenizerKeys, Unlike, unlike, type Metadata } from './pack_llama_tokenizer.js';

type Json = Record<string, any>;

/** A tensor there. */
export interface LlamaTensor {
  name: string;
  /** Rows that are left out at the beginning. */
  skip?: number;
  /** Rows of a head, whose two halves take turns. */
  head?: number;
  /** What is added to each value. */
  add?: number;
  /** Stays float32, as llama.cpp adds it to others. */
  exact?: boolean;
}

export interface LlamaLayout {
  metadata: Metadata;
  /** By the name in the checkpoint; null: left out, as it repeats another or nothing uses it. */
  tensors: Map<string, LlamaTensor | null>;
  /** tokenizer.json without what the keys say too. */
  tokenizer: Json;
}

export interface LlamaOptions {
  dtype: string;
  /** Whether the pooler of a sentence encoder, which is in no vector, stays where llama.cpp has a name for it. */
  pooler: boolean;
}

const kPrefix = /^(bert|roberta|distilbert|model|transformer(?=\.(shared|encoder|decoder)\.))\./;
const kAfterPad = /roberta|camembert/;

function poolingOf(files: readonly NamedBytes[]): number | undefined {
  const modules = (jsonOf(files, 'modules.json') ?? []) as Json[];
  const path = modules.find(({ type }) => /Pooling$/.test(type))?.['path'];
  if (path === undefined) return undefined;
  const config = jsonOf(files, path === '' ? 'config.json' : `${path}/config.json`) ?? {};
  const modes: [string, number][] = [
    ['mean', 1],
    ['cls', 2],
    ['lasttoken', 3],
  ];
  const flags = { mean: 'pooling_mode_mean_tokens', cls: 'pooling_mode_cls_token', lasttoken: 'pooling_mode_lasttoken' } as Json;
  const found = modes.find(([mode]) => config['pooling_mode'] === mode || config[flags[mode]] === true);
  return found?.[1] ?? unlike('llama.cpp does not support its pooling');
}

/** Keys of the Dense modules behind the pooling: llama.cpp multiplies by one or two matrices, and then has as many numbers as before. */
function denseKeys(files: readonly NamedBytes[], hidden: number): Metadata {
  const modules = (jsonOf(files, 'modules.json') ?? []) as Json[];
  const types = modules.map(({ type }) => String(type).split('.').at(-1));
  if (!types.includes('Dense')) return [];
  if (!/^Transformer,Pooling,Dense(,Dense)?(,Normalize)?$/.test(types.join(',')))
    unlike('its Dense modules do not follow the pooling directly');
  const keys: Metadata = [];
  let width = hidden;
  modules.forEach(({ path }, at) => {
    if (types[at] !== 'Dense') return;
    const { in_features, out_features, activation_function, use_residual } = jsonOf(files, `${path}/config.json`) ?? {};
    if (path !== `${at}_Dense`) unlike(`the folder of its Dense module is '${path}' instead of '${at}_Dense'`);
    if (!/(^|\.)Identity$/.test(activation_function)) unlike(`the activation of its Dense module is '${activation_function}'`);
    if (use_residual === true) unlike('its Dense module has a residual connection');
    keys.push([`dense_${at}_feat_in`, in_features], [`dense_${at}_feat_out`, out_features]);
    width = out_features;
  });
  return width === hidden ? keys : unlike(`its Dense modules give ${width} numbers instead of ${hidden}`);
}

/** The name there of a tensor; null: left out. */
function nameOf(
  family: Family,
  name: string,
  { keepsPooler, isTied }: { keepsPooler: boolean; isTied: boolean },
): { known: string; name: string } | null {
  const plain = name
    .replace(kPrefix, '')
    .replace(/\.gamma$/, '.weight')
    .replace(/\.beta$/, '.bias');
  const [, stem = '', ending = ''] = /^(.*)\.(weight|bias)$/.exec(plain) ?? [];
  const layer = /\.(\d+)\./.exec(stem)?.[1];
  const pattern = stem.replace(/\.\d+\./, '.N.');
  if (/rotary_emb\.|logit_scale$/.test(plain)) return null;
  if (pattern === 'pooler.dense' && !keepsPooler) return null;
  if (pattern === 'lm_head' && isTied && family.names['lm_head'] !== undefined) return null;
  if (family.unused?.test(pattern)) return null;
  const known = Object.hasOwn(family.names, pattern) ? (family.names[pattern] as string) : undefined;
  if (known === undefined || ending === '' || (ending === 'bias' && family.biases && !family.biases.test(known)))
    return unlike(`llama.cpp has no tensor like '${name}'`);
  return { known, name: `${layer === undefined ? known : known.replace('.N.', `.${layer}.`)}.${ending}` };
}

/** tensors: names in the checkpoint, without layers that go, and shapes. */
function layout(
  files: readonly NamedBytes[],
  tensors: readonly { name: string; shape: readonly number[] }[],
  { dtype, pooler }: LlamaOptions,
): LlamaLayout {
  const config = jsonOf(files, 'config.json') ?? {};
  const type = String(config['model_type']);
  const family = familyOf(config, tensors);
  const { architecture, sizes } = family;
  const isSentence = files.some(([name]) => name === 'modules.json');
  const pad = kAfterPad.test(type) ? Number(config['pad_token_id'] ?? 1) + 1 : 0;
  const [hidden, heads] = [config[sizes.hidden], config[sizes.heads]] as [number, number];
  if (!Number.isInteger(hidden) || !Number.isInteger(heads)) unlike('config.json has no sizes');
  const head = config[sizes.head] ?? hidden / heads;
  const keepsPooler = !isSentence || (pooler && family.names['pooler.dense'] !== undefined);
  const out = new Map<string, LlamaTensor | null>();
  let [rows, types] = [0, 0];
  for (const { name, shape } of tensors) {
    const named = nameOf(family, name, { keepsPooler, isTied: family.tied });
    if (!named) {
      out.set(name, null);
      continue;
    }
    const { known } = named;
    const there: LlamaTensor = { name: named.name };
    if (known === 'token_embd') rows = shape[0] as number;
    if (known === 'token_types') types = shape[0] as number;
    if (known === 'token_types' || known.endsWith('attn_rel_b')) there.exact = true;
    if (known === 'position_embd' && pad > 0) there.skip = pad;
    if (architecture === 'llama' && /attn_[qk]$/.test(known)) there.head = head;
    if (type.startsWith('gemma') && /norm$/.test(known)) there.add = 1;
    out.set(name, there);
  }
  if (rows === 0) unlike('it has no token embeddings');
  const { keys, tokenizer } = tokenizerKeys(files, rows, family.gpt2);

  const metadata: Metadata = [['general.architecture', architecture]];
  const add = (key: string, value: GgufValue | undefined) =>
    value !== undefined && metadata.push([`${architecture}.${key}`, value]);
  const number = (key: string): number =>
    Number.isInteger(config[key]) ? (config[key] as number) : unlike(`config.json has no ${key}`);
  const [epsilon, fallback] = family.epsilon;
  add('block_count', number(sizes.layers));
  add(
    'context_length',
    Math.min(family.positions ?? Infinity, config[sizes.positions] ?? family.positions ?? number(sizes.positions)) - pad,
  );
  add('embedding_length', hidden);
  add('feed_forward_length', number(sizes.inner));
  add('attention.head_count', heads);
  add(`attention.layer_norm${family.rms ? '_rms' : ''}_epsilon`, { f32: config[epsilon] ?? fallback });
  add('vocab_size', rows);
  const pooling = poolingOf(files);
  if (pooling !== undefined) add('pooling_type', pooling);
  for (const [key, value] of denseKeys(files, hidden)) add(key, value);
  if (!family.causal) add('attention.causal', false);
  if (types > 0 || !family.rms) metadata.push(['tokenizer.ggml.token_type_count', types || 1]);
  for (const [key, value] of family.keys) add(key, value);
  const labels = config['id2label'] as Record<string, string> | undefined;
  if (labels && [...out.values()].some((tensor) => tensor?.name === 'cls.output.weight')) {
    const ids = Object.keys(labels)
      .map(Number)
      .sort((a, b) => a - b);
    add(
      'classifier.output_labels',
      ids.map((id) => String(labels[id])),
    );
  }
  metadata.push(['general.file_type', { f32: 0, f16: 1, q4: 2, q8: 7, mixed: 2 }[dtype] ?? 0], ['general.quantization_version', 2]);
  return { metadata: [...metadata, ...keys], tensors: out, tokenizer };
}

/** The layout, or why there is none. */
export function llamaLayout(
  files: readonly NamedBytes[],
  tensors: readonly { name: string; shape: readonly number[] }[],
  options: LlamaOptions,
): LlamaLayout | string {
  try {
    return layout(files, tensors, options);
  } catch (error) {
    if (error instanceof Unlike) return error.message;
    throw error;
  }
}
