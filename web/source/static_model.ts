// Static embeddings, whose files differ from those of other models. What they leave to their library is written into config.json and
// the documents of sentence-transformers, as src/models/static_embedding.cpp and the loader read them.
// - model2vec (0.10.0, persistence.py): config.json, tokenizer.json and model.safetensors; or config_sentence_transformers.json in
//   place of config.json.
// - sentence-transformers (6.2.0): a StaticEmbedding module in modules.json, in a folder of its own or not, without a config.json.
import { ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { allInOrder } from '../core/signal.js';
import { openInFolder } from './folder_source.js';
import { readBeginning } from './gguf_file.js';
import {
  missingFile,
  moduleConfigs,
  modulePath,
  readJson,
  readOptional,
  readRequired,
  type ModelFiles,
  type NamedBytes,
  type Progress,
  type WeightFile,
} from './model_files.js';
import { headerBytes, headerTensors, kPrefixBytes, type TensorInfo } from './safetensors.js';
import type { ModelSource } from './source.js';

/** model2vec's default of max_length. */
const kModel2VecTokens = 512;

const kWeights = 'model.safetensors';
const kPoolingPath = 'pooling_of_static_embedding';
const kModules = 'modules.json';
const kPrompts = 'config_sentence_transformers.json';
/** Files that neither library reads. */
const kUnread = ['config.json', kModules, 'tokenizer_config.json', 'sentence_bert_config.json'];

interface Module {
  type: string;
  path: string;
}

/** The modules of modules.json; undefined if the file is absent or malformed. */
function modulesOf(files: readonly NamedBytes[]): Module[] | undefined {
  const bytes = files.find(([name]) => name === kModules)?.[1];
  try {
    const list: unknown = bytes && parseJson(new TextDecoder().decode(bytes));
    if (!Array.isArray(list)) return undefined;
    return list.map((one) => ({ type: String(one?.type), path: String(one?.path ?? '').replace(/^\.?\/+|^\.$|\/+$/g, '') }));
  } catch {
    return undefined;
  }
}

const isNamed = (name: string) => (module: Module | undefined) => module?.type.split('.').at(-1) === name;

/** The tensors of a weight file, which is returned unread; close() instead of reading it. */
export async function readTensors(
  { name, open }: WeightFile,
  signal: AbortSignal,
): Promise<{ tensors: TensorInfo[]; whole: WeightFile; close(): Promise<unknown> | undefined }> {
  let tensors: TensorInfo[] | undefined;
  const { whole, rest } = await readBeginning(open, name, signal, (bytes, isWhole) => {
    const size = open.size ?? (isWhole ? bytes.length : Number.MAX_SAFE_INTEGER);
    const end = kPrefixBytes + headerBytes(bytes.subarray(0, kPrefixBytes), size, name);
    if (bytes.length < end && !isWhole) return false;
    tensors = headerTensors(bytes.subarray(kPrefixBytes, end), name);
    return true;
  });
  delete whole.keep; // those who read the header here know no copies
  return { tensors: tensors as TensorInfo[], whole: { name, open: whole }, close: () => rest.return?.() };
}

/** config.json as src/models/static_embedding.cpp reads it. */
function toConfig(tensors: readonly TensorInfo[], skip_unknown: boolean): Record<string, unknown> {
  const sized = (name: string, rank: number) => {
    const tensor = tensors.find((one) => one.name === name);
    if (!tensor || (tensor.shape.length === rank && tensor.shape.every((size) => size > 0))) return tensor;
    const expected = rank === 1 ? 'a shape [tokens]' : 'a shape [tokens, components]';
    throw new ModelFormatError(`${kWeights}: tensor '${name}': expected ${expected}, found [${tensor.shape.join(', ')}]`);
  };
  const ofModel2Vec = sized('embeddings', 2);
  const table = ofModel2Vec ?? sized('embedding.weight', 2);
  if (!table) {
    const found = tensors.map(({ name }) => `'${name}'`).join(', ') || 'none';
    throw new ModelFormatError(`${kWeights}: expected a tensor 'embeddings' or 'embedding.weight', found ${found}`);
  }
  const [rows, hidden_size] = table.shape as [number, number];
  const mapping = ofModel2Vec && sized('mapping', 1);
  const weights = ofModel2Vec && sized('weights', 1);
  return {
    model_type: ofModel2Vec ? 'model2vec' : 'static-embedding',
    vocab_size: mapping?.shape[0] ?? rows,
    hidden_size,
    ...(mapping && { table_rows: rows }),
    token_weights: weights !== undefined,
    skip_unknown,
  };
}

/** What says how to read a model: its config, if model2vec wrote it, and its modules. */
interface Description {
  /** config.json or what stands for it; undefined: sentence-transformers', whose rules differ. */
  ofModel2Vec: Record<string, unknown> | undefined;
  modules: Module[];
}

/** The files of a StaticEmbedding in a folder of its own. */
async function openFolder(
  source: ModelSource,
  folder: string,
  small: readonly NamedBytes[],
  progress: Progress,
  signal: AbortSignal,
): Promise<ModelFiles> {
  modulePath(kModules, folder);
  const weights = `${folder}/${kWeights}`;
  const inModules = small.filter(([name]) => name === kModules).flatMap(([, bytes]) => moduleConfigs(bytes));
  const [open, [, tokenizer], ...configs] = await allInOrder([
    source.open(weights, signal),
    readRequired(source, `${folder}/tokenizer.json`, progress, signal),
    ...inModules.map((file) => readRequired(source, file, progress, signal)),
  ]);
  if (!open) throw missingFile(source, weights);
  return { files: [['tokenizer.json', tokenizer], ...configs, ...small], single: { name: kWeights, open } };
}

/** What describes a model without a config.json. small: the files that do. */
async function describeFolder(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
): Promise<Description & { small: NamedBytes[] }> {
  const read = [kModules, kPrompts].map((file) => readOptional(source, file, progress, signal));
  const small = (await Promise.all(read)).flat();
  const modules = modulesOf(small);
  const ofModel2Vec = modules ? undefined : readJson(small, kPrompts);
  if (!isNamed('StaticEmbedding')(modules?.[0]) && typeof ofModel2Vec?.['normalize'] !== 'boolean')
    throw missingFile(source, 'config.json');
  return { ofModel2Vec, modules: modules ?? [], small };
}

/** sentence-transformers' model with its Transformer in a folder, such as 0_Transformer; undefined: it has none. */
export async function openEncoderFolder(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
): Promise<ModelSource | undefined> {
  const small = await readOptional(source, kModules, progress, signal);
  const [first, ...others] = modulesOf(small) ?? [];
  if (isNamed('Router')(first) && !source.routes) return (await import('./routes.js')).openRoute(source, progress, signal);
  if (!first?.path || !isNamed('Transformer')(first)) return undefined;
  const modules = new TextEncoder().encode(JSON.stringify([{ ...first, path: '' }, ...others]));
  return openInFolder(source, modulePath(kModules, first.path), new Map([[kModules, modules]]), [kModules, kPrompts]);
}

/** A config.json for ModelLoader::describe, which needs no sizes. */
export async function describeStaticModel(
  source: ModelSource,
  config: readonly NamedBytes[],
  progress: Progress,
  signal: AbortSignal,
): Promise<NamedBytes[]> {
  if (config.length === 0) await describeFolder(source, progress, signal);
  const model_type = config.length > 0 ? 'model2vec' : 'static-embedding';
  return [['config.json', new TextEncoder().encode(JSON.stringify({ model_type, vocab_size: 1, hidden_size: 1 }))]];
}

/** opening: the files other than config.json, where they are in models that have one; it may fail. */
export async function openStaticModel(
  source: ModelSource,
  config: readonly NamedBytes[],
  opening: Promise<ModelFiles>,
  progress: Progress,
  signal: AbortSignal,
): Promise<ModelFiles> {
  let description: Description;
  let opened: ModelFiles;
  if (config.length > 0) {
    opened = await opening;
    description = { ofModel2Vec: readJson(config, 'config.json'), modules: modulesOf(opened.files) ?? [] };
  } else {
    const { small, ...found } = await describeFolder(source, progress, signal);
    const [first] = found.modules;
    opened = first?.path ? await openFolder(source, first.path, small, progress, signal) : await opening;
    description = found;
  }
  if (!opened.single) throw missingFile(source, kWeights);
  const { tensors, whole } = await readTensors(opened.single, signal);
  return { files: [...describe(tensors, description), ...opened.files.filter(([name]) => !kUnread.includes(name))], single: whole };
}

/** The documents that the loader reads. */
function describe(tensors: readonly TensorInfo[], { ofModel2Vec, modules }: Description): NamedBytes[] {
  const isNormalize = isNamed('Normalize');
  const after = modules.slice(1).filter((module) => !ofModel2Vec || !isNormalize(module));
  const { max_length = kModel2VecTokens } = ofModel2Vec ?? {};
  if (ofModel2Vec?.normalize === true) after.push({ type: 'Normalize', path: '' });
  const documents: Record<string, unknown> = {
    'config.json': toConfig(tensors, ofModel2Vec !== undefined),
    [kModules]: [{ type: 'Transformer', path: '' }, { type: 'Pooling', path: kPoolingPath }, ...after],
    [`${kPoolingPath}/config.json`]: { pooling_mode: 'mean' },
    ...(ofModel2Vec && { 'sentence_bert_config.json': max_length === null ? {} : { max_seq_length: max_length } }),
  };
  return Object.entries(documents).map(([name, value]) => [name, new TextEncoder().encode(JSON.stringify(value))]);
}
