// AutoModelForSeq2SeqLM: options checked, rows of ids cut out, results laid out; decoder_forward.ts runs.
import type { Seq2SeqForwardOptions, Seq2SeqInputs, Seq2SeqModel, Seq2SeqOutput } from './causal_types.js';
import { disposable } from '../core/disposable.js';
import type { AnyEngine } from '../engine/engine.js';
import { InputError } from '../core/errors.js';
import { readConfig, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import { gatherPatches, LensTable, toPatches } from '../engine/model_rows.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { ModelInputs } from '../engine/types.js';
import { idsOf, Layout, type Info, type Item, type Options, type Result } from './decoder_forward.js';

const kRules: Rules = {
  output_hidden_states: 'boolean',
  output_attentions: 'boolean',
  output_qkv: 'boolean',
  head_mask: 'any',
  decoder_head_mask: 'any',
  cross_attn_head_mask: 'any',
  logit_lens: 'index',
  patch: 'any',
  signal: 'signal',
};

/** What such a model says of its encoder too. */
type BothInfo = Info & { encoder_layers: number; encoder_attention_heads: number; encoder_head_dim: number };

function toOptions(asked: Seq2SeqForwardOptions, info: BothInfo): Options {
  const { num_hidden_layers: layers, num_attention_heads: heads } = info;
  return {
    hidden_states: asked.output_hidden_states ?? false,
    attentions: asked.output_attentions ?? false,
    qkv: asked.output_qkv ?? false,
    logit_lens: asked.logit_lens ?? 0,
    head_mask: toHeadMask('decoder_head_mask', asked.decoder_head_mask, layers, heads),
    cross_head_mask: toHeadMask('cross_attn_head_mask', asked.cross_attn_head_mask, layers, heads),
    encoder_head_mask: toHeadMask('head_mask', asked.head_mask, info.encoder_layers, info.encoder_attention_heads),
  };
}

/** Which tokens a tap's rows belong to. */
function tokensOf(tap: string, source: Inputs, target: Inputs): Inputs {
  if (tap.startsWith('encoder.') || /^decoder\..*\.cross_attention\.(key|value)$/.test(tap)) return source;
  if (tap.startsWith('decoder.')) return target;
  throw new InputError(`model: option 'patch': expected names that begin with 'encoder.' or 'decoder.', found '${tap}'`);
}

function layOut(source: Inputs, target: Inputs, asked: Seq2SeqForwardOptions, info: BothInfo, results: Result[]): Seq2SeqOutput {
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, head_dim } = info;
  const { encoder_layers, encoder_attention_heads, encoder_head_dim } = info;
  const layout = new Layout(results);
  const [read, written] = [layout.tokens(source, hidden), layout.tokens(target, hidden)];
  const out: Seq2SeqOutput = {
    logits: layout.tokens(target, info.vocab_size)((result) => result.logits),
    encoder_last_hidden_state: read((result) => result.encoder_last_hidden_state as Float32Array),
  };
  if (asked.output_hidden_states) {
    out.encoder_hidden_states = layout.layers('encoder_hidden_states', encoder_layers + 1, read);
    out.decoder_hidden_states = layout.layers('hidden_states', layers + 1, written);
  }
  if (asked.output_attentions) {
    const looks = layout.attentions;
    out.encoder_attentions = layout.layers('encoder_attentions', encoder_layers, looks(source, source, encoder_attention_heads));
    out.decoder_attentions = layout.layers('attentions', layers, looks(target, target, heads));
    out.cross_attentions = layout.layers('cross_attentions', layers, looks(target, source, heads));
  }
  if (asked.output_qkv) {
    for (const name of ['queries', 'keys', 'values'] as const) {
      const encoder = layout.heads(source, encoder_attention_heads, encoder_head_dim);
      out[`encoder_${name}`] = layout.layers(`encoder_${name}`, encoder_layers, encoder);
      out[`decoder_${name}`] = layout.layers(name, layers, layout.heads(target, heads, head_dim));
      const seen = name === 'queries' ? target : source;
      out[`cross_${name}`] = layout.layers(`cross_${name}`, layers, layout.heads(seen, heads, head_dim));
    }
  }
  if (asked.logit_lens) {
    const lens = new LensTable(target, layers + 1, asked.logit_lens);
    results.forEach((result, row) => lens.put([row], result));
    out.logit_lens = lens.toOutput();
  }
  return out;
}

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
    const info = engine.info as BothInfo;
    const options = toOptions(asked ?? {}, info);
    const patches = toPatches(asked?.patch, (tap) => tokensOf(tap, source, target));
    const sources = idsOf(source);
    const items: Item[] = idsOf(target).map((ids, row) => ({
      ids,
      source: sources[row] as Int32Array,
      patches: gatherPatches(patches, [row]),
    }));
    const results = (await engine.run('decoder-forward', items, options, asked?.signal ?? undefined)) as Result[];
    return layOut(source, target, asked ?? {}, info, results);
  };
  const rest = { config: readConfig(engine), info: () => engine.info, memory: () => engine.memory };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}
