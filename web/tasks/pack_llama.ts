// llama.cpp's names, keys and layout of a model (its gguf-py/gguf/constants.py and tensor_mapping.py, and what convert_hf_to_gguf.py does to weights), so
// that one file runs there too. wattn reads such tensors by src/models/registry.cpp.
import type { NamedBytes } from '../source/model_files.js';
import type { GgufValue } from '../source/gguf_writer.js';
import { jsonOf } from './pack_config.js';

type Json = Record<string, any>;
type Metadata = [key: string, value: GgufValue][];

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
  /** By the name in the checkpoint; null: left out, as it repeats another. */
  tensors: Map<string, LlamaTensor | null>;
  /** tokenizer.json without what the keys say too. */
  tokenizer: Json;
}

/** Why llama.cpp cannot read the model. */
class Unlike extends Error {}
const unlike = (reason: string): never => {
  throw new Unlike(reason);
};

const kBert = {
  'embeddings.word_embeddings': 'token_embd',
  'embeddings.position_embeddings': 'position_embd',
  'embeddings.token_type_embeddings': 'token_types',
  'embeddings.LayerNorm': 'token_embd_norm',
  'encoder.layer.N.attention.self.query': 'blk.N.attn_q',
  'encoder.layer.N.attention.self.key': 'blk.N.attn_k',
  'encoder.layer.N.attention.self.value': 'blk.N.attn_v',
  'encoder.layer.N.attention.output.dense': 'blk.N.attn_output',
  'encoder.layer.N.attention.output.LayerNorm': 'blk.N.attn_output_norm',
  'encoder.layer.N.intermediate.dense': 'blk.N.ffn_up',
  'encoder.layer.N.output.dense': 'blk.N.ffn_down',
  'encoder.layer.N.output.LayerNorm': 'blk.N.layer_output_norm',
};
const kLlama = {
  embed_tokens: 'token_embd',
  'layers.N.self_attn.q_proj': 'blk.N.attn_q',
  'layers.N.self_attn.k_proj': 'blk.N.attn_k',
  'layers.N.self_attn.v_proj': 'blk.N.attn_v',
  'layers.N.self_attn.o_proj': 'blk.N.attn_output',
  'layers.N.self_attn.q_norm': 'blk.N.attn_q_norm',
  'layers.N.self_attn.k_norm': 'blk.N.attn_k_norm',
  'layers.N.input_layernorm': 'blk.N.attn_norm',
  'layers.N.mlp.gate_proj': 'blk.N.ffn_gate',
  'layers.N.mlp.up_proj': 'blk.N.ffn_up',
  'layers.N.mlp.down_proj': 'blk.N.ffn_down',
  'layers.N.post_attention_layernorm': 'blk.N.ffn_norm',
  norm: 'output_norm',
  lm_head: 'output',
};
interface Family {
  architecture: string;
  names: Record<string, string>;
  /** The key of config.json for the epsilon of norms, and its default. */
  epsilon: [key: string, fallback: number];
  rms?: boolean;
}
const kRms = { epsilon: ['rms_norm_eps', 1e-6], rms: true } as const;
const bert = (names: Record<string, string> = {}): Family => ({
  ...{ architecture: 'bert', names: { ...kBert, ...names }, epsilon: ['layer_norm_eps', 1e-12] },
});
const llama = (architecture: string, names: Record<string, string> = kLlama): Family => ({
  ...{ architecture, names, epsilon: [...kRms.epsilon], rms: true },
});
const kFamilies: Record<string, Family> = {
  bert: bert({ 'pooler.dense': 'cls', classifier: 'cls.output' }),
  roberta: bert({ 'classifier.dense': 'cls', 'classifier.out_proj': 'cls.output' }),
  'xlm-roberta': bert({ 'classifier.dense': 'cls', 'classifier.out_proj': 'cls.output' }),
  camembert: bert({ 'classifier.dense': 'cls', 'classifier.out_proj': 'cls.output' }),
  llama: llama('llama'),
  qwen2: llama('qwen2'),
  qwen3: llama('qwen3'),
  gemma: llama('gemma'),
};
const kPrefix = /^(bert|roberta|model)\./;
const kAfterPad = /roberta|camembert/;

const kTypes = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 };

/** The name of tokenizer.ggml.pre for byte-level BPE; what splits words there is known by name. */
function preOf(part: Json | null | undefined): string {
  const steps: Json[] = part?.['type'] === 'Sequence' ? part['pretokenizers'] : part ? [part] : [];
  const last = steps.at(-1);
  const patterns = steps.slice(0, -1).map((step) => step['pattern']?.Regex ?? step['type']);
  if (last?.['type'] !== 'ByteLevel') unlike('its words are not split as in byte-level BPE');
  const [pattern] = patterns;
  if (patterns.length === 0 && last?.['use_regex'] !== false && last?.['add_prefix_space'] !== true) return 'gpt-2';
  if (pattern === 'Digits' && patterns.length === 1) return 'smollm';
  if (
    patterns.length === 1 &&
    String(pattern).startsWith("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|")
  )
    return 'llama-bpe';
  if (patterns.length === 1 && String(pattern).startsWith("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"))
    return 'qwen2';
  return unlike('llama.cpp has no name for how its words are split');
}

