// AutoModelForCausalLM: options checked, rows of ids cut out, results laid out; decoder_forward.ts runs.
import type { CausalForwardOptions, CausalModel, CausalOutput } from './causal_types.js';
import { disposable } from '../core/disposable.js';
import type { AnyEngine } from '../engine/engine.js';
import { readConfig, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import { gatherPatches, LensTable, toPatches } from '../engine/model_rows.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { ModelInputs } from '../engine/types.js';
import { idsOf, Layout, type Info, type Item, type Options, type Result } from './decoder_forward.js';

const kRules: Rules = {
  output_hidden_states: 'boolean',
  output_attentions: 'boolean',
  output_qkv: 'boolean',
  output_logits: 'boolean',
  head_mask: 'any',
  logit_lens: 'index',
  patch: 'any',
  signal: 'signal',
};

function layOut(inputs: Inputs, asked: CausalForwardOptions, info: Info, results: Result[]): CausalOutput {
  const { num_hidden_layers: count, num_attention_heads: heads, num_key_value_heads: groups, head_dim } = info;
  const layout = new Layout(results);
  const states = layout.tokens(inputs, info.hidden_size);
  const out: CausalOutput = { last_hidden_state: states((result) => result.last_hidden_state) };
  if (asked.output_logits ?? true) out.logits = layout.tokens(inputs, info.vocab_size)((result) => result.logits);
  if (asked.output_hidden_states) out.hidden_states = layout.layers('hidden_states', count + 1, states);
  if (asked.output_attentions) out.attentions = layout.layers('attentions', count, layout.attentions(inputs, inputs, heads));
  if (asked.output_qkv) {
    out.queries = layout.layers('queries', count, layout.heads(inputs, heads, head_dim));
    for (const name of ['keys', 'values'] as const) out[name] = layout.layers(name, count, layout.heads(inputs, groups, head_dim));
  }
  if (asked.logit_lens) {
    const lens = new LensTable(inputs, count + 1, asked.logit_lens);
    results.forEach((result, row) => lens.put([row], result));
    out.logit_lens = lens.toOutput();
  }
  return out;
}

export function makeCausalModel(engine: AnyEngine): CausalModel {
  const call = async (given: Omit<ModelInputs, 'token_type_ids'>, asked?: CausalForwardOptions | null): Promise<CausalOutput> => {
    checkOptions('model', asked, kRules);
    const inputs = toInputs(given as ModelInputs);
    const info = engine.info as Info;
    const options: Options = {
      hidden_states: asked?.output_hidden_states ?? false,
      attentions: asked?.output_attentions ?? false,
      qkv: asked?.output_qkv ?? false,
      logits: asked?.output_logits ?? true,
      logit_lens: asked?.logit_lens ?? 0,
      head_mask: toHeadMask('head_mask', asked?.head_mask, info.num_hidden_layers, info.num_attention_heads),
    };
    const patches = toPatches(asked?.patch, () => inputs);
    const items: Item[] = idsOf(inputs).map((ids, row) => ({ ids, patches: gatherPatches(patches, [row]) }));
    const results = (await engine.run('decoder-forward', items, options, asked?.signal ?? undefined)) as Result[];
    return layOut(inputs, asked ?? {}, info, results);
  };
  const rest = { config: readConfig(engine), info: () => engine.info, memory: () => engine.memory };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}
