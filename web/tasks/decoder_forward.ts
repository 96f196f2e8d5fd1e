// A decoder's forward pass over rows of ids, with what its encoder reads where it has one; a task, so that it runs in workers as tasks
// do. AutoModelForCausalLM (causal_forward.ts) and AutoModelForSeq2SeqLM (seq2seq_forward.ts) lay out what it gives.
import { alone, callGenerator, type SeamGenerator } from '../engine/generate_seam.js';
import type { Inputs } from '../engine/model_inputs.js';
import { scatterAttentions, scatterHeads, scatterTokens, zeros } from '../engine/model_rows.js';
import { Breather } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import type { ModelInfo } from '../engine/types.js';
import type { Task } from '../engine/task.js';

type SeamOptions = Parameters<SeamGenerator['forward']>[1];

/** One row, its masked columns left out. */
export interface Item extends Pick<SeamOptions, 'source' | 'patches'> {
  ids: Int32Array;
}
export type Options = Omit<SeamOptions, 'source' | 'patches'>;
export type Result = Omit<ReturnType<SeamGenerator['forward']>, 'code' | 'message'>;

/** What bindings/generator.cpp says besides. */
export type Info = ModelInfo & ReturnType<SeamGenerator['info']>;

export const decoderForward: Task<Item, Options, Result> = {
  head: 'causal_lm',
  prepare: () => {
    throw new TypeError('decoder-forward has no pipeline');
  },
  async run(engine, items, options, { signal }) {
    const breather = new Breather();
    const out: Result[] = [];
    for (const { ids, ...rest } of items) {
      await breather.breathe(signal);
      const row = async () => callGenerator(engine, (handle) => handle.forward(ids, { ...options, ...rest }));
      const { code: _code, message: _message, ...result } = await alone(engine, row);
      out.push(result);
    }
    return out;
  },
};

export const idsOf = ({ ids, kept }: Inputs): Int32Array[] =>
  kept.map((columns, row) => columns.map((column) => ids.data[row * ids.columns + column] as number));

/** How one of the results' fields becomes a tensor. */
type Part = (of: (result: Result) => Float32Array) => Tensor<'float32'>;

/** Tensors of results, one a row. */
export class Layout {
  constructor(private readonly results: readonly Result[]) {}

  private put(dims: number[], scatter: (out: Float32Array, row: number, result: Result) => void): Tensor<'float32'> {
    const data = zeros('output', dims.reduce((a, b) => a * b)); // prettier-ignore
    this.results.forEach((result, row) => scatter(data, row, result));
    return new Tensor('float32', data, dims);
  }

  /** `[batch, seq, width]` */
  readonly tokens =
    (inputs: Inputs, width: number): Part =>
    (of) =>
      this.put([inputs.ids.rows, inputs.ids.columns, width], (out, row, result) =>
        scatterTokens(out, of(result), [row], inputs, width),
      );
  /** `[batch, heads, columns of queries, columns of keys]` */
  readonly attentions =
    (queries: Inputs, keys: Inputs, heads: number): Part =>
    (of) =>
      this.put([queries.ids.rows, heads, queries.ids.columns, keys.ids.columns], (out, row, result) =>
        scatterAttentions(out, of(result), [row], queries, keys, heads),
      );
  /** `[batch, heads, seq, size]` */
  readonly heads =
    (inputs: Inputs, heads: number, size: number): Part =>
    (of) =>
      this.put([inputs.ids.rows, heads, inputs.ids.columns, size], (out, row, result) =>
        scatterHeads(out, of(result), [row], inputs, heads, size),
      );

  /** A field that has one array a layer. */
  layers(field: keyof Result, count: number, part: Part): Tensor<'float32'>[] {
    return Array.from({ length: count }, (_, i) => part((result) => (result[field] as Float32Array[])[i] as Float32Array));
  }
}