const has = (part: unknown, type: string): boolean =>
  typeof part === 'object' &&
  part !== null &&
  ((part as Json)['type'] === type || Object.values(part).some((each) => has(each, type)));

/** The special tokens around one text. */
function around(processor: Json | null | undefined): { first?: string; last?: string } {
  if (!processor) return {};
  if (processor['type'] === 'Sequence') return around(processor['processors'].find((each: Json) => each['type'] !== 'ByteLevel'));
  if (processor['sep']) return { first: processor['cls'][0], last: processor['sep'][0] };
  const single: Json[] = processor['single'] ?? [];
  const at = single.findIndex((piece) => piece['Sequence']);
  const nameOf = (piece: Json | undefined) => piece?.['SpecialToken']?.id as string | undefined;
  const [first, last] = [nameOf(single[at - 1]), nameOf(single[at + 1])];
  return { ...(first !== undefined && { first }), ...(last !== undefined && { last }) };
}

function tokenizerKeys(files: readonly NamedBytes[], rows: number): { keys: Metadata; tokenizer: Json } {
  const source = jsonOf(files, 'tokenizer.json') ?? unlike('it has no tokenizer.json');
  const settings = jsonOf(files, 'tokenizer_config.json') ?? {};
  const config = jsonOf(files, 'config.json') ?? {};
  const model: Json = source['model'];
  const { vocab } = model;
  const isUnigram = Array.isArray(vocab);
  const kind: string = model['type'] ?? (isUnigram ? 'Unigram' : model['merges'] ? 'BPE' : 'WordPiece');
  const entries: [string, number][] = isUnigram ? vocab.map(([piece], id) => [piece, id]) : Object.entries(vocab);
  const pieces: (string | undefined)[] = new Array(rows).fill(undefined);
  const types = new Int32Array(rows).fill(kTypes.unused);
  const put = (piece: string, id: number, type: number) => {
    if (id >= rows) unlike(`its tokenizer has more pieces than its embeddings have rows`);
    [pieces[id], types[id]] = [piece, type];
  };
  const isByte = (piece: string) => model['byte_fallback'] === true && /^<0x[0-9A-F]{2}>$/.test(piece);
  for (const [piece, id] of entries) put(piece, id, isByte(piece) ? kTypes.byte : kTypes.normal);
  for (const { content, id, special } of source['added_tokens'] ?? []) put(content, id, special ? kTypes.control : kTypes.user);
  const idOf = (token: unknown) =>
    pieces.indexOf(typeof token === 'string' ? token : String((token as Json | undefined)?.['content']));
  const unknown = isUnigram ? model['unk_id'] : idOf(model['unk_token']);
  if (kind !== 'WordPiece' && Number.isInteger(unknown) && unknown >= 0) types[unknown] = kTypes.unknown;

  const keys: Metadata = [];
  const add = (key: string, value: GgufValue) => keys.push([`tokenizer.ggml.${key}`, value]);
  let tokens = pieces.map((piece, id) => piece ?? `[PAD${id}]`);
  let { tokenizer } = { tokenizer: source };
  const count = entries.length;
  const isBeginning = entries.every(([, id]) => id < count);
  if (kind === 'WordPiece') {
    if (source['normalizer']?.type !== 'BertNormalizer' || source['pre_tokenizer']?.type !== 'BertPreTokenizer')
      unlike('its words are not split as in BERT');
    if ((model['continuing_subword_prefix'] ?? '##') !== '##') unlike("its pieces are not marked by '##'");
    tokens = tokens.map((piece, id) => {
      if (types[id] === kTypes.control || types[id] === kTypes.unused) return piece;
      return piece.startsWith('##') ? piece.slice(2) : `\u2581${piece}`;
    });
    // Written back by src/core/gguf.cpp, which must find the same.
    const back = (token: string, id: number) =>
      types[id] === kTypes.control ? token : token.startsWith('\u2581') ? token.slice(1) : `##${token}`;
    if (isBeginning && entries.every(([piece, id]) => back(tokens[id] as string, id) === piece))
      tokenizer = { ...source, model: { ...model, vocab: { 'tokenizer.ggml.tokens': count } } };
    add('model', 'bert');
    add('pre', 'default');
    add('normalizer.lowercase', source['normalizer'].lowercase !== false);
    add('normalizer.strip_accents', source['normalizer'].strip_accents ?? source['normalizer'].lowercase !== false);
  } else if (isUnigram) {
    const charsmap = /"precompiled_charsmap":\s*"([^"]*)"/.exec(JSON.stringify(source['normalizer'] ?? null))?.[1];
    add('model', 't5');
    add('pre', 'default');
    add(
      'scores',
      Float32Array.from({ length: rows }, (_, id) => (vocab[id] as [string, number] | undefined)?.[1] ?? -10000),
    );
    add('add_space_prefix', !JSON.stringify(source['pre_tokenizer']).includes('"never"'));
    add('remove_extra_whitespaces', charsmap !== undefined || has(source['pre_tokenizer'], 'WhitespaceSplit'));
    if (charsmap)
      add(
        'precompiled_charsmap',
        Uint8Array.from(atob(charsmap), (letter) => letter.charCodeAt(0)),
      );
  } else if (kind === 'BPE') {
    const merges: (string | [string, string])[] = model['merges'] ?? [];
    const parts = merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')));
    if (has(source['pre_tokenizer'], 'ByteLevel')) {
      if (source['normalizer'] && !has(source['normalizer'], 'NFC'))
        unlike('its text is normalized in a way that llama.cpp does not know');
      add('model', 'gpt2');
      add('pre', preOf(source['pre_tokenizer']));
      add('merges', parts);
      const shared = { ...model };
      if (isBeginning && entries.every(([piece, id]) => tokens[id] === piece)) shared['vocab'] = { 'tokenizer.ggml.tokens': count };
      if (merges.every((merge) => typeof merge === 'string')) shared['merges'] = 'tokenizer.ggml.merges';
      tokenizer = { ...source, model: shared };
    } else {
      if (!types.includes(kTypes.byte)) unlike('its BPE has neither a byte-level alphabet nor bytes');
      const rank = new Map<string, number>();
      merges.forEach((merge, i) => {
        const made = typeof merge === 'string' ? merge.replace(' ', '') : merge.join('');
        if (!rank.has(made)) rank.set(made, i + 1);
      });
      add('model', 'llama');
      add('pre', 'default');
      add(
        'scores',
        Float32Array.from(tokens, (token) => -(rank.get(token) ?? (types[idOf(token)] === kTypes.normal ? merges.length + 1 : 0))),
      );
      add(
        'add_space_prefix',
        has(source['normalizer'], 'Prepend') || JSON.stringify(source['pre_tokenizer']).includes('Metaspace'),
      );
    }
  } else unlike(`its tokenizer is of another kind (${kind})`);
  add('tokens', tokens);
  add('token_type', types);
  const { first, last } = around(source['post_processor']);
  const named = (name: string, ...others: (string | undefined)[]) =>
    [settings[name], ...others].map(idOf).find((id) => id >= 0) ?? config[`${name}_id`] ?? -1;
  const ids: [string, unknown][] = [
    ['bos', first === undefined ? named('bos_token') : idOf(first)],
    ['eos', last === undefined ? named('eos_token') : idOf(last)],
    ['unknown', unknown],
    ['seperator', named('sep_token', last)], // spelled so there
    ['padding', named('pad_token', '[PAD]', '<pad>')],
    ['cls', named('cls_token', first)],
    ['mask', named('mask_token', '[MASK]', '<mask>')],
  ];
  for (const [name, id] of ids)
    if (Number.isInteger(id) && (id as number) >= 0 && (id as number) < rows) add(`${name}_token_id`, id as number);
  add('add_bos_token', first !== undefined);
  add('add_eos_token', last !== undefined && kind !== 'WordPiece');
  const chat = settings['chat_template'];
  if (typeof chat === 'string') keys.push(['tokenizer.chat_template', chat]);
  return { keys, tokenizer };
}

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
  return found?.[1] ?? unlike('it pools in a way that llama.cpp does not know');
}

