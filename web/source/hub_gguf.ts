// Which file of a hub's GGUF repository a model argument names: 'org/name-GGUF:Q4_K_M'. Loaded with the first such model.
import { env } from '../core/env.js';
import { ModelFormatError, NetworkError, UnsupportedError } from '../core/errors.js';
import type { ModelSource, OpenFile } from './source.js';
import type { SourceOptions } from './types.js';

/** tag: what follows the colon; undefined: one of `kUsual`. */
export interface HubGguf {
  id: string;
  tag: string | undefined;
  options: SourceOptions;
}

/** The first of these is taken where none is named, as llama.cpp does. */
const kUsual = ['Q4_K_M', 'Q8_0'];

/** A part of a larger file, what belongs to another model, and types that src/io/more_gguf_blocks.cpp only knows by name. */
const kNoModel = /-\d{5}-of-\d{5}\.gguf$|(^|[-_./])(mmproj|imatrix)[-_.]/i;
const kNotRead = /(^|[-_.])(IQ[123]|NVFP4|Q1_0)/i;

/** The file with this tag in its name; of several the shortest. */
function fileWith(tag: string, files: readonly string[]): string | undefined {
  const label = new RegExp(`(^|[-_./])${tag.replace(/[^\w-]/g, '\\$&')}(?=[-.])`, 'i');
  return files.filter((file) => label.test(file)).sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0];
}

export const firstOf = (tags: readonly string[], files: readonly string[]): string | undefined =>
  tags.map((tag) => fileWith(tag, files)).find((file) => file !== undefined);

export const isModel = (file: string) => /\.gguf$/i.test(file) && !kNoModel.test(file);

const kMostLetters = 1 << 24;

/** A file of a repository, and its size if the hub says that. */
export interface ListedFile {
  name: string;
  bytes: number | undefined;
}

/** All files of the repository; undefined: the hub does not say. open: of what the hub says of it. */
export async function listed(open: OpenFile | undefined, where: string): Promise<ListedFile[] | undefined> {
  if (!open) return undefined;
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of open.chunks()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > kMostLetters) throw new ModelFormatError(`${where}: expected a list of files, found a longer text`);
  }
  let siblings: unknown;
  try {
    siblings = (JSON.parse(text) as { siblings?: unknown } | null)?.siblings;
  } catch (cause) {
    throw new ModelFormatError(`${where}: ${(cause as Error).message}`, { cause });
  }
  if (!Array.isArray(siblings)) throw new ModelFormatError(`${where}: expected the list 'siblings', found none`);
  return siblings.flatMap((file): ListedFile[] => {
    const { rfilename: name, size } = (file ?? {}) as { rfilename?: unknown; size?: unknown };
    return typeof name === 'string' ? [{ name, bytes: typeof size === 'number' ? size : undefined }] : [];
  });
}

/** The files of a repository that the cache has. */
export async function keptFiles(source: ModelSource): Promise<string[]> {
  const folder = source.place('');
  return ((await source.kept?.().catch(() => [])) ?? [])
    .filter((address) => address.startsWith(folder))
    .map((address) => decodeURIComponent(address.slice(folder.length)));
}

/** The names that most such files have, for places that cannot list theirs. */
const usualNames = (id: string, tags: readonly string[]) => {
  const name = id.replace(/^.*\//, '').replace(/-gguf$/i, '');
  return tags.flatMap((tag) => [`${name}-${tag}.gguf`, `${name}-${tag}.gguf`.toLowerCase(), `${name}.${tag}.gguf`]);
};

async function usual(source: ModelSource, id: string, tags: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  for (const file of usualNames(id, tags)) {
    if ((await source.size(file, signal).catch(() => undefined)) !== undefined) return file;
  }
  return undefined;
}

/**
 * The file that is meant. A cached one needs no list, so that it loads without a network, too. hub: what lists files (hubListing of fetch_source.ts): this
 * module imports little of what every page loads.
 */
export async function ggufFileOf(
  source: ModelSource,
  { id, tag, options }: HubGguf,
  hub: ModelSource,
  signal: AbortSignal,
): Promise<string> {
  const tags = tag === undefined ? kUsual : [tag];
  const isHub = !(env.localModelPath && env.allowLocalModels);
  const local = !isHub || options.local_files_only === true || !env.allowRemoteModels;
  const folder = source.place('');
  const kept = (await keptFiles(source)).filter(isModel);
  const known = firstOf(local ? tags : tags.slice(0, 1), kept);
  if (known !== undefined) return known;
  let all: string[] | undefined;
  if (!local) {
    const revision = options.revision ?? 'main';
    try {
      all = (await listed(await hub.open(revision, signal), hub.place(revision)))?.map(({ name }) => name);
    } catch (error) {
      const file = error instanceof NetworkError && error.status === undefined ? firstOf(tags, kept) : undefined;
      if (file === undefined) throw error; // else there is no network
      return file;
    }
  }
  const files = (all ?? kept).filter(isModel);
  const file = firstOf(tags, files) ?? (all ? undefined : await usual(source, id, tags, signal)); // a folder, or a mirror without a list
  if (file !== undefined && !kNotRead.test(file)) return file;
  const read = files.filter((each) => !kNotRead.test(each));
  const loads = read.length > 0 ? `; these load: ${read.join(', ')}` : '';
  if (file !== undefined) throw new UnsupportedError(`${file}: expected a supported type, found ${tag}${loads}`);
  const part = all?.find((each) => kNoModel.test(each) && firstOf(tags, [each]) !== undefined);
  const found = part === undefined ? 'found none' : `found it only in parts (${part})`;
  throw new ModelFormatError(`model: expected a GGUF file ${tags.join(' or ')} in '${id}', ${found}; looked in ${folder}${loads}`);
}
