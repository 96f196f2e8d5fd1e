// Static embeddings from a loaded encoder: model2vec's distill (0.10.0, distill/distillation.py and inference.py).
import { plainCallback } from '../core/callback.js';
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { floatToHalf } from '../core/half.js';
import { readOptions, type Rules } from '../core/options.js';
import { Breather } from '../core/signal.js';
import type { AbortSignalLike } from '../core/types.js';
import type { AnyEngine } from '../engine/engine.js';
import { engineOf } from '../engine/loaded.js';
import { withVocabulary } from '../source/gguf_header.js';
import { readJson, specialToken } from '../source/model_files.js';
import { principalComponents } from '../vectors/pca.js';
import { distilTokenizer, type DistilledTokenizer } from './distill_tokenizer.js';
import type { DistilledPipeline, DistillOptions, DistillProgress, FeatureExtractionPipeline } from '../tasks/embed_types.js';
import type { Result, Run, RunOptions } from '../tasks/forward.js';
import { pipeline } from '../tasks/pipeline.js';

const kRules: Rules = {
  pca_dims: 'any',
  sif_coefficient: 'any',
  token_remove_pattern: 'any',
  pooling: ['mean', 'first', 'last', 'pooler'],
  quantize_to: ['float16', 'float32', 'int8'],
  progress_callback: 'function',
  signal: 'signal',
};

const kUnused = '\\[unused\\d+\\]';
/** model2vec's default of max_length. */
const kMostTokens = 512;
/** Tokens of a crossing, so that signals are noticed soon. */
const kRunTokens = 512;

interface Settings {
  pca_dims: number | 'auto' | null;
  sif_coefficient: number | null;
  remove: RegExp | undefined;
  pooling: 'mean' | 'first' | 'last' | 'pooler';
  quantize_to: 'float16' | 'float32' | 'int8';
}

function readSettings(options: DistillOptions): Settings {
  options = readOptions('distill', options, kRules);
  const { pca_dims = 256, sif_coefficient = 1e-4, token_remove_pattern = kUnused } = options;
  const wrong = (name: string, expected: string, found: unknown) =>
    new InputError(`distill: option '${name}': expected ${expected}, found ${describe(found)}`);
  const isCount = typeof pca_dims === 'number' && pca_dims > 0 && (pca_dims < 1 || Number.isInteger(pca_dims));
  if (pca_dims !== null && pca_dims !== 'auto' && !isCount)
    throw wrong('pca_dims', "a whole number of at least 1, a share of the variance below 1, 'auto' or null", pca_dims);
  if (sif_coefficient !== null && !(typeof sif_coefficient === 'number' && sif_coefficient > 0 && sif_coefficient < 1))
    throw wrong('sif_coefficient', 'a number above 0 and below 1, or null', sif_coefficient);
  const { source, flags } =
    token_remove_pattern instanceof RegExp ? token_remove_pattern : { source: token_remove_pattern ?? '', flags: '' };
  if (typeof source !== 'string') throw wrong('token_remove_pattern', 'a regular expression or null', source);
  let remove: RegExp | undefined;
  try {
    if (token_remove_pattern !== null) remove = new RegExp(`^(?:${source})`, flags.replace(/[gy]/g, ''));
  } catch {
    throw wrong('token_remove_pattern', 'a regular expression', source);
  }
  return { pca_dims, sif_coefficient, remove, pooling: options.pooling ?? 'mean', quantize_to: options.quantize_to ?? 'float16' };
}

function readTokenizer(engine: AnyEngine, remove: RegExp | undefined): DistilledTokenizer {
  const source = readJson(withVocabulary(engine.files), 'tokenizer.json');
  if (!source) throw new UnsupportedError('distill: expected a model with a tokenizer.json, found another kind of vocabulary');
  const roles = { unk: specialToken(engine.files, 'unk_token'), pad: specialToken(engine.files, 'pad_token') };
  const made = distilTokenizer(source, roles, remove, kMostTokens);
  if (made.ids.length === 0)
    throw new InputError(
      "distill: option 'token_remove_pattern': expected one that leaves some tokens, found one that removes all",
    );
  return made;
}