/** tensors: names in the checkpoint, without layers that go, and shapes. rows: of the embeddings. */
function layout(
  files: readonly NamedBytes[],
  tensors: readonly { name: string; shape: readonly number[] }[],
  dtype: string,
): LlamaLayout {
  const config = jsonOf(files, 'config.json') ?? {};
  const type = String(config['model_type']);
  const family = Object.hasOwn(kFamilies, type)
    ? (kFamilies[type] as Family)
    : unlike(`llama.cpp's names of '${type}' are not written`);
  if (config['position_embedding_type'] !== undefined && config['position_embedding_type'] !== 'absolute' && !family.rms)
    unlike(`its positions are '${config['position_embedding_type']}'`);
  const isSentence = files.some(([name]) => name === 'modules.json');
  const pad = kAfterPad.test(type) ? Number(config['pad_token_id'] ?? 1) + 1 : 0;
  const [hidden, heads] = [config['hidden_size'], config['num_attention_heads']] as [number, number];
  if (!Number.isInteger(hidden) || !Number.isInteger(heads)) unlike('config.json does not say its sizes');
  const head = config['head_dim'] ?? hidden / heads;
  const isTied = config['tie_word_embeddings'] ?? type.startsWith('gemma');
  const out = new Map<string, LlamaTensor | null>();
  let rows = 0;
  for (const { name, shape } of tensors) {
    const plain = name
      .replace(kPrefix, '')
      .replace(/\.gamma$/, '.weight')
      .replace(/\.beta$/, '.bias');
    const [, stem = '', ending = ''] = /^(.*)\.(weight|bias)$/.exec(plain) ?? [];
    const layer = /\.(\d+)\./.exec(stem)?.[1];
    const pattern = stem.replace(/\.\d+\./, '.N.');
    if (/rotary_emb\.|logit_scale$/.test(plain)) {
      out.set(name, null);
      continue;
    }
    // The pooler of a sentence encoder is in no vector.
    const isUnused = (isSentence && pattern === 'pooler.dense') || (isTied && pattern === 'lm_head' && family.rms === true);
    if (isUnused) {
      out.set(name, null);
      continue;
    }
    const known = Object.hasOwn(family.names, pattern) ? family.names[pattern] : undefined;
    if (known === undefined || ending === '') return unlike(`llama.cpp has no tensor like '${name}'`);
    const there: LlamaTensor = { name: `${layer === undefined ? known : known.replace('.N.', `.${layer}.`)}.${ending}` };
    if (known === 'token_embd') rows = shape[0] as number;
    if (known === 'token_types') there.exact = true;
    if (known === 'position_embd' && pad > 0) there.skip = pad;
    if (type === 'llama' && /attn_[qk]$/.test(known)) there.head = head;
    if (type.startsWith('gemma') && /norm$/.test(known)) there.add = 1;
    out.set(name, there);
  }
  if (rows === 0) unlike('it has no token embeddings');
  if (out.size === 0) unlike('it has no tensors');
  const { keys, tokenizer } = tokenizerKeys(files, rows);

  const { architecture } = family;
  const metadata: Metadata = [['general.architecture', architecture]];
  const add = (key: string, value: GgufValue | undefined) =>
    value !== undefined && metadata.push([`${architecture}.${key}`, value]);
  const number = (key: string): number =>
    Number.isInteger(config[key]) ? (config[key] as number) : unlike(`config.json has no ${key}`);
  const [epsilon, fallback] = family.epsilon;
  add('block_count', number('num_hidden_layers'));
  add('context_length', number('max_position_embeddings') - pad);
  add('embedding_length', hidden);
  add('feed_forward_length', number('intermediate_size'));
  add('attention.head_count', heads);
  add(`attention.layer_norm${family.rms ? '_rms' : ''}_epsilon`, { f32: config[epsilon] ?? fallback });
  add('vocab_size', rows);
  const pooling = poolingOf(files);
  if (pooling !== undefined) add('pooling_type', pooling);
  if (family.rms) {
    const rope: Json = config['rope_parameters']?.full_attention ?? config['rope_parameters'] ?? {};
    const scaling = config['rope_scaling'] ?? rope;
    const kind = scaling?.rope_type ?? scaling?.type ?? 'default';
    if (kind !== 'default') unlike(`its rotary positions are of the kind '${kind}'`);
    if (config['use_sliding_window'] === true) unlike('some of its layers see a window only');
    if (config['is_causal'] === false || config['use_bidirectional_attention'] === true) unlike('it reads in both directions');
    add('attention.head_count_kv', config['num_key_value_heads'] ?? heads);
    add('rope.freq_base', { f32: rope['rope_theta'] ?? config['rope_theta'] ?? 1e4 });
    add('rope.dimension_count', head);
    add('attention.key_length', head);
    add('attention.value_length', head);
  } else {
    add('attention.causal', false);
    metadata.push(['tokenizer.ggml.token_type_count', config['type_vocab_size'] ?? 2]);
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
  }
  metadata.push(['general.file_type', { f32: 0, f16: 1, q4: 2, q8: 7, mixed: 2 }[dtype] ?? 0], ['general.quantization_version', 2]);
  return { metadata: [...metadata, ...keys], tensors: out, tokenizer };
}

/** The layout, or why there is none. */
export function llamaLayout(
  files: readonly NamedBytes[],
  tensors: readonly { name: string; shape: readonly number[] }[],
  dtype: string,
): LlamaLayout | string {
  try {
    return layout(files, tensors, dtype);
  } catch (error) {
    if (error instanceof Unlike) return error.message;
    throw error;
  }
}
