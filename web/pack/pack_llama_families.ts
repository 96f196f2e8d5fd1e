// The architectures that llama.cpp and wattn share: how each names its tensors, and the keys of its own. What llama.cpp computes otherwise than config.json
// says, or cannot say, is refused here (its src/models has a file for each).
import type { GgufValue } from '../source/gguf_writer.js';
import { kindsByPeriod } from './pack_config.js';
import { unlike } from './pack_llama_tokenizer.js';

type Json = Record<string, any>;
type Names = Readonly<Record<string, string>>;
type Keys = readonly (readonly [key: string, value: GgufValue | undefined])[];
type Tensors = readonly { name: string }[];

const kBertLayers = {
  'attention.self.query': 'attn_q',
  'attention.self.key': 'attn_k',
  'attention.self.value': 'attn_v',
  'attention.output.dense': 'attn_output',
  'attention.output.LayerNorm': 'attn_output_norm',
};
const inLayers = (prefix: string, names: Names, to = 'blk.N.'): Names =>
  Object.fromEntries(Object.entries(names).map(([name, known]) => [prefix + name, to + known]));
const kBertEmbeddings = {
  'embeddings.word_embeddings': 'token_embd',
  'embeddings.position_embeddings': 'position_embd',
  'embeddings.token_type_embeddings': 'token_types',
  'embeddings.LayerNorm': 'token_embd_norm',
};
const kBert = {
  ...kBertEmbeddings,
  ...inLayers('encoder.layer.N.', {
    ...kBertLayers,
    'intermediate.dense': 'ffn_up',
    'output.dense': 'ffn_down',
    'output.LayerNorm': 'layer_output_norm',
  }),
};
const kRobertaHead = { 'classifier.dense': 'cls', 'classifier.out_proj': 'cls.output' };
const kDistilBert = {
  ...kBertEmbeddings,
  ...inLayers('transformer.layer.N.', {
    'attention.q_lin': 'attn_q',
    'attention.k_lin': 'attn_k',
    'attention.v_lin': 'attn_v',
    'attention.out_lin': 'attn_output',
    sa_layer_norm: 'attn_output_norm',
    'ffn.lin1': 'ffn_up',
    'ffn.lin2': 'ffn_down',
    output_layer_norm: 'layer_output_norm',
  }),
};
const kJina = {
  ...kBertEmbeddings,
  ...inLayers('encoder.layer.N.', {
    ...kBertLayers,
    'mlp.gated_layers': 'ffn_up', // the gate's rows first
    'mlp.wo': 'ffn_down',
    'mlp.layernorm': 'layer_output_norm',
  }),
};
const kNomic = {
  ...kBertEmbeddings,
  emb_ln: 'token_embd_norm',
  ...inLayers('encoder.layers.N.', {
    'attn.Wqkv': 'attn_qkv',
    'attn.out_proj': 'attn_output',
    norm1: 'attn_output_norm',
    'mlp.fc11': 'ffn_up',
    'mlp.fc12': 'ffn_gate',
    'mlp.fc2': 'ffn_down',
    norm2: 'layer_output_norm',
  }),
};
const kModernBert = {
  'embeddings.tok_embeddings': 'token_embd',
  'embeddings.norm': 'token_embd_norm',
  ...inLayers('layers.N.', {
    attn_norm: 'attn_norm',
    'attn.Wqkv': 'attn_qkv',
    'attn.Wo': 'attn_output',
    mlp_norm: 'ffn_norm',
    'mlp.Wi': 'ffn_up', // the gate's rows first
    'mlp.Wo': 'ffn_down',
  }),
  final_norm: 'output_norm',
  'head.dense': 'cls',
  'head.norm': 'cls.norm',
  classifier: 'cls.output',
};
const kLlama = {
  embed_tokens: 'token_embd',
  ...inLayers('layers.N.', {
    'self_attn.q_proj': 'attn_q',
    'self_attn.k_proj': 'attn_k',
    'self_attn.v_proj': 'attn_v',
    'self_attn.o_proj': 'attn_output',
    'self_attn.q_norm': 'attn_q_norm',
    'self_attn.k_norm': 'attn_k_norm',
    input_layernorm: 'attn_norm',
    'mlp.gate_proj': 'ffn_gate',
    'mlp.up_proj': 'ffn_up',
    'mlp.down_proj': 'ffn_down',
    post_attention_layernorm: 'ffn_norm',
  }),
  norm: 'output_norm',
  lm_head: 'output',
};
const kGemma2 = {
  ...kLlama,
  ...inLayers('layers.N.', {
    post_attention_layernorm: 'post_attention_norm',
    pre_feedforward_layernorm: 'ffn_norm',
    post_feedforward_layernorm: 'post_ffw_norm',
  }),
};
/** sentence-transformers' Dense modules of EmbeddingGemma, by their folders. */
const kDense = { '2_Dense/linear': 'dense_2', '3_Dense/linear': 'dense_3' };
const t5Stack = (from: string, to: string, feedForward: number): Names => ({
  ...inLayers(
    `${from}.block.N.layer.`,
    {
      ...Object.fromEntries(['q', 'k', 'v', 'o'].map((role) => [`0.SelfAttention.${role}`, `attn_${role}`])),
      '0.SelfAttention.relative_attention_bias': 'attn_rel_b',
      '0.layer_norm': 'attn_norm',
      [`${feedForward}.DenseReluDense.wi`]: 'ffn_up',
      [`${feedForward}.DenseReluDense.wi_0`]: 'ffn_gate',
      [`${feedForward}.DenseReluDense.wi_1`]: 'ffn_up',
      [`${feedForward}.DenseReluDense.wo`]: 'ffn_down',
      [`${feedForward}.layer_norm`]: 'ffn_norm',
    },
    `${to}.blk.N.`,
  ),
  [`${from}.final_layer_norm`]: `${to}.output_norm`,
});
const kT5 = {
  shared: 'token_embd',
  ...t5Stack('encoder', 'enc', 1),
  ...t5Stack('decoder', 'dec', 2),
  ...inLayers(
    'decoder.block.N.layer.1.',
    {
      ...Object.fromEntries(['q', 'k', 'v', 'o'].map((role) => [`EncDecAttention.${role}`, `cross_attn_${role}`])),
      layer_norm: 'cross_attn_norm',
    },
    'dec.blk.N.',
  ),
  lm_head: 'output',
};

