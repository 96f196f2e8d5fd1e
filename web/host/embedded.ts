// The .wasm files inside a script (wattn/inline, wattn/inline-train). In bundles for the edge, embedded_edge.ts takes this file's place.
import { UnsupportedError } from '../core/errors.js';
import { shared } from '../core/shared.js';
import { constraints, models, nn, search } from './inline_files.js';
import { unpack } from './unpack.js';
import type { EmbeddedFile } from './wasm_loader.js';

const kInside: Record<string, string> = { simd: models, nn, search, constraints };
const packedOf = (file: string) => kInside[file] ?? (shared.embedded?.[file] as string | undefined);

/** Whether a file is in a script that was loaded. */
export const isEmbedded = (file: string): boolean => packedOf(file) !== undefined;

/** wattn-<file>.wasm. */
export function embedded(file: string): EmbeddedFile {
  const packed = packedOf(file);
  if (packed !== undefined) return { kind: 'simd', file, bytes: () => unpack(packed) };
  throw new UnsupportedError(
    `wattn/inline: wattn-${file}.wasm is not included; use the entry wattn/inline-train or wattn, or pass its bytes or URL in the option 'wasm'`,
  );
}
