// Products: out [tokens, n] = activation(x W^T + bias). A workgroup of 16 x 16 threads makes a tile of the result, each thread 4 x 4 numbers of it, from tiles of
// x and W in workgroup memory. A number is a sum of parts in rising k, each one chain of multiply-adds over 64 numbers (in f16: 16), wherever its row is in the
// batch.
import { activation } from './activations.js';
import { shader, type Buffers, type Kernel } from './shader.js';

/** Rows and columns of the result in a tile, and numbers along k at a time. */
export const kTile = { rows: 64, columns: 64, depth: 16 };
/** Numbers along k in a part of a sum, which have one scale in q8. */
export const kGroup = 64;

export interface ProductShape {
  /** Columns of the result, which may be fewer than W has rows. */
  n: number;
  k: number;
  bias: boolean;
  activation: string;
}

const head = ({ n, k }: ProductShape) => `
const N = ${n}u;
const K = ${k}u;
const ROWS = ${kTile.rows}u;
const COLUMNS = ${kTile.columns}u;
const DEPTH = ${kTile.depth}u;`;

const store = ({ bias }: ProductShape, factor = '') => `
  for (var i = 0u; i < 4u; i++) {
    let row = row0 + local.y * 4u + i;
    if (row >= batch.tokens) { break; }
    for (var j = 0u; j < 4u; j++) {
      let column = column0 + local.x * 4u + j;
      if (column < N) { out[row * N + column] = activation(total[i][j]${factor}${bias ? ' + bias[column]' : ''}); }
    }
  }`;

/** Buffers of W in f32 or f16, which is multiplied as f32. */
export const kFloats: Record<Floats, Buffers> = {
  f32: { w: 'vec4<f32>' },
  f16: { w: 'vec2<u32>', scale: 'vec4<f32>' },
};
export type Floats = 'f32' | 'f16';

/** The number that 16 bits are, in the upper half of `bits`: bf16 where the scale is 1, else f16 (src/kernels/half.h). */
export const kHalf = `
fn widened(bits: vec4<u32>, scale: vec4<f32>) -> vec4<f32> {
  let halves = vec4<f32>(unpack2x16float(bits.x).y, unpack2x16float(bits.y).y, unpack2x16float(bits.z).y, unpack2x16float(bits.w).y);
  return select(halves, bitcast<vec4<f32>>(bits), scale == vec4<f32>(1.0f));
}`;

/** WGSL that defines `four(at, columns)`: weights of four columns. columns: the first one / 4. at: which four, in panels of 8 columns, [ceil(n / 8)][k][2]. */
export const floats = (held: Floats): string =>
  held === 'f32'
    ? 'fn four(at: u32, columns: u32) -> vec4<f32> { return w[at]; }'
    : `${kHalf}
fn four(at: u32, columns: u32) -> vec4<f32> {
  let two = w[at];
  return widened(vec4<u32>(two.x << 16u, two.x & 0xffff0000u, two.y << 16u, two.y & 0xffff0000u), scale[columns]);
}`;

