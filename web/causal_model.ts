// AutoModelForCausalLM: a decoder over token ids. What it does is loaded when it is asked for.
import { loadEngine } from './remote_engine.js';
import type { CausalModel } from './causal_types.js';
import type { LoadOptions, ModelSpecifier } from './types.js';

/** Decoders by themselves: token ids in, logits, hidden states and attentions out. */
export const AutoModelForCausalLM = {
  /** Loads a model. model: see `ModelSpecifier`. */
  async from_pretrained(model: ModelSpecifier, options?: LoadOptions): Promise<CausalModel> {
    const engine = await loadEngine('AutoModelForCausalLM.from_pretrained', model, options ?? {}, 'causal_lm');
    return (await import('./tasks/causal_forward.js')).makeCausalModel(engine);
  },
};
