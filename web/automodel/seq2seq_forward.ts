// AutoModelForSeq2SeqLM: checks options, packs rows, lays out results. forward.ts runs them.
import type { Seq2SeqForwardOptions, Seq2SeqInputs, Seq2SeqOutput } from './causal_types.js';
import type { AnyEngine } from '../engine/engine.js';
import { InputError } from '../core/errors.js';
import { asModel, kForwardRules, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import { gatherPatches, toPatches } from '../engine/model_rows.js';
import { readOptions, type Rules } from '../core/options.js';
import type { ModelInfo, ModelInputs } from '../engine/types.js';
import { idsOf, Layout, packRuns, type Result, type RunOptions } from '../tasks/forward.js';

const kRules: Rules = { ...kForwardRules, decoder_head_mask: 'any', cross_attn_head_mask: 'any' };

/** info() of an encoder-decoder. */
type BothInfo = ModelInfo & Required<Pick<ModelInfo, 'encoder_layers' | 'encoder_attention_heads' | 'encoder_head_dim'>>;

function toOptions(requested: Seq2SeqForwardOptions, info: BothInfo): RunOptions {
  const { num_hidden_layers: layers, num_attention_heads: heads } = info;
  return {
    hidden_states: requested.output_hidden_states ?? false,
    attentions: requested.output_attentions ?? false,
    qkv: requested.output_qkv ?? false,
    logit_lens: requested.logit_lens ?? 0,
    head_mask: toHeadMask('decoder_head_mask', requested.decoder_head_mask, layers, heads),
    cross_head_mask: toHeadMask('cross_attn_head_mask', requested.cross_attn_head_mask, layers, heads),
    encoder_head_mask: toHeadMask('head_mask', requested.head_mask, info.encoder_layers, info.encoder_attention_heads),
  };
}

/** The inputs whose tokens are the rows of a tap. */
function tokensOf(tap: string, source: Inputs, target: Inputs): Inputs {
  if (tap.startsWith('encoder.') || /^decoder\..*\.cross_attention\.(key|value)$/.test(tap)) return source;
  if (tap.startsWith('decoder.')) return target;
  throw new InputError(`model: option 'patch': expected names that begin with 'encoder.' or 'decoder.', found '${tap}'`);
}

function layOut(layout: Layout, source: Inputs, target: Inputs, requested: Seq2SeqForwardOptions, info: BothInfo): Seq2SeqOutput {
  const { hidden_size: hidden, num_hidden_layers: layers, num_attention_heads: heads, head_dim } = info;
  const { encoder_layers, encoder_attention_heads, encoder_head_dim } = info;
  const [read, written] = [layout.tokens(source, hidden), layout.tokens(target, hidden)];
  const out: Seq2SeqOutput = {
    logits: layout.tokens(target, info.vocab_size)((result) => result.logits),
    encoder_last_hidden_state: read((result) => result.encoder_last_hidden_state as Float32Array),
  };
  if (requested.output_hidden_states) {
    out.encoder_hidden_states = layout.layers('encoder_hidden_states', encoder_layers + 1, read);
    out.decoder_hidden_states = layout.layers('hidden_states', layers + 1, written);
  }
  if (requested.output_attentions) {
    out.encoder_attentions = layout.layers(
      'encoder_attentions',
      encoder_layers,
      layout.attentions(source, source, encoder_attention_heads),
    );
    out.decoder_attentions = layout.layers('attentions', layers, layout.attentions(target, target, heads));
    out.cross_attentions = layout.layers('cross_attentions', layers, layout.attentions(target, source, heads));
  }
  if (requested.output_qkv) {
    for (const name of ['queries', 'keys', 'values'] as const) {
      const encoder = layout.heads(source, encoder_attention_heads, encoder_head_dim);
      out[`encoder_${name}`] = layout.layers(`encoder_${name}`, encoder_layers, encoder);
      out[`decoder_${name}`] = layout.layers(name, layers, layout.heads(target, heads, head_dim));
      const tokens = name === 'queries' ? target : source;
      out[`cross_${name}`] = layout.layers(`cross_${name}`, layers, layout.heads(tokens, heads, head_dim));
    }
  }
  if (requested.logit_lens) {
    out.logit_lens = layout.lens(target, layers + 1, requested.logit_lens);
  }
  return out;
}

export function makeSeq2SeqModel(engine: AnyEngine) {
  const call = async (given: Seq2SeqInputs, requested?: Seq2SeqForwardOptions | null): Promise<Seq2SeqOutput> => {
    requested = readOptions('model', requested, kRules);
    const { decoder_input_ids, decoder_attention_mask, ...rest } = given ?? {};
    const source = toInputs(rest as ModelInputs);
    const mask = decoder_attention_mask ? { attention_mask: decoder_attention_mask } : {};
    const target = toInputs({ input_ids: decoder_input_ids, ...mask } as ModelInputs);
    if (target.ids.rows !== source.ids.rows) {
      throw new InputError(`decoder_input_ids: expected ${source.ids.rows} rows like input_ids, found ${target.ids.rows}`);
    }
    const info = engine.info as BothInfo;
    const options = { ...toOptions(requested ?? {}, info), adapter: requested?.adapter ?? engine.adapters?.active };
    const patches = toPatches(requested?.patch, (tap) => tokensOf(tap, source, target));
    const runs = packRuns(target, 0, []).map((run, row) => ({
      ...run,
      source: idsOf(source, row),
      patches: gatherPatches(patches, [row]),
    }));
    const results = (await engine.run('forward', runs, options, requested?.signal ?? undefined)) as Result[];
    return layOut(new Layout(runs, results), source, target, requested ?? {}, info);
  };
  return asModel(engine, call);
}
