// sentence-transformers' HierarchicalTokenPooling: a document's vectors that are alike become their mean (6.2.0,
// multi_vector_encoder/modules/token_pooling.py). Clusters are Ward's over cosine distances, made and numbered as SciPy's linkage and fcluster do.
import { describe, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { kTokenPooling, readJson, type NamedBytes } from '../source/model_files.js';

export interface TokenPooling {
  pool_factor: number;
  num_protected_tokens: number;
  normalize: boolean;
  tasks: readonly string[];
}

/** The model's; undefined: it has none. */
export function readTokenPooling(files: readonly NamedBytes[]): TokenPooling | undefined {
  const config = readJson(files, kTokenPooling);
  if (!config) return undefined;
  const { pool_factor = 1, num_protected_tokens = 1, normalize_embeddings = false, tasks = ['document'] } = config;
  const check = (name: string, is: boolean, expected: string) => {
    if (!is) throw new ModelFormatError(`HierarchicalTokenPooling: ${name}: expected ${expected}, found ${describe(config[name])}`);
  };
  check('pool_factor', typeof pool_factor === 'number' && pool_factor >= 1, 'a number from 1 on');
  check(
    'num_protected_tokens',
    Number.isInteger(num_protected_tokens) && (num_protected_tokens as number) >= 0,
    'a whole number from 0 on',
  );
  check('normalize_embeddings', typeof normalize_embeddings === 'boolean', 'true or false');
  const list = typeof tasks === 'string' ? [tasks] : tasks;
  check('tasks', Array.isArray(list) && list.every((task) => typeof task === 'string'), 'a list of names');
  const odd = (list as string[]).find((task) => task !== 'query' && task !== 'document');
  if (odd !== undefined)
    throw new UnsupportedError(`HierarchicalTokenPooling: tasks: expected 'query' or 'document', found ${describe(odd)}`);
  return {
    pool_factor: pool_factor as number,
    num_protected_tokens: num_protected_tokens as number,
    normalize: normalize_embeddings as boolean,
    tasks: list as string[],
  };
}

/** Two clusters that become one; a cluster of one row has its number, that of merge i is count + i. */
interface Merge {
  a: number;
  b: number;
  distance: number;
}

/** Ward's linkage of rows by their distances [count, count], which are changed: chains of nearest neighbours (arXiv 1109.2378), in rising order. */
function ward(distances: Float64Array, count: number): Merge[] {
  const sizes = new Int32Array(count).fill(1);
  const chain: number[] = [];
  const merges: Merge[] = [];
  const at = (i: number, j: number) => distances[i * count + j] as number;
  while (merges.length < count - 1) {
    if (chain.length === 0) chain.push(sizes.findIndex((size) => size > 0));
    let [x, y, nearest] = [0, -1, Infinity];
    for (;;) {
      x = chain[chain.length - 1] as number;
      y = chain.length > 1 ? (chain[chain.length - 2] as number) : -1; // preferred where distances are equal
      nearest = y < 0 ? Infinity : at(x, y);
      for (let i = 0; i < count; ++i) {
        if (sizes[i] === 0 || i === x || at(x, i) >= nearest) continue;
        nearest = at(x, i);
        y = i;
      }
      if (chain.length > 1 && y === chain[chain.length - 2]) break;
      chain.push(y);
    }
    chain.length -= 2;
    const [a, b] = x < y ? [x, y] : [y, x];
    const [ofA, ofB] = [sizes[a] as number, sizes[b] as number];
    merges.push({ a, b, distance: nearest });
    sizes[a] = 0;
    sizes[b] = ofA + ofB;
    for (let i = 0; i < count; ++i) {
      const own = sizes[i] as number;
      if (own === 0 || i === b) continue;
      const t = 1 / (ofA + ofB + own);
      const square = (own + ofA) * t * at(i, a) ** 2 + (own + ofB) * t * at(i, b) ** 2 - own * t * nearest ** 2;
      distances[i * count + b] = distances[b * count + i] = Math.sqrt(square);
    }
  }
  merges.sort((first, second) => first.distance - second.distance);
  const parents: number[] = Array.from({ length: 2 * count - 1 }, (_, i) => i);
  const root = (i: number): number => {
    while (parents[i] !== i) i = parents[i] as number;
    return i;
  };
  return merges.map(({ a, b, distance }, i) => {
    const [left, right] = [root(a), root(b)];
    parents[left] = parents[right] = count + i;
    return { a: Math.min(left, right), b: Math.max(left, right), distance };
  });
}

/** The cluster of each row, at most `most` of them, in fcluster's order. */
function clustersOf(merges: readonly Merge[], count: number, most: number): Int32Array {
  const joined = (cutoff: number) => merges.filter(({ distance }) => distance <= cutoff).length;
  const last = merges.find(({ distance }) => count - joined(distance) <= most);
  const cutoff = last?.distance ?? -Infinity;
  const labels = new Int32Array(count);
  let clusters = -1;
  let leader = -1; // the merge that the cluster is
  // Children that are merges come first, then rows.
  const visit = (i: number): void => {
    const { a, b, distance } = merges[i] as Merge;
    if (leader < 0 && distance <= cutoff) {
      leader = i;
      ++clusters;
    }
    for (const child of [a, b]) if (child >= count) visit(child - count);
    for (const child of [a, b]) {
      if (child >= count) continue;
      if (leader < 0) ++clusters;
      labels[child] = clusters;
    }
    if (leader === i) leader = -1;
  };
  visit(merges.length - 1);
  return labels;
}

/** The rows that become one each, in the order of the results. data: [rows, dim]. */
function groupsOf(data: Float32Array, dim: number, { pool_factor, num_protected_tokens }: TokenPooling): number[][] {
  const rows = data.length / dim;
  const first = Math.min(num_protected_tokens, rows);
  const count = rows - first;
  const most = Math.max(Math.floor(count / pool_factor), 1);
  if (pool_factor === 1 || most >= count) return Array.from({ length: rows }, (_, i) => [i]);
  const distances = new Float64Array(count * count);
  for (let i = 0; i < count; ++i) {
    for (let j = 0; j < i; ++j) {
      let sum = 0;
      for (let k = 0; k < dim; ++k) sum += (data[(first + i) * dim + k] as number) * (data[(first + j) * dim + k] as number);
      const distance = Math.min(Math.max(Math.fround(1 - Math.fround(sum)), 0), 2);
      distances[i * count + j] = distances[j * count + i] = distance;
    }
  }
  const labels = clustersOf(ward(distances, count), count, most);
  const groups: number[][] = Array.from({ length: first }, (_, i) => [i]);
  labels.forEach((label, i) => (groups[first + label] ??= []).push(first + i));
  return groups;
}

interface Rows {
  data: Float32Array; // [rows, dim]
  dim: number;
  ids: Int32Array; // [rows]
  offsets: Int32Array; // two numbers a row
}

/** The vectors of a text with this role. A mean has the id of its first token, and the span from its first to its last. */
export function poolTokens<T extends Rows>(encoded: T, role: 'query' | 'document', pooling: TokenPooling): T {
  if (!pooling.tasks.includes(role)) return encoded;
  const { dim, data, ids, offsets } = encoded;
  const groups = groupsOf(data, dim, pooling);
  const out = new Float32Array(groups.length * dim);
  groups.forEach((rows, i) => {
    const mean = new Float64Array(dim);
    for (const row of rows) for (let k = 0; k < dim; ++k) mean[k]! += (data[row * dim + k] as number) / rows.length;
    const length = pooling.normalize ? Math.max(Math.hypot(...mean), 1e-12) : 1;
    for (let k = 0; k < dim; ++k) out[i * dim + k] = (mean[k] as number) / length;
  });
  const spans = groups.flatMap((rows) => {
    const own = rows.filter((row) => offsets[2 * row + 1]! > 0);
    if (own.length === 0) return [0, 0];
    return [Math.min(...own.map((row) => offsets[2 * row]!)), Math.max(...own.map((row) => offsets[2 * row + 1]!))];
  });
  return { ...encoded, data: out, ids: Int32Array.from(groups, ([row]) => ids[row as number]!), offsets: Int32Array.from(spans) };
}
