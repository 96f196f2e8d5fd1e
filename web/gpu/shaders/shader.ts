// What all WGSL here begins with. A kernel is text: sizes are constants in it, so that each pipeline is compiled for one shape.

/** A kernel's WGSL. Its buffers are bound in the order of their names, behind the batch. */
export interface Kernel {
  code: string;
}

/** Buffers by name, with the type of what they hold. Those whose names begin with `out` are written. */
export type Buffers = Record<string, string>;

const declared = (buffers: Buffers) =>
  Object.entries(buffers).map(
    ([name, type], i) =>
      `@group(0) @binding(${i + 1}) var<storage, ${name.startsWith('out') ? 'read_write' : 'read'}> ${name}: array<${type}>;`,
  );

/** The counts of the batch that runs, buffers, and a body. extension: what of WGSL is enabled first. */
export const shader = (buffers: Buffers, body: string, extension = ''): Kernel => ({
  code: [
    extension,
    'struct Batch { tokens: u32, sequences: u32, blocks: u32, unused: u32 }',
    '@group(0) @binding(0) var<uniform> batch: Batch;',
    ...declared(buffers),
    body,
  ].join('\n'),
});

/** A kernel with a thread for each number of the result, [tokens, width]: `value` is WGSL for the number at (token, column). */
export const perNumber = (width: number, buffers: Buffers, value: string, functions = ''): Kernel =>
  shader(
    { ...buffers, out: 'f32' },
    `${functions}
const W = ${width}u;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let column = id.x;
  let token = id.y;
  if (column >= W || token >= batch.tokens) { return; }
  let at = token * W + column;
  ${value}
}`,
  );

/** A number of WGSL, exact in f32. */
export const float = (value: number): string => {
  const text = String(Math.fround(value));
  return /[.e]/.test(text) ? `${text}f` : `${text}.0f`;
};
