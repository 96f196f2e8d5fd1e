// What a packed file will hold, known before the weights are read: which tensors and rows stay, in which format, and the small files.
import { InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { kBlock, kNativeBlock, type BlockType, type GgufTensor, type GgufValue } from '../source/gguf_writer.js';
import { hasLabelsEncoder, hasSchema, kSpanConfig, type NamedBytes } from '../source/model_files.js';
import { isFloat, type TensorInfo } from '../source/safetensors.js';
import { cutLayers, jsonOf, layerOf, namedIds, rewrite, withIds, withLayer } from './pack_config.js';
import { llamaLayout } from './pack_llama.js';
import { tokenizerOf } from './pack_tokenizer.js';
import { chooseIds, cutTokenizer, readVocabulary } from './pack_vocabulary.js';
import type { PackParts } from './pack_parts.js';
import type { PackOptions, PackReport } from './pack_types.js';

type Json = Record<string, any>;

/** What becomes of a tensor. */
export interface Planned extends GgufTensor {
  /** Its rows that stay, rising; undefined: all. */
  rows?: Int32Array | undefined;
  /** Its columns that stay; such a tensor is a vector. */
  columns?: Int32Array | undefined;
  /** Rows of a head, whose two halves take turns in the file. */
  head?: number | undefined;
  /** What is added to each value. */
  add?: number | undefined;
  /** Makes blocks of rows, where toBlocks() does not. */
  round?: ((values: Float32Array) => Promise<Uint8Array>) | undefined;
}

export const isIndex = (file: string) => file.endsWith('.index.json');

/** The modules of modules.json. */
export function modulesOf(files: readonly NamedBytes[]): { type: string; path: string }[] {
  const list: unknown = jsonOf(files, 'modules.json') ?? [];
  const isModule = (one: any) => typeof one?.type === 'string' && typeof (one.path ?? '') === 'string';
  if (Array.isArray(list) && list.every(isModule)) return list.map(({ type, path = '' }) => ({ type, path }));
  throw new ModelFormatError('modules.json: expected a list of modules, each with a type and a path, found others');
}

/** Matrices that bear 4 bits best: token embeddings, queries and keys, what narrows the feed-forward (docs/packing.md). */
const kBears4 =
  /(word_embeddings|tok_embeddings|embed_tokens|wte|shared)\.weight$|\.(query|key|[qk]_proj|[qk]_lin|q|k|down_proj|lin2|fc2|wo|(?<!attention\.)output\.dense|mlp\.(c_proj|Wo))\.weight$/;

/** Types of a tensor with `dtype: 'native'`, by what the engine says that it holds: HeldBlocks in src/io/weight_loader.h. */
const kNative = ['f32', 'native', 'native_table'] as const;

function typeOf(name: string, shape: readonly number[], dtype: NonNullable<PackOptions['dtype']>, held: number): BlockType {
  if (shape.length !== 2 || (dtype !== 'f16' && (shape[1] as number) % (dtype === 'native' ? kNativeBlock : kBlock) !== 0))
    return 'f32';
  if (dtype === 'native') return kNative[held] as BlockType;
  if (dtype !== 'mixed') return dtype;
  return kBears4.test(name) ? 'q4' : 'q8';
}

/** Everything that is known before the weights are read. */
export interface Plan {
  files: NamedBytes[];
  /** By weight file and name in it; a tensor that is not here goes. */
  tensors: Map<string, Planned>;
  report: Omit<PackReport, 'bytes' | 'original_bytes' | 'tensors'>;
  metadata: readonly (readonly [string, GgufValue])[];
}

/** A tensor of the checkpoint, under the name that it has in the packed file. */
export interface Found extends TensorInfo {
  key: string;
}

export const keyOf = (file: string, name: string) => `${file} ${name}`;

/** The rows of the input embeddings. */
function embeddingRows(config: Json, tensors: readonly Found[]): number | undefined {
  const table = tensors.find(({ name, shape }) =>
    shape.length === 2 && /(word_embeddings|tok_embeddings|embed_tokens|wte|shared|embed_in|^embeddings?)(\.weight)?$/.test(name)); // prettier-ignore
  const { vocab_size } = { ...config['text_config'], ...config } as Json;
  return typeof vocab_size === 'number' ? vocab_size : table?.shape[0];
}

/** Files with ids. */
const kConfigs = ['config.json', 'generation_config.json', kSpanConfig];

/** The configuration with the size of the vocabulary: that of GLiNER's encoder may be a part of gliner_config.json, which knows the table's rows. */
function encoderConfig(files: readonly NamedBytes[]): Json {
  const config = jsonOf(files, 'config.json') ?? {};
  const spans = jsonOf(files, kSpanConfig);
  if (!spans || hasSchema(spans)) return config;
  const { class_token_index, vocab_size, encoder_config } = spans;
  if (hasLabelsEncoder(spans)) {
    throw new UnsupportedError(
      "pack: option 'vocab': expected a model with one vocabulary, found a bi-encoder of GLiNER, whose labels have a tokenizer of their own; pack it without 'vocab'",
    );
  }
  if (!(class_token_index >= 0 && vocab_size > 0)) {
    throw new UnsupportedError(
      `pack: option 'vocab': expected class_token_index and vocab_size in ${kSpanConfig}, found none; gliner's save_pretrained writes them`,
    );
  }
  return { ...config, ...encoder_config, vocab_size };
}

/** Positions that follow the padding token's id. */
const kCountsFromPad = /roberta|camembert|mpnet|nllb|m2m/;

async function cutVocabulary(
  files: readonly NamedBytes[],
  tensors: readonly Found[],
  size: number,
  countsOf: (files: readonly NamedBytes[], ids: number) => Promise<Float64Array>,
): Promise<{ files: NamedBytes[]; rows: number; ids: Int32Array; kept_tokens: number }> {
  const source = tokenizerOf(files);
  const config = encoderConfig(files);
  if (!source) {
    const found = files.map(([name]) => name).find((name) => /vocab|\.model$|\.spm$/.test(name)) ?? 'no tokenizer';
    throw new UnsupportedError(
      `pack: option 'vocab': expected a model with a tokenizer.json, found ${found}; transformers' save_pretrained writes one`,
    );
  }
  const rows = embeddingRows(config, tensors);
  if (rows === undefined) throw new UnsupportedError("pack: option 'vocab': expected vocab_size in config.json, found none");
  const named = kConfigs.flatMap((name) => namedIds(jsonOf(files, name)));
  const vocabulary = readVocabulary(source, named);
  vocabulary.pieces.length = Math.min(vocabulary.pieces.length, rows);
  for (const id of vocabulary.kept) if (id >= rows) vocabulary.kept.delete(id);
  const counts = await countsOf(files, vocabulary.pieces.length);
  const ids = chooseIds(vocabulary, counts, size);
  const newIds = new Map([...ids].map((id, i) => [id, i]));
  const newId = (id: number) => newIds.get(id);
  const pad = config['pad_token_id'];
  if (kCountsFromPad.test(String(config['model_type'])) && Number.isInteger(pad) && newId(pad as number) !== pad) {
    throw new UnsupportedError(`pack: option 'vocab': cannot drop pieces before pad_token_id ${pad}, as positions count from it`);
  }
  let out = rewrite(files, 'tokenizer.json', () => cutTokenizer(source, newId));
  for (const name of kConfigs) {
    out = rewrite(out, name, (json) => ({
      ...withIds(json, newId, rows, ids.length),
      ...(name === 'config.json' && !json['text_config'] && { vocab_size: ids.length }),
    }));
  }
  out = rewrite(out, 'tokenizer_config.json', (json) => ({
    ...json,
    ...(json['added_tokens_decoder'] && {
      added_tokens_decoder: Object.fromEntries(
        (Object.entries(json['added_tokens_decoder']) as [string, unknown][]).flatMap(([id, token]) => {
          const other = newId(Number(id));
          return other === undefined ? [] : [[other, token]];
        }),
      ),
    }),
  }));
  let [kept, all] = [0, 0];
  counts.forEach((count, id) => {
    all += count;
    if (newIds.has(id)) kept += count;
  });
  return { files: out, rows, ids, kept_tokens: kept / all };
}

/** Whether a tensor has a row for each piece: embeddings, and heads over the vocabulary. */
const isOverVocabulary = ({ name, shape }: Found, rows: number): boolean =>
  shape[0] === rows && layerOf(name) === undefined && !/position|token_type|segment|wpe|norm/i.test(name);

export async function makePlan(
  small: readonly NamedBytes[],
  all: readonly Found[],
  options: PackOptions,
  countsOf: (files: readonly NamedBytes[], ids: number) => Promise<Float64Array>,
  blocksOf: PackParts['blocksOf'],
): Promise<Plan> {
  const { dtype = 'q8', vocab, layers, dim } = options;
  // Integers are buffers, such as position ids, except in static embeddings.
  const config = jsonOf(small, 'config.json') ?? {};
  const isStatic = config['skip_unknown'] !== undefined;
  const kept = all.filter((tensor) => isStatic || isFloat(tensor.dtype));
  if (kept.length === 0) throw new UnsupportedError('pack: expected tensors of F32, F16, BF16 or F64, found none');
  let files = small.filter(([name]) => !isIndex(name));
  const report: Omit<Plan['report'], 'llama_cpp'> = {};
  const numbered = new Set(kept.map(({ name }) => layerOf(name)).filter((layer) => layer !== undefined));
  if (numbered.size > 0) report.layers = layers?.length ?? numbered.size;
  if (layers) {
    const shapes = new Map(kept.map(({ name, shape }) => [name, shape.join('x')]));
    files = rewrite(files, 'config.json', (json) => cutLayers(json, shapes, layers));
  }
  const cut = vocab == null ? undefined : await cutVocabulary(files, kept, vocab, countsOf);
  if (cut) {
    files = cut.files;
    Object.assign(report, { vocab: cut.ids.length, kept_tokens: cut.kept_tokens });
    if (!kept.some((tensor) => isOverVocabulary(tensor, cut.rows)))
      throw new UnsupportedError(`pack: option 'vocab': expected an embedding of ${cut.rows} rows, found none`);
  }
  if (dim != null) {
    files = cutVectors(files, dim);
    report.dim = dim;
  }
  const held =
    dtype === 'native'
      ? await blocksOf(
          small,
          kept.map(({ name }) => name),
        )
      : undefined;
  const tensors = new Map<string, Planned>();
  for (const [i, found] of kept.entries()) {
    const layer = layerOf(found.name);
    const place = layer === undefined || !layers ? layer : layers.indexOf(layer);
    if (place === -1) continue;
    const rows = cut && isOverVocabulary(found, cut.rows) ? cut.ids : undefined;
    const columns =
      cut && !rows && found.shape.length === 2 && found.shape[0] === 1 && found.shape[1] === cut.rows ? cut.ids : undefined;
    const shape = rows ? [rows.length, ...found.shape.slice(1)] : columns ? [1, columns.length] : found.shape;
    const name = place === undefined || place === layer ? found.name : withLayer(found.name, place);
    tensors.set(found.key, { name, shape, type: typeOf(found.name, shape, dtype, held?.[i] ?? 0), rows, columns });
  }
  const pooler = vocab == null && !layers && dim == null;
  const ofSpans = files.some(([name]) => name === kSpanConfig);
  const there = ofSpans ? 'llama.cpp has no such head' : llamaLayout(files, [...tensors.values()], { dtype, pooler });
  if (typeof there === 'string') {
    return {
      files,
      tensors,
      report: { ...report, llama_cpp: null, why_not: there },
      metadata: [['general.architecture', 'wattn']],
    };
  }
  for (const [key, planned] of tensors) {
    const { name, skip = 0, head, add, exact } = there.tensors.get(planned.name) ?? {};
    if (name === undefined) tensors.delete(key);
    else {
      const shape = [(planned.shape[0] as number) - skip, ...planned.shape.slice(1)];
      const rows = skip > 0 ? Int32Array.from({ length: shape[0] as number }, (_, i) => i + skip) : planned.rows;
      tensors.set(key, { ...planned, name, shape, rows, head, add, type: exact ? 'f32' : planned.type });
    }
  }
  const { tokenizer, metadata } = there;
  files = rewrite(files, 'tokenizer.json', () => tokenizer);
  const llama =
    dtype === 'native'
      ? { llama_cpp: null, why_not: 'llama.cpp does not read the data type native' }
      : { llama_cpp: String(metadata[0]?.[1]) };
  return { files, tensors, report: { ...report, ...llama }, metadata };
}

/** The sentence vector's first components. */
function cutVectors(files: readonly NamedBytes[], dim: number): NamedBytes[] {
  const name = 'config_sentence_transformers.json';
  const modules = modulesOf(files);
  const at = modules.findIndex(({ type }) => /(^|\.)Pooling$/.test(type));
  if (at < 0) throw new UnsupportedError("pack: option 'dim': expected a model with a pooling (modules.json), found none");
  const { hidden_size, d_model, dim: width } = jsonOf(files, 'config.json') ?? {};
  const denses = modules.filter(({ type }) => /(^|\.)Dense$/.test(type)).map(({ path }) => jsonOf(files, `${path}/config.json`));
  const own = (jsonOf(files, name)?.['truncate_dim'] ??
    denses.at(-1)?.['out_features'] ??
    hidden_size ??
    d_model ??
    width) as number;
  if (dim > own) throw new InputError(`pack: option 'dim': expected at most the vector's ${own} components, found ${dim}`);
  const present: NamedBytes[] = files.some(([file]) => file === name) ? [] : [[name, new TextEncoder().encode('{}')]];
  // As sentence-transformers' encode(.., normalize_embeddings=True), which follows truncation: by itself it leaves the cut vector as it is.
  const isUnit = /(^|\.)Normalize$/.test(modules.at(-1)?.type ?? '');
  return rewrite([...files, ...present], name, (json) => ({
    ...json,
    truncate_dim: dim,
    ...(isUnit && { normalize_embeddings: true }),
  }));
}