/** In f32. W: panels of 8 columns, [ceil(n / 8)][k][8]; f16 is widened in workgroup memory. */
export function product(held: Floats, shape: ProductShape): Kernel {
  const wide = shape.k % 4 === 0;
  const load = wide
    ? 'if (row < batch.tokens && k < K) { value = x[(row * K + k) / 4u]; }'
    : 'if (row < batch.tokens) { for (var i = 0u; i < 4u; i++) { if (k + i < K) { value[i] = x[row * K + k + i]; } } }';
  return shader(
    { x: wide ? 'vec4<f32>' : 'f32', ...kFloats[held], ...(shape.bias && { bias: 'f32' }), out: 'f32' },
    `${head(shape)}
${activation(shape.activation)}
${floats(held)}
var<workgroup> xs: array<f32, ${kTile.depth * kTile.rows}>;  // [k][row]
var<workgroup> ws: array<vec4<f32>, ${(kTile.depth * kTile.columns) / 4}>;  // [k][column / 4]
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row0 = group.y * ROWS;
  let column0 = group.x * COLUMNS;
  var acc = array<vec4<f32>, 4>();
  var total = array<vec4<f32>, 4>();
  for (var k0 = 0u; k0 < K; k0 += DEPTH) {
    {
      let row = row0 + thread / 4u;
      let k = k0 + thread % 4u * 4u;
      var value = vec4<f32>();
      ${load}
      for (var i = 0u; i < 4u; i++) { xs[(thread % 4u * 4u + i) * ROWS + thread / 4u] = value[i]; }
    }
    {
      let k = k0 + thread / 16u;
      let column = column0 + thread % 16u * 4u;
      var value = vec4<f32>();
      if (column < N && k < K) { value = four((column / 8u * K + k) * 2u + column / 4u % 2u, column / 4u); }
      ws[thread] = value;
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let b = ws[k * 16u + local.x];
      let first_at = k * ROWS + local.y * 4u;
      acc[0] = fma(vec4<f32>(xs[first_at]), b, acc[0]);
      acc[1] = fma(vec4<f32>(xs[first_at + 1u]), b, acc[1]);
      acc[2] = fma(vec4<f32>(xs[first_at + 2u]), b, acc[2]);
      acc[3] = fma(vec4<f32>(xs[first_at + 3u]), b, acc[3]);
    }
    if ((k0 + DEPTH) % ${kGroup}u == 0u || k0 + DEPTH >= K) {
      for (var i = 0u; i < 4u; i++) { total[i] += acc[i]; acc[i] = vec4<f32>(); }
    }
    workgroupBarrier();
  }${store(shape)}
}`,
  );
}

/** The largest activation of a row is less than this in f16, so that 16 products with weights of up to 127 stay within its range. */
const kMostHalf = 32;

/** How W is held where products are in f16; mixed: some columns in bf16. */
export type Halves = 'f16' | 'mixed';

/**
 * In f16, with sums over 16 products in f32. h: activations as of halve(), [tokens][ceil(K / 4)]. W: panels of 8 columns, [ceil(n / 8)][k][8].
 */
export function productHalves(held: Halves, shape: ProductShape): Kernel {
  const mixed = held === 'mixed';
  return shader(
    {
      h: 'vec2<u32>',
      factor: 'f32',
      w: 'vec2<u32>',
      ...(mixed && { scale: 'vec4<f32>' }),
      ...(shape.bias && { bias: 'f32' }),
      out: 'f32',
    },
    `${head(shape)}
${activation(shape.activation)}
${mixed ? floats('f16') : ''}
fn halves(two: vec2<u32>) -> vec4<f16> { return bitcast<vec4<f16>>(two); }
var<workgroup> xs: array<f16, ${kTile.depth * kTile.rows}>;  // [k][row]
var<workgroup> ws: array<vec4<f16>, ${(kTile.depth * kTile.columns) / 4}>;  // [k][column / 4]
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row0 = group.y * ROWS;
  let column0 = group.x * COLUMNS;
  var total = array<vec4<f32>, 4>();
  for (var k0 = 0u; k0 < K; k0 += DEPTH) {
    {
      let row = row0 + thread / 4u;
      let k = k0 + thread % 4u * 4u;
      var value = vec4<f16>();
      if (row < batch.tokens && k < K) { value = halves(h[row * ((K + 3u) / 4u) + k / 4u]); }
      for (var i = 0u; i < 4u; i++) { xs[(thread % 4u * 4u + i) * ROWS + thread / 4u] = value[i]; }
    }
    {
      let k = k0 + thread / 16u;
      let column = column0 + thread % 16u * 4u;
      var value = vec4<f16>();
      let at = (column / 8u * K + k) * 2u + column / 4u % 2u;
      if (column < N && k < K) { value = ${mixed ? 'vec4<f16>(four(at, column / 4u))' : 'halves(w[at])'}; }
      ws[thread] = value;
    }
    workgroupBarrier();
    var acc = array<vec4<f16>, 4>();
    for (var k = 0u; k < DEPTH; k++) {
      let b = ws[k * 16u + local.x];
      let first_at = k * ROWS + local.y * 4u;
      acc[0] = fma(vec4<f16>(xs[first_at]), b, acc[0]);
      acc[1] = fma(vec4<f16>(xs[first_at + 1u]), b, acc[1]);
      acc[2] = fma(vec4<f16>(xs[first_at + 2u]), b, acc[2]);
      acc[3] = fma(vec4<f16>(xs[first_at + 3u]), b, acc[3]);
    }
    for (var i = 0u; i < 4u; i++) { total[i] += vec4<f32>(acc[i]); }
    workgroupBarrier();
  }${store(shape, ' * factor[row]')}
}`,
    'enable f16;',
  );
}

