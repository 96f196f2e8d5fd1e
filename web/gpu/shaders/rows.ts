// Ops over rows: embeddings, norms, rotations, gates, sums, pooling.
import { activation, tanh } from './activations.js';
import { kHalf } from './product.js';
import { float, perNumber, shader, type Buffers, type Kernel } from './shader.js';

/** WGSL for a number of 16 bits at some place of a table. */
const half = (at: string, scale: string) =>
  `widened(vec4<u32>(table[(${at}) / 2u] << (16u - (${at}) % 2u * 16u)) & vec4<u32>(0xffff0000u), vec4<f32>(${scale})).x`;

/** WGSL for a number of a table at (row, column), and its buffers. */
const kTables: Record<string, [buffers: Buffers, value: string]> = {
  f32: [{ table: 'f32' }, 'table[row * W + column]'],
  // Bytes, four a word, and a scale for each row.
  q8: [
    { table: 'u32', scale: 'f32' },
    'f32(extractBits(bitcast<i32>(table[(row * W + column) / 4u]), (row * W + column) % 4u * 8u, 8u)) * scale[row]',
  ],
  f16: [{ table: 'u32', scale: 'f32' }, half('row * W + column', 'scale[row]')],
};

/** The same for a matrix of a product, whose panels have 8 rows of the table: product.ts. */
const kPanels: typeof kTables = {
  f32: [{ table: 'f32' }, 'table[(row / 8u * W + column) * 8u + row % 8u]'],
  q8: [
    { table: 'u32', scale: 'f32' },
    `f32(extractBits(bitcast<i32>(table[(row / 8u * GROUPS + column / 64u) * 128u + column % 64u / 4u * 8u + row % 8u]), column % 4u * 8u, 8u))
    * scale[(row / 8u * GROUPS + column / 64u) * 8u + row % 8u]`,
  ],
  f16: [{ table: 'u32', scale: 'f32' }, half('(row / 8u * W + column) * 8u + row % 8u', 'scale[row]')],
};

/** out = the table's rows that `rows` names, [tokens]. panels: the table is the matrix of a head over the vocabulary. */
export function words(width: number, type: string, panels = false): Kernel {
  const [buffers, value] = (panels ? kPanels : kTables)[type]!;
  const groups = `const GROUPS = ${Math.ceil(width / 64)}u;`;
  const functions = (panels ? groups : '') + (type === 'f16' ? kHalf : '');
  return perNumber(width, { rows: 'u32', ...buffers }, `let row = rows[token];\n  out[at] = ${value};`, functions);
}

/** out = x + those rows. */
export function addRows(width: number, type: string): Kernel {
  const [buffers, value] = kTables[type]!;
  const body = `let row = rows[token];\n  out[at] = x[at] + ${value};`;
  return perNumber(width, { x: 'f32', rows: 'u32', ...buffers }, body, type === 'f16' ? kHalf : '');
}

/** out = factor * x. */
export const scale = (width: number, factor: number): Kernel =>
  perNumber(width, { x: 'f32' }, `out[at] = ${float(factor)} * x[at];`);

/** out = other + factor * x. */
export const add = (width: number, factor: number): Kernel =>
  perNumber(width, { x: 'f32', other: 'f32' }, `out[at] = other[at] + ${float(factor)} * x[at];`);

/** out = activation(x). */
export const activate = (width: number, name: string): Kernel =>
  perNumber(width, { x: 'f32' }, 'out[at] = activation(x[at]);', activation(name));

/** out = activation(x[:, :width]) * x[:, width:]. */
export const gate = (width: number, name: string): Kernel =>
  perNumber(
    width,
    { x: 'f32' },
    'let first_at = 2u * token * W + column;\n  out[at] = activation(x[first_at]) * x[first_at + W];',
    activation(name),
  );

/** out = cap * tanh(x / cap). */
export const softcap = (width: number, cap: number): Kernel =>
  perNumber(width, { x: 'f32' }, `out[at] = ${float(cap)} * tanh_of(x[at] / ${float(cap)});`, tanh);

export interface RotaryShape {
  /** Numbers in a row, its heads of queries and keys, and numbers in one head. */
  width: number;
  heads: number;
  head: number;
  /** Pairs of a head that rotate. */
  pairs: number;
  interleaved: boolean;
}

/** out = x with queries and keys rotated by their positions (arXiv 2104.09864): pair j is (j, pairs + j), or (2 j, 2 j + 1). cosines, sines: [positions, pairs]. */
export function rotate({ width, heads, head, pairs, interleaved }: RotaryShape): Kernel {
  return perNumber(
    width,
    { x: 'f32', positions: 'u32', cosines: 'f32', sines: 'f32' },
    `let in_head = column % ${head}u;
  var value = x[at];
  if (column < ${heads * head}u && in_head < ${2 * pairs}u) {
    let second = ${interleaved ? 'in_head % 2u == 1u' : `in_head >= ${pairs}u`};
    let pair = ${interleaved ? 'in_head / 2u' : `in_head % ${pairs}u`};
    let first_at = positions[token] * ${pairs}u + pair;
    let other = x[select(at + ${interleaved ? 1 : pairs}u, at - ${interleaved ? 1 : pairs}u, second)];
    value = value * cosines[first_at] + select(-other, other, second) * sines[first_at];
  }
  out[at] = value;`,
  );
}

