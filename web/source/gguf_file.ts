// Models in one GGUF file, such as the bundled model: first the whole header is read, then the file is streamed.
import { bundledModel, packagedModel } from './bundled_model.js';
import { InputError, ModelFormatError } from '../core/errors.js';
import { accessOf } from './access.js';
import { hubListing } from './fetch_source.js';
import { onAbort } from '../core/signal.js';
import { checkSmall, missingFile, type ModelFiles, type NamedBytes, type Progress } from './model_files.js';
import type { HubGguf } from './hub_gguf.js';
import { isHubId, openModel } from './model_source.js';
import type { ModelSource, OpenFile } from './source.js';
import type { ModelSpecifier, SourceOptions } from './types.js';

interface GgufPlace {
  source: ModelSource;
  /** Empty until it is known which file of `hub` is meant. */
  file: string;
  hub?: HubGguf;
}

/** The repository, if a model argument is the hub id of one of GGUF files: 'org/name:Q4_K_M' or 'org/name-GGUF'. */
function openHubGguf(model: ModelSpecifier, options: SourceOptions): GgufPlace | undefined {
  const [id = '', tag] = typeof model === 'string' ? model.split(':') : [];
  if (!id.includes('/') || !isHubId(id) || !(tag || /-gguf$/i.test(id))) return undefined;
  return { source: openModel(id, options), file: '', hub: { id, tag, options } };
}

/** The folder and file name if a model argument names one GGUF file. No argument: the bundled model. */
export function openGguf(model: ModelSpecifier | null | undefined, options: SourceOptions): GgufPlace | undefined {
  if (model !== undefined && model !== null) return openHubGguf(model, options) ?? openOne(model, options, '.gguf');
  if (typeof options.revision === 'string') throw new InputError("option 'revision': the bundled model has no revisions");
  const { href } = bundledModel();
  const [, folder, file] = /^(.*\/)([^/]+)$/.exec(href) as unknown as [string, string, string];
  return { source: openModel(folder, { ...options, local_files_only: false }), file };
}

/** The folder and file name if a model argument names one file with this ending. */
export function openOne(model: ModelSpecifier, options: SourceOptions, ending: string): GgufPlace | undefined {
  const ends = (name: string) => name.toLowerCase().endsWith(ending);
  const isUrl = Object.prototype.toString.call(model) === '[object URL]';
  const text = isUrl ? (model as { href: string }).href : packagedModel(model);
  if (typeof text === 'string' && ends(text)) {
    const [, folder, file] = /^(.*[/\\])?([^/\\]+)$/.exec(text) ?? [];
    if (folder === undefined)
      throw new InputError(`model: expected a path ('./${text}') or a URL of a ${ending} file, found '${text}'`);
    return { source: openModel(folder, options), file: file as string };
  }
  if (typeof model !== 'object') return undefined;
  const names =
    model instanceof Map
      ? [...model.keys()]
      : 'length' in model
        ? Array.from(model as ArrayLike<{ name?: string }>, (file) => file.name)
        : Object.keys(model);
  const [name] = names;
  if (names.length !== 1 || typeof name !== 'string' || !ends(name)) return undefined;
  return { source: openModel(model, options), file: name.replace(/^.*[/\\]/, '') };
}

const kFirstBytes = 1 << 18;

interface Beginning {
  /** The beginning of the file, read so far. */
  bytes: Uint8Array;
  rest: AsyncIterator<Uint8Array>;
  /** The whole file, to read once. */
  whole: OpenFile;
}

/** Reads the beginning of an open file until accept() returns true. */
export async function readBeginning(
  open: OpenFile,
  file: string,
  signal: AbortSignal,
  accept: (bytes: Uint8Array, isWhole: boolean) => boolean | Promise<boolean>,
): Promise<Beginning> {
  const rest = open.chunks()[Symbol.asyncIterator]();
  // The scope's signal fires when the scope ends in any way: then an unfinished stream is closed.
  onAbort(signal, () => void rest.return?.().catch(() => {}));
  let bytes = new Uint8Array(kFirstBytes);
  let size = 0;
  let next = kFirstBytes;
  const beginning = (): Beginning => {
    const read = bytes.subarray(0, size);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield read;
      yield* { [Symbol.asyncIterator]: () => rest };
    }
    return { bytes: read, rest, whole: { ...open, chunks } };
  };
  for (;;) {
    const { done, value: chunk } = await rest.next();
    if (done) break;
    while (size + chunk.length > bytes.length) {
      const larger = new Uint8Array(2 * bytes.length);
      larger.set(bytes.subarray(0, size));
      bytes = larger;
    }
    bytes.set(chunk, size);
    size += chunk.length;
    if (size >= next && (await accept(bytes.subarray(0, size), false))) return beginning();
    if (size >= next) next = 2 * size;
    checkSmall(file, 'a header', size);
  }
  await accept(bytes.subarray(0, size), true);
  return beginning();
}

async function readGguf(
  place: GgufPlace,
  progress: Progress,
  signal: AbortSignal,
  accept: (bytes: Uint8Array, isWhole: boolean) => boolean | Promise<boolean>,
): Promise<Beginning> {
  const { source, hub } = place;
  if (hub)
    place.file ||= await (await import('./hub_gguf.js')).ggufFileOf(source, hub, hubListing(hub.id, accessOf(hub.options)), signal);
  const { file } = place;
  const open = await source.open(file, signal);
  if (!open) throw missingFile(source, file);
  progress.initiate(file);
  return readBeginning(open, file, signal, accept);
}

export async function readGgufMetadata(
  place: GgufPlace,
  progress: Progress,
  signal: AbortSignal,
  accept: (bytes: Uint8Array, isWhole: boolean) => boolean,
): Promise<void> {
  const { rest } = await readGguf(place, progress, signal, accept);
  await rest.return?.();
  progress.done(place.file);
}

/**
 * Reads the header, which becomes the small files of a repository, and opens the whole file as the weights. readHeader: returns those
 * files, or undefined if the header is incomplete.
 */
export async function openGgufModel(
  place: GgufPlace,
  progress: Progress,
  signal: AbortSignal,
  readHeader: (beginning: Uint8Array) => Promise<NamedBytes[] | undefined>,
): Promise<ModelFiles> {
  let documents: NamedBytes[] | undefined;
  const accept = async (beginning: Uint8Array) => (documents = await readHeader(beginning)) !== undefined;
  const { bytes, whole } = await readGguf(place, progress, signal, accept);
  const file = place.file.replace(/gguf$/i, 'gguf');
  if (!documents) throw new ModelFormatError(`${file}: expected a complete GGUF header, but the file ends inside it`);
  const has = (name: string) => documents?.some(([each]) => each === name);
  // Another program's file: models/gguf_config.cpp gives its chat template, but not the special tokens that the template names.
  if (has('tokenizer_config.json') && !has('tokenizer.json')) {
    const { ggufTokenizerFiles } = await import('./gguf_header.js');
    documents = [...documents.filter(([name]) => name !== 'tokenizer_config.json'), ...ggufTokenizerFiles(bytes)];
  }
  return { files: [[file, bytes], ...documents], single: { name: file, open: whole } };
}
