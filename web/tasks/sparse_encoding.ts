// sparse-encoding: weights of the vocabulary's words, as in sentence-transformers' SparseEncoder.
import { describe, InputError, UnsupportedError } from '../core/errors.js';
import { readOptions, type Rules } from '../core/options.js';
import { topIndices } from '../core/scores.js';
import { Tensor } from '../core/tensor.js';
import { readTexts } from '../core/texts.js';
import { takeOptions, takeTopK, type Task, type TextOptions } from '../engine/task.js';
import { hasM3 } from '../source/m3_layers.js';
import { isArray, promptOf, runTexts, settingsOf, type Role, type Settings } from './retrieval.js';
import type { SparseEncodingOptions, SparseVector, WeightedWord } from './retrieval_types.js';

const kWhere = 'sparse-encoding';
const kRules: Rules = { prompt: 'string', prompt_name: 'string', max_active_dims: 'count' };
/** First arguments of the other calls. */
const kRole = Symbol('role');
const kDecode = Symbol('decode');
const kSimilarity = Symbol('similarity');

/** A text, or the ids of words to name. */
type Item = string | { ids: Int32Array };

interface Options extends TextOptions {
  role?: Role | undefined;
  max_active_dims?: number;
}

type Result = SparseVector | string[];

function checkVector(what: string, value: unknown): asserts value is SparseVector {
  const { indices, values } = (value ?? {}) as Partial<SparseVector>;
  if (isArray(indices, 'Int32Array') && isArray(values, 'Float32Array') && indices?.length === values?.length) return;
  throw new InputError(`${kWhere}: ${what}: expected { indices, values } as this pipeline gives them, found ${describe(value)}`);
}

function toVectors(what: string, value: unknown): SparseVector[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((vector, i) => {
    checkVector(`${what}: ${i}`, vector);
    return vector;
  });
}

/** Indices rise, so one pass over both finds the common ones. */
function dot(a: SparseVector, b: SparseVector): number {
  let sum = 0;
  for (let i = 0, j = 0; i < a.indices.length && j < b.indices.length;) {
    const apart = (a.indices[i] as number) - (b.indices[j] as number);
    if (apart === 0) sum += (a.values[i] as number) * (b.values[j] as number);
    if (apart <= 0) ++i;
    if (apart >= 0) ++j;
  }
  return sum;
}

/** SparseEncoder.similarity, by the repository's own function. */
function similarity({ similarity_fn_name }: Settings, first: unknown, second: unknown): Tensor<'float32'> {
  const [a, b] = [toVectors('similarity', first), toVectors('similarity', second)];
  const name = similarity_fn_name ?? 'dot';
  if (name !== 'dot' && name !== 'cosine')
    throw new UnsupportedError(
      `config_sentence_transformers.json: similarity_fn_name: expected dot or cosine, found ${describe(name)}`,
    );
  const norm = (vector: SparseVector) => (name === 'dot' ? 1 : Math.sqrt(dot(vector, vector)) || 1);
  const norms = b.map(norm);
  const data = Float32Array.from(a.flatMap((one) => b.map((other, j) => dot(one, other) / (norm(one) * (norms[j] as number)))));
  return new Tensor('float32', data, [a.length, b.length]);
}

export const sparseEncoding: Task<Item, Options, Result> = {
  head: 'sparse',

  prepare([first, ...args], engine) {
    if (first === kSimilarity) {
      // bge-m3's files say how its sentence vectors are compared.
      const result = similarity(hasM3(engine.files) ? {} : settingsOf(engine), args[0], args[1]);
      return { items: [], options: {}, signal: undefined, finish: () => result };
    }
    if (first === kDecode) {
      const [vectors, given] = args;
      const decoding = readOptions(`${kWhere}.decode`, given, { top_k: 'any' });
      const top_k = takeTopK(`${kWhere}.decode`, decoding, Infinity);
      const list = toVectors('decode', vectors);
      const best = list.map(({ values }) => topIndices(values, top_k));
      const items = list.map(({ indices }, i) => ({ ids: Int32Array.from(best[i] as number[], (at) => indices[at] as number) }));
      return {
        items,
        options: {},
        signal: undefined,
        finish(names) {
          const out = list.map(({ indices, values }, i) =>
            (best[i] as number[]).map((at, j): WeightedWord => ({
              word: (names[i] as string[])[j] as string,
              id: indices[at] as number,
              weight: values[at] as number,
            })),
          );
          return Array.isArray(vectors) ? out : out[0];
        },
      };
    }
    const role = first === kRole ? (args[0] as Role) : undefined;
    const [texts, given] = first === kRole ? args.slice(1) : [first, args[0]];
    const where = role === undefined ? kWhere : `${kWhere}.encode_${role}`;
    const { options, signal } = takeOptions<SparseEncodingOptions>(where, given, kRules);
    const list = readTexts(where, texts);
    const { prompt, prompt_name, ...rest } = options;
    const named = { ...(prompt !== undefined && { prompt }), ...(prompt_name !== undefined && { prompt_name }) };
    const before = promptOf(where, settingsOf(engine), role, named);
    return {
      items: list.map((text) => before + text),
      options: { ...rest, role },
      signal,
      finish: (vectors) => (typeof texts === 'string' ? vectors[0] : vectors),
    };
  },

  async run(engine, items, { role, ...options }, context) {
    if (typeof items[0] !== 'string') {
      return (items as { ids: Int32Array }[]).map(({ ids }) => engine.call((handle) => handle.ids_to_tokens(ids)).tokens);
    }
    const out: SparseVector[] = [];
    let at = 0;
    let last: unknown;
    await runTexts(
      kWhere,
      engine,
      items as string[],
      { ...options, is_query: role === 'query' },
      context,
      (handle, some, seamOptions, steps) => handle.sparse_vectors(some, seamOptions, steps),
      (answer, text, facts) => {
        if (answer !== last) at = 0;
        last = answer;
        const end = at + (answer.counts[text] as number);
        out.push({ indices: answer.indices.slice(at, end), values: answer.values.slice(at, end), ...facts });
        at = end;
      },
    );
    return out;
  },

  extend: (pipe) => ({
    encode_query: (texts: unknown, options?: unknown) => pipe(kRole, 'query', texts, options),
    encode_document: (texts: unknown, options?: unknown) => pipe(kRole, 'document', texts, options),
    decode: (vectors: unknown, options?: unknown) => pipe(kDecode, vectors, options),
    similarity: (first: unknown, second: unknown) => pipe(kSimilarity, first, second),
  }),
};
