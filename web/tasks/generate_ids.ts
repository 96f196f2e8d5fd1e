// The inner task behind model.generate(): rows of ids in, new ids out.
import { StateError } from '../core/errors.js';
import type { Task } from '../engine/task.js';
import type { SeamSequence } from '../host/seam.js';
import { readGenerateOptions } from '../generation/generation_config.js';
import type { GenerateOptions } from '../generation/generation_types.js';
import { generateAll } from './text_generation.js';

export interface IdsOptions extends GenerateOptions {
  /** Whether the ids are sources of an encoder-decoder. */
  reads: boolean;
  /** The number that holds what is kept of the call's first row, of the next one the next; none: nothing is held. */
  hold?: number | undefined;
}

export const generateIds: Task<Int32Array, IdsOptions, SeamSequence[]> = {
  head: 'causal_lm',
  prepare() {
    throw new StateError('generate: has no pipeline');
  },
  run(engine, items, { reads, hold, ...options }, context) {
    const before = reads ? items.map(() => new Int32Array(0)) : items;
    const first = hold === undefined ? undefined : hold + context.first;
    return generateAll(engine, undefined, items, readGenerateOptions(engine, options), context, before, undefined, first);
  },
};
