// Similarity of vectors, and semantic search, as in sentence_transformers.util.
import { checkAnswer } from '../core/answers.js';
import { describe, InputError } from '../core/errors.js';
import { readOptions } from '../core/options.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { SearchHit, SearchOptions, Vector, Vectors } from './types.js';

const isTensor = (value: unknown): value is TensorBase =>
  typeof value === 'object' && value !== null && 'dims' in value && 'data' in value;
/** NaN is one: it comes last. */
const isANumber = (value: unknown) => typeof value === 'number';
const kScore = "semantic_search: option 'score_function'";
const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && Object.prototype.toString.call(value) !== '[object DataView]');

function toVector(where: string, value: unknown): Float64Array {
  let list: unknown = value;
  if (isTensor(value)) {
    const { dims } = value;
    if (dims.length !== 1 && !(dims.length === 2 && dims[0] === 1)) {
      throw new InputError(`${where}: expected one vector, found a Tensor of dims [${dims}]`);
    }
    list = value.data;
  }
  if (!isList(list)) throw new InputError(`${where}: expected a vector, found ${describe(value)}`);
  return Float64Array.from(list, (x, i) => {
    if (typeof x === 'number' || typeof x === 'bigint') return Number(x);
    throw new InputError(`${where}: expected a number at index ${i}, found ${describe(x)}`);
  });
}

/** Rows of vectors; a single vector is one row. */
export function toVectors(where: string, value: unknown): Float64Array[] {
  if (isTensor(value) && value.dims.length === 2) {
    const [rows, dim] = value.dims as [number, number];
    const given = value.data;
    const data = given instanceof BigInt64Array ? Float64Array.from(given, Number) : new Float64Array(given); // much faster than Float64Array.from
    return Array.from({ length: rows }, (_, i) => data.subarray(i * dim, (i + 1) * dim));
  }
  if (!isTensor(value) && Array.isArray(value) && typeof value[0] !== 'number') {
    return Array.from(value, (row, i) => toVector(`${where}[${i}]`, row));
  }
  return [toVector(where, value)];
}

export function checkLengths(where: string, a: Float64Array, b: Float64Array): void {
  if (a.length !== b.length) throw new InputError(`${where}: expected vectors of one length, found ${a.length} and ${b.length}`);
}

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** Clamps rounding errors of a cosine. */
const withinOne = (cosine: number) => Math.max(-1, Math.min(1, cosine));

function cosine(a: Float64Array, b: Float64Array): number {
  const norms = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b));
  return norms === 0 ? 0 : withinOne(dot(a, b) / norms);
}

/**
 * Cosine similarity of two vectors, each `[dim]` or `[1, dim]`; 0 if one of them is zero.
 *
 * @example
 * cos_sim([1, 0], [1, 1]); // => 0.7071
 */
export function cos_sim(a: Vector, b: Vector): number {
  const [first, second] = [toVector('cos_sim', a), toVector('cos_sim', b)];
  checkLengths('cos_sim', first, second);
  return cosine(first, second);
}

/**
 * Dot product of two vectors, each `[dim]` or `[1, dim]`. For unit-length vectors it equals `cos_sim`.
 *
 * @example
 * dot_score([1, 2], [3, 4]); // => 11
 */
export function dot_score(a: Vector, b: Vector): number {
  const [first, second] = [toVector('dot_score', a), toVector('dot_score', b)];
  checkLengths('dot_score', first, second);
  return dot(first, second);
}

const cosineOfUnits = (a: Float64Array, b: Float64Array) => withinOne(dot(a, b));

export const toUnit = (vector: Float64Array) => {
  const norm = Math.sqrt(dot(vector, vector));
  return norm === 0 ? vector : vector.map((x) => x / norm);
};

/** The rows with the highest scores, best first. Equal scores keep the order of rows; NaN comes last. */
export function best(scores: Float64Array, count: number): SearchHit[] {
  const hits: SearchHit[] = [];
  const isBetter = (score: number, other: number) => score > other || (Number.isNaN(other) && !Number.isNaN(score));
  scores.forEach((score, corpus_id) => {
    if (hits.length === count && !isBetter(score, (hits[count - 1] as SearchHit).score)) return;
    let at = hits.length;
    while (at > 0 && isBetter(score, (hits[at - 1] as SearchHit).score)) --at;
    hits.splice(at, 0, { corpus_id, score });
    if (hits.length > count) hits.pop();
  });
  return hits;
}

/**
 * The nearest rows of the corpus for each query, best first. A single query vector counts as one row.
 *
 * @example
 * const embed = await pipeline('feature-extraction');
 * const corpus = await embed(['Trains leave every hour.', 'Bread is sold until noon.']);
 * const [[hit]] = semantic_search(await embed('When can I buy rolls?'), corpus, { top_k: 1 });
 * hit.corpus_id; // => 1
 */
export function semantic_search(
  query_embeddings: Vectors | Vector,
  corpus_embeddings: Vectors,
  options: SearchOptions = {},
): SearchHit[][] {
  options = readOptions('semantic_search', options, { top_k: 'count', score_function: 'function' });
  let queries = toVectors('semantic_search: query_embeddings', query_embeddings);
  let corpus = toVectors('semantic_search: corpus_embeddings', corpus_embeddings);
  for (const query of queries) for (const entry of corpus) checkLengths('semantic_search', query, entry);
  const custom = options?.score_function ?? undefined;
  const isCosine = custom === undefined || (custom as unknown) === cos_sim;
  if (isCosine) [queries, corpus] = [queries.map(toUnit), corpus.map(toUnit)];
  const score = isCosine ? cosineOfUnits : (custom as unknown) === dot_score ? dot : custom;
  const ask = (query: Float64Array, entry: Float64Array) => checkAnswer<number>(kScore, score(query, entry), 'a number', isANumber);
  return queries.map((query) =>
    best(
      Float64Array.from(corpus, (entry) => ask(query, entry)),
      options?.top_k ?? 10,
    ),
  );
}
