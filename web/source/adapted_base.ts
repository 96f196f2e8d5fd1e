// The base of an adapter's repository, which may have a tokenizer of its own.
import { openModel } from './model_source.js';
import type { ModelSource } from './source.js';
import type { ModelSpecifier, SourceOptions } from './types.js';

/** What an adapter needs of the model that is loaded for it. */
export interface AdaptedBase {
  /** The WebAssembly with all that is rare. */
  full: boolean;
  /** The repository, if its tokenizer is read. */
  tokenizer?: ModelSpecifier | undefined;
  revision?: string | undefined;
  /** Its whole matrices: one of the word embeddings says how many words there are. */
  words?: { adapted_names: string[]; adapted_rows: number[] };
}

/** The files of which one says that a repository has a tokenizer. */
export const kTokenizerFiles = ['tokenizer.json', 'tokenizer_config.json'];
const kOfTokenizer =
  /^(tokenizer.*|special_tokens_map\.json|added_tokens\.json|vocab\.(json|txt)|merges\.txt|.*\.(spm|jinja)|.*piece.*\.model|spm\.model)$/;

export function withTokenizerOf(base: ModelSource, { tokenizer, revision }: AdaptedBase, options: SourceOptions): ModelSource {
  if (tokenizer === undefined) return base;
  const own = openModel(tokenizer, { ...options, revision } as SourceOptions);
  const of = (file: string) => (kOfTokenizer.test(file) ? own : base);
  return {
    name: base.name,
    phase: base.phase,
    open: (file, signal) => of(file).open(file, signal),
    size: (file, signal) => of(file).size(file, signal),
    place: (file) => of(file).place(file),
    ...(base.others && { others: base.others.bind(base) }),
    accepted: async () => void (await Promise.all([base.accepted?.(), own.accepted?.()])),
    refused: async (error) => (await Promise.all([base.refused?.(error), own.refused?.(error)])).includes(true),
  };
}