/** config.json's keys. */
const kSizes = {
  hidden: 'hidden_size',
  layers: 'num_hidden_layers',
  heads: 'num_attention_heads',
  head: 'head_dim',
  inner: 'intermediate_size',
  positions: 'max_position_embeddings',
};

/** A model's architecture there. */
export interface Family {
  architecture: string;
  names: Names;
  /** Which of them may have a bias; undefined: all. */
  biases?: RegExp;
  /** Tensors of the checkpoint that repeat others. */
  unused?: RegExp;
  /** The key of config.json for the epsilon of norms, and its default. */
  epsilon: readonly [key: string, fallback: number];
  rms: boolean;
  causal: boolean;
  /** Whether a head over the vocabulary is the token embeddings. */
  tied: boolean;
  sizes: typeof kSizes;
  /** The longest text, where config.json allows more or says nothing. */
  positions?: number;
  /** The name of tokenizer.ggml.pre for words as GPT-2 splits them. */
  gpt2: string;
  keys: Keys;
}

/** An encoder like BERT but for these. */
const family = (own: Partial<Family>): Family => ({
  ...{ architecture: 'bert', names: kBert, epsilon: ['layer_norm_eps', 1e-12], rms: false, causal: false, tied: false },
  ...{ sizes: kSizes, gpt2: 'gpt-2', keys: [] },
  ...own,
});

function expectActivation(config: Json, key: string, fallback: string, known: RegExp): void {
  const found = String(config[key] ?? fallback);
  if (!known.test(found)) unlike(`its activation is '${found}'`);
}
const expectGelu = (config: Json, key = 'hidden_act') => expectActivation(config, key, 'gelu', /^gelu(_new|_fast|_pytorch_tanh)?$/);

/** attention.sliding_window_pattern: every how many layers one attends to everything; else which ones do not. */
function windowPattern(config: Json, isFirst: boolean): GgufValue {
  const layers = Number(config['num_hidden_layers']);
  const kinds: string[] | undefined = config['layer_types'] ?? kindsByPeriod(config, layers);
  if (!kinds) return unlike('config.json does not name its sliding-window layers');
  const windows = Array.from({ length: layers }, (_, i) => kinds[i] === 'sliding_attention');
  for (let every = 0; every <= layers; ++every) {
    const isWindow = (i: number) => every === 0 || (isFirst ? i % every !== 0 : i % every !== every - 1);
    if (windows.every((window, i) => window === isWindow(i))) return every;
  }
  return windows;
}

