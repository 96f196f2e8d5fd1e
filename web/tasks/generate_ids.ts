// The inner task behind model.generate(): rows of ids in, new ids out.
import { StateError } from '../core/errors.js';
import type { Task } from '../engine/task.js';
import type { SeamSequence } from '../host/seam.js';
import { readGenerateOptions } from '../generation/generation_config.js';
import type { GenerateOptions } from '../generation/generation_types.js';
import type { PlainFormats } from '../generation/response_format.js';
import { generateAll, guideOf } from './text_generation.js';

export interface IdsOptions extends GenerateOptions {
  /** Whether the ids are sources of an encoder-decoder. */
  reads: boolean;
  /** The number that holds what is kept of the call's first row, of the next one the next; none: nothing is held. */
  hold?: number | undefined;
  formats?: PlainFormats | undefined;
}

export const generateIds: Task<Int32Array, IdsOptions, SeamSequence[]> = {
  head: 'causal_lm',
  prepare() {
    throw new StateError('generate: has no pipeline');
  },
  async run(engine, items, { reads, hold, formats, ...options }, context) {
    const before = reads ? items.map(() => new Int32Array(0)) : items;
    const first = hold === undefined ? undefined : hold + context.first;
    const seam = readGenerateOptions(engine, options);
    const guide = await guideOf(engine, formats, items.length, context, seam, reads);
    try {
      return await generateAll(engine, undefined, items, seam, context, before, guide, first);
    } finally {
      guide?.end();
    }
  },
};
