// Chunks of texts beside the engine, for an index whose model may run in a worker.
import { ownCopy } from '../core/options.js';
import { Breather } from '../core/signal.js';
import { concat } from '../core/texts.js';
import { EncodedArrays } from '../host/wire.js';
import type { Task } from '../engine/task.js';
import { cutInSteps } from '../tokenizer/chunk.js';

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

/**
 * Characters that are tokenized by one call, which no page can interrupt: some milliseconds. The places of a longer text's tokens, which are an estimate, come
 * from pieces of it; they end at spaces, where there are any.
 */
const kMostChars = 1 << 15;

/** Tokenizes a long text piece by piece. offsets: two numbers for each token. */
function* offsetsOf(text: string, encode: (part: string) => Int32Array): Generator<undefined, Int32Array> {
  if (text.length <= kMostChars) return encode(text);
  const parts: Int32Array[] = [];
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at, at + kMostChars);
    const space = at + rest.length < text.length ? rest.search(/\s\S*$/) : -1;
    const cut = space > 0 ? space : rest.length - Number(/[\ud800-\udbff]$/.test(rest) && rest.length > 1);
    const begin = at;
    parts.push(encode(rest.slice(0, cut)).map((place) => begin + place));
    at += cut;
    yield;
  }
  return concat(Int32Array, parts);
}

/** Places of chunks, two numbers each. */
export const chunk: Task<Item, Options, number[]> = {
  head: 'none',
  prepare: () => {
    throw new TypeError('chunk has no pipeline');
  },
  async run(engine, items, { max_tokens, overlap }, { signal }) {
    const breather = new Breather();
    const count = (part: string) => {
      const { per_encoding } = EncodedArrays;
      return engine.call((handle) => handle.encode([part], undefined, ownCopy({ arrays: per_encoding }))).lengths[0] as number;
    };
    const places = (part: string) =>
      engine.call((handle) =>
        handle.encode([part], undefined, ownCopy({ add_special_tokens: false, arrays: EncodedArrays.offsets })),
      ).offsets;
    const inBreaths = async <T>(steps: Generator<undefined, T>): Promise<T> => {
      for (;;) {
        await breather.breathe(signal);
        const { done, value } = steps.next();
        if (done) return value;
      }
    };
    const special = count('');
    const out: number[][] = [];
    for (const { text, before } of items) {
      const room = max_tokens - (before === '' ? 0 : count(before) - special);
      const most = Math.max(room, Math.min(kLeast, max_tokens));
      const offsets = await inBreaths(offsetsOf(text, places));
      const chunks = await inBreaths(cutInSteps(text, { offsets, count }, { max_tokens: most, overlap }, kMostChars));
      out.push(chunks.flatMap(({ start, end }) => [start, end]));
    }
    return out;
  },
};
