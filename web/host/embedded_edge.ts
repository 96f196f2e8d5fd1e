// In place of embedded.ts in bundles for the edge, where WebAssembly is compiled before the program starts: modules that the entries imported.
import { UnsupportedError } from '../core/errors.js';
import { shared } from '../core/shared.js';
import type { EmbeddedFile } from './wasm_loader.js';

/** The entries that import a file other than wattn's own. */
const kEntries: Record<string, string> = { nn: 'wattn/nn', tokenizer: 'wattn/tokenizer' };

export const isEmbedded = (file: string): boolean => shared.embedded?.[file] !== undefined;

/** wattn-<file>.wasm. */
export function embedded(file: string): EmbeddedFile {
  const module = shared.embedded?.[file];
  if (module !== undefined) return { kind: 'simd', file, module };
  if (file === 'constraints') {
    throw new UnsupportedError('response_format: the edge build has no constraints; generate in a page, Node or Deno');
  }
  throw new UnsupportedError(`wasm: wattn-${file}.wasm is not in this bundle: import '${kEntries[file] ?? 'wattn'}', too`);
}