/**
 * The activations of productHalves, four in two words, [tokens][ceil(K / 4)]. A row is times a power of two, so that its largest number is from 16 to 32;
 * factor, [tokens], undoes that. A row with a number that is not finite gets such a factor, so that the result shows it.
 */
export function halve(k: number): Kernel {
  return shader(
    { x: 'f32', out: 'vec2<u32>', out_factor: 'f32' },
    `
const K = ${k}u;
const WORDS = ${Math.ceil(k / 4)}u;
var<workgroup> most: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let token = group.x;
  var largest = 0u;
  for (var k = thread; k < K; k += 64u) { largest = max(largest, bitcast<u32>(x[token * K + k]) & 0x7fffffffu); }
  most[thread] = largest;
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (thread < half) { most[thread] = max(most[thread], most[thread + half]); }
  }
  workgroupBarrier();
  let exponent = clamp(most[0] >> 23u, ${Math.log2(kMostHalf)}u, 254u);
  let up = bitcast<f32>((${127 + 127 + Math.log2(kMostHalf) - 1}u - exponent) << 23u);
  for (var word = thread; word < WORDS; word += 64u) {
    var value = vec4<f32>();
    for (var i = 0u; i < 4u; i++) { if (word * 4u + i < K) { value[i] = x[token * K + word * 4u + i] * up; } }
    out[token * WORDS + word] = vec2<u32>(pack2x16float(value.xy), pack2x16float(value.zw));
  }
  if (thread == 0u && token < batch.tokens) {
    var down = (exponent - ${Math.log2(kMostHalf) - 1}u) << 23u;
    if (most[0] >= 0x7f800000u) { down = 0x7fc00000u | most[0]; }
    out_factor[token] = bitcast<f32>(down);
  }
}`,
  );
}

/** The sum of four products of bytes, for devices whose WGSL has no dot4I8Packed. */
const kOwnDot = `
fn dot_bytes(a: u32, b: u32) -> i32 {
  let p = bitcast<i32>(a);
  let q = bitcast<i32>(b);
  return extractBits(p, 0u, 8u) * extractBits(q, 0u, 8u) + extractBits(p, 8u, 8u) * extractBits(q, 8u, 8u)
    + extractBits(p, 16u, 8u) * extractBits(q, 16u, 8u) + extractBits(p, 24u, 8u) * extractBits(q, 24u, 8u);
}`;
const kPackedDot = 'fn dot_bytes(a: u32, b: u32) -> i32 { return dot4I8Packed(a, b); }';
/** WGSL that defines `dot_bytes(a, b)`. */
export const dotOfBytes = (packed: boolean): string => (packed ? kPackedDot : kOwnDot);

/** How W is held where products are of whole numbers. */
export type Whole = 'q8' | 'q4';

/** Its buffers. */
export const kWhole: Record<Whole, Buffers> = {
  q8: { w: 'u32' },
  q4: { w: 'vec4<u32>', book: 'vec4<u32>' },
};

