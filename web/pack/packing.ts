// Packs a model as one GGUF file, with the repository's small files as metadata. First all headers are read, which say what the file will
// hold; then the weights pass through: rows that go are left out, the others quantized and written.
import { describe, InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { Breather } from '../core/signal.js';
import { concat, itemsOf } from '../core/texts.js';
import type { AbortSignalLike } from '../core/types.js';
import {
  bytesOf,
  ggufHeader,
  kBlock,
  kNativeBlock,
  padding,
  sizeOf,
  toBlocks,
  type BlockType,
  type GgufTensor,
  type GgufValue,
} from '../source/gguf_writer.js';
import type { NamedBytes } from '../source/model_files.js';
import { headerBytes, isFloat, kPrefixBytes, parseHeader, toFloats, type TensorInfo } from '../source/safetensors.js';
import type { ModelSpecifier } from '../source/types.js';
import type { TrainingTexts } from '../tokenizer/types.js';
import { cutLayers, jsonOf, layerOf, namedIds, rewrite, withIds, withLayer } from './pack_config.js';
import { llamaLayout } from './pack_llama.js';
import { tokenizerOf } from './pack_tokenizer.js';
import { chooseIds, cutTokenizer, readVocabulary } from './pack_vocabulary.js';
import type { PackParts } from './pack_parts.js';
import type { PackOptions, PackReport } from './pack_types.js';

export { comparePacked } from './pack_check.js';

type Json = Record<string, any>;
type Write = (chunk: Uint8Array) => void | Promise<void>;

/** Bytes of rows that are converted at once. */
const kPortionBytes = 1 << 18;

/** What becomes of a tensor. */
interface Planned extends GgufTensor {
  /** Its rows that stay, rising; undefined: all. */
  rows?: Int32Array | undefined;
  /** Its columns that stay; such a tensor is a vector. */
  columns?: Int32Array | undefined;
  /** Rows of a head, whose two halves take turns in the file. */
  head?: number | undefined;
  /** What is added to each value. */
  add?: number | undefined;
}

const isIndex = (file: string) => file.endsWith('.index.json');

/** The weight files that the index lists, in the order in which the engine reads them. */
function shardsOf(files: readonly NamedBytes[]): string[] {
  const index = files.find(([file]) => isIndex(file))?.[0] ?? '';
  const { weight_map } = (jsonOf(files, index) ?? {}) as { weight_map?: Record<string, string> };
  return [...new Set(Object.values(weight_map ?? {}))].sort();
}

/** The modules of modules.json. */
function modulesOf(files: readonly NamedBytes[]): { type: string; path: string }[] {
  const list: unknown = jsonOf(files, 'modules.json') ?? [];
  const isModule = (one: any) => typeof one?.type === 'string' && typeof (one.path ?? '') === 'string';
  if (Array.isArray(list) && list.every(isModule)) return list.map(({ type, path = '' }) => ({ type, path }));
  throw new ModelFormatError('modules.json: expected a list of modules, each with a type and a path, found others');
}

/** The weight files of the modules behind the pooling. */
const moduleWeights = (files: readonly NamedBytes[]): string[] =>
  modulesOf(files)
    .filter(({ type }) => /(^|\.)(Dense|LayerNorm)$/.test(type))
    .map(({ path }) => `${path}/model.safetensors`);

/** A module's tensors are prefixed with its folder. */
const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/') + 1);

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

/** Counts of each id in texts; and how many texts there were. */
async function countTokens(
  { AutoTokenizer }: PackParts,
  files: readonly NamedBytes[],
  corpus: TrainingTexts,
  ids: number,
  signal: AbortSignalLike | undefined,
): Promise<Float64Array> {
  const wrong = (what: string, found: unknown) =>
    new InputError(`pack: option 'corpus': expected ${what}, found ${describe(found)}`);
  const counts = new Float64Array(ids);
  const tokenizer = await AutoTokenizer.from_pretrained(new Map(files.filter(([name]) => !name.includes('/'))));
  const breather = new Breather();
  let held: string[] = [];
  let units = 0;
  const take = () => {
    const { input_ids } = tokenizer(held, { add_special_tokens: false, return_tensor: false });
    for (const text of input_ids) for (const id of text) if (id < ids) ++(counts[id] as number);
    [held, units] = [[], 0];
  };
  let number = 0;
  for await (const text of itemsOf(typeof corpus === 'string' ? [corpus] : corpus, signal, () => wrong('texts', corpus))) {
    if (typeof text !== 'string') throw wrong(`a string as text ${number}`, text);
    ++number;
    for (let from = 0; from < text.length;) {
      let end = from + kPortionBytes;
      if (end < text.length) end = text.lastIndexOf(' ', end) > from ? text.lastIndexOf(' ', end) : end;
      held.push(text.slice(from, end));
      from = end;
    }
    units += text.length;
    if (units < kPortionBytes) continue;
    take();
    await breather.breathe(signal);
  }
  if (held.length > 0) take();
  await tokenizer.dispose();
  if (counts.every((count) => count === 0)) throw wrong('texts', number === 0 ? 'none' : 'texts without tokens');
  return counts;
}

/** Everything that is known before the weights are read. */
interface Plan {
  files: NamedBytes[];
  /** By weight file and name in it; a tensor that is not here goes. */
  tensors: Map<string, Planned>;
  report: Omit<PackReport, 'bytes' | 'original_bytes' | 'tensors'>;
  metadata: readonly (readonly [string, GgufValue])[];
}

/** A tensor of the checkpoint, under the name that it has in the packed file. */
interface Found extends TensorInfo {
  key: string;
}

const keyOf = (file: string, name: string) => `${file} ${name}`;

/** The rows of the input embeddings. */
function embeddingRows(config: Json, tensors: readonly Found[]): number | undefined {
  const table = tensors.find(({ name, shape }) =>
    shape.length === 2 && /(word_embeddings|tok_embeddings|embed_tokens|wte|shared|embed_in|^embeddings?)(\.weight)?$/.test(name)); // prettier-ignore
  const { vocab_size } = { ...config['text_config'], ...config } as Json;
  return typeof vocab_size === 'number' ? vocab_size : table?.shape[0];
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
  const config = jsonOf(files, 'config.json') ?? {};
  if (!source) {
    const found = files.map(([name]) => name).find((name) => /vocab|\.model$|\.spm$/.test(name)) ?? 'no tokenizer';
    throw new UnsupportedError(
      `pack: option 'vocab': expected a model with a tokenizer.json, found ${found}; transformers' save_pretrained writes one`,
    );
  }
  const rows = embeddingRows(config, tensors);
  if (rows === undefined) throw new UnsupportedError("pack: option 'vocab': expected vocab_size in config.json, found none");
  const named = ['config.json', 'generation_config.json'].flatMap((name) => namedIds(jsonOf(files, name)));
  const vocabulary = readVocabulary(source, named);
  vocabulary.pieces.length = Math.min(vocabulary.pieces.length, rows);
  for (const id of vocabulary.kept) if (id >= rows) vocabulary.kept.delete(id);
  const counts = await countsOf(files, vocabulary.pieces.length);
  const ids = chooseIds(vocabulary, counts, size);
  const newIds = new Map([...ids].map((id, i) => [id, i]));
  const newId = (id: number) => newIds.get(id);
  const pad = config['pad_token_id'];
  if (kCountsFromPad.test(String(config['model_type'])) && Number.isInteger(pad) && newId(pad as number) !== pad) {
    throw new UnsupportedError(
      `pack: option 'vocab': expected pieces before pad_token_id ${pad} that stay, as positions count from it`,
    );
  }
  let out = rewrite(files, 'tokenizer.json', () => cutTokenizer(source, newId));
  for (const name of ['config.json', 'generation_config.json']) {
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

async function makePlan(
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
  const there = llamaLayout(files, [...tensors.values()], { dtype, pooler });
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

/** The rows of each head with its two halves in turns, as llama.cpp rotates neighbours. */
function takeTurns(values: Float32Array, head: number, shape: readonly number[]): Float32Array {
  const width = shape.length < 2 ? 1 : (shape[1] as number);
  const out = new Float32Array(values.length);
  for (let row = 0; row * width < values.length; ++row) {
    const at = row % head;
    const from = row - at + (at % 2) * (head / 2) + (at >> 1);
    out.set(values.subarray(from * width, (from + 1) * width), row * width);
  }
  return out;
}

/** Converts a tensor's bytes as they arrive, some rows at a time. */
class TensorStream {
  private readonly parts: Uint8Array[] = [];
  private held = 0;
  private row = 0;
  private next = 0; // in planned.rows
  private readonly rowBytes: number;

  constructor(
    private readonly info: TensorInfo,
    private readonly planned: Planned,
    private readonly write: Write,
  ) {
    const { shape, begin, end } = info;
    // What is converted at once, at least: a row, a head, or a whole vector.
    this.rowBytes =
      planned.columns || shape.length < 2 ? end - begin : ((end - begin) / (shape[0] as number)) * (planned.head ?? 1);
  }

  async push(bytes: Uint8Array): Promise<void> {
    this.parts.push(bytes.slice());
    this.held += bytes.length;
    if (this.held >= Math.max(kPortionBytes, this.rowBytes)) await this.convert();
  }

  async convert(): Promise<void> {
    if (this.held === 0 || this.rowBytes === 0) return;
    const bytes = concat(Uint8Array, this.parts);
    const count = Math.floor(bytes.length / this.rowBytes);
    const rest = bytes.slice(count * this.rowBytes);
    this.parts.splice(0, this.parts.length, ...(rest.length > 0 ? [rest] : []));
    this.held = rest.length;
    const { dtype, shape, name } = this.info;
    const values = toFloats({ name, dtype, shape, bytes: bytes.subarray(0, count * this.rowBytes) });
    const { head = 1, add, type } = this.planned;
    const kept = this.select(head > 1 ? takeTurns(values, head, shape) : values, count);
    if (add !== undefined) for (let i = 0; i < kept.length; ++i) kept[i] = (kept[i] as number) + add;
    await this.write(toBlocks(kept, type, this.planned.shape.at(-1) ?? 1));
    this.row += count;
  }

  private select(values: Float32Array, count: number): Float32Array {
    const { rows, columns } = this.planned;
    const kept = rows && this.info.shape.length === 1 ? rows : columns;
    if (kept) return Float32Array.from(kept, (id) => values[id] as number);
    if (!rows) return values;
    const width = values.length / count;
    let size = 0;
    for (; this.next < rows.length && (rows[this.next] as number) < this.row + count; ++this.next, size += width) {
      const from = ((rows[this.next] as number) - this.row) * width;
      values.copyWithin(size, from, from + width);
    }
    return values.subarray(0, size);
  }
}

/** Takes the weight files as they stream in, and passes what the plan keeps on. */
class Passage {
  private file = '';
  private fileBytes = 0;
  private taken = 0;
  private header: Uint8Array | undefined = new Uint8Array(0);
  private tensors: TensorInfo[] = [];
  private dataBegin = 0;
  private current = 0;
  private stream: TensorStream | undefined;
  /** Of all weight files. */
  read = 0;

  constructor(
    private readonly planOf: (file: string, name: string) => Planned | undefined,
    private readonly write: Write,
    private readonly endTensor: () => void | Promise<void>,
  ) {}

  begin(file: string, bytes: number): void {
    this.close();
    [this.file, this.fileBytes, this.taken, this.header, this.tensors, this.current] = [file, bytes, 0, new Uint8Array(0), [], 0];
    this.stream = undefined;
  }

  close(): void {
    if (this.file === '') return;
    if (this.header) headerBytes(this.header.subarray(0, kPrefixBytes), this.taken, this.file);
    if (this.taken !== this.fileBytes) {
      throw new ModelFormatError(`${this.file}: expected ${this.fileBytes} bytes, found ${this.taken} (cut off)`);
    }
  }

  async push(chunk: Uint8Array): Promise<void> {
    const at = this.taken;
    this.taken += chunk.length;
    this.read += chunk.length;
    let [bytes, begin] = [chunk, at];
    if (this.header) {
      const whole = concat(Uint8Array, [this.header, chunk]).slice();
      this.header = whole;
      if (whole.length < Math.min(kPrefixBytes, this.fileBytes)) return;
      const end = kPrefixBytes + headerBytes(whole.subarray(0, kPrefixBytes), this.fileBytes, this.file);
      if (whole.length < end) return;
      this.tensors = parseHeader(whole.subarray(kPrefixBytes, end), this.fileBytes, this.file);
      [this.header, this.dataBegin] = [undefined, end];
      [bytes, begin] = [whole.subarray(end), end];
    }
    let position = begin - this.dataBegin;
    for (;;) {
      const tensor = this.tensors[this.current];
      if (!tensor) return;
      if (position === tensor.begin && !this.stream) {
        const planned = this.planOf(this.file, tensor.name);
        if (planned) this.stream = new TensorStream(tensor, planned, this.write);
      }
      const part = bytes.subarray(0, tensor.end - position);
      if (part.length > 0) await this.stream?.push(part);
      bytes = bytes.subarray(part.length);
      position += part.length;
      if (position < tensor.end) return;
      if (this.stream) {
        await this.stream.convert();
        await this.endTensor();
      }
      this.stream = undefined;
      ++this.current;
    }
  }
}

function checkPack(options: PackOptions): void {
  const { vocab, corpus, layers } = options;
  if (vocab != null && corpus == null)
    throw new InputError("pack: option 'vocab': expected texts in option 'corpus', which say what pieces are used, found none");
  if (corpus != null && vocab == null) throw new InputError("pack: option 'corpus' has no effect without option 'vocab'");
  if (layers != null && !Array.isArray(layers))
    throw new InputError(`pack: option 'layers': expected an array of numbers, found ${describe(layers)}`);
}

/** Small files that only generation uses. */
const kGenerationFiles = ['generation_config.json', 'chat_template.jinja'];

export async function packTo(parts: PackParts, model: ModelSpecifier, write: Write, options: PackOptions): Promise<PackReport> {
  const { openGguf, loadFrom, openModel, openModelFiles, openWeightFile, streamWeights } = parts;
  const { readTensors } = await import('../source/static_model.js');
  checkPack(options);
  if (openGguf(model, options)) throw new InputError('pack: expected a model of safetensors or .bin files, found a GGUF file');
  let counts: Float64Array | undefined;
  const countsOf = async (files: readonly NamedBytes[], ids: number) =>
    (counts ??= await countTokens(parts, files, options.corpus as TrainingTexts, ids, options.signal ?? undefined));
  let bytes = 0;
  const out = async (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (chunk.length > 0) await write(chunk);
  };
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    if (bytes > 0)
      throw new ModelFormatError('pack: the cached weights were damaged, and part of the file was written; pack again');
    const { files, single, from = source } = await openModelFiles(source, progress, signal, kGenerationFiles);
    const names = [...(single ? [single.name] : shardsOf(files)), ...moduleWeights(files)];
    const found: Found[] = [];
    let first = single;
    for (const [i, wanted] of names.entries()) {
      const weights = i === 0 && single ? single : await openWeightFile(from, wanted, signal);
      const { tensors, whole, close } = await readTensors(weights, signal);
      if (i === 0 && single) first = whole;
      else await close();
      const { name: file } = weights;
      found.push(...tensors.map((tensor) => ({ ...tensor, name: folderOf(file) + tensor.name, key: keyOf(file, tensor.name) })));
    }
    const plan = await makePlan(files, found, options, countsOf, parts.blocksOf);
    const order = found.flatMap(({ key }) => plan.tensors.get(key) ?? []).filter(({ shape }) => sizeOf(shape) > 0);
    const metadata = [
      ...plan.metadata,
      ['wattn.dtype', options.dtype ?? 'q8'],
      ['wattn.files', plan.files.map(([name]) => name)],
      ['wattn.contents', plan.files.map(([, content]) => content)],
    ] as const;
    const header = ggufHeader(metadata, order);
    await out(header);
    const passage = new Passage(
      (file, name) => plan.tensors.get(keyOf(file, name)),
      out,
      () => out(padding(bytes - header.length)),
    );
    await streamWeights(from, names, first, passage, progress, signal);
    passage.close();
    const expected = order.reduce((sum, tensor) => sum + bytesOf(tensor) + padding(bytesOf(tensor)).length, header.length);
    if (bytes !== expected) throw new ModelFormatError(`pack: expected to write ${expected} bytes, wrote ${bytes}`);
    progress.ready();
    return { bytes, original_bytes: passage.read, tensors: order.length, ...plan.report };
  });
}
