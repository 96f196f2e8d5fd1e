// Chunks of texts beside the engine, for an index whose model may run in a worker.
import { ownCopy } from '../core/options.js';
import { Breather } from '../core/signal.js';
import { kArrays } from '../host/text_calls.js';
import type { Task } from '../engine/task.js';
import { cutText } from '../tokenizer/chunk.js';

/** before: what is put before each chunk when it is embedded; it takes its share of the tokens. */
interface Item {
  text: string;
  before: string;
}

interface Options {
  max_tokens: number;
  overlap: number;
}

/** Tokens that a chunk has at least, however long what stands before it is. */
const kLeast = 16;

/** Places of chunks, two numbers each. */
export const chunk: Task<Item, Options, number[]> = {
  head: 'none',
  prepare: () => {
    throw new TypeError('chunk has no pipeline');
  },
  async run(engine, items, { max_tokens, overlap }, { signal }) {
    const breather = new Breather();
    const count = (part: string) => {
      const { per_encoding } = kArrays;
      return engine.call((handle) => handle.encode([part], undefined, ownCopy({ arrays: per_encoding }))).lengths[0] as number;
    };
    const special = count('');
    const out: number[][] = [];
    for (const { text, before } of items) {
      await breather.breathe(signal);
      const room = max_tokens - (before === '' ? 0 : count(before) - special);
      const { offsets } = engine.call((handle) =>
        handle.encode([text], undefined, ownCopy({ add_special_tokens: false, arrays: kArrays.offsets })),
      );
      const chunks = cutText(text, { offsets, count }, { max_tokens: Math.max(room, Math.min(kLeast, max_tokens)), overlap });
      out.push(chunks.flatMap(({ start, end }) => [start, end]));
    }
    return out;
  },
};