/**
 * WGSL that defines `weights(part, column)`: 16 numbers of a panel's column along k, as bytes. part: which 16, [ceil(n / 8)][groups][4].
 * q8: [ceil(n / 8)][groups][16][8] words of four along k.
 * q4 (src/kernels/q4.h): codes of 4 bits, [ceil(n / 8)][groups][4][4][16] bytes that have columns c and c + 4. Each 16 have a book, which has sixteen numbers.
 * The books are 256 vectors, and [ceil(n / 8)][groups][4][8] bytes behind them name those of W. No book need have a zero, so that what is behind k is cut off.
 */
export const weights = (held: Whole, k: number): string =>
  held === 'q8'
    ? `
fn weights(part: u32, column: u32) -> vec4<u32> {
  let at = part * 32u + column;
  return vec4<u32>(w[at], w[at + 8u], w[at + 16u], w[at + 24u]);
}`
    : `
fn weights(part: u32, column: u32) -> vec4<u32> {
  let codes = w[part * 4u + column % 4u] >> vec4<u32>(column / 4u * 4u);
  let own = book[extractBits(book[256u + part / 2u][part % 2u * 2u + column / 4u], column % 4u * 8u, 8u)];
  var words = vec4<u32>();
  for (var shift = 0u; shift < 32u; shift += 8u) {
    let code = (codes >> vec4<u32>(shift)) & vec4<u32>(15u);
    let second = (code & vec4<u32>(4u)) != vec4<u32>();
    let low = select(vec4<u32>(own.x), vec4<u32>(own.y), second);
    let high = select(vec4<u32>(own.z), vec4<u32>(own.w), second);
    let four = select(low, high, code >= vec4<u32>(8u));
    words |= ((four >> ((code & vec4<u32>(3u)) * 8u)) & vec4<u32>(255u)) << vec4<u32>(shift);
  }${
    k % kGroup === 0
      ? ''
      : `
  let left = vec4<i32>(${k} - i32(part % ${4 * Math.ceil(k / kGroup)}u * 16u)) - vec4<i32>(0, 4, 8, 12);
  let mask = (vec4<u32>(1u) << vec4<u32>(clamp(left, vec4<i32>(), vec4<i32>(3)) * 8)) - vec4<u32>(1u);
  words &= select(mask, vec4<u32>(0xffffffffu), left > vec4<i32>(3));`
  }
  return words;
}`;

/**
 * In whole numbers, which are exact: groups of 64 along k. q: activations 0 .. 192 less 96, four a word, [tokens][groups][16]; qz: scale and zero
 * point, [tokens][groups]. W is widened to bytes in workgroup memory; scale and sum: [ceil(n / 8)][groups][8].
 */