function bertFamily(type: string, config: Json): Family {
  const positions = config['position_embedding_type'] ?? 'absolute';
  if (type === 'bert' && positions === 'alibi') {
    if (config['feed_forward_type'] !== 'geglu') unlike(`its feed-forward is '${config['feed_forward_type']}'`);
    return family({ architecture: 'jina-bert-v2', names: kJina, unused: /^pooler\.dense$/ });
  }
  if (positions !== 'absolute') unlike(`its positions are '${positions}'`);
  expectGelu(config);
  const names = { ...kBert, ...(type === 'bert' ? { 'pooler.dense': 'cls', classifier: 'cls.output' } : kRobertaHead) };
  return family({ names, gpt2: type === 'bert' ? 'gpt-2' : 'roberta-bpe' });
}

function distilBert(config: Json): Family {
  expectGelu(config, 'activation');
  const sizes = { ...kSizes, hidden: 'dim', layers: 'n_layers', heads: 'n_heads', inner: 'hidden_dim' };
  return family({ names: kDistilBert, epsilon: ['', 1e-12], sizes });
}

function nomicBert(config: Json): Family {
  const isFirst = config['n_embd'] !== undefined; // the first files have GPT-2's keys
  if (isFirst) expectActivation(config, 'activation_function', 'swiglu', /^swiglu$/);
  else expectActivation(config, 'hidden_act', 'silu', /^silu$/);
  const rope: Json = config['rope_parameters'] ?? {};
  const theta = isFirst ? (config['rotary_emb_base'] ?? 10000) : (rope['rope_theta'] ?? config['rope_theta'] ?? 1000);
  const firstSizes = { hidden: 'n_embd', layers: 'n_layer', heads: 'n_head', inner: 'n_inner', positions: 'n_positions' };
  // With scaling it reads more than it was trained for, as long as texts are longer.
  const isScaled = isFirst && config['n_positions'] > (config['max_trained_positions'] ?? 2048);
  return family({
    ...{ architecture: 'nomic-bert', names: kNomic, biases: /norm$/, sizes: { ...kSizes, ...(isFirst && firstSizes) } },
    epsilon: [isFirst ? 'layer_norm_epsilon' : 'layer_norm_eps', 1e-12],
    ...(isScaled && { positions: (config['max_trained_positions'] as number | undefined) ?? 2048 }),
    keys: [['rope.freq_base', { f32: theta }]],
  });
}

function modernBert(config: Json): Family {
  expectGelu(config, 'hidden_activation');
  const rope: Json = config['rope_parameters'] ?? {};
  const pooling: string = config['classifier_pooling'] ?? 'cls';
  return family({
    ...{ architecture: 'modern-bert', names: kModernBert, biases: /^cls\.output$/, gpt2: 'modern-bert' },
    epsilon: ['norm_eps', 1e-5],
    keys: [
      ['hidden_activation', 'gelu'],
      ['attention.sliding_window', config['local_attention'] ?? 128],
      ['attention.sliding_window_pattern', windowPattern(config, true)],
      ['rope.freq_base', { f32: rope['full_attention']?.rope_theta ?? config['global_rope_theta'] ?? 160_000 }],
      ['rope.freq_base_swa', { f32: rope['sliding_attention']?.rope_theta ?? config['local_rope_theta'] ?? 10_000 }],
      ['classifier.pooling_type', pooling === 'mean' ? 1 : 2],
    ],
  });
}

function t5(type: string, config: Json, tensors: Tensors): Family {
  expectActivation(config, 'feed_forward_proj', 'relu', type === 't5' ? /^(relu|gated-gelu)$/ : /^gated-gelu$/);
  if ((config['relative_attention_max_distance'] ?? 128) !== 128) unlike('the maximum distance of its positions is not 128');
  const isPair = tensors.some(({ name }) => name.includes('decoder.block.'));
  const layers = config['num_decoder_layers'] ?? config['num_layers'];
  return family({
    ...{ architecture: isPair ? 't5' : 't5encoder', names: kT5, rms: true, causal: true },
    epsilon: ['layer_norm_epsilon', 1e-6],
    tied: type === 't5' && (config['scale_decoder_outputs'] ?? config['tie_word_embeddings'] ?? true),
    unused: /^(en|de)coder\.embed_tokens$|EncDecAttention\.relative_attention_bias$/,
    sizes: {
      ...kSizes,
      hidden: 'd_model',
      layers: 'num_layers',
      heads: 'num_heads',
      head: 'd_kv',
      inner: 'd_ff',
      positions: 'n_positions',
    },
    ...(config['n_positions'] === undefined && { positions: 512 }),
    keys: [
      ['attention.layer_norm_epsilon', { f32: config['layer_norm_epsilon'] ?? 1e-6 }],
      ['attention.key_length', config['d_kv']],
      ['attention.value_length', config['d_kv']],
      ['attention.relative_buckets_count', config['relative_attention_num_buckets'] ?? 32],
      ['decoder_block_count', isPair ? layers : undefined],
      ['decoder_start_token_id', isPair ? (config['decoder_start_token_id'] ?? 0) : undefined],
    ],
  });
}

