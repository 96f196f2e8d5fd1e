// What encode_batch asks its workers (batches.ts), which serve_batches.ts answers.
import type { env } from '../core/env.js';
import type { SeamEncodeOptions } from '../host/seam.js';
import type { NamedBytes } from '../source/model_files.js';

/** Texts of one job. */
export interface BatchPart {
  texts: readonly string[];
  pairs: readonly string[] | undefined;
  seam: SeamEncodeOptions;
}

/** The ids of all texts in a row, and how many each has. */
export interface EncodedPart {
  ids: Int32Array;
  lengths: Int32Array;
}

/** The first request loads the tokenizer. */
export type BatchRequest =
  { type: 'tokenizer'; files: readonly NamedBytes[]; env: Partial<typeof env> } | ({ type: 'encode' } & BatchPart);
