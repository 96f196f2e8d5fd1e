// Attention over sequences that lie end to end, or that go on in the slots of a cache. A running maximum keeps the sum of exponentials (arXiv 2205.14135). Keys are
// read in tiles that begin at multiples of their size in the sequence, and each number is computed in one order. So a sequence has the same bits
// wherever it lies, read at once or token by token.
import type { AttentionConstants } from '../plan.js';
import { tanh } from './activations.js';
import { float, shader, type Buffers, type Kernel } from './shader.js';

/** Queries of a workgroup of `attention`. */
export const kQueries = 32;

export interface AttentionStep {
  constants: AttentionConstants;
  scoreDivisor: number;
  /** The span of biases by distance, [heads, 2 * span - 1]; undefined: there are none. */
  span: number | undefined;
  /** Numbers in a row of keys and values, and where in it those of the first head begin. */
  row: number;
  keysAt: number;
}

/** What both kernels share: a row's parts are read as vectors of 4 where all of them are. */
function shared({ constants, scoreDivisor, span, row, keysAt }: AttentionStep) {
  const { heads, kvHeads, keyWidth, valueWidth, before, after, scale, softcap } = constants;
  const queries = heads * keyWidth + kvHeads * (keyWidth + valueWidth); // numbers in a row of x
  const wide = [keyWidth, valueWidth, row, queries].every((width) => width % 4 === 0) ? 4 : 1;
  const type = wide === 4 ? 'vec4<f32>' : 'f32';
  const hidden = [
    'k >= end',
    ...(before >= 0 ? [`query > k + ${before}u`] : []),
    ...(after >= 0 ? [`k > query + ${after}u`] : []),
  ].join(' || ');
  const scaled = `${wide === 4 ? '((products.x + products.y) + (products.z + products.w))' : 'products'} * ${float(Math.fround(scale) / Math.fround(scoreDivisor))}`;
  return {
    wide,
    type,
    hidden,
    /** Keys of a tile. */
    tile: [32, 16, 8, 4].find((count) => count * (keyWidth + valueWidth) * 4 <= 16384)!,
    /** The score of a query and a key, from their products. */
    score: `score = ${scaled};
        ${softcap === 0 ? '' : `score = ${float(softcap)} * tanh_of(score / ${float(softcap)});`}
        ${span === undefined ? '' : `score += bias[head * ${2 * span - 1}u + ${span - 1}u + k - query];`}`,
    /** The first key of the tiles that a query at this position attends to. */
    from: (position: string, tile: number) =>
      before >= 0 ? `u32(max(i32(${position}) - ${before}, 0) / ${tile} * ${tile})` : '0u',
    to: (behind: string) => (after >= 0 ? `min(end, ${behind} + ${after}u)` : 'end'),
    buffers: (more: Buffers): Buffers => ({ x: type, kv: type, ...more, ...(span !== undefined && { bias: 'f32' }), out: type }),
    head: `
const ROW = ${queries / wide}u;
const KV_ROW = ${row / wide}u;
const KEYS_AT = ${keysAt / wide}u;
const VALUES_AT = ${(keysAt + kvHeads * keyWidth) / wide}u;
const D = ${keyWidth / wide}u;
const V = ${valueWidth / wide}u;
const HIDDEN = -3.0e38f;
${softcap === 0 ? '' : tanh}`,
  };
}

/**
 * A workgroup has 32 queries of one sequence and one head, a thread each; keys and values come through workgroup memory. blocks, two for a workgroup.
 * The first has the rows of the sequence's first query and behind its last, and of the workgroup's first query. Then come the row of the sequence's
 * first key, and the position of its first query.
 */
export function attention(step: AttentionStep): Kernel {
  const { wide, type, hidden, tile, score, from, to, buffers, head } = shared(step);
  const { heads, kvHeads, keyWidth, valueWidth } = step.constants;
  return shader(
    buffers({ blocks: 'vec4<u32>' }),
    `${head}
const TILE = ${tile}u;
var<workgroup> ks: array<${type}, ${(tile * keyWidth) / wide}>;
var<workgroup> vs: array<${type}, ${(tile * valueWidth) / wide}>;
@compute @workgroup_size(${kQueries})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= batch.blocks) { return; }
  let sequence = blocks[2u * group.x];
  let first_key = blocks[2u * group.x + 1u].x;
  let position = blocks[2u * group.x + 1u].y;
  let head = group.y;
  let kv_head = head / ${heads / kvHeads}u;
  let own = sequence.z + thread;
  let query = position + own - sequence.x;
  let end = position + sequence.y - sequence.x;
  let row = min(own, sequence.y - 1u) * ROW;
  var q: array<${type}, D>;
  for (var i = 0u; i < D; i++) { q[i] = x[row + head * D + i]; }
  var acc = array<${type}, V>();
  var most = HIDDEN;
  var sum = 0.0f;
  let first = position + sequence.z - sequence.x;
  let last = ${to(`first + ${kQueries}u`)};
  for (var k0 = ${from('first', tile)}; k0 < last; k0 += TILE) {
    workgroupBarrier();
    for (var i = thread; i < TILE * D; i += ${kQueries}u) {
      ks[i] = kv[(first_key + min(k0 + i / D, end - 1u)) * KV_ROW + KEYS_AT + kv_head * D + i % D];
    }
    for (var i = thread; i < TILE * V; i += ${kQueries}u) {
      vs[i] = kv[(first_key + min(k0 + i / V, end - 1u)) * KV_ROW + VALUES_AT + kv_head * V + i % V];
    }
    workgroupBarrier();
    var scores: array<f32, TILE>;
    var larger = most;
    for (var j = 0u; j < TILE; j++) {
      let k = k0 + j;
      var score = HIDDEN;
      if (!(${hidden})) {
        var products = ${type}();
        for (var i = 0u; i < D; i++) { products = fma(q[i], ks[j * D + i], products); }
        ${score}
      }
      scores[j] = score;
      larger = max(larger, score);
    }
    let before = exp(most - larger);
    most = larger;
    sum *= before;
    for (var i = 0u; i < V; i++) { acc[i] *= before; }
    for (var j = 0u; j < TILE; j++) {
      let weight = select(exp(scores[j] - most), 0.0f, scores[j] <= HIDDEN);
      sum += weight;
      for (var i = 0u; i < V; i++) { acc[i] = fma(${type}(weight), vs[j * V + i], acc[i]); }
    }
  }
  if (own >= sequence.y) { return; }
  let factor = select(1.0f / sum, 0.0f, sum == 0.0f);
  for (var i = 0u; i < V; i++) { out[own * ${heads}u * V + head * V + i] = acc[i] * factor; }
}`,
  );
}

