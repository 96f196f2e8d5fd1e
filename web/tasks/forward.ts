// The forward pass over rows of ids, for AutoModel and its variants. It is a task, so that it can run in workers. Masked tokens are skipped,
// and are zeros in the resulting tensors.
import { Breather } from '../core/signal.js';
import { Tensor } from '../core/tensor.js';
import type { Inputs } from '../engine/model_inputs.js';
import {
  gatherPatches,
  LensTable,
  scatterAttentions,
  scatterHeads,
  scatterTokens,
  zeros,
  type Patches,
} from '../engine/model_rows.js';
import { alone, type Task } from '../engine/task.js';
import type { LogitLens } from '../engine/types.js';
import type { ForwardAnswer, SeamForwardOptions } from '../host/seam.js';

/** Packed rows that run together. */
export interface Run extends Pick<SeamForwardOptions, 'source' | 'patches'> {
  rows: number[];
  input_ids: Int32Array; // [tokens], like the next two
  token_type_ids: Int32Array;
  position_ids: Int32Array;
  seq_start: Int32Array; // [rows + 1]
}
export type RunOptions = Omit<SeamForwardOptions, 'source' | 'patches'>;
export type Result = Omit<ForwardAnswer, 'code' | 'message'>;

export const forward: Task<Run, RunOptions, Result> = {
  head: 'none',
  prepare: () => {
    throw new TypeError('forward has no pipeline');
  },
  async run(engine, runs, options, { signal }) {
    const breather = new Breather();
    const out: Result[] = [];
    const { adapter: _adapter, head_mask, cross_head_mask, encoder_head_mask, ...asked } = options;
    const masks = [head_mask ?? null, cross_head_mask ?? null, encoder_head_mask ?? null] as const;
    const { hidden_states, attentions, qkv, logits, logit_lens } = asked;
    const asksMore = Boolean(hidden_states || attentions || qkv || logit_lens || masks.some(Boolean));
    for (const { input_ids, token_type_ids, position_ids, seq_start, source = null, patches = [] } of runs) {
      await breather.breathe(signal);
      const more = asksMore || source !== null || patches.length > 0;
      const run = async () =>
        (await engine.gpu?.forward({ input_ids, token_type_ids, position_ids, seq_start, logits: logits ?? true, more }, signal)) ??
        engine.call((handle) =>
          handle.forward(
            ...([input_ids, token_type_ids, position_ids, seq_start, source, ...masks] as const),
            patches.map(([tap]) => tap),
            patches.map(([, values]) => values),
            asked,
          ),
        );
      const { code: _code, message: _message, ...result } = (await alone(engine, run)) as ForwardAnswer;
      out.push(result);
    }
    return out;
  },
};

/** Groups rows into runs of at most budget tokens; a longer row runs alone. Rows without tokens are skipped. */
function cutRuns(kept: readonly Int32Array[], budget: number): number[][] {
  const runs: number[][] = [];
  let tokens = Infinity;
  kept.forEach((columns, row) => {
    if (columns.length === 0) return;
    if (tokens + columns.length > budget) {
      runs.push([]);
      tokens = 0;
    }
    (runs.at(-1) as number[]).push(row);
    tokens += columns.length;
  });
  return runs;
}

/** The ids of one row without its masked columns. */
export const idsOf = ({ ids, kept }: Inputs, row: number): Int32Array =>
  (kept[row] as Int32Array).map((column) => ids.data[row * ids.columns + column] as number);

/**
 * Packs rows of inputs. budget: maximum tokens of a run, where a token's position is its column. 0: each row runs alone, and positions
 * count its unmasked tokens.
 */
export function packRuns(inputs: Inputs, budget: number, patches: Patches): Run[] {
  const { ids, types, kept } = inputs;
  const cut = budget > 0 ? cutRuns(kept, budget) : kept.map((_, row) => [row]);
  return cut.map((rows) => {
    const seq_start = new Int32Array(rows.length + 1);
    rows.forEach((row, i) => (seq_start[i + 1] = (seq_start[i] as number) + (kept[row] as Int32Array).length));
    const tokens = seq_start[rows.length] as number;
    const [input_ids, token_type_ids, position_ids] = [new Int32Array(tokens), new Int32Array(tokens), new Int32Array(tokens)];
    rows.forEach((row, i) => {
      const begin = seq_start[i] as number;
      input_ids.set(idsOf(inputs, row), begin);
      (kept[row] as Int32Array).forEach((column, j) => {
        token_type_ids[begin + j] = types?.data[row * ids.columns + column] ?? 0;
        position_ids[begin + j] = budget > 0 ? column : j;
      });
    });
    return { rows, input_ids, token_type_ids, position_ids, seq_start, patches: gatherPatches(patches, rows) };
  });
}

const kNothing = new Float32Array();

/** Makes a tensor from a field of the results. */
type Part = (of: (result: Result) => Float32Array) => Tensor<'float32'>;

/** Makes tensors from the results of runs. */
export class Layout {
  constructor(
    private readonly runs: readonly Run[],
    private readonly results: readonly Result[],
  ) {}

  private put(dims: number[], scatter: (out: Float32Array, rows: readonly number[], result: Result) => void): Tensor<'float32'> {
    const data = zeros('output', dims.reduce((a, b) => a * b)); // prettier-ignore
    this.results.forEach((result, i) => scatter(data, (this.runs[i] as Run).rows, result));
    return new Tensor('float32', data, dims);
  }

  /** `[batch, seq, width]` */
  readonly tokens =
    (inputs: Inputs, width: number): Part =>
    (of) =>
      this.put([inputs.ids.rows, inputs.ids.columns, width], (out, rows, result) =>
        scatterTokens(out, of(result), rows, inputs, width),
      );
  /** `[batch, width]` */
  readonly rows =
    (inputs: Inputs, width: number): Part =>
    (of) =>
      this.put([inputs.ids.rows, width], (out, rows, result) =>
        rows.forEach((row, i) => out.set(of(result).subarray(i * width, (i + 1) * width), row * width)),
      );
  /** `[batch, heads, columns of queries, columns of keys]` */
  readonly attentions =
    (queries: Inputs, keys: Inputs, heads: number): Part =>
    (of) =>
      this.put([queries.ids.rows, heads, queries.ids.columns, keys.ids.columns], (out, rows, result) =>
        scatterAttentions(out, of(result), rows, queries, keys, heads),
      );
  /** `[batch, heads, seq, size]` */
  readonly heads =
    (inputs: Inputs, heads: number, size: number): Part =>
    (of) =>
      this.put([inputs.ids.rows, heads, inputs.ids.columns, size], (out, rows, result) =>
        scatterHeads(out, of(result), rows, inputs, heads, size),
      );

  /** The tensors of a field with one array per layer, but for layers that have none, as those without attention in Python. */
  layers(field: keyof Result, count: number, part: Part): Tensor<'float32'>[] {
    const of = (result: Result, i: number) => (result[field] as Float32Array[] | undefined)?.[i] ?? kNothing;
    const isEmpty = this.runs.every(({ input_ids }) => input_ids.length === 0);
    return Array.from({ length: count }, (_, i) => i)
      .filter((i) => isEmpty || this.results.some((result) => of(result, i).length > 0))
      .map((i) => part((result) => of(result, i)));
  }

  /** `[layers, batch, seq, count]` */
  lens(inputs: Inputs, layers: number, count: number): LogitLens {
    const table = new LensTable(inputs, layers, count);
    this.results.forEach((result, i) => table.put((this.runs[i] as Run).rows, result));
    return table.toOutput();
  }
}