/** The sequences of some tokens, packed end to end. */
function toRun({ before, after }: DistilledTokenizer, ids: readonly number[]): Run {
  const length = before.length + 1 + after.length;
  return {
    rows: [...ids.keys()],
    input_ids: Int32Array.from(ids.flatMap((id) => [...before, id, ...after])),
    token_type_ids: new Int32Array(length * ids.length),
    position_ids: Int32Array.from({ length: length * ids.length }, (_, i) => i % length),
    seq_start: Int32Array.from({ length: ids.length + 1 }, (_, i) => i * length),
    patches: [],
  };
}

/** The vector of each token, [tokens, width]. What is not finite becomes what numpy.nan_to_num makes of it. */
async function encode(
  engine: AnyEngine,
  tokenizer: DistilledTokenizer,
  pooling: Settings['pooling'],
  report: (done: number) => void,
  signal: AbortSignalLike | undefined,
): Promise<Float32Array> {
  const { ids, before, after } = tokenizer;
  const { hidden_size: width, token_budget } = engine.info;
  const length = before.length + 1 + after.length;
  const atOnce = Math.max(1, Math.floor(Math.min(kRunTokens, token_budget) / length));
  const request: RunOptions = { hidden_states: false, attentions: false, qkv: false, logits: false, logit_lens: 0 };
  const out = new Float32Array(ids.length * width);
  for (let begin = 0; begin < ids.length; begin += atOnce) {
    const some = ids.slice(begin, begin + atOnce);
    const adapter = engine.adapters?.active;
    const [result] = (await engine.run('forward', [toRun(tokenizer, some)], { ...request, adapter }, signal)) as [Result];
    const { last_hidden_state: states, pooler_output: pooled } = result;
    if (pooling === 'pooler' && pooled.length === 0)
      throw new UnsupportedError("distill: option 'pooling': expected a model with a pooler for 'pooler', found none");
    for (let i = 0; i < some.length; ++i) {
      const to = (begin + i) * width;
      for (let j = 0; j < width; ++j) {
        let value = 0;
        if (pooling === 'pooler') value = pooled[i * width + j] as number;
        else if (pooling === 'mean') {
          for (let t = 0; t < length; ++t) value += states[(i * length + t) * width + j] as number;
          value /= length;
        } else value = states[(i * length + (pooling === 'first' ? 0 : length - 1)) * width + j] as number;
        out[to + j] = Number.isNaN(value) ? 0 : Math.max(-3.4028234663852886e38, Math.min(3.4028234663852886e38, value));
      }
    }
    report(Math.min(ids.length, begin + atOnce));
  }
  return out;
}

/** Each token's factor, by Zipf's law: the token of rank r occurs as often as 1 / (r + 1). */
function toWeights(tokens: number, coefficient: number | null): Float64Array {
  if (coefficient === null) return new Float64Array(tokens).fill(1);
  const inverse = Float64Array.from({ length: tokens }, (_, i) => 1 / (i + 2));
  const total = inverse.reduce((sum, value) => sum + value, 0);
  return inverse.map((value) => coefficient / (coefficient + value / total));
}

function roundToEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** The value of a half-precision number near value. */
function half(value: number): number {
  const bits = floatToHalf(value);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

/** As model2vec's quantize_embeddings. */
function store(rows: Float64Array, quantize_to: Settings['quantize_to']): { dtype: string; data: Uint8Array } {
  const bytes = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  if (quantize_to === 'float32') return { dtype: 'F32', data: bytes(Float32Array.from(rows)) };
  if (quantize_to === 'float16') return { dtype: 'F16', data: bytes(Uint16Array.from(rows, floatToHalf)) };
  const scale = rows.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
  const toInt = (value: number) => Math.max(-127, Math.min(127, roundToEven(half(half(value) / scale))));
  return { dtype: 'I8', data: bytes(Int8Array.from(rows, scale === 0 ? () => 0 : toInt)) };
}

/** A safetensors file of one tensor. */
function tensorFile(name: string, dtype: string, shape: number[], data: Uint8Array): Uint8Array {
  const header = JSON.stringify({ [name]: { dtype, shape, data_offsets: [0, data.length] } });
  const size = Math.ceil(header.length / 8) * 8;
  const out = new Uint8Array(8 + size + data.length);
  new DataView(out.buffer).setUint32(0, size, true);
  out.set(new TextEncoder().encode(header.padEnd(size)), 8);
  out.set(data, 8 + size);
  return out;
}

export async function distill(extractor: FeatureExtractionPipeline, options: DistillOptions): Promise<DistilledPipeline> {
  const settings = readSettings(options);
  const engine = typeof extractor === 'function' ? engineOf(extractor) : undefined;
  if (!engine || extractor.task !== 'feature-extraction')
    throw new InputError(`distill: expected a pipeline of 'feature-extraction', found ${describe(extractor)}`);
  if (engine.info.num_hidden_layers === 0) throw new InputError('distill: expected an encoder, found static embeddings');
  const signal = options.signal ?? undefined;
  const tell = plainCallback<[DistillProgress]>(options.progress_callback);
  const tokenizer = readTokenizer(engine, settings.remove);
  const tokens = tokenizer.ids.length;
  let width = engine.info.hidden_size;
  const encoded = await encode(
    engine,
    tokenizer,
    settings.pooling,
    (done) => tell({ phase: 'encode', done, total: tokens }),
    signal,
  );

  const { pca_dims, sif_coefficient, quantize_to, pooling } = settings;
  const components = pca_dims === 'auto' ? width : Math.min(pca_dims ?? 0, width);
  let rows: Float64Array;
  if (pca_dims === null || components >= tokens) {
    rows = Float64Array.from(encoded);
  } else {
    const breather = new Breather();
    // Covariance, eigenvectors (three loops) and scores each breathe about this often.
    const total = Math.ceil(tokens / 4) + 4 * width + tokens;
    let done = 0;
    let told = 0;
    const breathe = () => {
      if (++done - told > total / 100) tell({ phase: 'reduce', done: Math.min((told = done), total), total });
      return breather.breathe(signal);
    };
    ({ dims: width, scores: rows } = await principalComponents(encoded, width, components, breathe));
    tell({ phase: 'reduce', done: total, total });
  }
  const weights = toWeights(tokens, sif_coefficient);
  rows.forEach((value, i) => (rows[i] = value * (weights[Math.floor(i / width)] as number)));

  const { dtype, data } = store(rows, quantize_to);
  const text = (value: unknown, indent?: number) => new TextEncoder().encode(JSON.stringify(value, null, indent));
  const kind = (name: string) => `sentence_transformers.models.${name}`;
  const files: Record<string, Uint8Array> = {
    'config.json': text(
      {
        model_type: 'model2vec',
        architectures: ['StaticModel'],
        apply_pca: pca_dims,
        sif_coefficient,
        hidden_dim: width,
        seq_length: 1_000_000,
        normalize: true,
        pooling,
        max_length: kMostTokens,
        embedding_dtype: quantize_to,
      },
      4,
    ),
    'modules.json': text(
      [
        { idx: 0, name: '0', path: '.', type: kind('StaticEmbedding') },
        { idx: 1, name: '1', path: '1_Normalize', type: kind('Normalize') },
      ],
      4,
    ),
    'tokenizer.json': text(tokenizer.tokenizer),
    'model.safetensors': tensorFile('embeddings', dtype, [tokens, width], data),
  };
  const made = await pipeline('feature-extraction', new Map(Object.entries(files)), { signal });
  return Object.assign(made, { save: () => ({ ...files }) });
}