/** What Gemma 2 and 3 have beside Llama's keys. */
function gemmaKeys(type: string, config: Json, head: number): Keys {
  expectActivation(config, 'hidden_activation', 'gelu_pytorch_tanh', /^gelu_pytorch_tanh$/);
  const caps = [config['attn_logit_softcapping'], config['final_logit_softcapping']] as (number | undefined | null)[];
  const [scores, logits] = caps.map((cap, i) => (cap === undefined && type === 'gemma2' ? [50, 30][i] : cap));
  if (type === 'gemma2' ? scores === null || logits === null : scores != null) unlike('it caps scores in another way');
  if ((config['query_pre_attn_scalar'] ?? 256) !== head) unlike('its scores are not divided by the square root of head_dim');
  const rope: Json = config['rope_parameters']?.sliding_attention ?? {};
  return [
    ['attention.sliding_window', config['sliding_window'] ?? 4096],
    ['attention.sliding_window_pattern', windowPattern(config, false)],
    ['rope.freq_base_swa', type === 'gemma2' ? undefined : { f32: rope['rope_theta'] ?? config['rope_local_base_freq'] ?? 1e4 }],
    ['attn_logit_softcapping', scores == null ? undefined : { f32: scores }],
    ['final_logit_softcapping', logits == null ? undefined : { f32: logits }],
  ];
}

function llama(type: string, config: Json): Family {
  const isLater = type === 'gemma2' || type === 'gemma3_text';
  const isBoth = type === 'eurobert' || (type === 'gemma3_text' && config['use_bidirectional_attention'] === true);
  const rope: Json = config['rope_parameters']?.full_attention ?? config['rope_parameters'] ?? {};
  const scaling = config['rope_scaling'] ?? rope;
  const kind = scaling?.rope_type ?? scaling?.type ?? 'default';
  if (kind !== 'default') unlike(`its rotary positions have the type '${kind}'`);
  if (config['use_sliding_window'] === true) unlike('some of its layers have a sliding window');
  if (!isBoth && (config['is_causal'] === false || config['use_bidirectional_attention'] === true))
    unlike('it reads in both directions');
  if (!type.startsWith('gemma')) expectActivation(config, 'hidden_act', 'silu', /^silu$/);
  const heads = config['num_attention_heads'];
  const head = config['head_dim'] ?? (type.startsWith('gemma') ? 256 : config['hidden_size'] / heads);
  const architecture = type === 'gemma3_text' ? (isBoth ? 'gemma-embedding' : 'gemma3') : type;
  const { lm_head: _, ...withoutHead } = kLlama;
  const names = isLater ? { ...kGemma2, ...(isBoth && kDense) } : type === 'eurobert' ? withoutHead : kLlama;
  return family({
    ...{ architecture, names, rms: true, causal: !isBoth, biases: /^(?!dense)/ },
    epsilon: ['rms_norm_eps', 1e-6],
    tied: config['tie_word_embeddings'] ?? type.startsWith('gemma'),
    keys: [
      ['attention.head_count_kv', config['num_key_value_heads'] ?? heads],
      ['rope.freq_base', { f32: rope['rope_theta'] ?? config['rope_theta'] ?? (type === 'gemma3_text' ? 1e6 : 1e4) }],
      ['rope.dimension_count', head],
      ['attention.key_length', head],
      ['attention.value_length', head],
      ...(isLater ? gemmaKeys(type, config, head) : []),
    ],
  });
}

/** The architecture there of a model with these tensors. */
export function familyOf(config: Json, tensors: Tensors): Family {
  const type = String(config['model_type']);
  if (/^(bert|roberta|xlm-roberta|camembert)$/.test(type)) return bertFamily(type, config);
  if (type === 'distilbert') return distilBert(config);
  if (type === 'nomic_bert') return nomicBert(config);
  if (type === 'modernbert') return modernBert(config);
  if (/^(t5|mt5|umt5)$/.test(type)) return t5(type, config, tensors);
  if (/^(llama|qwen2|qwen3|eurobert|gemma|gemma2|gemma3_text)$/.test(type)) return llama(type, config);
  return unlike(`wattn has no names of llama.cpp for '${type}'`);
}
