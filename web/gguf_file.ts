// The tokenizer inside a GGUF file, of which no more is read than its metadata.
import { InputError } from './errors.js';
import { missingFile, type Progress } from './model_files.js';
import { openModel, type ModelSource } from './model_source.js';
import type { ModelSpecifier, SourceOptions } from './types.js';

/** Where a model argument names one GGUF file: its folder, and its name there. */
export function openGguf(
  model: ModelSpecifier | null | undefined,
  options: SourceOptions,
): { source: ModelSource; file: string } | undefined {
  if (typeof model === 'string' && /\.gguf$/i.test(model)) {
    const [, folder, file] = /^(.*[/\\])?([^/\\]+)$/.exec(model) ?? [];
    if (folder === undefined)
      throw new InputError(`model: expected a path ('./${model}') or a URL of a .gguf file, found '${model}'`);
    return { source: openModel(folder, options), file: file as string };
  }
  if (typeof model !== 'object' || model === null) return undefined;
  const names =
    model instanceof Map
      ? [...model.keys()]
      : 'length' in model
        ? Array.from(model as ArrayLike<{ name?: string }>, (file) => file.name)
        : Object.keys(model);
  const [name] = names;
  if (names.length !== 1 || typeof name !== 'string' || !/\.gguf$/i.test(name)) return undefined;
  return { source: openModel(model, options), file: name.replace(/^.*[/\\]/, '') };
}

const kFirstBytes = 1 << 22;

/** As much of a GGUF's beginning as accept() asks for: it says whether that was enough. */
export async function readGgufMetadata(
  { source, file }: { source: ModelSource; file: string },
  progress: Progress,
  signal: AbortSignal,
  accept: (bytes: Uint8Array, isWhole: boolean) => boolean,
): Promise<void> {
  const open = await source.open(file, signal);
  if (!open) throw missingFile(source, file);
  progress.initiate(file);
  let bytes = new Uint8Array(kFirstBytes);
  let size = 0;
  let next = kFirstBytes;
  for await (const chunk of open.chunks()) {
    while (size + chunk.length > bytes.length) {
      const larger = new Uint8Array(2 * bytes.length);
      larger.set(bytes.subarray(0, size));
      bytes = larger;
    }
    bytes.set(chunk, size);
    size += chunk.length;
    if (size >= next && accept(bytes.subarray(0, size), false)) return progress.done(file);
    if (size >= next) next = 2 * size;
  }
  accept(bytes.subarray(0, size), true);
  progress.done(file);
}