export function productWhole(held: Whole, shape: ProductShape, packedDot: boolean): Kernel {
  const groups = Math.ceil(shape.k / kGroup);
  return shader(
    { q: 'u32', qz: 'vec2<f32>', ...kWhole[held], scale: 'f32', sum: 'i32', ...(shape.bias && { bias: 'f32' }), out: 'f32' },
    `${head(shape)}
const GROUPS = ${groups}u;
${activation(shape.activation)}
${dotOfBytes(packedDot)}${weights(held, shape.k)}
var<workgroup> xs: array<u32, ${16 * kTile.rows}>;  // [word][row]
var<workgroup> ws: array<u32, ${16 * kTile.columns}>;  // [word][column]
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let row0 = group.y * ROWS;
  let column0 = group.x * COLUMNS;
  var total = array<vec4<f32>, 4>();
  for (var g = 0u; g < GROUPS; g++) {
    let loaded = column0 + thread % COLUMNS;
    let part = thread / COLUMNS;
    var words = vec4<u32>();
    if (loaded < N) { words = weights((loaded / 8u * GROUPS + g) * 4u + part, loaded % 8u); }
    for (var i = 0u; i < 4u; i++) {
      let at = thread + i * 256u;
      let row = row0 + at / 16u;
      xs[at % 16u * ROWS + at / 16u] = select(0u, q[min(row, batch.tokens - 1u) * GROUPS * 16u + g * 16u + at % 16u], row < batch.tokens);
      ws[(part * 4u + i) * COLUMNS + thread % COLUMNS] = words[i];
    }
    workgroupBarrier();
    var whole = array<vec4<i32>, 4>(); // SwiftShader keeps what a variable without a value had in the turn before
    for (var k = 0u; k < 16u; k++) {
      for (var i = 0u; i < 4u; i++) {
        let a = xs[k * ROWS + local.y * 4u + i];
        let b = k * COLUMNS + local.x * 4u;
        whole[i] += vec4<i32>(dot_bytes(a, ws[b]), dot_bytes(a, ws[b + 1u]), dot_bytes(a, ws[b + 2u]), dot_bytes(a, ws[b + 3u]));
      }
    }
    workgroupBarrier();
    for (var i = 0u; i < 4u; i++) {
      let row = row0 + local.y * 4u + i;
      if (row >= batch.tokens) { break; }
      let of_row = qz[row * GROUPS + g];
      for (var j = 0u; j < 4u; j++) {
        let column = column0 + local.x * 4u + j;
        if (column >= N) { break; }
        let at = (column / 8u * GROUPS + g) * 8u + column % 8u;
        total[i][j] = fma(f32(whole[i][j] + (96 - i32(of_row.y)) * sum[at]), scale[at] * of_row.x, total[i][j]);
      }
    }
  }${store(shape)}
}`,
  );
}

/**
 * The activations of productWhole. scale = (high - low) / 192 with low <= 0 <= high the group's range; z = round(-low / scale), and q = round(x / scale)
 * + z. 16 threads a group; a workgroup has 4. A group with a number that is not finite gets such a scale, so that the result shows it.
 */
export function quantize(k: number): Kernel {
  return shader(
    { x: 'f32', out: 'u32', out_qz: 'vec2<f32>' },
    `
const K = ${k}u;
const GROUPS = ${Math.ceil(k / kGroup)}u;
var<workgroup> high: array<f32, 64>;
var<workgroup> low: array<f32, 64>;
var<workgroup> most: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let token = group.y;
  let g = group.x * 4u + thread / 16u;
  let lane = thread % 16u;
  var value = vec4<f32>();
  for (var i = 0u; i < 4u; i++) {
    let k = g * 64u + lane * 4u + i;
    if (k < K) { value[i] = x[token * K + k]; }
  }
  let bits = bitcast<vec4<u32>>(value) & vec4<u32>(0x7fffffffu);
  high[thread] = max(max(max(value.x, value.y), max(value.z, value.w)), 0.0f);
  low[thread] = max(max(max(-value.x, -value.y), max(-value.z, -value.w)), 0.0f);
  most[thread] = max(max(bits.x, bits.y), max(bits.z, bits.w));
  for (var half = 8u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      high[thread] = max(high[thread], high[thread + half]);
      low[thread] = max(low[thread], low[thread + half]);
      most[thread] = max(most[thread], most[thread + half]);
    }
  }
  workgroupBarrier();
  if (g >= GROUPS || token >= batch.tokens) { return; }
  let first = thread - lane;
  let range = high[first] + low[first];
  var inverse = 0.0f;
  if (range > 6e-37f) { inverse = 192.0f / range; }
  let z = round(low[first] * inverse);
  let q = vec4<i32>(clamp(round(value * inverse) + z, vec4<f32>(0.0f), vec4<f32>(192.0f))) - 96;
  let bytes = vec4<u32>(q) & vec4<u32>(255u);
  out[(token * GROUPS + g) * 16u + lane] = bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
  if (lane == 0u) {
    var scale = range / 192.0f;
    if (most[first] >= 0x7f800000u) { scale = bitcast<f32>(most[first]); }
    out_qz[token * GROUPS + g] = vec2<f32>(scale, z);
  }
}`,
  );
}
