// A decoder's forward pass over rows of ids (AutoModelForCausalLM); a task, so that it runs in workers as tasks do.
import type { CausalForwardOptions, CausalModel, CausalOutput } from '../causal_types.js';
import { disposable } from '../disposable.js';
import { alone, callGenerator } from '../generate_seam.js';
import type { AnyEngine } from '../engine.js';
import { readConfig, toHeadMask, toInputs, type Inputs } from '../model_inputs.js';
import { checkOptions, type Rules } from '../options.js';
import { Breather } from '../signal.js';
import { Tensor } from '../tensor.js';
import type { ModelInfo, ModelInputs } from '../types.js';
import type { Task } from './task.js';

const kRules: Rules = {
  output_hidden_states: 'boolean',
  output_attentions: 'boolean',
  output_logits: 'boolean',
  head_mask: 'any',
  logit_lens: 'index',
  signal: 'signal',
};

interface Options {
  hidden_states: boolean;
  attentions: boolean;
  logits: boolean;
  logit_lens: number;
  head_mask?: Float32Array;
}

/** Of one row, its masked columns left out. */
interface Result {
  last_hidden_state: Float32Array;
  logits: Float32Array;
  hidden_states: Float32Array[];
  attentions: Float32Array[];
  lens_ids: Int32Array;
  lens_logits: Float32Array;
}

export interface RowTable {
  data: Float32Array;
  put(row: number, from: Float32Array): void;
}

/** [batch, seq, width], and how the rows of one sequence get into it. */
export function makeTable({ ids, kept }: Inputs, width: number): RowTable {
  const data = new Float32Array(ids.rows * ids.columns * width);
  return {
    data,
    put(row, from) {
      const columns = kept[row] as Int32Array;
      columns.forEach((column, i) => data.set(from.subarray(i * width, (i + 1) * width), (row * ids.columns + column) * width));
    },
  };
}

/** Attentions [heads, tokens, keys]: tokens are columns of one table, keys of another, or of the same. */
export function putAttentions(
  out: Float32Array,
  queries: Inputs,
  keys: Inputs,
  heads: number,
  row: number,
  from: Float32Array,
): void {
  let at = 0;
  for (let head = 0; head < heads; ++head) {
    for (const query of queries.kept[row] as Int32Array) {
      for (const key of keys.kept[row] as Int32Array) {
        out[((row * heads + head) * queries.ids.columns + query) * keys.ids.columns + key] = from[at++] as number;
      }
    }
  }
}

function layOut(inputs: Inputs, options: Options, info: ModelInfo & { vocab_size?: number }, results: Result[]): CausalOutput {
  const { rows: batch, columns: seq } = inputs.ids;
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, vocab_size: vocab = 0 } = info;
  const floats = (width: number) => makeTable(inputs, width);
  const tensor = (data: Float32Array, ...dims: number[]) => new Tensor('float32', data, dims);
  const last = floats(hidden);
  const logits = floats(options.logits ? vocab : 0);
  const states = Array.from({ length: options.hidden_states ? layers + 1 : 0 }, () => floats(hidden));
  const attentions = Array.from({ length: options.attentions ? layers : 0 }, () => new Float32Array(batch * heads * seq * seq));
  const count = options.logit_lens;
  const lens = {
    ids: new Int32Array((layers + 1) * batch * seq * count),
    logits: new Float32Array((layers + 1) * batch * seq * count),
  };
  results.forEach((result, row) => {
    last.put(row, result.last_hidden_state);
    if (options.logits) logits.put(row, result.logits);
    states.forEach((state, i) => state.put(row, result.hidden_states[i] as Float32Array));
    attentions.forEach((layer, i) => putAttentions(layer, inputs, inputs, heads, row, result.attentions[i] as Float32Array));
    const columns = inputs.kept[row] as Int32Array;
    for (let layer = 0, at = 0; count > 0 && layer <= layers; ++layer) {
      for (const column of columns) {
        const to = ((layer * batch + row) * seq + column) * count;
        lens.ids.set(result.lens_ids.subarray(at, at + count), to);
        lens.logits.set(result.lens_logits.subarray(at, at + count), to);
        at += count;
      }
    }
  });
  const out: CausalOutput = { last_hidden_state: tensor(last.data, batch, seq, hidden) };
  if (options.logits) out.logits = tensor(logits.data, batch, seq, vocab);
  if (options.hidden_states) out.hidden_states = states.map((state) => tensor(state.data, batch, seq, hidden));
  if (options.attentions) out.attentions = attentions.map((layer) => tensor(layer, batch, heads, seq, seq));
  if (count > 0) {
    const dims = [layers + 1, batch, seq, count];
    out.logit_lens = { ids: new Tensor('int32', lens.ids, dims), logits: new Tensor('float32', lens.logits, dims) };
  }
  return out;
}

export const causalForward: Task<Int32Array, Options, Result> = {
  head: 'causal_lm',
  prepare: () => {
    throw new TypeError('causal-forward has no pipeline');
  },
  async run(engine, rows, options, { signal }) {
    const breather = new Breather();
    const out: Result[] = [];
    for (const ids of rows) {
      await breather.breathe(signal);
      const row = async () => {
        const {
          code: _code,
          message: _message,
          ...result
        } = callGenerator(engine, (handle) => handle.forward(ids, { ...options }));
        return result;
      };
      out.push(await alone(engine, row));
    }
    return out;
  },
};

export function makeCausalModel(engine: AnyEngine): CausalModel {
  const call = async (given: Omit<ModelInputs, 'token_type_ids'>, asked?: CausalForwardOptions | null): Promise<CausalOutput> => {
    checkOptions('model', asked, kRules);
    const inputs = toInputs(given as ModelInputs);
    const { num_hidden_layers: layers, num_attention_heads: heads } = engine.info;
    const head_mask = toHeadMask(asked?.head_mask as never, layers, heads);
    const options: Options = {
      hidden_states: asked?.output_hidden_states ?? false,
      attentions: asked?.output_attentions ?? false,
      logits: asked?.output_logits ?? true,
      logit_lens: asked?.logit_lens ?? 0,
      ...(head_mask && { head_mask }),
    };
    const { ids, kept } = inputs;
    const rows = kept.map((columns, row) => columns.map((column) => ids.data[row * ids.columns + column] as number));
    const results = (await engine.run('causal-forward', rows, options, asked?.signal ?? undefined)) as Result[];
    return layOut(inputs, options, engine.info, results);
  };
  const rest = { config: readConfig(engine), info: () => engine.info, memory: () => engine.memory };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}
