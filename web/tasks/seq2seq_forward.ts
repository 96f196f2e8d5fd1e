// An encoder-decoder's forward pass over rows of ids (AutoModelForSeq2SeqLM); a task, so that it runs in workers as tasks do.
import type { Seq2SeqForwardOptions, Seq2SeqInputs, Seq2SeqModel, Seq2SeqOutput } from '../causal_types.js';
import { disposable } from '../disposable.js';
import type { AnyEngine } from '../engine.js';
import { InputError } from '../errors.js';
import { alone, callGenerator, type SeamGenerator } from '../generate_seam.js';
import { readConfig, toInputs, type Inputs } from '../model_inputs.js';
import { checkOptions, type Rules } from '../options.js';
import { Breather } from '../signal.js';
import { Tensor } from '../tensor.js';
import type { ModelInfo, ModelInputs } from '../types.js';
import { makeTable, putAttentions } from './causal_forward.js';
import type { Task } from './task.js';

const kRules: Rules = { output_hidden_states: 'boolean', output_attentions: 'boolean', signal: 'signal' };

interface Item {
  ids: Int32Array;
  source: Int32Array;
}
interface Options {
  hidden_states: boolean;
  attentions: boolean;
}
/** Of one row, its masked columns left out. */
type Result = Omit<ReturnType<SeamGenerator['forward']>, 'code' | 'message'>;

export const seq2seqForward: Task<Item, Options, Result> = {
  head: 'seq2seq_lm',
  prepare: () => {
    throw new TypeError('seq2seq-forward has no pipeline');
  },
  async run(engine, items, options, { signal }) {
    const breather = new Breather();
    const out: Result[] = [];
    for (const { ids, source } of items) {
      await breather.breathe(signal);
      const row = async () => {
        const {
          code: _code,
          message: _message,
          ...result
        } = callGenerator(engine, (handle) => handle.forward(ids, { ...options, source }));
        return result;
      };
      out.push(await alone(engine, row));
    }
    return out;
  },
};

type Info = ModelInfo & { vocab_size: number; encoder_layers: number; encoder_attention_heads: number };

function layOut(source: Inputs, target: Inputs, options: Options, info: Info, results: Result[]): Seq2SeqOutput {
  const batch = source.ids.rows;
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, vocab_size: vocab } = info;
  const rows = (inputs: Inputs, width: number, of: (result: Result) => Float32Array) => {
    const table = makeTable(inputs, width);
    results.forEach((result, row) => table.put(row, of(result)));
    return new Tensor('float32', table.data, [batch, inputs.ids.columns, width]);
  };
  const states = (inputs: Inputs, count: number, of: (result: Result) => Float32Array[]) =>
    Array.from({ length: count + 1 }, (_, i) => rows(inputs, hidden, (result) => of(result)[i] as Float32Array));
  const looks = (queries: Inputs, keys: Inputs, count: number, wide: number, of: (result: Result) => Float32Array[]) =>
    Array.from({ length: count }, (_, i) => {
      const dims = [batch, wide, queries.ids.columns, keys.ids.columns];
      const data = new Float32Array(dims.reduce((a, b) => a * b));
      results.forEach((result, row) => putAttentions(data, queries, keys, wide, row, of(result)[i] as Float32Array));
      return new Tensor('float32', data, dims);
    });
  const out: Seq2SeqOutput = {
    logits: rows(target, vocab, ({ logits }) => logits),
    encoder_last_hidden_state: rows(source, hidden, (result) => result.encoder_last_hidden_state as Float32Array),
  };
  if (options.hidden_states) {
    out.encoder_hidden_states = states(source, info.encoder_layers, (result) => result.encoder_hidden_states as Float32Array[]);
    out.decoder_hidden_states = states(target, layers, (result) => result.hidden_states);
  }
  if (options.attentions) {
    const { encoder_layers, encoder_attention_heads: wide } = info;
    out.encoder_attentions = looks(source, source, encoder_layers, wide, (result) => result.encoder_attentions as Float32Array[]);
    out.decoder_attentions = looks(target, target, layers, heads, (result) => result.attentions);
    out.cross_attentions = looks(target, source, layers, heads, (result) => result.cross_attentions as Float32Array[]);
  }
  return out;
}

const idsOf = ({ ids, kept }: Inputs) =>
  kept.map((columns, row) => columns.map((column) => ids.data[row * ids.columns + column] as number));

export function makeSeq2SeqModel(engine: AnyEngine): Seq2SeqModel {
  const call = async (given: Seq2SeqInputs, asked?: Seq2SeqForwardOptions | null): Promise<Seq2SeqOutput> => {
    checkOptions('model', asked, kRules);
    const { decoder_input_ids, decoder_attention_mask, ...rest } = given ?? {};
    const source = toInputs(rest as ModelInputs);
    const mask = decoder_attention_mask ? { attention_mask: decoder_attention_mask } : {};
    const target = toInputs({ input_ids: decoder_input_ids, ...mask } as ModelInputs);
    if (target.ids.rows !== source.ids.rows) {
      throw new InputError(`decoder_input_ids: expected ${source.ids.rows} rows as input_ids has, found ${target.ids.rows}`);
    }
    const options = { hidden_states: asked?.output_hidden_states ?? false, attentions: asked?.output_attentions ?? false };
    const targets = idsOf(target);
    const items = idsOf(source).map((ids, row) => ({ ids: targets[row] as Int32Array, source: ids }));
    const results = (await engine.run('seq2seq-forward', items, options, asked?.signal ?? undefined)) as Result[];
    return layOut(source, target, options, engine.info as Info, results);
  };
  const rest = { config: readConfig(engine), info: () => engine.info, memory: () => engine.memory };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}
