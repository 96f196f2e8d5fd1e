// A smaller file of the same model in its own repository: a .gguf file of llama.cpp's or of wattn's. Loaded when one is asked for.
import { env } from '../core/env.js';
import { NetworkError } from '../core/errors.js';
import { TaskScope } from '../core/signal.js';
import { warnOnce } from '../core/warn.js';
import { accessOf } from './access.js';
import { fileKey } from './cache_entries.js';
import { hubListing } from './fetch_source.js';
import { firstOf, isModel, keptFiles, listed, type ListedFile } from './hub_gguf.js';
import { isHubId, openModel } from './model_source.js';
import type { ModelSource } from './source.js';
import type { ModelSpecifier, SourceOptions } from './types.js';

/** What the files are called, the best first, by the data type of the weights in memory. W8 is wattn's own (docs/packing.md). */
const kTags: Record<string, readonly string[]> = {
  q8: ['W8', 'Q8_0'],
  q4: ['Q4_K_M', 'Q4_0', 'mixed'],
  f16: ['F16', 'BF16'],
  q16: ['F16', 'BF16'],
  f32: ['F32'],
};
const kAnyTags = ['W8', 'Q8_0', 'mixed', 'Q4_K_M', 'Q4_0', 'F16', 'BF16', 'F32'];
const tagsOf = (dtype: string | null | undefined) => kTags[dtype === 'fp32' ? 'f32' : (dtype ?? '')] ?? kAnyTags;

/** What `wattn pack --hub` calls its file, with a tag. Folders and servers without a list are asked for it. */
export const packedName = (tag: string): string => `model-${tag}.gguf`;

async function named(source: ModelSource, tags: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  for (const file of tags.map(packedName)) if ((await source.size(file, signal)) !== undefined) return file;
  return undefined;
}

const cachedFile = async (source: ModelSource, tags: readonly string[]) => firstOf(tags, (await keptFiles(source)).filter(isModel));

const isRemote = (model: ModelSpecifier, { local_files_only }: SourceOptions): model is string =>
  typeof model === 'string' && isHubId(model) && !(env.localModelPath && env.allowLocalModels) && local_files_only !== true && env.allowRemoteModels; // prettier-ignore

async function listOf(model: string, options: SourceOptions, signal: AbortSignal): Promise<ListedFile[] | undefined> {
  const revision = options.revision ?? 'main';
  const hub = hubListing(model, accessOf(options), true);
  return listed(await hub.open(revision, signal), hub.place(revision));
}

const isWeights = (file: string) => /^([^/]+\/)?(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)$/.test(file);

/** The packed file of a model for this data type, and its source. undefined: there is none, which is said once. */
export async function openPacked(
  model: ModelSpecifier,
  options: SourceOptions & { dtype?: string | null | undefined },
): Promise<{ source: ModelSource; file: string } | undefined> {
  const source = openModel(model, options);
  const tags = tagsOf(options.dtype);
  const scope = new TaskScope(options.signal ?? undefined);
  try {
    const known = await cachedFile(source, tags);
    if (known !== undefined) return { source, file: known };
    if (source.kept && !isRemote(model, options)) return undefined; // the network is forbidden
    const all = isRemote(model, options) ? await listOf(model, options, scope.signal) : undefined;
    const file = all ? firstOf(tags, all.map(({ name }) => name).filter(isModel)) : await named(source, tags, scope.signal);
    if (file !== undefined) return { source, file };
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error; // without a list, the load says what is wrong
    return undefined;
  } finally {
    scope.close();
  }
  warnOnce(
    `option 'prefer': '${source.name}' has no packed file (${tags.map(packedName).join(', ')} or of such a name); its weights are loaded`,
  );
  return undefined;
}

/** The file that `wattn pack --hub` wrote into a folder without other weights; undefined: there is none. */
export async function findPacked(source: ModelSource, options: SourceOptions): Promise<string | undefined> {
  const scope = new TaskScope(options.signal ?? undefined);
  try {
    return (await cachedFile(source, kAnyTags)) ?? (await named(source, kAnyTags, scope.signal));
  } finally {
    scope.close();
  }
}

/** What a load would download. */
export interface Sizes {
  bytes?: number;
  packed?: { file: string; bytes: number };
}

/** Sizes of a hub's model, from one request; {} where the hub does not say them, or may not be asked, or the weights are in the cache. */
export async function sizesOf(source: ModelSource, options: SourceOptions, signal: AbortSignal): Promise<Sizes> {
  const model = source.name;
  const isKept = (await keptFiles(source)).some((file) => isWeights(fileKey(file)) || isModel(file));
  if (isKept || !isRemote(model, options)) return {};
  const all = (await listOf(model, options, signal).catch(() => undefined)) ?? [];
  const weights = all.filter(({ name }) => isWeights(name));
  const has = (ending: RegExp) => weights.some(({ name }) => !name.includes('/') && ending.test(name));
  // As transformers, wattn reads .bin files only where there are no safetensors.
  const read = weights.filter(({ name }) => name.endsWith(has(/\.safetensors$/) ? '.safetensors' : '.bin'));
  const isWhole = read.length > 0 && read.every(({ bytes }) => bytes !== undefined);
  const bytes = read.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const name = firstOf(tagsOf('q8'), all.map((file) => file.name).filter(isModel));
  const packed = all.find((file) => file.name === name);
  const isSmaller = packed?.bytes !== undefined && (!isWhole || packed.bytes < bytes);
  return {
    ...(isWhole && { bytes }),
    ...(isSmaller && { packed: { file: packed.name, bytes: packed.bytes as number } }),
  };
}
