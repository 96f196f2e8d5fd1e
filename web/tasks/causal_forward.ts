// AutoModelForCausalLM: options checked, rows of ids cut out, results laid out; forward.ts runs.
import { disposable } from '../core/disposable.js';
import { checkOptions, type Rules } from '../core/options.js';
import type { AnyEngine } from '../engine/engine.js';
import { readConfig, toHeadMask, toInputs, type Inputs } from '../engine/model_inputs.js';
import { toPatches } from '../engine/model_rows.js';
import type { ModelInfo, ModelInputs } from '../engine/types.js';
import type { CausalForwardOptions, CausalModel, CausalOutput } from './causal_types.js';
import { Layout, packRuns, type Result, type RunOptions } from './forward.js';

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

function layOut(layout: Layout, inputs: Inputs, requested: CausalForwardOptions, info: ModelInfo): CausalOutput {
  const { num_hidden_layers: count, num_attention_heads: heads, num_key_value_heads, head_dim } = info;
  const states = layout.tokens(inputs, info.hidden_size);
  const out: CausalOutput = { last_hidden_state: states((result) => result.last_hidden_state) };
  if (requested.output_logits ?? true) out.logits = layout.tokens(inputs, info.vocab_size)((result) => result.logits);
  if (requested.output_hidden_states) out.hidden_states = layout.layers('hidden_states', count + 1, states);
  if (requested.output_attentions) {
    out.attentions = layout.layers('attentions', count, layout.attentions(inputs, inputs, heads));
  }
  if (requested.output_qkv) {
    out.queries = layout.layers('queries', count, layout.heads(inputs, heads, head_dim));
    const keys = layout.heads(inputs, num_key_value_heads, head_dim);
    for (const name of ['keys', 'values'] as const) out[name] = layout.layers(name, count, keys);
  }
  if (requested.logit_lens) out.logit_lens = layout.lens(inputs, count + 1, requested.logit_lens);
  return out;
}

export function makeCausalModel(engine: AnyEngine): CausalModel {
  const call = async (
    given: Omit<ModelInputs, 'token_type_ids'>,
    requested?: CausalForwardOptions | null,
  ): Promise<CausalOutput> => {
    checkOptions('model', requested, kRules);
    const inputs = toInputs(given as ModelInputs);
    const { info } = engine;
    const options: RunOptions = {
      hidden_states: requested?.output_hidden_states ?? false,
      attentions: requested?.output_attentions ?? false,
      qkv: requested?.output_qkv ?? false,
      logits: requested?.output_logits ?? true,
      logit_lens: requested?.logit_lens ?? 0,
      head_mask: toHeadMask('head_mask', requested?.head_mask, info.num_hidden_layers, info.num_attention_heads),
    };
    const runs = packRuns(
      inputs,
      0,
      toPatches(requested?.patch, () => inputs),
    );
    const results = (await engine.run('forward', runs, options, requested?.signal ?? undefined)) as Result[];
    return layOut(new Layout(runs, results), inputs, requested ?? {}, info);
  };
  const rest = { config: readConfig(engine), info: () => engine.info, memory: () => engine.memory };
  return disposable(Object.assign(call, rest), () => engine.dispose());
}
