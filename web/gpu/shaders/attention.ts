// Attention over sequences that lie end to end. A workgroup has 32 queries of one sequence and one head, a thread each: keys and values come through
// workgroup memory in tiles, and a running maximum keeps the sum of exponentials (arXiv 2205.14135). Tiles begin at multiples of their size in the sequence, so
// a sequence has the same bits wherever it lies.
import type { AttentionConstants } from '../plan.js';
import { tanh } from './activations.js';
import { float, shader, type Kernel } from './shader.js';

/** Queries of a workgroup. */
export const kQueries = 32;

/** span: of the biases by distance, [heads, 2 * span - 1]; undefined: there are none. width: of a row of queries, keys and values. */
export function attention(step: AttentionConstants, scoreDivisor: number, span?: number): Kernel {
  const { heads, kvHeads, keyWidth, valueWidth, before, after, scale, softcap } = step;
  const keys = [32, 16, 8, 4].find((count) => count * (keyWidth + valueWidth) * 4 <= 16384)!;
  const width = heads * keyWidth + kvHeads * (keyWidth + valueWidth);
  const D = keyWidth / 4;
  const V = valueWidth / 4;
  const hidden = [
    'k >= sequence.y',
    ...(before >= 0 ? [`query > k + ${before}u`] : []),
    ...(after >= 0 ? [`k > query + ${after}u`] : []),
  ].join(' || ');
  // Tiles that some query of the workgroup attends to.
  const from = before >= 0 ? `max(i32(sequence.z - sequence.x) - ${before}, 0) / ${keys} * ${keys}` : '0';
  const to = after >= 0 ? `min(sequence.y, sequence.z + ${kQueries + after}u)` : 'sequence.y';
  return shader(
    { x: 'vec4<f32>', blocks: 'vec4<u32>', ...(span !== undefined && { bias: 'f32' }), out: 'vec4<f32>' },
    `
const ROW = ${width / 4}u;
const TILE = ${keys}u;
const HIDDEN = -3.0e38f;
${softcap === 0 ? '' : tanh}
var<workgroup> ks: array<vec4<f32>, ${keys * D}>;
var<workgroup> vs: array<vec4<f32>, ${keys * V}>;
@compute @workgroup_size(${kQueries})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  if (group.x >= batch.blocks) { return; }
  let sequence = blocks[group.x];  // its first token and its end, and the first query
  let head = group.y;
  let kv = head / ${heads / kvHeads}u;
  let query = sequence.z + thread;
  let row = min(query, sequence.y - 1u) * ROW;
  var q: array<vec4<f32>, ${D}>;
  for (var i = 0u; i < ${D}u; i++) { q[i] = x[row + head * ${D}u + i]; }
  var acc: array<vec4<f32>, ${V}>;
  var most = HIDDEN;
  var sum = 0.0f;
  let end = ${to};
  for (var k0 = sequence.x + u32(${from}); k0 < end; k0 += TILE) {
    workgroupBarrier();
    for (var i = thread; i < TILE * ${D}u; i += ${kQueries}u) {
      ks[i] = x[min(k0 + i / ${D}u, sequence.y - 1u) * ROW + ${heads * D}u + kv * ${D}u + i % ${D}u];
    }
    for (var i = thread; i < TILE * ${V}u; i += ${kQueries}u) {
      vs[i] = x[min(k0 + i / ${V}u, sequence.y - 1u) * ROW + ${(heads + kvHeads) * D}u + kv * ${V}u + i % ${V}u];
    }
    workgroupBarrier();
    var scores: array<f32, ${keys}>;
    var larger = most;
    for (var j = 0u; j < TILE; j++) {
      let k = k0 + j;
      var score = HIDDEN;
      if (!(${hidden})) {
        var products = vec4<f32>();
        for (var i = 0u; i < ${D}u; i++) { products = fma(q[i], ks[j * ${D}u + i], products); }
        score = ((products.x + products.y) + (products.z + products.w)) * ${float(Math.fround(scale) / Math.fround(scoreDivisor))};
        ${softcap === 0 ? '' : `score = ${float(softcap)} * tanh_of(score / ${float(softcap)});`}
        ${span === undefined ? '' : `score += bias[head * ${2 * span - 1}u + ${span - 1}u + k - query];`}
      }
      scores[j] = score;
      larger = max(larger, score);
    }
    let before = exp(most - larger);
    most = larger;
    sum *= before;
    for (var i = 0u; i < ${V}u; i++) { acc[i] *= before; }
    for (var j = 0u; j < TILE; j++) {
      let weight = select(exp(scores[j] - most), 0.0f, scores[j] <= HIDDEN);
      sum += weight;
      for (var i = 0u; i < ${V}u; i++) { acc[i] = fma(vec4<f32>(weight), vs[j * ${V}u + i], acc[i]); }
    }
  }
  if (query >= sequence.y) { return; }
  let factor = select(1.0f / sum, 0.0f, sum == 0.0f);
  for (var i = 0u; i < ${V}u; i++) { out[query * ${heads * V}u + head * ${V}u + i] = acc[i] * factor; }
}`,
  );
}
