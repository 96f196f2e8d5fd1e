// Converts between tensors with padding and packed rows, which have the unmasked tokens of all sequences end to end.
import { describe, InputError, OutOfMemoryError } from '../core/errors.js';
import type { Inputs } from './model_inputs.js';
import { Tensor } from '../core/tensor.js';
import type { TensorBase } from '../core/tensor_base.js';
import type { ForwardAnswer } from '../host/seam.js';
import type { LogitLens } from './types.js';

type Numbers = Float32Array | Int32Array;

export function zeros(what: string, count: number): Float32Array {
  try {
    return new Float32Array(count);
  } catch (cause) {
    throw new OutOfMemoryError(`${what}: not enough memory for ${4 * count} bytes`, { cause });
  }
}

/** Copies packed rows, [tokens, width], into out, [batch, seq, width]. */
export function scatterTokens(out: Numbers, packed: Numbers, rows: readonly number[], { ids, kept }: Inputs, width: number): void {
  let from = 0;
  for (const row of rows) {
    for (const column of kept[row] as Int32Array) {
      out.set(packed.subarray(from, from + width), (row * ids.columns + column) * width);
      from += width;
    }
  }
}

/** Copies the sequences' [heads, n, m] into out, [batch, heads, query columns, key columns]. */
export function scatterAttentions(
  out: Float32Array,
  packed: Float32Array,
  rows: readonly number[],
  queries: Inputs,
  keys: Inputs,
  heads: number,
): void {
  let from = 0;
  for (const row of rows) {
    for (let head = 0; head < heads; ++head) {
      for (const query of queries.kept[row] as Int32Array) {
        const base = ((row * heads + head) * queries.ids.columns + query) * keys.ids.columns;
        for (const key of keys.kept[row] as Int32Array) out[base + key] = packed[from++] as number;
      }
    }
  }
}

/** Copies packed rows, [tokens, heads * size], into out, [batch, heads, seq, size]. */
export function scatterHeads(
  out: Float32Array,
  packed: Float32Array,
  rows: readonly number[],
  { ids, kept }: Inputs,
  heads: number,
  size: number,
): void {
  let from = 0;
  for (const row of rows) {
    for (const column of kept[row] as Int32Array) {
      for (let head = 0; head < heads; ++head, from += size) {
        out.set(packed.subarray(from, from + size), ((row * heads + head) * ids.columns + column) * size);
      }
    }
  }
}

/** The logit lens: [layers, batch, seq, count]. */
export class LensTable {
  private readonly dims: number[];
  private readonly ids: Int32Array;
  private readonly logits: Float32Array;

  constructor(
    private readonly inputs: Inputs,
    layers: number,
    private readonly count: number,
  ) {
    this.dims = [layers, inputs.ids.rows, inputs.ids.columns, count];
    this.logits = zeros('logit_lens', this.dims.reduce((a, b) => a * b)); // prettier-ignore
    this.ids = new Int32Array(this.logits.length);
  }

  put(rows: readonly number[], { lens_ids, lens_logits }: Partial<ForwardAnswer>): void {
    if (!lens_ids || !lens_logits) return; // no tokens
    const [layers = 0, batch = 0, seq = 0] = this.dims;
    const size = batch * seq * this.count;
    const packed = lens_ids.length / layers;
    for (let i = 0; i < layers; ++i) {
      const part = <T extends Numbers>(data: T, width: number) => data.subarray(i * width, (i + 1) * width);
      scatterTokens(part(this.ids, size), part(lens_ids, packed), rows, this.inputs, this.count);
      scatterTokens(part(this.logits, size), part(lens_logits, packed), rows, this.inputs, this.count);
    }
  }

  toOutput(): LogitLens {
    return { ids: new Tensor('int32', this.ids, this.dims), logits: new Tensor('float32', this.logits, this.dims) };
  }
}

export type Patches = [tap: string, tensor: TensorBase, inputs: Inputs][];

/** inputsOf: the inputs whose tokens are the rows of a tap. */
export function toPatches(
  patch: { readonly [tap: string]: TensorBase } | undefined | null,
  inputsOf: (tap: string) => Inputs,
): Patches {
  if (patch === undefined || patch === null) return [];
  if (typeof patch !== 'object' || Array.isArray(patch)) {
    throw new InputError(`model: option 'patch': expected an object of tap names and Tensors, found ${describe(patch)}`);
  }
  return Object.entries(patch).map(([tap, tensor]) => {
    const inputs = inputsOf(tap);
    const { rows, columns } = inputs.ids;
    const { dims, type } = (tensor ?? {}) as Partial<TensorBase>;
    if (type === 'float32' && dims?.length === 3 && dims[0] === rows && dims[1] === columns) return [tap, tensor, inputs];
    const found = dims ? `${type} [${dims}]` : describe(tensor);
    throw new InputError(`model: option 'patch': '${tap}': expected a float32 Tensor [${rows},${columns},width], found ${found}`);
  });
}

/** The rows of each patch, packed: [tokens, width]. */
export function gatherPatches(patches: Patches, rows: readonly number[]): [tap: string, values: Float32Array][] {
  return patches.map(([tap, { data, dims }, { ids, kept }]) => {
    const width = dims[2] as number;
    const indices = rows.flatMap((row) => Array.from(kept[row] as Int32Array, (column) => row * ids.columns + column));
    const out = new Float32Array(indices.length * width);
    indices.forEach((index, i) => out.set((data as Float32Array).subarray(index * width, (index + 1) * width), i * width));
    return [tap, out];
  });
}
