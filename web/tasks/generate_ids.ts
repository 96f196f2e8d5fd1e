// The inner task behind model.generate(): rows of ids in, new ids out.
import { StateError } from '../core/errors.js';
import type { Task } from '../engine/task.js';
import type { GeneratedSequence } from '../generation/generated_sequence.js';
import { readGenerateOptions } from '../generation/generation_config.js';
import type { GenerateOptions } from '../generation/generation_types.js';
import type { PlainFormats } from '../generation/response_format.js';
import { generateAll, guideOf } from './generate_all.js';

export interface IdsOptions extends GenerateOptions {
  /** Whether the ids are sources of an encoder-decoder. */
  reads: boolean;
  /** The number that holds what is kept of the call's first row, of the next one the next; none: nothing is held. */
  hold?: number | undefined;
  formats?: PlainFormats | undefined;
}

export const generateIds: Task<Int32Array, IdsOptions, GeneratedSequence[]> = {
  head: 'causal_lm',
  prepare() {
    throw new StateError('generate: has no pipeline');
  },
  async run(engine, items, { reads, hold, formats, ...options }, context) {
    const before = reads ? items.map(() => new Int32Array(0)) : items;
    const first = hold === undefined ? undefined : hold + context.first;
    const plan = readGenerateOptions(engine, options);
    const guide = await guideOf(engine, formats, items.length, context, plan, reads);
    try {
      return await generateAll(engine, undefined, items, plan, context, before, guide, first);
    } finally {
      guide?.end();
    }
  },
};