/** Sums over a row by 64 threads: each adds every 64th number, and their sums are added in a tree. */
const kTotal = `
var<workgroup> sums: array<f32, 64>;
fn total(own: f32, thread: u32) -> f32 {
  sums[thread] = own;
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (thread < half) { sums[thread] += sums[thread + half]; }
  }
  workgroupBarrier();
  let all = sums[0];
  workgroupBarrier();
  return all;
}`;

/** out = norm(x + other), or norm(x). A workgroup a row. */
export function norm(width: number, epsilon: number, rms: boolean, other: boolean): Kernel {
  const value = other ? 'x[first_at + j] + other[first_at + j]' : 'x[first_at + j]';
  const middle = rms
    ? ''
    : `var sum = 0.0f;
  for (var j = thread; j < W; j += 64u) { sum += ${value}; }
  mean = total(sum, thread) / ${float(width)};`;
  return shader(
    { x: 'f32', ...(other && { other: 'f32' }), gamma: 'f32', ...(!rms && { beta: 'f32' }), out: 'f32' },
    `
const W = ${width}u;
${kTotal}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let first_at = min(group.x, batch.tokens - 1u) * W;
  var mean = 0.0f;
  ${middle}
  var squares = 0.0f;
  for (var j = thread; j < W; j += 64u) { let d = ${value} - mean; squares += d * d; }
  let factor = 1.0f / sqrt(total(squares, thread) / ${float(width)} + ${float(epsilon)});
  for (var j = thread; j < W; j += 64u) { out[first_at + j] = (${value} - mean) * factor * gamma[j]${rms ? '' : ' + beta[j]'}; }
}`,
  );
}

/** out = x whose columns [begin, end) have an RMSNorm, in parts as wide as gamma. A workgroup a row. */
export function headNorm(width: number, part: number, epsilon: number, begin: number, end: number): Kernel {
  return shader(
    { x: 'f32', gamma: 'f32', out: 'f32' },
    `
const W = ${width}u;
${kTotal}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let first_at = min(group.x, batch.tokens - 1u) * W;
  for (var p = ${begin}u; p < ${end}u; p += ${part}u) {
    var squares = 0.0f;
    for (var j = thread; j < ${part}u; j += 64u) { let d = x[first_at + p + j]; squares += d * d; }
    let factor = 1.0f / sqrt(total(squares, thread) / ${float(part)} + ${float(epsilon)});
    for (var j = thread; j < ${part}u; j += 64u) { out[first_at + p + j] = x[first_at + p + j] * factor * gamma[j]; }
  }
  for (var j = thread; j < W; j += 64u) { if (j < ${begin}u || j >= ${end}u) { out[first_at + j] = x[first_at + j]; } }
}`,
  );
}

/** WGSL that pools column `column` of tokens [first, end) of a sequence into `value` (src/ops/pooling.cpp). */
const kPooling: Record<string, string> = {
  cls: 'value = x[first * W + column];',
  lasttoken: 'value = x[(end - 1u) * W + column];',
  max: 'value = x[first * W + column]; for (var t = first + 1u; t < end; t++) { value = max(value, x[t * W + column]); }',
  mean: 'for (var t = first; t < end; t++) { value += x[t * W + column]; } value /= f32(end - first);',
  mean_sqrt_len_tokens: 'for (var t = first; t < end; t++) { value += x[t * W + column]; } value /= sqrt(f32(end - first));',
  weightedmean: `for (var t = first; t < end; t++) { value = fma(f32(t + 1u - start), x[t * W + column], value); }
    value /= f32(end - first) * (f32(first + 1u - start) + f32(end - start)) / 2.0f;`,
};

/** out [sequences, modes * width]: each sequence's tokens without the first `skip`. starts: [sequences + 1]. */
export function pool(width: number, modes: readonly string[]): Kernel {
  return shader(
    { x: 'f32', starts: 'u32', skip: 'u32', out: 'f32' },
    `
const W = ${width}u;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let column = id.x;
  let sequence = id.y;
  if (column >= W || sequence >= batch.sequences) { return; }
  let start = starts[sequence];
  let end = starts[sequence + 1u];
  let first = min(start + skip[sequence], end);
  ${modes
    .map(
      (mode, i) => `{
    var value = 0.0f;
    if (first < end) { ${kPooling[mode]} }
    out[(sequence * ${modes.length}u + ${i}u) * W + column] = value;
  }`,
    )
    .join('\n  ')}
}`,
  );
}