/** Threads of a workgroup of `attentionOfOne`, and keys that it reads at a time. */
const kThreads = 64;
const kSpan = 256;

/**
 * The same for few queries: a workgroup has one query and one head, and its threads share the keys, then the columns of the values. The order of each number is that
 * of `attention`. places: for each query the row of its sequence's first key, and its position.
 */
export function attentionOfOne(step: AttentionStep): Kernel {
  const { wide, type, hidden, tile, score, from, to, buffers, head } = shared(step);
  const { heads, kvHeads, valueWidth } = step.constants;
  const columns = Math.ceil(valueWidth / kThreads);
  const component = wide === 4 ? '[c % 4u]' : '';
  return shader(
    { ...buffers({ places: 'vec2<u32>' }), out: 'f32' },
    `${head}
const TILE = ${tile}u;
const SPAN = ${kSpan}u;
var<workgroup> q: array<${type}, D>;
var<workgroup> weights: array<f32, SPAN>;
var<workgroup> tops: array<f32, ${kSpan / tile}>;
@compute @workgroup_size(${kThreads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let token = group.x;
  if (token >= batch.tokens) { return; }
  let first_key = places[token].x;
  let query = places[token].y;
  let head = group.y;
  let kv_head = head / ${heads / kvHeads}u;
  let end = query + 1u;
  for (var i = thread; i < D; i += ${kThreads}u) { q[i] = x[token * ROW + head * D + i]; }
  var acc = array<f32, ${columns}>();
  var most = HIDDEN;
  var sum = 0.0f;
  let last = ${to('end')};
  for (var k0 = ${from('query', tile)}; k0 < last; k0 += SPAN) {
    workgroupBarrier();
    for (var j = thread; j < SPAN; j += ${kThreads}u) {
      let k = k0 + j;
      var score = HIDDEN;
      if (!(${hidden})) {
        let at = (first_key + k) * KV_ROW + KEYS_AT + kv_head * D;
        var products = ${type}();
        for (var i = 0u; i < D; i++) { products = fma(q[i], kv[at + i], products); }
        ${score}
      }
      weights[j] = score;
    }
    workgroupBarrier();
    if (thread < SPAN / TILE) {
      var top = HIDDEN;
      for (var j = thread * TILE; j < (thread + 1u) * TILE; j++) { top = max(top, weights[j]); }
      tops[thread] = top;
    }
    workgroupBarrier();
    for (var j = thread; j < SPAN; j += ${kThreads}u) {
      var larger = most;
      for (var t = 0u; t <= j / TILE; t++) { larger = max(larger, tops[t]); }
      weights[j] = select(exp(weights[j] - larger), 0.0f, weights[j] <= HIDDEN);
    }
    workgroupBarrier();
    for (var t = 0u; t < SPAN / TILE && k0 + t * TILE < last; t++) {
      let larger = max(most, tops[t]);
      let before = exp(most - larger);
      most = larger;
      sum *= before;
      for (var i = 0u; i < ${columns}u; i++) { acc[i] *= before; }
      for (var j = t * TILE; j < (t + 1u) * TILE; j++) {
        let weight = weights[j];
        sum += weight;
        for (var i = 0u; i < ${columns}u; i++) {
          let c = min(thread + i * ${kThreads}u, ${valueWidth - 1}u);
          let row = (first_key + min(k0 + j, end - 1u)) * KV_ROW + VALUES_AT + kv_head * V;
          acc[i] = fma(weight, kv[row + c / ${wide}u]${component}, acc[i]);
        }
      }
    }
  }
  let factor = select(1.0f / sum, 0.0f, sum == 0.0f);
  for (var i = 0u; i < ${columns}u; i++) {
    let c = thread + i * ${kThreads}u;
    if (c < ${valueWidth}u) { out[(token * ${heads}u + head) * ${valueWidth}u + c] = acc[i] * factor; }
  }
}`,
  );
}
