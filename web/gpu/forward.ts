// Forward passes over rows of ids, of AutoModel and its variants, that a device can run: those that ask for last states and logits alone.
import type { AbortSignalLike } from '../core/types.js';
import type { ForwardResult } from '../host/seam.js';
import type { Sequences } from './batch.js';

/** A packed batch, and what is asked for. */
export interface Pass {
  input_ids: Int32Array; // [tokens], like the next two
  token_type_ids: Int32Array;
  position_ids: Int32Array;
  seq_start: Int32Array; // [sequences + 1]
  logits: boolean;
  /** It asks for something else, too: hidden states, attentions, queries, a lens, patches, masks. */
  more: boolean;
}

/** What runs passes. undefined: the processor is to run it. */
export interface ForwardPasses {
  forward(pass: Pass, signal: AbortSignalLike | undefined): Promise<ForwardResult | undefined>;
}

/** Whether a device can run it: each sequence has positions from 0 on, and ids that there are. Errors are the processor's to find. */
export function runsOnDevice({ input_ids, position_ids, seq_start, more }: Pass, vocab: number, longest: number): boolean {
  if (more || input_ids.length === 0) return false;
  for (let i = 0; i + 1 < seq_start.length; ++i) {
    const begin = seq_start[i]!;
    const end = seq_start[i + 1]!;
    if (end === begin || end - begin > longest) return false;
    for (let t = begin; t < end; ++t) if (position_ids[t] !== t - begin) return false;
  }
  return input_ids.every((id) => id >= 0 && id < vocab);
}

/** A pass as the kernels read it. */
export const sequencesOfPass = ({ input_ids, token_type_ids, seq_start }: Pass): Sequences => ({
  ids: input_ids,
  typeIds: token_type_ids,
  starts: seq_start,
  skip: new Int32Array(seq_start.length - 1),
});
