// A model whose encoder's files are in a folder of the repository.
import { openView } from './bytes_source.js';
import type { ModelSource } from './source.js';

/**
 * The model with the files of this folder at its root. held: files that are there already, in place of the source's. Files of folders
 * and those of `atRoot` stay where they are.
 */
export function openInFolder(
  source: ModelSource,
  folder: string,
  held: ReadonlyMap<string, Uint8Array>,
  atRoot: readonly string[],
): ModelSource {
  const at = (file: string) => (folder === '' || file.includes('/') || atRoot.includes(file) ? file : `${folder}/${file}`);
  return {
    name: source.name,
    phase: source.phase,
    routes: source.routes,
    open: async (file, signal) => {
      const bytes = held.get(file);
      return bytes ? openView(bytes) : source.open(at(file), signal);
    },
    size: async (file, signal) => held.get(file)?.length ?? source.size(at(file), signal),
    place: (file) => source.place(at(file)),
  };
}
