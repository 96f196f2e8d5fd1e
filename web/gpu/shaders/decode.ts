// What decoding adds: products for few rows, and what keeps keys and values. Each number is computed in the order that it has in product.ts, so that a text read at
// once and one read token by token have the same bits.
import { activation } from './activations.js';
import { dotOfBytes, floats, kFloats, kGroup, kWhole, weights, type Floats, type ProductShape, type Whole } from './product.js';
import { perNumber, shader, type Kernel } from './shader.js';

/** Columns of a panel of W. */
const kPanel = 8;

/** How many threads share the parts of a sum: a power of 2. */
const lanesFor = (parts: number, least: number) => {
  let lanes = least;
  while (lanes < Math.min(parts, 32)) lanes *= 2;
  return lanes;
};

const constants = ({ n, k }: ProductShape, rows: number, lanes: number) => `
const N = ${n}u;
const K = ${k}u;
const PARTS = ${Math.ceil(k / kGroup)}u;
const ROWS = ${rows}u;
const LANES = ${lanes}u;`;

/** A thread for each number of the result adds what the lanes have, in turn. */
const total = ({ bias }: ProductShape, add: string) => `
    workgroupBarrier();
    if (thread < ROWS * 8u) {
      for (var lane = 0u; lane < LANES; lane++) { ${add} }
    }
    workgroupBarrier();
  }
  let row = row0 + thread / 8u;
  let column = panel * 8u + thread % 8u;
  if (thread < ROWS * 8u && row < batch.tokens && column < N) {
    out[row * N + column] = activation(total${bias ? ' + bias[column]' : ''});
  }
}`;

/** `product` for few rows: a workgroup makes a panel of `rows` rows; its threads share the parts of 64 along k. */
export function productOfFew(held: Floats, shape: ProductShape, rows: number): Kernel {
  const wide = shape.k % 4 === 0;
  const lanes = lanesFor(Math.ceil(shape.k / kGroup), 4 * rows);
  const sums = wide
    ? `for (var k = begin; k < end; k += 4u) {
        let at = (panel * K + k) * 2u + half;
        let w0 = four(at, columns);
        let w1 = four(at + 2u, columns);
        let w2 = four(at + 4u, columns);
        let w3 = four(at + 6u, columns);
        for (var r = 0u; r < ROWS; r++) {
          let a = x[(min(row0 + r, batch.tokens - 1u) * K + k) / 4u];
          acc[r] = fma(vec4<f32>(a.w), w3, fma(vec4<f32>(a.z), w2, fma(vec4<f32>(a.y), w1, fma(vec4<f32>(a.x), w0, acc[r]))));
        }
      }`
    : `for (var k = begin; k < end; k++) {
        let b = four((panel * K + k) * 2u + half, columns);
        for (var r = 0u; r < ROWS; r++) { acc[r] = fma(vec4<f32>(x[min(row0 + r, batch.tokens - 1u) * K + k]), b, acc[r]); }
      }`;
  return shader(
    { x: wide ? 'vec4<f32>' : 'f32', ...kFloats[held], ...(shape.bias && { bias: 'f32' }), out: 'f32' },
    `${constants(shape, rows, lanes)}
${activation(shape.activation)}
${floats(held)}
var<workgroup> sums: array<f32, ${rows * lanes * kPanel}>;  // [row][lane][column]
@compute @workgroup_size(${2 * lanes})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let panel = group.x;
  let row0 = group.y * ROWS;
  let half = thread % 2u;
  let columns = panel * 2u + half;
  var total = 0.0f;
  for (var part = 0u; part < PARTS; part += LANES) {
    var acc = array<vec4<f32>, ROWS>();
    {
      let begin = (part + thread / 2u) * ${kGroup}u;
      let end = min(begin + ${kGroup}u, K);
      ${sums}
    }
    for (var r = 0u; r < ROWS; r++) {
      for (var i = 0u; i < 4u; i++) { sums[(r * LANES + thread / 2u) * 8u + half * 4u + i] = acc[r][i]; }
    }${total(shape, 'total += sums[(thread / 8u * LANES + lane) * 8u + thread % 8u];')}`,
  );
}

/** `productWhole` for few rows. */
export function productWholeOfFew(held: Whole, shape: ProductShape, rows: number, packedDot: boolean): Kernel {
  const lanes = lanesFor(Math.ceil(shape.k / kGroup), rows);
  return shader(
    { q: 'u32', qz: 'vec2<f32>', ...kWhole[held], scale: 'f32', sum: 'i32', ...(shape.bias && { bias: 'f32' }), out: 'f32' },
    `${constants(shape, rows, lanes)}
${activation(shape.activation)}
${dotOfBytes(packedDot)}${weights(held, shape.k)}
var<workgroup> terms: array<vec2<f32>, ${rows * lanes * kPanel}>;  // [row][lane][column]: a group's sum, and its scale
@compute @workgroup_size(${kPanel * lanes})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let panel = group.x;
  let row0 = group.y * ROWS;
  let own = thread % 8u;
  var total = 0.0f;
  for (var part = 0u; part < PARTS; part += LANES) {
    let g = part + thread / 8u;
    var whole = array<i32, ROWS>();
    if (g < PARTS) {
      for (var p = 0u; p < 4u; p++) {
        let words = weights((panel * PARTS + g) * 4u + p, own);
        for (var i = 0u; i < 4u; i++) {
          for (var r = 0u; r < ROWS; r++) {
            whole[r] += dot_bytes(q[(min(row0 + r, batch.tokens - 1u) * PARTS + g) * 16u + p * 4u + i], words[i]);
          }
        }
      }
    }
    for (var r = 0u; r < ROWS; r++) {
      var term = vec2<f32>();
      if (g < PARTS) {
        let of_row = qz[min(row0 + r, batch.tokens - 1u) * PARTS + g];
        let at = (panel * PARTS + g) * 8u + own;
        term = vec2<f32>(f32(whole[r] + (96 - i32(of_row.y)) * sum[at]), scale[at] * of_row.x);
      }
      terms[(r * LANES + thread / 8u) * 8u + own] = term;
    }${total(shape, 'let term = terms[(thread / 8u * LANES + lane) * 8u + thread % 8u]; total = fma(term.x, term.y, total);')}`,
  );
}

/** Keys and values, the last columns of x [tokens, width], go to their rows of the cache. places: the row of each token's first key, and its position. */
export const store = (width: number, kept: number): Kernel =>
  perNumber(
    kept,
    { x: 'f32', places: 'vec2<u32>' },
    `let place = places[token];
  out[(place.x + place.y) * W + column] = x[token * ${width}u + ${width - kept}u + column];`,
  );

/** out = the rows of x that `wanted` names. */
export const rowsOf = (width: number): Kernel =>
  perNumber(width, { x: 'f32', wanted: 'u32' }, 'out[at] = x[wanted[token] * W + column];');
